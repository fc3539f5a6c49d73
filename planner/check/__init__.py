"""The rules of a workbook, one small function each; they hold on a built and on an edited workbook alike."""
