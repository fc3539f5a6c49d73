"""Measured times beside predicted ones: cases run with JAX on TPU, GPU or CPU, and recorded.

Only `workload`, the cases (`cases`, `transformer`; over a mesh `sharded`, `spread`) and
what times them (`clock`, `interleaved`) import JAX, so records and profiles are read on any laptop.
"""
