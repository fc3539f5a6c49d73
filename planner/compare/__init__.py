"""Predicted beside measured: the cases, the sheet on disk, and the timings that land in it."""
