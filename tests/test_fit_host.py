"""planner fit on a host that was measured from nothing: what is expected of operations that the fit has not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.catalog.databases import Databases
from planner.compare.checked_measurements import checked_measurements
from planner.fit.fit import fit
from planner.fit.fit_output import Provenance, calibrations_csv
from planner.fit.runs_to_fit import COUNTS, ENOUGH, runs_of_csv, with_noisy
from planner.fit.stack import OwnCalibration, fitted_stacks
from planner.measure.measurements_csv import write_measurements
from planner.validation.expected_times import Numbers, predicted
from planner.validation.runs import Run, models_of

HOST = Path(__file__).parent / "data" / "this_host"  # whose README says where it is from
CHIP = Databases(hardware_csv=HOST / "chip.csv")
TRUTHS = (
    {"gemm_efficiency": 0.9, "matmul_ramp": 160.0, "attention_speed": 0.3, "attention_read_speed": 0.15},
    {"gemm_efficiency": 0.6, "matmul_ramp": 40.0, "operation_hbm_efficiency": 0.7, "attention_speed": 0.7},
    {"gemm_efficiency": 0.8, "operation_hbm_efficiency": 0.6, "attention_speed": 0.25, "attention_read_speed": 0.1},
)


def by_calibrations(runs: Sequence[Run], lines: str, folder: Path, stack: str) -> Numbers:
    """What is expected of runs, in their order, with a CSV of calibrations."""
    path = folder / "calibrations.csv"
    path.write_text(lines, encoding="utf-8")
    databases = replace(CHIP, calibrations_csv=path)
    asked = [replace(run, values={**run.values, "stack": stack}) for run in runs]
    together = predicted(asked, databases, models_of(databases))
    found = {run.id: float(time) for each in together for run, time in zip(each.runs, each.expected, strict=True)}
    return np.array([found[run.id] for run in runs])


def off(found: OwnCalibration, runs: Sequence[Run], folder: Path) -> Numbers:
    """How far what is expected of runs is off, by a stack that was fitted."""
    lines = calibrations_csv([found], CHIP.stacks, Provenance("runs", "cpu", "2026-11-23"))
    return np.abs(by_calibrations(runs, lines, folder, found.id) / [run.measured for run in runs] - 1)


def runs_of(name: str, folder: Path) -> list[Run]:
    """All measured runs of a file of the host, whatever their flags."""
    rows = [replace(row, flags="") for row in checked_measurements(HOST / name)]
    write_measurements(folder / name, rows)
    return runs_of_csv(folder / name, CHIP, models_of(CHIP), "laptop")[0]


def test_a_host_from_nothing(tmp_path: Path) -> None:
    """`hardware add --this-host`, `measure` and `fit` on an idle CPU: of 27 shapes that the fit hasn't seen, flagged or
    not, the median error is under 25 %, of no kind of operation over 50 %, and what was shipped is half as good."""
    (found,) = fit(HOST / "quick.csv", CHIP, "mine", chip="laptop").stacks
    held = runs_of("held.csv", tmp_path)
    errors = off(found, held, tmp_path)
    shipped = np.abs(by_calibrations(held, "calibration,parameter,value\n", tmp_path, "default")
                     / [run.measured for run in held] - 1)  # fmt: skip
    assert len(held) == 27
    assert np.median(errors) < 0.25
    assert np.median(errors) < 0.7 * np.median(shipped)
    kinds: dict[str, list[float]] = defaultdict(list)
    for run, error in zip(held, errors, strict=True):
        kinds[run.template].append(error)
    assert len(kinds) == 5
    assert max(float(np.median(each)) for each in kinds.values()) < 0.5, kinds


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_other_hosts_are_found(tmp_path: Path, truth: Mapping[str, float]) -> None:
    """Hosts with other factors, whose quick suite has 5 % of noise: of shapes that the fit hasn't seen the median error
    is under 5 %, whatever the seed, and each speed of attention is found within 15 %."""
    lines = "\n".join(["calibration,parameter,value", *(f"measured,{name},{value}" for name, value in truth.items())])
    timed = []
    for name in ("quick.csv", "held.csv"):
        runs = runs_of(name, tmp_path)
        times = by_calibrations(runs, lines, tmp_path, "default")
        timed.append([replace(run, measured=float(time)) for run, time in zip(runs, times, strict=True)])
    quick, held = timed
    for seed in range(3):
        noise = np.exp(np.random.default_rng(seed).normal(0, 0.05, len(quick)))
        noisy = [replace(run, measured=run.measured * float(each)) for run, each in zip(quick, noise, strict=True)]
        (found,) = fitted_stacks(noisy, CHIP, models_of(CHIP), "mine")
        assert np.median(off(found, held, tmp_path)) < 0.05, (seed, found.moved)
        values = {each.name: each.value for each in found.parameters}
        for name in ("attention_speed", "attention_read_speed"):
            assert values[name] == pytest.approx(truth.get(name, 1), rel=0.15), (seed, name)


def run_of(template: str, at: int, fault: str = "") -> Run:
    """A measured operation, with a fault or none."""
    return Run(f"{template} {at}", template, template, "", "laptop", "expected_time", 1.0, "own", {}, fault=fault)


def test_noisy_runs_join_where_there_are_few_others() -> None:
    """Of a template with fewer than three sound runs those that are flagged for noise alone count half, with what they
    are flagged for beside them; those of which another guard failed never do, nor any where there are enough."""
    sound = [run_of("matmul", at) for at in range(ENOUGH)] + [run_of("attention", at) for at in range(ENOUGH - 1)]
    flags = ("noisy", "drift", "noisy;drift", "few_samples", "above_peak", "noisy;loop/device=0.71", "other_hardware")
    flagged = [
        run_of(name, 9 + at, f"flagged: {each}") for name in ("matmul", "attention") for at, each in enumerate(flags)
    ]
    skipped = run_of("attention", 99, "skipped: no memory")
    found = with_noisy([*sound, *flagged, skipped])
    assert found[: len(sound)] == sound
    assert found[len(sound) : -len(flags) - 1] == flagged[: len(flags)]
    assert found[-1] == skipped
    joined = found[-len(flags) - 1 : -1]
    assert [not run.fault for run in joined] == [True] * 4 + [False] * 3
    assert all(run.weight == COUNTS and run.noted.startswith("flagged: ") for run in joined[:4])


def test_noisy_collectives_join_where_few_take_about_their_time() -> None:
    """Three sound collectives of short times stand for the latency and not for the bandwidth: a noisy long one joins,
    a noisy short one doesn't."""
    short, long = 1e-4, 5e-2
    sound = [replace(run_of("collective", at), measured=short) for at in range(ENOUGH)]
    noisy = [replace(run_of("collective", 9, "flagged: noisy"), measured=each) for each in (short, long)]
    found = with_noisy([*sound, *noisy])
    assert found[:-1] == [*sound, noisy[0]]
    assert not found[-1].fault
    assert found[-1].weight == COUNTS


def test_collectives_that_were_measured_tell_a_latency_and_a_bandwidth() -> None:
    """Of collectives over eight devices of a host, the fitted latency is the time of those that move next to nothing,
    a bandwidth is found too, and those that move 16 MiB are expected within half of their time; each parameter's line
    counts the runs that were used."""
    found = fit(HOST / "collectives.csv", Databases(hardware_csv=HOST / "eight.csv"), "mine", chip="eight").stacks[0]
    moved = {each.name: each for each in found.moved}
    rows = [row for row in checked_measurements(HOST / "collectives.csv") if not row.flags]
    short = np.median([row.t_median for row in rows if "array_bytes=4096," in row.case_key])
    assert moved["node_latency"].value == pytest.approx(short, rel=0.1)
    assert moved["collective_efficiency"].value > moved["collective_efficiency"].before
    assert {each.rows for each in found.moved} == {sum(each.is_used for each in found.runs)}
    long = [each for each in found.runs if each.is_used and each.run.measured > 0.01]
    assert len(long) == 2
    assert all(1 / 1.5 < each.after < 1.5 for each in long)
