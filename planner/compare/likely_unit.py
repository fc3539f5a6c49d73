"""Detects measured numbers so far from the expected ones that they are probably in another unit."""

from __future__ import annotations

import math
import re

from planner.scaled_units import factor
from planner.spoken import PERCENT, rounded

FAR = 100.0  # ratio to the expected number: more than software causes, less than the next unit of time
TIMES = ("ns", "us", "ms", "s", "min", "h")
_TYPED = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([a-z]*)")  # a number with a unit, as usually typed
NEAR = 30.0  # ratio to the expected number within which a number in another unit is likely meant
LIKELY = "likely a wrong unit"


def is_far(ratio: float) -> bool:
    """Whether the ratio of a measured to the expected number is too far from 1."""
    return ratio >= FAR or 0 < ratio <= 1 / FAR


def how_far(ratio: float) -> str:
    """How far off such a number is, rounded to a power of ten so that similar numbers have one text; and why."""
    times = 10 ** math.floor(abs(math.log10(ratio)) + 1e-9)
    return f"{times:,} times or more off what is expected: {LIKELY}"


def doubt(text: str, unit: str, ratio: float | None) -> str:
    """A warning on a number as typed: in which unit it was read, and what to write if another was meant.

    `ratio` is the number over the expected one; the warning is blank if it is near 1. `unit`, s, 1/s or %, is the unit
    of a number without one.
    """
    typed = _TYPED.fullmatch(text.strip())
    if ratio is None or not is_far(ratio):
        return ""
    over, many = ("", "times") if ratio > 1 else ("1/", "of")
    said = f"{text} was read as {{}}, {over}{rounded(max(ratio, 1 / ratio))} {many} what is expected: "
    if unit == PERCENT:
        return said.format("a share") + "write per cent as 41%, or a part of 1 as 0.41"
    if unit != "s":
        return said.format("tokens a second of all chips") + "write thousands as 25k"
    if typed is None or typed[2] not in ("", *TIMES):
        return said.format("a time") + "look at its unit"
    number, own = typed[1], typed[2] or "s"
    wanted = float(number) * factor(own, "s") / ratio
    off, likely = min((abs(math.log(float(number) * factor(each, "s") / wanted)), each) for each in TIMES)
    told = f"if it is in {likely}, write {number}{likely}" if off < math.log(NEAR) else "look at its unit"
    return said.format(f"{number} {own}") + told
