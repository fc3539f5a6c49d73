"""A narrow interface to the formula engine, formualizer."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from planner.csvfile import CELL_LIMIT
from planner.errors import UserError
from planner.recalc.engine_formulas import CALLS, UNKNOWN, given, without_tables
from planner.recalc.readable_values import with_readable_values
from planner.xlsx.address import coordinates, folded, in_quotes
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.markup import escaped, unescaped
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import ExcelTable, counts_from_1904, kept_elsewhere, tables

Address = tuple[str, str]  # the sheet's name and the cell's address on it
Sheets = Mapping[str, SheetXml]
AGREEMENT = 1e-9  # the relative tolerance between a saved and a computed number

_CODES = {
    "Na": "#N/A",
    "Div": "#DIV/0!",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}
_KINDS = {code: kind for kind, code in _CODES.items()}
_REASONS = {
    "Circ": "it is part of a circle of references",
    "NImpl": "it has a construct that the engine doesn't know",
    "Error": "the engine can't read the formula",
    "Spill": "its result is an array",
}
_LIMITS = {"max_input_bytes": 1 << 31, "max_entries": 1 << 16, "max_expanded_bytes": 1 << 31, "max_part_bytes": 1 << 31}
_UNPLAIN = re.compile(rb"<!--.*?-->|<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_FORMULA = re.compile(rb"<f(?: [^<>]*[^<>/])?>([^<]+)(?=</)")
_PREFIXED_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f(?: [^<>]*[^<>/])?>([^<]+)(?=</)")
_FORMULA_CELL = re.compile(
    rb'(<(?:[\w.-]+:)?c r="[A-Z]+([0-9]+)"[^<>]*><(?:[\w.-]+:)?f(?: [^<>]*[^<>/])?>)([^<]+)(?=</)'
)
_RANGE = re.compile(rb"[A-Z]++\$?+[0-9]++:\$?+[A-Z]++\$?+[0-9]++")
_LOOSE = re.compile(rb":(?:(?<= :)|(?<=[\w)]:) ) *[\w($']")  # perhaps `A1 : A9`
_CALLS = re.compile(CALLS.encode())
_DATE = re.compile(rb"""\st\s*=\s*["']d["']""")
_STRICT = {
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
}


class EngineError(Exception):
    """The engine can't load or evaluate the workbook at all."""


@dataclass(frozen=True)
class Unknown:
    """In place of a value: why the engine has none."""

    reason: str


class Engine:
    """A workbook in the engine. Raises EngineError if it can't be loaded or evaluated.

    `sheets` are needed only for dates written as text; `values` are put into cells that the workbook lacks.
    """

    def __init__(
        self, package: Package, sheets: Mapping[str, SheetXml], values: Mapping[Address, Value] = MappingProxyType({})
    ) -> None:
        self._formualizer = formualizer = _import()
        self._places: dict[Address, tuple[int, int]] = {}
        self._tables = {folded(table.name): table for table in tables(package)}
        self._elsewhere = kept_elsewhere(package)
        config = formualizer.EvaluationConfig()
        config.date_system = "1904" if counts_from_1904(package) else "1900"
        with _refusals():
            # In the other mode one formula that it can't parse makes it refuse the workbook.
            settings = formualizer.WorkbookConfig(
                mode=formualizer.WorkbookMode.Interactive, eval_config=config, enable_changelog=False
            )
            load = partial(formualizer.Workbook.from_bytes, load_limits=_LIMITS, config=settings)
            try:
                self._book = load(self._plain_file(package))
            except OSError:  # it refuses the workbook for one unreadable value
                self._book = load(self._plain_file(with_readable_values(package)))
            self._book.set_temporal_egress("serial")
            self.put_all(values)
            self._put_dates(sheets, config.date_system)
            self._book.evaluate_all()
        lost = set(package.sheets()) - set(self._book.sheet_names)
        if lost:
            raise EngineError(f"the engine doesn't load the sheet {min(lost)}")

    def evaluate(self) -> None:
        """Evaluate stale formulas."""
        with _refusals():
            self._book.evaluate_all()

    def values(self, cells: Iterable[Address]) -> dict[Address, Value | Unknown]:
        """The value of each of these formula cells."""
        get, places = self._book.get_value, self._places
        found: dict[Address, Value | Unknown] = {}
        for cell in cells:
            place = places.get(cell)
            if place is None:
                place = places[cell] = coordinates(cell[1])
            value = get(cell[0], *place)
            found[cell] = value if type(value) is float and math.isfinite(value) else understood(value)
        return found

    def block(self, sheet: str, rows: int, columns: int) -> list[list[Any]]:
        """A sheet's cells from A1 on as raw engine values; those that aren't numbers need `understood`."""
        if not rows or not columns:
            return []
        area = self._formualizer.RangeAddress(sheet, 1, 1, rows, columns)
        found: list[list[Any]] = self._book.sheet(sheet).get_values(area)
        return found

    def put(self, cell: Address, value: Value) -> None:
        """Type a value into a cell, also over a formula; its dependents become stale."""
        self._book.set_value(cell[0], *coordinates(cell[1]), self._literal(value))

    def put_all(self, values: Mapping[Address, Value]) -> None:
        """Type values into cells, with one call for each vertical run.

        Putting them one by one would mark dependents stale each time, and copy a growing sheet for every row.
        """
        columns: dict[tuple[str, int], dict[int, Value]] = {}
        for (sheet, ref), value in values.items():
            row, column = coordinates(ref)
            columns.setdefault((sheet, column), {})[row] = value
        for (sheet, column), cells in columns.items():
            rows = sorted(cells)
            starts = [row for row in rows if row - 1 not in cells]
            for start, stop in zip(starts, [*starts[1:], rows[-1] + 1], strict=True):
                run = [[self._literal(cells[row])] for row in range(start, stop) if row in cells]
                self._book.set_values_batch(sheet, start, column, run)

    def _literal(self, value: Value) -> Any:
        if isinstance(value, CellError):
            return self._formualizer.LiteralValue.error(_KINDS.get(value.code, "Value"), None)
        return self._formualizer.LiteralValue.text(value) if isinstance(value, str) else value

    def put_formula(self, cell: Address, text: str) -> None:
        """Put a formula, without its =, into a cell that had none; one that the engine refuses has no value."""
        row, column = coordinates(cell[1])
        text = given(without_tables(text, row, self._tables), self._elsewhere)
        try:
            with _refusals():
                self._book.set_formula(cell[0], row, column, f"={text}")
        except EngineError:  # such as a formula that reads its own cell
            self._book.set_formula(cell[0], row, column, f"={UNKNOWN}()")

    def stale(self, cells: Iterable[Address]) -> set[Address]:
        """The cells that are stale; volatile formulas and their dependents always are."""
        current = self._formualizer.Staleness.Current
        return {cell for cell in cells if self._inspect(cell).staleness != current}

    def spills(self, cells: Iterable[Address]) -> set[Address]:
        """The cells whose result spills into others, which a plain formula in a file doesn't do."""
        return {cell for cell in cells if self._inspect(cell).spill is not None}

    def _put_dates(self, sheets: Mapping[str, SheetXml], system: str) -> None:
        """Put in dates written as ISO text as numbers; the engine would take them for texts."""
        first = datetime(1904, 1, 1) if system == "1904" else datetime(1899, 12, 30)
        for name, sheet in sheets.items():
            may_have = b'"d"' in sheet.xml or b"'d'" in sheet.xml  # faster to find than the pattern
            for cell in sheet.cells.values() if may_have and _DATE.search(sheet.xml) else ():
                if cell.type == "d" and cell.text and cell.formula is None:
                    try:
                        moment = _moment(cell.text, first)
                    except ValueError:
                        self.put_formula((name, cell.ref), f"{UNKNOWN}()")
                        continue
                    self.put((name, cell.ref), (moment - first) / timedelta(days=1))

    def _plain_file(self, package: Package) -> bytes:
        """The workbook in the form that the engine reads best: uncompressed, with plain XML in every part."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, data in package.parts.items():
                is_xml, named = name.endswith((".xml", ".rels")), name.replace("%20", " ")
                if name.endswith((".rels", "[Content_Types].xml")):
                    data = data.replace(b"%20", b" ")  # it doesn't find parts with percent-encoded names
                archive.writestr(zipfile.ZipInfo(named), self._plain(data) if is_xml else data)
        return buffer.getvalue()

    def _plain(self, xml: bytes) -> bytes:
        """XML in the transitional namespaces, without comments, CDATA and formulas that the engine misreads."""
        if b"<!" in xml:
            xml = _UNPLAIN.sub(lambda match: escaped((match[1] or b"").decode()).encode(), xml)
        if b"http://purl.oclc.org/ooxml/" in xml:
            for strict, transitional in _STRICT.items():
                xml = xml.replace(strict, transitional)
        xml = _tableless(xml, self._tables)
        formula = _PREFIXED_FORMULA if b":f" in xml else _FORMULA
        return formula.sub(self._given, xml) if _is_odd(b"<".join(formula.findall(xml))) else xml

    def _given(self, match: re.Match[bytes]) -> bytes:
        if not _is_odd(match[1]):
            return match[0]
        text = escaped(given(unescaped(match[1].decode()), self._elsewhere))
        return match[0].removesuffix(match[1]) + text.encode()

    def _inspect(self, cell: Address) -> Any:
        return self._book.inspect_cell(f"'{in_quotes(cell[0])}'!{cell[1]}", include_values=False).cell


def _moment(text: str, first: datetime) -> datetime:
    """A date, or a time on the day `first`, in ISO format. Raises ValueError for anything else."""
    with suppress(ValueError):
        return datetime.combine(first, time.fromisoformat(text.strip())).replace(tzinfo=None)
    return datetime.fromisoformat(text.strip()).replace(tzinfo=None)


def understood(value: Any) -> Value | Unknown:
    """A raw engine value as a cell's value."""
    if isinstance(value, float):
        return value if math.isfinite(value) else Unknown("its result is not a finite number")
    if isinstance(value, dict):
        kind = value["kind"]
        return CellError(_CODES[kind]) if kind in _CODES else Unknown(_REASONS.get(kind, f"error {kind}"))
    if isinstance(value, (bool, int)) or (isinstance(value, str) and len(value) <= CELL_LIMIT):
        return value
    return Unknown("the engine has no value for it")


def engine_name() -> str:
    """The engine and its version, for messages and reports."""
    from importlib.metadata import version

    _import()
    return f"formualizer {version('formualizer')}"


def _import() -> Any:
    try:
        import formualizer
    except ImportError as error:
        raise UserError(
            "the formula engine is not installed", remedy='pip install "formualizer>=0.13,<0.14"'
        ) from error
    return formualizer


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn whatever the engine raises into EngineError; a panic in its Rust code is not an Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError, UserError):
        raise
    except BaseException as error:
        raise EngineError(f"the engine can't compute this workbook ({error})") from error


def _tableless(xml: bytes, known: Mapping[str, ExcelTable]) -> bytes:
    """XML with structured references to tables replaced by addresses."""
    if not known:
        return xml

    def given_cell(match: re.Match[bytes]) -> bytes:
        text = unescaped(match[3].decode())
        new = without_tables(text, int(match[2]) * (b' t="shared"' not in match[1]), known)
        return match[0] if new == text else match[1] + escaped(new).encode()

    return _FORMULA_CELL.sub(given_cell, xml)


def _is_odd(formulas: bytes) -> bool:
    """Whether formulas, as XML, may have something that the engine misreads."""
    if b"[" in formulas or _LOOSE.search(formulas) or _CALLS.search(formulas.upper()):
        return True
    return any(map(_is_reversed, set(_RANGE.findall(formulas))))


def _is_reversed(found: bytes) -> bool:
    """Whether a range isn't written from its top left to its bottom right corner, as in `A9:A1`."""
    with suppress(ValueError):  # a text may only look like one, as `GPT4:LLAMA3`
        (top, left), (bottom, right) = map(coordinates, found.decode().replace("$", "").split(":"))
        return top > bottom or left > right
    return False
