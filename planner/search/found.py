"""What a search found: its objectives, the best plans with all their rows, and what refused the others."""

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
    """A row of which the least is the best, or the most."""

    row: Row
    is_least: bool

    def cost(self, values: Array) -> Array:
        """The less the better."""
        return values if self.is_least else -values

    def rows(self, template: Template) -> list[Row]:
        """Its row, and those of the ends of its range where it has one."""
        ends = (self.row.name + end for end in RANGE)
        return [self.row, *(template.by_name[name] for name in ends if name in template.by_name)]

    def range_end(self, template: Template) -> str:
        """The row of the worse end of its error bar; blank where it has none."""
        name = self.row.name + RANGE[1 if self.is_least else 0]
        return name if name in template.by_name else ""


@dataclass(frozen=True)
class FoundPlan:
    """One of the best: what moves in it, all its rows, and whether no published run tells it from the best."""

    subject: Subject
    moved: Mapping[str, Value]
    results: Results
    is_tie: bool = False

    @classmethod
    def of(cls, asked: Request, subject: Subject, moved: Mapping[str, Value], *, is_tie: bool = False) -> FoundPlan:
        """The plan of a subject in which these inputs are moved."""
        values = with_followers(asked.template, {**asked.given, **moved})
        return cls(subject, moved, evaluate(asked.template, subject.facts, values), is_tie)


@dataclass(frozen=True)
class Chosen:
    """The plans of one subject that are told or on the front: their ranks among all, what moves, and which are ties."""

    subject: Subject
    ranks: np.ndarray
    moved: PlanAxis
    is_tie: np.ndarray


@dataclass
class Found:
    """What a search found: how many plans it tried, how many passed, what refused the others, and the best.

    Costs are the less the better. `bar` and `end` are NaN where the objective has no range.
    """

    objectives: Sequence[Objective]
    tried: int = 0
    passed: int = 0
    refused: Counter[str] = field(default_factory=Counter)  # plans by the check or condition that they fail
    unknown: int = 0  # plans that pass, and of which an objective is N/A
    why: dict[str, list[Subject]] = field(default_factory=dict)  # what is missing for that, and of which subjects
    ties: int = 0  # plans that can't be told from the best, itself among them
    best: float = math.nan  # the least cost of all plans, listed or not
    bar: float = math.nan  # up to this cost a plan that shares the best one's error is a tie
    end: float = math.nan  # up to this cost, the end of the best one's range, one of another model or chip is a tie
    front: int = 0  # of several objectives, how many plans no other beats in all
    plans: list[FoundPlan] = field(default_factory=list)  # what is told: the best, or some along the front
    chosen: list[Chosen] = field(default_factory=list)  # the best, or the whole front
    of_each: list[FoundPlan] = field(
        default_factory=list
    )  # of one objective, each model and chip's best, the first leading

    def count(self, other: Found) -> None:
        """Count the plans of another part of the search."""
        self.tried += other.tried
        self.passed += other.passed
        self.unknown += other.unknown
        self.refused.update(other.refused)


def objective(template: Template, name: str, *, is_least: bool) -> Objective:
    """An objective by its row's name. Raises UserError for an unknown name or a text; says so of a bound."""
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"{row.name} is a text", remedy="an objective is a number")
    expected = next((each.row.name for each in headlines(template) if each.bound and each.bound.name == row.name), "")
    if expected:
        progress.warn(f"{row.name} is a bound that no run beats; {expected} is what to expect")
    return Objective(row, is_least)


def objectives_of(template: Template, least: Sequence[str], most: Sequence[str]) -> list[Objective]:
    """The objectives: rows of which the least is best, and rows of which the most is; a name twice is one of them.

    Raises UserError as `objective` does, and for a row that is to be both.
    """
    if both := sorted({*least} & {*most}):
        raise UserError(f"{both[0]} can't be both minimized and maximized", remedy="minimize it, or maximize it")
    return [objective(template, name, is_least=name in least) for name in dict.fromkeys([*least, *most])]
