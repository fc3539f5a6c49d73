"""The headlines of a template, with their bounds and parts, as data: templates/dashboard.csv.

Its kinds: `headline`, an important output, with its bound (`bound`) and the row that says what binds (`binds`).
Dashboard shows all of them; `calc` and the report show those that have a `label`, under that label. `part`, a part of
the headline above it, whose parts add up to it: a row, or a formula in names of rows with a label of its own. `check`,
the check that a whole plan fits in memory (a template such as a collective has none); with it come `needed` and `room`,
the row and the formula that it compares; what would make it fit is in `advice`. `lever`, an input to change first if a
plan doesn't fit or costs too much. `problem`, an input that describes the demand: plans are compared if these, and the
model, are the same. The `target` of a headline is the input that it should stay below; `better` says whether `less` or
`more` of it is better, or `either`, where that doesn't follow from its unit.
A row is shown in the unit of its template's column `display`.

The rows are those of a template or of a workbook on disk, so that both have the same headlines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from planner import data
from planner.formulas import library
from planner.formulas.template import Row, Template, read_rows
from planner.formulas.text import parse
from planner.formulas.units import parse_unit
from planner.number_text import PERCENT

COLUMNS = ("template", "name", "kind", "label", "bound", "binds", "target", "better")
RANGE = ("_low", "_high")  # suffixes of the ends of a headline's range, which covers `OF_RUNS`
OF_RUNS = "80 % of published runs"
OF_ANY_RUNS = "80 % of runs"  # where runs of the user's own may be among those that were fitted to
FITTING = ("check", "needed", "room")  # the kinds about fitting in memory
EITHER = "either"  # in the column `better`: neither way is, whatever the unit
WASTE = frozenset({"bubble", "excess", "idle", "imbalance"})  # words of the names of shares that are better small
_COSTS = frozenset({"s", "h", "byte", "bit", "FLOP", "USD", "chip", "W"})
MOST = 12  # most headlines of a template without its own


class NamedRow(Protocol):
    """A row of a template or of a workbook."""

    @property
    def name(self) -> str:
        """Its machine name."""

    @property
    def label(self) -> str:
        """Its label."""

    @property
    def unit(self) -> str:
        """Its unit."""


AnyRow = TypeVar("AnyRow", bound=NamedRow)


class Part(NamedTuple):
    """A part of a headline: its label, and its row's name or a formula in names."""

    label: str
    text: str


class Share(NamedTuple):
    """A part of an expected time: its label, seconds, and fraction of the whole."""

    label: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Headline(Generic[AnyRow]):
    """An important number, the low and high end of its range, its bound and its parts.

    `label` is for `calc` and the report, blank if only Dashboard shows it; `unit` is % for a share.
    """

    row: AnyRow
    unit: str
    label: str = ""
    range: tuple[AnyRow, ...] = ()
    bound: AnyRow | None = None
    binds: AnyRow | None = None
    target: AnyRow | None = None
    parts: tuple[Part, ...] = ()

    @property
    def said(self) -> str:
        """Its label."""
        return self.label or self.row.label

    @property
    def rows(self) -> tuple[AnyRow, ...]:
        """The headline, its range and its bound, in this order."""
        return self.row, *self.range, *([self.bound] if self.bound else [])

    @property
    def has_range(self) -> bool:
        """Whether it has a range and a bound."""
        return len(self.rows) > len(RANGE)

    def shares(self, number: Callable[[str], float | None]) -> list[Share]:
        """The parts that take some of the time, in order; empty if the time or one of them is N/A, or the time is 0.

        `number` gives the value of a formula in names in the plan, in s; None for N/A.
        """
        total = number(self.row.name)
        times = [(part.label, number(part.text)) for part in self.parts]
        if not total or any(seconds is None for _, seconds in times):
            return []
        return [Share(label, seconds, seconds / total) for label, seconds in times if seconds]


@dataclass(frozen=True)
class MemoryFit:
    """How a plan's memory is reported: the check, the bytes needed, and the bytes available.

    `check` and `needed` are rows, `room` is a formula in names.
    """

    check: str
    needed: str
    room: Part


def fit(template: Template) -> MemoryFit | None:
    """The memory report of a template's plan; None if it plans only a part, or a row is missing."""
    source = headline_template(template)
    found = {kind: [Part(cells["label"], cells["name"]) for cells in _named(source, kind)] for kind in FITTING}
    if not all(found[kind] for kind in FITTING):
        return None
    (check, *_), (needed, *_), (room, *_) = (found[kind] for kind in FITTING)
    names = {check.text, needed.text, *parse(room.text).names}
    if not names <= template.by_name.keys():
        return None
    return MemoryFit(check.text, needed.text, room)


def headlines(template: Template) -> list[Headline[Row]]:
    """A template's headlines in display order; its first outputs if it has none.

    A user's template that includes a whole plan has the plan's, followed by its own outputs.
    """
    source = headline_template(template)
    found = _headlines(source, template.by_name)
    outputs = [row for row in template.of_kind("output") if not found or row.template == template.name]
    own = [Headline(row, row.unit, binds=row) for row in outputs[:MOST]]
    return found if source == template.name and found else [*found, *own]


def headline_template(template: Template) -> str:
    """The template whose headlines this one has: itself, or else the outermost whole plan that it includes.

    A plan is included as a whole if its rows keep their names: under a prefix it is one part of many.
    """
    records, leading_ones = _records(), leaders()
    if template.name in records:
        return template.name
    whole = (name for name in template.digests if leading_ones.get(name, "") in template.by_name)
    return next(whole, template.name)


def rows_shown(template: Template) -> list[Row]:
    """The rows of a template that Dashboard shows: headlines with their ranges, bounds, targets and parts."""
    found = headlines(template)
    parts = [template.by_name[part.text] for each in found for part in each.parts if part.text in template.by_name]
    memory = fit(template)
    asked = [each.target for each in found if each.target]
    return [
        *(row for each in found for row in each.rows),
        *asked,
        *parts,
        *([template.row(memory.needed)] if memory else []),
    ]


def leading(template: str, rows: Mapping[str, AnyRow]) -> list[Headline[AnyRow]]:
    """The headlines with which `calc` and the report lead; empty if the template has none, or a row is missing."""
    found = [each for each in _headlines(template, rows) if each.label]
    wanted = sum(bool(cells["label"]) for cells in _named(template, "headline"))
    return found if len(found) == wanted and all(len(each.range) == 2 and each.bound for each in found) else []


def memory_check(template: str) -> str:
    """The name of the check that a whole plan fits in memory; blank if a template plans only a part."""
    return next((cells["name"] for cells in _named(template, "check")), "")


def memory_needed(template: str) -> str:
    """The name of the row with the bytes that a whole plan needs on a chip; blank if a template plans only a part."""
    return next((cells["name"] for cells in _named(template, "needed")), "")


def levers(template: str) -> list[str]:
    """The names of the inputs to change first in a template's plan."""
    return [cells["name"] for cells in _named(template, "lever")]


def better(template: str, name: str, unit: str) -> str:
    """Whether `less` or `more` of a template's row is better: as dashboard.csv says, else by its name and unit.

    Blank if neither is. `unit` is % for a share; one of a bubble or another waste is better small.
    """
    said = next((cells["better"] for cells in _named(template, "headline") if cells["name"] == name), "")
    if said:
        return said.replace(EITHER, "")
    return usually_better(unit) if WASTE.isdisjoint(name.split("_")) else "less"


def usually_better(unit: str) -> str:
    """`less` for units of a time, a cost or a memory, `more` for those of a rate and a share; blank for counts."""
    if unit in (PERCENT, "text"):
        return "more" if unit == PERCENT else ""
    powers = parse_unit(unit).powers
    below = {symbol for symbol, power in powers if power < 0}
    if "s" in below:
        return "more"
    return "less" if below <= {"chip", "h"} and any(power > 0 and symbol in _COSTS for symbol, power in powers) else ""


def problem(template: str) -> list[str]:
    """The names of the inputs that describe the demand on a template's plan."""
    return [cells["name"] for cells in _named(template, "problem")]


def leaders() -> dict[str, str]:
    """The templates with leading headlines, in order, each with the name of its first headline."""
    return {name: records[0]["name"] for name, records in _records().items() if records[0]["label"]}


def bounds(template: Template) -> list[str]:
    """The names of the rows whose competing parts explain the headlines: bounds, and headlines without one."""
    found = [each.binds or each.bound or each.row for each in headlines(template)]
    return list(dict.fromkeys(row.name for row in found))


def _headlines(template: str, rows: Mapping[str, AnyRow]) -> list[Headline[AnyRow]]:
    """The headlines whose rows exist, each with the parts whose rows exist."""
    found: list[Headline[AnyRow]] = []
    for cells in _records().get(template, ()):
        if cells["kind"] == "headline" and cells["name"] in rows:
            found.append(_headline(template, cells, rows))
        elif cells["kind"] == "part" and found and rows.keys() >= set(parse(cells["name"]).names):
            part = Part(cells["label"] or rows[cells["name"]].label, cells["name"])
            found[-1] = replace(found[-1], parts=(*found[-1].parts, part))
    return found


def _headline(template: str, cells: dict[str, str], rows: Mapping[str, AnyRow]) -> Headline[AnyRow]:
    row = rows[cells["name"]]
    spread = tuple(rows[row.name + end] for end in RANGE if row.name + end in rows)
    bound, binds, target = (rows.get(cells[name]) for name in ("bound", "binds", "target"))
    binding = binds or (None if bound else row)
    unit = PERCENT if row.name in _shares(template) else row.unit
    return Headline(row, unit, cells["label"], spread, bound, binding, target)


def records_of(template: str) -> Sequence[Mapping[str, str]]:
    """The rows of templates/dashboard.csv for a template, in order, by column."""
    return _records().get(template, ())


def _named(template: str, kind: str) -> list[Mapping[str, str]]:
    return [cells for cells in records_of(template) if cells["kind"] == kind]


@cache
def _shares(template: str) -> set[str]:
    """The names of a shipped template's rows shown in percent, which a workbook on disk doesn't record."""
    rows, _ = read_rows(library.find(template, None))
    return {row.name for row in rows if row.display == PERCENT}


@cache
def _records() -> dict[str, list[dict[str, str]]]:
    """The rows of dashboard.csv by template, in order."""
    sheet = data.table("dashboard", COLUMNS)
    found: dict[str, list[dict[str, str]]] = {}
    for _, cells in sheet.records():
        found.setdefault(cells["template"], []).append(cells)
    return found
