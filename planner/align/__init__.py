"""Matches two workbooks: which sheet, row, column and scenario of one is which of the other."""
