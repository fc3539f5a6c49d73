"""What is told of recorded runs: by the report with its picture, by `planner diff`, and on Dashboard."""

from __future__ import annotations

import json
import re
from pathlib import Path

import openpyxl
import pytest

from planner.report.exports import as_csv
from planner.report.report_data import report_data
from planner.xlsx.address import address, coordinates
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.backfills import backfill, measurement
from tests.commands import command, run
from tests.recorded_runs import SERVES, fixture_plan, fixture_serves, record, runs, said_on_dashboard  # noqa: F401
from tests.workbooks import sheet_of, type_in, write_small


def test_a_report_has_a_section_of_the_runs(plan: Path) -> None:
    """The run with its date, what was expected then and the ratio; without a run there is no section."""
    assert report_data(plan).own == ()
    record(plan, "--time", "9ms", "--note", "a note")
    report = report_data(plan)
    (own,) = report.own
    assert own.title == "Your runs"
    said = [figure.text for figure in own.rows[0]]
    assert "9.00 ms" in said
    assert said[-1].endswith("a note")
    assert "your runs" in as_csv(report)


@pytest.mark.parametrize(("column", "text"), [("run_measured", "9,5"), ("run_unit", "bananas")])
def test_a_run_that_can_not_be_read_is_told(plan: Path, column: str, text: str) -> None:
    """A number with a decimal comma, or an unknown unit, that a person typed over a run's: a report, a check and a fit
    name its row. A run without inputs, typed whole by hand, is of no plan that could be expected.
    """
    for time in ("12ms", "12.1ms", "12.2ms", "12.3ms"):
        record(plan, "--time", time)
    book = openpyxl.load_workbook(plan)
    sheet = book["Comparison"]
    header = next(row for row in sheet.iter_rows() if row[0].value == "run_on")
    at = {str(cell.value): cell.column for cell in header}
    first = header[0].row + 1
    sheet.cell(first, at[column]).value = text
    sheet.cell(first + 1, at["run_inputs"]).value = None
    book.save(plan)
    why = "its measured cell holds no number, or its unit is unknown"
    (own,) = report_data(plan).own
    assert len(own.rows) == 3
    assert own.notes == (f"Left out is row {first} of Comparison: {why}.",)
    assert f"the run in row {first} is in no report and no fit: {why}" in " ".join(run("check", plan).output.split())
    said = command("fit", plan, "-o", plan.with_suffix(".csv"))
    assert f"  1 run, {why}: run 1: row {first}\n" in said
    assert "  1 run, its row has no inputs of the plan; planner record writes them: run 2: " in said


def test_a_report_says_each_run_with_its_unit(serves: Path) -> None:
    """Times of whatever row in ms or s, in the table as in the picture's words; a rate's name says what it is of."""
    told = (
        ("--time", "9ms"), ("--time", "12ms", "--of", "time_per_output_token"),
        ("--time", "2 s", "--of", "time_to_first_token"), ("--tokens-per-second", "800"),
    )  # fmt: skip
    for words in told:
        assert record(serves, *words, scenario=SERVES).exit_code == 0
    (own,) = report_data(serves).own
    at = [column.name for column in own.columns].index("run_measured")
    assert [row[at].text for row in own.rows] == ["9.00 ms", "12.0 ms", "2.00 s", "800"]
    assert [row[at].unit for row in own.rows] == ["s", "s", "s", "1"]
    assert all(row[at + 1].text.endswith(" ms") for row in own.rows[:2])


def test_a_diff_tells_a_run_that_is_new(plan: Path, tmp_path: Path) -> None:
    """It is one line, and no headline moves."""
    older = tmp_path / "older.xlsx"
    record(plan, "--time", "9ms")
    older.write_bytes(plan.read_bytes())
    record(plan, "--time", "8ms")
    said = run("diff", str(older), str(plan)).output
    assert re.search(r"Recorded runs\n  tpu-v5e, run \S+ \S+: Matmul  \(none\) -> 8\.000 ms\n$", said)
    assert "No headline moved." in said


@pytest.mark.parametrize("is_later", [True, False])
def test_a_diff_tells_the_first_run_by_its_rows_alone(plan: Path, tmp_path: Path, *, is_later: bool) -> None:
    """The table of runs came or went: its rows, with its titles; no column of Comparison is another."""
    other = tmp_path / "with_run.xlsx"
    other.write_bytes(plan.read_bytes())
    record(other, "--time", "9ms")
    pair = (plan, other) if is_later else (other, plan)
    structure = json.loads(run("diff", "--json", *map(str, pair)).output)["structure"]
    assert {(each["what"], each["how"]) for each in structure} == {("row", "added" if is_later else "removed")}
    assert len(structure) == 4  # what it is, two rows of titles, the run


def test_a_rate_is_said_as_a_rate(tmp_path: Path) -> None:
    """Tokens a second of a training run, which its sheet has in millions, are no time in a line for a person."""
    path = write_small(tmp_path / "training.xlsx", ["llama3-8b"], ["tpu-v5e"], ["training"], n_chips=256)
    done = record(path, "--tokens-per-second", "1000000", scenario=SERVES)
    assert "Tokens a second 1,000,000, " in done.output
    assert " h, " not in done.output
    record(path, "--mfu", "39%", scenario=SERVES)
    assert runs(path)[-1].row == "mfu_expected"


def test_dashboard_says_the_latest_run(serves: Path) -> None:
    """Live from the table: the last one's number, of whatever it is, of how many runs, over what was expected of it
    then.
    """
    assert said_on_dashboard(serves) == ["none recorded"]
    record(serves, "--tokens-per-second", "100", scenario=SERVES)
    (rate,) = runs(serves)
    assert rate.expected is not None
    told = f"Output tokens a second 100 tokens/s; {100 / rate.expected:.2f} x the {rate.expected:,.0f} expected"
    assert said_on_dashboard(serves) == [told]
    record(serves, "--time", "9ms", scenario=SERVES)
    record(serves, "--time", "8ms", scenario=SERVES)
    expected = 1e3 * (runs(serves)[1].expected or 0.0)
    told = f"Decode step 8.00 ms, 3 runs; {8 / expected:.2f} x the {expected:.2f} expected"
    assert said_on_dashboard(serves) == [told]
    package = Package.read(serves)
    sheet = parse_sheets(package)["Comparison"]
    head = next(ref for ref, cell in sheet.cells.items() if cell.value == "run_measured")
    row, column = coordinates(head)
    type_in(package, "Comparison", {address(row + 3, column): 16.0})
    package.write(serves)  # as an analyst corrects it
    command("recalc", str(serves))
    told = f"Decode step 16.0 ms, 3 runs; {16 / expected:.2f} x the {expected:.1f} expected"
    assert said_on_dashboard(serves) == [told]
    command("check", str(serves))
    record(serves, "--tokens-per-second", "200", scenario=SERVES)
    assert [each[:27] for each in said_on_dashboard(serves)] == ["Output tokens a second 200 "]


def test_dashboard_says_none_recorded_only_where_there_is_none(serves: Path) -> None:
    """A run of a number that isn't on Dashboard is on Comparison, which Dashboard says."""
    record(serves, "--time", "400ms", "--of", "prefill_time", scenario=SERVES)
    assert said_on_dashboard(serves) == ["runs of other numbers: see Comparison"]


def test_a_report_draws_the_runs(plan: Path) -> None:
    """A picture with each run over what was expected of it; without a run there is none."""
    assert "runs" not in {picture.id for picture in report_data(plan).pictures}
    record(plan, "--time", "9ms")
    record(plan, "--time", "9us")
    (picture,) = (each for each in report_data(plan).pictures if each.id == "runs")
    assert "Matmul 9.00 ms, expected " in picture.alt
    assert "Hollow points are flagged." in picture.caption
    assert picture.svg.count("<circle") == 2


@pytest.mark.slow
def test_dashboard_finds_runs_whatever_is_put_above_them(serves: Path) -> None:
    """Cases that are appended, and sheets of another workload that are merged in, leave the table where it is."""
    record(serves, "--time", "9ms", scenario=SERVES)
    told = said_on_dashboard(serves)
    mesh = {"mesh": "data=8", "axis": "data", "device_order": "0 1 2 3 4 5 6 7"}
    gather = "collective|array_bytes={},axis_size=8,collective=all_gather"
    cases = [measurement(gather.format(1024 * size), **mesh) for size in range(1, 12)]
    assert backfill(serves, *cases).exit_code == 0
    assert said_on_dashboard(serves) == told
    command("scenario", "add", str(serves), "big", "--workload", "training")
    assert told[0] in said_on_dashboard(serves)
    record(serves, "--mfu", "39%", scenario="big")
    assert any(line.startswith("MFU 39.0 %; ") for line in said_on_dashboard(serves, "big"))
    drawn = sheet_of(serves, "Dashboard", data_only=True)
    block = {str(row[0].value): row[3].value for row in drawn.iter_rows() if str(row[0].value).startswith("Run ")}
    assert [block[f"Run {place} of the latest: its number"] for place in (1, 2, 3)] == [2, 1, 0]
    first, second = runs(serves)
    assert second.ratio == pytest.approx(block["Run 1 of the latest: measured"], rel=1e-12)
    assert first.ratio == pytest.approx(block["Run 2 of the latest: measured"], rel=1e-12)


def test_a_picture_of_runs_has_their_names_whole(tmp_path: Path) -> None:
    """A long name beside long numbers isn't cut: the two stand on a line each."""
    path = write_small(tmp_path / "serves.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    command("scenario", "rename", path, SERVES, "Llama 3 8B on v5e, of the chat team")
    record(path, "--time", "12ms", "--of", "time_per_output_token", scenario=SERVES)
    (picture,) = (each for each in report_data(path).pictures if each.id == "runs")
    assert ">Llama 3 8B on v5e, of the chat team<" in picture.svg
    assert ">Time per output token, with prefills 12.0 ms, " in picture.svg
