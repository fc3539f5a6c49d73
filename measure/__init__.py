"""Runs a workbook's cases with JAX on a TPU, GPU or CPU, times them, and records the times for comparison.

Only `workload`, the cases (`cases`, `transformer`, and over a mesh `sharded`, `spread`) and the timers (`clock`,
`interleaved`) import JAX. Records and profiles can therefore be read on a machine without it.
"""
