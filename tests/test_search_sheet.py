"""The sheet Search: the plans that a search found as a table and a chart, beside the scenarios that they became."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from planner.book.read_plan import read_plan
from planner.catalog.databases import Databases
from planner.check.run import check
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.search.found import objective
from planner.search.optimum import optimum
from planner.search.request import request
from planner.search.search_sheet import chosen_plans
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command
from tests.libreoffice import needs_libreoffice, recalculated
from tests.workbooks import sheet_of

pytestmark = pytest.mark.usefixtures("short_data")
TIME = "expected_time"
COST, TOKEN = "cost_per_million_tokens_expected", "time_per_output_token_expected"
CHIPS = ["-H", "h100-sxm", "tpu-v6e"]
FRONT = ["optimize", "inference", "-m", "llama3-8b", *CHIPS, "--minimize", COST, "--and", TOKEN]
MATMUL = ["optimize", "matmul", *CHIPS, "--minimize", TIME, "--over", "tokens=1024..8192*2",
          "--set", "d_in=8192", "d_out=8192"]  # fmt: skip
Written = tuple[Path, tuple[str, ...]]


def table(sheet: Worksheet) -> tuple[int, dict[str, list[object]]]:
    """The first row of the plans, and their columns by machine name."""
    (names,) = (row for row in sheet.iter_rows(max_row=60) if "plan" in [cell.value for cell in row])
    first, (number,) = names[0].row + 1, (cell.column for cell in names if cell.value == "plan")
    count = len(list(takewhile(lambda at: sheet.cell(first + at, number).value == at + 1, range(sheet.max_row))))
    rows = range(first, first + count)
    return first, {cell.value: [sheet.cell(row, cell.column).value for row in rows] for cell in names if cell.value}


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A workbook that a search of two objectives built, with the two ends of its front as scenarios; and those."""
    path = tmp_path_factory.mktemp("matmul") / "plan.xlsx"
    command(*MATMUL, "--maximize", "flops", "--top", "2", "--workbook", str(path))
    return path, (TIME, "flops")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The same of plans that serve."""
    path = tmp_path_factory.mktemp("served") / "plan.xlsx"
    command(*FRONT, "--top", "2", "--workbook", str(path))
    return path, (COST, TOKEN)


@pytest.fixture(params=["matmul", pytest.param("served", marks=pytest.mark.slow)])
def front(request: pytest.FixtureRequest) -> Written:
    """Either of them."""
    found: Written = request.getfixturevalue(request.param)
    return found


def test_a_front_is_written_whole_and_drawn(tmp_path: Path) -> None:
    """The workbook of a front has each of its plans on the sheet Search, none of which another beats, and a chart."""
    path = tmp_path / "front.xlsx"
    said = command(*FRONT, "--top", "2", "-o", str(path))
    sheet = sheet_of(path, "Search")
    _, columns = table(sheet)
    points = np.array([columns[COST], columns[TOKEN]], dtype=float)
    assert f"{points.shape[1]:,} of the front" in said
    assert points.shape[1] > 2
    assert (np.diff(points[0]) > 0).all()
    assert (np.diff(points[1]) < 0).all()
    (drawn,) = sheet._charts
    assert [each.tx.v for each in drawn.series] == list(
        dict.fromkeys(f"llama3-8b on {each}" for each in columns["hardware"])
    )
    assumed = {row[3].value: row[4].value for row in sheet_of(path, "Assumptions").iter_rows()}
    assert (assumed["batch"], assumed["context_len"]) == ("a column of the table", "default of inference")


def test_every_row_of_a_listed_plan_is_that_of_the_plan_alone() -> None:
    """A plan that is listed with many others has, to the last bit, each row that evaluating it alone gives."""
    asked = request("inference", ["llama3-8b"], ["h100-sxm"], ["context_len=4096"], [], [], Databases())
    found = optimum(asked, [objective(asked.template, name, is_least=True) for name in (COST, TOKEN)], 3)
    plans = chosen_plans(asked, found)
    assert len(plans) == found.front
    assert [plan.moved for plan in (plans[0], plans[-1])] == [found.plans[0].moved, found.plans[-1].moved]
    for plan in plans[:: max(1, len(plans) // 5)]:
        given = with_followers(asked.template, {**asked.given, **plan.moved})
        alone = evaluate(asked.template, plan.subject.facts, given)
        assert all(plan.results.value(name) == alone.value(name) for name in alone)


def test_scenarios_stand_beside_what_was_found(front: Written) -> None:
    """A plan that became a scenario has its id; what it comes to now is what was found, and follows an edit."""
    path, names = front
    cells = parse_sheets(Package.read(path))["Search"]
    _, columns = table(sheet_of(path, "Search", data_only=True))
    ids = [at for at, each in enumerate(columns["scenario_id"]) if each]
    assert ids == [0, len(columns["plan"]) - 1]
    for name in names:
        now = columns[f"{name} now"]
        assert [now[at] for at in ids] == pytest.approx([columns[name][at] for at in ids], rel=1e-12)
        assert [columns[f"{name} off"][at] for at in ids] == pytest.approx([0, 0], abs=1e-12)
        assert {now[at] or "" for at in range(len(now)) if at not in ids} == {""}
    assert all(len(cell.formula or "") <= 200 for cell in cells.cells.values())
    assert not [each for each in check(Package.read(path)).found if each.sheet == "Search"]


def test_a_second_search_takes_the_place_of_the_first(matmul: Written, tmp_path: Path) -> None:
    """Its sheet has the newer question and plans; the scenarios of the first stay, and are not its own."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(matmul[0].read_bytes())
    said = command(*MATMUL, "--top", "3", "--workbook", str(path))
    assert "the sheet Search" in said
    book = openpyxl.load_workbook(path, data_only=True)
    assert [name for name in book.sheetnames if name.startswith("Search")] == ["Search"]
    _, columns = table(book["Search"])
    assert columns["plan"] == [1, 2, 3]
    assert all(columns["scenario_id"])
    assert columns[f"{TIME}_low"][1] < columns[TIME][1] < columns[f"{TIME}_high"][1]
    assert min(columns["off the best"]) == pytest.approx(0, abs=1e-12)
    assert "flops" not in columns
    assert "there already" in said
    assert book["Inputs"].max_column == 9  # a column for each of two scenarios, and of the two that are new
    (drawn,) = sheet_of(path, "Search")._charts
    assert [each.tx.v for each in drawn.series] == ["expected", "least", "most"]
    labels = {row[0].value: row[1].value for row in book["Search"].iter_rows(max_col=2)}
    assert labels["Chips"] == "h100-sxm, tpu-v6e"
    assert labels["Tried"].split()[0].replace(",", "").isdigit()


@needs_libreoffice
@pytest.mark.slow
def test_libreoffice_computes_what_was_found(front: Written, tmp_path: Path) -> None:
    """What a scenario comes to now is in LibreOffice, too, what the search found, to 1e-9."""
    path, names = front
    found = recalculated(path, tmp_path)["Search"]
    first, columns = table(sheet_of(path, "Search", data_only=True))
    letters = {cell.value: cell.column_letter for cell in sheet_of(path, "Search")[first - 1]}
    for name in names:
        assert found[f"{letters[f'{name} now']}{first}"] == pytest.approx(columns[name][0], rel=1e-9)
        assert found[f"{letters[f'{name} off']}{first}"] == pytest.approx(0, abs=1e-9)


def test_assumptions_say_a_unit_once_and_repeat_their_head(tmp_path: Path) -> None:
    """A number's unit stands beside it alone, small ones are said in digits, and command pages begin with the head."""
    path = tmp_path / "front.xlsx"
    command(*MATMUL, "-o", str(path))
    sheet = sheet_of(path, "Assumptions")
    head = next(row[0].row for row in sheet.iter_rows() if row[0].value == "Input")
    assert sheet.print_title_rows == f"${head}:${head}"
    for _, value, unit, *_ in sheet.iter_rows(min_row=head + 1):
        assert not unit.value or '"' not in value.number_format


def test_a_scenario_of_a_found_plan_is_named_after_the_chips_that_prefill_alone(tmp_path):
    """Of two plans that decode on four chips, the one with two more that prefill is named so, and not by a number."""
    path = tmp_path / "plan.xlsx"
    command("optimize", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=4", "batch=12",
            "serve_tensor=4", "prefill_tensor=2", "--alone", "--over", "prefill_chips=0,2", "--top", "2",
            "--minimize", TOKEN, "--and", COST, "--workbook", str(path))  # fmt: skip
    names = {scenario.title for scenario in read_plan(path).scenarios}
    assert names == {"llama3-70b 4 h100-sxm", "llama3-70b 4 h100-sxm, prefill 2"}


def test_what_the_command_says_of_chips_and_the_context_is_there(tmp_path: Path) -> None:
    """A chip of which no plan passes has its line, and so has a context that is shorter than the sequences."""
    path = tmp_path / "found.xlsx"
    command("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "tpu-v6e", "--alone", "--minimize", COST,
            "--set", "n_chips=1", "prompt_len=1024", "context_len=1024", "--over", "batch=1..8*2",
            "--where", "decode_step_time_expected<=9ms", "-o", str(path))  # fmt: skip
    said = {row[0].value: str(row[1].value) for row in sheet_of(path, "Search").iter_rows(max_row=40) if row[0].value}
    assert said["No plan"].startswith("of llama3-8b on tpu-v6e passes; decode_step_time_expected<=9ms")
    assert said["Memory"].startswith("Memory is that of a context of 1,024 tokens, and")
