"""The report's section for a search: the plans of the sheet Search, what was asked, and a picture."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from planner.catalog.databases import Databases
from planner.number_text import PERCENT, spoken
from planner.report import documents, exports
from planner.report.contents import ReportData
from planner.report.report_data import report_data
from planner.search.found import objective
from planner.search.optimum import optimum
from planner.search.request import request
from planner.search.search_sheet import chosen_plans
from tests.commands import command
from tests.short_data import of_few_rows
from tests.workbooks import by_name, cached, retype

COST, TOKEN = "cost_per_million_tokens_expected", "time_per_output_token_expected"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ReportData]:
    """A workbook that a search of two objectives built, and its report."""
    path: Path = tmp_path_factory.mktemp("searched") / "plan.xlsx"
    with of_few_rows(("llama3-8b",), ("h100-sxm", "tpu-v6e")):
        command("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "tpu-v6e", "--minimize", COST, "--and",
                TOKEN, "--top", "2", "--workbook", str(path))  # fmt: skip
    return path, report_data(path)


def test_the_numbers_are_those_that_the_search_found(searched: tuple[Path, ReportData]) -> None:
    """Each plan of the section has, in SI units, the objectives and their ranges that the search computes."""
    (found,) = searched[1].searches
    asked = request("inference", ["llama3-8b"], ["h100-sxm", "tpu-v6e"], [], [], [], Databases())
    plans = chosen_plans(
        asked, optimum(asked, [objective(asked.template, name, is_least=True) for name in (COST, TOKEN)], 2)
    )
    place = {column.name: at for at, column in enumerate(found.numbers.columns)}
    assert len(found.numbers.rows) == len(plans)
    for row, plan in zip(found.numbers.rows, plans, strict=True):
        assert row[place["hardware"]].value == plan.subject.hardware
        for name in (COST, TOKEN, f"{COST}_low", f"{TOKEN}_high", "memory_bytes_per_chip"):
            assert row[place[name]].value == pytest.approx(plan.results.value(name), rel=1e-12)
    assert [found.numbers.columns[place[name]].unit for name in (COST, TOKEN)] == ["USD", "s"]


def test_a_reader_has_ranges_scenarios_and_the_question_in_words(searched: tuple[Path, ReportData]) -> None:
    """Its table says what moves and each range in words, scenarios by their names, and below it what was asked."""
    (found,) = searched[1].searches
    titles = [column.label for column in found.table.columns]
    assert titles[:4] == ["Plan", "Scenario", "Chip", "What moves"]
    first, last = found.table.rows[0], found.table.rows[-1]
    assert [row[1].text for row in (first, last)] == [each.name for each in searched[1].scenarios]
    assert " to " in first[titles.index("80 % of runs")].text
    assert not any(column.name.endswith(" now") for column in found.table.columns)
    assert "Chips: h100-sxm, tpu-v6e." in found.table.notes
    assert any(note.startswith("Refused by: ") for note in found.table.notes)


def test_what_differs_by_rounding_is_as_it_was_found(tmp_path: Path) -> None:
    """A scenario's number of now that is off in the sixteenth digit alone is off by 0 %."""
    path = tmp_path / "plan.xlsx"
    with of_few_rows(("deepseek-v3",), ("b200-sxm",)):
        command("optimize", "inference", "-m", "deepseek-v3", "-H", "b200-sxm", "--set", "weight_dtype=fp8",
                "n_chips=8", "--minimize", COST, "--top", "1", "--workbook", str(path))  # fmt: skip
    (found,) = report_data(path).searches
    off = next(at for at, column in enumerate(found.numbers.columns) if column.name == f"{COST} off")
    assert {row[off].text for row in found.numbers.rows} == {spoken(0.0, PERCENT)}


def test_an_edit_shows_what_a_scenario_comes_to_now(searched: tuple[Path, ReportData], tmp_path: Path) -> None:
    """Where a scenario isn't as found any more, the table has what it comes to now beside what was found."""
    path = tmp_path / "edited.xlsx"
    path.write_bytes(searched[0].read_bytes())
    sheet = cached(path)["Inputs"]
    retype(path, batch=float(str(sheet[f"F{by_name({'Inputs': sheet}, 'Inputs')['batch']}"])) / 2)
    (found,) = report_data(path).searches
    now = next(at for at, column in enumerate(found.table.columns) if column.name == f"{COST} now")
    assert found.table.rows[0][now].number > 1.01 * found.table.rows[0][now - 2].number


def test_every_format_has_it(searched: tuple[Path, ReportData]) -> None:
    """HTML and Markdown have the section and the picture, CSV and JSON each number of each plan."""
    _, report = searched
    page = documents.html(report)
    for text in (page, documents.markdown(report)):
        assert "Which plan" in text
        assert "What the search found" in text
    assert '<a href="#search">Which plan</a>' in page
    (picture,) = (each for each in report.pictures if each.id == "search-1")
    (found,) = report.searches
    assert picture.svg.count("point") >= len(found.numbers.rows)
    rows = list(csv.DictReader(io.StringIO(exports.as_csv(report).removeprefix("\ufeff"))))
    costs = [float(row["value"]) for row in rows if row["section"] == "search" and row["name"] == COST]
    plain = json.loads(exports.as_json(report))["searches"][0]["numbers"]
    at = [column["name"] for column in plain["columns"]].index(COST)
    assert costs == [row[at]["value"] for row in plain["rows"]] == [each[at].value for each in found.numbers.rows]
    assert {"Template", "Tried"} <= {row["label"] for row in rows if row["section"] == "search"}


def test_the_best_of_one_objective_are_bars_with_their_ranges(tmp_path: Path) -> None:
    """A search of one objective has a bar for each plan that is listed."""
    path = tmp_path / "plan.xlsx"
    with of_few_rows():
        command("optimize", "matmul", "-H", "h100-sxm", "--minimize", "expected_time", "--over", "tokens=1024..8192*2",
                "--set", "d_in=8192", "d_out=8192", "--top", "3", "--workbook", str(path))  # fmt: skip
    report = report_data(path)
    (picture,) = (each for each in report.pictures if each.id == "search-1")
    (found,) = report.searches
    assert len(found.table.rows) == 3
    assert all(row[1].text in picture.alt or row[1].value for row in found.table.rows)
    assert picture.svg.count('class="limit point"') == 3


def test_brackets_in_the_label_of_a_count_are_no_unit(tmp_path: Path) -> None:
    """`Tokens (B)` are tokens and not bytes, and `(1 or 0)` is no unit; what has a unit in its head keeps it."""
    path = tmp_path / "plan.xlsx"
    with of_few_rows():
        command("optimize", "matmul_activation", "-H", "h100-sxm", "--alone", "--minimize", "expected_time", "--over",
                "tokens=1024,2048", "--over", "is_fused=0,1", "--set", "d_in=8192", "d_out=8192", "--top", "4",
                "--workbook", str(path))  # fmt: skip
    (found,) = report_data(path).searches
    columns = {column.name: (at, column) for at, column in enumerate(found.numbers.columns)}
    said = {}
    for name in ("tokens", "is_fused"):
        at, column = columns[name]
        assert column.unit == "1"
        said[column.label] = {row[at].text for row in found.numbers.rows}
    assert said == {"Tokens (B)": {"1,024", "2,048"}, "Activation fused into the matmul (1 or 0)": {"0", "1"}}
    assert columns["expected_time"][1].unit == "s"
