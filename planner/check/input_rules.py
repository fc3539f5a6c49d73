"""Rules about inputs: each has dependents and a data validation, and an allowed, plausible value (20, 27, 34)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import NamedTuple

from planner import plausible_ratios
from planner.book.formulas_in_names import names_in
from planner.book.sheet import Sheet
from planner.book.tables import HEADER, MACHINE_NAME, Database, LineItem
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.check.precedents import CellSet
from planner.compare.comparison_sheet import found_in
from planner.errors import NEAR, closest
from planner.formulas.input_values import CHOICE_WORDS, Limits, is_flag, stages
from planner.number_text import wanted_number
from planner.plausible import doubt
from planner.workbook.memory import kept_rows
from planner.xlsx.address import Area, Position, Spot, address
from planner.xlsx.cellvalue import ONLY_BLANKS, CellError, Value, exact_text, is_number, said_text
from planner.xlsx.pattern import pattern
from planner.xlsx.xmltree import Element, local_name

_OPERATORS: dict[str, tuple[str, Callable[[float, float, float], bool]]] = {
    "between": ("from {0} to {1}", lambda value, low, high: low <= value <= high),
    "notBetween": ("outside {0} to {1}", lambda value, low, high: not low <= value <= high),
    "equal": ("equal to {0}", lambda value, low, _: value == low),
    "notEqual": ("other than {0}", lambda value, low, _: value != low),
    "lessThan": ("below {0}", lambda value, low, _: value < low),
    "lessThanOrEqual": ("of at most {0}", lambda value, low, _: value <= low),
    "greaterThan": ("above {0}", lambda value, low, _: value > low),
    "greaterThanOrEqual": ("of at least {0}", lambda value, low, _: value >= low),
}
"""The operators of validations, in words and as functions of a value and two limits."""
BLANK = "a blank cell is wanted"
_KINDS = {"decimal": "a number", "whole": "a whole number", "textLength": "a length"}


class Validation(NamedTuple):
    """A data validation of the cells in `areas`; `first` and `second` are its formulas."""

    areas: tuple[Area, ...]
    type: str
    operator: str
    first: str
    second: str
    has_message: bool


@rule(20, "No dead input: everything is used, or is an output or a check.")
def dead_inputs(book: Book) -> Iterator[Fault]:
    """Rows of Inputs without dependents; just a note if values typed over formulas are the reason."""
    inputs = book.inputs.sheet
    last = max(row for row, _ in inputs.cells)
    read: set[int] = set()
    for sheet in book.sheets.values():
        for at, formula in sheet.patterns.items():
            for reference in formula.references:
                if reference.sheet == inputs.name:
                    area = reference.area(*at)
                    read.update(range(area.top, min(area.bottom, last) + 1))
    for line in (line for line in book.inputs.lines if line.row not in read):
        what, cell = f"no formula reads {line.name}", address(line.row, book.inputs.head.name)
        if (sheet_name := _typed_over_on(book, line.name)) is None:
            yield Fault(inputs.name, cell, what, "delete the row, or use it")
        else:
            alike = f"no formula reads the input: values on {sheet_name} are typed over those that did"
            what += f": values on {sheet_name} are typed over those that did"
            yield Fault(inputs.name, cell, what, "copy the formulas back, where it shall count", "note", alike=alike)


def _typed_over_on(book: Book, name: str) -> str | None:
    """The sheet on which values replace formulas that would read an input; None if there is none."""
    for table in book.calculations:
        for line in table.lines:
            is_read = name == line.name or name in names_in(line.names)
            if is_read and any(table.sheet.is_typed(line.row, column) for column in table.columns):
                return table.sheet.name
    return None


@rule(27, "Every input has a data validation with a message.")
def validations(book: Book) -> Iterator[Fault]:
    """Inputs without a data validation, and typed values that theirs doesn't allow."""
    kept = kept_rows(book)
    for sheet in book.our_sheets:
        # including the extension element, where Excel keeps lists from other sheets
        found = [_validation(element) for element in sheet.elements("dataValidation")]
        reported: set[str] = set()
        typed = CellSet(_typed(book, sheet) if found else ())
        for validation in found:
            faults = list(_out_of_range(book, sheet, validation, typed))
            reported |= {fault.cell for fault in faults}
            yield from faults
        areas = [area for known in found if known.has_message for area in known.areas]
        wanted = [at for at in book.open_cells(sheet) if (sheet.name, at[0]) not in kept]
        yield from _unguarded(sheet, wanted, areas)
        if sheet is book.inputs.sheet:
            yield from _beyond_limits(book, reported)
    yield from _texts_of_cases(book)
    yield from _numbers_for_ids(book)


def _numbers_for_ids(book: Book) -> Iterator[Fault]:
    """Ids of scenarios that are numbers: other sheets have them as texts, which equal no number."""
    table, line = book.inputs, book.inputs.by_name.get(HEADER[0])
    for column in table.columns if line else ():
        if line and is_number(value := table.sheet.value(line.row, column)):
            said = f"the id {exact_text(value)} is a number, and a text on other sheets: no lookup finds it"
            remedy = f"type a text, such as s{exact_text(value)}"
            cell = address(line.row, column)
            yield Fault(table.sheet.name, cell, said, remedy, kind="out_of_range", after=value)


def _texts_of_cases(book: Book) -> Iterator[Fault]:
    """Texts in the cells of numbers of Comparison, which have no data validation: cases may be anything."""
    sheet = found_in(book.package, book.parsed)
    if sheet is None:
        return
    for row in sheet.rows:
        typed = (name for name in row.texts_for_numbers if not sheet.is_computed(row.number, name))
        for cell in (Spot(sheet.name, row.number, row.columns[name]) for name in typed):
            yield out_of_range(book, cell, "a number is wanted")


def _typed(book: Book, sheet: Sheet) -> Iterator[Spot]:
    """The typed cells of a sheet that validations apply to, without those of the user's own rows and columns.

    Validations extend to these too, in a row or column of Inputs and in a column of the Comparison.
    """
    table = book.inputs
    rows = {line.row for line in table.lines} if sheet is table.sheet else set()
    columns = {*table.head.texts, *table.columns}
    titles = [cases.columns for cases in book.cases if cases.sheet is sheet and "template" in cases.columns.values()]
    known = {column for each in titles for column, title in each.items() if MACHINE_NAME.fullmatch(title)}
    for row, column in sheet.values:
        is_ours = column in known if titles else True
        if sheet is table.sheet:
            is_ours = column in columns and (row <= table.head.row or row in rows)
        if is_ours and sheet.is_typed(row, column):
            yield Spot(sheet.name, row, column)


def _unguarded(sheet: Sheet, positions: list[Position], guarded: list[Area]) -> Iterator[Fault]:
    """A fault for open cells that no validation's area covers."""
    wanted = [Spot(sheet.name, *at) for at in positions]
    cells = CellSet(wanted)
    known = {cell for area in guarded for cell in cells.within(sheet.name, area)}
    for name, row, column in wanted:
        if (name, row, column) not in known:
            what, remedy = "the input has no data validation with a message", "copy another input's validation"
            yield Fault(name, address(row, column), what, remedy)


def _beyond_limits(book: Book, reported: set[str]) -> Iterator[Fault]:
    """Inputs without a validation, as after pasting over it, checked against the limits of their row."""
    table = book.inputs
    for line in (line for line in table.lines if line.unit not in ("", "text") and line.name not in HEADER):
        columns = (table.head.fourth,) if line.section == "Constants" else table.columns
        for column in columns:
            value, cell = table.sheet.value(line.row, column), Spot(table.sheet.name, line.row, column)
            if cell.ref in reported or isinstance(value, CellError) or not table.sheet.is_typed(cell.row, cell.column):
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                yield out_of_range(book, cell, f"{wanted_number(line.unit)} is wanted")
            elif wanted := _limits(line).fault(value):
                yield out_of_range(book, cell, wanted)


@rule(34, "A typed number is what numbers of its name or its unit usually are.")
def plausible_numbers(book: Book) -> Iterator[Fault]:
    """Implausible numbers of Inputs or a database, with what was probably meant; just notes."""
    for cell, name, unit in _judged(book):
        value = book.sheets[cell.sheet].value(cell.row, cell.column)
        if is_number(value) and (doubtful := doubt(name, unit, float(value))):
            _, scenario = book.owner(*cell)
            what = f"{name}{f' of {scenario}' if scenario else ''} = {doubtful}"
            remedy, alike = "type another value where it is another", f"{name} = {doubtful}"
            yield Fault(cell.sheet, cell.ref, what, remedy, "note", alike=alike)
    yield from _ill_matched(book)


def _ill_matched(book: Book) -> Iterator[Fault]:
    """Numbers of a row of Hardware that don't fit together, such as a bandwidth in GB/s that was meant in TB/s."""
    base = book.databases.get("hardware")
    if base is None:
        return
    for row in base.rows:
        values = {name: base.sheet.value(row, column) for name, column in base.columns.items()}
        units = {name: base.sheet.text(base.header_row - 1, column) for name, column in base.columns.items()}
        numbers = {name: float(value) for name, value in values.items() if is_number(value)}
        scaled = {name: unit for name, unit in units.items() if unit in plausible_ratios.SCALED}
        for name, doubtful in plausible_ratios.doubts(numbers, scaled, dict):
            cell = Spot(base.sheet.name, row, base.columns[name])
            remedy = "type another value where it is another"
            yield Fault(cell.sheet, cell.ref, f"{name} = {doubtful}", remedy, "note")
    yield from _ill_overridden(book, base)


def _ill_overridden(book: Book, base: Database) -> Iterator[Fault]:
    """Numbers of its chip that a scenario overrides with ones that don't fit the others."""
    table, chips = book.inputs, {base.sheet.text(row, base.columns["id"]): row for row in base.rows}
    lines = [line for line in table.lines if line.unit in plausible_ratios.SCALED]
    for column in table.columns:
        values = {line.name: table.sheet.value(line.row, column) for line in lines}
        typed = {name: float(value) for name, value in values.items() if is_number(value)}
        row = chips.get(book.said(HEADER[-1], column))
        own = {} if row is None or not typed else base.columns
        numbers = {name: base.sheet.value(row or 0, at) for name, at in own.items()}
        known = {name: float(value) for name, value in numbers.items() if is_number(value)} | typed
        units = {line.name: line.unit for line in lines if line.name in typed}
        for name, doubtful in plausible_ratios.doubts(known, units, dict) if own else ():
            if name in typed:
                cell = Spot(table.sheet.name, next(line.row for line in lines if line.name == name), column)
                what = f"{name} of {book.owner(*cell)[1]} = {doubtful}"
                yield Fault(cell.sheet, cell.ref, what, "type another value where it is another", "note")


def _judged(book: Book) -> Iterator[tuple[Spot, str, str]]:
    """Yields the cells of typed numbers, with name and unit."""
    table = book.inputs
    for line in (line for line in table.lines if line.section != "Constants"):
        yield from ((Spot(table.sheet.name, line.row, column), line.name, line.unit) for column in table.columns)
    for base in book.databases.values():
        for name, column in base.columns.items():
            unit = base.sheet.text(base.header_row - 1, column)
            rows = base.rows if unit else ()
            yield from ((Spot(base.sheet.name, row, column), name, unit) for row in rows)


def _limits(line: LineItem) -> Limits:
    """The limits of a row of Inputs, as far as its name and unit determine them."""
    last = stages(line.name)
    return Limits(is_flag(line.name, line.unit), False) if last is None else Limits(False, False, last, is_stage=True)


def _out_of_range(book: Book, sheet: Sheet, validation: Validation, typed: CellSet) -> Iterator[Fault]:
    """The typed values that a validation covers and doesn't allow."""

    @cache
    def values_of(areas: tuple[tuple[str, Area], ...]) -> set[str]:
        sheets = ((book.sheets.get(name or sheet.name), area) for name, area in areas)
        return {_key(other.value(*at)) for other, area in sheets if other for at in other.cells if area.covers(*at)}

    for area in validation.areas:
        for name, row, column in typed.within(sheet.name, area):
            value = sheet.value(row, column)
            allowed = _listed(validation, (row, column), values_of) if validation.type == "list" else None
            wanted = "" if isinstance(value, CellError) else _breach(validation, value, allowed)
            if wanted:
                yield out_of_range(book, Spot(name, row, column), wanted, allowed or ())


def out_of_range(book: Book, cell: Spot, wanted: str, listed: Collection[str] = ()) -> Fault:
    """The finding that a typed value isn't allowed in its cell; `listed` are those that are, in lower case."""
    name, *at = cell
    value = book.sheets[name].value(*at)
    what, scenario = book.owner(name, *at)
    subject = " of ".join(part for part in (what, scenario) if part)
    remedy = _meant(value, listed)
    is_padded = isinstance(value, str) and value != value.strip()
    said = f"{said_text(str(value)) if is_padded else exact_text(value)} is out of range: {wanted}"
    alike = f"{what + ': ' if what else ''}the value is out of range: {wanted}"
    if wanted == BLANK:
        remedy = "empty the cell, and write elsewhere"
    elif isinstance(value, str) and not value.strip():
        said, remedy, alike = ONLY_BLANKS, "empty the cell with the key Delete, or type a value", ONLY_BLANKS
    elif isinstance(value, str) and (number_in(value) is not None or "number" in wanted):
        said = f"{said_text(value)} stands where a number is wanted"
        alike = "a text stands where a number is wanted"
        remedy = "type it as a number, without separators or a unit: a cell formatted as text keeps a text"
    text = f"{subject}: {said}" if subject else said
    return Fault(name, address(*at), text, remedy, kind="out_of_range", after=value, alike=alike)


def _meant(value: Value, listed: Collection[str]) -> str:
    """What to type in place of a value that isn't among those `listed`."""
    word = _key(value).strip()
    if (called := CHOICE_WORDS.get(word, "")) in listed:
        return f"type {called}, as it is called here"
    near = closest(word, listed, 1, NEAR)
    return f"type {near[0]}, if that is meant" if near else "type another value"


def _breach(validation: Validation, value: Value, allowed: set[str] | None) -> str:
    """What a validation asks for if a value violates it; blank if it doesn't, or that is unknown."""
    if validation.type == "list":
        return "" if allowed is None or _key(value) in allowed else f"it is not in the list {validation.first}"
    low, high = number_in(validation.first), number_in(validation.second or validation.first)
    if validation.type not in ("decimal", "whole", "textLength") or low is None or high is None:
        return ""
    number = len(exact_text(value)) if validation.type == "textLength" else value
    limits, is_within = _OPERATORS[validation.operator]
    if isinstance(number, (int, float)):
        is_of_kind = validation.type != "whole" or number == round(number)
        if is_of_kind and is_within(number, low, high):
            return ""
    if (validation.type, validation.operator, high) == ("textLength", "equal", 0):
        return BLANK
    return f"{_KINDS[validation.type]} {limits.format(validation.first, validation.second)} is wanted"


def _listed(
    validation: Validation, at: Position, values_of: Callable[[tuple[tuple[str, Area], ...]], set[str]]
) -> set[str] | None:
    """The values of a list validation for a cell: quoted ones, or a range's; None for a name or a formula."""
    if validation.first.startswith('"'):
        items = (item.strip() for item in validation.first.strip('"').split(","))
        return {_key(item if (number := number_in(item)) is None else number) for item in items}
    corner = validation.areas[0]
    ranges = pattern(validation.first, corner.top, corner.left)
    if ranges.names or ranges.functions:
        return None
    return values_of(tuple((each.sheet, each.area(*at)) for each in ranges.references))


def _key(value: Value) -> str:
    """A key equal for values that a list treats as equal: texts regardless of case, numbers regardless of spelling."""
    return exact_text(value).lower()


def number_in(text: str) -> float | None:
    """The number that a text spells; None if it doesn't spell one."""
    with contextlib.suppress(ValueError):
        return float(text)
    return None


def _validation(element: Element) -> Validation:
    texts = {local_name(child): "".join(child.itertext()).strip() for child in element}
    ranges = pattern(",".join((element.get("sqref") or texts.get("sqref", "")).split()), 1, 1)
    areas = tuple(reference.area(1, 1) for reference in ranges.references)
    return Validation(
        areas,
        element.get("type", "none"),
        element.get("operator", "between"),
        texts.get("formula1", ""),
        texts.get("formula2", ""),
        bool(element.get("prompt") or element.get("error")),
    )
