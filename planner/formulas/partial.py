"""A template computed again and again for other values of a few of its rows: only what depends on them is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from planner.formulas.arrays import Arithmetic, Array
from planner.formulas.evaluation import run
from planner.formulas.template import CALCULATED, Template

Recompute = Callable[[Mapping[str, Array]], dict[str, Array]]


def recomputed(
    template: Template, arrays: Mapping[str, Array], changing: Iterable[str], wanted: Iterable[str]
) -> Recompute:
    """A function that gives the `wanted` rows for new arrays of the `changing` ones; `arrays` are those of all rows.

    A changed row must be a typed or looked-up one. Shapes are those of the given arrays.
    """
    changes, names = set(changing), list(wanted)
    needed = template.closure(names)
    rows = []
    for row in template.rows:
        if row.kind in CALCULATED and row.name in needed and not changes.isdisjoint(row.reads):
            changes.add(row.name)
            rows.append(row)
    arithmetic = Arithmetic(np)

    def compute(values: Mapping[str, Array]) -> dict[str, Array]:
        known = {**arrays, **values}
        with np.errstate(all="ignore"):
            for row in rows:
                known[row.name] = run(row.expression, known, arithmetic)
        return {name: known[name] for name in names}

    return compute
