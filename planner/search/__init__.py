"""Many plans of a template at once: swept into a table, or searched for the best, by the workbook's own formulas."""
