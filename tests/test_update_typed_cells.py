"""What `planner update` says that a person typed: what planner wouldn't have typed there itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest

from planner.compare.appended_rows import VALUES_ONLY
from planner.update.outcome import Updated, lines
from planner.update.update import update_file
from tests.backfills import backfill, measurement, rows
from tests.merges import planner
from tests.short_data import of_few_rows
from tests.test_update import GOLDEN
from tests.workbooks import CHIPS, MODELS, row_of, write_small

pytestmark = pytest.mark.usefixtures("few_cases")
SERVED = "llama3_70b_on_tpu_v6e"


@pytest.fixture(name="plan", scope="module")
def fixture_plan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The workbook that is built without a word, and while it is there one chip more than it has."""
    path = tmp_path_factory.mktemp("typed") / "plan.xlsx"
    with of_few_rows():
        planner("build", "-o", path)
    with of_few_rows(MODELS, (*CHIPS, "b200-sxm")):
        yield path


def named(done: Updated, sheet: str) -> set[str]:
    """What is said of a sheet's cells, without the column and the row."""
    return {text.partition("(")[2].rstrip(")") for text in done.typed if text.startswith(sheet)}


def test_what_planner_typed_is_no_person_s(plan: Path) -> None:
    """Of a workbook that nobody edited nothing is said to be typed: no default, no scenario that planner begins with,
    no ways that follow chips, and no case.
    """
    done, _ = update_file(plan, output=plan.with_name("unedited.xlsx"))
    assert done.is_needed
    assert done.typed == []
    assert not any("typed" in line for line in lines(done))


def test_what_a_person_typed_is_named(plan: Path) -> None:
    """Each with its name and what stands there, and only these, after a second update too; times are counted."""
    path = plan.with_name("edited.xlsx")
    write_small(path, ["llama3-70b"], ["tpu-v5p", "tpu-v5e", "tpu-v6e"], ["transformer"])
    book = openpyxl.load_workbook(path)
    inputs, cases, chips = book["Inputs"], book["Comparison"], book["Hardware"]
    for name, column, value in (
        ("scenario_name", 7, "Ours"), ("model_id", 7, "llama3-8b"), ("context_len", 6, 32), ("context_len", 8, "=2*48"),
        ("d_ff", 7, 3e4), ("relative_tolerance", 4, 1e-5),
    ):  # fmt: skip
        inputs.cell(row_of(book, "Inputs", name), column).value = value
    inputs.cell(row_of(book, "Inputs", "kv_dtype"), 6).value = None
    columns = {cases.cell(5, column).value: column for column in range(1, cases.max_column + 1)}
    for row, name, value in ((7, "tokens", 300), (8, "measured_time", 1e-5), (9, "note", "strange"),
                             (7, "note", VALUES_ONLY), (10, "hardware_id", "h100-sxm")):  # fmt: skip
        cases.cell(row, columns[name]).value = value
    blank = next(cell for cell in chips[6] if cell.value is None)
    blank.value = 5
    chips.cell(7, next(cell.column for cell in chips[5] if cell.value == "hbm_bandwidth")).value = 1.5e12
    book.save(path)
    done, _ = update_file(path)
    values = {"scenario_name: Ours", "model_id: llama3-8b", "context_len: 32", "context_len: =2*48", "d_ff: 30000"}
    assert named(done, "Inputs") == values | {"relative_tolerance: 1e-05"}
    assert named(done, "Comparison") == {
        "case Matmul 1 x 300 x 256 x 256 bf16",
        "note: strange",
        "hardware_id: h100-sxm",
    }
    ids = [chips.cell(row, 1).value for row in (6, 7)]
    assert named(done, "Hardware") == {
        f"{ids[0]} {chips.cell(5, blank.column).value}: 5",
        f"{ids[1]} hbm_bandwidth: 1.5e+12",
    }
    assert "Kept also: 1 measured time" in lines(done)
    assert [text.partition(" ")[2] for text in done.cleared] == ["(kv_dtype)"]
    with of_few_rows():
        again, _ = update_file(path)
    assert set(done.typed) <= set(again.typed)


def test_without_a_memory_defaults_are_no_person_s(tmp_path: Path) -> None:
    """Of a workbook of version 0.1.0, which doesn't remember, only what planner would type otherwise now is listed."""
    with of_few_rows():
        done, _ = update_file(GOLDEN / "default.xlsx", output=tmp_path / "plan.xlsx")
    assert named(done, "Inputs") == {"weight_dtype: int8", "kv_dtype: int8"}


def test_an_update_brings_the_formulas_of_values_and_takes_their_note_away(plan: Path) -> None:
    """A collective of a chip of one's own, backfilled where the sheet has none: without a prediction, which is said;
    with one after an update, and without the note."""
    path, mine = plan.with_name("collective.xlsx"), "my-chip"
    write_small(path, ["llama3-70b"], ["tpu-v5e"], ["transformer"])
    book = openpyxl.load_workbook(path)
    table = book["Hardware"]
    ids = {table.cell(row, 1).value: row for row in range(6, table.max_row + 1) if table.cell(row, 1).value}
    source, added = ids["tpu-v5e"], max(ids.values()) + 1
    for column in range(1, table.max_column + 1):
        table.cell(added, column).value = table.cell(source, column).value
    table.cell(added, 1).value = mine
    book.save(path)
    key = "collective|array_bytes=4194304,axis_size=4,collective=all_gather"
    said = backfill(path, measurement(key, 1e-3, hardware_id=mine)).output
    assert f"1 new row has no prediction for {mine}, a chip of your own: planner update brings their formulas" in said
    assert rows(path)[-1].number_in("predicted_time") is None
    update_file(path)
    row = next(row for row in rows(path) if row.text("hardware_id") == mine)
    assert row.number_in("predicted_time")
    assert row.text("note") == ""
