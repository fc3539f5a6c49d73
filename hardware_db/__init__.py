"""The hardware database: accelerators and dtypes in SI units, with a source for every number."""

from pathlib import Path


def path(name: str) -> Path:
    """Where a file of the database is."""
    return Path(__file__).with_name(name)
