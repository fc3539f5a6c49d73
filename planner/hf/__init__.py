"""Converts Hugging Face configs to rows of a models CSV, by a table of columns for each model family."""
