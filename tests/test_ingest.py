"""A profile in the workbook of its plan: the run, recognised cases, and the sheet Profile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from math import isnan
from pathlib import Path

import openpyxl
import pytest
from click.testing import Result

from planner.compare.checked_measurements import checked_measurements
from planner.compare.comparison_sheet import find
from planner.compare.runs_table import read as read_runs
from planner.errors import UserError
from planner.formulas.library import load
from planner.ingest import profile_sheet
from planner.ingest.decode_steps import no_decode_step
from planner.measure.records import case_key
from planner.profiles import reading
from planner.profiles.reading import read as read_profile
from planner.report.report_data import report_data
from planner.update.update import update_file
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from tests import sample_profile
from tests.backfills import backfill, measurement, rows
from tests.commands import printed_by, refusal, untouched
from tests.commands import run as command
from tests.workbooks import write_small

ID = "llama3_8b_on_tpu_v5p"


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample profile."""
    return sample_profile.write(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """The plan of its run."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["training"], n_chips=8, batch_tokens=65536, seq_len=8192)
    return path


@pytest.fixture
def light(tmp_path: Path) -> Path:
    """The smallest plan that a run may be of: a matmul on its chip."""
    return write_small(tmp_path / "light.xlsx", [], ["tpu-v5p"], ["matmul"], tokens=8192, d_in=4096, d_out=14336)


@pytest.fixture(scope="module")
def once(profile: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Result]:
    """The plan with the profile in it, and what was said, for all that look at it."""
    path = tmp_path_factory.mktemp("once") / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["training"], n_chips=8, batch_tokens=65536, seq_len=8192)
    done = ingest(profile, path, "--device", "tpu-v5p", "--note", "the first pod")
    return path.read_bytes(), done


@pytest.fixture
def landed(once: tuple[bytes, Result], tmp_path: Path) -> Path:
    """A copy of that plan."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(once[0])
    return path


@pytest.fixture(scope="module", autouse=True)
def profiles_read_once() -> Iterator[None]:
    """The sample profile is read once: what is asserted is what is made of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "read", cache(read_profile))
        yield


def ingest(profile: Path, plan: Path, *more: str) -> Result:
    """Put the profile into the plan."""
    return command("ingest", profile, "--into", plan, *more)


def lines(path: Path) -> dict[str, tuple[object, ...]]:
    """The first lines of the sheet Profile by their label: measured, unit, plan's, what that is, note."""
    sheet = openpyxl.load_workbook(path, read_only=True)["Profile"]
    found = {}
    for row in sheet.iter_rows(min_row=6, max_col=6, values_only=True):
        if row[0] is None:
            break
        found[row[0]] = row[1:]
    return found


def test_a_step_lands_beside_what_is_expected(landed: Path, once: tuple[bytes, Result]) -> None:
    """The median step of the slowest host is a run of the scenario, with its spread, number and chip."""
    (run,) = read_runs(find(Package.read(landed)))
    times = sorted(sample_profile.step_time(step) for step in range(sample_profile.STEPS))
    assert run.measured == pytest.approx((times[1] + times[2]) / 2, rel=1e-9)
    assert (run.scenario, run.row, run.samples, run.flags) == (ID, "step_time_expected", sample_profile.STEPS, "")
    assert (run.note, run.method) == ("the first pod", "profile")
    assert "within its range" in once[1].output
    assert "Warning" not in once[1].output


def test_recognised_operations_are_rows_with_a_prediction(plan: Path, once: tuple[bytes, Result]) -> None:
    """The matmuls and the collective of the sample, each shape once, with all its runs and what is predicted of it."""
    n_cases = len(rows(plan))
    plan.write_bytes(once[0])
    new = {(row.text("template"), row.number_in("d_out")): row for row in rows(plan)[n_cases:]}
    assert set(new) == {("matmul", 14336), ("matmul", 4096), ("matmul", 128256), ("collective", None)}
    matmul = new["matmul", 14336]
    assert matmul.number_in("measured_time") == pytest.approx(4.3e-3, rel=1e-6)
    assert matmul.number_in("n_samples") == 288 * sample_profile.STEPS * sample_profile.HOSTS
    assert matmul.number_in("flops") == 2 * 8192 * 4096 * 14336
    assert (matmul.text("hardware_id"), matmul.text("device")) == ("tpu-v5p", "tpu-v5p")
    gathered = new["collective", None]
    assert gathered.inputs["array_bytes"] == 14336 * 4096 * 2
    assert gathered.inputs["axis_size"] == 8
    assert gathered.number_in("measured_time") == pytest.approx(4.8e-3, rel=1e-6)


def test_each_first_line_stands_beside_the_plans_own_part(landed: Path) -> None:
    """The step, MFU on the plan's FLOPs, exposed communication, idle and the largest waste, counted by hand."""
    found = lines(landed)
    (run,) = read_runs(find(Package.read(landed)))
    assert run.expected is not None
    step = run.measured * 1e3
    assert found["Step time"][:3] == pytest.approx((step, "ms", run.expected * 1e3))
    measured, unit, planned = found["MFU on the plan's FLOPs"][:3]
    assert unit == "%"
    assert measured == pytest.approx(planned * run.expected / run.measured)  # type: ignore[operator]
    assert found["Exposed communication"][0] == pytest.approx(32 * 4.8)
    assert found["Exposed communication"][3] == "Communication that no work hides"
    assert found["Idle"][0] == pytest.approx(25.0)
    assert found["Gap 1"][0] == pytest.approx(25.0)
    efficiency = 2 * 8192 * 4096 * 14336 / 4.59e14 / 4.3e-3
    assert found["Largest waste"][0] == pytest.approx(288 * 4.3 * (1 - efficiency), rel=1e-3)
    assert "fusion.1" in str(found["Largest waste"][4])
    parts = {
        row[0].value: row[1].value
        for row in openpyxl.load_workbook(landed, read_only=True)["Profile"].iter_rows(max_col=2)
    }
    names = [name.capitalize() for name, _ in profile_sheet.PARTS]
    assert sum(parts[name] for name in names) == pytest.approx(parts["All of them"])
    assert parts["All of them"] == pytest.approx(step, rel=1e-3)


def test_a_profile_that_is_ingested_again_changes_its_sheet_alone(profile: Path, landed: Path) -> None:
    """No second run, no second row, no second sheet."""
    before = Package.read(landed)
    done = ingest(profile, landed, "--device", "tpu-v5p")
    after = Package.read(landed)
    assert "0 updated, 0 appended, 4 unchanged" in done.output
    assert list(after.sheets()) == list(before.sheets())
    assert len(read_runs(find(after))) == 1
    part = after.sheets()["Comparison"]
    assert after.parts[part] == before.parts[part]


def test_the_row_of_a_run_is_told_where_it_is_once_operations_have_come(profile: Path, light: Path) -> None:
    """In a Comparison that is full up to the runs, operations move them down; a run whose time was cleared counts."""
    command("record", light, "--scenario", "tpu_v5p", "--time", "9ms")
    before = find(Package.read(light))
    sizes = range(64, 64 + before.runs_title_row - before.rows[-1].number - 3)
    case = load("matmul").inputs({"tokens": 8.0, "d_out": 8.0, "d_in": 8.0})
    keys = (case_key("matmul", {**case, "d_in": float(size)}) for size in sizes)
    backfill(light, *(measurement(key, 1e-3, hardware_id="tpu-v5p") for key in keys))
    package = Package.read(light)
    sheet = find(package)
    assert sheet.run_rows == before.run_rows
    measured = next(column for column, cell in sheet.xml.row(sheet.runs_header).items() if cell.value == "run_measured")
    package.replace(sheet.part, with_values(sheet.xml, {address(sheet.run_rows[0], measured): None}))
    package.write(light)
    for _ in range(2):
        done = ingest(profile, light, "--device", "tpu-v5p")
        after = find(Package.read(light))
        assert after.run_rows[0] > before.run_rows[0]
        assert f"Comparison row {after.run_rows[1]}: " in done.output, done.output
        assert len(after.run_rows) == 2


def test_an_unknown_device_is_never_guessed(profile: Path, light: Path) -> None:
    """Without --device its run is marked and its operations stay out of the Comparison, whose rows predict a chip."""
    n_cases = len(rows(light))
    done = ingest(profile, light)
    (run,) = read_runs(find(Package.read(light)))
    assert run.flags == "unknown_device"
    assert len(rows(light)) == n_cases
    assert "say it with --device" in done.output


def test_another_chip_than_the_scenarios_is_marked(profile: Path, light: Path) -> None:
    """Its run is flagged, and its cases predict the chip that they ran on; the workbook keeps the rules."""
    n_cases = len(rows(light))
    ingest(profile, light, "--device", "tpu-v6e")
    (run,) = read_runs(find(Package.read(light)))
    assert "other_hardware" in run.flags
    measured, *_, note = lines(light)["MFU on the plan's FLOPs"]
    assert (measured, note) == (None, "the profile is of another chip than the plan, whose peak it would be of")
    assert {row.text("hardware_id") for row in rows(light)[n_cases:]} == {"tpu-v6e"}
    assert command("check", light).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--device", "tpu-v5q"), "tpu-v5p"),
        (("--scenario", "llama3_8b_on_tpu_v5"), f"did you mean {ID}"),
        (("--of", "decode_step_time"), "plans no decode_step_time"),
    ],
)
def test_what_is_wrong_is_one_line_and_writes_nothing(
    profile: Path, plan: Path, words: tuple[str, ...], message: str
) -> None:
    """An unknown chip, scenario or row: code 2, and the workbook as it was."""
    with untouched(plan):
        assert message in refusal(ingest(profile, plan, *words))


def test_a_prefill_is_no_decode_step(profile: Path, tmp_path: Path) -> None:
    """Steps of 8,192 tokens where the plan decodes 8 sequences are refused in one line until --of says what they are.

    Nothing is written before. Of a plan that decodes 1,024 together nothing tells that they are none.
    """
    path = write_small(tmp_path / "serving.xlsx", ["llama3-8b"], ["tpu-v5p"], ["inference"], n_chips=8, batch=8)
    with untouched(path):
        said = refusal(ingest(profile, path, "--device", "tpu-v5p"))
    assert "no decode steps: their matmuls are of 8,192 tokens or more, and the plan decodes 8 " in said
    assert "--of prefill_time" in said
    assert no_decode_step(read_profile(profile), {"batch": 1024.0}) == ""
    assert no_decode_step(read_profile(profile), {"batch": 1.0}).endswith("the plan decodes 1 sequence at a time")
    assert ingest(profile, path, "--device", "tpu-v5p", "--of", "prefill_time").exit_code == 0
    assert [run.row for run in read_runs(find(Package.read(path)))] == ["prefill_time_expected"]


def test_settings_of_a_workbook_want_one(profile: Path) -> None:
    """--scenario without --into is refused in one line."""
    assert "--into plan.xlsx" in refusal(command("ingest", profile, "--scenario", ID))


def test_a_write_that_fails_leaves_the_workbook_as_it_was(
    profile: Path, light: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a profile lands in one write: where the sheet can't be made, neither run nor cases are there."""

    def fail(*_: object) -> None:
        raise UserError("no room")

    monkeypatch.setattr("planner.workbook.added_sheet.put", fail)
    with untouched(light):
        assert ingest(profile, light, "--device", "tpu-v5p").exit_code == 2


def test_cases_go_into_a_csv_that_backfill_takes(profile: Path, tmp_path: Path) -> None:
    """Four rows with key, chip, median and count; without --device they are flagged, so that no fit uses them."""
    csv = tmp_path / "m.csv"
    command("ingest", profile, "--csv", csv, "--device", "tpu-v5p")
    found = checked_measurements(csv)
    assert {row.template for row in found} == {"matmul", "collective"}
    assert all(row.hardware_id == "tpu-v5p" and row.n_samples and not isnan(row.t_mad) for row in found)
    assert not any(row.flags for row in found)
    csv.unlink()
    command("ingest", profile, "--csv", csv)
    assert {row.flags for row in checked_measurements(csv)} == {"unknown_device"}


def test_the_report_has_a_section_of_the_profile(landed: Path) -> None:
    """Its lines are those of the sheet, in the units that people say; an empty one says why."""
    runs, table = report_data(landed).own
    assert (runs.title, table.title) == ("Your runs", "Profile")
    said = {row[0].text: row for row in table.rows}
    assert said["Exposed communication"][1].text == "154 ms"
    assert said["Steps"][1].text == "4"
    assert json.dumps(said["MFU on the plan's FLOPs"][1].text).endswith(' %"')


def test_what_is_printed_of_the_sheet_is_what_a_page_can_hold(landed: Path) -> None:
    """The columns that only a screen has room for are on no page, with a roofline or not; counts have no decimals."""
    names = Package.read(landed).parts["xl/workbook.xml"].decode()
    assert re.search(r"""_xlnm.Print_Area"[^>]*>'?Profile'?!\$A\$1:\$N\$\d+<""", names)
    sheet = openpyxl.load_workbook(landed, read_only=True)["Profile"]
    (chips,) = (row for row in sheet.iter_rows(max_row=40, max_col=4) if row[0].value == "Chips")
    assert {cell.number_format for cell in chips if isinstance(cell.value, int | float)} == {"#,##0"}
    assert chips[3].value == 8


@pytest.mark.parametrize("is_merge", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_sheet_survives_an_update(profile: Path, light: Path, is_merge: bool) -> None:
    """All is laid out anew, or sheets of a workload come: the sheet Profile, the run and the measured rows stay."""
    assert ingest(profile, light, "--device", "tpu-v5p").exit_code == 0
    before = lines(light), [row.number_in("measured_time") for row in rows(light)]
    if is_merge:
        assert command("scenario", "add", light, "serving", "--workload", "inference").exit_code == 0
    else:
        updated, _ = update_file(light)
        assert updated.is_needed
    assert (lines(light), [row.number_in("measured_time") for row in rows(light)]) == before
    assert len(read_runs(find(Package.read(light)))) == 1
    assert command("check", light).exit_code == 0


def test_scenarios_of_long_names_have_a_sheet_each(profile: Path, light: Path) -> None:
    """Names alike in the characters that a tab shows, or with some that it can't have, are kept apart."""
    names = ("llama3-70b on tpu-v5e bs32 a", "llama3-70b on tpu-v5e bs32 b", "v5p/16")
    for name in names:
        assert command("scenario", "add", light, name).exit_code == 0
    for scenario in ("tpu_v5p", *names, *names):
        printed_by(ingest(profile, light, "--device", "tpu-v5p", "--scenario", scenario))
    assert len([name for name in Package.read(light).sheets() if name.startswith("Profile")]) == 4


def test_the_greater_problem_comes_first(profile: Path, light: Path, tmp_path: Path) -> None:
    """A log, a result, a folder without a profile and an unknown row are told before which scenario it is a run of."""
    assert command("scenario", "add", light, "again").exit_code == 0
    (tmp_path / "log").write_text("completed step: 7, seconds: 1.25, TFLOP/s: 3\n", encoding="utf-8")
    (tmp_path / "result.json").write_text('{"median_tpot_ms": 12.5, "median_ttft_ms": 90}', encoding="utf-8")
    (tmp_path / "empty").mkdir()
    before = light.read_bytes()
    for name, told in (
        ("log", "planner record writes the time that it tells into a workbook: --time 1.25s"),
        ("result.json", "planner record writes the time that it tells into a workbook: --time 12.5ms --of tpot"),
        ("empty", "there is no profile in this folder"),
    ):
        assert told in ingest(tmp_path / name, light).output
    assert "no scenario of it plans nosuch" in ingest(profile, light, "--of", "nosuch").output
    assert "and none is named" in ingest(profile, light, "--of", "expected_time").output
    assert light.read_bytes() == before


def test_each_scenario_has_a_sheet_of_its_own(profile: Path, light: Path) -> None:
    """The second scenario's profile leaves the first one's; a newer one of it replaces its own."""
    assert command("scenario", "add", light, "again").exit_code == 0
    assert "it has 2 scenarios, and none is named" in ingest(profile, light, "--device", "tpu-v5p").output
    for scenario in ("tpu_v5p", "again", "again"):
        ingest(profile, light, "--device", "tpu-v5p", "--scenario", scenario)
    assert [name for name in Package.read(light).sheets() if name.startswith("Profile")] == ["Profile", "Profile_again"]
    assert [table.title for table in report_data(light).own] == ["Your runs", "Profile", "Profile of again"]
