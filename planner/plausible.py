"""Plausible ranges of numbers by name or by unit (templates/plausible.csv), and what is likely meant outside them.

An implausible number is doubted, not refused: a peak of `600` FLOP/s was meant in TFLOP/s, and half a chip is valid if
one of its cores is measured. 0 is never doubted; where it is impossible, it is refused elsewhere.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from planner import data
from planner.scaled_units import factor
from planner.typed_numbers import said

_COLUMNS = ("name", "unit", "least", "typical", "most", "whole", "reason")
_SCALED = {"byte": "B", "byte/s": "B/s", "bit/s": "bit/s", "FLOP/s": "FLOP/s", "1/s": "Hz", "1": "", "s": "s"}
"""The unit symbol that prefixes are put before, by unit."""
PER_CENT = 100.0
_LEAST_PER_CENT = 5.0  # a number below this is rather a share that is too large than one in per cent
SLIPS = (1e3, 1e-3, 1e6, 1e-6)
"""By what a number is to be multiplied that was written with a wrong prefix."""
_PREFIXES = "kMGTP", "munp"  # for any unit, and for seconds


class Usual(NamedTuple):
    """The plausible range of numbers with a name or a unit, `least` to `most`; `typical` is the most likely number.

    `whole` says why the numbers are whole, if they are.
    """

    unit: str
    least: float
    typical: float
    most: float
    whole: str
    reason: str


def doubt(name: str, unit: str, value: float) -> str:
    """A remark on an implausible number of a row or column, with what is likely meant; blank for a plausible one."""
    usual = _usual().get(name) or _usual().get(unit)
    if usual is None or usual.unit != unit or value == 0:
        return ""
    if usual.whole and value != int(value):
        return f"{said(value, unit)} is no whole number; {usual.whole}"
    if usual.least <= value <= usual.most:
        return ""
    number = f"{value:.15g}"
    if meant := _likely(value, usual):
        return f"{said(value, unit)}: {number} {meant}, perhaps? write {number}{meant}"
    least, most = said(usual.least, "1"), said(usual.most, unit)
    return f"{said(value, unit)} is not from {least} to {most}; {usual.reason}"


def share_meant(value: float) -> str:
    """What a number above 1 most likely means as a share, both ways to write it: `35% or 0.35` for 35 and for 3500.

    Blank if it is a share that is at most a few times too large, or above 100 % of per cent.
    """
    meant = value if value <= PER_CENT else value / PER_CENT
    return f"{meant:.6g}% or {meant / PER_CENT:.6g}" if value >= _LEAST_PER_CENT and 1 < meant <= PER_CENT else ""


def distance(name: str, unit: str, value: float) -> float:
    """How far a positive number is from the most likely one of its name or unit, as a logarithm; 0 without one."""
    usual = _usual().get(name) or _usual().get(unit)
    return abs(math.log(value / usual.typical)) if usual else 0.0


def scaled_by(slip: float, value: float, unit: str) -> str:
    """A number times a power of 1,000, in a scaled unit of `unit`: `3.35TB/s`."""
    plain = unit.removesuffix("/chip")
    meant, sizes = value * slip, {prefix: factor(prefix, "1") for prefix in _PREFIXES[0]}
    prefix = max((each for each, size in sizes.items() if size <= meant), key=lambda each: sizes[each], default="")
    return f"{meant / sizes.get(prefix, 1.0):.6g}{prefix}{_SCALED.get(plain, plain)}"


def is_counted(name: str) -> bool:
    """Whether numbers of this name are whole, according to the table."""
    usual = _usual().get(name)
    return usual is None or bool(usual.whole)


def _likely(value: float, usual: Usual) -> str:
    """The scaled unit in which a number would be most plausible; blank if there is none."""
    scaled = _SCALED.get(usual.unit.removesuffix("/chip"))
    if scaled is None:
        return ""
    meant = {prefix + scaled: value * factor(prefix + scaled, usual.unit) for prefix in _PREFIXES[scaled == "s"]}
    if usual.unit == "1" and usual.most <= PER_CENT and not usual.whole:
        meant["%"] = value / PER_CENT
    fits = [unit for unit, number in meant.items() if usual.least <= number <= usual.most]
    return min(fits, key=lambda unit: abs(math.log(meant[unit] / usual.typical)), default="")


@cache
def _usual() -> dict[str, Usual]:
    """The rows of templates/plausible.csv by name, or by unit for rows without a name."""
    sheet = data.table("plausible", _COLUMNS)
    return {
        cells["name"] or cells["unit"]: Usual(
            cells["unit"],
            float(cells["least"]),
            float(cells["typical"]),
            float(cells["most"]),
            cells["whole"],
            cells["reason"],
        )
        for _, cells in sheet.records()
    }
