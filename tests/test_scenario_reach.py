"""What goes over all scenarios of a sheet goes over the one that `planner scenario add` puts there too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner, Result
from openpyxl.chart import BarChart, Reference
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from planner.cli import group
from tests.test_scenario_add import edit, row_of
from tests.workbooks import write_plan


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook of four scenarios: wider than the charts of Dashboard."""
    path = tmp_path_factory.mktemp("built") / "plan.xlsx"
    write_plan(path, ["llama3-8b", "gemma-7b"], ["tpu-v5e", "tpu-v5p"], ["inference"], n_chips=8)
    return path.read_bytes()


@pytest.fixture
def plan(built: bytes, tmp_path: Path) -> Path:
    """The same in a folder of its own."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(built)
    return path


def add(path: Path) -> Result:
    """Run the command."""
    done = CliRunner().invoke(group, ["scenario", "add", str(path), "mine"])
    assert done.exit_code == 0, done.output
    return done


def printed(path: Path, sheet: str) -> str:
    """The last column of a sheet's printed area."""
    area = openpyxl.load_workbook(path)[sheet].print_area
    return re.sub(r"[^A-Z]", "", area.rpartition(":")[2])


def test_the_printed_dashboard_has_the_new_column(plan: Path) -> None:
    """The area that ended at the last scenario ends at the new one."""
    assert printed(plan, "Dashboard") == "I"
    add(plan)
    assert printed(plan, "Dashboard") == "J"


def test_a_person_s_printed_areas(plan: Path) -> None:
    """One that held all scenarios holds the new one too; one of some columns stays as it was chosen."""

    def change(book: openpyxl.Workbook) -> None:
        book["Inference"].print_area = "A1:I60"
        book["Inputs"].print_area = "A1:G60"

    edit(plan, change)
    add(plan)
    assert (printed(plan, "Inference"), printed(plan, "Inputs")) == ("J", "G")


def test_formats_and_validations_over_all_scenarios(plan: Path) -> None:
    """A person's rule over all scenarios is for the new one too, one over a single cell stays with it."""

    def change(book: openpyxl.Workbook) -> None:
        sheet = book["Inference"]
        for area in ("F20:I30", "G40"):
            sheet.conditional_formatting.add(area, CellIsRule(operator="lessThan", formula=["1"], font=Font(bold=True)))
        rule = DataValidation(type="decimal", operator="greaterThan", formula1="0")
        sheet.add_data_validation(rule)
        rule.add("F50:I50")

    edit(plan, change)
    add(plan)
    sheet = openpyxl.load_workbook(plan)["Inference"]
    areas = {str(found.sqref) for found in sheet.conditional_formatting if found.rules[0].type == "cellIs"}
    assert areas >= {"F20:J30", "G40"}
    assert "F50:J50" in {str(found.sqref) for found in sheet.data_validations.dataValidation}


def own_view(step: Callable[[openpyxl.Workbook], int]) -> Callable[[openpyxl.Workbook], None]:
    """A sheet with a formula and a chart over all scenarios, and a formula over two of them."""

    def change(book: openpyxl.Workbook) -> None:
        row, sheet = step(book), book.create_sheet("Mine")
        sheet["A1"] = f"=MIN(Inference!F{row}:I{row})"
        book.defined_names["my_steps"] = DefinedName("my_steps", attr_text=f"Inference!$F${row}:$I${row}")
        sheet["A2"] = f"=Inference!F{row}-Inference!G{row}"
        chart = BarChart()
        chart.add_data(Reference(book["Inference"], min_col=6, max_col=9, min_row=row), from_rows=True)
        sheet.add_chart(chart, "C3")

    return change


def test_what_leaves_the_new_one_out_is_named(plan: Path) -> None:
    """A person's own formula and chart over the scenarios of before are as they were, and are said; no other is."""
    edit(plan, own_view(lambda book: row_of(book, "Inference", "decode_step_time")))
    before = openpyxl.load_workbook(plan)["Mine"]["A1"].value
    lines = [line for line in add(plan).output.splitlines() if "widen" in line]
    assert len(lines) == 3
    assert "Mine!A1 reads the scenarios of before" in lines[0]
    assert "the name my_steps stands for the scenarios of before" in lines[1]
    assert "a chart draws" in lines[2]
    assert openpyxl.load_workbook(plan)["Mine"]["A1"].value == before
