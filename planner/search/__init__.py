"""Computes many plans of a template at once by the workbook's formulas: tables of them, and searches for the best."""
