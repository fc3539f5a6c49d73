"""What people call rows, and what to write for a name that a template hasn't.

Descriptions and synonyms are data: templates/about.csv says what each template calculates, templates/aliases.csv
which rows the words of the field mean: `alpha`, `ridge`, `TTFT`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from planner import data
from planner.errors import NEAR, closest, nearest

TEMPLATES = {
    **dict.fromkeys(("serving", "serve", "decode", "prefill"), "inference"),
    **dict.fromkeys(("train", "pretraining", "finetuning"), "training"),
}
"""What people call a template, by a word in small letters."""


class Shelved(Protocol):
    """A shipped template, as far as its names go."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def by_name(self) -> Mapping[str, Any]:
        """Its rows by their names."""

    @property
    def digests(self) -> Mapping[str, str]:
        """The templates that it was laid out from, itself among them."""


def meant(name: str, own: Collection[str], shelf: Sequence[Shelved]) -> str:
    """What to write for a name that a template hasn't: the remedy of a message. Its rows are `own`.

    What people call so here; the expected number of that name; the templates of the `shelf`, the shipped ones, that
    have it, without those that include another which has; else what is nearest, in this template or beyond it, or what
    begins so.
    """
    called = (*aliases().get(name.lower(), ()), *aliases().get(name.lower().replace("_", " "), ()))
    if here := dict.fromkeys(row for row in called if row in own):
        return f"here it is {' or '.join(here)}"
    if (likely := f"{name}_expected") in own:
        return f"did you mean {likely}?"
    if having := [template for template in shelf if name in template.by_name]:
        names = {each.name for each in having}
        first = [each.name for each in having if names & each.digests.keys() == {each.name}]
        return f"{', '.join(first)} {'has' if len(first) == 1 else 'have'} it"
    outer_first = sorted(shelf, key=lambda template: len(template.digests), reverse=True)
    there = {row: template.name for template in outer_first for row in template.by_name}
    best = closest(name, [*own, *there], 1, NEAR)
    if not best and (begun := sorted((row for row in own if row.startswith(f"{name}_")), key=len)):
        return f"did you mean {' or '.join(begun[:3])}?"
    return f"did you mean {best[0]}, which {there[best[0]]} has?" if {*best} - {*own} else nearest(name, own)


def about(template: str) -> str:
    """What a template calculates, in a sentence; blank for one that is not shipped."""
    return dict(_pairs("about", ("template", "about"))).get(template, "")


@cache
def aliases() -> dict[str, tuple[str, ...]]:
    """For each word or phrase, in lower case, the names of the rows that it means."""
    found: dict[str, tuple[str, ...]] = {}
    for alias, name in _pairs("aliases", ("alias", "name")):
        found[alias] = (*found.get(alias, ()), name)
    return found


@cache
def _pairs(name: str, columns: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((cells[columns[0]], cells[columns[1]]) for _, cells in data.table(name, columns).records())
