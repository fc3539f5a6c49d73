"""The formulas of rows that are alike: found in a sheet's XML, and each read once for all rows that have it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from planner.xlsx import references
from planner.xlsx.address import Area
from planner.xlsx.references import pieces
from planner.xlsx.sheetxml import SheetXml

OWN_ROW = references.OWN_ROW.encode()  # in a pattern: the number of the formula's own row
FORMULA_CELL = re.compile(rb'(<c r="([A-Z]+)([0-9]+)"(?: [\w:]+="[^"<]*")*>)<f(?: aca="[a-z0-9]+")?>([^<]*)</f>')
"""A cell that has a plain formula, up to its value: what stands before it, its column and row, its text."""
_BETWEEN = b"\n<"  # a formula, as the file has it, holds no <
_READS_NOTHING = frozenset({"text", "number", "logical", "error", "function", "space"})
_OPERATORS = frozenset("-+*/^&=<>(),%{};") | {"<>", "<=", ">="}  # others make references: A1:INDEX(...), A1#


class AlikeRows(NamedTuple):
    """Rows that are alike: in each column, by its letters, the pattern of its formula, and the numbers of the rows.

    A pattern is a formula as the file has it, with `OWN_ROW` wherever the digits of the row's number stand.
    """

    patterns: Mapping[str, bytes]
    numbers: Sequence[int]


def alike_rows(sheet: SheetXml) -> list[AlikeRows] | None:
    """The rows of a sheet that hold formulas; None where not every formula is a plain one, written as usual."""
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
    """A formula in names: `c5` is column 5 of its own row, `x0` the first of `areas`, each with its sheet.

    `n_own` is how often it names a cell of its row. `is_alike` says that it reads no cell of another row without `$`,
    so that the same text with another row's number is the same formula.
    """

    text: str
    columns: frozenset[int]
    areas: tuple[tuple[str, Area], ...]
    n_own: int
    is_alike: bool


@lru_cache(maxsize=1 << 14)
def row_formula(text: str, row: int, sheet: str) -> RowFormula | None:
    """The formula of a cell in this row of a sheet; None where its references can't be determined."""
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
    """The formula of a pattern in this row, as a person types it."""
    return html.unescape(pattern.replace(OWN_ROW, b"%d" % row).decode())


def reads_columns(sheet: str, rows: Iterable[AlikeRows], columns: AbstractSet[int]) -> bool:
    """Whether a formula of some rows of a sheet may read a cell of it in one of these columns."""
    for alike in rows:
        row = alike.numbers[0]
        for pattern in alike.patterns.values():
            formula = row_formula(text_of(pattern, row), row, sheet)
            if formula is None or not formula.columns.isdisjoint(columns):
                return True
            if any(on == sheet and not columns.isdisjoint(area.columns) for on, area in formula.areas):
                return True
    return False
