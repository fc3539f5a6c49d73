"""Whatever a clock says: a row that measure writes is one that planner takes, or one that failed and says why."""

from __future__ import annotations

import math
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from planner.compare.checked_measurements import checked_measurements
from planner.compare.comparison_cases import load
from planner.compare.measuring import predicted
from planner.compare.mesh_cases import cases_of
from planner.measure import clock, timed_cases
from planner.measure.measurements_csv import write_measurements
from planner.measure.mesh import MeshSpec
from planner.measure.timing import LoopTime, Timing, drift, summarize

CASES = [
    predicted(case, "cpu-generic")
    for case in [*load("quick")[::3], *cases_of(MeshSpec.parse("data=2,tensor=4"), "quick", "cpu")[::9]]
]
DAY = 86400.0  # s: nobody's clock runs longer within a case
usual = st.floats(1e-7, 10.0)
absurd = usual | st.floats(-DAY, DAY) | st.sampled_from([0.0, -1e-6, 1e-300, 1e-14])  # of an iteration, by differences
positive = usual | st.floats(0.0, DAY) | st.sampled_from([0.0, 1e-300, 1e-14])
unknown = st.sampled_from([math.nan, math.inf, -1.0, 0.0, 1e6])


def samples(of: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
    """Some seconds: often about one middle, as those of a sound run are."""
    parts = st.lists(st.floats(-2, 4), min_size=8)
    steady = st.builds(lambda middle, each: [middle * part for part in each], of, parts)
    return st.lists(of, min_size=1, max_size=12) | steady


known = samples(positive).map(lambda found: summarize([max(0.0, each) for each in found]))
loops = st.builds(LoopTime, samples(absurd).map(summarize), st.integers(1, 10**6), st.floats(0, 10), absurd)
timings = st.builds(
    Timing,
    platform=st.sampled_from(["cpu", "tpu", "gpu"]), wall=known, drift=samples(absurd).map(drift), dispatch_s=usual,
    loop=st.none() | loops, device=st.none() | known, compile_s=usual, xla_flops=unknown, xla_bytes=unknown,
    temp_bytes=st.sampled_from([math.nan, 0.0, 1e6]), is_spread=st.booleans(),
    is_kept=st.sampled_from([None, True, False]), is_transfer=st.booleans(),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(st.sampled_from(CASES), timings, st.none() | timings)
@settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_a_row_of_any_timing_is_taken_or_has_failed(
    tmp_path_factory: pytest.TempPathFactory, case: timed_cases.Case, timing: Timing, flat: Timing | None
) -> None:
    """Zero, negative, tiny and huge seconds, of a whole case and of one of which a few layers were run."""
    told = iter([timing, flat])
    workload = SimpleNamespace(shallow=flat, timed_layers=3, n_layers=80)
    with (
        patch.object(clock, "time_workload", lambda *_, **__: next(told)),
        patch.object(timed_cases, "_workload", lambda *_: workload),
    ):
        (row,) = timed_cases.measure_cases([case], kinds={"cpu-generic": "cpu"})
    path = tmp_path_factory.mktemp("absurd") / "m.csv"
    write_measurements(path, [row])
    (kept,) = checked_measurements(path)
    assert kept.status == "measured" or kept.reason
