"""Reads a workbook as plain data: its sheets, planner's tables on them, scenarios, notes, recalculated values."""
