"""Hugging Face configs as rows of a models CSV: each family's table of columns, read from what the config says."""
