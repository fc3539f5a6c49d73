"""What goes over all scenarios of a sheet goes over the one that `planner scenario add` puts there too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from planner.book.workbook import Book
from planner.check import reference_rules
from planner.check.findings import Fault
from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.commands import command
from tests.workbooks import SheetsOf, edit, row_of, sheet_of, write_small, write_small_plan


@dataclass
class Added:
    """A workbook of four scenarios, wider than the charts of Dashboard, after a person's edits and after one more."""

    output: str
    before: openpyxl.Workbook
    after: SheetsOf

    def printed(self, sheet: str) -> tuple[str, str]:
        """The last column of a sheet's printed area, before and after."""
        first, last = (
            re.sub(r"[^A-Z]", "", book[sheet].print_area.rpartition(":")[2]) for book in (self.before, self.after)
        )
        return first, last


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Added:
    """One more scenario where a person has set areas, rules and views over those of before."""
    path = tmp_path_factory.mktemp("reach") / "plan.xlsx"
    write_small(path, ["llama3-8b", "gemma-7b"], ["tpu-v5e", "tpu-v5p"], ["inference"], n_chips=8)
    books: list[openpyxl.Workbook] = []

    def change(book: openpyxl.Workbook) -> None:
        work(book)
        books.append(book)

    edit(path, change)
    done = command("scenario", "add", path, "mine")
    return Added(done, *books, SheetsOf(path))


def work(book: openpyxl.Workbook) -> None:
    """Printed areas, rules over all scenarios and over one cell, and a sheet that reads them."""
    sheet = book["Inference"]
    sheet.print_area = "A1:I60"
    book["Inputs"].print_area = "A1:G60"
    for area in ("F20:I30", "G40"):
        sheet.conditional_formatting.add(area, CellIsRule(operator="lessThan", formula=["1"], font=Font(bold=True)))
    rule = DataValidation(type="decimal", operator="greaterThan", formula1="0")
    sheet.add_data_validation(rule)
    rule.add("F50:I50")
    row, mine = row_of(book, "Inference", "decode_step_time"), book.create_sheet("Mine")
    mine["A1"] = f"=MIN(Inference!F{row}:I{row})"
    book.defined_names["my_steps"] = DefinedName("my_steps", attr_text=f"Inference!$F${row}:$I${row}")
    mine["A2"] = f"=Inference!F{row}-Inference!G{row}"
    sheet[f"L{row}"], sheet[f"M{row}"] = f"=MAX(F{row}:I{row})", f"=L{row}/F{row}"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=6, max_col=9, min_row=row), from_rows=True)
    mine.add_chart(chart, "C3")


def test_printed_areas(added: Added) -> None:
    """One that held all scenarios holds the new one too; one that reaches further, or of some columns, stays."""
    assert [added.printed(sheet) for sheet in ("Dashboard", "Inference", "Inputs")] == [
        ("J", "J"), ("I", "J"), ("G", "G"),
    ]  # fmt: skip


def test_the_new_scenario_is_compared(added: Added) -> None:
    """Charts of Dashboard draw it beside the others, and Cover has its verdict in a row that was closed before."""
    for book, last in ((added.before, "I"), (added.after, "J")):
        names = [chart.series[0].cat for chart in book["Dashboard"]._charts if chart.series[0].cat]
        ranges = [(each.numRef or each.strRef).f.replace("'", "") for each in names]
        assert ranges.count(f"Dashboard!$F$5:${last}$5") == 3
    for book, is_closed in ((added.before, True), (added.after, False)):
        assert book["Cover"].row_dimensions[9].hidden == is_closed
    assert added.after["Cover"]["A4"].value == "Scenario"


def test_formats_and_validations_over_all_scenarios(added: Added) -> None:
    """A person's rule over all scenarios is for the new one too, one over a single cell stays with it."""
    sheet = added.after["Inference"]
    areas = {str(found.sqref) for found in sheet.conditional_formatting if found.rules[0].type == "cellIs"}
    assert areas >= {"F20:J30", "G40"}
    assert "F50:J50" in {str(found.sqref) for found in sheet.data_validations.dataValidation}


def test_what_leaves_the_new_one_out_is_named(added: Added) -> None:
    """A person's own formula, name and chart over the scenarios of before are as they were, and are said; no other."""
    lines = [line for line in added.output.splitlines() if "widen" in line]
    assert len(lines) == 4
    assert "Mine!A1 reads the scenarios of before" in lines[0]
    row = row_of(added.after, "Inference", "decode_step_time")
    assert f"Inference!L{row} reads the scenarios of before" in lines[1]
    assert "the name my_steps stands for the scenarios of before" in lines[2]
    assert "a chart draws" in lines[3]
    assert added.after["Mine"]["A1"].value == added.before["Mine"]["A1"].value


def test_charts_draw_a_scenario_that_was_moved_in_front(tmp_path: Path) -> None:
    """A program leads their ranges along with the scenarios behind it: `check` has a note of the one that they leave
    out, and `update` lets them draw it. A chart that alone begins later is as a person made it.
    """
    path = tmp_path / "plan.xlsx"
    databases = write_small_plan(path, ["llama3-8b", "gemma-7b"], ["tpu-v5e"], ["inference"], n_chips=8).databases
    package = Package.read(path)
    board = re.compile(rb"('Dashboard'!\$)F(\$\d+:\$G\$)")
    drawn = {part: xml for part, xml in package.parts.items() if b"chart" in part.encode() and board.search(xml)}
    assert len(drawn) > 1
    parts = list(drawn)
    for part in parts[:1]:
        package.replace(part, board.sub(rb"\1G\2", drawn[part]))
    assert told(package) == []
    for part in parts[1:]:
        package.replace(part, board.sub(rb"\1G\2", drawn[part]))
    package.write(path)
    said = " ".join(command("check", path).split())
    assert "charts of all scenarios leave out llama3_8b_on_tpu_v5e" in said
    assert len(told(package)) == 1
    update_file(path, databases=databases)
    assert not any(re.search(rb"Dashboard'?!\$G\$\d+:\$G", Package.read(path).parts[part]) for part in drawn)
    assert told(Package.read(path)) == []


def told(package: Package) -> list[Fault]:
    """What the rule of `check` on charts of all scenarios finds; all rules together take ten times as long."""
    return list(reference_rules.charts(Book(package)))


@pytest.mark.slow
@pytest.mark.usefixtures("short_data", "few_cases")
def test_an_update_has_nothing_to_do_after_one_more(tmp_path: Path) -> None:
    """Charts of four scenarios have room for eight, as Cover has rows, and an update leaves both; for nine it makes
    both larger, which the command says.
    """
    path = tmp_path / "plan.xlsx"
    command(
        "build", "llama3-8b", "-H", "tpu-v5e", "tpu-v5p", "tpu-v6e", "h100-sxm", "--template", "inference", "-o", path
    )
    for number in range(5, 9):
        assert "planner update" not in command("scenario", "add", path, f"number {number}")
        assert number in (6, 7) or not update_file(path)[0].is_needed
    assert "Cover has no row left for its verdict: planner update gives it more" in command("scenario", "add", path)
    high = chart_rows(path)
    assert update_file(path)[0].is_needed
    assert chart_rows(path) > high
    assert not update_file(path)[0].is_needed


def chart_rows(path: Path) -> int:
    """The rows from the title of the charts of all scenarios to the next title."""
    sheet = sheet_of(path, "Dashboard")
    titles = [cell.row for (cell,) in sheet.iter_rows(max_col=1) if cell.value]
    first = next(row for row in titles if sheet.cell(row, 1).value == "The scenarios beside each other")
    return min(row for row in titles if row > first) - first
