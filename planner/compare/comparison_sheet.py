"""Reads the Comparison sheet of a workbook on disk: its cases, and the list of chips in which its formulas look theirs
up.

The sheet is found by its name or its defined name, rows by their content, and columns by machine name, or else by label
or defined name, since an analyst may move, rename, sort and add.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from planner.errors import Place, UserError
from planner.formulas import library
from planner.formulas.template import Template
from planner.measure.records import case_key, parse_key
from planner.xlsx.address import Area, address, unquoted
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import CellError, Value, is_number
from planner.xlsx.opc import Package
from planner.xlsx.references import pieces, references
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.xmltree import every

SHEET, KEY, TIME, RESULTS = "Comparison", "case_key", "measured_time", "measured"
NO_NAMES = "the sheet {} has no row of machine names any more"
UNDO_NAMES = "undo what deleted them, or type them again, as a fresh build has them"
MARKER = "comparison_keys"  # a defined name over the keys: it follows the column when an analyst moves or renames
MARKERS = "comparison_"  # prefix of the defined names over the other columns, before their machine names
IDENTITY = {
    KEY: "Case key",
    "case_label": "Case",
    "template": "Template",
    "hardware_id": "Chip",
    "hardware_row": "Row of Hardware",
}
SHOWN = ".shown"  # suffix of the name of a column that shows the numbers of another in an everyday unit
NOTE, NOTE_LABEL = "note", "Your note"
LOOKED_UP = "hardware_row"  # the column whose formula finds the chip in the workbook's list
DEVICE_KIND = "jax_device_kind"
ENOUGH = 3  # machine names in one row make it the header
RUN, RUN_HEAD = "run ", "run_on"  # prefix of the key of a run, and the machine name of the column of keys of its table
RUN_HEADS = 3  # the rows of its title, its labels and its machine names


@dataclass(frozen=True)
class CaseRow:
    """A row of the Comparison: the sheet's XML, the row number, and the columns by machine name."""

    xml: SheetXml
    number: int
    columns: Mapping[str, int]

    def value(self, name: str) -> Value:
        """A cell's value; None if it is empty or the sheet doesn't have the column."""
        cell = self.xml.row(self.number).get(self.columns.get(name, 0))
        return None if cell is None else cell.value

    def text(self, name: str) -> str:
        """A cell's text; blank if it is empty, a number or an error."""
        value = self.value(name)
        return value.strip() if isinstance(value, str) else ""

    def number_in(self, name: str) -> float | None:
        """A cell's number; None if it is empty, a text or an error."""
        value = self.value(name)
        return float(value) if is_number(value) else None

    @cached_property
    def template(self) -> Template | None:
        """The row's template; None if it isn't known."""
        name = self.text("template")
        return library.load(name) if name in library.names() else None

    @cached_property
    def inputs(self) -> dict[str, float | str | None]:
        """The inputs of its template from its cells; for those without a column, from its key."""
        if self.template is None:
            return {}
        names = [row.name for row in self.template.of_kind("input")]
        typed = {name: self.text(name) or self.number_in(name) for name in names if name in self.columns}
        if len(typed) == len(names):
            return typed
        with suppress(ValueError):
            template, keyed = parse_key(self.text(KEY))
            if template == self.template.name:
                return {name: typed.get(name, keyed.get(name)) for name in names}
        return typed

    @cached_property
    def texts_for_numbers(self) -> dict[str, str]:
        """The texts in its cells of numbers, such as `1,024`: inputs of its template, and the measured time."""
        units = {row.name: row.unit for row in self.template.of_kind("input")} if self.template else {}
        names = (*(name for name, unit in units.items() if unit != "text"), TIME)
        return {name: text for name in names if isinstance(text := self.value(name), str) and text.strip()}

    @cached_property
    def keys(self) -> set[str]:
        """The keys of the row's case: that of its inputs, and an analyst's free text if there is one.

        A typed key that contradicts the inputs is ignored: it is left over from copying another row. It counts where an
        input is a text that spells no number.
        """
        typed = self.text(KEY)
        if self.template is None:
            return {typed} - {""}
        computed = case_key(self.template.name, self.inputs)
        is_read = self.texts_for_numbers.keys() <= {TIME}
        return {computed} if is_read and typed.startswith(f"{self.template.name}|") else {computed, typed} - {""}


@dataclass(frozen=True)
class ComparisonSheet:
    """The Comparison in a package: its part, its columns by machine name, and its rows."""

    part: str
    name: str
    xml: SheetXml
    header: int
    columns: Mapping[str, int]
    rows: tuple[CaseRow, ...]
    sized_to: int = 0  # the last row of the marker, and of the charts that were built with it; 0 without one
    runs_header: int = 0  # the row of the machine names of the table of runs; 0 without one
    run_rows: tuple[int, ...] = ()  # the rows of its runs

    @property
    def runs_title_row(self) -> int:
        """The row of the title of the table of runs; 0 if there is none."""
        return self.runs_header and self.runs_header - RUN_HEADS + 1

    def is_blank(self, row: int) -> bool:
        """Whether a row is empty, and no array of the user's reaches into it."""
        cells = self.xml.row(row).values() if row in self.xml.rows else ()
        is_empty = all(cell.value is None and cell.formula is None for cell in cells)
        return is_empty and not any(row in area.rows for area in self.xml.arrays.values())

    def is_computed(self, row: int, name: str) -> bool:
        """Whether a cell has a formula, which must not be overwritten."""
        return name in self.columns and self.xml.is_computed(address(row, self.columns[name]))


def find(package: Package, sheets: Mapping[str, SheetXml] | None = None) -> ComparisonSheet:
    """The Comparison of a workbook. Raises UserError if there is none or its columns can't be determined."""
    sheets, names = sheets or parse_sheets(package), dict(_markers(package))
    candidates = chain((SHEET, names.get(MARKER, ("",))[0]), _looking_like_one(sheets))
    found = _first_with_heads(package, sheets, (name for name in candidates if name in sheets))
    if found is None:
        remedy = "build one with planner build"
        raise UserError("the workbook has no Comparison sheet", place=Place(package.name), remedy=remedy)
    name, header, columns = found
    xml = sheets[name]
    columns |= _else_by_label(_values(xml.row(header - 1)), columns)
    columns |= _else_by_marker(names, name, columns)
    rows = (CaseRow(xml, number, columns) for number in xml.row_numbers if number > header)
    kept = [row for row in rows if row.text("template") or row.text(KEY)]
    on, area = names.get(MARKER, ("", Area(0, 0, 0, 0)))
    sized_to = area.bottom if on == name else 0
    runs_header = next((row.number for row in kept if row.text(KEY) == RUN_HEAD), 0)
    runs = tuple(row.number for row in kept if row.number > runs_header > 0 and row.text(KEY).startswith(RUN))
    others = {*range(runs_header - RUN_HEADS + 1, runs_header + 1), *runs}
    others |= {row.number for row in kept if row.number > runs_header > 0 and not row.text("template")}  # remarks
    cases = tuple(row for row in kept if row.number not in others)
    return ComparisonSheet(package.sheets()[name], name, xml, header, columns, cases, sized_to, runs_header, runs)


def find_to_time(package: Package, sheets: Mapping[str, SheetXml] | None = None) -> ComparisonSheet:
    """The Comparison of a workbook, to write times into. Raises UserError as `find` does, or if they have no column."""
    sheet = find(package, sheets)
    if TIME not in sheet.columns:
        remedy = "undo its deletion, or planner update brings it back"
        raise UserError(f"the column {TIME} is missing", place=Place(package.name, sheet=sheet.name), remedy=remedy)
    return sheet


def found_in(package: Package, sheets: Mapping[str, SheetXml]) -> ComparisonSheet | None:
    """The Comparison of a workbook; None if there is none or its columns can't be determined."""
    try:
        return find(package, sheets)
    except UserError:
        return None


def _first_with_heads(
    package: Package, sheets: Mapping[str, SheetXml], candidates: Iterable[str]
) -> tuple[str, int, dict[str, int]] | None:
    """(name, header row, columns) of the first of these sheets that has a Comparison's header; None without any sheet.

    An analyst's sheet may have the same name. Raises UserError about the first sheet if none has the header.
    """
    refusals: list[UserError] = []
    for name in candidates:
        try:
            return (name, *_header(package, name, sheets[name]))
        except UserError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]
    return None


def _values(cells: Mapping[int, Cell]) -> dict[int, Value]:
    return {column: cell.value for column, cell in cells.items()}


def _looking_like_one(sheets: Mapping[str, SheetXml]) -> Iterator[str]:
    """The sheets that contain a Comparison's machine names, whatever their name."""
    for name, xml in sheets.items():
        if len(IDENTITY.keys() & {cell.value for cell in xml.cells.values() if not cell.kind}) >= ENOUGH:
            yield name


def _header(package: Package, sheet: str, xml: SheetXml) -> tuple[int, dict[str, int]]:
    """The first row with enough machine names, and the column of each; of repeated names the first column."""
    known = set(_labels())
    for number in xml.row_numbers:
        values = _values(xml.row(number))
        texts = [(value.strip(), column) for column, value in sorted(values.items()) if isinstance(value, str)]
        if len(known & {text for text, _ in texts}) >= ENOUGH:
            return number, dict(reversed([pair for pair in texts if pair[0]]))
    remedy = f"keep the header row with the machine names, such as {KEY}"
    raise UserError(f"no row holds {KEY} and its like", place=Place(package.name, cell=f"{sheet}!A5"), remedy=remedy)


def _labels() -> dict[str, str]:
    """The label of each column that is read or written here, by machine name."""
    rows = library.load(RESULTS).rows
    return {**IDENTITY, **{row.name: f"{row.label} ({row.unit})" for row in rows}, NOTE: NOTE_LABEL}


def _else_by_label(titles: Mapping[int, Value], known: Mapping[str, int]) -> dict[str, int]:
    """The columns whose machine name was overwritten but whose label, one row above, was not."""
    at = {str(value).strip(): column for column, value in titles.items()}
    return {name: at[label] for name, label in _labels().items() if name not in known and label in at}


def _else_by_marker(names: Mapping[str, tuple[str, Area]], sheet: str, known: Mapping[str, int]) -> dict[str, int]:
    """The columns that only their defined name still identifies."""
    wanted = {KEY: MARKER} | {name: f"{MARKERS}{name}" for name in _labels() if name != KEY}
    return {
        name: names[marker][1].left
        for name, marker in wanted.items()
        if name not in known and marker in names and names[marker][0] == sheet
    }


def _markers(package: Package) -> Iterator[tuple[str, tuple[str, Area]]]:
    """Yields planner's defined names on columns, each with its sheet and range, except broken ones.

    Names with a sheet's scope, as a copied sheet has, come first, so that the workbook's own override them in a dict.
    """
    named = every(package.tree(package.workbook_part()), "definedName")
    for element in sorted(named, key=lambda each: each.get("localSheetId") is None):
        name = element.get("name", "")
        if name.startswith(MARKERS):
            sheet, _, area = (element.text or "").rpartition("!")
            try:
                yield name, (unquoted(sheet), Area.parse(area))
            except ValueError:
                continue  # #REF!: its cells were deleted


def is_missing(value: Value) -> bool:
    """Whether a cell's value is blank or an error such as N/A."""
    return value is None or isinstance(value, CellError)


@dataclass(frozen=True)
class ListedChips:
    """The sheet `on` that lists the chips, and the JAX device kind of each id; blank if the list has none."""

    on: str
    kinds: Mapping[str, str]


def listed_chips(sheet: ComparisonSheet, parsed: Mapping[str, SheetXml]) -> ListedChips | None:
    """The list in which the rows' formulas look up their chip; None if it can't be found. `parsed` has all sheets."""
    if LOOKED_UP not in sheet.columns:
        return None
    for row in sheet.rows:
        cell = sheet.xml.cell(address(row.number, sheet.columns[LOOKED_UP]))
        formula = (cell.formula if cell is not None else None) or ""
        if not any(piece.text.upper() == "MATCH(" for piece in pieces(formula)):
            continue
        for reference in references(formula):
            if reference.is_range and reference.sheet in parsed:
                return ListedChips(reference.sheet, dict(_chips(parsed[reference.sheet], reference.area)))
    return None


def _chips(xml: SheetXml, area: Area) -> Iterator[tuple[str, str]]:
    """Yields the ids in the first column of an area, each with its device kind."""
    heads = (cell for at in xml.row_numbers if at < area.top for cell in xml.row(at).items())
    kinds = next((column for column, cell in heads if str(cell.value).strip() == DEVICE_KIND), 0)
    for number in xml.row_numbers:
        row = CaseRow(xml, number, {"id": area.left, DEVICE_KIND: kinds})
        if area.top <= number <= area.bottom and (chip := row.text("id")):
            yield chip, row.text(DEVICE_KIND)
