"""Predictions compared with measurements: the cases, the Comparison sheet on disk, and
measured times written into it.
"""
