"""Measured times beside predicted ones: run a case on a TPU, GPU or CPU with JAX, profile it, keep the row.

Only the cases, `measure.clock`, `measure.turns` and `measure.transfer` import JAX, so records and profiles are read on
any laptop.
"""
