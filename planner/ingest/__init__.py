"""A profile landed: read for a person, and put into an edited workbook beside what the plan expected of the run."""
