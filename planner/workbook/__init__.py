"""The workbook: sheets from templates, cells that are live formulas."""
