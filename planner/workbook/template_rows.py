"""Which rows of its templates a workbook shows: those that no earlier sheet computes already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.formulas.template import Row, Template

TYPED = ("input", "constant")  # called up from Inputs by every sheet that reads them


@dataclass(frozen=True)
class Shares:
    """The rows that one template's sheet shows, and those that an earlier sheet computes."""

    shown: tuple[Row, ...]
    owners: Mapping[str, str]  # by row name, the template whose sheet has a row with the same meaning


def shares(templates: Sequence[Template]) -> dict[str, Shares]:
    """For each template, in the order of the sheets, what it shares with those that it includes."""
    found: dict[str, Shares] = {}
    for index, template in enumerate(templates):
        owners: dict[str, str] = {}
        for earlier in templates[:index]:
            if earlier.name in template.digests:
                theirs = found[earlier.name].owners
                for name in same_rows(template, earlier):
                    owners.setdefault(name, theirs.get(name, earlier.name))
        found[template.name] = Shares(_shown(template, owners), owners)
    return found


def same_rows(here: Template, there: Template) -> set[str]:
    """The names that mean the same in both: the same formula over names that mean the same."""
    same: set[str] = set()
    for row in here.rows:
        other = there.by_name.get(row.name)
        if other is not None and _text(row) == _text(other) and same.issuperset(row.reads):
            same.add(row.name)
    return same


def _text(row: Row) -> tuple[str, str, str]:
    """A row's content for comparison: an output counts as calc, as when included; typed rows match by unit alone."""
    if row.kind in TYPED:
        return row.kind, row.unit, ""
    return "calc" if row.kind == "output" else row.kind, row.unit, row.formula or row.name


def _shown(template: Template, owners: Mapping[str, str]) -> tuple[Row, ...]:
    """The rows that the template computes or declares itself, and those that they read."""
    own = [row for row in template.rows if row.template == template.name]
    own += [row for row in template.rows if row.name not in owners and row.kind not in TYPED]
    wanted = {row.name for row in own} | {name for row in own for name in row.reads if row.name not in owners}
    return tuple(row for row in template.rows if not owners or row.name in wanted) if own else template.rows


def included_first(templates: Sequence[Template]) -> list[Template]:
    """The templates in the given order, but each after those that it contains completely: references point backward."""
    ordered: dict[str, Template] = {}

    def put(template: Template) -> None:
        for part in (other for other in templates if other.name != template.name):
            if part.name in template.digests and part.by_name.keys() <= template.by_name.keys():
                put(part)
        ordered.setdefault(template.name, template)

    for template in templates:
        put(template)
    return list(ordered.values())
