"""The key of a case: its template and inputs as one line of text, the same wherever they come from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

Inputs = Mapping[str, float | str | None]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def case_key(template: str, inputs: Inputs) -> str:
    """A case as text: `matmul|weight_dtype=bf16|tokens=2048`, dtypes first, groups sorted by name.

    Equal cases give equal keys, however their numbers were typed: 2048, 2048.0 and "2048" are one.
    """
    known = {name: value for name, value in inputs.items() if value not in (None, "") and value == value}
    dtypes = {name for name in known if name.endswith("_dtype")}
    groups = (sorted(dtypes), sorted(known.keys() - dtypes))
    written = [",".join(f"{name}={_canonical(known[name])}" for name in group) for group in groups]
    return "|".join([template.lower(), *filter(None, written)])


def parse_key(key: str) -> tuple[str, dict[str, float | str | None]]:
    """The template and inputs of a key by `case_key`. Raises ValueError for another text."""
    template, *groups = key.split("|")
    inputs: dict[str, float | str | None] = {}
    for piece in ",".join(groups).split(",") if groups else ():
        name, equals, text = piece.partition("=")
        if not (name and equals and text) or name in inputs:
            raise ValueError(f"{piece!r} is no input=value")
        inputs[name] = float(text) if _NUMBER.fullmatch(text) else unquote(text)
    if not re.fullmatch("[a-z][a-z0-9_]*", template):
        raise ValueError(f"{template!r} is no template")
    return template, inputs


def inputs_json(inputs: Inputs) -> str:
    """Inputs as one line of JSON, sorted by name; N/A is null."""
    return json.dumps({name: _plain(inputs[name]) for name in sorted(inputs)}, allow_nan=False)


def _canonical(value: Any) -> str:
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return quote(text.lower(), safe=" ._-")
        value = text
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    if math.isnan(number):
        return None
    return int(number) if number.is_integer() else number
