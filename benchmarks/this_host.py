"""How far off planner is on this machine, of shapes that it hasn't seen, from nothing: added, measured, fitted.

    python benchmarks/this_host.py                  # some ten minutes on an idle machine
    python benchmarks/this_host.py --suite full
    python benchmarks/this_host.py --measured tests/data/this_host   # of a folder that one such run left behind

What `planner hardware add --this-host`, `planner measure` and `planner fit` do one after the other; then the 27
operations of tests/data/this_host/held.csv are measured and predicted, as shipped and as fitted.
Goal: a median error under 25 %. Run it alone: another program moves every number.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from planner.catalog.databases import Databases
from planner.compare.case_keys import complete_key
from planner.compare.checked_measurements import checked_measurements
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.measuring import predicted as to_be_measured
from planner.fit.fit import fit
from planner.fit.runs_to_fit import runs_of_csv
from planner.formulas import library
from planner.measure.measurements_csv import keep_measurements, write_measurements
from planner.measure.records import parse_key
from planner.measure.timed_cases import measure_cases
from planner.terminal_table import aligned
from planner.validation.expected_times import predicted
from planner.validation.runs import Run, models_of

HELD = Path(__file__).parent.parent / "tests" / "data" / "this_host" / "held.csv"
NAME, DECODE = "laptop", 1  # the chip; query tokens of a decode step
THIN = 128  # tokens below which a matmul is mostly its weights


def measured(folder: Path, suite: str) -> None:
    """Fill a folder with chip.csv, quick.csv and held.csv of this machine."""
    for words in (
        ("hardware", "add", "--this-host", NAME, "--to", folder / "chip.csv"),
        ("measure", "--suite", suite, "--csv", folder / "quick.csv"),
    ):
        subprocess.run([sys.executable, "-m", "planner", *map(str, words)], check=True)
    cases = []
    for row in checked_measurements(HELD):
        template, inputs = parse_key(row.case_key)
        cases.append(to_be_measured(ComparisonCase(row.case_key, library.load(template), inputs, ""), ""))
    keep_measurements(folder / "held.csv", measure_cases(cases, kinds={}, progress=print), complete_key)


def kind_of(run: Run) -> str:
    """What kind of operation a run is."""
    if run.values.get("query_len") == DECODE:
        return f"{run.template}, decode"
    tokens = run.values.get("tokens")
    is_thin = run.template == "matmul" and isinstance(tokens, float) and tokens < THIN
    return f"{run.template}, few tokens" if is_thin else run.template


def errors(folder: Path) -> dict[str, dict[str, list[float]]]:
    """By stack, `default` and the fitted one, and by kind of operation how far off each expected time is."""
    chip = Databases(hardware_csv=folder / "chip.csv")
    found = fit(folder / "quick.csv", chip, "mine", chip=NAME)
    print(*found.lines(), "", sep="\n")
    with tempfile.TemporaryDirectory() as own:
        calibrations, unflagged = Path(own) / "mine.csv", Path(own) / "held.csv"
        found.write(calibrations, None)
        write_measurements(unflagged, [replace(row, flags="") for row in checked_measurements(folder / "held.csv")])
        databases = replace(chip, calibrations_csv=calibrations)
        runs, _ = runs_of_csv(unflagged, databases, models_of(databases), NAME)
        off: dict[str, dict[str, list[float]]] = {}
        for stack in ("default", found.first):
            asked = [replace(run, values={**run.values, "stack": stack}) for run in runs if not run.fault]
            off[stack] = defaultdict(list)
            for each in predicted(asked, databases, models_of(databases)):
                for run, expected in zip(each.runs, each.expected, strict=True):
                    off[stack][kind_of(run)].append(abs(float(expected) / run.measured - 1))
    return off


def said(errors: Sequence[float]) -> str:
    """The median of some errors."""
    return f"{median(errors):.1%}"


def main() -> None:
    """Print the median error of each kind, before and after the fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="quick", choices=("quick", "full"))
    parser.add_argument("--measured", type=Path, help="a folder with chip.csv, quick.csv and held.csv")
    given = parser.parse_args()
    folder = given.measured or Path(tempfile.mkdtemp(prefix="this-host-"))
    if given.measured is None:
        measured(folder, given.suite)
    (before, after) = errors(folder).values()
    lines = [[kind, str(len(each)), said(before[kind]), said(each)] for kind, each in after.items()]
    everything = [[one for each in found.values() for one in each] for found in (before, after)]
    lines.append(["all", str(len(everything[0])), *map(said, everything)])
    print(aligned(["median error", "shapes", "as shipped", "fitted"], lines, right=["shapes", "as shipped", "fitted"]))
    print(f"measured: {folder}")


if __name__ == "__main__":
    main()
