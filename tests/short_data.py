"""Shipped databases of a few rows, short sweeps along one axis, few cases: commands then write small workbooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planner import data
from planner.api import calc
from planner.compare import comparison_cases, prediction
from planner.formulas import finding, sweeps
from planner.formulas.sweeps import Drawn
from planner.search import extrapolated
from planner.workbook import sweep_table
from tests import read_once
from tests.workbooks import CHIPS, FEWEST, MODELS, few_rows

_rows = sweeps._rows
_KEPT = (
    calc._tables, calc._plan, extrapolated._most, comparison_cases.listed, prediction._databases,
    finding.everything,
)  # fmt: skip
"""What the application computes once in a process from the shipped tables or cases."""


@contextmanager
def _told(what: str) -> Iterator[pytest.MonkeyPatch]:
    """Patches that end with the block; nothing that the application keeps outlives its beginning or its end."""
    with pytest.MonkeyPatch.context() as patch:
        read_once.meanwhile.append(what)
        _forget()
        try:
            yield patch
        finally:
            read_once.meanwhile.remove(what)
            _forget()


def _forget() -> None:
    for kept in _KEPT:
        kept.cache_clear()


def _first_axes(name: str, columns: tuple[str, ...]) -> dict[str, list[Drawn]]:
    """The rows of a CSV of sweeps with one axis of a template: the first that others follow, if there is one."""
    found = {}
    for template, rows in _rows(name, columns).items():
        axes = sorted((drawn for drawn in rows if drawn[0].kind == "axis"), key=lambda drawn: not drawn[0].formula)
        found[template] = [drawn for drawn in rows if drawn not in axes[1:]]
    return found


@contextmanager
def of_few_rows(models: tuple[str, ...] = MODELS, chips: tuple[str, ...] = CHIPS) -> Iterator[None]:
    """Meanwhile the shipped models and accelerators are these alone, one axis is swept, a Comparison has few cases."""
    few = few_rows(models, chips)
    with _told(f"{models} {chips}") as patch:
        for folder, path in (("model_db", few.models_csv), ("hardware_db", few.hardware_csv)):
            assert isinstance(path, Path)
            patch.setitem(read_once.short, data.folder(folder) / path.name, path)
        patch.setattr(sweeps, "_rows", _first_axes)
        patch.setattr(sweep_table, "FEWEST", FEWEST)
        _few_cases(patch)
        yield


def _few_cases(patch: pytest.MonkeyPatch) -> None:
    load = comparison_cases.load
    patch.setattr(comparison_cases, "load", lambda *only: load(*only)[:6])


@contextmanager
def of_few_cases() -> Iterator[None]:
    """Meanwhile a Comparison begins with few cases: of the workbook of a small template they are the most."""
    with _told("cases") as patch:
        _few_cases(patch)
        yield


@contextmanager
def of_serve_alone() -> Iterator[None]:
    """Meanwhile only a template `serve` is swept, along what the shipped one of serving is: see `tests.swept_serving`.

    Of shipped rows that it lacks, its tables have no columns.
    """

    def of_serve(name: str, columns: tuple[str, ...]) -> dict[str, list[Drawn]]:
        return {"serve": _rows(name, columns)["inference"]} if name == "sweep" else {}

    with _told("serve") as patch:
        patch.setattr(sweeps, "_rows", of_serve)
        yield
