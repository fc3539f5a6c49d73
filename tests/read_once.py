"""What the tests of a process read again and again is read once: a sheet of the same XML, a workbook of the same parts.

Most tests change a cell or two of a workbook that the others have read already. Nothing here is aware of paths or of
names, but for the shipped tables: what differs in a single byte is read anew.
"""

from __future__ import annotations

import csv
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from planner import catalog, data, recalc
from planner.book import sheet, workbook
from planner.book.tables import LineTable
from planner.catalog.calibrations import COMMON
from planner.catalog.databases import Databases
from planner.formulas.template import Template
from planner.recalc import built_values, engine, evidence
from planner.recalc.evidence import Judgement, computed
from planner.report import expectation
from planner.validation import judged, nearest
from planner.validation.judged import Judged
from planner.validation.nearest import PublishedRuns
from planner.validation.runs import Run
from planner.xlsx import opc, workbook_part
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml
from tests.recalcs import stripped

T = TypeVar("T")
SHEETS, WORKBOOKS, TABLES = 150, 6, 30  # that are kept; the default workbook has 20 sheets
SHEET_BYTES, WORKBOOK_BYTES = 30_000_000, 60_000_000  # of XML at most: cells that were read take some ten times as much
SHIPPED, TEMPLATES = (data.folder("model_db"), data.folder("hardware_db")), data.folder("templates")
PACKED = 8  # how many bytes of XML are one in a file
FAST = 1  # the level of compression: three fifths of the time of the application's, and what is read is the same
CHARTS = "xl/charts/"  # which no formula reads
NO_VALUES: Mapping[engine.Address, Value] = {}
OF_ITS_XML = ("cells", "values", "patterns", "filled", "title_at", "_titles", "line_table")
"""What a `Sheet` knows that follows from its XML alone, whatever workbook it stands in."""


class Kept:
    """The last things that were made, by what they were made of: so many, of so many bytes."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes, self._bytes = most, most_bytes, 0
        self._kept = OrderedDict[Hashable, tuple[Any, int]]()

    def get(self, key: Hashable, make: Callable[[], T], size: int = 0) -> T:
        """What was made of this, now or before; of `size` bytes."""
        if key not in self._kept:
            self._kept[key] = make(), size
            self._bytes += size
        self._kept.move_to_end(key)
        found: T = self._kept[key][0]
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1][1]
        return found


class ReadOnceSheet(sheet.Sheet):
    """A sheet that begins with what an earlier one of the same XML has read."""

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        super().__init__(name, position, xml)
        earlier = _latest.get(id(xml), lambda: self, len(xml.xml))
        if earlier.xml is xml:
            self.__dict__.update({each: earlier.__dict__[each] for each in OF_ITS_XML if each in earlier.__dict__})


class BuiltEngine(engine.Engine):
    """An engine of a workbook just built, for who reads that next: its file without values has the same XML."""

    latest: BuiltEngine | None = None

    def __init__(self, package: Package, sheets: Mapping[str, SheetXml]) -> None:
        BuiltEngine.latest = None
        super().__init__(package, sheets)
        self._parts = _calculated(package)
        BuiltEngine.latest = self

    def put(self, cell: engine.Address, value: Value) -> None:
        """As an engine's; it then has other values than those of the file."""
        BuiltEngine.latest = None
        super().put(cell, value)

    @classmethod
    def of(
        cls, package: Package, sheets: Mapping[str, SheetXml], values: Mapping[engine.Address, Value] = NO_VALUES
    ) -> engine.Engine:
        """That of the workbook built last, if this is it; else a new one."""
        latest, cls.latest = cls.latest, None
        if not values and latest is not None and latest._parts == _calculated(package):
            return latest
        return engine.Engine(package, sheets, values)


def _calculated(package: Package) -> dict[str, bytes]:
    """The parts of a workbook that an engine reads."""
    return {name: xml for name, xml in package.parts.items() if not name.startswith(CHARTS)}


def _line_table_once(read: sheet.Sheet) -> LineTable | None:
    """The lines of a sheet, which follow from its XML too. They are kept without it, so that it goes when it is needed
    no more: sheets that refer to themselves stay until Python's collector walks millions of cells.
    """
    known = read.__dict__
    if "line_table" not in known:
        of_sheet = _line_table(read)
        known["line_table"] = of_sheet and replace(of_sheet, sheet=None)  # type: ignore[arg-type]
    found: LineTable | None = known["line_table"]
    return found and replace(found, sheet=read)


_line_table, _from_bytes = workbook.line_table, Package.from_bytes
_parsed, _latest = Kept(SHEETS, SHEET_BYTES), Kept(SHEETS, SHEET_BYTES)
_asked, _computed, _packages = (Kept(WORKBOOKS, WORKBOOK_BYTES) for _ in range(3))
_tables, _load, _load_calibrations = Kept(TABLES, 0), catalog._load, catalog.load_calibrations
_plain, _plain_parts = engine.Engine._plain, Kept(SHEETS, SHEET_BYTES)
_published_runs: dict[str, tuple[Template, PublishedRuns | None]] = {}
short: dict[Path, Path] = {}
"""What is read in the place of a shipped table while `tests.short_data` says so."""
meanwhile: list[str] = []
"""What `tests.short_data` makes smaller at the moment: a workbook that is built then is kept apart from the others."""
_published = nearest.published_runs
_published_judged = judged.published_judged


def _from_bytes_once(_cls: type[Package], data: bytes, name: str) -> Package:
    """A file that a command wrote, and that the test and the next command read; each may change its own copy."""
    found = _packages.get(data, lambda: _from_bytes(data, name), PACKED * len(data))
    return replace(found, name=name, parts=dict(found.parts), _infos=dict(found._infos))


def _parsed_once(xml: bytes, strings: Sequence[str] = ()) -> SheetXml:
    return _parsed.get((xml, tuple(strings)), lambda: SheetXml(xml, strings), len(xml))


def _plain_once(self: engine.Engine, xml: bytes) -> bytes:
    """A part as the engine is given it; that of a workbook with tables, or with others', depends on those too."""
    if self._tables or self._elsewhere:
        return _plain(self, xml)
    return _plain_parts.get(xml, lambda: _plain(self, xml), len(xml))


def _computed_once(package: Package, sheets: Mapping[str, SheetXml], *, is_as_saved: bool = True) -> Judgement:
    """What the formulas give follows from the workbook without what its cells and charts have cached."""

    def make() -> Judgement:
        bare = stripped(package, sheets)
        parts = tuple(_calculated(bare).items())
        return _computed.get((is_as_saved, parts), lambda: computed(bare, sheets, is_as_saved=is_as_saved), _size(bare))

    return _asked.get((is_as_saved, tuple(package.parts.items())), make, _size(package))


def _size(package: Package) -> int:
    return sum(map(len, package.parts.values()))


def recalculate_once(package: Package) -> None:
    """Save a workbook as a program that recalculates it does; who asks for the values then need not compute them again.

    This is for tests of what is done with such a workbook. Those of `recalculate` itself call that.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recalc, "computed", _computed_once)
        recalc.recalculate(package, is_as_saved=True)


def _load_once(kind: str, path: Path, *columns: Any, **laws: Any) -> catalog.Table:
    """A table; a shipped one stays as it is."""
    path = short.get(path, path)
    if path.parent not in SHIPPED and path not in short.values():
        return _load(kind, path, *columns, **laws)
    found: catalog.Table = _tables.get((kind, path), lambda: _load(kind, path, *columns, **laws))
    return found


def _calibrations_once(path: Path | None = None, *, only: bool = False) -> catalog.Table:
    """The shipped calibrations stay as they are, too; beside a few chips they are those of these."""
    if path is not None:
        return _load_calibrations(path, only=only)
    if short:
        return calibrations_of({*catalog.load_hardware().rows})
    found: catalog.Table = _tables.get("calibrations", _load_calibrations)
    return found


def calibrations_of(chips: Container[str]) -> catalog.Table:
    """The shipped calibrations that these chips or kinds of chips read: a fifth of a small workbook are the others."""
    shipped: catalog.Table = _tables.get("calibrations", _load_calibrations)
    with (data.folder("hardware_db") / "accelerators.csv").open(encoding="utf-8", newline="") as file:
        read = {COMMON, "tpu", "gpu", *(row["calibration"] for row in csv.DictReader(file) if row["id"] in chips)}
    return replace(shipped, rows={name: row for name, row in shipped.rows.items() if name in read})


def _published_once(template: Template, databases: Databases | None = None) -> PublishedRuns | None:
    """What is expected of the published runs of a shipped template with the shipped calibrations."""
    has_own = databases is not None and databases.calibrations_csv is not None
    if has_own or template.path.parent != TEMPLATES:
        return _published(template, databases)
    if template.name not in _published_runs:
        with pytest.MonkeyPatch.context() as patch:
            for path in tuple(short):
                patch.delitem(short, path)
            _published_runs[template.name] = template, _published(template)
    of, found = _published_runs[template.name]
    return found if of is template else _published(template, databases)


@cache
def _published_judged_once(templates: frozenset[str] | None) -> tuple[list[Run], list[Judged]]:
    """The published runs with the shipped databases stay as they are, and so does what is expected of them."""
    assert not short, "they are of all shipped models and chips"
    return _published_judged(templates)


def install() -> None:
    """Let the application read so from here on."""
    opc.COMPRESSED = FAST
    Package.from_bytes = classmethod(_from_bytes_once)  # type: ignore[method-assign, assignment]
    workbook_part.SheetXml = _parsed_once  # type: ignore[assignment, misc]
    workbook.computed = _computed_once
    engine.Engine._plain = _plain_once  # type: ignore[method-assign]
    built_values.Engine = BuiltEngine  # type: ignore[misc]
    evidence.Engine = BuiltEngine.of  # type: ignore[assignment, misc]
    workbook.Sheet = ReadOnceSheet  # type: ignore[misc]
    workbook.line_table = _line_table_once
    catalog._load = _load_once
    catalog.load_calibrations = _calibrations_once
    nearest.published_runs = expectation.published_runs = _published_once
    judged.published_judged = _published_judged_once
