"""Reports say what the workbook says: numbers, reasons, failed checks first, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from planner.errors import UserError
from planner.number_text import shown, where_goes
from planner.report.contents import ReportData
from planner.report.documents import html, markdown
from planner.report.exports import as_csv, as_json
from planner.report.report_data import report_data
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import run
from tests.recalcs import stripped
from tests.reports import Page, agrees, default_workbook, hostile_workbook, reported, small_workbook, whole_workbook
from tests.workbooks import cached, retype, type_in, write_comparison


@pytest.fixture(scope="module")
def default() -> ReportData:
    """The report of the default workbook."""
    return reported(default_workbook())


@pytest.fixture(scope="module")
def small() -> ReportData:
    """The report of a small workbook."""
    return reported(small_workbook())


@pytest.fixture(scope="module")
def hostile() -> ReportData:
    """The report of the workbook with names that try to break out."""
    return reported(hostile_workbook())


def edited(tmp_path: Path, sheet: str, **cells: object) -> Path:
    """A small workbook with cells of a sheet typed over; its cached values stay as they were."""
    package = Package.read(small_workbook())
    type_in(package, sheet, cells)
    path = tmp_path / "edited.xlsx"
    package.write(path)
    return path


def overwritten(tmp_path: Path, cell: str, content: str, sheet: str = "Dashboard", of: Path | None = None) -> Path:
    """The default workbook, or another one, with something else in a formula's cell."""
    package = Package.read(of or default_workbook())
    part = package.sheets()[sheet]
    xml, count = re.subn(
        rf'(<c r="{cell}"[^>]*>).*?(</c>)', rf"\g<1>{content}\2", package.parts[part].decode(), count=1
    )
    assert count == 1
    package.replace(part, xml.encode())
    path = tmp_path / "overwritten.xlsx"
    package.write(path)
    return path


@pytest.mark.parametrize("workbook", [pytest.param(whole_workbook, marks=pytest.mark.slow), hostile_workbook])
def test_every_number_of_the_page_is_its_cell(workbook: Callable[[], Path]) -> None:
    """The value behind a number is its cell's to the last bit, and what is shown is that to the digits shown."""
    values = cached(workbook())
    figures = Page(html(reported(workbook()))).figures()
    assert len(figures) > 300
    for cell, exact, text in figures:
        sheet, _, ref = cell.rpartition("!")
        assert values[sheet][ref] == float(exact), cell
        assert agrees(text, float(exact)), f"{cell}: {text} of {exact}"


def test_the_other_formats_have_the_same_numbers(hostile: ReportData) -> None:
    """Each number of the CSV and the JSON is its cell's, and the Markdown shows each headline as the page does."""
    values = cached(hostile_workbook())
    rows = list(csv.DictReader(io.StringIO(as_csv(hostile).lstrip("\N{ZERO WIDTH NO-BREAK SPACE}"))))
    own = [row for row in rows if "!" in row["cell"] and ", " not in row["cell"]]  # what is derived names several
    numbers = [row for row in own if row["unit"] not in ("", "text") and row["value"]]
    assert len(numbers) > 200
    for row in numbers:
        sheet, _, ref = row["cell"].rpartition("!")
        if sheet != "Sweep":  # which shows GB and days, and the report has SI units
            assert float(row["value"]) == values[sheet][ref]
    data, text = json.loads(as_json(hostile)), markdown(hostile)
    for section in data["headlines"]:
        for line in section["lines"]:
            for figure in line["figures"] if line["unit"] != "text" else ():
                sheet, _, ref = figure["cell"].rpartition("!")
                assert figure["value"] == values[sheet][ref]
                assert figure["text"] in text


def test_failed_checks_come_first(hostile: ReportData) -> None:
    """What fails is named before all else in the page, the Markdown and the CSV."""
    assert [check.label for check in hostile.failed] == ["Inference: Weights and caches fit"]
    page, text = html(hostile), markdown(hostile)
    assert page.index("1 failed check") < page.index('id="summary"')
    assert text.index("1 failed check") < text.index("What fits, what it costs")
    rows = list(csv.reader(io.StringIO(as_csv(hostile))))
    assert next(row[0] for row in rows[1:] if row[0] != "report") == "checks"
    assert hostile.scenarios[1].fits is False


def test_a_missing_number_says_why(hostile: ReportData) -> None:
    """The cost of a chip without a price is N/A in every format, with the database's column and the chip; never 0.

    The times are as they are.
    """
    reason = "Hardware has no price_per_chip_hour for h20"
    found = {each.name: each for each in hostile.scenarios[2].expected}
    cost = found["cost_per_million_tokens_expected"]
    assert found["decode_step_time_expected"].expected.is_number
    assert cost.expected.is_missing
    assert (cost.expected.value, cost.expected.text) == (None, "N/A")
    assert reason in cost.expected.why
    for text in (html(hostile), as_csv(hostile), as_json(hostile)):
        assert reason in text
    assert reason.replace("_", "\\_") in markdown(hostile)


def test_nothing_missing_is_shown_as_a_number(hostile: ReportData) -> None:
    """No figure without a value shows a digit, nor does any page say None or NaN."""
    missing = []

    def walk(item: object) -> None:
        if isinstance(item, dict):
            if item.keys() >= {"value", "unit", "text"} and item["value"] is None:
                missing.append(item["text"])
            for value in item.values():
                walk(value)
        elif isinstance(item, list):
            for value in item:
                walk(value)

    walk(json.loads(as_json(hostile)))
    assert missing
    assert not [text for text in missing if any(letter.isdigit() for letter in text)]
    for text in (html(hostile), markdown(hostile), as_csv(hostile)):
        assert ">None<" not in text
        assert "nan" not in text.replace("finance", "").split()


def test_a_stale_workbook_is_recalculated_in_memory(tmp_path: Path, small: ReportData) -> None:
    """A typed input counts although the cached values don't know of it, the report says so, the file is unharmed."""
    batch = next(line for line in small.assumptions[0].lines if line.name == "batch").figures[0]
    path = edited(tmp_path, "Inputs", **{batch.cell.partition("!")[2]: 64.0})
    before = path.read_bytes()
    report = report_data(path)
    assert "out of date" in report.warnings[0]
    throughput = [
        each.expected.value
        for found in (small, report)
        for each in found.scenarios[0].expected
        if each.name == "output_tokens_per_second_expected"
    ]
    assert throughput[0] != throughput[1]
    assert path.read_bytes() == before


def test_a_workbook_without_cached_values_is_reported(tmp_path: Path, small: ReportData) -> None:
    """A workbook that no program has computed gives the same numbers as the one with cached values."""
    package = Package.read(small_workbook())
    path = tmp_path / "plan.xlsx"
    stripped(package, parse_sheets(package)).write(path)
    assert report_data(path).headlines == small.headlines


def test_what_can_not_be_computed_is_refused(tmp_path: Path, small: ReportData) -> None:
    """A stale workbook with a formula that is unknown here is refused in one line that says what to do."""
    line = next(line for s in small.headlines for line in s.lines if line.name == "max_batch")
    cell = line.figures[0].cell.partition("!")[2]
    path = overwritten(tmp_path, cell, '<f>CUBEVALUE("a","b")</f>', of=small_workbook())
    with pytest.raises(UserError, match="open and save it in a spreadsheet program"):
        report_data(path)


@pytest.mark.slow
def test_a_number_typed_over_a_formula_is_named(tmp_path: Path) -> None:
    """It stands among the notices with its cell, and the numbers that depend on it follow it."""
    (line,) = (line for s in reported(default_workbook()).headlines for line in s.lines if line.name == "max_batch")
    cell = line.figures[0].cell
    report = report_data(overwritten(tmp_path, cell.partition("!")[2], "<v>123</v>"))
    (typed,) = report.typed
    assert typed.cell == cell
    assert typed.what == "123 typed over the formula"
    assert cell in html(report)


@pytest.mark.slow
def test_measured_cases_and_their_error(tmp_path: Path) -> None:
    """A measured case has its ratio from the sheet and its error beside it; a flagged one is named."""
    sheet = parse_sheets(Package.read(small_workbook()))["Comparison"]
    names = {str(cell.value): ref.rstrip("0123456789") for ref, cell in sheet.cells.items() if ref.endswith("5")}
    column, flags = names["measured_time"], names["flags"]
    path = edited(tmp_path, "Comparison", **{f"{column}6": 2.4e-7, f"{column}7": 4.8e-7, f"{flags}7": "spread"})
    report = report_data(path)
    assert report.comparison is not None
    at = {name.name: index for index, name in enumerate(report.comparison.columns)}
    row = report.comparison.rows[0]
    predicted, measured = (row[at[name]].number for name in ("predicted_time", "measured_time"))
    assert row[at["time_ratio"]].value == pytest.approx(measured / predicted)
    assert row[at["error"]].value == pytest.approx((predicted - measured) / measured)  # as runs are off by
    assert "2 of" in report.accuracy
    assert "1 of them flagged" in report.accuracy
    assert "predicted-measured" in {picture.id for picture in report.pictures}
    assert len(report.comparison.rows) == 2  # those that were measured


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_bound_with_efficiencies_is_shown_where_it_is_another(tmp_path: Path, share: float) -> None:
    """While all efficiencies are 1 it repeats the bound, beside which stands what is predicted."""
    sheet = parse_sheets(Package.read(small_workbook()))["Comparison"]
    names = {str(cell.value): ref.rstrip("0123456789") for ref, cell in sheet.cells.items() if ref.endswith("5")}
    path = edited(tmp_path, "Comparison", **{f"{names['measured_time']}6": 2.4e-7})
    book = openpyxl.load_workbook(path)
    for name in ("compute_efficiency", "memory_efficiency"):
        book["Comparison"][f"{names[name]}6"] = share
    book.save(path)
    table = report_data(path).comparison
    assert table is not None
    shown = {column.label: figure.number for column, figure in zip(table.columns, table.rows[0], strict=True)}
    assert shown["Bound"] < shown["Predicted"]
    assert shown.get("Bound with efficiencies", shown["Bound"]) == pytest.approx(shown["Bound"] / share)


def test_times_without_a_prediction_are_counted_as_left_out(tmp_path: Path) -> None:
    """Of four measured times two are of other hardware, one of which, and one of ours, has no prediction."""
    sheet = parse_sheets(Package.read(small_workbook()))["Comparison"]
    names = {str(cell.value): ref.rstrip("0123456789") for ref, cell in sheet.cells.items() if ref.endswith("5")}
    time, chip, predicted = names["measured_time"], names["hardware_id"], names["predicted_time"]
    cells: dict[str, object] = {f"{time}{row}": 2.4e-7 for row in (6, 7, 8, 9)}
    cells |= {f"{chip}7": "tpu-v4", f"{chip}8": "unheard-of"}
    path = edited(tmp_path, "Comparison", **cells)
    book = openpyxl.load_workbook(path)
    for row in (8, 9):
        book["Comparison"][f"{predicted}{row}"] = "=NA()"
    book.save(path)
    report = report_data(path)
    assert report.accuracy.startswith("1 of ")
    assert report.accuracy.endswith(" 3 times left out: 2 of other hardware, 1 without a prediction.")


def test_times_of_other_hardware_are_left_out(tmp_path: Path) -> None:
    """A time of a chip that the plan hasn't, or taken on another chip than predicted, is counted and not shown."""
    sheet = parse_sheets(Package.read(small_workbook()))["Comparison"]
    names = {str(cell.value): ref.rstrip("0123456789") for ref, cell in sheet.cells.items() if ref.endswith("5")}
    time, flags, chip = names["measured_time"], names["flags"], names["hardware_id"]
    cells = {f"{time}{row}": 2.4e-7 for row in (6, 7, 8)} | {f"{flags}7": "other_hardware", f"{chip}8": "tpu-v4"}
    report = report_data(edited(tmp_path, "Comparison", **cells))
    assert report.comparison is not None
    assert len(report.comparison.rows) == 1
    assert report.accuracy.startswith("1 of ")
    assert report.accuracy.endswith(" 2 times left out: 2 of other hardware.")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (70553706496.0, "1", "70,553,706,496"),
        (113503379456.0, "byte", "113.5 GB"),
        (0.008581455081807082, "s", "8.581 ms"),
        (1.4302425136345136, "USD", "$1.43"),
        (1.2, "USD/h/chip", "$1.20/h/chip"),
        (0.4, "1", "0.4"),
        (1.0, "chip", "1 chip"),
        (22017537.38, "USD", "$22.02 million"),
        (2303732.288, "s", "26.66 days"),
        (0.0, "byte", "0 B"),
        (0.0, "s", "0 s"),
        (3.94e-12, "s", "under 1 ns"),
        (-3.94e-12, "s", "above -1 ns"),
        (999.96, "1/s", "1,000.0 /s"),
        (0.37782635057427855, "%", "37.8 %"),
        (1e-9, "1", "1.000e-09"),
        (None, "s", "N/A"),
        ("int8", "text", "int8"),
    ],
)
def test_numbers_as_people_read_them(value: float | str | None, unit: str, text: str) -> None:
    """Four significant digits where a number has more, whole counts to the digit, units scaled by prefixes."""
    assert shown(value, unit).replace("\N{NO-BREAK SPACE}", " ") == text


def test_one_scenario_is_one(tmp_path: Path) -> None:
    """The title of a plan of one scenario that names no model says so in the singular."""
    path = tmp_path / "one.xlsx"
    write_comparison(path)
    assert report_data(path).title == "A plan of 1 scenario"


def test_ideal_is_told(tmp_path: Path) -> None:
    """A scenario that asks for its bounds says so, and has no waterfall."""
    path = tmp_path / "ideal.xlsx"
    path.write_bytes(small_workbook().read_bytes())
    retype(path, stack="ideal")
    report = report_data(path)
    assert "these are the bounds" in report.scenarios[0].notes[0]
    assert not [picture for picture in report.pictures if picture.id.startswith("expected")]


def test_a_switch_says_yes_or_no(small: ReportData) -> None:
    """A 1 or 0 that its cell shows as yes or no is told so, in lines and in the table of the sheet Sensitivity."""
    lines = [line for section in (*small.headlines, *small.assumptions) for line in section.lines]
    said = {line.name: {figure.text for figure in line.figures} for line in lines}
    assert said["is_extrapolated"] <= {"yes", "no"}
    assert said["kv_head_sharding"] == {"no"}
    (table,) = small.what_ifs
    at = [column.label for column in table.columns].index("At the bound")
    assert {row[at].text for row in table.rows} <= {"yes", "no"}


def test_a_time_that_is_called_so_goes() -> None:
    """The parts of a time to the first token don't go into the time of a time."""
    assert where_goes("Decode step") == "Where the time of a decode step goes"
    assert where_goes("Time to first token") == "Where the time to first token goes"
    assert where_goes("training step", "expected ") == "Where the expected time of a training step goes"


def test_a_source_of_numbers_that_a_chip_lacks_is_not_named(tmp_path: Path) -> None:
    """A chip of one's own with one source for all says it of its peaks and memory, not of a price that is blank."""
    chips, path = tmp_path / "chips.csv", tmp_path / "plan.xlsx"
    chips.write_text("id,kind,peak_bf16,hbm_bytes,hbm_bandwidth,source\nmine,gpu,1e15,100e9,3e12,A sketch\n")
    words = ("--template", "matmul", "-H", "mine", "--hardware-csv", chips, "--only", "-o", path)
    assert run("build", *words).exit_code == 0
    said = [each.what for each in report_data(path).sources if each.what.startswith("mine")]
    assert said == ["mine: flops", "mine: hbm"]
