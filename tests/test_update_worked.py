"""`planner update` of a workbook that a person has worked in for long: everything of theirs is there afterwards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Font, PatternFill
from openpyxl.workbook.defined_name import DefinedName

from planner.book.plan import Plan, Quantity
from planner.book.read_plan import read_plan
from planner.compare import comparison_sheet as comparison
from planner.compare.comparison_sheet import CaseRow
from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.libreoffice import needs_libreoffice, recalculated
from tests.read_once import recalculate_once
from tests.test_update import GOLDEN, typed
from tests.workbooks import agree, row_of

pytestmark = pytest.mark.usefixtures("short_data")
V5E, V6E, H100 = "llama3_70b_on_tpu_v5e", "llama3_70b_on_tpu_v6e", "llama3_70b_on_h100_sxm"


@dataclass
class Worked:
    """A workbook of 0.1.0 that a person has worked in, before and after its update."""

    path: Path
    before: Plan
    after: Plan
    done: Updated
    cases: dict[str, CaseRow]

    def row(self, name: str) -> Quantity:
        """The row of Inference with a machine name, as it is now."""
        return next(row for row in self.after.tables["Inference"] if row.name == name)

    def number(self, name: str, key: str) -> float:
        """A quantity's number now."""
        value = self.after.value(name, key)
        assert isinstance(value, float)
        return value

    @cached_property
    def book(self) -> openpyxl.Workbook:
        """The workbook as another program reads it."""
        return openpyxl.load_workbook(self.path)


READ = ("decode_step_time", "kv_bytes_total", "n_layers", "weight_bytes")


def own_sheet(book: openpyxl.Workbook) -> None:
    """A sheet of a person's that reads ours, with a chart and a name."""
    sheet = book.create_sheet("My view")
    for at, name in enumerate(READ, start=1):
        row = row_of(book, "Inference", name)
        sheet.cell(at, 1).value = name
        sheet.cell(at, 2).value = f"=Inference!F{row}*2"
        sheet.cell(at, 3).value = f"=SUM(Inference!$F${row}:$H${row})"
    sheet["E1"] = f"=Inputs!G{row_of(book, 'Inputs', 'batch')}"
    sheet["E2"] = "a text with Inference!F20 in it"
    row = row_of(book, "Inference", "decode_step_time")
    chart = BarChart()
    chart.add_data(Reference(book["Inference"], min_col=6, max_col=8, min_row=row), from_rows=True)
    sheet.add_chart(chart, "G2")
    book.defined_names["my_step"] = DefinedName("my_step", attr_text=f"Inference!$F${row}")


def numbers(book: openpyxl.Workbook) -> None:
    """Numbers over formulas, a changed formula, a constant, overrides, a formula for an input."""
    inference, inputs = book["Inference"], book["Inputs"]
    inference.cell(row_of(book, "Inference", "prefill_time"), 7).value = 0.25
    inference.cell(row_of(book, "Inference", "n_params_moe_layer"), 6).value = 7.5
    row = row_of(book, "Inference", "kv_time")
    inference.cell(row, 6).value = f"=F{row_of(book, 'Inference', 'param_time')}*3"
    inputs.cell(row_of(book, "Inputs", "seconds_per_hour"), 4).value = 3599
    inputs.cell(row_of(book, "Inputs", "hbm_bandwidth"), 8).value = 3e12
    inputs.cell(row_of(book, "Inputs", "batch"), 6).value = "=4*12"


def marks(book: openpyxl.Workbook) -> None:
    """A note, a fill, a number format, a width, a rule and a text."""
    sheet = book["Inference"]
    row = row_of(book, "Inference", "queries_per_second")
    cell = sheet.cell(row, 7)
    cell.comment = Comment("agreed with the team", "Ann")
    cell.fill = PatternFill("solid", fgColor="FF00FF00")
    cell.number_format = '0.0000" q/s"'
    sheet.column_dimensions["G"].width = 41
    rule = CellIsRule(operator="lessThan", formula=["1"], font=Font(bold=True))
    sheet.conditional_formatting.add(f"F{row}:H{row}", rule)
    book["Inputs"].cell(row_of(book, "Inputs", "batch"), 4).value = "the customer said 32"


def own_cells(book: openpyxl.Workbook) -> None:
    """A row below the table, a text beside it, a column and a model of a person's, a number of the databases."""
    sheet = book["Inference"]
    last, step = sheet.max_row, row_of(book, "Inference", "decode_step_time")
    sheet.cell(last + 3, 1).value = "My own sum"
    sheet.cell(last + 3, 6).value = f"=F{step}+1"
    sheet.cell(last + 3, 7).value = 12
    sheet.cell(step, 10).value = "slow"
    book["Cover"]["A1"] = "The plan of my team"
    models, chips = book["Models"], book["Hardware"]
    own = models.max_column + 1
    names = {models.cell(5, column).value: column for column in range(1, own)}
    free = next(row for row in range(6, 400) if models.cell(row, 1).value is None)
    source = next(row for row in range(6, 400) if models.cell(row, 1).value == "llama3-70b")
    for column in names.values():
        models.cell(free, column).value = models.cell(source, column).value
    models.cell(free, 1).value = "my-model"
    models.cell(free, names["n_layers"]).value = 40
    models.cell(5, own).value = "my_column"
    models.cell(free, own).value = 11
    book["Inputs"]["H6"] = "my-model"
    columns = {chips.cell(5, column).value: column for column in range(1, 60)}
    row = next(row for row in range(6, 400) if chips.cell(row, 1).value == "tpu-v6e")
    chips.cell(row, columns["hbm_bandwidth"]).value = 1.5e12


def times(book: openpyxl.Workbook) -> None:
    """Measured times, and notes on them."""
    sheet = book["Comparison"]
    columns = {sheet.cell(5, column).value: column for column in range(1, 90)}
    for row, seconds in ((6, 0.0125), (7, 3.5e-5)):
        sheet.cell(row, columns["measured_time"]).value = seconds
        sheet.cell(row, columns["run_id"]).value = f"run {row}"
        sheet.cell(row, columns["note"]).value = f"a note on row {row}"
    sheet.cell(6, columns["time_ratio"]).number_format = "0.000%"


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, short_data: None) -> Worked:
    """All of it in one workbook, the golden one that was edited already; and its update."""
    path = tmp_path_factory.mktemp("worked") / "plan.xlsx"
    book = openpyxl.load_workbook(GOLDEN / "edited.xlsx")
    for edit in (own_sheet, numbers, marks, own_cells, times):
        edit(book)
    book.save(path)
    package = Package.read(path)
    package.add("customXml/item1.xml", b"<mine/>")
    recalculate_once(package)
    package.write(path)
    before, cases = read_plan(path), {row.text("case_key"): row for row in comparison.find(package).rows}
    done, _ = update_file(path)
    return Worked(path, before, read_plan(path), done, cases)


def test_a_person_s_sheet_follows_the_cells_that_it_reads(worked: Worked) -> None:
    """Formulas, a chart and a defined name of a person's lead to the same quantities; texts are left alone."""
    assert worked.done.own_sheets == ["Notes", "My view"]
    for at, name in enumerate(READ, start=1):
        assert worked.after.at("My view", at, 2) == pytest.approx(2 * worked.number(name, V5E), rel=1e-12)
        if name in ("decode_step_time", "kv_bytes_total"):
            total = sum(worked.number(name, key) for key in (V5E, V6E, H100))
            assert worked.after.at("My view", at, 3) == pytest.approx(total, rel=1e-12)
    assert worked.after.at("My view", 1, 5) == 32
    assert worked.after.at("My view", 2, 5) == "a text with Inference!F20 in it"
    row = worked.row("decode_step_time").row
    package = Package.read(worked.path)
    assert any(
        f"Inference'!$F${row}:".encode() in data for part, data in package.parts.items() if "charts/" in part
    ) or any(f"Inference!$F${row}:".encode() in data for part, data in package.parts.items() if "charts/" in part)
    assert f"Inference!$F${row}<".encode() in package.parts[package.workbook_part()]


def test_what_is_typed_over_and_edited_stays(worked: Worked) -> None:
    """A number over a formula and a constant stay with their quantity and scenario, and are said.

    The workbook has no memory of what planner wrote: a changed formula is planner's now, and listed.
    """
    assert worked.after.value("prefill_time", V6E) == 0.25
    kv_time = worked.row("kv_time")
    assert kv_time.cells[V5E].formula != f"F{worked.row('param_time').row}*3"
    assert f"Inference!F{kv_time.row}" in worked.done.renewed
    assert next(row for row in worked.after.constants if row.name == "seconds_per_hour").value("") == 3599
    assert worked.after.value("hbm_bandwidth", H100) == 3e12
    assert next(row for row in worked.after.inputs if row.name == "batch").cells[V5E].formula == "4*12"
    assert worked.after.value("batch", V5E) == 48
    assert any("(prefill_time)" in said for said in worked.done.typed_over)
    assert worked.done.formulas == []


def test_what_is_typed_on_inputs_stays(worked: Worked) -> None:
    """Every input and override is there, under its name and scenario."""
    before = typed(worked.before)
    assert {key: value for key, value in typed(worked.after).items() if key in before} == before


def test_an_override_of_a_row_that_moved_to_another_sheet_goes_with_it(worked: Worked) -> None:
    """A number typed over a row that Inference computed, and Transformer alone does now, stands there and is named."""
    sheets = [sheet for sheet, rows in worked.after.tables.items() for row in rows if row.name == "n_params_moe_layer"]
    assert worked.after.value("n_params_moe_layer", V5E) == 7.5
    assert sheets == ["Inference"] or any("n_params_moe_layer" in remark for remark in worked.done.remarks)


def test_notes_stay_beside_their_cells(worked: Worked) -> None:
    """A note is on the quantity that it was on, and so is its box on the screen."""
    row = worked.row("queries_per_second").row
    assert ("Inference", f"G{row}", "agreed with the team") in [(n.sheet, n.ref, n.text) for n in worked.after.notes]
    assert [n.text for n in worked.after.notes] == [n.text for n in worked.before.notes]
    boxes = b"".join(data for part, data in Package.read(worked.path).parts.items() if part.endswith(".vml"))
    at = dict(zip(re.findall(rb"Row>(\d+)</", boxes), re.findall(rb"Column>(\d+)</", boxes), strict=True))
    assert at[b"%d" % (row - 1)] == b"6"


def test_formats_widths_and_rules_stay(worked: Worked) -> None:
    """A fill, a number format, a width and a rule of a person's stay with the quantity that they are for.

    A text in planner's column of notes is planner's now, and listed: the workbook has no memory of what planner wrote.
    """
    row, sheet = worked.row("queries_per_second").row, worked.book["Inference"]
    assert sheet.cell(row, 7).fill.fgColor.rgb == "FF00FF00"
    assert sheet.cell(row, 7).number_format == '0.0000" q/s"'
    assert sheet.cell(row, 8).fill.fgColor.rgb != "FF00FF00"
    assert sheet.column_dimensions["G"].width == 41
    areas = [str(area.sqref) for area in sheet.conditional_formatting if area.rules[0].type == "cellIs"]
    assert areas == [f"F{row}:H{row}"]
    assert worked.done.rules == 2  # a colour scale of version 0.1.0 is nobody's now
    batch = next(row for row in worked.after.inputs if row.name == "batch")
    assert batch.text != "the customer said 32"
    assert f"Inputs!D{batch.row}" in worked.done.renewed


def test_own_rows_columns_and_texts_stay(worked: Worked) -> None:
    """Rows below the tables, a column right of the others and a text beside them stay, and read what they read."""
    after, step = worked.after, worked.row("decode_step_time")
    sheet = after.book.sheets["Inference"]
    own = next(row for row, column in sheet.cells if column == 1 and sheet.text(row, 1) == "My own sum")
    assert own > max(row.row for row in after.tables["Inference"])
    assert after.at("Inference", own, 6) == pytest.approx(worked.number("decode_step_time", V5E) + 1, rel=1e-12)
    assert after.at("Inference", own, 7) == 12
    assert sheet.text(step.row, 10) == "slow"
    assert after.book.sheets["Cover"].text(1, 1) == "The plan of my team"


def test_models_and_numbers_of_a_person_s_stay(worked: Worked) -> None:
    """A model added below the others, and a number changed in the databases, are a person's, not an old version's."""
    assert worked.after.value("n_layers", H100) == 40
    assert worked.after.value("hbm_bandwidth", V6E) == 1.5e12
    models = worked.after.book.sheets["Models"]
    own = next(row for row, column in models.cells if column == 1 and models.text(row, 1) == "my-model")
    column = next(column for row, column in models.cells if models.text(row, column) == "my_column")
    assert models.value(own, column) == 11


def test_columns_that_a_row_of_a_person_s_lacked_are_filled(worked: Worked) -> None:
    """What a CSV's blank cell means stands in a column that planner's table has now, and is said."""
    models = worked.after.book.sheets["Models"]
    own = next(row for row, column in models.cells if column == 1 and models.text(row, 1) == "my-model")
    column = next(column for row, column in models.cells if models.text(row, column) == "index_topk")
    assert models.value(own, column) == 0
    assert "Models: my-model index_topk blank is now 0" in worked.done.numbers


def test_measured_numbers_and_notes_stay(worked: Worked) -> None:
    """The Comparison's times, flags, notes, formats and own cases are in the rows of their cases."""
    found = comparison.find(Package.read(worked.path))
    after = {row.text("case_key"): row for row in found.rows}
    assert list(after) == list(worked.cases)
    for key, row in worked.cases.items():
        for name in ("case_label", "template", "hardware_id", "measured_time", "run_id", "note", "n_samples", "flags"):
            assert after[key].value(name) == row.value(name), (key, name)
        held = {name: value for name, value in row.inputs.items() if value is not None}  # a newer one has its default
        assert after[key].inputs == {**after[key].inputs, **held}
        assert after[key].number_in("measured_time") is None or after[key].number_in("time_ratio") is not None
    sheet = worked.book["Comparison"]
    assert sheet.cell(6, found.columns["time_ratio"]).number_format == "0.000%"


def test_the_other_parts_keep_their_bytes(worked: Worked) -> None:
    """Custom parts are as they were, and the result is computed throughout."""
    assert Package.read(worked.path).parts["customXml/item1.xml"] == b"<mine/>"
    assert not worked.after.stale
    assert not worked.after.unknown


@needs_libreoffice
@pytest.mark.slow
def test_another_engine_computes_the_same(worked: Worked, tmp_path: Path) -> None:
    """LibreOffice opens the result and computes every cell of it to what the file says."""
    theirs = recalculated(worked.path, tmp_path)
    wrong = [
        f"{name}!{ref}: {cell.value} and {theirs[name].get(ref)}"
        for name, sheet in worked.after.book.parsed.items() for ref, cell in sheet.cells.items()
        if cell.kind and isinstance(cell.value, float) and not agree(theirs[name].get(ref), cell.value)
    ]  # fmt: skip
    assert wrong == []
