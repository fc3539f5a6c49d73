"""Elasticities of a row with respect to every quantity that it depends on, in one evaluation.

The plan is evaluated with two more columns for each quantity: slightly more and slightly less of it. An elasticity is
the percentage by which the row changes per percent of the quantity, so that a row proportional to its square has 2.
Counts change by whole steps: chips of a torus to the next slice size, ways to the next divisor of the chips.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.explanation import missing
from planner.formulas.following import following, leading_inputs, with_followers
from planner.formulas.headlines import headlines
from planner.formulas.input_values import limits
from planner.formulas.search_space import TriedValues, search_space
from planner.formulas.template import CALCULATED, Row, Template

QUANTITIES = ("input", "model", "hardware", "calibration", "stack")  # the kinds of rows that are varied
CHIP = "chip"  # the unit of whole chips
STEP = 2.0**-13  # relative step of a continuous quantity: small for its curvature, large for rounding
NOTHING = 1e-9  # smaller elasticities are rounding errors
KINK, BENT = 0.01, 4.0  # least difference of the sides at a kink: relative to the larger, and per length of the step
FOLLOWS, UNFELT = "follows another", "felt nowhere"  # why a quantity is left out


class Tried(NamedTuple):
    """A quantity changed to `at`: the row's value then (None for N/A), the elasticity, and the checks that fail then.

    `elasticity` is None if the row is N/A or not positive, before or after.
    """

    at: float
    result: float | None
    elasticity: float | None
    breaks: tuple[str, ...]


@dataclass(frozen=True)
class Elasticity:
    """A quantity, its value in the plan, and the effect of more and of less of it.

    None if there is no more or no less.
    """

    row: Row
    value: float
    up: Tried | None
    down: Tried | None
    is_count: bool

    @property
    def sides(self) -> list[float]:
        """The known elasticities, upward first."""
        return [each.elasticity for each in (self.up, self.down) if each is not None and each.elasticity is not None]

    @property
    def size(self) -> float:
        """The larger absolute value."""
        return max((abs(each) for each in self.sides), default=0.0)

    @property
    def is_kink(self) -> bool:
        """Whether the two sides differ by more than a smooth curve would over steps of this size."""
        if len(self.sides) < 2:
            return False
        length = max(abs(math.log(each.at / self.value)) for each in (self.up, self.down) if each is not None)
        return abs(self.sides[0] - self.sides[1]) > max(KINK, BENT * length) * self.size + BENT * STEP

    @property
    def note(self) -> str:
        """Remarks: that the row is at a minimum or maximum here, a kink, checks of the plan that a step breaks."""
        return self.note_with({})

    def note_with(self, labels: Mapping[str, str]) -> str:
        """The same with checks' labels, by name."""
        said = []
        if len(self.sides) == 2 and self.sides[0] * self.sides[1] < 0:
            said.append("least here" if self.sides[0] > 0 else "most here")
        elif self.is_kink:
            said.append("kink")
        for word, each in (("more", self.up), ("less", self.down)):
            if each is not None and each.breaks:
                said.append(f"{word} fails {', '.join(labels.get(name, name) for name in each.breaks)}")
        return "; ".join(said)


@dataclass(frozen=True)
class Sensitivity:
    """A row and its value in a plan, its elasticities, largest first, and names of quantities left out by reason."""

    row: Row
    value: float
    elasticities: tuple[Elasticity, ...]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def scale(self) -> float:
        """The full scale of a chart: the largest elasticity without a note, since a step over a kink may be larger."""
        return max((each.size for each in self.elasticities if not each.note), default=0.0) or self.elasticities[0].size


def default_row(template: Template) -> str:
    """The row to use if the user names none: the template's first headline.

    Whole chips, as of a fleet, follow a quantity by jumps: then it is the first headline with another unit. Raises
    UserError for a template without headlines.
    """
    found = headlines(template)
    if not found:
        raise UserError(f"{template.name} has no output", remedy="name a row with --of")
    if found[0].row.unit == CHIP:
        return next((each.row.name for each in found if each.row.unit not in (CHIP, "1")), found[0].row.name)
    return found[0].row.name


def sensitivity(template: Template, facts: Facts, values: Mapping[str, Value], name: str) -> Sensitivity:
    """How a row of a plan depends on its quantities. `values` are the typed ones.

    Inputs that follow others do so unless typed. Raises UserError for a text, for a row that is N/A or 0 in the plan,
    and for one that isn't calculated.
    """
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"{name} is a text, and an elasticity is a number's", remedy="choose another with --of")
    given = with_followers(template, values)
    now = evaluate(template, facts, given)
    value = now.value(name)
    if value is None:
        lacking = ", ".join(missing(now, [name])) or "its formula says so"
        raise UserError(f"{name} is N/A because {lacking}", remedy="--set a value, or choose another row with --of")
    if not isinstance(value, float) or value == 0:
        raise UserError(f"{name} is 0 in this plan: no change is a percentage of it", remedy="choose another with --of")
    if row.kind not in CALCULATED:
        raise UserError(f"{name} is {_given(row.kind)}, which no other changes", remedy=_made_of_it(template, name))
    left_out: dict[str, list[str]] = {}
    moves: list[_Moves] = []
    for each in _quantities(template, name, values):
        found = FOLLOWS if each.name in given.keys() - values.keys() else _moves(each, values, now)
        if isinstance(found, str):
            left_out.setdefault(found, []).append(each.name)
        else:
            moves.append(found)
    tried = _elasticities(template, facts, values, moves, now, row)
    felt = [each for each in tried if each.size > NOTHING]
    if unfelt := [each.row.name for each in tried if each.size <= NOTHING]:
        left_out[UNFELT] = unfelt
    felt.sort(key=lambda each: -each.size)
    return Sensitivity(row, value, tuple(felt), {why: tuple(names) for why, names in left_out.items()})


def _given(kind: str) -> str:
    """The noun for a row that isn't calculated."""
    return {"input": "an input", "constant": "a constant"}.get(kind, "a looked-up number")


def _made_of_it(template: Template, name: str) -> str:
    """A remedy: the first headline that depends on a number, or to choose another row."""
    made = (each.row.name for each in headlines(template) if name in template.closure([each.row.name]))
    found = next(made, "")
    return f"ask for what is made of it: --of {found}" if found else "choose another with --of"


class _Moves(NamedTuple):
    """A quantity and the values to try above and below; NaN if there is none."""

    row: Row
    value: float
    up: float
    down: float
    is_count: bool


def _quantities(template: Template, name: str, values: Mapping[str, Value]) -> Iterator[Row]:
    """The independent quantities on which a row depends, except constants and dtypes."""
    reached = template.closure([name], values) - {name}
    reached |= leading_inputs(template, values, reached)
    for row in template.rows:
        is_overridden = row.kind in CALCULATED and row.name in values
        if row.name in reached and (row.kind in QUANTITIES or is_overridden):
            yield row


def _moves(row: Row, values: Mapping[str, Value], now: Results) -> _Moves | str:
    """The values of a quantity to try, or the reason why it is left out."""
    if row.unit == "text":
        return "texts"
    value, allowed = now.value(row.name), limits(row)
    if allowed.is_flag or allowed.is_stage:
        return "a yes or a no" if allowed.is_flag else "stages"
    if not isinstance(value, float):
        return "not set"
    if value <= 0:  # elasticities need logarithms
        return "0 now" if value == 0 else "below 0"
    try:
        space = search_space(row, values, now)
    except UserError as error:
        return error.what
    up, down = (_moved(value, sign, space) for sign in (1, -1))
    up, down = math.nan if allowed.fault(up) else up, down if down > 0 else math.nan
    return _Moves(row, value, up, down, is_count=space.step > 0)


def _moved(value: float, sign: int, space: TriedValues) -> float:
    """The next value above (`sign` 1) or below (-1); NaN if there is none."""
    if not space.step:
        return value * (1 + sign * STEP)
    if not space.listed_as:
        return value + sign * space.step
    others = space.values[space.values * sign > value * sign]
    return float(others.min() if sign > 0 else others.max()) if len(others) else math.nan


def _elasticities(
    template: Template, facts: Facts, values: Mapping[str, Value], moves: Sequence[_Moves], now: Results, row: Row
) -> list[Elasticity]:
    """The elasticities of a row, from 2k+1 columns: the plan, each quantity up, each quantity down."""
    count = len(moves)
    columns: dict[str, Array] = {}

    def put(name: str, at: int, values: Iterable[float]) -> None:
        base = now.value(name)
        column = columns.setdefault(name, np.full(2 * count + 1, np.nan if base is None else base))
        column[[at, at + count]] = values

    for at, each in enumerate(moves, 1):
        moved = np.array([each.up, each.down])
        for name, found in following(template, each.row.name, values, moved).items():
            put(name, at, found)
        put(each.row.name, at, moved)
    results = evaluate(template, facts, {**with_followers(template, values), **columns})
    found = np.broadcast_to(results[row.name], 2 * count + 1)
    holds = {check.name: np.broadcast_to(results[check.name], 2 * count + 1) for check in template.of_kind("check")}

    def tried(each: _Moves, value: float, at: int) -> Tried | None:
        if math.isnan(value) or value == each.value:  # one more is below float64's precision
            return None
        ratio = float(found[at] / found[0])
        slope = math.log(ratio) / math.log(value / each.value) if ratio > 0 else None
        checked = holds.items() if each.row.kind == "input" else ()  # a model with other numbers is another one
        breaks = tuple(name for name, check in checked if check[0] == 1 and check[at] == 0)
        return Tried(value, None if math.isnan(ratio) else float(found[at]), slope, breaks)

    return [
        Elasticity(each.row, each.value, tried(each, each.up, at), tried(each, each.down, at + count), each.is_count)
        for at, each in enumerate(moves, 1)
    ]
