"""The columns of a database file: name, unit, label, the default for a blank cell, and parsing of cells.

Columns of a user's file that nothing reads are reported once, so that no number is ignored unnoticed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from planner import csvfile, progress, typed_numbers
from planner.errors import NEAR, UserError, closest, nearest
from planner.number_text import few

Value = float | str | None  # None: unknown (N/A), never 0
ColumnKind = Literal["text", "number", "count", "flag"]  # a count is a whole number, a flag 1 or 0


@dataclass(frozen=True)
class Column:
    """A column of a table as shown in the workbook; `source` is the column with its source."""

    name: str
    unit: str
    label: str
    source: str = ""


class BlankRule:
    """The default for a blank cell, computed from other cells of its row.

    The function's parameters are the columns that it reads. Its value is N/A if one of these is, unless the parameter
    has a default.
    """

    def __init__(self, function: Callable[..., Value]) -> None:
        parameters = inspect.signature(function).parameters.values()
        self.function = function
        self.inputs = tuple(each.name for each in parameters)
        self.needed = tuple(each.name for each in parameters if each.default is each.empty)

    def __call__(self, row: Mapping[str, Value]) -> Value:
        values = [row[name] for name in self.inputs]
        if None in values and any(row[name] is None for name in self.needed):
            return None
        return self.function(*values)


@dataclass(frozen=True)
class Field:
    """A column that a file may have, under its name or an alias.

    `blank` is the default for a blank cell: a constant, a rule, or None for N/A. `at_most` names the column that bounds
    this one. A field that isn't `shown` is only used by rules of others. `only_on` is the choice for which alone the
    number is needed, such as `topology=torus`; otherwise it isn't missing. `any_case` texts are read in small letters.
    """

    name: str
    label: str
    kind: ColumnKind = "count"
    unit: str = "1"
    blank: Value | BlankRule = None
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    positive: bool = False
    required: bool = False
    at_most: str = ""
    source: str = ""
    shown: bool = True
    only_on: str = ""
    any_case: bool = False

    @property
    def column(self) -> Column:
        """The field as a column of the table."""
        return Column(self.name, "text" if self.kind == "text" else self.unit, self.label, self.source)


def with_rules(fields: Iterable[Field], rules: Mapping[str, Callable[..., Value]]) -> tuple[Field, ...]:
    """The fields, with the functions in `rules` as rules for blank cells, by name."""
    waiting = dict(rules)
    found = tuple(
        replace(field, blank=BlankRule(waiting.pop(field.name))) if field.name in waiting else field for field in fields
    )
    assert not waiting, f"rules of no field: {', '.join(waiting)}"
    return found


class Completion:
    """Completes rows with the columns `names`: `shared` has the constant defaults, `rules` run in order."""

    def __init__(self, fields: Iterable[Field], names: Collection[str]) -> None:
        fields, fixed = tuple(fields), set[str]()
        self.shared: dict[str, Value] = dict.fromkeys(field.name for field in fields)
        self.rules: list[tuple[str, BlankRule]] = []
        for field in fields:
            if isinstance(field.blank, BlankRule):
                if field.name in names or not fixed.issuperset(field.blank.inputs):
                    self.rules.append((field.name, field.blank))
                    continue
                self.shared[field.name] = field.blank(self.shared)
            else:
                self.shared[field.name] = field.blank
            if field.name not in names:
                fixed.add(field.name)

    def of(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The value of every field of a row: its own, its default, or derived by the rules."""
        row = self.shared | {name: value for name, value in given.items() if value is not None}
        for name, rule in self.rules:
            if row[name] is None:
                row[name] = rule(row)
        return row


LARGEST = 1e30  # far above any quantity in SI base units, far below overflow
LARGEST_COUNT = 2**53  # beyond it a float skips whole numbers
LONGEST_ID = 255  # the longest text that MATCH can look up

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_WILDCARD = re.compile("[*?~]")
FLAGS = dict.fromkeys(("true", "yes", "1", "1.0"), 1.0) | dict.fromkeys(("false", "no", "0", "0.0"), 0.0)
"""Spellings of yes and no, in lower case."""


def parse(field: Field, text: str) -> Value:
    """A cell's value, None if blank. Raises UserError."""
    text = text.strip()
    if not text:
        return None
    if field.kind == "text":
        read = _identifier(text) if field.name == "id" else _text(text, field.choices)
        return read.lower() if field.any_case else read
    if field.kind == "flag":
        return _flag(text)
    value = number(text, field.unit)
    if value < 0 or (field.positive and value == 0):
        least = "more than 0" if field.positive else "0 or more"
        raise UserError(f"{text} is out of range", remedy=f"it must be {least}; leave the cell blank if not known")
    if field.kind == "count" and (value > LARGEST_COUNT or value != int(value)):
        raise UserError(f"{text} is not a count", remedy="write a whole number of at most 2^53")
    return value


def _identifier(text: str) -> str:
    if len(text) > LONGEST_ID or not text.isprintable():
        raise UserError(f"{text[:40]!r} can't be an id", remedy=f"use at most {LONGEST_ID} printable characters")
    if _WILDCARD.search(text):
        raise UserError(f'"{text}" can\'t be an id', remedy="avoid * ? and ~: spreadsheets take them for wildcards")
    return text


def refuse_new_id(text: str) -> None:
    """Raise UserError for an id that existing databases may have but a new model may not.

    It would be a formula when the CSV is opened in a spreadsheet, markup in a page, two words of a command line, or a
    path as a file name.
    """
    for is_so, what in (
        (text.startswith(csvfile.FORMULA_STARTS), "a spreadsheet takes it for a formula"),
        (" " in text, "a command line takes the words as two"),
        (any(mark in text for mark in "<>&"), "a page takes < > and & for markup"),
        (text == "." or any(mark in text for mark in ("/", "\\", "..")), "it is a path"),
    ):
        if is_so:
            raise UserError(f"{text[:40]!r} can't be an id: {what}", remedy="write letters, digits, - . and _")
    _identifier(text)


def _text(text: str, choices: tuple[str, ...]) -> str:
    if _NOT_XML.search(text):
        raise UserError("the text holds control characters", remedy="delete them")
    if choices and text.lower() not in choices:
        remedy = nearest(text, choices) if closest(text, choices, 1, NEAR) else "write one of these"  # all are named
        raise UserError(f'"{text}" is not one of {", ".join(choices)}', remedy=remedy)
    return text.lower() if choices else text


def _flag(text: str) -> float:
    if text.lower() not in FLAGS:
        raise UserError(f'"{text}" is not true or false', remedy="write true or false, yes or no, 1 or 0")
    return FLAGS[text.lower()]


@lru_cache(maxsize=100_000)
def number(text: str, unit: str) -> float:
    """The number in a cell's text, in its column's unit: `80GB`, `1e12`, `64*1024`. Raises UserError."""
    try:
        value = typed_numbers.read(text, unit)
    except UserError as error:
        raise UserError(error.what, remedy=f"{error.remedy}; leave the cell blank if not known") from None
    if abs(value) > LARGEST:
        raise UserError(f"{text} is too large", remedy=f"write it in {unit}, or with a unit of it")
    return value


MEANT = {
    "top_k": "moe_top_k",
    "experts_per_token": "moe_top_k",
    "num_experts_per_tok": "moe_top_k",
    "num_experts": "moe_experts",
    "window_size": "sliding_window",
    "hbm_gb": "hbm_bytes",
    "memory_gb": "hbm_bytes",
    "memory": "hbm_bytes",
    "bandwidth": "hbm_bandwidth",
    "tflops": "peak_bf16",
    "price": "price_per_chip_hour",
    "cost": "price_per_chip_hour",
}
"""Aliases of columns, as used in configs and data sheets."""
OWN = ("note", "comment", "_")  # prefixes of an analyst's own columns, which cause no warning
MOST_NAMED = 6  # most columns to name in one line


def is_own(name: str) -> bool:
    """Whether a column's name marks it as an analyst's own, whatever known one it resembles."""
    return name.lower().startswith(OWN)


def warn_of_unknown(path: Path, unknown: Sequence[str], known: Sequence[str], notes: Sequence[str] = ()) -> None:
    """Warn about the columns that aren't read, each with the known one that may be meant.

    `notes` are descriptive columns of the shipped file, which aren't read either.
    """
    strange = [name for name in unknown if name and name not in notes and not is_own(name)]
    if not strange:
        return
    shown = few([_with_known(name, known) for name in strange], MOST_NAMED)
    many = "s" if len(strange) > 1 else ""
    progress.warn(f"{path}: column{many} not read: {shown}; rename, or begin the name of a note with note_")


def _with_known(name: str, known: Sequence[str]) -> str:
    near = nearest_columns(name, known)
    return f"{name} (did you mean {' or '.join(near)}?)" if near else name


def nearest_columns(name: str, known: Sequence[str]) -> list[str]:
    """The known columns that a name may mean: those with all its words, else the most similar ones."""
    if MEANT.get(name.lower()) in known:
        return [MEANT[name.lower()]]
    words = {word for word in name.lower().split("_") if word}
    holding = [other for other in known if words and words <= set(other.lower().split("_"))]
    if holding:
        return sorted(holding, key=len)[:2]
    return closest(name, known, 2, NEAR)
