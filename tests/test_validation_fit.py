"""The fit to published runs: the shipped files are what it writes, and what it expects of sources not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

from planner import data
from planner.catalog.calibrations import BY_NAME, kind_of
from planner.catalog.databases import Databases
from planner.formulas.evaluation import evaluate
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.validation.errors_text import Summary, summary
from planner.validation.expected_times import Numbers
from planner.validation.fitting import Fitter
from planner.validation.judged import Judged, validated
from planner.validation.left_out import Fitted
from planner.validation.parameters import FAMILIES, GROUPS, Group, prior_of
from planner.validation.refit import refit

SERVING = ("static", "prefill", "decode", "tpot")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def left_out() -> list[Judged]:
    """The published runs, each expected by a fit that has not seen its source."""
    return validated(None, Databases(), leave_one_out=True)


@pytest.fixture(scope="module")
def refitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fitted]:
    """A folder into which the fit was written, and the fit."""
    folder = tmp_path_factory.mktemp("refit")
    return folder, refit(folder)


def of(rows: list[Judged], counts: Callable[[Judged], bool]) -> Summary:
    """The errors of some rows."""
    return summary([row for row in rows if counts(row)])


@pytest.mark.parametrize("name", ["calibrations.csv", "stacks.csv"])
def test_shipped_files_are_what_the_fit_writes(refitted: tuple[Path, Fitted], name: str) -> None:
    """`python -m planner.validation` writes the shipped calibrations and stacks, to the byte."""
    assert (refitted[0] / name).read_bytes() == (data.folder("hardware_db") / name).read_bytes()


def test_fitted_numbers_are_within_physics(refitted: tuple[Path, Fitted]) -> None:
    """Each fitted number lies within the bounds of its parameter."""
    for (_, name), value in refitted[1].fit.calibrations.items():
        assert BY_NAME[name].lower <= value <= BY_NAME[name].upper, name


def test_what_is_taken_for_the_start_between_nodes_is_that_of_its_source() -> None:
    """ml-engineering's all-reduce of 256 KiB over four nodes of eight B200 took 382 us: the prior expects as much."""
    collectives, prior = load("collectives"), prior_of("any", "fabric_latency")
    assert prior is not None
    given = {"n_chips": 32, "collective_bytes": 2**18, "fabric_latency": prior.value}
    found = evaluate(collectives, facts(collectives, None, "b200-sxm"), given)
    assert found.number("all_reduce_time_expected") == pytest.approx(382e-6, rel=0.05)


def test_a_source_left_out_is_not_seen(refitted: tuple[Path, Fitted]) -> None:
    """What is expected of a source without it does not change when its measured times do."""
    group = next(each for each in refitted[1].groups if each.group.name == "matmuls")
    fitter: Fitter = group.fitter
    own = fitter.sources == "gemm-v6e"
    before = fitter.expected(fitter.fit(fitter.is_fitted & ~own))[own]
    measured = fitter.measured
    fitter.measured = np.where(own, 3 * measured, measured)
    after = fitter.expected(fitter.fit(fitter.is_fitted & ~own))[own]
    fitter.measured = measured
    assert after == pytest.approx(before, rel=1e-12)
    assert group.expected[own] == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_derivatives_are_quotients_of_what_is_expected(refitted: tuple[Path, Fitted], group: Group) -> None:
    """How each run's time changes with each number, computed for all numbers and affected runs at once, is the
    quotient that scipy finds with one evaluation of all runs for each number, to the last bit."""
    fitter = next(each.fitter for each in refitted[1].groups if each.group == group)
    start = np.array([each.start for each in fitter.unknown])
    limits = np.array([(each.lower, each.upper) for each in fitter.unknown]).T
    every, no = np.ones(len(fitter.measured), bool), np.zeros(len(start), bool)

    def logarithms(found: Numbers) -> Numbers:
        return np.log(fitter.expected(fitter.cells.fit(found)))

    moving = fitter.moving(every, ~no, start)
    here, derivatives = moving.differentiated(lambda expected, _: np.log(expected), limits)
    # A start slightly inside of its limits is where scipy begins.
    known = least_squares(logarithms, start, bounds=limits, max_nfev=1)
    assert np.array_equal(here(known.x), known.fun)
    assert np.array_equal(derivatives(known.x), known.jac)
    assert np.abs(known.jac).max(axis=0).all()


@pytest.mark.parametrize(
    ("name", "kinds", "families", "most"),
    [("training", ("train",), FAMILIES, 0.11), ("serving", SERVING, ("gpu",), 0.12),
     ("prefill", ("prefill",), ("gpu",), 0.11), ("static", ("static",), ("gpu",), 0.12),
     ("tpot", ("tpot",), ("gpu",), 0.12), ("serving on TPUs", SERVING, ("tpu",), 0.2),
     ("collectives", ("collective",), FAMILIES, 0.25)],
)  # fmt: skip
def test_unseen_sources_are_met(
    left_out: list[Judged], name: str, kinds: tuple[str, ...], families: tuple[str, ...], most: float
) -> None:
    """The median error on time of runs whose source the fit has not seen, below the null model's and the bound's.

    Serving is fitted to GPUs and TPUs apart.
    """
    found = of(left_out, lambda row: row.run.kind in kinds and kind_of(row.calibration) in families)
    assert found.n_na == 0
    assert found.median_error is not None, name
    assert found.median_error <= most
    assert found.median_error < found.median_error_null  # type: ignore[operator]
    assert found.median_error < found.median_error_bound  # type: ignore[operator]


def test_mixtures_of_experts_are_met(left_out: list[Judged]) -> None:
    """The median error of steps of mixtures of experts, source left out, is at most 20 %."""
    found = of(left_out, lambda row: row.run.kind == "train" and row.is_moe)
    assert found.n >= 25
    assert found.median_error is not None
    assert found.median_error <= 0.20


@pytest.mark.parametrize("kinds", [("train",), SERVING, ("static",), ("prefill",), ("matmul",), ("collective",)])
def test_ranges_hold_what_they_say(left_out: list[Judged], kinds: tuple[str, ...]) -> None:
    """Of unseen sources' runs 65 to 93 % lie in a range of 80 %, which the other sources tell.

    Each source counts alike, as it does where a range is made: many runs of one lie in it, or out of it, together.
    """
    shares = defaultdict[str, list[bool]](list)
    for row in left_out:
        if row.run.kind in kinds and row.low is not None:
            shares[row.run.source].append(row.is_in_range)
    assert shares
    assert 0.65 <= np.mean([np.mean(of_source) for of_source in shares.values()]) <= 0.93


def test_other_sources_of_a_file_are_fitted_to(left_out: list[Judged], tmp_path: Path) -> None:
    """With --leave-one-out a file's source is expected by published runs alone, though it is a copy of one of them
    under another name; a second source of the file is fitted to."""
    lines = (data.folder("hardware_db") / "published_runs.csv").read_text(encoding="utf-8").splitlines()
    gemms = [line for line in lines if ",gemm-v6e," in line]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join((lines[0], *gemms)), encoding="utf-8")
    same = validated(path, Databases(), leave_one_out=True)
    path.write_text("\n".join((lines[0], *(line.replace(",gemm-v6e,", ",other,") for line in gemms))), encoding="utf-8")
    copied = validated(path, Databases(), leave_one_out=True)
    own = [row for row in left_out if row.run.source == "gemm-v6e"]
    assert [row.expected for row in same] == pytest.approx([row.expected for row in own], rel=1e-6)
    errors = [row.error(row.expected) for row in copied]
    assert sum(errors) < sum(row.error(row.expected) or 0 for row in same)  # type: ignore[arg-type]


def test_ranges_and_answers_without_runs_to_fit(tmp_path: Path) -> None:
    """Where no model of the published runs is known, those of them have no answer, and those that need none keep it."""
    models = (data.folder("model_db") / "models.csv").read_text(encoding="utf-8").splitlines()
    own = tmp_path / "models.csv"
    own.write_text("\n".join((models[0], next(line for line in models if line.startswith("gpt2,")))), encoding="utf-8")
    rows = validated(None, Databases(models_csv=own, only=True), leave_one_out=True)
    answered = {row.run.kind for row in rows if row.expected is not None}
    assert answered == {"matmul", "collective"}
    assert all(row.fault for row in rows if row.expected is None)
