"""Scenarios of an edited workbook: one more added, all of them written as a CSV."""
