"""What a report says of an edited workbook, held against the workbook's own cells as another program computed them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from planner.book.plan import Plan
from planner.errors import UserError
from planner.report.documents import escaped
from planner.report.exports import as_json
from planner.report.report_data import report_data
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import CellError, Value
from tests.commands import command
from tests.edits.catalogue import Expected
from tests.reports import agrees

ValueOf = Callable[[str, str], Value]
"""A cell's value as LibreOffice computed it: by sheet and address."""

SAME = 1e-11  # LibreOffice saves 15 digits, and rounds powers its own way
FAILED, REST = "failed check", "What fits, what it costs"


def report_is_right(path: Path, plan: Plan, expected: Expected, value_of: ValueOf) -> None:
    """Every number is its cell's, what fails is named and stands first, what was typed over a formula is listed.

    A workbook that an edit has broken may be refused instead, in one line.
    """
    try:
        data = json.loads(as_json(report_data(path)))
    except UserError as error:
        if expected.compares or len(str(error).splitlines()) > 1:
            raise
        return
    wrong = [said for figure in figures(data) if (said := fault(figure, value_of))]
    assert wrong == []
    failing = {str(entry.spot) for row in plan.checks for entry in row.cells.values()
               if value_of(entry.spot.sheet, entry.spot.ref) == 0}  # fmt: skip
    assert {check["cell"] for check in data["failed"]} == failing
    assert sum(scenario["failed"] for scenario in data["scenarios"]) == len(failing)
    if expected.compares:
        over = {cell for cell in expected.overrides if not cell.startswith("Inputs!")}
        assert {typed["cell"] for typed in data["typed"]} == over
        assert expected.notes <= {cell for cell, _ in data["notes"]}


def page_is_right(path: Path, folder: Path) -> None:
    """The Markdown shows each headline as its cell has it, and what fails before all else."""
    data = json.loads(as_json(report_data(path)))
    page = folder / "report.md"
    command("report", path, "--force", "-o", page)
    text = page.read_text(encoding="utf-8")
    for section in data["headlines"]:
        for line in section["lines"]:
            for figure in line["figures"]:
                assert escaped(figure["text"]) in text or figure["text"] in text, figure
    if data["failed"]:
        assert text.index(FAILED) < text.index(REST)
        for check in data["failed"]:
            assert escaped(check["label"]) in text
    else:
        assert FAILED not in text[: text.index(REST)]


def figures(data: Any) -> Iterator[dict[str, Any]]:
    """Every figure of a report that is one cell's."""
    if isinstance(data, dict):
        if data.keys() >= {"value", "unit", "text", "cell"}:
            if "!" in data["cell"] and ":" not in data["cell"] and not data.get("derived"):
                yield data
            return
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from figures(item)


def fault(figure: dict[str, Any], value_of: ValueOf) -> str:
    """What is wrong with a figure; blank where it is its cell's value to the digits shown."""
    sheet, _, ref = figure["cell"].rpartition("!")
    coordinates(ref)
    value, shown, cell = figure["value"], figure["text"], value_of(sheet, ref)
    said = f"{figure['cell']}: the report has {value!r} as {shown!r}, the cell {cell!r}"
    if isinstance(value, (int, float)) and isinstance(cell, (int, float)):
        is_same = math.isclose(value, cell, rel_tol=SAME) and agrees(shown.replace("\N{NO-BREAK SPACE}", " "), cell)
        return "" if is_same else said
    if value is None:
        return "" if cell in (None, "") or isinstance(cell, CellError) else said
    return "" if value == cell else said
