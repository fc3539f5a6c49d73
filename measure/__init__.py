"""Measured times beside predicted ones: run a case on a TPU, GPU or CPU with JAX, profile it, keep the row.

Only `workload`, the cases (`cases`, `transformer`) and what times them (`clock`, `interleaved`) import JAX, so records
and profiles are read on any laptop.
"""
