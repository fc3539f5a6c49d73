"""Where the data folders are: `planner/__init__.py` says how they are found."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path


def folder(name: str) -> Path:
    """The folder of `templates`, `hardware_db` or `model_db`."""
    return Path(import_module(f"planner.{name}").__path__[0])
