"""A formula copied to another cell: its relative references move along, as when a person fills down."""

from __future__ import annotations


def moved(formula: str, origin: str, target: str) -> str:
    """The formula of `origin` (without =) as it reads in `target`; what would leave the sheet is #REF!."""
    from openpyxl.formula.translate import Translator  # here, for most workbooks need none moved

    text: str = Translator(f"={formula}", origin).translate_formula(target)
    return text[1:]
