"""A scenario's template evaluated at other inputs, if it reproduces the workbook's numbers at the scenario's own.

With an edited formula, or a number typed over one, it doesn't, and then nothing is reported that the workbook wouldn't
show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from planner.book.plan import Quantity
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.following import following, with_followers
from planner.formulas.sweeps import sweeps
from planner.formulas.template import CALCULATED, Template
from planner.xlsx.cellvalue import CellError

AGREEMENT = 1e-9


@dataclass(frozen=True)
class Replay:
    """A template with the values from a scenario's cells: inputs, constants and everything looked up."""

    template: Template
    given: Mapping[str, float | str | None]

    def at(self, **changed: Any) -> Results:
        """Every row, with these inputs (numbers or arrays) replacing the scenario's own."""
        return evaluate(self.template, Facts(), {**self.given, **changed})

    @property
    def typed(self) -> dict[str, float | str | None]:
        """The cells' values, without inputs that equal their default computed from others."""
        followers = _followers(self.template.name)
        own = {name: value for name, value in self.given.items() if name not in followers}
        left = with_followers(self.template, own)
        rows = self.template.by_name
        return own | {
            name: self.given[name]
            for name in followers & self.given.keys()
            if left.get(name, rows[name].default) != self.given[name]
        }

    def along(self, name: str, values: np.ndarray) -> Results:
        """Every row for each of these values of an input; inputs whose defaults depend on it change along."""
        own = {key: value for key, value in self.given.items() if key not in _followers(self.template.name)}
        return self.at(**following(self.template, name, own, values), **{name: values})


def replayed(template: str, rows: Mapping[str, Quantity], key: str, proof: Iterable[str]) -> Replay | None:
    """A scenario's template. None if it doesn't reproduce the numbers of the `proof` rows, or its rows differ."""
    try:
        loaded = library.load(template)
        given = {
            row.name: _plain(rows[row.name], key)
            for row in loaded.rows
            if row.kind not in CALCULATED and row.name in rows
        }
        found = Replay(loaded, given)
        results = found.at()
        agree = all(_same(results.value(name), rows[name].value(key)) for name in proof)
    except (UserError, KeyError, TypeError, ValueError):
        return None
    return found if agree else None


@cache
def _followers(template: str) -> frozenset[str]:
    return frozenset(name for sweep in sweeps([library.load(template)]) for axis in sweep.axes for name in axis.follows)


def _plain(row: Quantity, key: str) -> float | str | None:
    value = row.value(key)
    return None if value is None or isinstance(value, (CellError, bool)) else value


def _same(ours: object, cell: object) -> bool:
    """Whether both are the same number, or both N/A."""
    if ours is None or not isinstance(cell, (int, float)):
        return ours is None and isinstance(cell, CellError)
    return isinstance(ours, float) and math.isclose(ours, cell, rel_tol=AGREEMENT)
