"""measurements.csv: rows come back as they were, keys are canonical, faults are named with their place."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import UserError
from planner.measure.measurements_csv import read_measurements, write_measurements
from planner.measure.records import SCHEMA, Measurement
from planner.measure.timing import LoopTime, Timing, summarize


def same(left, right):
    """Equal, with NaN equal to NaN."""
    return all(
        a == b or (a != a and b != b)
        for a, b in ((getattr(left, f.name), getattr(right, f.name)) for f in fields(Measurement))
    )


texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff"), max_size=12).map(
    str.strip
)
numbers = st.floats(allow_infinity=False)


@settings(max_examples=50)
@given(st.lists(st.builds(Measurement, reason=texts, t_median=numbers, n_samples=st.integers(0, 99))))
def test_rows_come_back_as_they_were(tmp_path_factory, rows):
    """Every float to its last digit, every text, NaN as a blank cell."""
    path = tmp_path_factory.mktemp("rows") / "measurements.csv"
    write_measurements(path, rows)
    assert all(same(left, right) for left, right in zip(rows, read_measurements(path), strict=True))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "plain"])
def test_text_is_never_a_formula(tmp_path, text):
    """No cell begins with a mark that a spreadsheet would run, and reading undoes the quote."""
    path = tmp_path / "measurements.csv"
    write_measurements(path, [Measurement(reason=text, case_key="k")])
    cells = path.read_text().splitlines()[1].split(",")
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert read_measurements(path)[0].reason == text


@pytest.mark.parametrize(
    "text", ["tab\x0bbed", "esc\x1b[31mred", "NUL\0", "half\udcff", "long " * 20_000, "=" * 40_000]
)
def test_a_text_that_no_cell_holds_is_written_as_one_that_does(tmp_path, text):
    """What a host or a compiler said, with control characters, bytes that are no text, or too many."""
    write_measurements(tmp_path / "m.csv", [Measurement(case_key="k", status="failed", reason=text, host=text)])
    (row,) = read_measurements(tmp_path / "m.csv")
    assert row.reason[:3] == text[:3]


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_a_number_that_is_none_is_blank(tmp_path, number):
    """As an infinite count of FLOPs would be: a reader refuses `inf`."""
    write_measurements(tmp_path / "m.csv", [Measurement(case_key="k", t_median=1e-3, xla_flops=number)])
    assert math.isnan(read_measurements(tmp_path / "m.csv")[0].xla_flops)


def test_every_column_has_a_unit_and_a_meaning():
    """SI units only: seconds, never microseconds."""
    units = {unit for unit, _ in SCHEMA.values()}
    assert units == {"text", "1", "s", "FLOP", "byte", "FLOP/s", "byte/s"}
    assert all(meaning for _, meaning in SCHEMA.values())


def test_a_row_typed_by_hand_needs_three_columns(tmp_path):
    """A byte-order mark and CRLF, as Excel saves them."""
    path = tmp_path / "mine.csv"
    path.write_bytes(b"\xef\xbb\xbfcase_key,hardware_id,t_median\r\nmatmul|x,h100-sxm,0.0015\r\n")
    (row,) = read_measurements(path)
    assert (row.t_median, row.source, row.status, row.is_trusted) == (0.0015, "manual", "measured", True)


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("case_key,hardware_id", "k,h", "'t_median' is missing"),
        ("case_key,hardware_id,t_median,t_mad_us", "k,h,1,1", "unknown column 't_mad_us'; did you mean"),
        ("case_key,hardware_id,t_median_us", "k,h,1", "'t_median_us'; did you mean t_median? it is in s: convert it"),
        ("case_key,hardware_id,t_med", "k,h,1", "'t_median' is missing; did you mean t_med"),
        ("case_key,hardware_id,t_median,", "k,h,1,", "line 1: column 4 has no name; name it, or delete it"),
        ("case_key,hardware_id,t_median,t_min (ms)", "k,h,1,1", "t_min? it is in s: convert it"),
        (
            "case_key,hardware_id,t_median",
            "k,h,1.5ms",
            "line 2, column t_median: '1.5ms' is not a number; write it in s with",
        ),
        ("case_key,hardware_id,t_median", "k,h,inf", "is not a number"),
        ("case_key,hardware_id,t_median", "k,h,0.001_5", "is not a number"),
        ("case_key,hardware_id,t_median", "k,h,٠.٥", "is not a number"),
        ("case_key,hardware_id,t_median,n_samples", "k,h,1,-7", "column n_samples: '-7' is negative"),
        ("case_key,hardware_id,t_median,t_mad", "k,h,1,-1e-6", "column t_mad: '-1e-6' is negative"),
        ("case_key,hardware_id,t_median,schema", "k,h,1,2", "column schema: the columns are of version 2, not 1"),
        ("case_key,hardware_id,t_median,n_samples", "k,h,1,7.5", "'7.5' is not a whole number"),
        ("case_key,hardware_id,t_median,status", "k,h,1,mesured", "did you mean measured"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path, header, line, message):
    """One line with file, line, column and remedy."""
    path = tmp_path / "mine.csv"
    path.write_text(f"{header}\n{line}\n")
    with pytest.raises(UserError) as caught:
        read_measurements(path)
    assert message in str(caught.value)


def test_blanks_around_a_key_do_not_count(tmp_path):
    """What rows are found by is the same with blanks before and behind it, as people and tables have them."""
    path = tmp_path / "mine.csv"
    path.write_text("case_key , hardware_id,t_median,status,host\n matmul|x , h100-sxm ,0.0015, failed , a b\n")
    (row,) = read_measurements(path)
    assert (row.case_key, row.hardware_id, row.status, row.host) == ("matmul|x", "h100-sxm", "failed", " a b")


def test_writing_is_whole_or_not_at_all(tmp_path):
    """A row that can't be written leaves the old file and nothing beside it."""
    path = tmp_path / "measurements.csv"
    write_measurements(path, [Measurement(case_key="old")])
    with pytest.raises(AttributeError):
        write_measurements(path, [Measurement(), None])
    assert [row.case_key for row in read_measurements(path)] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    """A folder that isn't there: one line with the path."""
    with pytest.raises(UserError, match="can't be written"):
        write_measurements(tmp_path / "nowhere" / "measurements.csv", [Measurement()])


def test_spread_and_trust():
    """Deviation over median; a flag keeps a row out of every fit."""
    row = Measurement(t_median=2.0, t_mad=0.1)
    assert row.spread == 0.05
    assert row.is_trusted
    assert not Measurement(flags="noisy").is_trusted
    assert not Measurement(status="skipped").is_trusted


def test_the_documentation_lists_every_column():
    """docs/measurements.md has each column with its unit and its meaning, in order, and each guard's flag."""
    text = (Path(__file__).parent.parent / "docs" / "measurements.md").read_text(encoding="utf-8")
    listed = [
        tuple(part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", line)[1:-1])
        for line in text.split("## Columns")[1].splitlines()[4:]
    ]
    assert listed == [(f"`{name}`", unit, meaning) for name, (unit, meaning) in SCHEMA.items()]
    steady = summarize([1.0] * 7)
    flagged = Timing("tpu", summarize([1e-9, 2e-9]), 2.0, 1.0, LoopTime(steady, 1, 1.0, 0.0), floor_s=9e9)
    for flag in (*flagged.flags, "no_loop_time", "noisy", "other_hardware"):
        assert f"`{flag.partition('=')[0]}" in text, flag
