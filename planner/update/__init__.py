"""Updates an edited workbook to newer templates and databases: a three-way merge."""
