"""Reads profiles of any supported profiler, framework and format into one plain data model.

`reading.read` turns a file or folder into a `profile.Profile`; `recognition` identifies what its operations are.
"""
