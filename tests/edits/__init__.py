"""What analysts do to a workbook, at random and by real programs, each with what must be said of it."""
