"""The tests mirror the modules; cases and golden are data."""
