"""What changed between two workbooks, told by machine names and scenario ids and not by where things stand."""
