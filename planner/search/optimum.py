"""The best plans of a space: those that pass every check of the template, by one objective or on a front of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from planner import progress, typed_numbers
from planner.errors import UserError
from planner.formulas import explanation
from planner.formulas.arrays import Array
from planner.formulas.evaluation import text_of
from planner.formulas.headlines import headline_template, memory_check
from planner.search import layout_space, serving_layouts, training_layouts
from planner.search.computing import Plans
from planner.search.conditions import limited
from planner.search.found import Chosen, Found, FoundPlan, Objective
from planner.search.ranking import front, share_errors, unshared, within
from planner.search.request import Request
from planner.search.space import PlanAxis, PlanBlock, PlanSpace
from planner.search.sweep import worded

KEPT = 2000  # plans kept from each block, however far from the best
KINDS = (*training_layouts.WAYS, *serving_layouts.WAYS)
BATCH_WAYS = ("mesh_data", "mesh_fsdp", "serve_data")  # batch sharding doesn't make a layout more complex
APART = "prefill_chips"
THEN = ("n_chips", "n_microbatches", "pipeline_interleave", "tensor_axes", "zero_stage", "batch")


@dataclass
class _Pool:
    """Candidates: the subject, the plan's number, the costs and the worse end of the range of each."""

    subjects: np.ndarray
    numbers: np.ndarray
    costs: np.ndarray
    ends: np.ndarray

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.subjects, self.numbers, self.costs, self.ends

    def with_those(self, other: _Pool) -> _Pool:
        """The union with others, reduced to those that may still be among the best."""
        joined = _Pool(*map(np.concatenate, zip(self._columns, other._columns, strict=True)))
        return joined.at(_best(joined.costs, joined.ends))

    def at(self, places: np.ndarray) -> _Pool:
        """The candidates at these places, in this order."""
        return _Pool(*(column[places] for column in self._columns))


def _best(costs: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The places of plans that may still be among the best."""
    if costs.shape[1] > 1:
        return front(costs)
    values = costs[:, 0]
    near = within(values, ends)
    first = np.argpartition(values, KEPT)[:KEPT] if len(values) > KEPT else np.arange(len(values))
    return np.union1d(near, first)


@dataclass
class _Tally:
    """The result of a part of the search: its counts, and which of its plans are still needed."""

    found: Found
    pool: _Pool
    leaders: dict[int, tuple[float, int]]  # by subject, the lowest cost and its plan
    unknown: dict[int, int]  # by subject, the first plan with an objective that is N/A
    refused: dict[int, Counter[str]]  # by subject, the number of plans that each check or condition refuses

    @classmethod
    def of_none(cls, objectives: Sequence[Objective]) -> _Tally:
        """The tally of no plans."""
        pool = _Pool(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, len(objectives))), np.empty(0))
        return cls(Found(objectives), pool, {}, {}, {})

    def add(self, later: _Tally) -> None:
        """Merge the tally of a part whose plans come later or are of other subjects."""
        self.found.count(later.found)
        if len(later.pool.numbers):
            self.pool = self.pool.with_those(later.pool)
        for subject, leader in later.leaders.items():
            self.leaders[subject] = min(leader, self.leaders.get(subject, leader))
        self.unknown = later.unknown | self.unknown
        for subject, refused in later.refused.items():
            self.refused[subject] = self.refused.get(subject, Counter()) + refused


def optimum(asked: Request, objectives: Sequence[Objective], top: int, *, alone: bool = False) -> Found:
    """The best plans of all subjects of a request, at most `top` of them.

    Raises UserError if no plan passes, or an objective is N/A in all of them, with what is missing.
    """
    asked.warn_unread(each.row.name for each in objectives)
    return _Search(asked, objectives, alone).found(top)


@dataclass(frozen=True)
class _Search:
    """A search: what is asked, the objectives, and whether only what --over names is varied."""

    asked: Request
    objectives: Sequence[Objective]
    alone: bool

    @cached_property
    def spaces(self) -> list[PlanSpace]:
        """The plans of each subject."""
        aims = [each.row.name for each in self.objectives]
        return [layout_space.space(self.asked, subject, aims, alone=self.alone) for subject in self.asked.subjects]

    @cached_property
    def checks(self) -> list[str]:
        """The names of the template's checks."""
        return [row.name for row in self.asked.template.of_kind("check")]

    @cached_property
    def ends(self) -> str:
        """The row of the worse end of the range of a single objective; blank if there is none."""
        return self.objectives[0].range_end(self.asked.template) if len(self.objectives) == 1 else ""

    def found(self, top: int) -> Found:
        """The result, with at most `top` plans. Raises UserError as `optimum` does."""
        asked, among = self.asked, self.asked.among
        ends = [self.ends] if self.ends else []
        wanted = [*(each.row.name for each in self.objectives), *self.checks, *asked.conditions, *ends]
        tally = _Tally.of_none(self.objectives)
        whole, first = sum(space.count for space in self.spaces), 0
        shared = f", shared by {among.count} processes" if among.count > 1 else ""
        for at, (subject, space) in enumerate(zip(asked.subjects, self.spaces, strict=True)):
            plans = Plans(asked.template, subject.facts, asked.given, space, wanted, asked.backend)
            for _, one in plans.each(partial(self._reduced, at), among.share(first, whole)):
                tally.add(one)
                progress.step(f"{tally.found.tried:,} of {whole:,} plans{shared}")
            first += space.count
        progress.clear()
        tally, *others = among.gather(tally)
        for other in others:
            tally.add(other)
        return self._result(tally, top)

    def _reduced(self, subject: int, block: PlanBlock, rows: Mapping[str, Array]) -> _Tally:
        """The tally of a block of a subject's plans."""
        passes: Array = np.True_
        refused = Counter[str]()
        for name in (*self.checks, *self.asked.conditions):
            holds = rows[name] != 0 if name in self.checks else rows[name] == 1  # a check that is N/A rejects nothing
            passes = passes & holds
            size = max(1, np.size(holds))
            if failing := size - int(np.count_nonzero(holds)):
                refused[name] = failing * (block.count // size)
        places = np.flatnonzero(block.flat(passes))
        costs = np.stack([block.flat(each.cost(rows[each.row.name]))[places] for each in self.objectives], axis=1)
        known = ~np.isnan(costs).any(axis=1)
        ending = block.flat(self.objectives[0].cost(rows[self.ends]))[places] if self.ends else costs[:, 0]
        unknown = places[~known] + block.start
        counts = Found(self.objectives, block.count, len(places), refused, len(unknown))
        candidates = _Pool(np.full(len(places), subject), places + block.start, costs, ending).at(known)
        kept = candidates.at(_best(candidates.costs, candidates.ends))
        tally = _Tally(counts, kept, {}, {}, {subject: refused})
        if len(unknown):
            tally.unknown[subject] = int(unknown[0])
        if len(kept.numbers):
            best = int(np.argmin(kept.costs[:, 0]))
            tally.leaders[subject] = float(kept.costs[best, 0]), int(kept.numbers[best])
        return tally

    def _result(self, tally: _Tally, top: int) -> Found:
        """The result of a whole search: the refusing checks in their order, what is missing, and the best plans."""
        found, names = tally.found, [each.row.name for each in self.objectives]
        refusing = (*self.checks, *self.asked.conditions)
        found.refused = Counter({name: found.refused[name] for name in refusing if name in found.refused})
        plans_without = [self.plan(at, number) for at, number in sorted(tally.unknown.items())]
        for plan in plans_without:
            for why in explanation.missing(plan.results, names):
                found.why.setdefault(why, []).append(plan.subject)
        if not len(tally.pool.numbers):
            raise self._none(found, plans_without)
        for at, counts in sorted(tally.refused.items()):
            if at not in tally.leaders and at not in tally.unknown:
                found.empty.append((self.asked.subjects[at], max(counts, key=lambda name: counts[name])))
        choice = _Choice.of(self, tally.pool)
        if len(self.objectives) > 1:
            choice.put_front(found, top)
            return found
        choice.put_best(found, top)
        if len(self.asked.subjects) > 1:
            leaders = sorted(tally.leaders.items(), key=lambda each: each[1])
            found.of_each = [self.plan(place, number) for place, (_, number) in leaders]
        return found

    def plan(self, subject: int, number: int, *, is_tie: bool = False) -> FoundPlan:
        """The plan of a subject by its number in the subject's space, with all its rows."""
        moved = {
            name: text_of(value) if self.asked.template.row(name).unit == "text" else value
            for name, value in self.spaces[subject].plan(number).items()
        }
        return FoundPlan.of(self.asked, self.asked.subjects[subject], moved, is_tie=is_tie)

    def _none(self, found: Found, unknown: Sequence[FoundPlan]) -> UserError:
        """The error that no plan is best; `unknown` are passing ones, one a subject, with an objective that is N/A."""
        if unknown:
            names = [each.row.name for each in self.objectives]
            lacking = explanation.blanks(unknown[0].results, names)
            remedy = " ".join(["type", *(f"--set {row.name}={typed_numbers.such_as(row.unit)}" for row in lacking)])
            if any(row.name == explanation.TOPOLOGY for row in lacking):  # from which its other numbers follow
                remedy = "give its row of --hardware-csv network, scaleup_bandwidth and max_chips, or plan one chip"
            why = ", ".join(found.why) or "their formulas have no number"
            what = f"{' and '.join(names)} N/A in every plan that passes: {why}"
            return UserError(what, remedy=remedy if lacking else "")
        template, conditions = self.asked.template, self.asked.conditions
        most = found.refused.most_common(3)
        labels = {row.name: f"{row.label}{row.note and f' ({row.note})'}" for row in map(template.row, conditions)}
        said = ", ".join(f"{labels.get(name) or template.row(name).named} refuses {count:,}" for name, count in most)
        refuser = most[0][0]
        said += self._nearest(refuser) if refuser in conditions else ""
        change = "more chips" if refuser == memory_check(headline_template(template)) else "other inputs"
        explained = f"--why {refuser} of planner calc explains it; set {change}"
        remedy = "ask for less, or for more chips" if refuser in conditions else explained
        what = f"none of {found.tried:,} plans passes: {said}"
        return UserError(what, remedy=f"{remedy}, or name others with --over")

    def _nearest(self, condition: str) -> str:
        """How near the plans that pass all else come to a condition, in words; blank if that can't be told."""
        asked, limit = self.asked, limited(self.asked.template, condition)
        if limit is None or asked.among.count > 1:
            return ""
        rest = [name for name in asked.conditions if name != condition]
        for kept, said in ((rest, "the rest"), ([], "every check")):
            others = replace(asked, conditions=kept)
            try:
                found = _Search(others, [Objective(limit.row, limit.is_least)], self.alone).found(1)
            except UserError:
                continue
            value = found.best if limit.is_least else -found.best
            return f"; of plans that pass {said} {limit.row.name} is {worded(limit.row, value)} at {limit.end}"
        return ""


@dataclass(frozen=True)
class _Choice:
    """Selects the candidates to list; `candidates` are sorted by cost, and among equal ones the simpler comes first."""

    search: _Search
    candidates: _Pool

    @classmethod
    def of(cls, search: _Search, pool: _Pool) -> _Choice:
        """The choice among the candidates of an unsorted pool."""
        keys = cls(search, pool).involved
        return cls(search, pool.at(np.lexsort([*keys[::-1], *pool.costs.T[::-1]])))

    def put_front(self, found: Found, top: int) -> None:
        """Add to `found` the plans on the front of all objectives, of which `top` along the front are listed."""
        chosen = front(self.candidates.costs)
        found.front = len(chosen)
        spread = np.unique(np.linspace(0, len(chosen) - 1, min(top, len(chosen))).round().astype(int))
        found.plans = [self.plan(int(place)) for place in chosen[spread]]
        found.chosen = self._grouped(chosen, set())

    def put_best(self, found: Found, top: int) -> None:
        """Add to `found` the best plans by one objective: the simplest of the ties, then the others in order.

        The simplest has the fewest kinds of ways, then the fewest ways, then the fewest chips, and is the best of such.
        Of layouts that differ only in how the batch is split, or in the schedule, only the best is listed.
        """
        costs, ties = self.candidates.costs[:, 0], self._ties(found)
        kinds, degree, chips, *rest = (key[ties] for key in self.involved)
        simplest = int(ties[np.lexsort([*rest[::-1], costs[ties], chips, degree, kinds])[0]])
        alike = costs if self.search.alone else self._model_ways()
        _, first = np.unique(np.column_stack([self.candidates.subjects, alike]), axis=0, return_index=True)
        order = [simplest, *(place for place in sorted(first.tolist()) if place != simplest)][:top]
        tied = set(ties.tolist())
        found.plans = [self.plan(place, is_tie=place in tied) for place in order]
        found.chosen = self._grouped(np.array(order), tied)

    def _ties(self, found: Found) -> np.ndarray:
        """The places of the plans tied with the best; the limits of a tie are stored in `found`."""
        pool, costs, aim = self.candidates, self.candidates.costs[:, 0], found.objectives[0]
        least = int(costs.argmin())
        found.best = float(costs[least])
        places = within(costs, pool.ends)
        if end := self.search.ends:
            best = self.plan(least)
            found.end, found.bar = float(pool.ends[least]), float(aim.cost(unshared(best.subject, best.results)[end]))
            shares = [share_errors(each, best.subject) for each in self.search.asked.subjects]
            shared = np.array(shares)[pool.subjects[places]]
            places = places[~shared | (costs[places] <= max(found.bar, found.best))]
        found.ties = len(places)
        return places

    def _grouped(self, places: np.ndarray, tied: Container[int]) -> list[Chosen]:
        """Some candidates in their order, by subject."""
        found = []
        for at, (subject, space) in enumerate(zip(self.search.asked.subjects, self.search.spaces, strict=True)):
            ranks = np.flatnonzero(self.candidates.subjects[places] == at)
            if len(ranks):
                axis = PlanAxis(space.plans(self.candidates.numbers[places[ranks]]))
                ties = np.array([float(int(place) in tied) for place in places[ranks]])
                found.append(Chosen(subject, ranks, axis, ties))
        return found

    @cached_property
    def _moved(self) -> dict[str, np.ndarray]:
        """The ways, chips and schedule of each candidate; NaN for what isn't varied."""
        found = {name: np.full(len(self.candidates.numbers), np.nan) for name in (*KINDS, APART, *THEN)}
        for at, space in enumerate(self.search.spaces):
            places = np.flatnonzero(self.candidates.subjects == at)
            for name, values in space.plans(self.candidates.numbers[places]).items():
                if name in found:
                    found[name][places] = values
        return found

    @cached_property
    def involved(self) -> list[np.ndarray]:
        """Sort keys that put simpler plans first: kinds of ways, their product, chips, microbatches and chunks."""
        moved = self._moved
        kinds = np.sum([moved[name] > 1 for name in KINDS], axis=0) + (moved[APART] > 0)
        degree = np.prod([np.fmax(moved[name], 1) for name in KINDS if name not in BATCH_WAYS], axis=0)
        return [kinds, degree, *(np.nan_to_num(moved[name]) for name in THEN)]

    def _model_ways(self) -> np.ndarray:
        """A key for the chips and ways over which each candidate's model is split; its number if none is varied."""
        names = ("n_chips", APART, *KINDS)
        ways = np.column_stack([self._moved[name] for name in names if name not in BATCH_WAYS])
        numbers = np.where(np.isnan(ways).all(axis=1), self.candidates.numbers, 0.0)
        return np.column_stack([np.nan_to_num(ways), numbers])

    def plan(self, place: int, *, is_tie: bool = False) -> FoundPlan:
        """The candidate at a place, with all its rows."""
        subject, number = int(self.candidates.subjects[place]), int(self.candidates.numbers[place])
        return self.search.plan(subject, number, is_tie=is_tie)
