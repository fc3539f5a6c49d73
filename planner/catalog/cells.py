"""The text of a CSV cell as the value that its column holds."""

from __future__ import annotations

import re
from functools import lru_cache

from planner.catalog.columns import Field, Value
from planner.errors import nearest

LARGEST = 1e30  # far above any quantity in SI base units, far below overflow
LARGEST_COUNT = 2**53  # beyond it a float skips whole numbers
LONGEST_ID = 255  # what MATCH looks up
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet begins a formula with

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_GROUPED = re.compile("[0-9][,'_ \u00a0\u202f][0-9]")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_WILDCARD = re.compile("[*?~]")
_FLAGS = dict.fromkeys(("true", "yes", "1", "1.0"), 1.0) | dict.fromkeys(("false", "no", "0", "0.0"), 0.0)


class CellError(Exception):
    """A cell that its column can't hold: what is wrong, and the remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what, self.remedy = what, remedy
        super().__init__(what)


def parse(field: Field, text: str) -> Value:
    """A cell's value, None where it is blank. Raises CellError."""
    text = text.strip()
    if not text:
        return None
    if field.kind == "text":
        return _identifier(text) if field.name == "id" else _text(text, field.choices)
    if field.kind == "flag":
        return _flag(text)
    value = _number(text)
    if value < 0 or (field.positive and value == 0):
        least = "more than 0" if field.positive else "0 or more"
        raise CellError(f"{text} is out of range", f"it must be {least}; leave the cell blank if not known")
    if field.kind == "count" and (value > LARGEST_COUNT or value != int(value)):
        raise CellError(f"{text} is not a count", "write a whole number of at most 2^53")
    return value


def _identifier(text: str) -> str:
    if len(text) > LONGEST_ID or not text.isprintable():
        raise CellError(f"{text[:40]!r} can't be an id", f"use at most {LONGEST_ID} printable characters")
    if _WILDCARD.search(text):
        raise CellError(f'"{text}" can\'t be an id', "avoid * ? and ~: spreadsheets take them for wildcards")
    return text


def refuse_new_id(text: str) -> None:
    """Raise CellError for an id that a database may have and that a new model is not given.

    It would be a formula where the CSV is opened in a spreadsheet, markup in a page, or a path as a file's name.
    """
    for is_so, what in (
        (text.startswith(FORMULA_STARTS), "a spreadsheet takes it for a formula"),
        (any(mark in text for mark in "<>&"), "a page takes < > and & for markup"),
        (text == "." or any(mark in text for mark in ("/", "\\", "..")), "it is a path"),
    ):
        if is_so:
            raise CellError(f"{text[:40]!r} can't be an id: {what}", "write letters, digits, - . and _")
    _identifier(text)


def _text(text: str, choices: tuple[str, ...]) -> str:
    if _NOT_XML.search(text):
        raise CellError("the text holds control characters", "delete them")
    if choices and text.lower() not in choices:
        raise CellError(f'"{text}" is not one of {", ".join(choices)}', nearest(text, choices))
    return text.lower() if choices else text


def _flag(text: str) -> float:
    if text.lower() not in _FLAGS:
        raise CellError(f'"{text}" is not true or false', "write true or false, yes or no, 1 or 0")
    return _FLAGS[text.lower()]


@lru_cache(maxsize=100_000)
def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        remedy = "write a number such as 0.5 or 1e12, or leave the cell blank if not known"
        if _GROUPED.search(text):
            remedy = "write a point for decimals and no thousands separators"
        raise CellError(f'"{text}" is not a number', remedy)
    value = float(text)
    if abs(value) > LARGEST:
        raise CellError(f"{text} is too large", "write it in SI base units: byte, FLOP/s, byte/s")
    return value
