"""Fits a stack to the user's own runs: reads them, fits with the shipped calibration as prior, writes the result."""
