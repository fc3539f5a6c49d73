"""The best plans of a space: those that pass every check of the template, by one number or on a front of several."""

from __future__ import annotations

import math
from collections import Counter
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
from planner.formulas.headlines import RANGE, headlines, led_as, memory_check
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
    refused: Counter[str] = field(default_factory=Counter)
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

    def count(self, other: Found) -> None:
        """Count the plans of another part of the search."""
        self.tried += other.tried
        self.passed += other.passed
        self.unknown += other.unknown
        self.refused.update(other.refused)


@dataclass
class _Pool:
    """Candidates: of each its subject and number, its costs and the end of its error bar."""

    subjects: np.ndarray
    numbers: np.ndarray
    costs: np.ndarray
    ends: np.ndarray

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.subjects, self.numbers, self.costs, self.ends

    def with_those(self, other: _Pool) -> _Pool:
        """These and others, of which those are kept that may still be among the best."""
        joined = _Pool(*map(np.concatenate, zip(self._columns, other._columns, strict=True)))
        return joined.at(_best(joined.costs, joined.ends))

    def at(self, places: np.ndarray) -> _Pool:
        """Some of them, or all in another order."""
        return _Pool(*(column[places] for column in self._columns))


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
    found = Found(objectives)
    pool = _Pool(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, len(objectives))), np.empty(0))
    leaders: dict[int, tuple[float, int]] = {}  # by subject the least cost, and whose it is
    unknown: dict[int, int] = {}  # by subject the first plan of which an objective is N/A
    spaces = [sensible.space(asked, subject, alone=alone) for subject in asked.subjects]
    whole, first = sum(space.count for space in spaces), 0
    shared = f", shared by {asked.among.count} processes" if asked.among.count > 1 else ""
    for at, (subject, space) in enumerate(zip(asked.subjects, spaces, strict=True)):
        plans = Plans(template, subject.facts, asked.given, space, wanted, asked.backend)

        def reduced(block: Block, rows: dict[str, Array], subject: int = at) -> tuple[Found, _Pool, int]:
            return _reduce(block, rows, checks, asked.conditions, objectives, ends, subject)

        for _, (counts, candidates, lacks) in plans.each(reduced, asked.among.share(first, whole)):
            found.count(counts)
            if counts.unknown:
                unknown.setdefault(at, lacks)
            if len(candidates.numbers):
                pool = pool.with_those(candidates)
                best = int(np.argmin(candidates.costs[:, 0]))
                leader = float(candidates.costs[best, 0]), int(candidates.numbers[best])
                leaders[at] = min(leader, leaders.get(at, leader))
            progress.step(f"{found.tried:,} of {whole:,} plans{shared}")
        first += space.count
    progress.clear()
    (found, pool, leaders, unknown), *others = asked.among.gather((found, pool, leaders, unknown))
    for other, candidates, leading, lacking in others:
        found.count(other)
        pool = pool.with_those(candidates)
        for at, leader in leading.items():
            leaders[at] = min(leader, leaders.get(at, leader))
        unknown = lacking | unknown
    refusing = (name for name in (*checks, *asked.conditions) if name in found.refused)
    found.refused = Counter({name: found.refused[name] for name in refusing})
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


def _reduce(
    block: Block, rows: Mapping[str, Array], checks: Sequence[str], conditions: Sequence[str],
    objectives: Sequence[Objective], ends: str, subject: int,
) -> tuple[Found, _Pool, int]:  # fmt: skip
    """Of a block what passes and what refuses the rest, the plans that may be among the best, and one without a cost.

    That is the number of the first plan that passes and has an objective that is N/A; 0 where there is none.
    """
    passes: Array = np.True_
    refused = Counter[str]()
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
    unknown = places[~known] + block.start
    counts = Found(objectives, block.count, len(places), refused, len(unknown))
    candidates = _Pool(np.full(len(places), subject), places + block.start, costs, ending).at(known)
    kept = candidates.at(_best(candidates.costs, candidates.ends))
    return counts, kept, int(unknown[0]) if len(unknown) else 0


def _choose(asked: Request, found: Found, pool: _Pool, spaces: Sequence[Space], top: int, *, alone: bool) -> None:
    """Put the best plans into what was found: of one objective the simplest tie first, then by their numbers.

    Of the ties with the fewest ways and chips the best is the simplest: how the batch is cut adds nothing to run.

    Of layouts that differ in how the batch is shared out, or in the schedule alone, the best stands for all.
    """
    pool = pool.at(np.lexsort([*_involved(pool, spaces)[::-1], *pool.costs.T[::-1]]))
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
) -> list[Chosen]:
    """Some candidates in their order, by subject."""
    found = []
    for at, (subject, space) in enumerate(zip(asked.subjects, spaces, strict=True)):
        ranks = np.flatnonzero(pool.subjects[places] == at)
        if len(ranks):
            axis = Axis(space.plans(pool.numbers[places[ranks]]))
            ties = np.array([float(int(place) in tied) for place in places[ranks]])
            found.append(Chosen(subject, ranks, axis, ties))
    return found


def _moved(pool: _Pool, spaces: Sequence[Space]) -> dict[str, np.ndarray]:
    """Of each candidate what moves of ways, chips and the schedule; NaN for what doesn't."""
    found = {name: np.full(len(pool.numbers), np.nan) for name in (*KINDS, APART, *THEN)}
    for at, space in enumerate(spaces):
        places = np.flatnonzero(pool.subjects == at)
        for name, values in space.plans(pool.numbers[places]).items():
            if name in found:
                found[name][places] = values
    return found


def _model_ways(pool: _Pool, spaces: Sequence[Space]) -> np.ndarray:
    """Of each candidate the chips and the ways that a copy of the model lies over; its number where none moves."""
    moved = _moved(pool, spaces)
    ways = np.column_stack([moved[name] for name in ("n_chips", APART, *KINDS) if name not in BATCH_WAYS])
    numbers = np.where(np.isnan(ways).all(axis=1), pool.numbers, 0.0)
    return np.column_stack([np.nan_to_num(ways), numbers])


def _involved(pool: _Pool, spaces: Sequence[Space]) -> list[np.ndarray]:
    """Keys by which the simpler plan is less: kinds of ways, their product, then fewer chips, microbatches, chunks."""
    moved = _moved(pool, spaces)
    kinds = np.sum([moved[name] > 1 for name in KINDS], axis=0) + (moved[APART] > 0)
    degree = np.prod([np.fmax(moved[name], 1) for name in KINDS if name not in BATCH_WAYS], axis=0)
    return [kinds, degree, *(np.nan_to_num(moved[name]) for name in THEN)]


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
    change = "more chips" if refuser == memory_check(led_as(asked.template)) else "other inputs"
    explained = f"--why {refuser} of planner calc explains it; set {change}"
    remedy = "ask for less, or for more chips" if refuser in asked.conditions else explained
    return UserError(f"none of {found.tried:,} plans passes: {said}", remedy=f"{remedy}, or name others with --over")


def _label(asked: Request, name: str) -> str:
    """A check with its name, or the text of a condition."""
    label = asked.template.row(name).label
    return label if name in asked.conditions else f"{label} ({name})"
