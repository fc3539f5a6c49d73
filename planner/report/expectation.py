"""The expected numbers of each scenario with range and bound, what the ranges are based on, and similar runs.

Everything is read from the calculation sheets by row name, wherever the Dashboard shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from planner.book.plan import Quantity, Scenario
from planner.catalog import Value, calibrations
from planner.formulas import expected, library
from planner.formulas.headlines import OF_ANY_RUNS, OF_RUNS, Headline, leaders, leading, memory_check
from planner.formulas.reached import node, reached
from planner.report.assumptions import described
from planner.report.contents import ExpectedNumber, Figure, FigureColumn, FigureTable
from planner.report.figures import CellFigures, as_said
from planner.report.replay import Replay, replayed
from planner.validation.nearest import Nearest, NearRun, PublishedRuns, published_runs

RUNS = "published_runs.csv"
PART = "_part_time"


@dataclass(frozen=True)
class Planned:
    """A template's plan of the scenarios that are meant for it: its headlines, and its rows by name."""

    template: str
    headlines: Sequence[Headline[Quantity]]
    rows: Mapping[str, Quantity]
    meant: tuple[tuple[int, Scenario], ...]
    cells: CellFigures
    _nearest: dict[str, Nearest | None] = field(default_factory=dict, repr=False)  # cache of `near`
    _replayed: dict[str, Replay | None] = field(default_factory=dict, repr=False)

    @property
    def sheet(self) -> str:
        """The name of its calculation sheet."""
        return self.headlines[0].row.sheet

    def means(self, key: str) -> bool:
        """Whether a scenario is meant for this template."""
        return any(each.key == key for _, each in self.meant)

    def expected(self) -> tuple[tuple[ExpectedNumber, ...], ...]:
        """Each headline's number in each scenario that is meant for it."""
        return tuple(tuple(self.headline(each, scenario.key) for _, scenario in self.meant) for each in self.headlines)

    @property
    def is_whole(self) -> bool:
        """Whether it plans a whole workload including memory, not just a part such as a collective."""
        return bool(memory_check(self.template))

    def replay(self, key: str) -> Replay | None:
        """The template at a scenario's inputs. None if it doesn't reproduce the workbook's headlines."""
        if key not in self._replayed:
            proof = [each.row.name for each in self.headlines]
            self._replayed[key] = replayed(self.template, self.rows, key, proof)
        return self._replayed[key]

    def value(self, name: str, key: str) -> Value:
        """A row's number or text in a scenario; None for N/A."""
        row = self.rows.get(name) or self.cells.row(name)
        value = row.value(key if key in row.cells else "") if row else None
        return float(value) if isinstance(value, int) else value if isinstance(value, (float, str)) else None

    def number(self, name: str, key: str) -> float | None:
        """A row's number in a scenario; None for N/A."""
        value = self.value(name, key)
        return value if isinstance(value, float) else None

    def figure(self, row: Quantity, key: str, unit: str, like: float | None = None) -> Figure:
        """A row's cell converted to a unit; `like` is a number whose scale it shares."""
        return as_said(replace(self.cells.of(row, key), unit=unit), like)

    def headline(self, each: Headline[Quantity], key: str) -> ExpectedNumber:
        """A headline's expected number in a scenario."""
        row, *others = each.rows
        found = self.figure(row, key, each.unit)
        low, high, bound = (self.figure(other, key, each.unit, found.number) for other in others)
        return ExpectedNumber(row.name, each.label, each.unit, found, low, high, bound, row.source)

    def near(self, scenario: Scenario) -> Nearest | None:
        """The published runs nearest to a scenario."""
        if scenario.key not in self._nearest:
            own, runs = partial(self.value, key=scenario.key), _published(self.template)
            self._nearest[scenario.key] = runs.nearest(own, scenario.hardware) if runs else None
        return self._nearest[scenario.key]

    def replaced(self, key: str) -> str:
        """Which numbers of the scenario's calibration, a shipped one, are the user's: `mine.csv: hbm_efficiency`."""
        said = described(self.cells.plan, "calibration", [str(self.value("calibration_id", key))])
        return next(filter(None, (calibrations.replaced(source.detail) for source in said)), "")

    def is_ideal(self, key: str) -> bool:
        """Whether the scenario asks for its bounds (stack ideal)."""
        return self.value("stack", key) == expected.IDEAL


@cache
def _published(template: str) -> PublishedRuns | None:
    """The published runs of a template. None if there are none."""
    return published_runs(library.load(template))


def planned(cells: CellFigures) -> list[Planned]:
    """The plan of each template whose sheet has all of the template's headline rows."""
    found = []
    for name, key in leaders().items():
        for rows in cells.table_with(key):
            known = {row.name: row for row in rows.values() if _is_known(row, rows[key])}
            if headlines := leading(name, known):
                found.append(Planned(name, headlines, rows, tuple(cells.meant(rows[key])), cells))
                break
    return [plan for plan in found if not any(_includes(other, plan) for other in found if other is not plan)]


def _includes(outer: Planned, inner: Planned) -> bool:
    """Whether a sheet's template includes another one with headlines, as a fleet includes a single server's."""
    return outer.sheet == inner.sheet and inner.template in library.load(outer.template).digests


def _is_known(row: Quantity, whole: Quantity) -> bool:
    """Whether a sheet may read a row: a part of a time only if it is its own, since other sheets have such rows too."""
    return row.sheet == whole.sheet or not row.name.endswith(PART)


def unread(plans: Sequence[Planned]) -> set[tuple[str, str]]:
    """The calibrated numbers, by sheet and name, on which no result of a sheet depends in any scenario.

    Those of experts in a dense plan, for example. None of a sheet whose rows differ from its template's.
    """
    found = set[tuple[str, str]]()
    for plan in plans:
        template = library.load(plan.template)
        calibrated = {row.name for row in template.of_kind("calibration")}
        for _, scenario in plan.meant:
            replay = plan.replay(scenario.key)
            calibrated -= _depended_on(replay) if replay else calibrated
        found |= {(plan.rows[name].sheet, name) for name in calibrated if name in plan.rows}
    return found


def _depended_on(replay: Replay) -> set[str]:
    """The rows on which a scenario's results depend, with all but the calibrated numbers as they are."""
    rows = replay.template.by_name
    known = {
        name: node(value)
        for name, value in replay.given.items()
        if isinstance(value, (str, float)) and rows[name].kind != "calibration"
    }
    return reached(replay.template, known)


def numbers(plans: Sequence[Planned], scenario: Scenario) -> tuple[ExpectedNumber, ...]:
    """A scenario's headlines of its templates; those of parts, such as collectives, only if there are no others."""
    meant = [plan for plan in plans if plan.means(scenario.key)]
    found = [plan for plan in meant if plan.is_whole] or meant
    return tuple(plan.headline(each, scenario.key) for plan in found for each in plan.headlines)


def notes(plans: Sequence[Planned], scenario: Scenario) -> tuple[str, ...]:
    """Remarks on a scenario's numbers for the reader."""
    found: dict[str, None] = {}
    for plan in plans:
        if plan.is_whole and plan.means(scenario.key):
            near = plan.near(scenario)
            if replaced := plan.replaced(scenario.key):
                calibration = plan.value("calibration_id", scenario.key)
                found[f"The calibration {calibration} has numbers of yours, from {replaced}."] = None
            own = partial(_own, plan, scenario.key)
            found |= dict.fromkeys(expected.notes(own, near.own if near else None, _kind(plan, scenario)))
    return tuple(found)


def _kind(plan: Planned, scenario: Scenario) -> str:
    """The kind of a scenario's chip, as the workbook's Hardware has it; blank if it has none."""
    table = plan.cells.plan.book.databases.get("hardware")
    if table is None or "kind" not in table.columns:
        return ""
    rows = (row for row in table.rows if table.sheet.text(row, table.id_column) == scenario.hardware)
    return next((table.sheet.text(row, table.columns["kind"]).lower() for row in rows), "")


def _own(plan: Planned, key: str, name: str) -> Value:
    """The value of a row of the plan's own template. None if only another template has it."""
    return plan.value(name, key=key) if name in library.load(plan.template).by_name else None


def of_runs(plans: Sequence[Planned], scenarios: Sequence[Scenario]) -> str:
    """What the ranges of a report hold: published runs, or just runs if a scenario has a calibration of its own."""
    said = {
        expected.of_runs(partial(_own, plan, each.key), is_own=bool(plan.replaced(each.key)))
        for plan in plans
        for each in scenarios
    }
    return OF_ANY_RUNS if OF_ANY_RUNS in said else OF_RUNS


def sure(plans: Sequence[Planned], scenario: Scenario) -> str:
    """What a scenario's ranges are based on; blank without similar published runs."""
    near = [found for plan in plans if plan.is_whole and plan.means(scenario.key) and (found := plan.near(scenario))]
    runs = sum(found.own for found in near)
    return f"The range holds {of_runs(plans, [scenario])}; {runs:,} runs are of such chips." if runs else ""


def near_tables(plans: Sequence[Planned]) -> tuple[FigureTable, ...]:
    """For each template, the published runs nearest to each scenario, with reported and expected numbers."""
    return tuple(table for plan in plans if plan.is_whole and (table := _near_table(plan)))


def _near_table(plan: Planned) -> FigureTable | None:
    near = [(scenario, found) for _, scenario in plan.meant if (found := plan.near(scenario)) and found.runs]
    if not near:
        return None
    columns = [FigureColumn("scenario", "Scenario", "text")]
    for each in near[0][1].columns:
        label = "Published run" if each.name == "run" else each.label.capitalize()
        columns.append(FigureColumn(each.name, label, each.unit))
    rows = tuple(_near_row(scenario, run) for scenario, found in near for run in found.runs)
    return FigureTable(tuple(columns), rows, title=plan.template.capitalize())


def _near_row(scenario: Scenario, near: NearRun) -> tuple[Figure, ...]:
    where = f"{RUNS}: {near.run.id}"
    figures = [
        Figure(value, unit, text) if unit == "text" else Figure(value, unit, text, where, is_derived=True)
        for value, unit, text in near.cells
    ]
    return Figure(scenario.id, "text", scenario.title), *figures
