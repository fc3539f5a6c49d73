"""A workbook on its way to a newer one: its sheets by kind, how its cells look, which of them a person filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.align.keys import COVER, TOP, Keyed
from planner.book.row_formulas import named_formula
from planner.book.workbook import Book
from planner.update.signatures import Signer, digest, history
from planner.xlsx.address import Position
from planner.xlsx.moves import Moves
from planner.xlsx.styles import Look, style_of

LOOK = "look"


@dataclass(frozen=True)
class Side:
    """A workbook on its way: its sheets by kind, how its cells look, and what its references lead to in the end."""

    book: Book
    sheets: Mapping[str, Keyed]
    looks: list[Look]
    moves: Moves
    signer: Signer
    known: frozenset[str] = frozenset()  # what this version writes, besides history

    def knows(self, signed: str) -> bool:
        """Whether planner wrote what has this digest, in this version or an earlier one."""
        return signed in self.known or signed in history()

    def style(self, keyed: Keyed, at: Position) -> int:
        """The number of a cell's format."""
        return style_of(keyed.sheet.xml.xml, keyed.sheet.cells[at])

    def look(self, keyed: Keyed, at: Position) -> Look:
        """How a cell looks."""
        number = self.style(keyed, at)
        return self.looks[number] if number < len(self.looks) else Look(number_format="")

    def formula(self, keyed: Keyed, at: Position, to: str) -> str | None:
        """A cell's formula as it reads in the end, on the sheet `to`."""
        cell = keyed.sheet.cells.get(at)
        if cell is None or cell.formula is None:
            return None
        text = cell.formula or (found.at(*at) if (found := keyed.sheet.patterns.get(at)) else "")
        return self.moves.formula(text, keyed.sheet.name, to=to)


def is_own(side: Side, keyed: Keyed, at: Position) -> bool:
    """Whether a person filled a cell: what planner never wrote there."""
    formula, value = keyed.sheet.patterns.get(at), keyed.sheet.value(*at)
    if formula is None and value in (None, ""):
        return False
    if keyed.kind == COVER and at[1] == 2 and at[0] > TOP:
        return (at[0], 1) in keyed.sheet.cells and is_own(side, keyed, (at[0], 1))
    if side.knows(side.signer.cell(keyed, at)):
        return False
    table = keyed.line_table
    if formula is not None and table is not None:
        line = next((line for line in table.lines if line.row == at[0]), None)
        if line is not None and at[1] in table.columns:
            named = named_formula(side.book, table, line, at[1], formula)
            return named is None or named is not formula
    return True


def looks_of(side: Side) -> Iterator[str]:
    """The digest of every cell's look, for `history.txt`."""
    for keyed in side.sheets.values():
        for at in keyed.sheet.cells:
            kind, row, column = side.signer.place(keyed, at)
            yield digest(LOOK, kind, coarse(kind, row), column, repr(side.look(keyed, at)))


def coarse(kind: str, row: str) -> str:
    """A cell's row as far as looks go: of a database all rows look alike."""
    return "" if kind in ("models", "hardware", "dtypes") and not row.startswith("above") else row
