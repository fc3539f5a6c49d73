"""How old a person's own calibrations are: the software that they were measured under, beside that of today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from planner import __version__, progress

PROVENANCE = ("device", "date", "planner", "jax")
"""Columns of a fitted line: on what its runs were, when and under which planner they were fitted, and the versions of
JAX that measured them, with blanks between."""
SOFTWARE = ("planner", "jax")


def running(name: str) -> str:
    """The version of `planner` or `jax` that is installed here; blank where it isn't."""
    if name == "planner":
        return __version__
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def warn_of_age(path: Path, lines: Iterable[Mapping[str, str]]) -> None:
    """Say once of a file that its lines were fitted under other software than runs here."""
    for name in SOFTWARE:
        now = running(name)
        others = sorted({then for cells in lines for then in cells.get(name, "").split() if now and then != now})
        if others:
            progress.warn(f"{path.name} was fitted under {name} {', '.join(others)}, and {name} {now} runs here")
