"""A report is of the plan's workloads alone: each section, sweep, input and picture of the scenarios meant for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import planner
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.report.contents import Picture, ReportData, ScenarioSummary
from planner.report.figures import CellFigures
from planner.report.report_data import report_data
from planner.report.roofline_picture import roofline_pictures
from planner.xlsx.moved_parts import move
from planner.xlsx.moves import Moves, SheetMoves
from planner.xlsx.opc import Package
from tests.workbooks import few_rows, retype, write_scenarios, write_small

TRAINING_ONLY, SERVING_ONLY = {"optimizer", "remat", "batch_tokens"}, {"batch", "generate_len", "prompt_len"}


def told(report: ReportData) -> set[str]:
    """The names of the inputs that a report has."""
    return {line.name for section in report.assumptions if section.title == "Inputs" for line in section.lines}


def said(scenario: ScenarioSummary) -> tuple[object, ...]:
    """What a report says of a scenario's fit and times, without the cells that they stand in."""
    memory = [(each.what, each.fits, each.needed.value) for each in scenario.memory]
    return scenario.fits, memory, [(each.name, each.expected.value) for each in scenario.expected]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook that calculates both workloads; its scenario serves."""
    path: Path = tmp_path_factory.mktemp("both") / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["training", "inference"], n_chips=8, workload="inference")
    return path


@pytest.fixture(scope="module")
def serving(plan: Path) -> ReportData:
    """Its report."""
    return report_data(plan)


@pytest.fixture(scope="module")
def training(plan: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """The report of the same workbook with a scenario that trains."""
    return meant_for("training", plan, tmp_path_factory.mktemp("training"))


def meant_for(workload: str, plan: Path, folder: Path) -> ReportData:
    """The report of the same workbook with a scenario that is meant for another workload."""
    path = folder / "plan.xlsx"
    path.write_bytes(plan.read_bytes())
    retype(path, workload=workload)
    return report_data(path)


def test_a_sheet_of_another_name_is_of_its_template(plan: Path, serving: ReportData, tmp_path: Path) -> None:
    """Renamed sheets change nothing that a report says of its scenarios: what fits, and which workload is meant."""
    path = tmp_path / "renamed.xlsx"
    package = Package.read(plan)
    for name, called in (("Inference", "Serving 2027"), ("Training", "Lehrgang")):
        move(package, Moves({name: SheetMoves(called)}), [])
    package.write(path)
    found = report_data(path)
    assert list(map(said, found.scenarios)) == list(map(said, serving.scenarios))
    assert told(found) == told(serving)
    retype(path, "F", batch=1e6)
    (failed,) = (each for each in check(Package.read(path)).found if each.kind == "failed_check")
    assert ": Memory of a chip = " in failed.what


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """The report of a workbook whose first two scenarios serve, on a chip without a price and another.

    The third trains.
    """
    path, few = tmp_path_factory.mktemp("mixed") / "plan.xlsx", few_rows(("llama3-8b",), ("gb300", "h100-sxm"))
    rows = ("a,llama3-8b,gb300,inference,8", "b,llama3-8b,h100-sxm,inference,8", "c,llama3-8b,h100-sxm,training,8")
    write_scenarios(path, ["id,model,hardware,workload,n_chips", *rows], databases=few)
    return report_data(path)


def test_a_serving_plan_has_nothing_of_training(serving: ReportData) -> None:
    """A workbook that calculates both, whose scenario serves, is reported without training."""
    assert "Training" not in [section.title for section in serving.headlines]
    assert serving.sweeps
    assert not [sweep.title for sweep in serving.sweeps if "raining" in sweep.title]
    assert not [picture.id for picture in serving.pictures if "train" in picture.id]
    assert told(serving) >= SERVING_ONLY
    assert told(serving).isdisjoint(TRAINING_ONLY)


def test_a_training_plan_has_nothing_of_serving(training: ReportData) -> None:
    """And the reverse."""
    assert "Inference" not in [section.title for section in training.headlines]
    assert {sweep.title.partition(":")[0] for sweep in training.sweeps} == {"Training"}
    assert told(training) >= TRAINING_ONLY
    assert told(training).isdisjoint(SERVING_ONLY)
    assert not [picture.title for picture in training.pictures if picture.id == "memory-serving"]
    assert roofline(training).title.endswith(", training")


def test_a_scenario_of_both_workloads_says_what_binds_both(plan: Path, tmp_path: Path) -> None:
    """A scenario that is meant for training and for serving names what binds a step of each."""
    scenario = meant_for("all", plan, tmp_path).scenarios[0]
    assert {"Lower bound of a step", "Least decode step"} <= {what for what, _ in scenario.binds}


def test_a_mixed_plan_keeps_them_apart(mixed: ReportData) -> None:
    """Each section and picture has its own scenarios alone; an input is blank where a scenario doesn't read it."""
    meant = {section.title: section.meant for section in mixed.headlines}
    assert (meant["Inference"], meant["Training"], meant["Transformer"]) == ((0, 1), (2,), (0, 1, 2))
    for section in mixed.headlines:
        assert all(len(line.figures) == len(section.meant) for line in section.lines)
        assert all(len(numbers) == len(section.meant) for numbers in section.expected)
    (inputs,) = (section for section in mixed.assumptions if section.title == "Inputs")
    shown = {line.name: [bool(figure.text) for figure in line.figures] for line in inputs.lines}
    assert shown["batch"] == [True, True, False]
    assert shown["batch_tokens"] == [False, False, True]
    memory = next(picture for picture in mixed.pictures if picture.id == "memory-serving")
    assert [row[0].value for row in memory.table.rows] == [scenario.id for scenario in mixed.scenarios[:2]]


def roofline(report: ReportData) -> Picture:
    """The picture of the roofs."""
    return next(picture for picture in report.pictures if picture.id == "roofline")


def test_two_scenarios_of_one_chip_share_a_roof(mixed: ReportData) -> None:
    """Each chip has its own, however many scenarios it has."""
    assert re.search(r"Roofs: gb300 .+h100-sxm [\d.]+\sTFLOP/s/chip\.$", roofline(mixed).alt)
    assert [roofline(mixed).svg.count(f">{chip}</text>") for chip in ("gb300", "h100-sxm")] == [1, 1]


def test_scenarios_of_one_chip_share_a_roof(tmp_path: Path) -> None:
    """However many scenarios a chip has, the roofline has one line and one entry for it."""
    path, few = tmp_path / "plan.xlsx", few_rows(("llama3-8b",), ("h100-sxm",))
    rows = (f"s{at},S{at},llama3-8b,h100-sxm,{at}" for at in range(1, 12))
    write_scenarios(path, ["id,name,model,hardware,batch", *rows], ["inference"], few)
    (picture,) = roofline_pictures(CellFigures(read_plan(path)))
    assert re.search(r"Roofs: h100-sxm [\d.]+\sTFLOP/s/chip\.$", picture.alt)
    assert picture.svg.count(">h100-sxm</text>") == 1


def test_a_sweep_tells_once_what_is_always_the_same(mixed: ReportData) -> None:
    """A column that says the same in every row, or lacks its number in all, is a note below the table."""
    found = [sweep for sweep in mixed.sweeps if "nference" in sweep.title]
    assert found
    for sweep in found:
        assert not any("cost" in column.label for column in sweep.columns)
        assert any("has no price_per_chip_hour for gb300" in note for note in sweep.notes)
        for at in range(1, len(sweep.columns)):
            assert len({row[at].text for row in sweep.rows}) > 1, sweep.columns[at].label


def test_the_times_of_a_roofline_are_in_their_unit(serving: ReportData) -> None:
    """The sheet has them in ms, the report in SI units: all operations take about as long as the bound of a step."""
    table = roofline(serving).table
    assert table
    at = next(at for at, column in enumerate(table.columns) if column.name == "Time of all")
    total = sum(row[at].number for row in table.rows)
    bound = next(each.bound for each in serving.scenarios[0].expected if each.bound and each.bound.unit == "s")
    assert table.columns[at].unit == "s"
    assert total == pytest.approx(bound.number, rel=0.2)
    assert all(row[at].text.endswith(("ms", "us", "ns")) for row in table.rows)


@pytest.mark.parametrize("workload", ["serving", "training"])
def test_a_sweep_says_what_the_card_says(workload: str, request: pytest.FixtureRequest) -> None:
    """At the scenario's own inputs a sweep has the numbers of its card, in SI units and in words."""
    report: ReportData = request.getfixturevalue(workload)
    assert report.sweeps
    card = {each.name: each.expected for each in report.scenarios[0].expected}
    inputs = {line.name: line.figures[0].value for section in report.assumptions for line in section.lines}
    for sweep in report.sweeps:
        (row,) = (row for row in sweep.rows if row[0].value == inputs[sweep.columns[0].name])
        told = dict(zip((column.name for column in sweep.columns), row, strict=True))
        assert len(told.keys() & card.keys()) >= 4
        for name in told.keys() & card.keys():
            assert told[name].value == pytest.approx(card[name].value, rel=1e-9), name
            assert told[name].unit == card[name].unit
            assert told[name].text == card[name].text


def test_a_sweep_names_the_checks_that_fail(plan: Path, tmp_path: Path) -> None:
    """Each row of a sweep has the checks that fail in it, as the plan with its input typed has them; blank is none."""
    path = tmp_path / "plan.xlsx"
    typed = {"n_chips": 64, "n_microbatches": 4, "batch_tokens": 2**20}
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["training"], **typed)
    sweep = next(each for each in report_data(path).sweeps if each.columns[0].name == "batch_tokens")
    assert sweep.columns[-1].label == "Checks that fail"
    for tokens, *_, said in sweep.rows:
        found = planner.calc(
            "training", model="llama3-8b", hardware="h100-sxm", **typed | {"batch_tokens": tokens.value}
        )
        labels = [row.label for row, _ in found.failed]
        assert said.text.partition(" and ")[0] == "".join(labels[:1])
    first, own = sweep.rows[0], next(row for row in sweep.rows if row[0].value == 2**20)
    assert first[-1].text == "Every data way has a sequence of each microbatch"
    assert own[-1].text == ""
