"""A Hugging Face config.json: its fields by name and type, what it leaves out, and what was assumed for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import Place, UserError
from planner.regularfile import SMALL, not_fetched, read_bytes

T = TypeVar("T")
MOST = 100_000_000  # of a size or a number of parts, ten times that of any model
REMEDY = "give the config.json that lies beside the weights"
NO_ROW = "use another template, or a model of a like size"  # for what no row can hold

# Where a multimodal model keeps its language model.
TEXT_PARTS = ("text_config", "llm_config", "language_config")


class UnsaidError(Exception):
    """A field that the config doesn't have. `column` is the first column of a model's row that wants it."""

    def __init__(self, field: str) -> None:
        self.field, self.column = field, ""
        super().__init__(field)


class Config:
    """The fields of a config. Null counts as not said, as it does to most of transformers' classes.

    `defaults` are what the model's class takes for a field that isn't written: a nested config is written
    without them, a config of its own with all its sizes. `notes` tells a reader what was assumed or left out.
    """

    def __init__(
        self, path: Path, fields: Mapping[str, Any], defaults: Mapping[str, Any] | None = None, prefix: str = ""
    ) -> None:
        self.path, self.fields, self.defaults, self.prefix = path, fields, defaults or {}, prefix
        self.notes: dict[str, None] = {}

    @property
    def model_type(self) -> str:
        """The family's name in transformers."""
        return str(self.fields["model_type"])

    def says(self, name: str) -> bool:
        """Whether the field is written, be it as null."""
        return name in self.fields or name in self.defaults

    def note(self, text: str) -> None:
        """Tell the reader something, once."""
        self.notes[text] = None

    def assumed(self, name: str, value: T) -> T:
        """A value that the family takes for a field that isn't said; the reader is told."""
        self.note(f"{name} is not said: {json.dumps(value)}, as {self.model_type} has it")
        return value

    def _first(self, names: Iterable[str]) -> tuple[str, Any]:
        """The first of some fields that is said, and its value; None where none is."""
        said = ((name, self.value(name)) for name in names)
        return next((each for each in said if each[1] is not None), ("", None))

    def value(self, name: str) -> Any:
        """The field as it is written, or as its class has it, or None."""
        if name not in self.fields and name in self.defaults:
            return self.assumed(self.prefix + name, self.defaults[name])
        return self.fields.get(name)

    def count(self, *names: str, least: int = 0) -> int | None:
        """The first of some fields that is said, a whole number, or None.

        Raises UserError for what is no whole number, less than `least` or more than any model has.
        """
        name, value = self._first(names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fault(name, "is not a whole number", "write it without quotes and without decimals")
        if value < least:
            raise self.fault(name, "is out of range", f"it must be {least} or more")
        if value > MOST:
            raise self.fault(name, "is out of range", f"it must be {MOST:,} or less")
        return value

    def said(self, *names: str, least: int = 0) -> int:
        """As `count`. Raises UnsaidError, with the first of the names, where none is said."""
        value = self.count(*names, least=least)
        if value is None:
            raise UnsaidError(self.prefix + names[0])
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """The first of some fields that is said, true or false. Raises UserError for anything else."""
        name, value = self._first(names)
        if value is not None and not isinstance(value, bool):
            raise self.fault(name, "is not true or false", "write true or false without quotes")
        return default if value is None else value

    def text(self, name: str) -> str:
        """A text, empty where it isn't said. Raises UserError for anything else."""
        value = self.value(name)
        if value is not None and not isinstance(value, str):
            raise self.fault(name, "is not a text", "write it in double quotes")
        return value or ""

    def items(self, name: str, kind: type[int] | type[str]) -> list[Any] | None:
        """A list of whole numbers or of texts, or None. Raises UserError for anything else."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, list) or any(isinstance(item, bool) or not isinstance(item, kind) for item in value):
            wanted = "whole numbers" if kind is int else "texts"
            raise self.fault(name, f"is not a list of {wanted}", "correct it in the config")
        return value

    def part(self, name: str) -> Config:
        """A config inside this one. Raises UserError where it is no object."""
        value = self.value(name)
        if value is not None and not isinstance(value, dict):
            raise self.fault(name, "is not an object", "write it in braces")
        return Config(self.path, value or {}, prefix=f"{self.prefix}{name}.")

    def fault(self, name: str, what: str, remedy: str) -> UserError:
        """The error for a field: its name, its value, what is wrong with it, what to do."""
        shown = json.dumps(self.value(name))
        shown = shown if len(shown) <= 40 else shown[:39] + "…"
        return UserError(f"{self.prefix}{name} {shown} {what}", place=Place(self.path), remedy=remedy)


def read(path: Path) -> Mapping[str, Any]:
    """The fields of a config.json.

    Raises UserError: can't be read, a pointer or a web page in its place, not JSON, holds NaN, not an object.
    """
    text = _text(path)
    try:
        fields = json.loads(text, parse_constant=lambda word: _constant(word, path))
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg}"
        raise UserError(what, place=Place(path, error.lineno), remedy="give a Hugging Face config.json") from None
    except (ValueError, RecursionError):
        raise UserError("not JSON that can be read: a number too long, or nested too deep", place=Place(path)) from None
    if not isinstance(fields, dict):
        raise UserError("not a Hugging Face config: no object in braces", place=Place(path), remedy=REMEDY)
    return fields


def _text(path: Path) -> str:
    data = read_bytes(path, "a config.json", SMALL, hint="give the config.json in it")
    if left := not_fetched(data):
        raise UserError(left[0], place=Place(path), remedy=left[1])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("not JSON: the file is not UTF-8 text", place=Place(path)) from None


def _constant(word: str, path: Path) -> float:
    if word == "NaN":
        remedy = "correct the config; null is for what isn't known"
        raise UserError("NaN is no number", place=Place(path), remedy=remedy)
    return float(word.replace("Infinity", "inf"))
