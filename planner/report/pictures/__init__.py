"""The pictures of a report: each file draws one, from rows of the workbook that it finds by their machine names."""
