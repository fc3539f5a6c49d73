"""The model database: architecture columns, a source and the published parameter count of each model."""

from pathlib import Path


def path(name: str) -> Path:
    """Where a file of the database is."""
    return Path(__file__).with_name(name)
