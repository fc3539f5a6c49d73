"""Row and Template: reads a template's CSV and checks it row by row; every error names file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from planner import csvfile, regularfile
from planner.catalog.checked_table import TABLES
from planner.errors import NEAR, Place, UserError, closest, nearest
from planner.formulas.synonyms import TEMPLATES, meant
from planner.formulas.text import FUNCTIONS, Binary, Call, Formula, FormulaError, Node, Number, Unary, children, parse
from planner.formulas.units import TEXT, Unit, parse_unit, unit_of
from planner.scaled_units import factor
from planner.typed_numbers import PLAIN

COLUMNS = ("name", "label", "unit", "kind", "formula", "source", "note")
LISTED = 8  # most rows that are listed in place of an unknown one
DISPLAY = "display"  # an optional column: the unit in which a row is displayed
LOOKUPS = tuple(TABLES)
BY_ID = ("dtype", "calibration", "stack")  # looked up by the id in a text row
CROSS_CHECK = "Cross-check"  # the source of checks of our own formulas, which no plan can fail
CALCULATED = ("calc", "output", "check")
KINDS = ("input", "constant", *LOOKUPS, *CALCULATED, "include")
FEW = 4  # most templates to name that have a row

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_COLUMN = re.compile(r"([a-z][a-z0-9_]*)(?:\[([a-z][a-z0-9_]*)\])?")


@dataclass(frozen=True)
class Row:
    """One quantity of a template. `template` is the template in which it is written, `place` its file and line."""

    name: str
    label: str
    unit: str
    kind: str
    formula: str
    source: str = ""
    note: str = ""
    template: str = ""
    place: Place = field(default_factory=Place)
    choices: tuple[str, ...] = ()  # the texts with which formulas compare a text input
    display: str = ""  # its display unit if that isn't its SI unit: ms, GB, days, %

    @property
    def said_in(self) -> str:
        """The unit in which the number is displayed."""
        return self.display or self.unit

    @property
    def named(self) -> str:
        """Its label with its name, which is what one types: `Chips (n_chips)`."""
        return f"{self.label} ({self.name})"

    @property
    def is_of_plan(self) -> bool:
        """Whether it is a check of the plan, rather than one of our own formulas, which no plan can fail."""
        return self.kind == "check" and self.source != CROSS_CHECK

    @cached_property
    def expression(self) -> Formula:
        """The parsed formula of a calculated row; that of a bound text may be a text literal."""
        return parse(self.formula, whole_text=True)

    @cached_property
    def default(self) -> float | str | None:
        """An input's default or a constant's value; None if the template has none, and of a row of another kind."""
        if self.kind not in ("input", "constant"):
            return None
        if self.unit == "text" or not self.formula:
            return self.formula or None
        return float(self.formula)

    @cached_property
    def column(self) -> tuple[str, str | None]:
        """A lookup's column and, for `peak[compute_dtype]` or `matmul_factor[stack]`, the row whose text selects."""
        if self.kind == "dtype":
            return "bytes_per_element", self.formula
        match = _COLUMN.fullmatch(self.formula or self.name)
        if match is None:
            raise self.fault(f"{self.formula!r} is no column name", "write column or column[dtype_row]")
        return match.group(1), match.group(2)

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The names of the rows that this row reads."""
        if self.kind in CALCULATED:
            return self.expression.names
        if self.kind in LOOKUPS and self.kind != "model":
            return tuple(name for name in [self.column[1]] if name)
        return ()

    def fault(self, what: str, remedy: str = "", start: int | None = None) -> UserError:
        """A UserError at this row; `start` is the index of the formula's character at fault."""
        column = None if start is None else f"formula, character {start + 1}"
        place = replace(self.place, column=column) if column else self.place
        return UserError(f"{self.name}: {what}", place=place, remedy=remedy)


@dataclass(frozen=True, eq=False)
class Template:
    """A template with its includes laid out: rows in evaluation order, and the digest of each file read.

    `shelf` gives the shipped templates, to find a row that another one has. Templates compare by identity, so that
    results can be cached per template.
    """

    name: str
    path: Path
    rows: tuple[Row, ...]
    digests: Mapping[str, str]
    shelf: Callable[[], Sequence[Template]] = field(default=tuple, repr=False)

    @cached_property
    def by_name(self) -> dict[str, Row]:
        return {row.name: row for row in self.rows}

    def row(self, name: str) -> Row:
        """The row with this name. Raises UserError with the nearest name, or the templates that have it."""
        if name not in self.by_name:
            raise UserError(f"{self.name} has no row {name!r}", remedy=instead_of(name, self.by_name, self.shelf()))
        return self.by_name[name]

    def of_kind(self, *kinds: str) -> list[Row]:
        """The rows of these kinds, in order."""
        if kinds not in self._of_kinds:
            self._of_kinds[kinds] = [row for row in self.rows if row.kind in kinds]
        return list(self._of_kinds[kinds])

    @cached_property
    def _of_kinds(self) -> dict[tuple[str, ...], list[Row]]:
        """What `of_kind` has found."""
        return {}

    def inputs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every input by name, as given or else its default."""
        return {row.name: given.get(row.name, row.default) for row in self.of_kind("input")}

    def reduced(self, names: Iterable[str]) -> Template:
        """The template restricted to these rows and their precedents."""
        needed = self.closure(names)
        return replace(self, rows=tuple(row for row in self.rows if row.name in needed))

    def closure(self, names: Iterable[str], given: Collection[str] = ()) -> set[str]:
        """These names and all their precedents; a `given` row has none."""
        waiting, reached = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += () if name in given else self.row(name).reads
        return reached


def called(path: Path) -> str:
    """The machine name of a template, from its file's: `My plan.csv` is my_plan, `2nd.csv` is plan_2nd.

    A workbook's checks are named after it.
    """
    name = re.sub(r"[^a-z0-9_]+", "_", path.stem.lower())
    return name if re.match("[a-z]", name) else f"plan_{name.strip('_')}"


def read_rows(path: Path) -> tuple[list[Row], str]:
    """The rows of a template's CSV as written, and the digest of the file.

    Raises UserError for faults within a row: columns, names, kinds, units, numbers.
    """
    sheet = csvfile.read(path, required=COLUMNS, known=(*COLUMNS, DISPLAY), largest=regularfile.SMALL)
    rows: list[Row] = []
    seen: dict[str, int] = {}
    for line, cells in sheet.records():
        row = row_of(cells, Place(path, line), called(path))
        _check_row(row)
        if row.name in seen and row.name != ".":
            raise row.fault(f"the name stands in line {seen[row.name]} already", "names are unique")
        seen[row.name] = line
        rows.append(row)
    if not rows:
        raise UserError("there are no rows below the header", place=Place(path), remedy="add a row for each quantity")
    return rows, sheet.digest


def row_of(cells: Mapping[str, str], place: Place, template: str) -> Row:
    """The row of a record's cells, by COLUMNS and DISPLAY."""
    name, label, unit, kind, formula, source, note = ((cells[column] or "").strip() for column in COLUMNS)
    display = cells.get(DISPLAY, "").strip()
    return Row(name, label, unit, kind, formula, source, note, template, place, display=display)


def _check_row(row: Row) -> None:
    if row.kind not in KINDS:
        raise row.fault(f"unknown kind {row.kind!r}", nearest(row.kind, KINDS))
    if not (row.kind == "include" and row.name == ".") and (wrong := name_fault(row.name)):
        raise row.fault(wrong, "names match [a-z][a-z0-9_]*, three letters or more")
    if row.kind == "include":
        return
    if not row.label:
        raise row.fault("the label is empty", "write what a reader calls it")
    try:
        unit = parse_unit(row.unit)
    except ValueError as error:
        raise row.fault(str(error)) from None
    if row.display:
        _check_display(row)
    if row.kind in ("input", "constant"):
        _check_number(row, unit)
    if row.kind == "dtype" and unit != parse_unit("byte"):
        raise row.fault(f"a dtype is bytes per element: its unit is byte, not {row.unit}")
    if row.kind in (*CALCULATED, "dtype") and not row.formula:
        raise row.fault("the formula is empty")


def _check_display(row: Row) -> None:
    """Raise UserError if a row's display unit has another dimension than the row."""
    try:
        factor(row.display, row.unit)
    except ValueError as error:
        place = replace(row.place, column=DISPLAY)
        remedy = f"write a unit of {row.unit}, or leave it blank"
        raise UserError(f"{row.name}: {error}", place=place, remedy=remedy) from None


def _check_number(row: Row, unit: Unit) -> None:
    if row.kind == "constant" and not row.formula:
        raise row.fault("a constant needs its number in the formula column")
    if row.kind == "constant" and not row.source:
        place = replace(row.place, column="source")
        raise UserError(f"{row.name}: a constant needs a source", place=place, remedy="say where its number is from")
    if unit == TEXT or not row.formula:
        return
    if not PLAIN.fullmatch(row.formula):
        raise row.fault(f"{row.formula!r} is no number", "write 0.5 or 1e12, or leave it blank for N/A")
    if abs(float(row.formula)) == float("inf"):
        raise row.fault(f"{row.formula!r} is more than a cell can hold")


def name_fault(name: str) -> str | None:
    """What is wrong with a machine name, or None: a name must never look like a cell or a function."""
    if not _NAME.fullmatch(name) or len(name) < 3:
        return f"{name!r} is no machine name"
    if name.upper() in (*FUNCTIONS, "TRUE", "FALSE"):
        return f"{name!r} is a function's name"
    if "_" not in name and re.search(r"\d", name):
        return f"{name!r} reads as a cell address"
    return None


def checked(row: Row, units: Mapping[str, Unit], below: Mapping[str, Row]) -> Row:
    """The row after verification: its names are defined above, its literals are allowed, its unit is the declared one.

    `units` has the unit of every name above; `below` the file's own rows, to distinguish a forward reference from an
    unknown name. Raises UserError at the character at fault.
    """
    try:
        for name, start in _named(row):
            if name not in units:
                raise _unknown(row, name, start, units, below)
        if row.kind in CALCULATED:
            check_literals(row.expression)
            derived = unit_of(row.expression, units)
            if derived not in (None, parse_unit(row.unit)):
                raise row.fault(f"declared {row.unit}, but {row.formula} is {derived}", "correct the one or the other")
        elif any(units[name] != TEXT for name in row.reads):
            raise row.fault(f"{row.reads[0]} is no text row", "name a row that holds a dtype")
        if row.kind in BY_ID and not row.column[1]:
            holder = next((name for name, each in below.items() if each.unit == "text" and row.kind in name), "its_row")
            raise row.fault(f"{row.formula!r} names no row that holds an id", f"write {row.column[0]}[{holder}]")
        if row.kind == "model" and row.column[1]:
            raise row.fault(f"{row.formula!r} is no column of a model", "only a chip's are selected by dtype")
    except FormulaError as error:
        raise row.fault(error.what, error.remedy, error.start) from None
    return row


def _named(row: Row) -> Iterator[tuple[str, int]]:
    if row.kind in CALCULATED:
        yield from ((node.name, node.start) for node in row.expression.spans)
    else:
        yield from ((name, 0) for name in row.reads)


def _unknown(row: Row, name: str, start: int, units: Mapping[str, Unit], below: Mapping[str, Row]) -> UserError:
    if name == row.name:
        return row.fault("the formula refers to its own row", "", start)
    if name in below:
        line = below[name].place.line
        return row.fault(f"{name} stands below, in line {line}", "names refer upward: move that row up", start)
    return row.fault(f"unknown name {name}", nearest(name, units), start)


def check_literals(formula: Formula) -> None:
    """Allow no number but 0 and 1, and 2 as an exponent or a LOG's base: constants are rows, with unit and source.

    Raises FormulaError at the number.
    """

    def allowed(number: Number, parent: Node | None) -> bool:
        if number.value in (0, 1):
            return not (isinstance(parent, Unary) and parent.op == "%")
        exponent = isinstance(parent, Binary) and parent.op == "^" and parent.right is number
        base = isinstance(parent, Call) and parent.function == "LOG" and parent.args[1] is number
        return number.value == 2 and (exponent or base)

    def visit(node: Node, parent: Node | None) -> None:
        if isinstance(node, Number) and not allowed(node, parent):
            what = f"the number {formula.of(node)} in a formula"
            raise FormulaError(what, node.start, "make it a constant row")
        if isinstance(node, Binary) and isinstance(node.left, Number) and isinstance(node.right, Number):
            raise FormulaError("an operator between two numbers", node.start, "make it a constant row")
        for child in children(node):
            visit(child, node)

    visit(formula.root, None)


def instead_of(name: str, own: Collection[str], shelf: Sequence[Template]) -> str:
    """The remedy for an unknown name, given the template's `own` rows.

    It names, in this order: the row with this synonym; the expected number of that name; the shipped templates
    (`shelf`) that have it, except those that include another which does, and of many the workloads alone; the nearest
    name in this template or elsewhere; a row elsewhere with this synonym.
    """
    if here := meant(name, own):
        return f"here it is {' or '.join(here)}"
    if (likely := f"{name}_expected") in own:
        return f"did you mean {likely}?"
    if having := [template for template in shelf if name in template.by_name]:
        names = {each.name for each in having}
        first = [each.name for each in having if names & each.digests.keys() == {each.name}]
        if len(first) > FEW:  # what most templates have, such as chips: those that plan a run have it too
            first = [name for name in dict.fromkeys(TEMPLATES.values()) if name in names] or first
        return f"{', '.join(first)} {'has' if len(first) == 1 else 'have'} it"
    outer_first = sorted(shelf, key=lambda template: len(template.digests), reverse=True)
    there = {row: template.name for template in outer_first for row in template.by_name}
    best = closest(name, [*own, *there], 1, NEAR)
    if not best and (begun := sorted((row for row in own if row.startswith(f"{name}_")), key=len)):
        return f"did you mean {' or '.join(begun[:3])}?"
    if not best and (others := meant(name, there)):
        return f"{there[others[0]]} has it as {others[0]}"
    if {*best} - {*own}:
        return f"did you mean {best[0]}, which {there[best[0]]} has?"
    return nearest(name, own, None if len(own) <= LISTED else f"planner find {name} looks in all templates")
