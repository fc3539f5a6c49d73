"""Gathers the data of a report from a workbook, whose formulas are recalculated in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner import __version__, garbage_collection
from planner.book.plan import DashboardHeadline, Plan
from planner.book.read_plan import read_plan
from planner.dates import made_now
from planner.errors import Place, UserError
from planner.report import assumptions, changes, expectation, runs_of_workbook, search_tables, sweep_tables
from planner.report.bar_pictures import CAPACITY, KEPT_FREE, MEMORIES, memory_pictures, memory_room, time_pictures
from planner.report.contents import (
    Figure,
    FigureRow,
    FigureTable,
    MemoryUse,
    Picture,
    ReportData,
    ScenarioSummary,
    Section,
    cleaned,
)
from planner.report.expectation import Planned, unread
from planner.report.failed_checks import check_results, is_counted, is_untold
from planner.report.figures import CellFigures, as_said
from planner.report.latency_picture import latency_pictures
from planner.report.measured_times import compared, measured_pictures
from planner.report.roofline_picture import roofline_pictures
from planner.report.search_tables import search_pictures
from planner.report.sensitivities import sensitivity_pictures
from planner.terminal_table import counted
from planner.xlsx.address import Spot
from planner.xlsx.opc import Package

FITS, EXPECTED = "fits_memory", "_expected"
UNTITLED, MOST_NAMED = "Plan", 4


@garbage_collection.paused()
def report_data(path: Path) -> ReportData:
    """The content of the workbook at `path`, with its formulas recalculated in memory.

    Raises UserError for a file that isn't a planner workbook, or if its saved values are out of date and its formulas
    can't be computed here.
    """
    package = Package.read(path)
    plan = read_plan(package)
    warnings = _freshness(plan)
    if not plan.scenarios:
        raise UserError("the workbook has no scenario", place=Place(path), remedy="fill a column of its Inputs sheet")
    cells = CellFigures(plan)
    cases, searches = compared(cells), search_tables.searches(cells)
    plans = expectation.planned(cells)
    failed, untold = check_results(cells)
    own = runs_of_workbook.tables(cells)
    cover = assumptions.cover(plan)
    report: ReportData = cleaned(
        ReportData(
            title=_title(plan, cover.title),
            file=path.name,
            file_digest=hashlib.sha256(path.read_bytes()).hexdigest(),
            date=made_now().date().isoformat(),
            planner=__version__,
            workbook=cover.facts,
            scenarios=tuple(_scenario(cells, plans, index) for index in range(len(plan.scenarios))),
            n_checks=sum(is_counted(row, each.key) for row in plan.checks for each in plan.scenarios),
            failed=failed,
            untold=untold,
            headlines=tuple(_headlines(cells, plans)),
            pictures=(*_pictures(cells, plans, own), *measured_pictures(cases), *search_pictures(searches)),
            searches=search_tables.found_plans(cells, searches),
            sweeps=tuple(sweep_tables.sweep_tables(cells)),
            what_ifs=tuple(sweep_tables.what_if_tables(cells)),
            swept=sweep_tables.chosen(cells)[1],
            comparison=cases.table() if cases and cases.measured else None,
            accuracy=cases.accuracy if cases else "",
            assumptions=assumptions.sections(cells, unread(plans)),
            typed=assumptions.typed_over(plan),
            notes=tuple((f"{note.sheet}!{note.ref}", note.text) for note in plan.notes),
            sources=assumptions.sources(plan, cover),
            warnings=warnings,
            near=expectation.near_tables(plans),
            own=own,
            of_runs=expectation.of_runs(plans, plan.scenarios),
        )
    )
    return report


def _pictures(cells: CellFigures, plans: Sequence[Planned], own: Sequence[FigureTable]) -> Iterator[Picture]:
    """The pictures of the plan, and of the workbook's own runs."""
    yield from time_pictures(plans)
    yield from memory_pictures(cells)
    yield from latency_pictures(cells)
    yield from roofline_pictures(cells)
    yield from sensitivity_pictures(plans)
    yield from runs_of_workbook.pictures(cells, own)


def _freshness(plan: Plan) -> tuple[str, ...]:
    """Remarks on how current the numbers are. Raises UserError for stale numbers that can't be computed here."""
    ours = {sheet.name for sheet in plan.book.our_sheets}
    stale = [spot for spot in plan.stale if spot.sheet in ours]
    unknown = {spot: why for spot, why in plan.unknown.items() if spot.sheet in ours}
    if plan.not_computed or unknown:
        why = plan.not_computed or next(iter(unknown.values()))
        lacking = [*(spot for spot in unknown if plan.at(*spot) is None), *_never_saved(plan)]
        if stale or lacking:
            what = f"its saved values are out of date and not all can be computed here ({why})"
            place = Place(plan.file, cell=str(lacking[0] if lacking else stale[0]))
            raise UserError(what, place=place, remedy="open and save it in a spreadsheet program, then report again")
        count = f"{len(unknown):,} formulas" if unknown else "The formulas"
        return (f"{count} can't be computed here ({why}): their values are those that the file was saved with.",)
    if stale:
        return (
            f"The file's saved values were out of date in {len(stale):,} cells, such as {stale[0]}: this report "
            "has what the formulas give now.",
        )
    return ()


def _never_saved(plan: Plan) -> list[Spot]:
    """The formulas without a saved value, in a workbook that couldn't be computed."""
    if not plan.not_computed:
        return []
    return [
        Spot(sheet.name, *at) for sheet in plan.book.our_sheets for at in sheet.patterns if sheet.value(*at) is None
    ]


def _title(plan: Plan, said: str) -> str:
    """The Cover's title if an analyst changed it, else a title made of the workloads and chips."""
    if said not in ("", UNTITLED):
        return said
    models = list(dict.fromkeys(scenario.model for scenario in plan.scenarios if scenario.model))
    chips = list(dict.fromkeys(scenario.hardware for scenario in plan.scenarios if scenario.hardware))
    if 0 < len(models) <= MOST_NAMED and 0 < len(chips) <= MOST_NAMED:
        return f"{_and(models)} on {_and(chips)}"
    return f"A plan of {counted(len(plan.scenarios), 'scenario')}"


def _and(names: list[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _scenario(cells: CellFigures, plans: Sequence[Planned], index: int) -> ScenarioSummary:
    plan = cells.plan
    scenario = plan.scenarios[index]
    key = scenario.key
    chips = cells.row("n_chips")
    meant = [row for row in plan.headlines if cells.counts(row.origin, key)]
    numbers = expectation.numbers(plans, scenario)
    suggested = [change for each in plans if each.is_whole and each.means(key) for change in changes.changes(each, key)]
    return ScenarioSummary(
        id=scenario.id,
        name=scenario.name or scenario.id or key,
        model=scenario.model,
        chip=scenario.hardware,
        chips=cells.of(chips, key) if chips else Figure(None, "chip", ""),
        fits=_fits(plan, key),
        memory=tuple(_memory(cells, key)),
        binds=tuple(_binds(meant, key)),
        failed=sum(check.failed(key) for check in plan.checks),
        untold=sum(is_untold(cells, row, key) for row in plan.checks),
        expected=numbers,
        sure=expectation.sure(plans, scenario),
        notes=expectation.notes(plans, scenario),
        changes=tuple(suggested),
    )


def _binds(meant: Sequence[DashboardHeadline], key: str) -> Iterator[tuple[str, str]]:
    """What binds the first quantity of each sheet in a scenario."""
    of: dict[str, tuple[str, str]] = {}
    for row in meant:
        if EXPECTED not in row.name and isinstance(words := row.binds(key), str) and words:
            of.setdefault(row.origin, (row.title, words))
    yield from of.values()


def _memory(cells: CellFigures, key: str) -> Iterator[MemoryUse]:
    """Memory used and available for each kind of plan in the workbook."""
    for memory in MEMORIES:
        table = next(cells.table_with(memory.key, memory.total, CAPACITY, KEPT_FREE), None)
        if table is not None and cells.counts(memory.template, key):
            needed, room = map(as_said, (cells.of(table[memory.total], key), memory_room(cells, table, key)))
            yield MemoryUse(
                memory.use, _fits(cells.plan, key, cells.template_of(table[memory.total].sheet)), needed, room
            )


def _fits(plan: Plan, key: str, of: str = "") -> bool | None:
    """Whether the memory checks hold, of all templates or of one. None if unknown."""
    found = [
        check for check in plan.checks if FITS in check.name and check.name.startswith(of) and is_counted(check, key)
    ]
    if any(check.failed(key) for check in found):
        return False
    return True if found and all(check.holds(key) for check in found) else None


def _headlines(cells: CellFigures, plans: Sequence[Planned]) -> Iterator[Section]:
    """A section per sheet for the scenarios meant for it: expected numbers, then the Dashboard's rows."""
    expected = {plan.sheet: plan for plan in plans}
    for sheet in dict.fromkeys([*(row.origin for row in cells.plan.headlines), *expected]):
        own = [row for row in cells.plan.headlines if row.origin == sheet]
        places = tuple(at for at, key in enumerate(cells.keys) if cells.counts(sheet, key))
        plan = expected.get(sheet)
        found = tuple(_lines(cells, own, plan, [cells.keys[at] for at in places]))
        leading = plan.expected() if plan else ()
        if places and (found or leading):
            title = own[0].section if own else sheet
            yield Section(title, found, places, is_detail=plan is not None and not plan.is_whole, expected=leading)


def _lines(
    cells: CellFigures, rows: Sequence[DashboardHeadline], plan: Planned | None, keys: Sequence[str]
) -> Iterator[FigureRow]:
    """The Dashboard's rows that aren't among the expected numbers, and what binds each quantity."""
    expected_rows = {row.name for each in plan.headlines for row in each.rows} if plan else set()
    for row in rows:
        if row.name not in expected_rows:
            yield cells.line(row, keys)
        if row.bound_by:
            spots = (row.bound_by[key].spot for key in keys if key in row.bound_by)
            figures = tuple(cells.at(*spot, "text") for spot in spots)
            yield FigureRow("", f"{row.title}: bound by", "text", figures)
