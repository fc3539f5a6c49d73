"""A person's own runs as a stack of their own: read, fitted with the shipped calibration as prior, written."""
