"""All combinations of some values as a table, computed and written in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner import progress
from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.arrays import Array
from planner.formulas.evaluation import text_of
from planner.formulas.template import Row, Template
from planner.number_text import PERCENT, few, shown
from planner.search.computing import Plans
from planner.search.request import Request, Subject
from planner.search.space import PlanBlock, PlanSpace

NAMED = 3  # most checks that are named


@dataclass(frozen=True)
class SweepColumn:
    """A column of the table; `row` is None for a model or chip."""

    name: str
    row: Row | None = None
    unit_otherwise: str = "text"

    @property
    def unit(self) -> str:
        """The unit of its row, else its own."""
        return self.row.unit if self.row else self.unit_otherwise

    def cells(self, values: Sequence[object] | np.ndarray) -> list[str]:
        """A column's values as texts: `4.39 s`, `85.9 GB`."""
        unit = PERCENT if self.row is not None and self.row.display == PERCENT else self.unit

        def text(value: object) -> str:
            if value is None or value != value:
                return shown(None, unit)
            return shown(value if isinstance(value, str) else float(value), unit)  # type: ignore[arg-type]

        return [text(value).replace("\N{NO-BREAK SPACE}", " ") for value in values]


def worded(row: Row, value: Value) -> str:
    """A row's value as text: `4.39 s`."""
    return SweepColumn(row.name, row).cells([value])[0]


Part = Mapping[str, np.ndarray]  # a block of the table: an array per column (dtype object for texts), NaN for N/A


@dataclass
class Failing:
    """Of the plans in the table, how many there are, how many fail a check, and how many each check."""

    plans: int = 0
    failing: int = 0
    of: Counter[str] = field(default_factory=Counter)

    def add(self, other: Failing) -> None:
        """Add the counts of further plans."""
        self.plans, self.failing = self.plans + other.plans, self.failing + other.failing
        self.of.update(other.of)

    def words(self, template: Template) -> str:
        """How many plans fail, which checks, and how to leave them out; blank if none fails."""
        most = self.of.most_common()
        each = [f"{template.row(name).named} in {count:,}" for name, count in most]
        left = " ".join(f"--where {name}" for name, _ in most)
        remedy = f"; {left} leaves them out" if len(most) <= NAMED else ""
        return f"Check failed in {self.failing:,} of {self.plans:,} plans: {few(each, NAMED)}{remedy}" if most else ""


@dataclass(frozen=True)
class SweptPlans:
    """The plans of a request, models and chips first, then its axes, with the shown rows of each.

    `failing` counts the plans of the `parts` made so far that fail one of `checks`.
    """

    asked: Request
    wanted: Sequence[str]
    checks: Sequence[str] = ()
    failing: Failing = field(default_factory=Failing)

    def __post_init__(self) -> None:
        if not self.asked.axes and len(self.asked.subjects) < 2:
            raise UserError("nothing is varied", remedy="name an input, as in --over batch=1..64")

    @property
    def count(self) -> int:
        """The number of plans to compute."""
        return PlanSpace(self.asked.axes).count * len(self.asked.subjects)

    @property
    def columns(self) -> list[SweepColumn]:
        """The columns: model and chip if there are several, varied inputs, shown rows."""
        template = self.asked.template
        names = dict.fromkeys([*PlanSpace(self.asked.axes).names, *self.wanted])
        return [*map(SweepColumn, self.asked.several), *(SweepColumn(name, template.row(name)) for name in names)]

    def parts(self) -> Iterator[Part]:
        """The table's rows in order, restricted to those that meet the conditions and to this process's share.

        Raises UserError at the end if no plan meets them, so that nothing is written.
        """
        among, done, each = self.asked.among, 0, PlanSpace(self.asked.axes).count
        is_empty = among.count == 1  # another process may have plans if this one has none
        shared = f", shared by {among.count} processes" if among.count > 1 else ""
        for at, subject in enumerate(self.asked.subjects):
            for block, (part, failing) in self._of(subject, at * each):
                done += block.count
                self.failing.add(failing)
                progress.step(f"{done:,} of {self.count:,} plans{shared}")
                is_empty = is_empty and not len(part[self.columns[0].name])
                yield part
        progress.clear()
        if is_empty:
            raise UserError(f"none of {self.count:,} plans meets the conditions", remedy="ask for less in --where")

    def _of(self, subject: Subject, first: int) -> Iterator[tuple[PlanBlock, tuple[Part, Failing]]]:
        asked, columns = self.asked, self.columns
        rows = [*self.wanted, *asked.conditions, *self.checks]
        plans = Plans(asked.template, subject.facts, asked.given, PlanSpace(asked.axes), rows, asked.backend)

        def table(block: PlanBlock, found: dict[str, Array]) -> tuple[Part, Failing]:
            kept = met(found, asked.conditions, block)
            part: dict[str, np.ndarray] = {}
            for column in columns:
                if column.row is None:
                    count = block.count if kept is None else int(kept.sum())
                    part[column.name] = np.full(count, getattr(subject, column.name), dtype=object)
                    continue
                array = found[column.name] if column.name in found else block.arrays[column.name]
                flat = block.flat(texts(array) if column.unit == "text" else array)
                part[column.name] = flat if kept is None else flat[kept]
            return part, _failing({name: found[name] == 0 for name in self.checks}, block, kept)

        return plans.each(table, asked.among.share(first, self.count))


def _failing(fails: Mapping[str, np.ndarray], block: PlanBlock, kept: np.ndarray | None) -> Failing:
    """The counts of a block's plans in the table; a check that is N/A fails nowhere."""
    among = np.ones(block.count, dtype=bool) if kept is None else kept
    failed = {name: block.flat(each) & among for name, each in fails.items() if np.any(each)}
    anywhere = np.logical_or.reduce(list(failed.values())) if failed else np.False_
    counts = {name: int(np.count_nonzero(each)) for name, each in failed.items()}
    return Failing(int(among.sum()), int(np.count_nonzero(anywhere)), Counter({k: n for k, n in counts.items() if n}))


def met(found: Mapping[str, Array], conditions: Sequence[str], block: PlanBlock) -> np.ndarray | None:
    """For each plan of a block, whether all conditions hold (N/A doesn't); None if there are none."""
    if not conditions:
        return None
    return block.flat(np.logical_and.reduce(np.broadcast_arrays(*(found[name] == 1 for name in conditions))))


def texts(codes: Array) -> np.ndarray:
    """The texts of codes, as an object array; None for N/A."""
    array = np.asarray(codes)
    return np.array([text_of(float(each)) for each in array.reshape(-1)], dtype=object).reshape(array.shape)
