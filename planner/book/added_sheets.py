"""Sheets of values, not formulas, that planner added to a workbook, such as Search.

Such a sheet is recognized by a mark in its third row, which spreadsheet programs keep, also when the sheet is renamed:
its kind, and a digest of what planner wrote. If the digest no longer matches, a user has edited the sheet, and it is
treated as theirs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from planner.book.sheet import SEARCHED, Sheet
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import is_number
from planner.xlsx.styles import Look

DIGITS = 12  # of a digest
UNSIGNED = "0" * DIGITS
_MARK = re.compile(
    rf"\[planner (?P<kind>[^\[\]]+), charts: (?P<charts>\d+), (?P<digest>[0-9a-f]{{{DIGITS}}})"
    rf"(, formats: (?P<formats>[0-9a-f]{{{DIGITS}}}))?\]"
)


class AddedSheet(NamedTuple):
    """A sheet that planner added: its kind, the charts that it drew, and the digest of its cells as written and now.

    `formats` is the digest of its number formats as written; blank in a sheet of an earlier version.
    """

    kind: str
    sheet: Sheet
    charts: int
    said: str
    digest: str
    formats: str

    @property
    def is_as_written(self) -> bool:
        """Whether all its cells are as planner wrote them."""
        return self.said == self.digest


def is_as_written_but(each: AddedSheet, values: Mapping[Position, object]) -> bool:
    """Whether all cells of a sheet would be as planner wrote them if some had these values."""
    found = _marked(each.sheet)
    return found is not None and _digest(each.sheet, found[0], values) == each.said


def mark(kind: str, charts: int) -> str:
    """The text of the sheet's third row, with the mark; its two digests are to be filled in."""
    notice = "Values of one moment. planner replaces this sheet by a newer one, unless you edited it."
    return f"{notice} [planner {kind}, charts: {charts}, {UNSIGNED}, formats: {UNSIGNED}]"


def added(sheets: Iterable[Sheet]) -> Iterator[AddedSheet]:
    """The added sheets among `sheets`."""
    for sheet in sheets:
        if found := _marked(sheet):
            at, said = found
            now = _digest(sheet, at)
            yield AddedSheet(said["kind"], sheet, int(said["charts"]), said["digest"], now, said["formats"] or "")


def of_formats(sheet: Sheet, looks: Sequence[Look]) -> str:
    """A digest of the number formats of a sheet's numbers and formulas; `looks` are those of the workbook's styles."""
    numbers = [at for at, cell in sorted(sheet.cells.items()) if cell.kind or is_number(sheet.values.get(at))]
    styles = ((at, sheet.cells[at].style or 0) for at in numbers)
    return _hashed([(*at, looks[style].number_format) for at, style in styles if style < len(looks)])


def _digest(sheet: Sheet, marked: Position, instead: Mapping[Position, object] = MappingProxyType({})) -> str:
    """A digest of all cells of a sheet except the marked one.

    Numbers count with 15 digits, and `instead` replaces values. Of a formula only its presence counts, since its
    references change when their targets move.
    """
    contents = []
    for at, cell in sorted(sheet.cells.items()):
        value = instead.get(at, sheet.values.get(at))
        if at != marked and (cell.kind or value not in (None, "")):
            contents.append((*at, "=" if cell.kind else f"{value:.15g}" if is_number(value) else str(value)))
    return _hashed(contents)


def _hashed(contents: object) -> str:
    return hashlib.sha256(repr(contents).encode()).hexdigest()[:DIGITS]


def _marked(sheet: Sheet) -> tuple[Position, re.Match[str]] | None:
    """The cell with the sheet's mark, and the match; None for a sheet without one."""
    for at, value in takewhile(lambda each: each[0][0] <= SEARCHED, sheet.values.items()):
        if isinstance(value, str) and (found := _MARK.search(value)):
            return at, found
    return None
