"""What `planner backfill` takes for a large workbook: processor time, wall time and peak memory of the whole process.

    python benchmarks/backfill.py [--rows 4500] [--formulas 100000]

Each line is the median of some runs, on a copy of the workbook each:

- values: a Comparison of 600 cases, all measured (eight cells of each are typed: 4,800 values), among so many formulas;
- rows: a Comparison of so many cases, all measured anew; all but the default sheets' formulas are its own;
- new: as many measurements of cases that the Comparison doesn't have yet: rows with all their formulas;
- again: the same measurements once more, which change no byte.

Goals of CPU seconds, over what 0.1.0 took of 43 formulas a row (there are 76 now) on the same machine: values 1.3 times
(0.8 s), rows and new 2 times (3.3 and 3.1 s on one idle machine).
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from ratios import count_formulas, large_plan

ROUNDS, CASES = 3, 600
SIZES = ("tokens", "n_elements", "batch", "d_in", "kv_len")


def cases(plan, wanted: int):  # type: ignore[no-untyped-def]
    """So many different cases, made of the plan's own with other sizes."""
    seen: dict[str, object] = {}
    for number in count():
        case = plan.comparison[number % len(plan.comparison)]
        sizes = {
            name: value + number for name, value in case.inputs.items() if name in SIZES and isinstance(value, float)
        }  # fmt: skip
        made = dataclasses.replace(case, inputs={**case.inputs, **sizes})
        seen.setdefault(made.key, made)
        if len(seen) == wanted:
            return list(seen.values())
    raise AssertionError


def workbook(path: Path, own: Sequence, formulas: int) -> int:  # type: ignore[type-arg]
    """A workbook with these cases in its Comparison and scenarios up to so many formulas; how many it has."""
    from planner.workbook.book import build

    plan = dataclasses.replace(large_plan(0), comparison=own)
    lacking = formulas - count_formulas(plan)
    if lacking > 0:
        plan = dataclasses.replace(large_plan(lacking), comparison=own)
    path.write_bytes(build(plan))
    return count_formulas(plan)


def measurements(path: Path, own: Sequence) -> Path:  # type: ignore[type-arg]
    """A CSV with a time for each case."""
    from planner.measure.measurements_csv import write_measurements
    from planner.measure.records import Measurement

    chip = large_plan(0).scenarios[0].hardware
    write_measurements(path, [
        Measurement(run_id="r1", timestamp="2026-05-01T10:00:00+00:00", source="microbench", platform="tpu",
                    hardware_id=chip, device_kind="TPU", t_median=1e-3, t_mad=1e-5, n_samples=9, method="profiler",
                    jax="0.10.2", case_key=case.key) for case in own
    ])  # fmt: skip
    return path


TIMED = """
import os, subprocess, sys, time
begin = time.monotonic()
process = subprocess.Popen([sys.executable, "-m", "planner", "backfill", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
assert status == 0
print(usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024)
"""


def backfill(book: Path, csv: Path) -> tuple[float, ...]:
    """CPU seconds, wall seconds and peak MB of one run of the command.

    A small process starts it: the peak of a process counts what the one that started it had.
    """
    command = [sys.executable, "-c", TIMED, str(book), str(csv)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return tuple(map(float, done.stdout.split()))


def show(what: str, runs: Sequence[tuple[float, ...]]) -> None:
    """Print the medians of some runs."""
    cpu, wall, peak = (statistics.median(column) for column in zip(*runs, strict=True))
    print(f"{what:64} {cpu:5.2f} s of CPU {wall:6.2f} s {peak:5.0f} MB", flush=True)


def main() -> None:
    """Print the medians of every reading."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4500)
    parser.add_argument("--formulas", type=int, default=100_000)
    wanted = parser.parse_args()
    few = large_plan(0).comparison
    many = cases(large_plan(0), wanted.rows)
    readings = (("values", many[:CASES], many[:CASES]), ("rows", many, many), ("new", few, many))
    with tempfile.TemporaryDirectory() as folder:
        book, copy = Path(folder) / "plan.xlsx", Path(folder) / "copy.xlsx"
        for name, own, measured in readings:
            formulas = workbook(book, own, 0 if name == "rows" else wanted.formulas)
            csv = measurements(Path(folder) / "measurements.csv", measured)
            runs = []
            for _ in range(ROUNDS):
                shutil.copy(book, copy)
                runs.append(backfill(copy, csv))
            show(f"{name}: {len(measured):,} rows, {len(own):,} of them known, into {formulas:,} formulas", runs)
        before = copy.read_bytes()
        show("again: the same", [backfill(copy, csv) for _ in range(ROUNDS)])
        assert copy.read_bytes() == before


if __name__ == "__main__":
    main()
