"""What a first screen shows of a template, as data: templates/dashboard.csv names its headlines and the parts of one.

Its kinds: `headline`, a number that one asks for, with the bound that stands beside it (`bound`) and the row that says
what binds (`binds`); `part`, a part of the first headline, which all parts together make. `display` is % for a share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from planner import csvfile, data
from planner.formulas.template import Row, Template

COLUMNS = ("template", "name", "kind", "bound", "binds", "display")
RANGE = ("_low", "_high")  # how the names of a headline's range end
MOST = 12  # headlines of a template that names none


@dataclass(frozen=True)
class Headline:
    """A number that one asks for first, the least and the most of its range, and its bound."""

    row: Row
    range: tuple[Row, ...] = ()
    bound: Row | None = None
    binds: Row | None = None
    display: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The headline, its range and its bound, in this order."""
        return self.row, *self.range, *([self.bound] if self.bound else [])


def headlines(template: Template) -> list[Headline]:
    """A template's headlines in the order in which they are shown; of one that names none its first outputs."""
    named = [_headline(template, cells) for cells in _named(template, "headline")]
    return named or [Headline(row, binds=row) for row in template.of_kind("output")[:MOST]]


def parts(template: Template) -> list[Row]:
    """The parts of a template's first headline, which together make it; none where it names none."""
    return [template.row(cells["name"]) for cells in _named(template, "part")]


def bounds(template: Template) -> list[str]:
    """The names of the rows whose competing quantities explain the headlines: bounds, and rows that have none."""
    found = [each.binds or each.bound or each.row for each in headlines(template)]
    return list(dict.fromkeys(row.name for row in found))


def _headline(template: Template, cells: dict[str, str]) -> Headline:
    row = template.row(cells["name"])
    spread = tuple(template.row(row.name + end) for end in RANGE if row.name + end in template.by_name)
    bound, binds = (template.by_name.get(cells[name]) for name in ("bound", "binds"))
    return Headline(row, spread, bound, binds or (None if bound else row), cells["display"])


def _named(template: Template, kind: str) -> Iterator[dict[str, str]]:
    """The records of a kind whose row the template has."""
    for cells in _records():
        if (cells["template"], cells["kind"]) == (template.name, kind) and cells["name"] in template.by_name:
            yield cells


@cache
def _records() -> list[dict[str, str]]:
    sheet = csvfile.read(data.folder("templates") / "dashboard.csv", required=COLUMNS, known=COLUMNS)
    return [cells for _, cells in sheet.records()]
