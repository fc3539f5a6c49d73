"""Texts that every format can hold: what a workbook may have and XML may not is taken out."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
"""Control characters, halves of characters, and marks that turn the direction of what follows."""


def cleaned(value: Any) -> Any:
    """A report, or any part of one, whose texts hold no unfit character; the same object where it had none."""
    if isinstance(value, str):
        return _UNFIT.sub("", value)
    if isinstance(value, tuple):
        made = tuple(cleaned(item) for item in value)
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same else type(value)(*made) if hasattr(value, "_fields") else made
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        new = {name: item for name, own in old.items() if (item := cleaned(own)) is not own}
        return dataclasses.replace(value, **new) if new else value
    return value
