"""The headlines of a template, with their bounds and parts, as data: templates/dashboard.csv.

Its kinds: `headline`, an important output, with its bound (`bound`) and the row that says what binds (`binds`).
Dashboard shows all of them; `calc` and the report show those that have a `label`, under that label. `part`, a part of
the headline above it, whose parts add up to it: a row, or a formula in names of rows with a label of its own. `check`,
the check that a whole plan fits in memory (a template such as a collective has none); with it come `needed` and `room`,
the row and the formula that it compares, and each `change`, a row that says what would make it fit. `lever`, an input
to change first if a plan doesn't fit or costs too much. `problem`, an input that describes the demand: plans are
compared if these, and the model, are the same. The `target` of a headline is the input that it should stay below.
A row is shown in the unit of its template's column `display`.

The rows are those of a template or of a workbook on disk, so that both have the same headlines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from planner import data
from planner.formulas import library
from planner.formulas.template import Row, Template, read_rows
from planner.formulas.text import parse
from planner.spoken import PERCENT

COLUMNS = ("template", "name", "kind", "label", "bound", "binds", "target")
RANGE = ("_low", "_high")  # how the names of a headline's range end, which holds `OF_RUNS`
OF_RUNS = "80 % of published runs"
FITTING = ("check", "needed", "room", "change")  # the kinds that tell whether a plan fits in memory
MOST = 12  # headlines of a template that names none


class NamedRow(Protocol):
    """A row of a template or of a workbook."""

    @property
    def name(self) -> str:
        """Its machine name."""

    @property
    def label(self) -> str:
        """What a reader calls it."""

    @property
    def unit(self) -> str:
        """Its unit."""


AnyRow = TypeVar("AnyRow", bound=NamedRow)


class Part(NamedTuple):
    """A part of a headline: what to call it, and the name of its row or a formula in names of rows."""

    label: str
    text: str


class Share(NamedTuple):
    """What a part takes of an expected time: its label, seconds, and the fraction of the whole."""

    label: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Headline(Generic[AnyRow]):
    """A number that one asks for first, the least and the most of its range, its bound and its parts.

    `label` is what `calc` and the report call it, blank where Dashboard alone shows it; `unit` is % for a share.
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
        """What a reader calls it."""
        return self.label or self.row.label

    @property
    def rows(self) -> tuple[AnyRow, ...]:
        """The headline, its range and its bound, in this order."""
        return self.row, *self.range, *([self.bound] if self.bound else [])

    @property
    def has_range(self) -> bool:
        """Whether it is told with its range and its bound."""
        return len(self.rows) > len(RANGE)

    def shares(self, number: Callable[[str], float | None]) -> list[Share]:
        """The parts that take any of the time, in order; none where one of them, or the time, is N/A or 0.

        `number` gives what a formula in names of rows is in a plan, in seconds; None for N/A.
        """
        total = number(self.row.name)
        times = [(part.label, number(part.text)) for part in self.parts]
        if not total or any(seconds is None for _, seconds in times):
            return []
        return [Share(label, seconds, seconds / total) for label, seconds in times if seconds]


@dataclass(frozen=True)
class MemoryFit:
    """How a whole plan's memory is told: the check, what it needs, what there is, and what would make it fit.

    `check` and `needed` are rows, `room` is a formula in names of rows; each change is a row with the words behind it.
    """

    check: str
    needed: str
    room: Part
    changes: tuple[Part, ...]


def fit(template: Template) -> MemoryFit | None:
    """How a template's plan fits in memory; None of a part of a plan, or where a row is missing."""
    led = led_as(template)
    found = {kind: [Part(cells["label"], cells["name"]) for cells in _named(led, kind)] for kind in FITTING}
    if not all(found[kind] for kind in FITTING[:-1]):
        return None
    (check, *_), (needed, *_), (room, *_), changes = (found[kind] for kind in FITTING)
    names = {check.text, needed.text, *parse(room.text).names, *(part.text for part in changes)}
    if not names <= template.by_name.keys():
        return None
    return MemoryFit(check.text, needed.text, room, tuple(changes))


def headlines(template: Template) -> list[Headline[Row]]:
    """A template's headlines in the order in which they are shown; of one that names none its first outputs.

    One of a person's that includes a whole plan has the plan's, and behind them its own outputs.
    """
    led = led_as(template)
    found = _headlines(led, template.by_name)
    outputs = [row for row in template.of_kind("output") if not found or row.template == template.name]
    own = [Headline(row, row.unit, binds=row) for row in outputs[:MOST]]
    return found if led == template.name and found else [*found, *own]


def led_as(template: Template) -> str:
    """The template whose headlines one has: its own, or where it has none the outermost whole plan that it includes.

    A plan is included whole where its rows have their own names: under a prefix it is one part of many.
    """
    records, leading_ones = _records(), leaders()
    if template.name in records:
        return template.name
    whole = (name for name in template.digests if leading_ones.get(name, "") in template.by_name)
    return next(whole, template.name)


def rows_shown(template: Template) -> list[Row]:
    """The rows whose numbers Dashboard shows of a template: headlines with their ranges, bounds and parts."""
    found = headlines(template)
    parts = [template.by_name[part.text] for each in found for part in each.parts if part.text in template.by_name]
    told = fit(template)
    asked = [each.target for each in found if each.target]
    return [
        *(row for each in found for row in each.rows),
        *asked,
        *parts,
        *([template.row(told.needed)] if told else []),
    ]


def leading(template: str, rows: Mapping[str, AnyRow]) -> list[Headline[AnyRow]]:
    """What `calc` and the report lead with of a template; none where it leads with nothing, or a row is missing."""
    found = [each for each in _headlines(template, rows) if each.label]
    wanted = sum(bool(cells["label"]) for cells in _named(template, "headline"))
    return found if len(found) == wanted and all(len(each.range) == 2 and each.bound for each in found) else []


def memory_check(template: str) -> str:
    """The name of the check that a whole plan fits in memory; blank where a template plans a part of one."""
    return next((cells["name"] for cells in _named(template, "check")), "")


def levers(template: str) -> list[str]:
    """The names of the inputs that one changes first of a template's plan."""
    return [cells["name"] for cells in _named(template, "lever")]


def problem(template: str) -> list[str]:
    """The names of the inputs that say what a template's plan is asked for."""
    return [cells["name"] for cells in _named(template, "problem")]


def leaders() -> dict[str, str]:
    """The templates that lead with something, in order, each with the name of its first headline."""
    return {name: records[0]["name"] for name, records in _records().items() if records[0]["label"]}


def bounds(template: Template) -> list[str]:
    """The names of the rows whose competing quantities explain the headlines: bounds, and rows that have none."""
    found = [each.binds or each.bound or each.row for each in headlines(template)]
    return list(dict.fromkeys(row.name for row in found))


def _headlines(template: str, rows: Mapping[str, AnyRow]) -> list[Headline[AnyRow]]:
    """The headlines whose rows there are, each with the parts whose rows there are."""
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


def _named(template: str, kind: str) -> list[dict[str, str]]:
    return [cells for cells in _records().get(template, ()) if cells["kind"] == kind]


@cache
def _shares(template: str) -> set[str]:
    """The names of a shipped template's rows that are said in percent, which a workbook on disk doesn't say."""
    rows, _ = read_rows(library.find(template, None))
    return {row.name for row in rows if row.display == PERCENT}


@cache
def _records() -> dict[str, list[dict[str, str]]]:
    """What dashboard.csv says of each template, in its order."""
    sheet = data.table("dashboard", COLUMNS)
    found: dict[str, list[dict[str, str]]] = {}
    for _, cells in sheet.records():
        found.setdefault(cells["template"], []).append(cells)
    return found
