"""Findings as lines of text, those that say the same of many cells as one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from textwrap import wrap

from planner.check.findings import Fault

SHOWN = 20
"""The lines of one heading; JSON has every finding."""
CELLS = 3
"""The cells that a line names; it counts the others. As many findings of one text are one line."""
MANY = 12
"""More findings than these that differ only in values or names are one line too."""


def listed(findings: Sequence[Fault], first: str = "  ", following: str = "      ") -> Iterator[str]:
    """Findings as wrapped lines, one or more for each, with where, what and what to do; of too many the first ones.

    `first` is put before the first line of each, `following` before its others.
    """
    groups = _together(findings)
    for group in groups[:SHOWN]:
        one = group[0]
        what = one.what if all(each.what == one.what for each in group) else one.alike
        text = "; ".join(part for part in (f"{_where(group)}{what}", one.remedy) if part)
        yield from wrap(text, width=110, initial_indent=first, subsequent_indent=following, break_long_words=False)
    if rest := sum(map(len, groups[SHOWN:])):
        yield f"{first}and {rest:,} more; --json lists them all"


def _together(findings: Sequence[Fault]) -> list[list[Fault]]:
    """The findings in groups, each one line of text, in the order of their first findings."""
    same = Counter((each.what, each.remedy) for each in findings)
    alike = Counter((each.alike, each.remedy) for each in findings if each.alike)
    groups: dict[tuple[str, str] | int, list[Fault]] = defaultdict(list)
    for number, each in enumerate(findings):
        key: tuple[str, str] | int = number
        if alike[each.alike, each.remedy] > MANY:
            key = (each.alike, each.remedy)
        elif same[each.what, each.remedy] >= CELLS:
            key = (each.what, each.remedy)
        groups[key].append(each)
    return list(groups.values())


def _where(group: Sequence[Fault]) -> str:
    """`Inputs!F4, G4, Models!C1 and 12 more cells on 3 sheets: `; blank where none of the findings has a place."""
    places = [(each.sheet, cell) for each in group for cell in each.cells or (each.cell,) if each.sheet]
    named, sheet = [], ""
    for place in places[:CELLS]:
        named.append(place[1] if place[0] == sheet and place[1] else "!".join(part for part in place if part))
        sheet = place[0]
    text = ", ".join(named)
    if rest := len(places) - len(named):
        sheets = len({sheet for sheet, _ in places})
        text += f" and {rest:,} more" + (f" on {sheets} sheets" if sheets > 1 else "")
    return f"{text}: " if text else ""
