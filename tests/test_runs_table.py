"""Runs of the plan itself: recorded beside what was expected, and kept through all that is done to a workbook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

from planner.compare.comparison_sheet import find
from planner.compare.runs_table import RecordedRun
from planner.formulas.library import load
from planner.measure.records import case_key
from planner.scenario.record import said
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import printed
from tests.backfills import backfill, measurement
from tests.commands import command, invoked, printed_by, refusal, refused, run, untouched
from tests.libreoffice import converted, needs_libreoffice, recalculated
from tests.recorded_runs import ID, SERVES, SIZES, fixture_plan, fixture_serves, record, runs, said_on_dashboard  # noqa: F401
from tests.workbooks import cached, edit, few_rows, retype, smaller, write_small, write_small_plan


def test_a_run_of_another_chip_is_refused(plan: Path) -> None:
    """A run is recorded of the scenario's own chip alone, whatever its letters' case; nothing is written else."""
    with untouched(plan):
        assert "is a plan of " in refusal(record(plan, "--time", "1ms", "-H", "a100-sxm-80"))
    assert record(plan, "--time", "1ms", "-H", "TPU-v5e").exit_code == 0
    assert record(plan, "--time", "1ms", "-H", "TPU v5e").exit_code == 0


@pytest.mark.parametrize("device", ["TPU v6 lite", "tpu-v6e", "NVIDIA H100 80GB HBM3", "A100", "NVIDIA H100"])
def test_a_run_on_another_device_is_refused(plan: Path, device: str) -> None:
    """--device that names another chip, as its driver, as planner or as people call it, is refused as -H is; nothing is
    written. The chip's own device is taken, and one that nobody knows."""
    with untouched(plan):
        said = refusal(record(plan, "--time", "9ms", "--device", device))
        assert f"tpu_v5e is a plan of tpu-v5e, and {device} is said to have run it; " in said
    for own in ("TPU v5 lite", "our rack 7", "tpu-v5"):
        assert record(plan, "--time", "9ms", "--device", own).exit_code == 0


def matmul(size: int) -> str:
    """The key of a matmul that no workbook starts with."""
    return case_key("matmul", load("matmul").inputs({"tokens": 8.0, "d_in": float(size), "d_out": 8.0}))


def test_a_run_lands_beside_what_was_expected_of_it(serves: Path) -> None:
    """Its row has the plan's expected time, range and bound of that day, inputs and chip, and a live ratio."""
    plan = serves
    done = record(plan, "--time", "9ms", "--note", "with our own kernel", "--device", "TPU v5 lite", scenario=SERVES)
    (run,) = runs(plan)
    assert (run.scenario, run.chip, run.row, run.unit) == (SERVES, "tpu-v5e", "decode_step_time_expected", "ms")
    assert run.measured == pytest.approx(0.009, rel=1e-12)
    assert (run.note, run.device) == ("with our own kernel", "TPU v5 lite")
    assert run.inputs is not None
    assert run.inputs["n_chips"] == 4.0
    assert run.low is not None
    assert run.low < (run.expected or 0.0)
    numbers = [value for value in cached(plan)["Comparison"].values() if isinstance(value, float)]
    assert any(value == pytest.approx(run.ratio, rel=1e-12) for value in numbers)
    assert f"{run.ratio:.3g} times the expected" in done.output


def test_later_edits_of_the_plan_leave_a_run_as_it_was(plan: Path) -> None:
    """What it was compared with is typed: another batch moves the plan, and not the run."""
    record(plan, "--time", "9ms")
    before = runs(plan)
    retype(plan, tokens=7000)
    command("recalc", str(plan))
    record(plan, "--time", "9ms")
    after = runs(plan)
    assert after[0] == before[0]
    assert after[1].expected != before[0].expected
    assert (after[1].inputs or {})["tokens"] == 7000


@pytest.mark.parametrize(
    ("words", "row", "number"),
    [
        (("--tokens-per-second", "800"), "output_tokens_per_second_expected", 800.0),
        (("--time", "12ms", "--of", "time_per_output_token"), "time_per_output_token_expected", 0.012),
        (("--time", "2 s", "--of", "Time to first token, without load"), "time_to_first_token_expected", 2.0),
        (("--time", "30s", "--of", "static_batch_time"), "static_batch_time_expected", 30.0),
        (("--time", "12ms", "--of", "tpot"), "time_per_output_token_expected", 0.012),
        (("--time", "12ms", "--of", "ITL"), "time_per_output_token_expected", 0.012),
        (("--time", "2 s", "--of", "TTFT"), "time_to_first_token_expected", 2.0),
        (("--time", "9ms", "--of", "step_time"), "decode_step_time_expected", 0.009),
        (("--tokens-per-second", "800", "--of", "tps"), "output_tokens_per_second_expected", 800.0),
        (("--tokens-per-second", "800", "--of", "throughput"), "output_tokens_per_second_expected", 800.0),
    ],
)
def test_a_run_is_told_in_the_units_of_the_headlines(
    serves: Path, words: tuple[str, ...], row: str, number: float
) -> None:
    """Tokens a second, or the time of what --of names by name or label, or as people in the field call it."""
    record(serves, *words, scenario=SERVES)
    (run,) = runs(serves)
    assert run.row == row
    assert run.measured == pytest.approx(number, rel=1e-12)


def test_a_word_of_another_unit_says_with_which_option(serves: Path) -> None:
    """Tokens a second are no time, and a token's time is no rate: the refusal names the option that tells it."""
    said = refused("record", serves, "--scenario", SERVES, "--time", "2s", "--of", "tps")
    assert "tps is no time; tell it with --tokens-per-second N" in said
    said = refused("record", serves, "--scenario", SERVES, "--tokens-per-second", "800", "--of", "tpot")
    assert "tpot is no rate; tell it with --time TIME" in said


def test_of_what_is_no_row_the_headlines_are_told(serves: Path) -> None:
    """A word that resembles none: what a run is usually told of stands first, not a step's parts by the alphabet."""
    said = refused("record", serves, "--scenario", SERVES, "--time", "2s", "--of", "jitter")
    known = "decode_step_time_expected, time_per_output_token_expected, time_to_first_token"
    assert f"plans no jitter; known: {known}" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scenario", "tpu_v5", "--time", "1s"), f"did you mean {ID}"),
        (("--scenario", ID, "--mfu", "41%"), "plans no MFU"),
        (("--scenario", ID, "--mfu", "410%"), "is not a utilisation"),
        (
            ("--scenario", ID, "--mfu", "40"),
            "'40' is not a utilisation that a run has; write 40% or 0.4",
        ),
        (("--scenario", ID, "--tokens-per-second", "1e30"), "'1e30' is not tokens a second that a run has"),
        (("--scenario", ID, "--time", "1e-300"), "is not a time that a run has; give at least 1e-12"),
        (("--scenario", ID, "--time", "1e300s"), "is not a time that a run has; give at most 1e+10"),
        (("--case", "Matmul", "--time", "1e30"), "1e+30 s is above a year"),
        (("--scenario", ID, "--time", "0"), "'0' is not a time"),
        (("--scenario", ID, "--time", "-1s"), "is not a time"),
        (("--scenario", ID, "--time", "1s", "--of", "expcted_time"), "did you mean expected_time"),
        (("--scenario", ID, "--time", "1s", "--mfu", "3%"), "give one measured value"),
        (("--scenario", ID, "--case", "Matmul", "--time", "1s"), "a run is of a case or of a scenario"),
        (("--case", "Matmul", "--mfu", "3%"), "give one measured value"),
    ],
)
def test_what_is_no_run_is_refused(plan: Path, words: tuple[str, ...], message: str) -> None:
    """One line, code 2, and the file as it was."""
    with untouched(plan):
        done = refused("record", str(plan), *words)
        assert message in done


def test_the_only_scenario_needs_no_name(plan: Path, tmp_path: Path) -> None:
    """A workbook of one scenario takes a time alone; of two the ids are told, one of which is to be said."""
    assert "tpu-v5e" in run("record", str(plan), "--time", "9ms").output
    assert [each.measured for each in runs(plan)] == [0.009]
    two = write_small(tmp_path / "two.xlsx", [], ["tpu-v5e", "tpu-v5p"], ["matmul"], **SIZES)
    assert "it has 2 scenarios, and none is named; say --scenario ID: tpu_v5e, tpu_v5p" in refused(
        "record", str(two), "--time", "9ms"
    )
    unknown = refused("record", str(two), "--time", "9ms", "--of", "nosuch")
    assert "no scenario of it plans nosuch" in unknown  # whichever was run


def test_a_range_is_said_in_one_unit() -> None:
    """Beside a measured time of seconds an expected tenth of one is in ms, as the ends of its range are."""
    one = RecordedRun("a", "a", "inference", "x_expected", "First token", "ms", 9.0, 0.102, 0.0918, 0.12, 0.02, "today")
    assert said(one).endswith(" times the expected 102 ms, outside of its range of 91.8 ms to 120 ms")
    near = replace(one, measured=0.11)
    assert said(near).endswith("110 ms, 1.08 times the expected 102 ms, within its range of 91.8 ms to 120 ms")


def test_what_is_far_off_is_said_in_units_of_its_own(plan: Path) -> None:
    """A time of minutes that should be milliseconds: the expected one is not a fraction of a minute."""
    said = run("record", str(plan), "--time", "10min").output.split("\n")[0]
    assert "10.0 min" in said
    assert said.count("min") == 1


def test_a_run_without_a_bound_has_its_column_s_formulas(serves: Path) -> None:
    """Below runs with one: its ratio to the bound shows nothing, and check finds nothing."""
    for of in ("tpot", "tpot", "tpot", "prefill_time"):
        record(serves, "--time", "1 s", "--of", of, scenario=SERVES)
    assert runs(serves)[-1].bound is None
    assert "findings" not in command("check", serves)


def test_a_run_that_beats_its_bound_is_flagged(plan: Path) -> None:
    """A time that the chip can't reach is most likely of another unit."""
    assert "flagged above_peak" in record(plan, "--time", "9us").output
    assert runs(plan)[0].flags == "above_peak"


def test_runs_make_room_for_cases(plan: Path) -> None:
    """More cases than there is room for above the runs: the table moves down, with what a person wrote beside it.

    A formula and a name of theirs that read a run still do, Dashboard's values are as before, runs go on below, and
    neither `check` nor `update` takes what moved for a person's edit.
    """
    record(plan, "--time", "9ms")
    before = find(Package.read(plan))
    (run,) = before.run_rows
    book = openpyxl.load_workbook(plan)
    book["Comparison"][f"A{run + 2}"] = "my remark"
    book["Comparison"].row_dimensions[run].height = 40
    book["Comparison"][f"C{run}"].comment = openpyxl.comments.Comment("slow, why?", "me")
    book.create_sheet("Mine")["A1"] = f"=Comparison!A{run}"
    book.defined_names["my_run"] = openpyxl.workbook.defined_name.DefinedName(
        "my_run", attr_text=f"Comparison!$A${run}"
    )
    book.save(plan)
    command("recalc", str(plan))
    told, n_cases = said_on_dashboard(plan, ID), len(before.rows)
    sizes = range(64, 64 + before.runs_title_row - before.rows[-1].number + 4)
    keys = [matmul(size) for size in sizes]
    assert backfill(plan, *(measurement(key, 1e-5) for key in keys)).exit_code == 0
    assert said_on_dashboard(plan, ID) == told
    assert [finding for finding in invoked("check", plan)[1].splitlines() if "Comparison" in finding] == []
    sheet = find(Package.read(plan))
    assert [row.number for row in sheet.rows] == [*range(before.rows[0].number, sheet.rows[-1].number + 1)]
    assert (len(sheet.rows), sheet.runs_title_row) == (n_cases + len(keys), sheet.rows[-1].number + 3)
    (run,) = sheet.run_rows
    book = openpyxl.load_workbook(plan)
    moved = book["Comparison"]
    assert (moved[f"A{run + 2}"].value, moved.row_dimensions[run].height) == ("my remark", 40)
    assert moved[f"C{run}"].comment.text == "slow, why?"
    assert book["Mine"]["A1"].value == f"=Comparison!A{run}"
    assert book.defined_names["my_run"].attr_text == f"Comparison!$A${run}"
    record(plan, "--time", "8ms")
    assert [each.measured for each in runs(plan)] == pytest.approx([0.009, 0.008])
    told = said_on_dashboard(plan, ID)
    updated, _ = update_file(plan)
    assert said_on_dashboard(plan, ID) == told
    assert "formulas" not in " ".join(line for line in lines(updated) if "Dashboard" in line)
    sheet = find(Package.read(plan))
    assert sheet.rows[-1].number <= sheet.sized_to < sheet.runs_title_row


def test_runs_are_printed(plan: Path) -> None:
    """Below the cases, from the labels of the table to the last run, each with its unit; not where a person prints
    other rows."""
    (cases,) = printed(Package.read(plan), "Comparison")
    for count in (1, 2):
        assert record(plan, "--time", "9ms").exit_code == 0
        sheet = find(Package.read(plan))
        still, area = printed(Package.read(plan), "Comparison")
        assert still == cases
        assert area == (sheet.runs_header - 1, sheet.columns["shape"], sheet.run_rows[-1], cases.right)
        assert len(sheet.run_rows) == count
    edit(plan, lambda book: setattr(book["Comparison"], "print_area", "A1:D8"))
    assert record(plan, "--time", "9ms").exit_code == 0
    assert list(map(str, printed(Package.read(plan), "Comparison"))) == ["A1:D8"]


def test_cases_below_the_runs_go_on_there(plan: Path) -> None:
    """A workbook that has measured cases below its runs keeps its rows: the next ones come below."""
    record(plan, "--time", "9ms")
    package = Package.read(plan)
    sheet = find(package)
    below = sheet.run_rows[-1] + 2
    values = {address(below, column): sheet.rows[0].value(name) for name, column in sheet.columns.items() if column < 9}
    package.replace(sheet.part, with_values(sheet.xml, {at: value for at, value in values.items() if value}))
    package.write(plan)
    keys = [matmul(size) for size in range(64, 200)]
    assert backfill(plan, *(measurement(key, 1e-3) for key in keys)).exit_code == 0
    after = find(Package.read(plan))
    assert after.run_rows == sheet.run_rows
    assert after.rows[-1].number == below + len(keys)


def test_rows_and_columns_that_an_analyst_moves_take_the_runs_along(plan: Path) -> None:
    """Rows put above the runs and another name of the sheet: the next run joins the others."""
    record(plan, "--time", "9ms")
    book = openpyxl.load_workbook(plan)
    sheet = book["Comparison"]
    last = sheet.max_row
    sheet.move_range(f"A{last - 3}:{openpyxl.utils.get_column_letter(sheet.max_column)}{last}", rows=5, translate=True)
    sheet.title = "Measured"
    book.save(plan)
    record(plan, "--time", "8ms")
    assert [run.measured for run in runs(plan)] == pytest.approx([0.009, 0.008])
    assert find(Package.read(plan)).run_rows == (last + 5, last + 6)


def test_a_run_outlives_its_scenario_and_an_update(tmp_path: Path) -> None:
    """The scenario goes, and rows of a newer template come by a merge: its run stays as it was, without a remark."""
    own, plan, few = tmp_path / "mine.csv", tmp_path / "plan.xlsx", few_rows(("llama3-8b",), ("tpu-v5e",))
    rows = "name,label,unit,kind,formula,source,note\n.,Matmul,,include,matmul(),,\n"
    own.write_text(rows)
    sizes = [f"{name}={size}" for name, size in SIZES.items()]
    built = smaller(plan_of([], ["tpu-v5e"], [str(own)], None, sizes, few))
    plan.write_bytes(build(built))
    record(plan, "--time", "9ms")
    before = runs(plan)
    command("scenario", "add", str(plan), "big", "--set", "tokens=16384")
    done = command("scenario", "remove", str(plan), ID)
    assert "Comparison!" not in done
    own.write_text(rows + "twice,Twice the time,s,output,expected_time+expected_time,,\n")
    updated, _ = update_file(plan, [str(own)], few)
    assert "Mine: twice" in updated.new_rows
    assert runs(plan) == before
    record(plan, "--time", "16ms", scenario="big")
    assert [(run.scenario, run.row) for run in runs(plan)] == [(ID, "expected_time"), ("big", "expected_time")]
    assert runs(plan)[0] == before[0]


@pytest.mark.slow
@needs_libreoffice
def test_a_workbook_that_libreoffice_saved_takes_a_run(serves: Path, tmp_path: Path) -> None:
    """Its table goes on where it was, LibreOffice computes what Dashboard says of it, and an update keeps it."""
    record(serves, "--time", "9ms", scenario=SERVES)
    before, told = runs(serves), said_on_dashboard(serves)
    (saved,) = converted([serves], tmp_path / "saved")
    assert said_on_dashboard(saved) == told
    printed_by(record(saved, "--time", "8ms", scenario=SERVES))
    first, second = runs(saved)
    assert first.measured == pytest.approx(before[0].measured, rel=1e-14)
    assert second.measured == pytest.approx(0.008, rel=1e-14)
    command("update", str(saved))
    assert [run.measured for run in runs(saved)] == pytest.approx([0.009, 0.008], rel=1e-14)
    values = recalculated(saved, tmp_path)["Dashboard"].values()
    assert f"Decode step 8.00 ms, 2 runs; {0.008 / (second.expected or 1):.2f} x the " in " ".join(map(str, values))


@pytest.mark.parametrize(
    ("template", "row"), [("goodput", "step_time_expected"), ("fleet", "decode_step_time_expected")]
)
def test_a_time_is_that_of_a_step(tmp_path: Path, template: str, row: str) -> None:
    """A plan that leads with a whole run, or with a wait, is run by the step too: a clock tells no other time."""
    path = tmp_path / "plan.xlsx"
    plan = write_small_plan(path, ["llama3-8b"], ["tpu-v5e"], [template], n_chips=16)
    assert record(path, "--time", "2s", scenario=plan.scenarios[0].id).exit_code == 0
    assert [each.row for each in runs(path)] == [row]


def test_a_measured_number_isnt_called_expected(serves: Path) -> None:
    """A run of a row that no headline names is called by its label without the word expected."""
    said = record(serves, "--time", "400ms", "--of", "prefill_time", scenario=SERVES)
    assert "Prefill of one prompt 400 ms" in said.output
    assert [run.quantity for run in runs(serves)] == ["Prefill of one prompt"]
