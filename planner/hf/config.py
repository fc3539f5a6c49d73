"""A Hugging Face config.json: typed access to its fields, their defaults, and notes on assumptions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from planner.errors import Place, UserError
from planner.regularfile import SMALL, not_fetched, read_bytes

T = TypeVar("T")
MOST = 100_000_000  # largest accepted number, ten times that of any model
REMEDY = "give the config.json that lies beside the weights"
DOWNLOAD = "planner doesn't reach the hub: download the model's config.json and give its path"
OF_WEIGHTS = (".gguf", ".safetensors", ".bin", ".pt", ".pth")
NO_ROW = "use another template, or a model of a like size"  # for what can't be expressed in a row

# The fields in which multimodal models keep their language model.
TEXT_PARTS = ("text_config", "llm_config", "language_config")


class UnsaidError(Exception):
    """A field is missing from the config. `column` is the first column of a model's row that needs it."""

    def __init__(self, field: str) -> None:
        self.field, self.column = field, ""
        super().__init__(field)


class Config:
    """The fields of a config. Null counts as missing, as in most of transformers' classes.

    `defaults` are the model class's values for missing fields: a nested config is written without fields that equal
    them, a standalone config with all its sizes. `notes` are remarks on what was assumed or left out.
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
        """Whether the field is present, even as null."""
        return name in self.fields or name in self.defaults

    def note(self, text: str) -> None:
        """Add a note for the user, once."""
        self.notes[text] = None

    def assumed(self, name: str, value: T) -> T:
        """The family's value for a missing field; adds a note."""
        self.note(f"{name} is not said: {json.dumps(value)}, as {self.model_type} has it")
        return value

    def _first(self, names: Iterable[str]) -> tuple[str, Any]:
        """The first of these fields that is present, with its value; None if none is."""
        said = ((name, self.value(name)) for name in names)
        return next((each for each in said if each[1] is not None), ("", None))

    def value(self, name: str) -> Any:
        """The field's value, its class default, or None."""
        if name not in self.fields and name in self.defaults:
            return self.assumed(self.prefix + name, self.defaults[name])
        return self.fields.get(name)

    def count(self, *names: str, least: int = 0) -> int | None:
        """The first of these fields that is present, as a whole number, or None.

        Raises UserError if it isn't a whole number, is less than `least`, or is larger than in any model.
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
        """Like `count`, but raises UnsaidError with the first name if none is present."""
        value = self.count(*names, least=least)
        if value is None:
            raise UnsaidError(self.prefix + names[0])
        return value

    def flag(self, *names: str, default: bool = False) -> bool:
        """The first of these fields that is present, as a boolean. Raises UserError for anything else."""
        name, value = self._first(names)
        if value is not None and not isinstance(value, bool):
            raise self.fault(name, "is not true or false", "write true or false without quotes")
        return default if value is None else value

    def text(self, name: str) -> str:
        """A text; empty if missing. Raises UserError for anything else."""
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
        """A nested config. Raises UserError if it isn't an object."""
        value = self.value(name)
        if value is not None and not isinstance(value, dict):
            raise self.fault(name, "is not an object", "write it in braces")
        return Config(self.path, value or {}, prefix=f"{self.prefix}{name}.")

    def fault(self, name: str, what: str, remedy: str) -> UserError:
        """The error for a field: its name and value, what is wrong with it, and the remedy."""
        shown = json.dumps(self.value(name))
        shown = shown if len(shown) <= 40 else shown[:39] + "…"
        return UserError(f"{self.prefix}{name} {shown} {what}", place=Place(self.path), remedy=remedy)


def read(path: Path) -> Mapping[str, Any]:
    """The fields of a config.json.

    Raises UserError if it can't be read, is a pointer file or a web page, isn't JSON, contains NaN, or isn't an object.
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
    if not path.exists() and not path.is_symlink():
        raise UserError("there is no such file", place=Place(path), remedy=DOWNLOAD)
    if path.suffix.lower() in OF_WEIGHTS:
        raise UserError("these are weights, not a config.json", place=Place(path), remedy=REMEDY)
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
