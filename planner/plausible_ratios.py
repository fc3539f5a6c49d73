"""Plausible ratios between the numbers of one chip (templates/plausible_ratios.csv): finds slips of 1,000.

A memory bandwidth of `3.35GB/s` is right for a small board and wrong for a chip of 989 TFLOP/s. Each number is
plausible on its own; the two together aren't. The numbers are doubted, not refused, as in `planner.plausible`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from planner import data
from planner.plausible import SLIPS, distance, doubt, scaled_by
from planner.typed_numbers import said

SCALED = ("FLOP/s/chip", "byte/chip", "byte/s/chip", "byte/s", "W/chip")
"""Units of numbers of a chip that are written with a prefix, so that it may be the wrong one."""
_COLUMNS = ("over", "under", "least", "most", "bandwidth_from", "bandwidth_below", "reason")
_LARGEST = "largest_peak"
_LARGE = 1000  # ratios from here on are written without decimals

Numbers = Mapping[str, float | str | None]


class Ratio(NamedTuple):
    """The plausible range of `over / under`, `least` to `most`; `peak` and `largest_peak` are the peaks of any format.

    It applies to chips whose memory has at least `bandwidth_from` and less than `bandwidth_below`, in byte/s; the
    fastest memory is SRAM.
    """

    over: str
    under: str
    least: float
    most: float
    bandwidth_from: float
    bandwidth_below: float
    reason: str


class _Fault(NamedTuple):
    """Two numbers of a chip with an implausible ratio."""

    over: str
    under: str
    value: float
    reason: str

    @property
    def said(self) -> str:
        value = f"{self.value:,.0f}" if self.value >= _LARGE else f"{self.value:.3g}"
        return f"{self.over} / {self.under} is {value}, but {self.reason}"


def doubts(
    given: Numbers, units: Mapping[str, str], complete: Callable[[Numbers], Numbers]
) -> Iterator[tuple[str, str]]:
    """Yields (column, remark) for numbers of a chip that don't fit together; usually the one that was mistyped.

    `given` are the row's own numbers and `complete` derives the others. `units` are the units of the columns that may
    be doubted; a number that is implausible on its own is left to `plausible.doubt`.
    """
    row = {name: None if _is_odd_alone(name, value, units) else value for name, value in given.items()}
    faults = _faults(complete(row))
    while faults:
        repaired = _repaired(row, units, complete, len(faults))
        if repaired is None:
            yield _unfitting(row, units, faults)
            return
        name, slip = repaired
        value = row[name]
        assert isinstance(value, float), "only numbers are repaired"
        meant = scaled_by(slip, value, units[name])
        why = next((each for each in faults if name in (each.over, each.under)), faults[0])
        yield name, f"{said(value, units[name])}: {meant}, perhaps? {why.said}"
        row[name] = value * slip
        faults = _faults(complete(row))


def _is_odd_alone(name: str, value: float | str | None, units: Mapping[str, str]) -> bool:
    return isinstance(value, float) and name in units and bool(doubt(name, units[name], value))


def _unfitting(row: Numbers, units: Mapping[str, str], faults: Sequence[_Fault]) -> tuple[str, str]:
    """All numbers that don't fit together, with their ratios; the column is that of the least typical one."""
    numbers = {name: value for fault in faults for name in fault[:2] if isinstance(value := row.get(name), float)}
    known = {name: units.get(name, "1") for name in numbers}
    names = sorted(numbers, key=lambda name: (name not in units, -distance(name, known[name], numbers[name])))
    first, *others = names or [""]
    ratios = "; ".join(dict.fromkeys(fault.said for fault in faults))
    if not others:
        return first, ratios
    said_of = [said(numbers[first], known[first]), *(f"{name} {said(numbers[name], known[name])}" for name in others)]
    return first, f"{', '.join(said_of[:-1])} and {said_of[-1]} don't fit together: {ratios}"


def _repaired(
    row: Numbers, units: Mapping[str, str], complete: Callable[[Numbers], Numbers], n_faults: int
) -> tuple[str, float] | None:
    """The number to scale, and by which power of 1,000, so that the fewest ratios are implausible; None if none helps.

    Among equals it is the one that becomes most typical. It is None too if the best repair makes a number less typical
    than it is: then the others may be wrong together, and this one right.
    """
    found: list[tuple[int, float, str, float]] = []
    for name, value in row.items():
        if isinstance(value, float) and value and (unit := units.get(name)):
            for slip in SLIPS:
                left = len(_faults(complete({**row, name: value * slip})))
                moved = distance(name, unit, value * slip) - distance(name, unit, value)
                found.append((left, moved, name, slip))
    best = min(found, default=None)
    return (best[2], best[3]) if best and best[0] < n_faults and best[1] <= 0 else None


def _faults(row: Numbers) -> list[_Fault]:
    """The implausible ratios of a complete row."""
    numbers = {name: value for name, value in row.items() if isinstance(value, float) and value}
    peaks = [name for name in numbers if name.startswith("peak_")]
    top = max(peaks, key=lambda name: numbers[name], default="")
    found = []
    for ratio in _ratios():
        if not ratio.bandwidth_from <= numbers.get("hbm_bandwidth", 0.0) < ratio.bandwidth_below:
            continue
        under = top if ratio.under == _LARGEST else ratio.under
        for over in peaks if ratio.over == "peak" else [top if ratio.over == _LARGEST else ratio.over]:
            if over in numbers and under in numbers:
                value = numbers[over] / numbers[under]
                if not ratio.least <= value <= ratio.most:
                    found.append(_Fault(over, under, value, ratio.reason))
    return found


@cache
def _ratios() -> tuple[Ratio, ...]:
    sheet = data.table("plausible_ratios", _COLUMNS)
    return tuple(
        Ratio(
            cells["over"],
            cells["under"],
            float(cells["least"]),
            float(cells["most"]),
            float(cells["bandwidth_from"] or 0),
            float(cells["bandwidth_below"] or "inf"),
            cells["reason"],
        )
        for _, cells in sheet.records()
    )
