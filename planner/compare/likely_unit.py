"""Detects measured numbers so far from the expected ones that they are probably in another unit."""

from __future__ import annotations

import math
import re

from planner.number_text import PERCENT, rounded, spoken
from planner.plausible import PER_CENT, SLIPS
from planner.scaled_units import factor

FAR = 100.0  # ratio to the expected number: more than software causes, less than the next unit of time
TIMES = ("ns", "us", "ms", "s", "min", "h")
_TYPED_TIMES = {"": "s", **{each: each for each in TIMES}}  # the unit of a time, by what is typed behind the number
_TYPED_RATES = {"": "1/s", "k": "thousand/s", "M": "million/s"}
_UNITS = {"s": TIMES, "1/s": tuple(_TYPED_RATES.values())}  # the units that people have a number in, by its SI unit
_TYPED = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)")  # a number with a unit, as usually typed
NEAR = 30.0  # ratio to the expected number within which a number in another unit is likely meant
LIKELY = "likely a wrong unit"


def is_far(ratio: float) -> bool:
    """Whether the ratio of a measured to the expected number is too far from 1."""
    return ratio >= FAR or 0 < ratio <= 1 / FAR


def how_far(ratio: float) -> str:
    """How far off such a number is, rounded to a power of ten so that similar numbers have one text; and why."""
    return far_off(10 ** math.floor(abs(math.log10(ratio)) + 1e-9))


def far_off(times: float = FAR) -> str:
    """The same for numbers so many times off or more."""
    return f"{times:,.0f} times or more off what is expected: {LIKELY}"


def likely(number: float, expected: float, unit: str) -> str:
    """The unit in which a number, as written, is near the `expected` one, which is in SI `unit`; blank if none is."""
    units = _UNITS.get(unit, ())
    near = {each: abs(math.log(number * factor(each, unit) / expected)) for each in units} if number > 0 else {}
    found = min(near, key=near.__getitem__, default="")
    return found if found and near[found] < math.log(NEAR) else ""


def remark(measured: float, expected: float, unit: str) -> str:
    """A remark on a measured number far from the `expected` one: both, and what was likely meant; blank if it is near.

    Both numbers are in SI `unit`, s or 1/s, or are shares (%).
    """
    if not is_far(measured / expected):
        return ""
    slips = (PER_CENT, 1 / PER_CENT) if unit == PERCENT else SLIPS
    slip = min(slips, key=lambda each: abs(math.log(measured * each / expected)))
    is_near = 1 / NEAR < measured * slip / expected < NEAR
    meant = f": {spoken(measured * slip, unit)}, perhaps?" if is_near else ""
    said = f"measured {spoken(measured, unit)} is {_many(measured / expected)} the expected {spoken(expected, unit)}"
    return f"{said}, {LIKELY}{meant}"


def _many(ratio: float) -> str:
    """`1,180 times` for a ratio of 1180, `1/1,180 of` for its inverse."""
    number = rounded(max(ratio, 1 / ratio))
    return f"{number} times" if ratio > 1 else f"1/{number} of"


def doubt(text: str, unit: str, ratio: float | None) -> str:
    """A warning on a number as typed: in which unit it was read, and what to write if another was meant.

    `ratio` is the number over the expected one; the warning is blank if it is near 1. `unit`, s, 1/s or %, is the unit
    of a number without one.
    """
    typed = _TYPED.fullmatch(text.strip())
    if ratio is None or not is_far(ratio):
        return ""
    said = f"{text} was read as {{}}, {_many(ratio)} what is expected: "
    if unit == PERCENT:
        return said.format("a share") + "write per cent as 41%, or a part of 1 as 0.41"
    kind, spelt = ("a time", _TYPED_TIMES) if unit == "s" else ("tokens a second of all chips", _TYPED_RATES)
    if typed is None or typed[2] not in spelt:
        return said.format(kind) + "look at its unit"
    number, own = typed[1], spelt[typed[2]]
    found = likely(float(number), float(number) * factor(own, unit) / ratio, unit)
    read_as = f"{number} {own}" if unit == "s" else kind
    if not found:
        return said.format(read_as) + "look at its unit"
    behind = next(each for each, meant in reversed(spelt.items()) if meant == found)
    return said.format(read_as) + f"if it is in {found}, write {number}{behind}"
