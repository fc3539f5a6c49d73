"""Units of measured numbers that `planner validate` reads: of a column, behind a number, per cent, and wrong ones."""

from __future__ import annotations

import json

import pytest

from tests.validations import Planner, fixture_planner, line, rows_of  # noqa: F401

UNITS = {"ms": 1e3, "us": 1e6, "min": 1 / 60, "h": 1 / 3600, "": 1, "s": 1}


def test_rows_have_units_of_their_own(planner: Planner) -> None:
    """Values are in the row's own unit, and its errors those of the same time in seconds."""
    seconds = line(name="seconds").replace(",mine", ",seconds")
    runs = [
        line(measured=repr(3 * factor), unit=unit, name=f"in {unit}").replace(",mine", f",in {unit}")
        for unit, factor in UNITS.items()
    ]
    result = planner(seconds, *runs, options=("--json",))
    row, *others = rows_of(result)
    sources = json.loads(result.stdout)["sources"]
    for (unit, factor), own in zip(UNITS.items(), others, strict=True):
        for name in ("expected", "low", "high", "bound", "measured"):
            assert own[name] == pytest.approx(row[name] * factor, rel=1e-12), (unit, name)
        errors = [sources[source]["median_error"] for source in ("seconds", f"in {unit}".strip())]
        assert errors[0] == pytest.approx(errors[1], rel=1e-9), unit


def test_a_number_may_have_its_unit_behind_it(planner: Planner) -> None:
    """`3000ms` is 3 seconds, whatever the column unit says of plain numbers; a unit of something else is refused."""
    written = [("3", "s"), ("3000ms", "s"), ("3000 ms", "ms"), ("0.05min", ""), ("3s", "ms")]
    lines = [line(measured=one, unit=unit, name=f"r{at}") for at, (one, unit) in enumerate(written)]
    found = rows_of(planner(*lines, options=("--json",)))
    assert [(row["measured"], row["expected"]) for row in found] == [(pytest.approx(3), found[0]["expected"])] * 5
    refused = planner(line(measured="3GB")).stderr
    assert "column measured: '3GB' is no measured number above 0: GB is no unit of what is counted in s" in refused


def test_a_share_may_be_written_in_percent(planner: Planner) -> None:
    """`36%`, with its unit or none, is as far off what is expected as 0.36; a time in percent is no number."""
    written = [("0.36", "1"), ("36%", ""), ("36 %", "1"), ("36%", "%"), ("36", "%")]
    lines = [
        line(output="mfu_expected", measured=one, unit=unit, name=f"r{at}") for at, (one, unit) in enumerate(written)
    ]
    found = rows_of(planner(*lines, options=("--json",)))
    off = [row["expected"] / row["measured"] for row in found]
    assert off == [pytest.approx(found[0]["expected"] / 0.36)] * 5
    assert "column measured: '3%' is no measured number" in planner(line(measured="3%")).stderr


def test_a_measured_share_is_held_against_what_leads(planner: Planner) -> None:
    """`mfu` is the template's bound too: what was measured is compared with the utilisation to expect."""
    plain, leading = (rows_of(planner(line(output=name, measured="0.36", unit="1"), options=("--json",)))[0]
                      for name in ("mfu", "mfu_expected"))  # fmt: skip
    assert plain == leading


def test_a_number_in_a_likely_wrong_unit_is_warned_of(planner: Planner) -> None:
    """Runs 100 times or more off are named once, with line and the unit that fits; a run in its unit isn't named, nor
    one whose unit the file states.
    """
    lines = [
        line(name="in_ms", measured="1500", unit=""),
        line(name="in_s", measured="1.5", unit=""),
        line(name="stated", measured="1500", unit="ms"),
        line(name="millions", output="tokens_per_second_expected", measured="0.087", unit=""),
    ]
    said = planner(*lines).output
    assert "runs.csv: in_ms (line 2: ms?), millions (line 5: million/s?) are 100 times or more off" in said
    assert said.count("likely a wrong unit; look at their columns measured and unit") == 1
