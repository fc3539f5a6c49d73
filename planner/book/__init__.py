"""A workbook on disk as plain data: its sheets, planner's tables on them, scenarios, notes, the values of now."""
