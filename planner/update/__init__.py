"""A workbook that a person may have edited, changed on purpose: scenarios, newer templates, inputs as a CSV."""
