"""planner fit: a person's own runs as a stack of their own, told from what is known of them, and never mixed up."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from planner.catalog import load_calibrations, load_stacks
from planner.catalog.calibrations import BY_NAME
from planner.catalog.databases import Databases
from planner.compare.checked_measurements import checked_measurements
from planner.compare.comparison_cases import load
from planner.fit.chip import OwnFit, candidates
from planner.fit.stack import OwnCalibration, _ranges, far_off, fitted_stacks
from planner.measure.measurements_csv import write_measurements
from planner.measure.records import case_key
from planner.validation.expected_times import predicted
from planner.validation.fitting import Fitter
from planner.validation.left_out import families_of
from planner.validation.parameters import GROUPS, START
from planner.validation.runs import Run, models_of, read, shipped
from planner.validation.runs_of_group import Fit, origin
from tests.backfills import measurement
from tests.commands import command
from tests.own_runs import CALIBRATION, CHIP, NOISE, matmuls, plans, timed

OURS = Databases()
DATA = Path(__file__).parent / "data"
MATMULS = next(group for group in GROUPS if group.name == "matmuls")


def own(runs: Sequence[Run]) -> OwnCalibration:
    """The one stack that runs on one chip tell."""
    (found,) = fitted_stacks(runs, OURS, models_of(OURS), "mine")
    return found


def numbers(found: OwnCalibration) -> dict[str, float]:
    """The parameters of a calibration by name."""
    return {each.name: each.value for each in found.parameters}


def as_expected(runs: Sequence[Run], times: float = 1.0) -> list[Run]:
    """The runs, each taking so many times what is expected of it."""
    return [
        replace(run, measured=float(time) * times)
        for together in predicted(runs, OURS, models_of(OURS))
        for run, time in zip(together.runs, together.expected, strict=True)
    ]


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The stack that six matmuls tell, each 1.3 times as slow as expected, as a CSV; and what was said of them."""
    path = matmuls(tmp_path_factory.mktemp("slower") / "runs.csv", [1.3] * 6)
    said = command("fit", path)
    return path.with_name("runs-calibrations.csv"), said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "truth"),
    [
        ("train", {"train_matmul_efficiency": 0.5}),
        ("serving", {"hbm_efficiency": 0.75}),
        ("matmul", {"gemm_efficiency": 0.65, "operation_overhead": 9e-6}),
        ("attention", {"attention_speed": 0.4, "attention_read_speed": 0.5}),
        ("collective", {"node_latency": 2e-5, "collective_efficiency": 0.6}),
    ],
)
def test_known_parameters_are_recovered(tmp_path: Path, kind: str, truth: dict[str, float]) -> None:
    """From 30 runs with 3 % noise, of which 3 are far off, what they were made with is found within 2 %, whatever the
    seed; the three are not used, no run within three times the noise is left out, and the range is narrower than the
    shipped one and no point."""
    for seed in range(5):
        found = own(timed(plans(kind), truth, tmp_path, seed))
        for name, value in truth.items():
            assert numbers(found)[name] == pytest.approx(value, rel=0.02), (seed, name)
        off = {each.run.id: abs(np.log(each.after)) / NOISE for each in found.runs if each.after is not None}
        unused = {each.run.id for each in found.runs if not each.is_used}
        assert len(far := {run for run, times in off.items() if times > 5}) == 3, seed
        assert far <= unused <= {run for run, times in off.items() if times > 3}, seed
        told = [each for each in found.parameters if each.name.endswith(("_low", "_high")) and each.rows]
        assert told
        for each in told:
            assert 0.02 < abs(np.log(each.value)) < abs(np.log(each.before)), (seed, each)


@pytest.mark.slow
def test_three_runs_of_an_unseen_source_help() -> None:
    """Three runs on a chip, of a published source that was left out, bring the median error of its other runs there, in
    the median over all chips with six runs or more of a source, under 9 %, and below what it was."""
    models, rng = models_of(OURS), np.random.default_rng(3)
    runs = [run for run in read(shipped(), OURS, models) if not run.fault]
    calibrations = {run.id: str(OURS.hardware.rows[run.hardware]["calibration"]) for run in runs}
    together, families = predicted(runs, OURS, models), families_of(OURS.hardware)
    names = [name for name in START if name in BY_NAME]
    fixed, before, after = Fit(), [], []
    for each in GROUPS:
        whole = Fitter(each, together, families, fixed)
        of_group = [
            run for run in runs
            if run.is_fitted and run.judged_as in each.kinds and families[calibrations[run.id]] in each.families
        ]  # fmt: skip
        many = Counter((run.source, calibrations[run.id]) for run in of_group)
        enough = {of: count for of, count in many.items() if count >= 6}
        unseen = {source: whole.fit(whole.is_fitted & (whole.sources != source)) for source, _ in enough}
        for (source, chip), count in enough.items():
            theirs = [run for run in of_group if (run.source, calibrations[run.id]) == (source, chip)]
            three = rng.choice(count, 3, replace=False)
            told = [run for at, run in enumerate(theirs) if at in three]
            rest = Fitter(each, predicted([run for run in theirs if run not in told], OURS, models), families, Fit())
            fit = unseen[source]
            origins = {(at, name): origin(fit.calibrations, families, at, name) for at in families for name in names}
            known = {at: fit.calibrations.get(of, of) for at, of in origins.items()}
            mine = Fitter(each, predicted(told, OURS, models), families, Fit())
            own_fit = OwnFit(mine, chip, {name: known[chip, name] for name in names}, 0.1, fit.stacks)
            moved = known | {(chip, name): value for name, value in own_fit.fit(candidates(each)).items()}
            for errors, parameters in ((before, known), (after, moved)):
                expected = rest.expected(Fit(parameters, fit.stacks))
                times = (expected / rest.measured) ** np.where(rest.is_rate, -1, 1)
                errors.append(float(np.median(np.abs(times - 1))))
        fixed = whole.fit(whole.is_fitted)
    assert len(after) > 50
    assert np.median(after) < 0.09
    assert np.median(after) < np.median(before)


def test_each_group_of_runs_has_an_error_of_its_own(slower: tuple[Path, str], tmp_path: Path) -> None:
    """Matmuls slower than expected beside a training step: a line for each; one line where they are alone."""
    assert re.findall("median error of (.*) 23.1 %", slower[1]) == ["the runs"]
    path = matmuls(tmp_path / "runs.csv", [1.5] * 3)
    step = "s,train,training,h100-sxm,n_chips=64 batch_tokens=1048576 seq_len=8192,step_time_expected,2.9,s,lab"
    path.write_text(f"{path.read_text(encoding='utf-8')}{step},llama3-8b\n", encoding="utf-8")
    lines = re.findall(r"median error of ([\w ]+) [\d.]+ % ->", command("fit", path, "-o", tmp_path / "both.csv"))
    assert lines == ["3 runs of matmuls", "1 run of training"]


def test_the_error_of_runs_left_out_is_told(slower: tuple[Path, str], tmp_path: Path) -> None:
    """That of the runs that were fitted is smaller than later runs', whose is like that of each left out: the
    calibrations' own. Where nothing moved there is none to tell."""
    (told,) = re.findall(r"% -> [\d.]+ %, ([\d.]+) % with each left out;", slower[1])
    (error,) = {line.split(",")[8] for line in slower[0].read_text().splitlines() if ",gemm_efficiency," in line}
    assert float(told) == pytest.approx(100 * float(error), abs=0.1)
    usual = matmuls(tmp_path / "runs.csv", [1.0] * 3)
    assert "left out" not in command("fit", usual, "-o", tmp_path / "mine.csv")


def test_runs_as_expected_move_nothing() -> None:
    """Runs that take what is expected leave every parameter as it is shipped."""
    found = own(as_expected(plans("matmul")))
    assert not found.moved
    known = load_calibrations().rows[CALIBRATION]
    assert all(each.value == known[each.name] for each in found.parameters if not each.rows)


def test_one_run_alone_moves_nothing_that_published_runs_tell() -> None:
    """A run that takes 1.3 times what is expected may be odd itself; three that do so move the share of the peak."""
    (together,) = predicted(plans("matmul"), OURS, models_of(OURS))
    runs = [
        replace(run, measured=float(time) * 1.3)
        for run, time, bound in zip(together.runs, together.expected, together.of("compute_time"), strict=True)
        if bound > 0.5 * float(time)
    ][:3]
    assert len(runs) == 3
    assert not own(runs[:1]).moved
    assert [each.name for each in own(runs).moved] == ["gemm_efficiency"]


def test_a_range_of_ones_own_is_as_wide_over_a_stack_that_widens_it() -> None:
    """With a factor of 2 the ends are the roots of those without, so that what a plan shows is the same."""
    is_moe = np.zeros(4, dtype=bool)
    part, run = SimpleNamespace(is_moe=is_moe), SimpleNamespace(judged_as="train")
    fit = SimpleNamespace(fitter=SimpleNamespace(parts=[part]), runs=[run] * 4, weights=np.ones(4))
    off = np.array([0.2, -0.2, 0.3, -0.1])

    def ends(low: float, high: float, times: float) -> dict[str, float]:
        known = {"train_dense_low": low, "train_dense_high": high}
        return {each.name: each.value**times for each in _ranges(fit, off, ~is_moe, known, 0.1, times)}  # type: ignore[arg-type]

    assert ends(0.8, 1.3, 2.0) == pytest.approx(ends(0.8**2, 1.3**2, 1.0))


def test_why_a_run_is_left_alone_is_what_was_found() -> None:
    """Far off the others only where most of them are near what is expected, and there are others."""
    near, far = True, False
    assert far_off(np.array([far, near, near])) == "far off the others"
    assert far_off(np.array([far, near, far])) == "far off what is expected, and so are most of the others"
    assert far_off(np.array([far])) == "far off what is expected"


def test_runs_that_are_not_used_are_told_by_their_reason(tmp_path: Path) -> None:
    """Ten flagged rows of a measurements.csv are one line: how many, why, and the first of them."""
    noted = [measurement(case.key, 1e-3, hardware_id="h100-sxm", flags="above_peak") for case in load("full")[:10]]
    sound = [measurement(case_key("matmul", {"tokens": 4096.0, "d_in": 4096.0, "d_out": each}), 2e-4,
                         hardware_id="h100-sxm") for each in (4096.0, 4104.0, 4112.0)]  # fmt: skip
    write_measurements(tmp_path / "m.csv", [*noted, *sound])
    said = command("fit", tmp_path / "m.csv")
    assert "10 runs not used:" in said
    assert "  10 runs, flagged: above_peak: row 1, row 2, row 3, row 4 and 6 more" in said


@pytest.mark.parametrize("ratio", [10.0, 0.1])
def test_a_bad_run_harms_little(ratio: float) -> None:
    """One run ten times off moves no expected time of others by more than 10 %, alone or beside three sound ones."""
    sound = as_expected(plans("matmul"))
    known = load_calibrations().rows[CALIBRATION]
    for given in ([sound[0]], sound[:4]):
        found = own([replace(given[0], measured=given[0].measured * ratio), *given[1:]])
        fitter = Fitter(MATMULS, predicted(sound, OURS, models_of(OURS)), families_of(OURS.hardware), Fit())
        shipped_values = {(CALIBRATION, name): float(str(known[name])) for name in BY_NAME}
        now = {(CALIBRATION, name): value for name, value in numbers(found).items()}
        change = fitter.expected(Fit(now)) / fitter.expected(Fit(shipped_values))
        assert np.abs(change - 1).max() < 0.1, (len(given), found.moved)


def test_how_far_runs_go_is_told_by_those_that_are_used() -> None:
    """Of eight runs of serving as expected the one over most chips is thirty times too slow: the others tell it."""
    sound = as_expected([replace(run, is_fitted=True) for run in plans("serving")[:8]])
    chips = {run.id: float(run.values["n_chips"]) for run in sound}
    last = replace(sound[0], id="slow", measured=sound[0].measured * 30,
                   values={**sound[0].values, "n_chips": 2 * max(chips.values())})  # fmt: skip
    found = own([*sound, last])
    used = {each.run.id for each in found.runs if each.is_used}
    assert "slow" not in used
    assert numbers(found)["serve_most_chips"] == max(chips[name] for name in used)


def test_each_parameter_stays_within_its_bounds() -> None:
    """Runs at a hundredth of the peak move an efficiency to its least and no further."""
    for each in own(as_expected(plans("matmul"), 100)).parameters:
        assert BY_NAME[each.name].lower <= each.value <= BY_NAME[each.name].upper


def test_a_stack_of_ones_own_is_taken_by_name(slower: tuple[Path, str]) -> None:
    """`--calibrations` brings the stack: on its chip it has its own calibration, on others and by other stacks nothing
    changes; its lines carry day and versions."""
    mine, said = slower
    assert "6 runs used" in said
    sizes = [word for name in ("tokens", "d_in", "d_out") for word in ("--set", f"{name}=4096")]

    def expected(chip: str, *more: object) -> str:
        return command("calc", "matmul", *sizes, *more, "-H", chip, "--json", "--get", "expected_time")

    usual = expected(CHIP)
    assert expected(CHIP, "--set", "stack=default", "--calibrations", mine) == usual
    assert expected(CHIP, "--set", "stack=mine", "--calibrations", mine) != usual
    other = expected("tpu-v5p")
    assert expected("tpu-v5p", "--set", "stack=mine", "--calibrations", mine) == other
    assert load_stacks(mine).rows["mine"]["fitted_for"] == CALIBRATION
    with mine.open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert all(line["date"] and line["planner"] for line in lines)
    assert {line["sources"] for line in lines if line["rows"]} == {"lab"}


def test_older_software_is_said(slower: tuple[Path, str], tmp_path: Path) -> None:
    """Calibrations that were fitted under another version of planner say so."""
    mine = tmp_path / "runs-calibrations.csv"
    lines = slower[0].read_text(encoding="utf-8").splitlines()
    old = [lines[0], *(line.rsplit(",", 2)[0] + ",0.0.1," for line in lines[1:])]
    mine.write_text("\n".join(old), encoding="utf-8")
    said = command("calc", "training", "-m", "gpt2", "-H", CHIP, "--calibrations", mine, "--set", "stack=mine")
    assert "was fitted under planner 0.0.1" in said


def test_fitted_and_unseen_sources_stand_apart(slower: tuple[Path, str], tmp_path: Path) -> None:
    """`planner validate --calibrations` has a line for sources that were fitted to, and one for those that weren't."""
    path = matmuls(tmp_path / "runs.csv", [1.3] * 6, "mine")
    text = path.read_text(encoding="utf-8").splitlines()
    others = [line.replace("matmul ", "other ", 1).replace(",lab,", ",elsewhere,") for line in text[1:5]]
    path.write_text("\n".join([*text, *others, ""]), encoding="utf-8")
    said = command("validate", path, "--calibrations", slower[0])
    for name in ("matmul, fitted to", "matmul, not fitted to", "lab, fitted to", "elsewhere, not fitted to"):
        assert name in said


def test_the_version_of_jax_is_that_of_the_measurements(slower: tuple[Path, str], tmp_path: Path) -> None:
    """The column `jax` has the versions that measured the runs, and not the one that fits them:
    none of a CSV of runs, which names none; several are said."""
    assert _versions(slower[0]) == {""}
    read = checked_measurements(DATA / "this_host" / "quick.csv")
    rows = [row for row in read if row.template == "matmul"]  # few parameters are fitted quickly
    where = ("--hardware-csv", DATA / "this_host" / "chip.csv", "-H", "laptop")
    for name, versions in (("one", ["0.1.2"]), ("two", ["0.1.2", "0.9.8"])):
        path = tmp_path / f"{name}.csv"
        write_measurements(path, [replace(row, jax=versions[at % len(versions)]) for at, row in enumerate(rows)])
        said = command("fit", path, *where)
        assert _versions(tmp_path / f"{name}-calibrations.csv") == {" ".join(versions)}
        assert ("several versions of JAX, 0.1.2 and 0.9.8" in said) == (len(versions) > 1)


def _versions(path: Path) -> set[str]:
    """What the column `jax` of a CSV of calibrations says."""
    with path.open(encoding="utf-8") as stream:
        return {line["jax"] for line in csv.DictReader(stream)}
