"""A formula copied to another cell: its relative references move along, as when a person fills down."""

from __future__ import annotations

from functools import lru_cache

from planner.xlsx.address import coordinates


def moved(formula: str, origin: str, target: str) -> str:
    """The formula of `origin` (without =) as it reads in `target`; what would leave the sheet is #REF!."""
    (row, column), (to_row, to_column) = coordinates(origin), coordinates(target)
    by = to_row - row, to_column - column
    return "".join(_moved_reference(text, *by) if moves else text for text, moves in _pieces(formula))


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
