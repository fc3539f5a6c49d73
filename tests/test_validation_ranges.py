"""What two published runs of one model and chip are off by beside each other."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

from planner.formulas import library
from planner.validation.left_out import WIDER, Errors, LeftOut, pairs
from planner.validation.parameters import GROUPS
from planner.validation.runs import Run
from planner.validation.runs_of_group import RunIds


def run(source: str = "a", model: str = "m", chip: str = "c", **values: float | str) -> Run:
    """A run of a training step."""
    return Run("id", "train", "training", model, chip, "step_time_expected", 1.0, source, dict(values))


def test_pairs_are_runs_of_one_question_in_several_layouts() -> None:
    """Two runs pair where source, model, chip, precision and length are one, and the layout is another; both orders."""
    runs = [
        run(mesh_tensor=1.0, seq_len=2048.0), run(mesh_tensor=8.0, seq_len=2048.0), run(mesh_tensor=8.0, seq_len=96.0),
        run(mesh_tensor=1.0, seq_len=2048.0, compute_dtype="fp8"), run("b", mesh_tensor=2.0, seq_len=2048.0),
        run(model="n", mesh_tensor=2.0, seq_len=2048.0), run(chip="d", mesh_tensor=2.0, seq_len=2048.0),
        run(mesh_tensor=8.0, seq_len=2048.0), run(mesh_tensor=4.0, seq_len=2048.0),
    ]  # fmt: skip
    counts = np.array([True] * 8 + [False])
    assert sorted(map(tuple, pairs(runs, counts).tolist())) == [(0, 1), (0, 7), (1, 0), (7, 0)]
    assert pairs(runs[3:7], counts[3:7]).shape == (0, 2)


def test_a_tie_is_what_80_percent_of_pairs_differ_less_than() -> None:
    """Each source counts alike: of log-normal pairs it is their 80 % quantile, a little wider for few sources."""
    rng = np.random.default_rng(5)
    ratios = [np.exp(rng.normal(0, 0.1, count)) for count in (4000, 40_000, 4000)]
    both = np.concatenate([np.concatenate([each, 1 / each]) for each in ratios])
    sources = np.repeat(["a", "b", "c"], [2 * len(each) for each in ratios])
    every = np.ones(len(both), dtype=bool)
    errors = Errors(both, sources, np.full(len(both), "train"), ~every, every, False)
    low, high = errors.range("train", "dense")
    assert high == pytest.approx(math.exp(1.2816 * 0.1 * math.sqrt(4 / 3)), rel=0.01)
    assert low == pytest.approx(1 / high, rel=1e-3)


def of_stacks(spreads: list[tuple[str, str, float, int]]) -> LeftOut:
    """Training runs of (source, stack, spread of log-normal errors, count), each expected to take 1 s."""
    rng = np.random.default_rng(7)
    sources = np.concatenate([[source] * count for source, _, _, count in spreads])
    stacks = [stack for _, stack, _, count in spreads for _ in range(count)]
    measured = np.exp(np.concatenate([rng.normal(0, spread, count) for _, _, spread, count in spreads]))
    no = np.zeros(len(sources), dtype=bool)
    known, at = np.unique(stacks, return_inverse=True)
    part = SimpleNamespace(
        stacks=RunIds(known.tolist(), at), calibrations=RunIds(["h100"], np.zeros(len(stacks), dtype=int)),
        range_power=np.ones(len(stacks)),
    )  # fmt: skip
    fitter = SimpleNamespace(measured=measured, is_rate=no, is_fitted=~no, sources=sources, parts=[part])
    training = next(group for group in GROUPS if group.name == "training")
    return LeftOut(training, fitter, tuple(run(source) for source in sources), np.ones(len(sources)), no)  # type: ignore[arg-type]


def test_the_range_of_a_stack_holds_80_percent_of_its_own_runs() -> None:
    """Runs of older kernels lie further off than the others: their range is wider, that of the others stays."""
    known = [(source, "default", 0.1, 400) for source in "abcdef"]
    found = of_stacks([*known, ("g", "unfused", 0.3, 4000), ("h", "unfused", 0.3, 500)])
    own = np.flatnonzero(np.array(found.stacks) == "unfused")
    least, most = found.range_of(own[0])
    is_in = (found.ratio[own] >= least) & (found.ratio[own] <= most)
    assert np.mean([is_in[:4000].mean(), is_in[4000:].mean()]) == pytest.approx(0.8, abs=0.005)
    assert found.range_of(0) == found.range_of_chip("train", "dense", "h100")
    assert found.times_of_stack("unfused", "g") == 1, "a single source is left"
    assert of_stacks([*known, ("g", "unfused", 0.01, 400), ("h", "unfused", 0.01, 400)]).times_of_stack("unfused") == 1


def test_a_template_widens_as_much_as_a_calibration() -> None:
    """Where no fitted run tells, the template's range is as much wider as that of a chip without runs."""
    assert library.load("inference").row("untold_range_power").default == WIDER


def test_other_kinds_tell_the_range_of_a_kind_with_few_sources() -> None:
    """A single source of a kind weighs a quarter, and the many of the other kinds three quarters together; runs that
    don't count, however far off, don't matter."""
    rng = np.random.default_rng(11)
    spreads = [("own", 0.05), *((f"other {at}", 0.3) for at in range(6)), ("left out", 5.0)]
    ratio = np.exp(np.concatenate([rng.normal(0, spread, 20_000) for _, spread in spreads]))
    sources = np.repeat([name for name, _ in spreads], 20_000)
    kinds = np.where(sources == "own", "prefill", "static")
    no = np.zeros(len(ratio), dtype=bool)
    low, high = Errors(ratio, sources, kinds, no, sources != "left out", True).range("prefill", "dense")

    def below(log: float) -> float:
        return sum(
            share * (1 + math.erf(log / spread / math.sqrt(2))) / 2 for share, spread in ((0.25, 0.05), (0.75, 0.3))
        )

    log = float(brentq(lambda log: below(log) - 0.9, 0, 2))
    sources_alike = 4**2 / (1 + 6 * 0.5**2)  # one of weight 1, six of 0.5
    assert high == pytest.approx(math.exp(log * math.sqrt(1 + 1 / sources_alike)), rel=0.01)
    assert low == pytest.approx(1 / high, rel=0.01)
