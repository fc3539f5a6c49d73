"""Groups the rows of a sheet that have the same formulas, so that each formula is parsed once for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from planner.xlsx import references
from planner.xlsx.address import Area
from planner.xlsx.markup import unescaped
from planner.xlsx.references import pieces
from planner.xlsx.sheetxml import SheetXml

OWN_ROW = references.OWN_ROW.encode()  # in a pattern: the number of the formula's own row
FORMULA_CELL = re.compile(rb'(<c r="([A-Z]+)([0-9]+)"(?: [\w:]+="[^"<]*")*>)<f(?: aca="[a-z0-9]+")?>([^<]*)</f>')
"""A cell with a plain formula, up to its value; groups: the XML before <f>, the column, the row, the formula's text."""
_BETWEEN = b"\n<"  # separates formulas: XML text contains no <
_READS_NOTHING = frozenset({"text", "number", "logical", "error", "function", "space"})
_OPERATORS = frozenset("-+*/^&=<>(),%{};") | {"<>", "<=", ">="}  # others make references: A1:INDEX(...), A1#


class AlikeRows(NamedTuple):
    """Rows with equal formulas: the formula pattern of each column, by letters, and the numbers of the rows.

    A pattern is a formula's XML text with `OWN_ROW` in place of the row's own number.
    """

    patterns: Mapping[str, bytes]
    numbers: Sequence[int]


def alike_rows(sheet: SheetXml) -> list[AlikeRows] | None:
    """The rows of a sheet with formulas, grouped; None if any formula isn't a plain one in the usual form."""
    if not sheet.is_plain:
        return None
    xml, found, n_formulas = sheet.xml, dict[bytes, list[int]](), 0
    for number, (start, end) in sheet.rows.items():
        formulas = [(column, text) for _, column, _, text in FORMULA_CELL.findall(xml, start, end)]
        if formulas:
            n_formulas += len(formulas)
            key = _BETWEEN.join([column + _BETWEEN + text for column, text in formulas])
            found.setdefault(key.replace(b"%d" % number, OWN_ROW), []).append(number)
    if n_formulas != sheet.n_formulas:
        return None
    return [AlikeRows(_by_column(key.split(_BETWEEN)), numbers) for key, numbers in found.items()]


def _by_column(cut: list[bytes]) -> dict[str, bytes]:
    return {column.decode(): text for column, text in zip(cut[::2], cut[1::2], strict=True)}


class RowFormula(NamedTuple):
    """A formula with references as names: `c5` is column 5 of its own row, `x0` the first of `areas` (sheet, area).

    `n_own` counts its references to its own row. `is_alike` says that it has no relative reference to another row, so
    that its text with another row's number is the same formula.
    """

    text: str
    columns: frozenset[int]
    areas: tuple[tuple[str, Area], ...]
    n_own: int
    is_alike: bool


@lru_cache(maxsize=1 << 14)
def row_formula(text: str, row: int, sheet: str) -> RowFormula | None:
    """The formula of a cell in `row` of a sheet; None if its references can't be determined."""
    own: list[int] = []
    areas: dict[tuple[str, Area], str] = {}
    texts: list[str] = []
    is_alike = True
    for piece in pieces(text):
        reference = piece.reference
        if reference is None:
            if piece.kind not in _READS_NOTHING and piece.text not in _OPERATORS:
                return None
            texts.append(piece.text if piece.kind == "text" else piece.text.upper())
            continue
        first, last, on = reference.first, reference.last, reference.sheet or sheet
        if reference.is_foreign or not first.column:
            return None
        if on == sheet and not reference.is_range and first.row == row:
            own.append(first.column)
            texts.append(f"c{first.column}")
        else:
            is_alike = is_alike and first.row_fixed and last.row_fixed
            texts.append(areas.setdefault((on, reference.area), f"x{len(areas)}"))
    return RowFormula("".join(texts), frozenset(own), tuple(areas), len(own), is_alike)


def text_of(pattern: bytes, row: int) -> str:
    """The formula of a pattern in `row`, without XML escapes."""
    return unescaped(pattern.replace(OWN_ROW, b"%d" % row).decode())


def reads_columns(sheet: str, rows: Iterable[AlikeRows], columns: AbstractSet[int]) -> bool:
    """Whether any formula of these rows may read a cell of their sheet in one of `columns`."""
    for alike in rows:
        row = alike.numbers[0]
        for pattern in alike.patterns.values():
            formula = row_formula(text_of(pattern, row), row, sheet)
            if formula is None or not formula.columns.isdisjoint(columns):
                return True
            if any(on == sheet and not columns.isdisjoint(area.columns) for on, area in formula.areas):
                return True
    return False
