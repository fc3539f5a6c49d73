"""A planning workbook as a report: what it says as plain data, and that as HTML, PDF, Markdown, CSV or JSON."""
