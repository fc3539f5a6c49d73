"""The section of each input on Inputs, as data: templates/inputs.csv."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from planner import csvfile, data
from planner.formulas.template import Row

COLUMNS = ("section", "shown", "name")
FURTHER = "further inputs"  # of what the data don't name, as inputs of a person's own template
CLOSED = "closed"


@dataclass
class Section:
    """A heading of Inputs with its rows; a closed one opens by the + beside it."""

    title: str
    is_closed: bool = False
    rows: list[Row] = field(default_factory=list)


def sections(inputs: Iterable[Row]) -> list[Section]:
    """The sections that some inputs fill, in the data's order; what it doesn't name stands before what is closed."""
    named, places = _named()
    found = {title: Section(title, is_closed) for title, is_closed in named.items()}
    for row in inputs:
        found[places[row.name][0] if row.name in places else FURTHER].rows.append(row)
    for section in found.values():
        section.rows.sort(key=lambda row: places[row.name][1] if row.name in places else 0)
    return [section for section in found.values() if section.rows]


@cache
def _named() -> tuple[dict[str, bool], dict[str, tuple[str, int]]]:
    """Whether each section is closed, open ones first; and the section and the place of each name."""
    path = data.folder("templates") / "inputs.csv"
    records = [cells for _, cells in csvfile.read(path, required=COLUMNS, known=COLUMNS).records()]
    closed = {cells["section"]: True for cells in records if cells["shown"] == CLOSED}
    opened = {cells["section"]: False for cells in records if cells["section"] not in closed}
    places = {cells["name"]: (cells["section"], at) for at, cells in enumerate(records)}
    return opened | {FURTHER: False} | closed, places
