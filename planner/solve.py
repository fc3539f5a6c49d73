"""The input that meets a target: a sweep over what it may be, then its crossings found to the last digit.

The sweep tells whether the target depends on the input at all, and in how many stretches of its range the target is
met; a stretch narrower than the step of the sweep (2% of the value) can escape it. Each end of a stretch is then
narrowed down by evaluating the template for a thousand values at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.catalog import Value
from planner.errors import UserError, nearest
from planner.evaluate import Facts, Results, evaluate
from planner.limits import LARGEST, is_share, is_whole, limits
from planner.settings import typed
from planner.template import Row, Template
from planner.units import parse_unit

SOLVABLE = ("input", "model", "hardware")
MOST_WHOLE = 10**12  # beyond it a count means nothing, and neighbours differ by less than the results are exact to
SMALLEST = 1e-15  # of what may be any number above 0
STEPS = 4096  # values of the sweep beyond the whole numbers up to 1,024
_TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|=)\s*(.*?)\s*")
Sweep = Callable[[np.ndarray], np.ndarray]  # inputs to the target's values
_SENSES = {"<=": "at most", ">=": "at least"}
_COSTS = frozenset({"s", "h", "byte", "bit", "FLOP", "USD", "chip", "W"})


class Target(NamedTuple):
    """A row's value that is wanted, or less (`<=`) or more (`>=`) than it."""

    row: Row
    sense: str
    value: float

    @property
    def text(self) -> str:
        """The target as a reader says it: `decode_step_time at most 0.02 s`."""
        unit = "" if self.row.unit == "1" else f" {self.row.unit}"
        return f"{self.row.name} {_SENSES[self.sense]} {self.value:.12g}{unit}"

    def is_met(self, values: np.ndarray) -> np.ndarray:
        """For each value whether it meets the target; what is N/A doesn't."""
        met: np.ndarray = values <= self.value if self.sense == "<=" else values >= self.value
        return met


class End(NamedTuple):
    """Where a stretch ends: the last input that meets the target; `is_limit` where only its range ends there."""

    at: float
    is_limit: bool


class Stretch(NamedTuple):
    """The inputs from one to another all meet the target."""

    low: End
    high: End

    @property
    def answers(self) -> tuple[float, ...]:
        """The ends at which the target is met just about."""
        return tuple(end.at for end in (self.low, self.high) if not end.is_limit)


@dataclass(frozen=True)
class Solution:
    """The stretches of an input in which a target is met; of a count its `exact` ones are those between the wholes."""

    row: Row
    target: Target
    stretches: tuple[Stretch, ...]
    exact: tuple[Stretch, ...]
    is_monotone: bool
    reached: tuple[float, float]
    swept: tuple[float, float]

    @property
    def answer(self) -> float | None:
        """The one input at which the target is met just about; None where there are several, or any would do."""
        found = [answer for stretch in self.stretches for answer in stretch.answers]
        return found[0] if len(found) == 1 else None


def parse_target(template: Template, text: str) -> Target:
    """A target as typed: `name=value`, or with <= or >=.

    With `=` the sense follows from the unit: no more of a time, a cost or a memory, no less of a rate or a share.
    Raises UserError for an unknown name, a text row, or a value that is no number.
    """
    match = _TARGET.fullmatch(text)
    if match is None:
        raise UserError(f"--for {text!r} is not name=value", remedy="write --for decode_step_time=0.02")
    name, sign, number = match.groups()
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"--for {name}: it is a text, and a target is a number")
    value = typed(row, number)
    if not isinstance(value, float):
        raise UserError(f"--for {name}={number}: a target is a number", remedy=f"{name} is in {row.unit}")
    return Target(row, sign if sign != "=" else _sense(row), value)


def _sense(row: Row) -> str:
    powers = dict(parse_unit(row.unit).powers)
    above = {symbol for symbol, power in powers.items() if power > 0}
    below = {symbol for symbol, power in powers.items() if power < 0}
    return "<=" if above & _COSTS and below <= {"chip", "h"} else ">="


def solve(template: Template, facts: Facts, values: Mapping[str, Value], name: str, target: Target) -> Solution:
    """What a number of the template, an input or a looked-up one, has to be for the target to be met.

    `values` are the others that are typed. Raises UserError for a name that can't be solved for, a target that
    doesn't depend on it, and one that no value meets: with the range that is reached.
    """
    row = template.row(name)
    _refuse(template, row, values, target)

    def of(inputs: np.ndarray) -> np.ndarray:
        results = evaluate(template, facts, {**values, row.name: inputs})
        return np.broadcast_to(np.asarray(results[target.row.name], dtype=np.float64), inputs.shape)

    inputs = _swept(row)
    found = of(inputs)
    known = found[np.isfinite(found)]
    if known.size == 0:
        raise UserError(f"{target.row.name} is N/A whatever {row.name} is", remedy="--set what is missing")
    reached = float(known.min()), float(known.max())
    if reached[0] == reached[1]:
        raise UserError(f"{target.row.name} is {reached[0]:.7g} {_unit(target.row)}whatever {row.name} is".rstrip(),
                        remedy="solve for another input, or for another target")  # fmt: skip
    stretches = tuple(_stretches(target, inputs, found, of, is_whole(row)))
    if not stretches:
        raise UserError(_nothing(row, target, inputs, found, reached))
    exact = tuple(_between(target, stretches, of, row))
    steps = np.diff(known)
    is_monotone = bool(np.all(steps >= 0) or np.all(steps <= 0))
    return Solution(row, target, stretches, exact, is_monotone, reached, (float(inputs[0]), float(inputs[-1])))


def at(template: Template, facts: Facts, values: Mapping[str, Value], solution: Solution, answer: float) -> Results:
    """Every row of the template with the answer typed in."""
    return evaluate(template, facts, {**values, solution.row.name: answer})


def _refuse(template: Template, row: Row, values: Mapping[str, Value], target: Target) -> None:
    if row.unit == "text":
        raise UserError(f"{row.name} is a text", remedy="--solve finds numbers; try the texts with --set")
    if row.kind not in SOLVABLE:
        raise UserError(f"{row.name} is calculated or constant", remedy="--solve takes an input or a looked-up number")
    if row.name in values:
        raise UserError(f"{row.name} is set and solved for at once", remedy=f"leave out --set {row.name}")
    if row.name == target.row.name:
        raise UserError(f"{row.name} is the target itself", remedy="solve for another input")
    readers = _readers(template, target.row)
    if row.name not in readers:
        typed_ones = {name for name in readers if template.row(name).kind == "input"}
        remedy = nearest(row.name, typed_ones or readers)
        raise UserError(f"{target.row.name} doesn't depend on {row.name}", remedy=remedy)


def _readers(template: Template, target: Row) -> set[str]:
    """The numbers that a row is made of, and that can be solved for."""
    return {name for name in template.closure([target.name])
            if template.row(name).kind in SOLVABLE and template.row(name).unit != "text"}  # fmt: skip


def _swept(row: Row) -> np.ndarray:
    """The values of the sweep: all that an input may be, near to each other where it is small."""
    allowed = limits(row)
    if allowed.is_flag:
        return np.array([0.0, 1.0])
    if is_whole(row):
        few = np.arange(1.0 if allowed.is_positive else 0.0, 1025.0)
        many = np.unique(np.round(np.geomspace(1025, MOST_WHOLE, STEPS)))
        return np.concatenate([few, many])
    above = np.geomspace(SMALLEST, 1.0 if is_share(row) else LARGEST, STEPS)
    return above if allowed.is_positive else np.concatenate([[0.0], above])


def _stretches(target: Target, inputs: np.ndarray, found: np.ndarray, of: Sweep, whole: bool) -> Iterator[Stretch]:
    """The stretches of the sweep in which the target is met, each end narrowed down."""
    met = target.is_met(found)
    edges = np.flatnonzero(np.diff(met.astype(int)))
    starts = [0, *(edges + 1)]
    for position, start in enumerate(starts):
        stop = int(starts[position + 1]) - 1 if position + 1 < len(starts) else len(inputs) - 1
        if not met[start]:
            continue
        low, high = End(float(inputs[start]), True), End(float(inputs[stop]), True)
        if start > 0:
            low = End(_narrowed(target, of, float(inputs[start]), float(inputs[start - 1]), whole), False)
        if stop < len(inputs) - 1:
            high = End(_narrowed(target, of, float(inputs[stop]), float(inputs[stop + 1]), whole), False)
        yield Stretch(low, high)


def _narrowed(target: Target, of: Sweep, inside: float, outside: float, whole: bool) -> float:
    """The value nearest to `outside` that meets the target as `inside` does: to a whole number, or the last digit."""
    while True:
        between = np.linspace(inside, outside, 1026)
        between = np.unique(np.round(between)) if whole else np.unique(between)
        if inside > outside:
            between = between[::-1]
        if len(between) <= 2:
            return inside
        first = int(np.argmin(target.is_met(of(between))))  # the first that fails: `outside` does
        if (float(between[first - 1]), float(between[first])) == (inside, outside):
            return inside
        inside, outside = float(between[first - 1]), float(between[first])


def _between(target: Target, stretches: tuple[Stretch, ...], of: Sweep, row: Row) -> Iterator[Stretch]:
    """The same stretches with ends between the whole numbers, where the target is met exactly."""
    for stretch in stretches:
        if not is_whole(row):
            yield stretch
            continue
        low, high = stretch
        if not low.is_limit:
            low = End(_narrowed(target, of, low.at, low.at - 1, False), False)
        if not high.is_limit:
            high = End(_narrowed(target, of, high.at, high.at + 1, False), False)
        yield Stretch(low, high)


def _nothing(row: Row, target: Target, inputs: np.ndarray, found: np.ndarray, reached: tuple[float, float]) -> str:
    best = reached[0] if target.sense == "<=" else reached[1]
    at_best = float(inputs[int(np.flatnonzero(found == best)[0])])
    extreme = "least" if target.sense == "<=" else "most"
    swept = f"{inputs[0]:.7g} to {inputs[-1]:.7g}"
    return (f"no {row.name} from {swept} gives {target.text}: "
            f"the {extreme} is {best:.7g}, at {row.name}={at_best:.7g}")  # fmt: skip


def _unit(row: Row) -> str:
    return "" if row.unit in ("1", "text") else f"{row.unit} "
