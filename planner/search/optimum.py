"""The best plans of a space: those that pass every check of the template, by one number or on a front of several."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner import progress, typed_numbers
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
from planner.search.request import Request, Subject
from planner.search.space import Axis, Block, Space
from planner.search.ties import front, share_errors, unshared, within

KEPT = 2000  # plans of a block that are kept whether they are near the best or not
KINDS = ("mesh_data", "mesh_fsdp", "mesh_tensor", "mesh_expert", "mesh_pipeline", "mesh_context", "serve_tensor",
         "serve_data", "serve_expert", "serve_pipeline")  # fmt: skip
BATCH_WAYS = ("mesh_data", "mesh_fsdp", "serve_data")  # whose number says nothing of how involved a layout is
APART = "prefill_chips"
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
    """One of the best: what moves in it, all its rows, and whether no published run tells it from the best."""

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

    `unknown` plans pass but have an objective that is N/A; `why` says of each thing that is missing for which subjects.
    `best` is the least cost of all plans, listed or not. `ties` counts the plans that can't be told from it, itself
    among them: those up to the cost `bar` that share its error, and those of another model or chip up to `end`, the end
    of its range; both are NaN where the objective has no range. Of several objectives the plans are a front, of which
    `plans` may be a part and `chosen` has all. `of_each` has the best of each model and chip by the one objective,
    where there are several, best first.
    """

    objectives: Sequence[Objective]
    tried: int = 0
    passed: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    unknown: int = 0
    why: dict[str, list[Subject]] = field(default_factory=dict)
    ties: int = 0
    best: float = math.nan
    bar: float = math.nan
    end: float = math.nan
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


def objectives_of(template: Template, least: Sequence[str], most: Sequence[str]) -> list[Objective]:
    """The objectives of rows of which the least is best, and those of which the most is; a name twice is one of them.

    Raises UserError as `objective` does, and for a row that is to be both.
    """
    if both := sorted({*least} & {*most}):
        raise UserError(f"{both[0]} can't be both minimized and maximized", remedy="minimize it, or maximize it")
    return [objective(template, name, is_least=name in least) for name in dict.fromkeys([*least, *most])]


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
    unknown: dict[int, int] = {}  # by subject the first plan of which an objective is N/A
    spaces = [sensible.space(asked, subject, alone=alone) for subject in asked.subjects]
    whole, first = sum(space.count for space in spaces), 0
    shared = f", shared by {asked.among.count} processes" if asked.among.count > 1 else ""
    for at, (subject, space) in enumerate(zip(asked.subjects, spaces, strict=True)):
        plans = Plans(template, subject.facts, asked.given, space, wanted, asked.backend)

        def reduced(block: Block, rows: dict[str, Array]) -> _Reduced:
            return _reduce(block, rows, checks, asked.conditions, objectives, ends)

        for block, part in plans.each(reduced, asked.among.share(first, whole)):
            found.count(block.count, part.passed, part.unknown, part.refused)
            if part.unknown:
                unknown.setdefault(at, part.unknown_at + block.start)
            if len(part.numbers):
                pool.add(at, part.numbers + block.start, part.costs, part.ends)
                best = int(np.argmin(part.costs[:, 0]))
                leader = float(part.costs[best, 0]), int(part.numbers[best]) + block.start
                leaders[at] = min(leader, leaders.get(at, leader))
            progress.step(f"{found.tried:,} of {whole:,} plans{shared}")
        first += space.count
    progress.clear()
    (found, pool, leaders, unknown), *others = asked.among.gather((found, pool, leaders, unknown))
    for other, candidates, leading, lacking in others:
        found.count(other.tried, other.passed, other.unknown, other.refused)
        if candidates.costs is not None:
            pool.add(candidates.subjects, candidates.numbers, candidates.costs, candidates.ends)
        for at, leader in leading.items():
            leaders[at] = min(leader, leaders.get(at, leader))
        unknown = lacking | unknown
    found.refused = {name: found.refused[name] for name in (*checks, *asked.conditions) if name in found.refused}
    plans_without = [_at(asked, spaces, at, number) for at, number in sorted(unknown.items())]
    for plan in plans_without:
        for why in explanation.missing(plan.results, [each.row.name for each in objectives]):
            found.why.setdefault(why, []).append(plan.subject)
    if not len(pool.numbers):
        raise _none(asked, found, plans_without)
    _choose(asked, found, pool, spaces, top, alone=alone)
    if len(objectives) == 1 and len(asked.subjects) > 1:
        for place, (_, number) in sorted(leaders.items(), key=lambda each: each[1]):
            found.of_each.append(_at(asked, spaces, place, number))
    return found


@dataclass(frozen=True)
class _Reduced:
    passed: int
    unknown: int
    unknown_at: int
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
    unknown = places[~known]
    places, costs, ending = places[known], costs[known], ending[known]
    kept = _best(costs, ending) if len(places) else np.empty(0, np.int64)
    first = int(unknown[0]) if len(unknown) else 0
    passed = len(places) + len(unknown)
    return _Reduced(passed, len(unknown), first, refused, places[kept], costs[kept], ending[kept])


def _choose(asked: Request, found: Found, pool: _Pool, spaces: Sequence[Space], top: int, *, alone: bool) -> None:
    """Put the best plans into what was found: of one objective the simplest tie first, then by their numbers.

    Of the ties with the fewest ways and chips the best is the simplest: how the batch is cut adds nothing to run.

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
    ties = _ties(asked, found, pool, spaces)
    kinds, degree, chips, *rest = (key[ties] for key in _involved(pool, spaces))
    simplest = int(ties[np.lexsort([*rest[::-1], pool.costs[ties, 0], chips, degree, kinds])[0]])
    alike = pool.costs[:, 0] if alone else _model_ways(pool, spaces)
    _, first = np.unique(np.column_stack([pool.subjects, alike]), axis=0, return_index=True)
    order = [simplest, *(place for place in sorted(first.tolist()) if place != simplest)]
    tied = set(ties.tolist())
    found.plans = [_plan(asked, pool, spaces, place, is_tie=place in tied) for place in order[:top]]
    found.chosen = _grouped(asked, pool, spaces, np.array(order[:top]), tied)


def _ties(asked: Request, found: Found, pool: _Pool, spaces: Sequence[Space]) -> np.ndarray:
    """The places of the plans that can't be told from the best; puts the best and the ends of the ties into `found`."""
    assert pool.costs is not None
    costs, aim = pool.costs[:, 0], found.objectives[0]
    least = int(costs.argmin())
    found.best = float(costs[least])
    places = within(costs, pool.ends)
    if end := aim.range_end(asked.template):
        best = _plan(asked, pool, spaces, least)
        found.end, found.bar = float(pool.ends[least]), float(aim.cost(unshared(best.subject, best.results)[end]))
        shares = np.array([share_errors(each, best.subject) for each in asked.subjects])[pool.subjects[places]]
        places = places[~shares | (costs[places] <= max(found.bar, found.best))]
    found.ties = len(places)
    return places


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
    names = [name for name in ("n_chips", APART, *KINDS) if name not in BATCH_WAYS]
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
        kinds[places] += values.get(APART, np.zeros(1)) > 0
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


def _none(asked: Request, found: Found, unknown: Sequence[Plan]) -> UserError:
    """Why there is no best plan; `unknown` are plans that pass, one of each subject, of which an objective is N/A."""
    if unknown:
        names = [each.row.name for each in found.objectives]
        lacking = explanation.blanks(unknown[0].results, names)
        remedy = " ".join(f"--set {row.name}={typed_numbers.such_as(row.unit)}" for row in lacking)
        why = ", ".join(found.why) or "their formulas have no number"
        return UserError(
            f"{' and '.join(names)} N/A in every plan that passes: {why}", remedy=f"type {remedy}" if remedy else ""
        )
    most = sorted(found.refused.items(), key=lambda each: -each[1])[:3]
    said = ", ".join(f"{_label(asked, name)} refuses {count:,}" for name, count in most)
    refuser = most[0][0]
    explained = f"--why {refuser} of planner calc explains it; more chips"
    remedy = "ask for less, or for more chips" if refuser in asked.conditions else explained
    return UserError(f"none of {found.tried:,} plans passes: {said}", remedy=f"{remedy}, or name others with --over")


def _label(asked: Request, name: str) -> str:
    """A check with its name, or the text of a condition."""
    label = asked.template.row(name).label
    return label if name in asked.conditions else f"{label} ({name})"
