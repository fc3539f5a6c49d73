"""Cell values, and their conversion between Python and XML."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeGuard

from planner.csvfile import CELL_LIMIT
from planner.errors import UserError
from planner.xlsx.markup import escaped

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_WRITTEN = re.compile("_x([0-9A-Fa-f]{4})_")


@dataclass(frozen=True)
class CellError:
    """An error value, such as `#N/A`."""

    code: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class CellFormula:
    """A formula to put into a cell, without its =."""

    text: str


NA = CellError("#N/A")
Value = float | int | str | bool | CellError | None


def plain(value: Value) -> Value:
    """A value for JSON; an error becomes its code."""
    return value.code if isinstance(value, CellError) else value


def same_value(one: object, other: object, tolerance: float = 1e-15) -> bool:
    """Whether two values have the same type and are equal, numbers within a relative tolerance."""
    if type(one) is type(other) is float and one == other:
        return True
    if is_number(one) and is_number(other):
        return math.isclose(one, other, rel_tol=tolerance)
    return type(one) is type(other) and one == other


def parsed_value(kind: str, text: str | None) -> Value:
    """The value of a cell of type `kind` (its attribute `t`) with `text` in its `<v>` or `<is>`."""
    if text is None or (text == "" and kind in ("n", "b", "e")):
        return None
    if kind == "n":
        try:
            return float(text)
        except ValueError:
            pass
    if kind == "b":
        return text.strip() in ("1", "true")
    if kind == "e":
        return CellError(text)
    return _WRITTEN.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def written_value(value: float | int | str | bool | CellError) -> tuple[str, bytes]:
    """The type and the XML text of a value: `n`, `b`, `e`, or `str`.

    Raises UserError for a number that is not finite, and for a text that no cell can hold.
    """
    if isinstance(value, bool):
        return "b", b"1" if value else b"0"
    if isinstance(value, CellError):
        return "e", escaped(value.code).encode()
    if isinstance(value, str):
        if len(value) > CELL_LIMIT:
            raise UserError(f"a text of {len(value):,} characters", remedy=f"a cell holds {CELL_LIMIT:,}")
        coded = _UNWRITABLE.sub(lambda match: f"_x{ord(match[0]):04X}_", value)
        return "str", escaped(coded).encode()
    number = float(value)
    if not math.isfinite(number):
        raise UserError(f"a cell can't hold {number}", remedy="write a missing number as #N/A")
    return "n", exact_text(number + 0.0).encode()  # 0, and not -0


ONLY_BLANKS = "nothing but blanks is typed there, which a formula reads as a text"


def said_text(text: str) -> str:
    """A cell's text for a message, on one line; invisible blanks before or after it are mentioned."""
    around = ", with a blank before or after it," if text != text.strip() else ""
    return f"the text '{' '.join(text.split())}'{around}"


def exact_text(value: Value) -> str:
    """A value with all its digits: the shortest text that parses to the same number, `8` rather than `8.0`."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number; TRUE and FALSE are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
