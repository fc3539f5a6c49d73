"""A planning workbook as a report: its content as plain data, rendered as HTML, PDF, Markdown, CSV or JSON."""
