"""Builds a workbook: sheets from templates, with live formulas in the cells."""
