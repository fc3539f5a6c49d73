"""The rules that a workbook keeps, one small function each."""
