"""A formula copied to another cell: its relative references move along, as when a person fills down."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from planner.xlsx.address import column_of, coordinates

_ROWS = re.compile(r"(\$?[A-Z]{1,3}\$?)([1-9][0-9]*)(?::(\$?[A-Z]{1,3}\$?)([1-9][0-9]*))?")


def moved(formula: str, origin: str, target: str) -> str:
    """The formula of `origin` (without =) as it reads in `target`; what would leave the sheet is #REF!."""
    (row, column), (to_row, to_column) = coordinates(origin), coordinates(target)
    by = to_row - row, to_column - column
    return "".join(_moved_reference(text, *by) if moves else text for text, moves in _pieces(formula))


class Downward(NamedTuple):
    """A formula that is copied down its column, into thousands of rows.

    `texts` stand around the numbers of rows that move along, each `by` so many rows below the copy; where there are no
    texts a whole row moves.
    """

    formula: str
    origin: str
    texts: tuple[str, ...]
    by: tuple[int, ...]

    def at(self, row: int) -> str:
        """The formula as it reads in a row below its origin, as `moved` has it."""
        if not self.texts:
            return moved(self.formula, self.origin, f"{column_of(self.origin)}{row}")
        if self.reads_own_row:
            return str(row).join(self.texts)
        numbers = (f"{row + offset}{text}" for offset, text in zip(self.by, self.texts[1:], strict=True))
        return self.texts[0] + "".join(numbers)

    @property
    def reads_own_row(self) -> bool:
        """Whether all that moves along with it is the number of its own row."""
        return bool(self.texts) and not any(self.by)


def downward(formula: str, origin: str) -> Downward:
    """The formula of `origin` (without =), ready to be copied down."""
    row, texts, by = coordinates(origin)[0], [""], list[int]()
    for piece, moves in _pieces(formula):
        sheet, mark, reference = piece.rpartition("!") if moves else ("", "", "")
        match = _ROWS.fullmatch(reference)
        if not match:
            if moves and any(character.isdigit() for character in reference):
                return Downward(formula, origin, (), ())
            texts[-1] += piece
            continue
        texts[-1] += sheet + mark
        for colon, column, number in (("", match[1], match[2]), (":", match[3], match[4])):
            if column is None:
                continue
            texts[-1] += colon + column
            if column.endswith("$"):
                texts[-1] += number
            else:
                by.append(int(number) - row)
                texts.append("")
    return Downward(formula, origin, tuple(texts), tuple(by))


def _moved_reference(text: str, rows: int, columns: int) -> str:
    from openpyxl.formula.translate import Translator, TranslatorError  # here, for most workbooks need none moved

    try:
        return str(Translator.translate_range(text, rows, columns))
    except TranslatorError:
        return "#REF!"


@lru_cache(maxsize=4096)  # a row is copied down into thousands
def _pieces(formula: str) -> tuple[tuple[str, bool], ...]:
    """The formula in pieces, each with whether it is a reference."""
    from openpyxl.formula.tokenizer import Token, Tokenizer

    tokens = Tokenizer(f"={formula}").items
    return tuple((token.value, token.type == Token.OPERAND and token.subtype == Token.RANGE) for token in tokens)
