"""Evaluates many plans of a template at once, with the workbook's formulas: sweeps into a table, and searches for the
best.
"""
