"""Inputs that follow another unless the plan sets them: the FSDP ways of training follow its chips.

Which ones do is data, in templates/sweep.csv, so that the command line, a workbook's scenarios and its Sweep agree.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.evaluation import number_of, run
from planner.formulas.sweeps import Axis, sweeps
from planner.formulas.template import Template
from planner.formulas.text import Formula

KEPT = 32  # templates whose axes are cached
FAR = 2.0**40  # a value of the leading input at which followers are proportional to it


def with_followers(template: Template, values: Mapping[str, Value], unknown: str = "") -> dict[str, Value]:
    """The values, extended by the inputs that follow them and aren't set.

    Inputs that follow `unknown`, and `unknown` itself, are left out.
    """
    found = dict(values)
    for axis in _axes(template):
        for name, formula in axis.follows.items():
            if name in found or unknown in (name, *formula.names):
                continue
            number = followed(formula, template, values)
            if number is not None and number != template.row(name).default:
                found[name] = number
    return found


def followed(formula: Formula, template: Template, values: Mapping[str, Value]) -> float | None:
    """The value of a following input, from a plan's values and the template's defaults.

    None unless it is a whole number.
    """
    typed = {name: values.get(name, template.row(name).default) for name in formula.names}
    given = {name: value for name, value in typed.items() if isinstance(value, (int, float))}
    if len(given) < len(typed):
        return None
    number = number_of(formula.root, given)
    return number if number >= 1 and number == round(number) else None


class Follower(NamedTuple):
    """An input that follows others: by a formula if that gives a whole number of at least 1, else its default."""

    name: str
    formula: Formula
    default: float


def followers(template: Template, given: Collection[str], moving: Collection[str]) -> list[Follower]:
    """The inputs that follow one of `moving`, and aren't themselves in `given` or `moving`."""
    return [
        Follower(name, formula, float(template.row(name).default or 0))
        for axis in _axes(template)
        for name, formula in axis.follows.items()
        if name not in given and name not in moving and not set(moving).isdisjoint(formula.names)
    ]


def following(template: Template, name: str, values: Mapping[str, Value], inputs: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of inputs that follow `name` as it takes the values `inputs`, unless `values` sets them.

    They needn't be whole; where they would be N/A, the row's default is used.
    """
    found: dict[str, np.ndarray] = {}
    for axis in _axes(template):
        for follower, formula in axis.follows.items():
            if follower not in (*values, name) and name in formula.names and axis.row.name in (*values, name):
                given = {each: values.get(each, template.row(each).default) for each in formula.names} | {name: inputs}
                arrays = {each: np.asarray(value, dtype=np.float64) for each, value in given.items()}
                with np.errstate(all="ignore"):
                    found[follower] = run(formula, arrays)
                default = np.float64(template.row(follower).default or 0)
                found[follower] = np.where(np.isnan(found[follower]), default, found[follower])
    return found


def leading_inputs(template: Template, given: Collection[str], names: Collection[str]) -> set[str]:
    """The names that those inputs among `names` follow which aren't given."""
    axes = _axes(template)
    open_ones = ((each, formula) for axis in axes for each, formula in axis.follows.items() if each not in given)
    return {name for follower, formula in open_ones if follower in names for name in formula.names}


def step(template: Template, name: str, values: Mapping[str, Value]) -> float:
    """The step by which a count must change for its followers to stay whole: 8 for chips of 8 tensor ways."""
    if not any(axis.row.name == name for axis in _axes(template)):
        return 1.0
    found = following(template, name, values, np.array([FAR])).values()
    return max([1.0, *(FAR / float(each[0]) for each in found if each[0] > 0)])


def shares(template: Template, name: str, values: Mapping[str, Value]) -> np.ndarray:
    """The values of an input, ascending, for which the inputs that shrink as it grows stay whole.

    Tensor ways leave the other chips to FSDP, for example. Empty if no other input follows it so.
    """
    if any(axis.row.name == name for axis in _axes(template)):
        return np.array([])
    alone = following(template, name, values, np.array([1.0])).values()
    ways = np.array(divisors(int(min(float(each[0]) for each in alone))) if alone else [], dtype=np.float64)
    left = following(template, name, values, ways).values()
    return ways[np.logical_and.reduce([each == np.floor(each) for each in left])] if left else ways


MOST_DIVIDED = 10**12  # larger numbers take too long to factor; no plan has so many chips or tokens


def divisors(number: int) -> list[int]:
    """The divisors of a whole number, ascending. Raises UserError for one that is too large to try."""
    if number > MOST_DIVIDED:
        raise UserError(f"{number:,} is too many to share out", remedy=f"name a number of at most {MOST_DIVIDED:,}")
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


@lru_cache(maxsize=KEPT)
def _axes(template: Template) -> tuple[Axis, ...]:
    return tuple(axis for sweep in sweeps([template]) for axis in sweep.axes)
