"""The result of a search: its objectives, the best plans with all their rows, and what refused the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner import progress
from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.following import with_followers
from planner.formulas.headlines import RANGE, headlines
from planner.formulas.template import Row, Template
from planner.search.request import Request, Subject
from planner.search.space import PlanAxis


@dataclass(frozen=True)
class Objective:
    """A row to minimize (`is_least`) or maximize."""

    row: Row
    is_least: bool

    def cost(self, values: Array) -> Array:
        """The values as costs, to be minimized."""
        return values if self.is_least else -values

    def rows(self, template: Template) -> list[Row]:
        """Its row, and those of the ends of its range if it has one."""
        ends = (self.row.name + end for end in RANGE)
        return [self.row, *(template.by_name[name] for name in ends if name in template.by_name)]

    def range_end(self, template: Template) -> str:
        """The row of the worse end of its range; blank if it has none."""
        name = self.row.name + RANGE[1 if self.is_least else 0]
        return name if name in template.by_name else ""


@dataclass(frozen=True)
class FoundPlan:
    """One of the best plans: its varied inputs, all its rows, and whether it is a tie with the best."""

    subject: Subject
    moved: Mapping[str, Value]
    results: Results
    is_tie: bool = False

    @classmethod
    def of(cls, asked: Request, subject: Subject, moved: Mapping[str, Value], *, is_tie: bool = False) -> FoundPlan:
        """The plan of a subject with these varied inputs."""
        values = with_followers(asked.template, {**asked.given, **moved})
        return cls(subject, moved, evaluate(asked.template, subject.facts, values), is_tie)


@dataclass(frozen=True)
class Chosen:
    """One subject's plans that are listed or on the front: ranks among all, varied inputs, and which are ties."""

    subject: Subject
    ranks: np.ndarray
    moved: PlanAxis
    is_tie: np.ndarray


@dataclass
class Found:
    """The result of a search: how many plans were tried and passed, what refused the others, and the best.

    Costs are to be minimized. `bar` and `end` are NaN if the objective has no range.
    """

    objectives: Sequence[Objective]
    tried: int = 0
    passed: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # number of plans by the check or condition that they fail
    unknown: int = 0  # passing plans for which an objective is N/A
    why: dict[str, list[Subject]] = field(default_factory=dict)  # by missing quantity the subjects that lack it
    ties: int = 0  # plans indistinguishable from the best, including it
    best: float = math.nan  # the lowest cost of all plans, listed or not
    bar: float = math.nan  # a plan with the same model and chip up to this cost is a tie
    end: float = math.nan  # end of the best plan's range: up to it a plan with another model or chip is a tie
    front: int = 0  # for several objectives, the size of the Pareto front
    plans: list[FoundPlan] = field(default_factory=list)  # the plans to report: the best ones, or some along the front
    chosen: list[Chosen] = field(default_factory=list)  # the best, or the whole front
    of_each: list[FoundPlan] = field(default_factory=list)  # the best of each model and chip
    empty: list[tuple[Subject, str]] = field(default_factory=list)  # models and chips of which no plan passes, and why

    def count(self, other: Found) -> None:
        """Add the counts of another part of the search."""
        self.tried += other.tried
        self.passed += other.passed
        self.unknown += other.unknown
        self.refused.update(other.refused)


def alike(plans: Sequence[FoundPlan]) -> dict[str, Value]:
    """The varied inputs that some plans share, except ways of 1 and chips of 0."""
    row = plans[0].results.template.row
    return {
        name: value
        for name, value in plans[0].moved.items()
        if not (value == row(name).default and value in (0, 1)) and all(plan.moved.get(name) == value for plan in plans)
    }


def differing(plans: Sequence[FoundPlan]) -> list[str]:
    """The varied inputs in which some plans differ."""
    return [name for name in plans[0].moved if len({plan.moved.get(name) for plan in plans}) > 1]


def objective(template: Template, name: str, *, is_least: bool) -> Objective:
    """An objective by its row's name. Raises UserError for an unknown name or a text; warns about a bound."""
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"{row.name} is a text", remedy="an objective is a number")
    expected = next((each.row.name for each in headlines(template) if each.bound and each.bound.name == row.name), "")
    if expected:
        progress.warn(f"{row.name} is a bound that no run beats; {expected} is what to expect")
    return Objective(row, is_least)


def objectives_of(template: Template, least: Sequence[str], most: Sequence[str]) -> list[Objective]:
    """The objectives: rows to minimize, and rows to maximize; a repeated name counts once.

    Raises UserError as `objective` does, and for a row that is in both.
    """
    if both := sorted({*least} & {*most}):
        raise UserError(f"{both[0]} can't be both minimized and maximized", remedy="minimize it, or maximize it")
    return [objective(template, name, is_least=name in least) for name in dict.fromkeys([*least, *most])]
