"""Looks in the other templates for a name that a template doesn't have."""

from __future__ import annotations

from collections.abc import Collection

from planner.errors import NEAR, closest, nearest
from planner.formulas import library
from planner.formulas.vocabulary import aliases


def meant(name: str, own: Collection[str]) -> str:
    """What to write for a name that a template hasn't, whose rows are `own`: the remedy of a message.

    What people call so here; the shipped templates that have it, without those that include another which has; else
    what is nearest, in this template or beyond it.
    """
    called = (*aliases().get(name.lower(), ()), *aliases().get(name.lower().replace("_", " "), ()))
    if here := dict.fromkeys(row for row in called if row in own):
        return f"here it is {' or '.join(here)}"
    shelf = library.shelf()
    if having := [template for template in shelf if name in template.by_name]:
        names = {each.name for each in having}
        first = [each.name for each in having if names & each.digests.keys() == {each.name}]
        return f"{', '.join(first)} {'has' if len(first) == 1 else 'have'} it"
    outer_first = sorted(shelf, key=lambda template: len(template.digests), reverse=True)
    there = {row: template.name for template in outer_first for row in template.by_name}
    best = closest(name, [*own, *there], 1, NEAR)
    return f"did you mean {best[0]}, which {there[best[0]]} has?" if {*best} - {*own} else nearest(name, own)
