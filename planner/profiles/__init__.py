"""Profiles of a profiler, whatever framework and format: read into one plain data model.

`reading.read` takes a file or a folder and gives a `profile.Profile`; `recognition` says what its operations are.
"""
