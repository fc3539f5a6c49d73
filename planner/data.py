"""Where the data folders are, as `planner/__init__.py` says, and the tables that lie beside the templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from planner import csvfile


@cache
def folder(name: str) -> Path:
    """The folder of `templates`, `hardware_db` or `model_db`."""
    return Path(import_module(f"planner.{name}").__path__[0])


def table(name: str, columns: Sequence[str]) -> csvfile.CsvFile:
    """The CSV of this name in the folder of templates, which has these columns. Raises UserError as reading does."""
    return csvfile.read(folder("templates") / f"{name}.csv", required=columns, known=columns)
