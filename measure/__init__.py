"""Measured times beside predicted ones: run a case on a TPU, GPU or CPU with JAX, profile it, keep the row.

Only `measure.cases` and `measure.clock` import JAX, so records and profiles are read on any laptop.
"""
