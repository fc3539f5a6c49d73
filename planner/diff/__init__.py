"""Compares two workbooks by machine names and scenario ids instead of cell addresses."""
