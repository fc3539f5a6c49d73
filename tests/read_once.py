"""What the tests of a process read again and again is read once: a sheet of the same XML, a workbook of the same parts.

Most tests change a cell or two of a workbook that the others have read already. Nothing here is aware of paths or of
names, but for the shipped tables: what differs in a single byte is read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from planner import catalog, data, recalc
from planner.book import sheet, workbook
from planner.recalc import inmemory
from planner.recalc.evidence import Verdict, computed
from planner.xlsx import workbook_part
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml

T = TypeVar("T")
SHEETS, WORKBOOKS = 150, 6  # that are kept; a large workbook has 17 sheets
SHIPPED = data.folder("model_db"), data.folder("hardware_db")
OF_ITS_XML = ("cells", "values", "patterns", "filled")
"""What a `Sheet` knows that follows from its XML alone, whatever workbook it stands in."""


class Kept:
    """The last things that were made, by what they were made of."""

    def __init__(self, most: int) -> None:
        self._most, self._kept = most, OrderedDict[Hashable, Any]()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made of this, now or before."""
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        found: T = self._kept[key]
        return found


class ReadOnceSheet(sheet.Sheet):
    """A sheet that begins with what an earlier one of the same XML has read."""

    def __init__(self, name: str, position: int, xml: SheetXml) -> None:
        super().__init__(name, position, xml)
        earlier = _latest.get(id(xml), lambda: self)
        if earlier.xml is xml:
            self.__dict__.update({each: earlier.__dict__[each] for each in OF_ITS_XML if each in earlier.__dict__})


_parsed, _latest, _asked, _computed = Kept(SHEETS), Kept(SHEETS), Kept(WORKBOOKS), Kept(WORKBOOKS)
_tables, _load = Kept(WORKBOOKS), catalog._load


def _parsed_once(xml: bytes, strings: Sequence[str] = ()) -> SheetXml:
    return _parsed.get((xml, tuple(strings)), lambda: SheetXml(xml, strings))


def _computed_once(package: Package, sheets: Mapping[str, SheetXml]) -> Verdict:
    """What the formulas give follows from the workbook without its cached values."""

    def make() -> Verdict:
        bare = inmemory.stripped(package, sheets)
        return _computed.get(tuple(bare.parts.items()), lambda: computed(bare, sheets))

    return _asked.get(tuple(package.parts.items()), make)


def recalculate_once(package: Package) -> None:
    """Save a workbook as a program that recalculates it does; who asks for the values then need not compute them again.

    This is for tests of what is done with such a workbook. Those of `recalculate` itself call that.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recalc, "computed", _computed_once)
        recalc.recalculate(package)


def _load_once(kind: str, path: Path, *columns: Any, **laws: Any) -> catalog.Table:
    """A table; a shipped one stays as it is."""
    if path.parent not in SHIPPED:
        return _load(kind, path, *columns, **laws)
    found: catalog.Table = _tables.get((kind, path), lambda: _load(kind, path, *columns, **laws))
    return found


def install() -> None:
    """Let the application read so from here on."""
    workbook_part.SheetXml = _parsed_once  # type: ignore[assignment, misc]
    workbook.in_memory = _computed_once
    workbook.Sheet = ReadOnceSheet  # type: ignore[misc]
    catalog._load = _load_once
