"""Adds, renames and removes scenarios of an edited workbook, records runs of them, and exports them as a CSV."""
