"""Finds the input that meets a target: a sweep over candidate values, then its crossings to the last digit.

The sweep shows whether the target depends on the input at all, and in how many separate ranges of it the target is
met; a range narrower than the step of the sweep (2% of the value) can be missed. Each end of a range is then
narrowed down by computing the target for a thousand values at a time. search_space.py has the candidates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.binding import kept_by
from planner.formulas.evaluation import Facts, Results, encoded, evaluate
from planner.formulas.following import followers as follower_inputs
from planner.formulas.following import following
from planner.formulas.headlines import better, headlines, usually_better
from planner.formulas.input_values import share_fault, typed
from planner.formulas.partial import partial
from planner.formulas.search_space import TriedValues, search_space
from planner.formulas.template import Row, Template
from planner.number_text import PERCENT, in_seven_digits
from planner.terminal_table import digits

SOLVABLE = ("input", "model", "hardware")
NAMED = 8  # most inputs that a refusal names
SAME = 1e-12  # relative difference below which numbers are equal up to rounding
NEAR = 1e-6  # relative tolerance for meeting a target exactly, rather than jumping over it
_TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|=)\s*(.*?)\s*")
Sweeper = Callable[[np.ndarray], np.ndarray]  # from inputs to the target row's values
_SENSES = {"<=": "at most", ">=": "at least"}


class Target(NamedTuple):
    """A required value of a row: at most (`<=`) or at least (`>=`) `value`, in the row's unit."""

    row: Row
    sense: str
    value: float

    @property
    def text(self) -> str:
        """The target in words: `decode_step_time at most 20 ms`."""
        return f"{self.row.name} {_SENSES[self.sense]} {in_seven_digits(self.value, self.row.unit)}"

    def is_met(self, values: np.ndarray) -> np.ndarray:
        """Whether each value meets the target; N/A doesn't."""
        met: np.ndarray = values <= self.value if self.sense == "<=" else values >= self.value
        return met


class End(NamedTuple):
    """The end of a range: the last input that meets the target.

    `is_limit` says that nothing is known beyond: the candidates end, or the target becomes N/A.
    """

    at: float
    is_limit: bool


class TargetRange(NamedTuple):
    """A range of inputs that all meet the target."""

    low: End
    high: End

    @property
    def answers(self) -> tuple[float, ...]:
        """The ends at which the target is just met."""
        return tuple(end.at for end in (self.low, self.high) if not end.is_limit)


@dataclass(frozen=True)
class Solution:
    """The ranges of an input in which a target is met; for a count, `exact` has the ranges as if it needn't be whole.

    `space` has the candidates; `at` gives every row of the template for a value of the input; `followers` are the
    inputs that follow it.
    """

    row: Row
    target: Target
    ranges: tuple[TargetRange, ...]
    exact: tuple[TargetRange, ...]
    space: TriedValues
    reached: tuple[float, float]
    at: Callable[[float], Results]
    followers: tuple[str, ...] = ()

    @property
    def is_count(self) -> bool:
        """Whether only whole numbers make sense."""
        return self.space.step > 0

    @cached_property
    def answers(self) -> dict[float, Results]:
        """The results for each input at which the target is just met."""
        return {answer: self.at(answer) for met in self.ranges for answer in met.answers}

    @property
    def answer(self) -> float | None:
        """The only input at which the target is just met; None if there are several, or any would do."""
        return next(iter(self.answers)) if len(self.answers) == 1 else None


def parse_target(template: Template, text: str) -> Target:
    """A target as typed: `name=value`, or with <= or >=.

    With `=` the sense is the better way: at most for a time, a cost or a memory, at least for a rate or a share.
    Raises UserError for an unknown name, a text row, or a value that is no number.
    """
    match = _TARGET.fullmatch(text)
    if match is None:
        raise UserError(f"--for {text!r} is not name=value", remedy="write --for time_per_output_token_expected=0.03")
    name, sign, number = match.groups()
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"--for {name}: it is a text, and a target is a number")
    value = typed(row, number)
    if not isinstance(value, float):
        raise UserError(f"--for {name}={number}: a target is a number", remedy=f"{name} is in {row.unit}")
    if wrong := share_fault(row, value):
        raise UserError(f"--for {name}={number}: {wrong}")
    if sign == "=":
        unit = row.said_in if row.said_in == PERCENT else row.unit
        way = better(template.name, name, unit) or usually_better(unit)
        sign = "<=" if way == "less" else ">="
    return Target(row, sign, value)


def solve(template: Template, facts: Facts, values: Mapping[str, Value], name: str, target: Target) -> Solution:
    """The values of an input or lookup of the template for which the target is met.

    `values` are typed; the input's own is the starting point. Raises UserError for a name that can't be solved for, a
    target that doesn't depend on it, and one that no value meets, with the reachable range and what binds there.
    """
    row = template.row(name)
    _refuse(template, row, target, values)

    def at(number: np.ndarray | float) -> Results:
        inputs = np.asarray(number, dtype=np.float64)
        return evaluate(template, facts, {**values, **following(template, row.name, values, inputs), row.name: inputs})

    now = evaluate(template, facts, values)
    present = now.value(row.name)
    assert not isinstance(present, str), "a number is no text"
    space = search_space(row, values, now)
    inputs = space.values
    followers = tuple(following(template, name, values, inputs))
    stay = {key: encoded(template.row(key), value) for key, value in values.items() if key != row.name}
    only = partial(template, facts, stay, (row.name, *followers), (target.row.name,))

    def of(inputs: np.ndarray) -> np.ndarray:
        found = only({**following(template, row.name, values, inputs), row.name: inputs})
        return np.broadcast_to(found[target.row.name], inputs.shape)

    found = of(inputs)
    known = found[np.isfinite(found)]
    if known.size == 0:
        raise UserError(f"{target.row.name} is N/A whatever {row.name} is", remedy="--set what is missing")
    reached = float(known.min()), float(known.max())
    if math.isclose(*reached, rel_tol=SAME):
        what = f"{target.row.name} is {in_seven_digits(reached[0], target.row.unit)} whatever {row.name} is"
        why = kept_by(now, at(float(inputs[-1])), target.row.name)
        raise UserError(f"{what}: {why}" if why else what, remedy="solve for another input, or for another target")
    ranges = tuple(_met_ranges(target, space, found, of))
    if not ranges:
        raise UserError(_out_of_reach(row, target, space, found, at))
    exact = tuple(_between(target, each, of, space) for each in ranges) if space.step else ranges
    return Solution(row, target, ranges, exact, space, reached, at, followers)


def _refuse(template: Template, row: Row, target: Target, values: Mapping[str, Value]) -> None:
    if row.unit == "text":
        raise UserError(f"{row.name} is a text", remedy="--solve finds numbers; try the texts with --set")
    if row.kind not in SOLVABLE:
        raise UserError(f"{row.name} is calculated or constant", remedy="--solve takes an input or a looked-up number")
    if row.name == target.row.name:
        raise UserError(f"{row.name} is the target itself", remedy="solve for another input")
    moving = {row.name, *(each.name for each in follower_inputs(template, values, [row.name]))}
    if moving.isdisjoint(template.closure([target.row.name])):
        raise UserError(f"{target.row.name} doesn't depend on {row.name}", remedy=_dependent(template, target, moving))


def _dependent(template: Template, target: Target, moving: set[str]) -> str:
    """What does depend on the moving inputs: headlines of the target's unit, else what the target depends on."""
    alike = [each.row.name for each in headlines(template) if each.row.unit == target.row.unit]
    if found := [name for name in alike if not moving.isdisjoint(template.closure([name]))]:
        return f"{found[0]} does" if len(found) == 1 else f"these do: {', '.join(found)}"
    read = template.closure([target.row.name])
    solvable = [each for each in template.rows if each.name in read and each.kind in SOLVABLE and each.unit != "text"]
    names = [each.name for each in solvable if each.kind == "input"] or [each.name for each in solvable]
    return f"it does on {', '.join(names[:NAMED])}{' and others' if len(names) > NAMED else ''}" if names else ""


def _met_ranges(target: Target, space: TriedValues, found: np.ndarray, of: Sweeper) -> Iterator[TargetRange]:
    """The ranges in which the target is met, found by the sweep and with each end narrowed down."""
    inputs, met = space.values, target.is_met(found)
    edges = np.flatnonzero(np.diff(met.astype(int)))
    starts = [0, *(edges + 1)]
    for position, start in enumerate(starts):
        stop = int(starts[position + 1]) - 1 if position + 1 < len(starts) else len(inputs) - 1
        if not met[start]:
            continue
        low, high = End(float(inputs[start]), True), End(float(inputs[stop]), True)
        if start > 0 and (space.step or inputs[start - 1] > 0):
            at = _narrowed(target, of, float(inputs[start]), float(inputs[start - 1]), space)
            low = End(at, not np.isfinite(found[start - 1]))
        if stop < len(inputs) - 1:
            at = _narrowed(target, of, float(inputs[stop]), float(inputs[stop + 1]), space)
            high = End(at, not np.isfinite(found[stop + 1]))
        yield TargetRange(low, high)


def _narrowed(target: Target, of: Sweeper, inside: float, outside: float, space: TriedValues) -> float:
    """The candidate nearest to `outside` that meets the target and is connected to `inside`."""
    while True:
        between = space.between(inside, outside)
        if len(between) <= 2:
            return inside
        first = int(np.argmin(target.is_met(of(between))))  # the first that fails; `outside` does
        if (float(between[first - 1]), float(between[first])) == (inside, outside):
            return inside
        inside, outside = float(between[first - 1]), float(between[first])


def _between(target: Target, met: TargetRange, of: Sweeper, space: TriedValues) -> TargetRange:
    """The range with ends between the counts, where the target is met exactly and not jumped over."""

    def end(whole: End, sign: int) -> End:
        if whole.is_limit:
            return whole
        at = _narrowed(target, of, whole.at, space.next_count(whole.at, sign), TriedValues(space.values, 0.0))
        is_met = math.isclose(float(of(np.array([at]))[0]), target.value, rel_tol=NEAR)
        return End(at, False) if is_met else whole

    return TargetRange(end(met.low, -1), end(met.high, 1))


def _best(target: Target, found: np.ndarray) -> int:
    """The index of the value closest to the target, the first of several."""
    known = found[np.isfinite(found)]
    best = known.min() if target.sense == "<=" else known.max()
    return int(np.flatnonzero(found == best)[0])


def input_in_words(row: Row, space: TriedValues, value: Value) -> str:
    """A value of the solved input: a count as a plain number, anything else with its unit."""
    return digits(value) if space.step else in_seven_digits(value, row.unit)


def _out_of_reach(
    row: Row, target: Target, space: TriedValues, found: np.ndarray, at: Callable[[float], Results]
) -> str:
    """A message that no input meets the target, with the closest value and what binds there."""
    best, inputs = _best(target, found), space.values
    there, next_to = (at(float(inputs[place])) for place in (best, best - 1 if best else min(1, len(inputs) - 1)))
    why = kept_by(there, next_to, target.row.name)
    extreme = "least" if target.sense == "<=" else "most"
    low, high, nearest_one = (input_in_words(row, space, each) for each in (*inputs[[0, -1]], there.value(row.name)))
    return (
        f"no {row.name} from {low} to {high} gives {target.text}: the {extreme} is "
        f"{in_seven_digits(there.value(target.row.name), target.row.unit)}, at {row.name}={nearest_one}"
        + (f", where {why}" if why else "")
    )
