"""A report leads with what to expect: cards, tables, what the expected times are made of, and runs alike."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from planner.catalog.databases import Databases
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.formulas.headlines import RANGE
from planner.formulas.lookups import facts
from planner.report.contents import ReportData
from planner.report.documents import html, markdown
from planner.report.exports import as_csv
from planner.workbook.scenarios import plan_of
from tests.reports import default_workbook, reported, small_workbook
from tests.short_data import of_few_rows
from tests.workbooks import build_small, write_small


@pytest.fixture(scope="module")
def default() -> ReportData:
    """The report of the default workbook."""
    return reported(default_workbook())


def test_what_the_report_has(default: ReportData) -> None:
    """Title, date, hashes, sources, what fits and binds, sweeps, cases and pictures of the default workbook."""
    assert default.title == "llama3-70b on tpu-v5e, tpu-v6e, h100-sxm and tpu-v5p"
    assert [scenario.fits for scenario in default.scenarios] == [True] * 4
    assert all(scenario.binds for scenario in default.scenarios)
    (served,) = default.scenarios[0].memory
    assert (served.what, served.needed.cell.partition("!")[0]) == ("serving", "Inference")
    assert served.needed.value < served.room.value
    assert {picture.id for picture in default.pictures} >= {
        "expected-inference", "expected-training", "memory-serving", "memory-training",
        "latency-throughput", "roofline",
    }  # fmt: skip
    assert len(default.file_digest) == 64
    digests = {source.what: source.detail for source in default.sources if source.kind == "file"}
    assert {"models.csv", "accelerators.csv"} <= digests.keys()
    assert {len(digest) for digest in digests.values()} == {64}  # and nothing else that Cover has below them
    assert any(source.what.startswith("tpu-v5e") for source in default.sources)
    assert default.sweeps
    assert "Nothing is measured" in default.accuracy
    assert not default.warnings
    assert not default.typed


def test_a_shipped_calibration_with_numbers_of_ones_own_is_told(tmp_path: Path) -> None:
    """A card names the file and its numbers, and no range is one of published runs; without the file it is.

    The id is the shipped one, so that only the source in the workbook tells.
    """
    mine = tmp_path / "mine.csv"
    mine.write_text("calibration,parameter,value\ntpu-v5e,hbm_efficiency,0.5\n", encoding="utf-8")
    with of_few_rows(("llama3-8b",), ("tpu-v5e",)):
        plan = plan_of(("llama3-8b",), ("tpu-v5e",), ("inference",), None, (), Databases(calibrations_csv=mine))
        (path := tmp_path / "plan.xlsx").write_bytes(build_small(plan))
    found, usual = reported(path), reported(small_workbook())
    told = "The calibration tpu-v5e has numbers of yours, from mine.csv: hbm_efficiency."
    assert told in found.scenarios[0].notes
    assert not any("yours" in note for note in usual.scenarios[0].notes)
    assert (found.of_runs, usual.of_runs) == ("80 % of runs", "80 % of published runs")


def test_assumptions_have_the_calibrated_numbers_that_results_depend_on() -> None:
    """By evaluation: a calibrated number that isn't listed changes no result of the plan, and one of those listed does.

    So a dense model's plan has none of experts or sparse attention.
    """
    (section,) = [each for each in reported(small_workbook()).assumptions if each.title.startswith("Looked up")]
    listed = {line.name for line in section.lines}
    template = library.load("inference")
    known = facts(template, "llama3-8b", "tpu-v5e")

    def results(**typed: float) -> dict[str, object]:
        found = evaluate(template, known, with_followers(template, {"n_chips": 4, **typed}))
        return {row.name: found.value(row.name) for row in template.of_kind("output", "check")}

    usual = results()
    names = [row.name for row in template.of_kind("calibration") if not row.name.endswith(RANGE)]
    plan = evaluate(template, known, with_followers(template, {"n_chips": 4}))
    moves = {name for name in names if results(**{name: (plan.number(name) or 0) * 1.5 + 1e-3}) != usual}
    assert "serve_matmul_efficiency" in moves & listed
    assert moves <= listed
    experts = {"serve_expert_overhead", "narrow_expert_overhead", "expert_layer_host_time", "sparse_attention_heads"}
    assert not experts & listed


def test_cards_lead_with_the_expected(default: ReportData) -> None:
    """Each scenario has the expected numbers of what it is meant for, in their range, no better than the bound."""
    kinds = [[each.name for each in scenario.expected] for scenario in default.scenarios]
    assert {names[0] for names in kinds[:3]} == {"decode_step_time_expected"}
    assert kinds[3][0] == "step_time_expected"
    for scenario in default.scenarios:
        for each in scenario.expected:
            assert each.low.value <= each.expected.value <= each.high.value
            is_rate = each.unit in ("%", "1/s")
            assert each.expected.value <= each.bound.value if is_rate else each.expected.value >= each.bound.value


def test_a_training_run_is_told_nothing_of_serving(default: ReportData) -> None:
    """Notes are of what a scenario is meant for: a prompt longer than the context is none of training's."""
    assert not [note for note in default.scenarios[3].notes if "prompt" in note]


def test_a_plan_has_one_answer(default: ReportData) -> None:
    """What the card of a scenario says is what the template gives for the same model, chip and inputs."""
    template = library.load("inference")
    (typed,) = (section for section in default.assumptions if section.title == "Inputs")
    inputs = {line.name: line.figures[2].value for line in typed.lines}
    given = {row.name: inputs[row.name] for row in template.of_kind("input") if row.name in inputs}
    results = evaluate(template, facts(template, "llama3-70b", "h100-sxm"), given)
    for each in default.scenarios[2].expected:
        assert each.expected.value == pytest.approx(results.value(each.name), rel=1e-9)


def test_no_other_number_passes_for_the_answer(default: ReportData) -> None:
    """Rows of Dashboard in which nothing is lost say so; expected rows and their ranges aren't told twice."""
    lines = {line.name: line.label for section in default.headlines for line in section.lines if line.name}
    for name in ("decode_step_time", "mfu", "train_time", "train_cost", "cost_per_million_tokens"):
        assert "bound" in lines.get(name, "bound").lower(), name
    assert {each.name for scenario in default.scenarios for each in scenario.expected}.isdisjoint(lines)


def test_the_bars_end_at_the_expected(default: ReportData) -> None:
    """The parts of a scenario's bar sum to the expected time of its card; the drawing has them and their range."""
    pictures = {picture.id: picture for picture in default.pictures}
    for name, places in (("expected-inference", (0, 1, 2)), ("expected-training", (3,))):
        picture, drawn = pictures[name], 0
        for at in places:
            scenario = default.scenarios[at]
            *parts, last = [row[2].value for row in picture.table.rows if row[0].value == scenario.id]
            assert sum(parts) == pytest.approx(scenario.expected[0].expected.value, rel=1e-9)
            assert last == scenario.expected[0].expected.value
            drawn += len(parts) + 2  # the scenario's mark has no words; the range has
        points = [
            each for each in ElementTree.fromstring(picture.svg).iter() if each.get("class", "").endswith("point")
        ]
        assert len([each for each in points if len(each)]) == drawn - len(places)


def test_what_it_depends_on_names_checks_in_words(default: ReportData) -> None:
    """A step that would break a check says which, by the label that the list of checks has and not its machine name."""
    tables = [each.table for each in default.pictures if each.id.startswith("depends-") and each.table]
    notes = [row[-1].text for table in tables for row in table.rows if " fails " in row[-1].text]
    assert notes
    assert not any("check_" in note or "_memory" in note for note in notes), notes


def test_electricity_is_priced_by_the_kilowatt_hour(default: ReportData) -> None:
    """Nobody pays $8e-05 for a watt-hour."""
    lines = [line for section in default.assumptions for line in section.lines if line.name == "electricity_price"]
    assert [line.figures[0].text for line in lines] == ["$0.08/kWh"]


def test_runs_like_yours(default: ReportData) -> None:
    """Five published runs for each scenario of a template, in every format, with the numbers that they report."""
    tables = {table.title: table for table in default.near}
    assert {title: len(table.rows) for title, table in tables.items()} == {"Inference": 15, "Training": 5}
    for text in (html(default), markdown(default), as_csv(default)):
        for row in tables["Training"].rows:
            assert row[1].text in text.replace("\\", "")
    rows = csv.DictReader(io.StringIO(as_csv(default).lstrip("\N{ZERO WIDTH NO-BREAK SPACE}")))
    assert {row["section"] for row in rows} >= {"expected", "runs like yours"}


def test_a_chip_without_runs_is_told(default: ReportData) -> None:
    """A v5e that serves has no published runs; a v6e and an H100 have."""
    told = ["published runs" in " ".join(scenario.notes) for scenario in default.scenarios]
    assert told == [True, False, False, False]


def test_a_chip_of_another_kind_is_told(tmp_path: Path) -> None:
    """A CPU has the median of GPUs, and its range is one of GPUs: calc and the report say so."""
    write_small(path := tmp_path / "plan.xlsx", ("llama3-8b",), ("cpu-spr-8481c",), ("inference",))
    assert any("which is neither GPU nor TPU" in note for note in reported(path).scenarios[0].notes)


def test_what_is_expected_has_its_sources(default: ReportData) -> None:
    """Provenance names the calibration of each chip and the stack, with what they are fitted on, each source once."""
    fitted = {source.what: source.detail for source in default.sources if source.kind == "calibration"}
    assert set(fitted) == {"tpu-v5e", "tpu-v6e", "h100", "tpu-v5p"}
    assert re.search(r"fitted on runs of .*\bmpt\b.*\bvidur\b", fitted["h100"])
    assert len(re.findall(r"\bvidur\b", fitted["h100"])) == 1
    assert "default" in {source.what for source in default.sources if source.kind == "stacks"}
