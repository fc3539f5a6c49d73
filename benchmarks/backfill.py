"""What `planner backfill` takes for a large workbook: processor time, wall time and peak memory of the whole process.

    python benchmarks/backfill.py [--rows 600] [--formulas 100000]

The workbook has so many cases in its Comparison, each measured, and scenarios up to so many formulas in all. Eight
cells of a case are typed, so 600 rows are about 4,500 values. The goal: at most 2 s on two cores and 400 MB.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from ratios import count_formulas, large_plan

ROUNDS = 3
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


def inputs(folder: Path, rows: int, formulas: int) -> tuple[Path, Path, int]:
    """A workbook, a CSV with a time for each of its cases, and the number of formulas."""
    from measure.records import Measurement, write_measurements
    from planner.workbook.book import build

    small = large_plan(0)
    own = cases(small, rows)
    without = count_formulas(dataclasses.replace(small, comparison=own))
    plan = dataclasses.replace(large_plan(max(0, formulas - without)), comparison=own)
    book, csv = folder / "plan.xlsx", folder / "measurements.csv"
    book.write_bytes(build(plan))
    chip = plan.scenarios[0].hardware
    write_measurements(csv, [
        Measurement(run_id="r1", timestamp="2026-05-01T10:00:00+00:00", source="microbench", platform="tpu",
                    hardware_id=chip, device_kind="TPU", t_median=1e-3, t_mad=1e-5, n_samples=9, method="profiler",
                    jax="0.10.2", case_key=case.key) for case in own
    ])  # fmt: skip
    return book, csv, count_formulas(plan)


def main() -> None:
    """Print the median of some runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--formulas", type=int, default=100_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        book, csv, formulas = inputs(Path(folder), wanted.rows, wanted.formulas)
        taken = []
        for _ in range(ROUNDS):
            copy = book.with_name("copy.xlsx")
            shutil.copy(book, copy)
            begin = time.monotonic()
            command = [sys.executable, "-m", "planner", "backfill", str(copy), str(csv)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            taken.append((usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024))
    cpu, wall, peak = (statistics.median(column) for column in zip(*taken, strict=True))
    print(
        f"backfill of {wanted.rows:,} rows into {formulas:,} formulas: {cpu:.2f} s of CPU, {wall:.2f} s, {peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
