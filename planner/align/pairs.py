"""Pairs the sheets and scenarios of two workbooks.

Planner's sheets are paired by their role, scenarios by id, and renamed ones by content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planner.book.plan import Plan, Scenario
from planner.book.sheet import Sheet

ALIKE = 0.5
"""The share of common content from which two sheets of an analyst's, or two scenarios, are one that was renamed."""


class Pairs(NamedTuple):
    """Old name -> new name of the sheets, and old key -> new key of the scenarios, that both workbooks have."""

    sheets: dict[str, str]
    scenarios: dict[str, str]


def pairs(old: Plan, new: Plan) -> Pairs:
    """The sheets and scenarios that both workbooks have."""
    return Pairs(_sheets(old, new), _scenarios(old, new))


def _sheets(old: Plan, new: Plan) -> dict[str, str]:
    """Planner's sheets are paired by role, others by name, and the remaining ones by content."""
    found: dict[str, str] = {}
    roles = {name: sheet.name for name, sheet in new.book.designed.items()}
    for role, sheet in old.book.designed.items():
        if role in roles:
            found[sheet.name] = roles[role]
    left = [name for name in new.sheets if name not in found.values()]
    for name in old.sheets:
        if name not in found and name in left:
            found[name] = name
            left.remove(name)
    for name in old.sheets:
        if name not in found and left:
            contents = _contents(old.book.sheets[name])
            likeness = {other: _share(contents, _contents(new.book.sheets[other])) for other in left}
            best = max(left, key=likeness.__getitem__)
            if likeness[best] >= ALIKE:
                found[name] = best
                left.remove(best)
    return found


def _contents(sheet: Sheet) -> set[str]:
    return {f"{value}" for at in sheet.cells if (value := sheet.value(*at)) not in (None, "")}


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _scenarios(old: Plan, new: Plan) -> dict[str, str]:
    """Scenarios are paired by id, and the remaining ones by their typed inputs if these are similar enough.

    Most inputs are defaults that all have, so that only one of the same model or on the same chip is the same scenario;
    the only ones of two workbooks are compared whatever they are of.
    """
    found = {key: key for key in old.by_key if key in new.by_key}
    left = [scenario for key, scenario in new.by_key.items() if key not in found]
    are_only = len(old.by_key) == len(new.by_key) == 1
    for key, scenario in old.by_key.items():
        alike = [each for each in left if are_only or _are_of_one(scenario, each)]
        if key in found or not alike:
            continue
        typed = set(_typed(old, scenario))
        likeness = {other.key: _share(typed, set(_typed(new, other))) for other in alike}
        best = max(alike, key=lambda other: (likeness[other.key], -abs(other.column - scenario.column)))
        if likeness[best.key] >= ALIKE:
            found[key] = best.key
            left.remove(best)
    return found


def _are_of_one(one: Scenario, other: Scenario) -> bool:
    """Whether two scenarios are of one model or on one chip."""
    return one.model == other.model or one.hardware == other.hardware


def _typed(plan: Plan, scenario: Scenario) -> Iterator[str]:
    yield from (f"model {scenario.model}", f"chip {scenario.hardware}")
    for row in (*plan.inputs, *plan.overrides):
        entry = row.cells.get(scenario.key)
        if entry is not None and not entry.is_blank:
            yield f"{row.name} {entry.value}"
