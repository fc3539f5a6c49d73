"""A report is of the plan's workloads alone: each section, sweep, input and picture of the scenarios meant for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.report.contents import ReportData
from planner.report.gather import gather
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.workbooks import few_rows, smaller, write_small

TRAINING_ONLY, SERVING_ONLY = {"optimizer", "remat", "batch_tokens"}, {"batch", "generate_len", "prompt_len"}


def told(report: ReportData) -> set[str]:
    """The names of the inputs that a report has."""
    return {line.name for section in report.assumptions if section.title == "Inputs" for line in section.lines}


def test_a_serving_plan_has_nothing_of_training(tmp_path: Path) -> None:
    """A workbook that calculates both, whose scenarios all serve, is reported without training."""
    path = tmp_path / "plan.xlsx"
    chips, both = ["h100-sxm", "tpu-v5e"], ["training", "inference"]
    write_small(path, ["llama3-8b"], chips, both, n_chips=8, workload="inference")
    report = gather(path)
    assert "Training" not in [section.title for section in report.headlines]
    assert report.sweeps
    assert not [sweep.title for sweep in report.sweeps if "raining" in sweep.title]
    assert not [picture.id for picture in report.pictures if "train" in picture.id]
    assert told(report) >= SERVING_ONLY
    assert told(report).isdisjoint(TRAINING_ONLY)


def test_a_training_plan_has_nothing_of_serving(tmp_path: Path) -> None:
    """And the reverse."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], ["training", "inference"], workload="training")
    report = gather(path)
    assert "Inference" not in [section.title for section in report.headlines]
    assert {sweep.title.partition(":")[0] for sweep in report.sweeps} == {"Training"}
    assert told(report) >= TRAINING_ONLY
    assert told(report).isdisjoint(SERVING_ONLY)


def test_a_mixed_plan_keeps_them_apart(tmp_path: Path) -> None:
    """Each section and picture has its own scenarios alone; an input is blank where a scenario doesn't read it."""
    path, scenarios, few = tmp_path / "plan.xlsx", tmp_path / "s.csv", few_rows(("llama3-8b",), ("tpu-v5e", "h100-sxm"))
    rows = ("a,llama3-8b,tpu-v5e,inference", "b,llama3-8b,h100-sxm,inference", "c,llama3-8b,h100-sxm,training")
    scenarios.write_text("\n".join(["id,model,hardware,workload", *rows]))
    path.write_bytes(build(smaller(plan_of((), (), (), scenarios, (), few))))
    report = gather(path)
    meant = {section.title: section.meant for section in report.headlines}
    assert (meant["Inference"], meant["Training"], meant["Transformer"]) == ((0, 1), (2,), (0, 1, 2))
    for section in report.headlines:
        assert all(len(line.figures) == len(section.meant) for line in section.lines)
        assert all(len(numbers) == len(section.meant) for numbers in section.expected)
    (inputs,) = (section for section in report.assumptions if section.title == "Inputs")
    shown = {line.name: [bool(figure.text) for figure in line.figures] for line in inputs.lines}
    assert shown["batch"] == [True, True, False]
    assert shown["batch_tokens"] == [False, False, True]
    serving = next(picture for picture in report.pictures if picture.id == "memory-serving")
    assert [row[0].value for row in serving.table.rows] == [scenario.id for scenario in report.scenarios[:2]]


@pytest.mark.parametrize("count", [2, 11])
def test_scenarios_of_one_chip_share_a_roof(tmp_path: Path, count: int) -> None:
    """However many scenarios a chip has, the roofline has one line and one entry for it."""
    path = tmp_path / "plan.xlsx"
    scenarios, few = tmp_path / "scenarios.csv", few_rows(("llama3-8b",), ("h100-sxm",))
    rows = (f"s{at},S{at},llama3-8b,h100-sxm,{at}" for at in range(1, count + 1))
    scenarios.write_text("\n".join(["id,name,model,hardware,batch", *rows]) + "\n")
    path.write_bytes(build(smaller(plan_of((), (), ("inference",), scenarios, (), few))))
    picture = next(picture for picture in gather(path).pictures if picture.id == "roofline")
    assert re.search(r"Roofs: h100-sxm [\d.]+\sTFLOP/s/chip\.$", picture.alt)
    assert picture.svg.count(">h100-sxm</text>") == 1


def test_a_sweep_tells_once_what_is_always_the_same(tmp_path: Path) -> None:
    """A column that says the same in every row, or lacks its number in all, is a note below the table."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["gb300"], ["inference"], n_chips=8)
    for sweep in gather(path).sweeps:
        assert not any("cost" in column.label for column in sweep.columns)
        assert any("has no price_per_chip_hour for gb300" in note for note in sweep.notes)
        for at in range(1, len(sweep.columns)):
            assert len({row[at].text for row in sweep.rows}) > 1, sweep.columns[at].label


@pytest.mark.parametrize("template", ["inference", "training"])
def test_a_sweep_says_what_the_card_says(tmp_path: Path, template: str) -> None:
    """At the scenario's own inputs a sweep has the numbers of its card, in SI units and in words."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["h100-sxm"], [template], n_chips=8)
    report = gather(path)
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
