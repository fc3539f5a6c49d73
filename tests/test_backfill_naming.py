"""What a row that backfill appends is called, whether its chip is known, and how record and measure mean a row."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.compare import comparison_cases as cases
from planner.compare import comparison_sheet as comparison
from planner.measure.records import parse_key
from planner.xlsx.opc import Package
from tests.backfills import backfill, keys, measurement, rows, typed_into
from tests.commands import printed_by, refusal, refused, run, untouched
from tests.test_backfill import MATMUL

UNKNOWN = "is not on Hardware"


def test_a_chip_that_the_workbook_lacks_is_said(plan: Path) -> None:
    """One line for each such chip: its rows, the closest known id, what follows; the row's prediction is N/A."""
    one, two = keys(plan)[1:3]
    chips = {one: "tpu-v5ee", two: "tpu-v5ee"}
    done = backfill(
        plan, *(measurement(key, hardware_id=chip) for key, chip in chips.items()), measurement(keys(plan)[0])
    )
    said = [line.strip() for line in done.output.splitlines() if UNKNOWN in line]
    assert done.exit_code == 0
    assert len(said) == 1
    assert said[0].startswith(
        "tpu-v5ee is not on Hardware: the prediction of 2 rows is N/A until it is; did you mean tpu-v5e"
    )
    assert rows(plan)[-1].number_in("predicted_time") is None


def test_a_chip_that_the_workbook_lacks_is_said_again(plan: Path) -> None:
    """A row that predicts nothing says so each time that it is timed, whether or not its cells change."""
    key = keys(plan)[1]
    for seconds in (1e-3, 1e-3, 2e-3):
        done = backfill(plan, measurement(key, seconds, hardware_id="tpu-v5ee"))
        assert done.output.count("tpu-v5ee is not on Hardware: the prediction of 1 row is N/A until it is") == 1


def test_a_chip_by_the_name_that_its_driver_has_is_told_by_its_id(plan: Path) -> None:
    """What nvidia-smi and JAX call a chip resembles no id."""
    done = backfill(plan, measurement(keys(plan)[1], hardware_id="NVIDIA H100 80GB HBM3"))
    assert "JAX calls h100-sxm so: write that as its hardware_id" in done.output


def test_a_key_that_is_none_is_told_with_its_line(plan: Path) -> None:
    """In the second row of the CSV: a label, whose key is told, and a text that nothing is called."""
    before, label = plan.read_bytes(), rows(plan)[2].text("case_label")
    for text, said in ((label, f"write its key, {keys(plan)[2]}"), ("whatever", "write the key of a case")):
        said = refusal(backfill(plan, measurement(keys(plan)[0]), measurement(text)))
        assert "line 3, column case_key: " in said
        assert said in said
    assert plan.read_bytes() == before


def test_a_chip_of_a_template_that_the_sheet_lacks_is_said(plan: Path) -> None:
    """A new row without a formula waits for nothing; its chip may be mistyped all the same."""
    done = backfill(plan, measurement("training|n_chips=4", hardware_id="tpu-v5ee"))
    assert "tpu-v5ee is not on Hardware; did you mean tpu-v5e" in done.output


def test_a_chip_that_the_workbook_has_is_not(plan: Path) -> None:
    """However its letters are written, for so the formula finds it; a row without a chip asks for none."""
    key = keys(plan)[1]
    done = backfill(plan, measurement(key, hardware_id="TPU-v6e"), measurement(MATMUL.format(768), hardware_id=""))
    assert "2 appended" in done.output
    assert UNKNOWN not in done.output


def test_the_chips_are_those_of_the_workbook(plan: Path) -> None:
    """Where Hardware was renamed, and an analyst has a chip of their own in it."""
    book = openpyxl.load_workbook(plan)
    book["Hardware"]["A60"].value = "our-chip"
    for row in book["Comparison"].iter_rows(min_row=6):
        for cell in row:
            if isinstance(cell.value, str) and cell.value.startswith("="):
                cell.value = cell.value.replace("Hardware!", "'Our chips'!")
    book["Hardware"].title = "Our chips"
    book.save(plan)
    key = keys(plan)[1]
    done = backfill(plan, measurement(key, hardware_id="our-chip"), measurement(key, hardware_id="tpu-v9"))
    assert "our-chip is not" not in done.output
    assert "tpu-v9 is not on Our chips: the prediction of 1 row is N/A until it is" in done.output


def test_a_new_row_is_called_as_its_case_is(plan: Path) -> None:
    """As the other row of the case; else as the listed case; else by what it is and its sizes."""
    sheet = comparison.find(package := Package.read(plan))
    package.replace(sheet.part, typed_into(sheet, sheet.rows[1].number, case_label="Our matmul"))
    package.write(plan)
    listed = next(case for case in cases.load("full") if case.label == "Matmul 2048 fp32")
    measured = [
        measurement(keys(plan)[1], hardware_id="tpu-v6e"), measurement(listed.key), measurement(MATMUL.format(768)),
    ]  # fmt: skip
    backfill(plan, *measured)
    assert [row.text("case_label") for row in rows(plan)[-3:]] == [
        "Our matmul", "Matmul 2048 fp32", "Matmul 1 x 768 x 768 x 768 bf16",
    ]  # fmt: skip


@pytest.mark.parametrize("suite", ["quick", "full"])
def test_every_listed_case_is_found_by_its_key(suite: str) -> None:
    """The label of each shipped case is what its own key gives."""
    for case in cases.load(suite)[::7]:
        assert cases.label_of(*parse_key(case.key)) == case.label


@pytest.fixture(scope="module")
def of_two_chips(built: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook in which one case has a row for each of two chips."""
    path: Path = tmp_path_factory.mktemp("two") / "plan.xlsx"
    path.write_bytes(built)
    backfill(path, measurement(keys(path)[2], hardware_id="tpu-v6e"))
    return path.read_bytes()


@pytest.fixture
def two_chips(plan: Path, of_two_chips: bytes) -> Path:
    """A copy of it."""
    plan.write_bytes(of_two_chips)
    return plan


def test_rows_of_one_case_say_how_to_choose(two_chips: Path) -> None:
    """The message names both rows with their chips, and what to type."""
    plan, key = two_chips, keys(two_chips)[2]
    done = run("record", str(plan), "--case", key, "--time", "1")
    last = rows(plan)[-1].number
    assert done.exit_code == 2
    assert f"means 2 rows; say more: rows {rows(plan)[2].number} (Matmul 512 bf16) on tpu-v5e, {last} (" in done.output
    assert f"; or choose by -H CHIP or row: --case {rows(plan)[2].number}\n" in done.output


@pytest.mark.parametrize(
    "words", [("KEY", "-H", "tpu-v6e"), ("Matmul 512 bf16", "-H", "TPU-v6e"), ("24",), ("row 24",)]
)
def test_record_chooses_among_rows(two_chips: Path, words: tuple[str, ...]) -> None:
    """By the chip, or by the number of the row."""
    plan, key = two_chips, keys(two_chips)[2]
    assert rows(plan)[-1].number == 24
    case, *more = (key if word == "KEY" else word for word in words)
    done = run("record", str(plan), "--case", case, "--time", "0.5", *more)
    assert "row 24 (Matmul 512 bf16) took 500 ms" in done.output
    assert rows(plan)[-1].number_in("measured_time") == 0.5
    assert rows(plan)[2].number_in("measured_time") is None


def test_a_chip_that_no_such_row_predicts_is_refused(plan: Path) -> None:
    """With the chips that they do predict."""
    done = refused("record", str(plan), "--case", "Matmul 512 bf16", "-H", "tpu-v4", "--time", "1")
    assert "no row called 'Matmul 512 bf16' is on tpu-v4; its rows are on tpu-v5e" in done


@pytest.mark.parametrize("text", ["nope", "qk_nope_dim", "tokens", "d_in", "dtype"])
def test_the_name_of_a_parameter_means_no_case(plan: Path, text: str) -> None:
    """Neither measure nor record take it, nor a part of a value: one line, with the nearest labels."""
    with untouched(plan):
        for command in (["measure", str(plan), "--case", text], ["record", str(plan), "--case", text, "--time", "1"]):
            done = refused(*command)
            assert "Matmul 128 bf16" in done or "Attention" in done, done


@pytest.mark.parametrize(
    ("text", "count"),
    [("mlp", 1), ("matmul_activation", 2), ("FP32", 6), ("d_ff=2048", 3), ("two adds", 2), ("4194304", 3)],
)
def test_what_means_a_case(plan: Path, text: str, count: int) -> None:
    """Its template, a whole value, a whole name=value, a part of its label, whatever the capitals."""
    listed = run("measure", str(plan), "--list", "--case", text).output.splitlines()
    assert len(listed) == count, listed


def test_a_whole_key_means_its_case(plan: Path) -> None:
    """That one alone."""
    for key in keys(plan)[::5]:
        assert [
            line.split("  ")[1] for line in run("measure", str(plan), "--list", "--case", key).output.splitlines()
        ] == [key]


@pytest.mark.parametrize(
    ("text", "seconds"), [("3ms", 0.003), ("250 us", 0.00025), ("1.2s", 1.2), ("7e-3", 0.007), ("40ns", 4e-8)]
)
def test_a_time_may_have_its_unit(plan: Path, text: str, seconds: float) -> None:
    """Seconds, or what stands behind the number; to the last digit."""
    assert run("record", str(plan), "--case", "MLP 256", "--time", text).exit_code == 0
    row = next(row for row in rows(plan) if row.text("case_label").startswith("MLP"))
    assert row.number_in("measured_time") == seconds


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--case", "MLP 256", "--time", "3 GB"),
            "'3 GB' is no time: GB is no unit of what is counted in s; write seconds",
        ),
        (("--case", " ", "--time", "1"), "--case is blank; give a row's label, its key or its number"),
        (("--case", "nothing like it", "--time", "1"), "plan.xlsx, sheet Comparison: no row is called"),
    ],
)
def test_what_record_refuses(plan: Path, words: tuple[str, ...], message: str) -> None:
    """One line without usage, that says what to do."""
    done = refused("record", str(plan), *words)
    assert message in done


def test_measure_refuses_a_blank_case(plan: Path) -> None:
    """It would mean all."""
    done = refused("measure", str(plan), "--list", "--case", "")
    assert "--case is blank" in done


def test_a_time_of_an_unknown_device_leaves_that_of_a_known_chip(plan: Path) -> None:
    """One line says what was left alone and how to say the device; the same device's next time is taken."""
    key = keys(plan)[0]
    backfill(plan, measurement(key, 1e-3))
    before = plan.read_bytes()
    for columns in ({"device_kind": "cpu"}, {"device_kind": "", "source": "manual"}):
        said = printed_by(backfill(plan, measurement(key, 5e-2, hardware_id="", **columns)))
        assert "0 updated, 0 appended, 0 unchanged, 1 skipped; nothing to write" in said
        assert "1 row holds a time of tpu-v5e and the new one's device isn't known to be that: left alone" in said
        assert plan.read_bytes() == before
    assert "1 updated" in backfill(plan, measurement(key, 2e-3, hardware_id="")).output  # by its device_kind the same
    assert rows(plan)[0].number_in("measured_time") == pytest.approx(2e-3)


def test_a_time_of_an_unknown_device_is_taken_where_there_is_none(plan: Path) -> None:
    """A row without a time, or with one of other hardware, takes it and is flagged."""
    key = keys(plan)[0]
    for seconds in (1e-3, 2e-3):
        done = backfill(plan, measurement(key, seconds, hardware_id="", device_kind="cpu"))
        assert "1 updated" in done.output
        assert "other_hardware" in rows(plan)[0].text("flags")


def test_a_chip_is_one_whatever_its_letters_case(plan: Path) -> None:
    """A time of TPU-V5E goes into the row of tpu-v5e: it gets no second row of the same prediction."""
    key = keys(plan)[1]
    row = next(each for each in rows(plan) if key in each.keys)
    done = backfill(plan, measurement(key, hardware_id=row.text("hardware_id").upper()))
    assert "1 updated, 0 appended" in done.output
    assert "other_hardware" not in done.output


def test_a_mistyped_chip_of_a_row_without_one_is_said(plan: Path) -> None:
    """The row predicts nothing and names no chip; the CSV's is no chip either, and a line says so."""
    sheet = comparison.find(package := Package.read(plan))
    row = sheet.rows[1]
    package.replace(sheet.part, typed_into(sheet, row.number, hardware_id=None))
    package.write(plan)
    done = backfill(plan, measurement(min(row.keys), hardware_id="tpu-v5ee"))
    assert "1 updated, 0 appended" in done.output
    assert "tpu-v5ee is not on Hardware; did you mean tpu-v5e" in done.output
