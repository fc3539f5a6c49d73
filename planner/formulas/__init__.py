"""The formula core: parses a template's formulas, checks their units, and evaluates them over arrays."""
