"""A plan becomes a workbook: the sheets in their order, then the cached value of every formula."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from openpyxl.workbook import Workbook

from planner import __version__
from planner.workbook import (
    calculation,
    checks,
    comparison,
    cover,
    dashboard,
    databases,
    inputs,
    layout,
    operations,
    roofline,
    styles,
)
from planner.workbook.calculation import Calculation
from planner.workbook.cells import Databases
from planner.workbook.inputs import Inputs
from planner.workbook.layout import cell
from planner.workbook.page import Page
from planner.workbook.plan import Plan
from planner.xlsx.opc import Package


def build(plan: Plan) -> bytes:
    """The workbook of a plan as the bytes of an .xlsx, with a cached value in every formula cell.

    Two builds of the same plan under the same SOURCE_DATE_EPOCH are byte-identical.
    Raises UserError for what the plan's templates and tables can't be joined to.
    """
    plan.check_values()
    book = Workbook()
    book.remove(book.active)
    styles.install(book)
    made = _now()
    tables = {table.kind: databases.write(book, table) for table in (plan.models, plan.hardware, plan.dtypes)}
    typed = inputs.write(book, plan, {kind: database.ids for kind, database in tables.items()})
    sheets = [calculation.write(book, plan, template, typed, tables) for template in plan.templates]
    cases = _case_pages(book, plan, sheets, typed, tables)
    checking, master, failed = checks.write(book, plan, sheets)
    board = dashboard.write(book, plan, sheets, failed)
    log = cover.write_log(book, made.date())
    by_scenario = [board, typed.page, *(sheet.page for sheet in sheets), checking]
    pages = [
        board,
        typed.page,
        *(table.page for table in tables.values()),
        *by_scenario[2:-1],
        *cases,
        checking,
        log,
    ]
    front = cover.write_cover(book, plan, made.date(), _digests(plan), [page.name for page in pages], master)
    book._sheets = [page.sheet for page in (front, *pages)]
    first = cell(layout.FIRST_SCENARIO, layout.HARDWARE_ROW + 1)
    for page in by_scenario:
        page.finish(freeze=first, titles=f"{layout.HEADER_ROW}:{layout.HARDWARE_ROW}", master=master)
    for page in (*(table.page for table in tables.values()), *cases, log):
        page.finish(freeze=page.corner, titles=page.titles, master=master)
    front.finish(freeze="A4", titles="1:2", master=None)
    return _finished(book, made)


def _case_pages(
    book: Workbook, plan: Plan, sheets: Sequence[Calculation], typed: Inputs, tables: Databases
) -> list[Page]:
    """The sheets whose rows are cases: the operations of a step with their roofline, and the comparison."""
    pages: list[Page] = []
    step = next((sheet for sheet in sheets if plan.layer_ops and sheet.template.name == plan.layer_ops.step), None)
    if step is not None and plan.layer_ops is not None:
        working = operations.write(book, plan, plan.layer_ops, step, typed, tables, dashboard.SELECTORS)
        pages += [working.page, roofline.write(book, working)]
    if plan.comparison:
        pages.append(comparison.write(book, plan, plan.comparison, typed, tables).page)
    return pages


def _digests(plan: Plan) -> dict[str, str]:
    digests = {table.path.name: table.digest for table in (plan.models, plan.hardware, plan.dtypes)}
    working = plan.layer_ops.templates if plan.layer_ops else []
    for template in (*plan.templates, *working, *(case.template for case in plan.comparison)):
        digests |= {f"{name}.csv": digest for name, digest in template.digests.items()}
    return digests


def _now() -> datetime:
    """The build's date: SOURCE_DATE_EPOCH where set, so that a build can be repeated to the byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)


def _finished(book: Workbook, made: datetime) -> bytes:
    from planner.recalc import recalculate

    book.properties.creator = f"planner {__version__}"
    book.properties.created = book.properties.modified = made.replace(tzinfo=None)
    stream = io.BytesIO()
    book.save(stream)
    package = Package.from_bytes(stream.getvalue(), "plan.xlsx")
    _date(package, made)
    recalculate(package)
    return package.to_bytes(stamp=made.timetuple()[:6])


def _date(package: Package, made: datetime) -> None:
    """openpyxl writes the time of saving as that of modification; a build is dated once."""
    part = "docProps/core.xml"
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}".encode()
    package.replace(part, re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + stamp, package.parts[part]))
