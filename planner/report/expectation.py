"""What to expect of each scenario: the headline numbers with range and bound, what they rest on, and runs alike.

Everything is read from the calculation sheets by the names of their rows, wherever Dashboard shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from planner.book.plan import Quantity, Scenario
from planner.catalog import Value
from planner.formulas import expected, library
from planner.formulas.evaluation import number_of
from planner.formulas.expected import Headline, Lead
from planner.formulas.spoken import PERCENT, spoken
from planner.formulas.text import parse
from planner.report.contents import ExpectedNumber, Figure, FigureColumn, FigureTable
from planner.report.figures import CellFigures, shown
from planner.validation.nearest import Nearest, NearRun, PublishedRuns, published_runs

RUNS = "published_runs.csv"
OF_RUNS, PART = "80 % of published runs", "_part_time"


@dataclass(frozen=True)
class Planned:
    """What a template plans of the scenarios that are meant for it: its lead, and the rows by name."""

    template: str
    lead: Lead
    rows: Mapping[str, Quantity]
    meant: tuple[tuple[int, Scenario], ...]
    cells: CellFigures

    @property
    def is_whole(self) -> bool:
        """Whether it plans what a scenario is meant for, with its memory, and not a part of it such as a collective."""
        return bool(self.lead.check)

    @cached_property
    def runs(self) -> PublishedRuns | None:
        """The published runs of the template; None where there are none."""
        with library.one_reading():
            return published_runs(library.load(self.template))

    def value(self, name: str, key: str) -> Value:
        """A row's number or text in a scenario; None for N/A."""
        row = self.rows.get(name) or self.cells.row(name)
        found = row.cells.get(key, row.cells.get("")) if row else None
        value = found.value if found else None
        return float(value) if isinstance(value, int) else value if isinstance(value, (float, str)) else None

    def text(self, name: str, key: str) -> str | None:
        """A row's text in a scenario."""
        value = self.value(name, key)
        return value if isinstance(value, str) else None

    def number(self, text: str, key: str) -> float | None:
        """What a formula in names gives in a scenario; None for N/A."""
        formula = parse(text)
        values = {name: self.value(name, key) for name in formula.names}
        known = {name: value for name, value in values.items() if value is not None}
        found = number_of(formula, known) if len(known) == len(values) else float("nan")
        return None if found != found else found

    def figure(self, text: str, key: str, unit: str, like: float | None = None) -> Figure:
        """A formula in names as a figure: the row's own cell, or what is derived from several; as people say it.

        `like` is a number beside which it stands.
        """
        if text in self.rows:
            own = self.cells.of(self.rows[text], key)
            return replace(own, unit=unit, text=spoken(own.number, unit, like)) if own.is_number else own
        figures = [self.cells.of(self.rows[name], key) for name in parse(text).names if name in self.rows]
        number, where = self.number(text, key), ", ".join(figure.cell for figure in figures)
        why = next((figure.why for figure in figures if figure.why), "") if number is None else ""
        return Figure(number, unit, spoken(number, unit, like), where, why, is_derived=True)

    def headline(self, each: Headline, key: str) -> ExpectedNumber:
        """A headline in a scenario."""
        found = self.figure(each.name, key, each.unit)
        others = (self.figure(text, key, each.unit, found.number) for text in (each.low, each.high, each.bound))
        return ExpectedNumber(each.name, each.label, each.unit, found, *others)

    def near(self, scenario: Scenario) -> Nearest | None:
        """The published runs nearest to a scenario."""
        found = self.runs
        return found.nearest(lambda name: self.value(name, scenario.key), scenario.hardware) if found else None

    def is_ideal(self, key: str) -> bool:
        """Whether the scenario asks for its bounds."""
        return self.text("stack", key) == expected.IDEAL


def planned(cells: CellFigures) -> list[Planned]:
    """What each template of the workbook plans: those whose sheets have every row that the template leads with."""
    found = []
    for name, usual in expected.LEADS.items():
        key = usual.headlines[0].name
        for rows in cells.table_with(key):
            if lead := expected.lead(name, _known(cells, rows, key)):
                found.append(Planned(name, lead, rows, tuple(cells.meant(rows[key])), cells))
                break
    return found


def _known(cells: CellFigures, rows: Mapping[str, Quantity], key: str) -> set[str]:
    """The names of what a sheet may read; the parts of a time are those of its own sheet, which has the row `key`."""
    own = next(set(table) for table in cells.tables if key in table)
    others = {name for name in rows if not name.endswith(PART)}
    return own | others | {row.name for row in cells.plan.constants}


def numbers(plans: Sequence[Planned], scenario: Scenario) -> tuple[ExpectedNumber, ...]:
    """The headlines of a scenario, of all that it is meant for; of parts such as collectives where nothing else is."""
    meant = [plan for plan in plans if _is_meant(plan, scenario)]
    found = [plan for plan in meant if plan.is_whole] or meant
    return tuple(plan.headline(each, scenario.key) for plan in found for each in plan.lead.headlines)


def notes(plans: Sequence[Planned], scenario: Scenario) -> tuple[str, ...]:
    """What a reader must know of a scenario's numbers."""
    found: dict[str, None] = {}
    for plan in plans:
        if plan.is_whole and _is_meant(plan, scenario):
            stack, calibration = (plan.text(name, scenario.key) for name in ("stack", "calibration_id"))
            near = plan.near(scenario)
            found |= dict.fromkeys(expected.notes(stack, calibration, near.own if near else None))
    return tuple(found)


def _is_meant(plan: Planned, scenario: Scenario) -> bool:
    return any(each.key == scenario.key for _, each in plan.meant)


def tables(plans: Sequence[Planned]) -> tuple[FigureTable, ...]:
    """A table for each template: of each headline and scenario the expected number, its range, and the bound."""
    titles = (("expected", "Expected", "1"), ("range", OF_RUNS, "text"), ("bound", "Bound", "1"))
    texts = (("scenario", "Scenario"), ("quantity", "Quantity"))
    columns = (
        *(FigureColumn(name, label, "text") for name, label in texts),
        *(FigureColumn(name, label, unit) for name, label, unit in titles),
    )
    return tuple(
        FigureTable(columns, tuple(_rows(plan)), title=plan.template.capitalize()) for plan in plans if plan.meant
    )


def _rows(plan: Planned) -> Iterator[tuple[Figure, ...]]:
    """A row for each headline and scenario, so that scenarios stand below each other."""
    for each in plan.lead.headlines:
        for _, scenario in plan.meant:
            found = plan.headline(each, scenario.key)
            named = Figure(scenario.id, "text", scenario.name or scenario.id), Figure(each.label, "text", each.label)
            yield (*named, found.expected, found.range, found.bound)


def near_tables(plans: Sequence[Planned]) -> tuple[FigureTable, ...]:
    """For each template the published runs nearest to each scenario, with reported and expected numbers."""
    return tuple(table for plan in plans if plan.is_whole and (table := _near_table(plan)))


def _near_table(plan: Planned) -> FigureTable | None:
    rows: list[tuple[Figure, ...]] = []
    sizes: tuple[str, ...] = ()
    for _, scenario in plan.meant:
        if found := plan.near(scenario):
            sizes = found.sizes
            rows += [_near_row(scenario, run) for run in found.runs]
    if not rows:
        return None
    texts = [("scenario", "Scenario"), ("run", "Published run"), ("model", "Model"), ("hardware", "Chip")]
    columns = [FigureColumn(name, label, "text") for name, label in texts]
    columns += [FigureColumn(label.replace(" ", "_").replace("/", "_"), label.capitalize(), "1") for label in sizes]
    columns += [
        FigureColumn("what", "What", "text"), FigureColumn("reported", "Reported", "s"),
        FigureColumn("expected", "Expected", "s"), FigureColumn("error", "Off by", PERCENT),
    ]  # fmt: skip
    return FigureTable(tuple(columns), tuple(rows), title=plan.template.capitalize())


def _near_row(scenario: Scenario, near: NearRun) -> tuple[Figure, ...]:
    run = near.run
    where, error = f"{RUNS}: {run.id}", near.expected / run.measured - 1

    def text(words: str) -> Figure:
        return Figure(words, "text", words)

    def number(value: float, unit: str) -> Figure:
        words = shown(value, unit) if unit == "1" else spoken(value, unit, run.measured)
        return Figure(value, unit, words, where, is_derived=True)

    return (
        Figure(scenario.id, "text", scenario.name or scenario.id), text(run.id), text(near.model), text(run.hardware),
        *(number(size, "1") for size in near.sizes), text(near.what), number(run.measured, near.unit),
        number(near.expected, near.unit), Figure(error, PERCENT, f"{error:+.0%}", where, is_derived=True),
    )  # fmt: skip
