"""The best plans of a space: those that pass every check of the template, by one number or on a front of several."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner import progress
from planner.catalog import Value
from planner.errors import UserError
from planner.formulas import explanation
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Results, evaluate, text_of
from planner.formulas.following import with_followers
from planner.formulas.headlines import RANGE, headlines
from planner.formulas.template import Row, Template
from planner.search import sensible
from planner.search.computing import Plans
from planner.search.ranking import front, within
from planner.search.request import Request, Subject
from planner.search.space import Axis, Block, Space

KEPT = 2000  # plans of a block that are kept whether they are near the best or not
KINDS = ("mesh_data", "mesh_fsdp", "mesh_tensor", "mesh_expert", "mesh_pipeline", "mesh_context", "serve_tensor",
         "serve_data", "serve_expert", "serve_pipeline")  # fmt: skip
BATCH_WAYS = ("mesh_data", "mesh_fsdp", "serve_data")  # whose number says nothing of how involved a layout is
THEN = ("n_chips", "n_microbatches", "pipeline_interleave", "tensor_axes", "zero_stage", "batch")


@dataclass(frozen=True)
class Objective:
    """A row of which the least is the best, or the most."""

    row: Row
    is_least: bool

    def cost(self, values: Array) -> Array:
        """The less the better."""
        return values if self.is_least else -values

    def range_end(self, template: Template) -> str:
        """The row of the worse end of its error bar; blank where it has none."""
        name = self.row.name + RANGE[1 if self.is_least else 0]
        return name if name in template.by_name else ""


@dataclass(frozen=True)
class Plan:
    """One of the best: what moves in it, all its rows, and whether the error bar of the best holds it."""

    subject: Subject
    moved: Mapping[str, Value]
    results: Results
    is_tie: bool = False


@dataclass(frozen=True)
class Chosen:
    """The plans of one subject that are told or on the front: their ranks among all, what moves, and which are ties."""

    subject: Subject
    ranks: np.ndarray
    moved: Axis
    is_tie: np.ndarray


@dataclass
class Found:
    """What a search found: how many plans it tried, how many passed, what refused the others, and the best.

    `ties` counts the plans that the error bar of the best holds, itself among them; of several objectives the plans are
    a front, of which `plans` may be a part and `chosen` has all. `of_each` has the best of each model and chip by the
    one objective, where there are several, best first. `best` is the least cost of all plans, listed or not.
    """

    objectives: Sequence[Objective]
    tried: int = 0
    passed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    ties: int = 0
    best: float = math.nan
    front: int = 0
    plans: list[Plan] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)
    of_each: list[Plan] = field(default_factory=list)

    def count(self, tried: int, passed: int, unknown: int, refused: Mapping[str, int]) -> None:
        """Count further plans."""
        self.tried += tried
        self.passed += passed
        self.unknown += unknown
        for name, count in refused.items():
            self.refused[name] = self.refused.get(name, 0) + count


@dataclass
class _Pool:
    """The candidates so far: of each its subject and number, its costs and the end of its error bar."""

    subjects: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    costs: np.ndarray | None = None
    ends: np.ndarray = field(default_factory=lambda: np.empty(0))

    def add(self, subject: int | np.ndarray, numbers: np.ndarray, costs: np.ndarray, ends: np.ndarray) -> None:
        """Add candidates of a subject, or each of its own."""
        self.subjects = np.concatenate([self.subjects, np.full(len(numbers), subject)])
        self.numbers = np.concatenate([self.numbers, numbers])
        self.ends = np.concatenate([self.ends, ends])
        self.costs = costs if self.costs is None else np.concatenate([self.costs, costs])
        self.keep(_best(self.costs, self.ends))

    def keep(self, places: np.ndarray) -> None:
        assert self.costs is not None
        self.subjects, self.numbers = self.subjects[places], self.numbers[places]
        self.costs, self.ends = self.costs[places], self.ends[places]


def _best(costs: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The places that may still be among the best."""
    if costs.shape[1] > 1:
        return front(costs)
    values = costs[:, 0]
    near = within(values, ends)
    first = np.argpartition(values, KEPT)[:KEPT] if len(values) > KEPT else np.arange(len(values))
    return np.union1d(near, first)


def objective(template: Template, name: str, *, is_least: bool) -> Objective:
    """An objective by its row's name. Raises UserError for an unknown name or a text; says so of a bound."""
    row = template.row(name)
    if row.unit == "text":
        raise UserError(f"{row.name} is a text", remedy="an objective is a number")
    expected = next((each.row.name for each in headlines(template) if each.bound and each.bound.name == row.name), "")
    if expected:
        progress.warn(f"{row.name} is a bound that no run beats; {expected} is what to expect")
    return Objective(row, is_least)


def optimum(asked: Request, objectives: Sequence[Objective], top: int, *, alone: bool = False) -> Found:
    """The best plans of all subjects of a request, at most `top` of them.

    Raises UserError where no plan passes, or an objective is N/A in all of them: with what is missing.
    """
    template = asked.template
    checks = [row.name for row in template.of_kind("check")]
    ends = objectives[0].range_end(template) if len(objectives) == 1 else ""
    wanted = [*(each.row.name for each in objectives), *checks, *asked.conditions, *([ends] if ends else [])]
    found, pool = Found(objectives), _Pool()
    leaders: dict[int, tuple[float, int]] = {}  # by subject the least cost, and whose it is
    spaces = [sensible.space(asked, subject, alone=alone) for subject in asked.subjects]
    whole, first = sum(space.count for space in spaces), 0
    shared = f", shared by {asked.among.count} processes" if asked.among.count > 1 else ""
    for at, (subject, space) in enumerate(zip(asked.subjects, spaces, strict=True)):
        plans = Plans(template, subject.facts, asked.given, space, wanted, asked.backend)

        def reduced(block: Block, rows: dict[str, Array]) -> _Reduced:
            return _reduce(block, rows, checks, asked.conditions, objectives, ends)

        for block, part in plans.each(reduced, asked.among.share(first, whole)):
            found.count(block.count, part.passed, part.unknown, part.refused)
            if len(part.numbers):
                pool.add(at, part.numbers + block.start, part.costs, part.ends)
                best = int(np.argmin(part.costs[:, 0]))
                leader = float(part.costs[best, 0]), int(part.numbers[best]) + block.start
                leaders[at] = min(leader, leaders.get(at, leader))
            progress.step(f"{found.tried:,} of {whole:,} plans{shared}")
        first += space.count
    progress.clear()
    (found, pool, leaders), *others = asked.among.gather((found, pool, leaders))
    for other, candidates, leading in others:
        found.count(other.tried, other.passed, other.unknown, other.refused)
        if candidates.costs is not None:
            pool.add(candidates.subjects, candidates.numbers, candidates.costs, candidates.ends)
        for at, leader in leading.items():
            leaders[at] = min(leader, leaders.get(at, leader))
    found.refused = {name: found.refused[name] for name in (*checks, *asked.conditions) if name in found.refused}
    if not len(pool.numbers):
        raise _none(asked, found, spaces)
    _choose(asked, found, pool, spaces, top, alone=alone)
    if len(objectives) == 1 and len(asked.subjects) > 1:
        for place, (_, number) in sorted(leaders.items(), key=lambda each: each[1]):
            found.of_each.append(_at(asked, spaces, place, number))
    return found


@dataclass(frozen=True)
class _Reduced:
    passed: int
    unknown: int
    refused: Mapping[str, int]
    numbers: np.ndarray
    costs: np.ndarray
    ends: np.ndarray


def _reduce(
    block: Block, rows: Mapping[str, Array], checks: Sequence[str], conditions: Sequence[str],
    objectives: Sequence[Objective], ends: str,
) -> _Reduced:  # fmt: skip
    """Of a block what passes, what refuses the rest, and the plans that may be among the best."""
    passes: Array = np.True_
    refused = {}
    for name in (*checks, *conditions):
        holds = rows[name] != 0 if name in checks else rows[name] == 1  # a check that is N/A refuses nothing
        passes = passes & holds
        size = max(1, np.size(holds))
        if failing := size - int(np.count_nonzero(holds)):
            refused[name] = failing * (block.count // size)
    places = np.flatnonzero(block.flat(passes))
    costs = np.stack([block.flat(each.cost(rows[each.row.name]))[places] for each in objectives], axis=1)
    known = ~np.isnan(costs).any(axis=1)
    ending = block.flat(rows[ends])[places] if ends else costs[:, 0]
    ending = ending if not ends or objectives[0].is_least else -ending
    unknown = int(len(known) - known.sum())
    places, costs, ending = places[known], costs[known], ending[known]
    kept = _best(costs, ending) if len(places) else np.empty(0, np.int64)
    return _Reduced(len(places) + unknown, unknown, refused, places[kept], costs[kept], ending[kept])


def _choose(asked: Request, found: Found, pool: _Pool, spaces: Sequence[Space], top: int, *, alone: bool) -> None:
    """Put the best plans into what was found: of one objective the simplest tie first, then by their numbers.

    Of layouts that differ in how the batch is shared out, or in the schedule alone, the best stands for all.
    """
    assert pool.costs is not None
    pool.keep(np.lexsort([*_involved(pool, spaces)[::-1], *pool.costs.T[::-1]]))
    if len(found.objectives) > 1:
        chosen = front(pool.costs)
        found.front = len(chosen)
        spread = np.unique(np.linspace(0, len(chosen) - 1, min(top, len(chosen))).round().astype(int))
        found.plans = [_plan(asked, pool, spaces, int(place)) for place in chosen[spread]]
        found.chosen = _grouped(asked, pool, spaces, chosen, set())
        return
    ties = within(pool.costs[:, 0], pool.ends)
    found.ties, found.best = len(ties), float(pool.costs[:, 0].min())
    simplest = int(ties[np.lexsort([*(key[ties] for key in _involved(pool, spaces)[::-1])])[0]])
    alike = pool.costs[:, 0] if alone else _model_ways(pool, spaces)
    _, first = np.unique(np.column_stack([pool.subjects, alike]), axis=0, return_index=True)
    order = [simplest, *(place for place in sorted(first.tolist()) if place != simplest)]
    tied = set(ties.tolist())
    found.plans = [_plan(asked, pool, spaces, place, is_tie=place in tied) for place in order[:top]]
    found.chosen = _grouped(asked, pool, spaces, np.array(order[:top]), tied)


def _grouped(
    asked: Request, pool: _Pool, spaces: Sequence[Space], places: np.ndarray, tied: Container[int]
) -> list[Chosen]:  # fmt: skip
    """Some candidates in their order, by subject."""
    found = []
    for at, (subject, space) in enumerate(zip(asked.subjects, spaces, strict=True)):
        ranks = np.flatnonzero(pool.subjects[places] == at)
        if len(ranks):
            axis = Axis(space.plans(pool.numbers[places[ranks]]))
            ties = np.array([float(int(place) in tied) for place in places[ranks]])
            found.append(Chosen(subject, ranks, axis, ties))
    return found


def _model_ways(pool: _Pool, spaces: Sequence[Space]) -> np.ndarray:
    """Of each candidate the chips and the ways that a copy of the model lies over; its number where none moves."""
    names = [name for name in ("n_chips", *KINDS) if name not in BATCH_WAYS]
    found = np.zeros((len(pool.numbers), len(names) + 1))
    for at, space in enumerate(spaces):
        places = np.flatnonzero(pool.subjects == at)
        values = space.plans(pool.numbers[places])
        if not set(names) & values.keys():
            found[places, -1] = pool.numbers[places]
        for column, name in enumerate(names):
            found[places, column] = values.get(name, 0.0)
    return found


def _involved(pool: _Pool, spaces: Sequence[Space]) -> list[np.ndarray]:
    """Keys by which the simpler plan is less: kinds of ways, their product, then fewer chips, microbatches, chunks."""
    count = len(pool.numbers)
    kinds, degree = np.zeros(count), np.ones(count)
    rest = {name: np.zeros(count) for name in THEN}
    for at, space in enumerate(spaces):
        places = np.flatnonzero(pool.subjects == at)
        if not len(places):
            continue
        values = space.plans(pool.numbers[places])
        for name in KINDS:
            if name in values:
                kinds[places] += values[name] > 1
                degree[places] *= 1 if name in BATCH_WAYS else np.maximum(values[name], 1)
        for name in THEN:
            rest[name][places] = values.get(name, rest[name][places])
    return [kinds, degree, *rest.values()]


def _plan(asked: Request, pool: _Pool, spaces: Sequence[Space], place: int, *, is_tie: bool = False) -> Plan:
    return _at(asked, spaces, int(pool.subjects[place]), int(pool.numbers[place]), is_tie=is_tie)


def _at(asked: Request, spaces: Sequence[Space], subject: int, number: int, *, is_tie: bool = False) -> Plan:
    """The plan of a subject by its number."""
    moved = {
        name: text_of(value) if asked.template.row(name).unit == "text" else value
        for name, value in spaces[subject].plan(number).items()
    }
    return at(asked, asked.subjects[subject], moved, is_tie=is_tie)


def at(asked: Request, subject: Subject, moved: Mapping[str, Value], *, is_tie: bool = False) -> Plan:
    """One plan with all its rows."""
    values = with_followers(asked.template, {**asked.given, **moved})
    return Plan(subject, moved, evaluate(asked.template, subject.facts, values), is_tie)


def _none(asked: Request, found: Found, spaces: Sequence[Space]) -> UserError:
    """Why there is no best plan."""
    if found.unknown:
        plan = {name: value for name, value in spaces[0].plan(0).items() if asked.template.row(name).unit != "text"}
        results = at(asked, asked.subjects[0], plan).results
        names = [each.row.name for each in found.objectives]
        why = ", ".join(explanation.missing(results, names)) or "their formulas have no number"
        return UserError(f"{' and '.join(names)} N/A in every plan that passes: {why}", remedy="--set a value")
    most = sorted(found.refused.items(), key=lambda each: -each[1])[:3]
    said = ", ".join(f"{asked.template.row(name).label} ({name}) refuses {count:,}" for name, count in most)
    return UserError(f"none of {found.tried:,} plans passes: {said}", remedy="more chips, or name others with --over")
