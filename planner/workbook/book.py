"""A plan becomes a workbook: the sheets in their order, then the cached value of every formula."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from datetime import UTC, datetime

from openpyxl.workbook import Workbook

from planner import __version__
from planner.opc import Package
from planner.workbook import calculation, checks, cover, dashboard, databases, inputs, layout, styles
from planner.workbook.layout import cell
from planner.workbook.page import Page
from planner.workbook.plan import Plan


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
    ranges = {kind: database.ids for kind, database in tables.items()}
    typed = inputs.write(book, plan, ranges)
    sheets = [calculation.write(book, plan, template, typed, tables) for template in plan.templates]
    checking, master, failed = checks.write(book, plan, sheets)
    board = dashboard.write(book, plan, sheets, failed)
    log = cover.write_log(book, made.date())
    order = ["Dashboard", "Inputs", "Models", "Hardware", "Dtypes", *(sheet.page.name for sheet in sheets), "Checks", "Log"]
    digests = _digests(plan)
    front = cover.write_cover(book, plan, made.date(), digests, order, master)
    book._sheets = [book[name] for name in ("Cover", *order)]
    first = cell(layout.FIRST_SCENARIO, layout.HARDWARE_ROW + 1)
    for page in (typed.page, checking, board, *(sheet.page for sheet in sheets)):
        page.finish(freeze=first, titles=f"{layout.HEADER_ROW}:{layout.HARDWARE_ROW}", master=master)
    for database in tables.values():
        database.page.finish(freeze="B6", titles="5:5", master=master)
    front.finish(freeze="A4", titles="1:2", master=None)
    log.finish(freeze="A6", titles="5:5", master=master)
    return _finished(book, made)


def _digests(plan: Plan) -> dict[str, str]:
    digests = {table.path.name: table.digest for table in (plan.models, plan.hardware, plan.dtypes)}
    for template in plan.templates:
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
    recalculate(package)
    return package.to_bytes(stamp=made.timetuple()[:6])
