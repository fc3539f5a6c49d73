"""`planner record`: a time of one's own run in its row, with the ratio and the MFU that follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from planner.compare.comparison_sheet import SHEET, TIME, find
from planner.xlsx.opc import Package
from tests.backfills import changed, keys, rows
from tests.commands import refusal, run, untouched
from tests.test_update_rows import take_column


def record(path: Path, key: str, seconds: str, *more: str) -> Result:
    """Run the command."""
    return run("record", path, "--case", key, "--time", seconds, *more)


def test_a_recorded_time_has_its_mfu_beside_it(plan: Path) -> None:
    """Found by its key; MFU is the work over time and peak; the note is kept; one part changes."""
    before = plan.read_bytes()
    done = record(plan, keys(plan)[3], "0.0001", "--note", "our own kernel")
    row = rows(plan)[3]
    assert row.number_in("mfu") == pytest.approx(2 * 1024**3 / (1e-4 * 197e12), rel=1e-9)
    assert "MFU 10.9 %" in done.output
    assert (row.text("note"), row.text("measured_source")) == ("our own kernel", "recorded by hand")
    assert len(changed(before, plan)) == 1


def test_a_label_will_do(plan: Path) -> None:
    """A part of it too, where it means one row."""
    assert "row 14 (Add 4M fp32) took 1.00 ms" in record(plan, "add 4m", "0.001").output


def test_a_short_time_is_told_in_its_unit(plan: Path) -> None:
    """Microseconds, and the small share of the peak, with three digits."""
    done = record(plan, keys(plan)[0], "0.00001234", "-H", "tpu-v5e").output
    assert "took 12.3 us" in done
    assert f"MFU {100 * 2 * 128**3 / (1.234e-5 * 197e12):.3f} %" in done


def test_a_key_in_another_order_will_do(plan: Path) -> None:
    """A whole key means its case however its inputs are ordered."""
    template, dtypes, sizes = keys(plan)[3].split("|")
    assert "row 9 " in record(plan, f"{template}|{sizes}|{dtypes}", "0.001").output


def test_a_chip_is_meant_as_elsewhere(plan: Path) -> None:
    """-H takes a chip's id without its punctuation, as the commands that calculate do."""
    assert record(plan, "Matmul 128 bf16", "0.001", "-H", "TPU v5e").exit_code == 0


def test_a_device_of_another_chip_is_refused(plan: Path) -> None:
    """--device names what ran the case: the row keeps it, and one that names another chip is refused."""
    with untouched(plan):
        said = refusal(record(plan, keys(plan)[3], "0.001", "--device", "TPU v6 lite"))
        assert "row 9 is of tpu-v5e, and TPU v6 lite is said to have run it" in said
    assert record(plan, keys(plan)[3], "0.001", "--device", "our rack 7").exit_code == 0
    assert rows(plan)[3].text("device") == "our rack 7"
    done = record(plan, keys(plan)[3], "0.001", "--of", "mfu")
    assert (done.exit_code, "--of is of a scenario" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("key", "seconds", "message"),
    [
        ("Matmul 128 bf17", "1", "did you mean Matmul 128 bf16"),
        ("bf16", "1", "say more: rows 6 (Matmul 128 bf16)"),
        ("Add 4M", "0", "0 s is no time"),
        ("Add 4M", "nan", "'nan' is no time"),
    ],
)
def test_what_means_no_row_or_no_time_is_refused(plan: Path, key: str, seconds: str, message: str) -> None:
    """One line, and the file as it was."""
    with untouched(plan):
        assert message in refusal(record(plan, key, seconds))


def test_a_time_that_no_chip_can_reach_is_flagged(plan: Path) -> None:
    """Faster than peak FLOP/s and bandwidth allow: recorded, flagged, and said; a possible time takes the flag off."""
    done = record(plan, keys(plan)[3], "1e-9")
    assert done.exit_code == 0
    assert "flagged above_peak" in done.output
    assert rows(plan)[3].text("flags") == "above_peak"
    assert rows(plan)[3].number_in("roofline_share") > 1.05
    assert "above_peak" not in record(plan, keys(plan)[3], "1").output
    assert rows(plan)[3].text("flags") == ""


def test_a_time_without_a_column_is_refused(plan: Path) -> None:
    """Where a person deleted the column of measured times, none is said to be written, and nothing is."""
    take_column(plan, SHEET, find(Package.read(plan)).columns[TIME])
    with untouched(plan):
        said = refusal(record(plan, "Matmul 128 bf16", "0.001"))
        assert "the column measured_time is missing; undo its deletion, or planner update brings it back" in said
