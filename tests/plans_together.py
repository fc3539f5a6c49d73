"""Many plans of a template evaluated at once: a hundredth of the work of one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from planner.formulas.arrays import Array
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import facts
from planner.formulas.template import Template
from planner.xlsx.cellvalue import Value

Inputs = dict[str, float | str]
Planned = tuple[str, str, Inputs]  # model, chip, what is typed


class _One(Mapping[str, Array]):
    """The numbers of one of the plans that were evaluated together."""

    def __init__(self, arrays: Mapping[str, Array], at: int) -> None:
        self._arrays, self._at = arrays, at

    def __getitem__(self, name: str) -> Array:
        found = self._arrays[name]
        return found[self._at] if np.ndim(found) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def together(template: Template, plans: Sequence[tuple[str, str, Mapping[str, Value]]]) -> list[Results]:
    """The results of each plan, in order: those that type the same inputs are evaluated in one call."""
    groups, found = defaultdict[frozenset[str], list[int]](list), dict[int, Results]()
    for at, (_, _, inputs) in enumerate(plans):
        groups[frozenset(inputs)].append(at)
    for names, group in groups.items():
        records = [facts(template, *plans[at][:2]) for at in group]
        values = {name: [plans[at][2][name] for at in group] for name in names}
        results = evaluate(template, _joined(records), values)
        found |= {at: Results(template, _One(results.arrays, place), {}, {}) for place, at in enumerate(group)}
    return [found[at] for at in range(len(plans))]


def _joined(records: Sequence[Facts]) -> Facts:
    """What the lookups of several plans read: each column of a model and a chip as a list."""

    def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        return {name: [row[name] for row in rows] for name in rows[0]}

    return Facts(
        columns([record.model or {} for record in records]), columns([record.hardware or {} for record in records]),
        records[0].by_id,
    )  # fmt: skip
