"""A CSV of one kind given where another is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import data
from tests.commands import command, refused

SCENARIOS = "scenario,model,hardware,batch\na,llama3-8b,h100-sxm,8\n"
RUNS = "id,kind,template,model,hardware,settings,output,measured,source\n"
MEASUREMENTS = "case_key,hardware_id,t_median\n"
CALIBRATIONS = "calibration,parameter,value\nmine,layer_overhead,3e-5\n"


def shipped(name: str) -> str:
    """The text of a shipped database."""
    return (data.folder(name.partition("/")[0]) / name.partition("/")[2]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--scenarios", "model_db/models.csv", "models, which --models reads"),
        ("--scenarios", "hardware_db/accelerators.csv", "accelerators, which --hardware-csv reads"),
        ("--scenarios", RUNS, "runs, which planner validate or planner fit reads"),
        ("--scenarios", RUNS.replace("measured", "measurd"), "runs, which planner validate or planner fit reads"),
        ("--scenarios", MEASUREMENTS, "measurements, which planner backfill or planner fit reads"),
        ("--models", SCENARIOS.replace("scenario,", "scenaro,"), "scenarios, which --scenarios reads"),
        ("--scenarios", CALIBRATIONS, "calibrations, which --calibrations reads"),
        ("--models", "hardware_db/accelerators.csv", "accelerators, which --hardware-csv reads"),
        ("--models", SCENARIOS, "scenarios, which --scenarios reads"),
        ("--hardware-csv", "model_db/models.csv", "models, which --models reads"),
        ("--calibrations", "model_db/models.csv", "models, which --models reads"),
    ],
)
def test_what_a_file_looks_like_is_said(tmp_path: Path, option: str, text: str, said: str) -> None:
    """With the option that takes it, in place of the columns that are missing."""
    path = tmp_path / "given.csv"
    path.write_text(shipped(text) if text.endswith(".csv") else text, encoding="utf-8")
    words = ("build", *(() if option == "--scenarios" else ("llama3-8b", "-H", "h100-sxm")))
    found = refused(*words, option, path, "-o", tmp_path / "x.xlsx")
    assert f"this looks like a CSV of {said}" in found


def test_what_is_of_the_wanted_kind_keeps_its_own_error(tmp_path: Path) -> None:
    """Models without a required column, and scenarios with an unknown one, aren't told what they look like."""
    path = tmp_path / "given.csv"
    path.write_text("id,n_layers,d_model\na,2,256\n", encoding="utf-8")
    build = ("build", "llama3-8b", "-H", "h100-sxm", "-o", tmp_path / "x.xlsx")
    assert "looks like" not in refused(*build, "--models", path)
    path.write_text(
        "scenario,model,hardware,bacth,hbm_bytes,hbm_bandwidth\na,llama3-8b,h100-sxm,8,,\n", encoding="utf-8"
    )
    assert "did you mean batch?" in refused("build", "--scenarios", path, "-o", tmp_path / "x.xlsx")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RUNS, "runs, which planner validate or planner fit reads"),
        (RUNS.replace("measured", "measurd"), "runs, which planner validate or planner fit reads"),
        (SCENARIOS, "scenarios, which --scenarios reads"),
        ("hardware_db/accelerators.csv", "accelerators, which --hardware-csv reads"),
    ],
)
def test_backfill_says_what_it_was_given(tmp_path: Path, text: str, said: str) -> None:
    """A CSV of another kind in place of measurements; the workbook isn't read then."""
    path = tmp_path / "given.csv"
    path.write_text(shipped(text) if text.endswith(".csv") else text, encoding="utf-8")
    book = tmp_path / "plan.xlsx"
    book.write_bytes(b"")
    assert f"this looks like a CSV of {said}" in refused("backfill", book, path)


def test_measurements_are_no_runs(tmp_path: Path) -> None:
    """`validate` says which command takes them; `backfill` with its files swapped says their order."""
    path = tmp_path / "given.csv"
    path.write_text(MEASUREMENTS, encoding="utf-8")
    said = "this looks like a CSV of measurements, which planner backfill or planner fit reads"
    assert said in refused("validate", path)
    book = tmp_path / "plan.xlsx"
    book.write_bytes(b"PK")
    assert "name the workbook first" in refused("backfill", path, book)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("trian", "unknown kind 'trian', did you mean train?; write one of train, static, prefill, decode, tpot, "),
        ("zzz", "unknown kind 'zzz'; write one of train, static, "),
    ],
)
def test_an_unknown_kind_of_run_is_refused(tmp_path: Path, kind: str, says: str) -> None:
    """With its place and the known ones; a blank one is that of the template."""
    path = tmp_path / "runs.csv"
    row = "a,{},training,llama3-8b,h100-sxm,n_chips=8 batch_tokens=131072 seq_len=4096,step_time_expected,3,mine\n"
    path.write_text(RUNS + row.format(kind))
    assert f"{path}, line 2, column kind: {says}" in refused("validate", path)
    path.write_text(RUNS + row.format(""))
    assert "1 run of" in command("validate", path)
