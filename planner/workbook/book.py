"""The bytes of a workbook from a plan: its sheets in order, with the cached value of every formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from openpyxl.workbook import Workbook

from planner.dates import made_now
from planner.workbook import (
    calculation,
    cell_styles,
    checks_sheet,
    comparison_writer,
    constraints_sheet,
    cover,
    dashboard,
    database_sheets,
    inputs_sheet,
    operations_sheet,
    remembering,
    roofline_sheet,
    saving,
    sensitivity_sheet,
    sweep_sheet,
)
from planner.workbook.build_plan import BuildPlan
from planner.workbook.calculation import Earlier
from planner.workbook.dashboard import Board
from planner.workbook.dashboard_charts import DashboardCharts
from planner.workbook.memory import Memory
from planner.workbook.operations_sheet import unused
from planner.workbook.page import Page
from planner.workbook.saving import Written
from planner.xlsx import chart_caches
from planner.xlsx.workbook_part import compute_on_load


def build(plan: BuildPlan) -> bytes:
    """The workbook of a plan as the bytes of an .xlsx, with a cached value in every formula cell.

    Two builds of the same plan with the same SOURCE_DATE_EPOCH are byte-identical. Raises UserError for templates and
    tables that don't fit together.
    """
    built = draft(plan)
    return finished(built.book, list(built.pages.values()), built.made)


@dataclass(frozen=True)
class Draft:
    """A workbook whose pages are laid out, without computed values: `pages` by kind, Cover first."""

    plan: BuildPlan
    book: Workbook
    pages: Mapping[str, Page]
    made: datetime
    memory: Memory

    def written(self) -> Written:
        """The package, with formulas without values."""
        return saving.write(self.book, list(self.pages.values()))


def draft(plan: BuildPlan) -> Draft:
    """The laid-out pages of a plan. Raises UserError as `build` does."""
    plan.check_values()
    book = cell_styles.new_book()
    made = made_now()
    tables = {table.kind: database_sheets.write(book, table) for table in plan.tables}
    typed = inputs_sheet.write(book, plan, {kind: database.ids for kind, database in tables.items()})
    earlier = Earlier(book, plan, typed, tables)
    for template in plan.templates:
        earlier.sheets[template.name] = calculation.write(earlier, template)
    binding = constraints_sheet.write(earlier)
    checking, master, failed = checks_sheet.write(earlier)
    board = dashboard.write(earlier, binding)
    cases = _case_pages(earlier, board)
    front_texts = board.finish(cases.charts, failed, cases.comparison.runs if cases.comparison else None)
    log = cover.write_log(book, made.date())
    pages = [
        board.page,
        typed.page,
        *(table.page for table in tables.values()),
        *(sheet.page for sheet in earlier.sheets.values()),
        *([binding.page] if binding else []),
        *cases.pages,
        checking,
        log,
    ]
    contents = {page.name: page.purpose for page in pages}
    front = cover.write_cover(
        book, cover.plan_front(plan, front_texts), made.date(), digests_of(plan), contents, master
    )
    book._sheets = [page.sheet for page in (front, *pages)]
    for page in pages:
        page.finish(master)
    front.finish(None)
    kinds = remembering.kinds_of(plan, [page.name for page in (front, *pages)])
    by_kind = {kinds[page.name]: page for page in (front, *pages)}
    memory = remembering.memory_of(plan, book, by_kind)
    remembering.write(front, memory)
    return Draft(plan, book, by_kind, made, memory)


@dataclass
class _Cases:
    """The sheets whose rows are cases, and what Dashboard draws of them."""

    pages: list[Page] = field(default_factory=list)
    charts: DashboardCharts = field(default_factory=DashboardCharts)
    comparison: comparison_writer.Comparison | None = None


def _case_pages(earlier: Earlier, board: Board) -> _Cases:
    """The sheets of a step's operations and roofline, of sweeps, what-ifs and the comparison."""
    cases, plan = _Cases(), earlier.plan
    board.choose(plan.layer_ops.phases if plan.layer_ops else ())
    if plan.layer_ops is not None:
        working = operations_sheet.write(earlier, plan.layer_ops, board.selectors)
        idle = unused(plan, plan.layer_ops)
        cases.charts.roofline = roofline_sheet.write(earlier, working, idle)
        cases.pages += [working.page, cases.charts.roofline.page]
    if plan.sweeps:
        cases.charts.sweeps = sweep_sheet.write(earlier, board.selectors["scenario"])
        cases.pages.append(cases.charts.sweeps.page)
    if plan.what_ifs:
        cases.pages.append(sensitivity_sheet.write(earlier, board.selectors["scenario"]))
    if plan.comparison:
        cases.comparison = comparison_writer.write(earlier, board.selectors.get("scenario", ""))
        cases.pages.append(cases.comparison.page)
    return cases


def digests_of(plan: BuildPlan) -> dict[str, str]:
    """The files from which a workbook is made, with their digests."""
    digests: dict[str, str] = {}
    for table in plan.tables:
        digests |= {**plan.also_made_from.get(table.kind, {}), **table.digests}
    digests |= plan.also_made_from.get("", {})
    working = plan.layer_ops.templates if plan.layer_ops else []
    for template in (*plan.templates, *working, *(case.template for case in plan.comparison)):
        digests |= {f"{name}.csv": digest for name, digest in template.digests.items()}
    return digests


def finished(book: Workbook, pages: Sequence[Page], made: datetime) -> bytes:
    """The bytes of an .xlsx with these written pages, with a cached value in every formula."""
    written = saving.write(book, pages)
    _compute(written)
    return written.package.to_bytes(stamp=made.timetuple()[:6])


def _compute(written: Written) -> None:
    """Put in the value of every formula; if one has none, the workbook asks to be computed when it is opened."""
    from planner.recalc.built_values import values_of

    found = values_of(written.package, written.grids)
    written.put_values(found.values)
    if found.doubts:
        compute_on_load(written.package)
    chart_caches.refresh(written.package)
