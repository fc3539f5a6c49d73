"""Locates the data folders declared in `planner/__init__.py`, and reads the tables next to the templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from planner import csvfile


@cache
def folder(name: str) -> Path:
    """The path of `templates`, `hardware_db` or `model_db`."""
    return Path(import_module(f"planner.{name}").__path__[0])


def table(name: str, columns: Sequence[str]) -> csvfile.CsvFile:
    """A CSV in the templates folder that must have these columns. Raises UserError as reading does."""
    return csvfile.read(folder("templates") / f"{name}.csv", required=columns, known=columns)
