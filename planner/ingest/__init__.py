"""A profile read and summarised, and written into an edited workbook next to what its plan expects of the run."""
