"""Which sheet, row, column and scenario of one workbook is which of another."""
