"""Parses the values of --over: `1,2,8`, `1..1000`, `2^7..2^16`, `8..4096*2`, `0..1+0.1`.

A list may contain ranges. A range goes up by 1, by a step (`+`) or a factor (`*`); if both ends are powers of one
number, by powers. Numbers may have units, as in `--set`: `10ms..100ms*2`.
"""

from __future__ import annotations

import math
import re

import numpy as np

from planner.errors import UserError
from planner.formulas.evaluation import code
from planner.formulas.input_values import is_whole, limits, meant
from planner.formulas.template import Row

MOST = 10_000_000  # values of one input
NEAR = 1e-9  # how far beyond its end, relative, a range's last value may be by rounding
_STEPPED = re.compile(r"(?P<last>.*[^eE*+\s])\s*(?P<sign>[*+])\s*(?P<by>[^*+]+)")
_POWER = re.compile(r"\s*(?P<base>\d+)\s*\^\s*(?P<exponent>\d+)\s*")


def values(row: Row, text: str) -> np.ndarray:
    """The values of a row in the order in which they are typed, each once: float64, codes for texts.

    Raises UserError for what is no value of the row, an empty or a falling range, and one of too many values.
    """
    found: dict[float, None] = {}
    for piece in text.split(","):
        if not piece.strip():
            raise UserError(f"--over {row.name}={text}: a value is missing", remedy=f"write --over {row.name}=1,2,4")
        for value in _range(row, piece.strip()) if ".." in piece and row.unit != "text" else [_one(row, piece)]:
            found[value] = None
    return np.array(list(found))


def _one(row: Row, text: str) -> float:
    """A value as a number; N/A is none that a plan can be swept over."""
    value = meant(row, text.strip())
    if value is None:
        raise UserError(f"--over {row.name}={text}: N/A is no value", remedy="name numbers, or a range such as 1..8")
    return code(value) if isinstance(value, str) else value


def _range(row: Row, text: str) -> list[float]:
    first_text, _, rest = text.partition("..")
    powers = _POWER.fullmatch(first_text), _POWER.fullmatch(rest)
    stepped = _STEPPED.fullmatch(rest)
    sign, by = ("*", powers[0]["base"]) if powers[0] and powers[1] else ("+", "1")
    if not (powers[0] and powers[1] and powers[0]["base"] == powers[1]["base"]):
        sign, by = (stepped["sign"], stepped["by"]) if stepped else ("", "")
        rest = stepped["last"] if stepped else rest
    first, last = _one(row, first_text), _one(row, rest)
    if last < first:
        raise UserError(f"--over {row.name}={text}: the range ends before it begins", remedy="write the smaller first")
    if not sign and not (is_whole(row) and first == int(first)):
        remedy = f"write {first_text}..{rest}+STEP, or *FACTOR"
        raise UserError(f"--over {row.name}={text}: {row.name} is no count, and the step is not given", remedy=remedy)
    factor = float(by) if sign == "*" and _is_number(by) else None
    step = meant(row, by) if sign == "+" else 1.0
    if (sign == "*" and (factor is None or factor <= 1 or first <= 0)) or not isinstance(step, float) or step <= 0:
        remedy = "write a factor above 1 from a number above 0, or a step above 0"
        raise UserError(f"--over {row.name}={text}: the range has no end", remedy=remedy)
    end = last * (1 + NEAR)
    count = math.log(end / first) / math.log(factor) + 1 if factor else (end - first) / step + 1
    if count > MOST:
        raise UserError(f"--over {row.name}={text}: more than {MOST:,} values", remedy="name fewer, or a wider step")
    each = np.arange(int(count))
    found = first * factor**each if factor else first + step * each
    fault = limits(row).fault(float(found[-1]))
    if fault:
        raise UserError(f"--over {row.name}={text}: {fault}")
    return [float(value) for value in found]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
