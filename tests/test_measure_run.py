"""Rows of a run: measured, skipped, failed, out of time or interrupted, and none that is lost."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.errors import UserError
from planner.measure import clock
from planner.measure.cases import CASES
from planner.measure.measurements_csv import read_measurements, write_measurements
from planner.measure.records import Measurement, case_key
from planner.measure.timed_cases import Case, measure_cases, outcome
from planner.measure.timing import LoopTime, Rules, Timing, summarize
from planner.measure.workload import CaseSkipped

QUICK = Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.003, profiled_calls=3)
KINDS = {"cpu-generic": "cpu", "tpu-v5e": "TPU v5 lite"}
SMALL = {"n_elements": 4096, "element_bytes": 4}
ADD = Case("add", "elementwise", SMALL, flops=4096.0, memory_bytes=3 * 4 * 4096)


STEADY = summarize([2e-3] * 7)
CANNED = Timing("cpu", STEADY, 1.0, 1e-5, loop=LoopTime(STEADY, 15, 3.0, 1e-4), device=STEADY)


@pytest.fixture
def canned(monkeypatch):
    """Timings out of a tin, for tests of what becomes of the rows."""
    monkeypatch.setattr(clock, "time_workload", lambda *_, **__: CANNED)


def measure(*cases, **options):
    """The rows of these cases, measured quickly."""
    return list(measure_cases(cases, kinds=KINDS, rules=QUICK, **options))


@pytest.mark.quiet
def test_a_measured_row_is_complete_and_survives_its_file(tmp_path):
    """Identity, times in seconds, what was achieved, what it ran on; and the same after reading."""
    (row,) = measure(ADD)
    assert (row.status, row.case_id, row.source, row.method) == ("measured", "add", "microbench", "loop")
    assert (row.platform, row.device_kind, row.hardware_id) == ("cpu", "cpu", "cpu-generic")
    assert row.case_key == case_key("elementwise", SMALL)
    assert 0 < row.t_min <= row.t_median <= row.t_p90 < 1
    assert row.achieved_flops == pytest.approx(4096 / row.t_median)
    assert row.achieved_bandwidth == pytest.approx(49152 / row.t_median)
    write_measurements(tmp_path / "m.csv", [row])
    assert read_measurements(tmp_path / "m.csv")[0].t_median == row.t_median


@pytest.mark.usefixtures("canned")
def test_a_line_says_what_a_person_calls_the_case_and_its_figures():
    """Label, time, samples and rates with prefixes, then what failed; a case without a label has its key."""
    told = []
    measure(replace(ADD, label="Add 4k"), ADD, progress=told.append)
    assert [line.partition(": ")[0] for line in told] == ["1/2 Add 4k", f"2/2 {case_key('elementwise', SMALL)}"]
    row = Measurement(t_median=2.5e-3, method="loop", n_samples=9, achieved_flops=4e12, achieved_bandwidth=5e8)
    assert outcome(row) == "2.5 ms by loop, 9 samples, 4 TFLOP/s, 500 MB/s"
    flagged = replace(row, flags="noisy;drift", achieved_flops=math.nan)
    assert outcome(flagged) == "2.5 ms by loop, 9 samples, 500 MB/s [noisy; drift]"


def test_faster_than_the_prediction_allows_is_flagged():
    """A lower bound of an hour: the row is there, with its flag."""
    (row,) = measure(Case("add", "elementwise", SMALL, floor_s=3600.0))
    assert "above_peak" in row.flags.split(";")
    assert not row.is_trusted


@pytest.mark.usefixtures("canned")
def test_a_row_that_cannot_run_is_skipped_with_the_reason():
    """Other hardware, an unknown template, too large: the others are measured all the same."""
    rows = measure(
        Case("a", "elementwise", SMALL, hardware_id="tpu-v5e"),
        Case("b", "no_such", {}),
        Case("c", "elementwise", {"n_elements": 10**14}),
        ADD,
    )
    assert [row.status for row in rows] == ["skipped", "skipped", "skipped", "measured"]
    for row, word in zip(rows, ["tpu-v5e", "no_such", "are free"], strict=False):
        assert word in row.reason


@pytest.mark.usefixtures("canned")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("UNIMPLEMENTED: fp8 on this device\nstack"), "skipped"),
        (RuntimeError("RESOURCE_EXHAUSTED: out of memory"), "skipped"),
        (ValueError("a bug"), "failed"),
        (CaseSkipped("because"), "skipped"),
    ],
)
def test_one_bad_case_does_not_cost_the_others(monkeypatch, error, status):
    """Its row says what happened, on one line."""

    def build(given):
        raise error

    monkeypatch.setitem(CASES, "broken", build)
    rows = measure(Case("x", "broken", {}), ADD)
    assert [row.status for row in rows] == [status, "measured"]
    assert rows[0].reason.endswith(str(error).splitlines()[0])
    assert "\n" not in rows[0].reason


def test_a_spent_budget_skips_the_rest():
    """Nothing is left out silently."""
    rows = measure(ADD, ADD, budget_s=-1.0)
    assert [row.status for row in rows] == ["skipped", "skipped"]
    assert "time budget" in rows[0].reason


@pytest.mark.usefixtures("canned")
def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    """Ctrl-C in the second of four: one measured, one interrupted that says what is missing, the end."""

    def build(given):
        raise KeyboardInterrupt

    monkeypatch.setitem(CASES, "interrupted", build)
    told = []
    rows = measure(ADD, Case("x", "interrupted", {}), ADD, ADD, progress=told.append)
    assert [row.status for row in rows] == ["measured", "interrupted"]
    assert "2 more not measured" in rows[1].reason
    assert [line.partition(" ")[0] for line in told] == ["1/4", "2/4"]


def test_without_a_device_the_message_is_one_line(monkeypatch):
    """JAX's own error runs over a page."""

    def none():
        raise RuntimeError("Unable to initialize backend 'tpu'\nlong story")

    monkeypatch.setattr(clock, "devices", none)
    with pytest.raises(UserError, match=r"JAX finds no device: .*'tpu'; check"):
        measure(ADD)


def test_layers_that_take_no_longer_than_one_are_not_extrapolated(canned):
    """Of a step timed at two layers and at one, both as long, no time would follow: it fails instead."""
    shape = {"query_len": 8, "kv_len": 8, "d_model": 16, "n_heads": 2, "n_kv_heads": 2, "qk_nope_dim": 8, "d_ff": 16}
    (row,) = measure(Case("step", "step", shape | {"n_layers": 8, "timed_layers": 2}))
    assert row.status == "failed"
    assert row.reason == "2 layers took no longer than one: too noisy to extrapolate from"
