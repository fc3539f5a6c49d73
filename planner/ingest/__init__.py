"""Reads and summarises a profile, and writes it into an edited workbook next to the plan's expected numbers."""
