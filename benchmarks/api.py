"""What a notebook waits for: a plan asked again, in this process; and all elasticities, as a process beside `calc`.

python benchmarks/api.py           # some ten seconds
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import planner

ROUNDS = 5
PLANNER = [sys.executable, "-m", "planner"]
MODEL, CHIP = "llama3.1-405b", "h100-sxm"
ARGUMENTS = ["-m", MODEL, "-H", CHIP, "--set", "n_chips=512"]


def seconds(function: Callable[[], object]) -> float:
    """How long a call takes."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def process(*arguments: str) -> float:
    """How long a planner process takes: the median of a few."""
    command = [*PLANNER, *arguments]
    return statistics.median(
        seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(ROUNDS)
    )


def headlines(template: str, n_chips: float) -> object:
    """The headlines of a plan on so many chips."""
    return planner.calc(template, model=MODEL, hardware=CHIP, n_chips=n_chips).headlines


def main() -> None:
    """Print a line for each case: the median, beside the goal."""
    for template in ("training", "inference"):
        chips = [float(count) for count in range(512, 672, 8)]
        times = [seconds(partial(headlines, template, n)) for n in chips]
        median = statistics.median(times[1:])
        print(f"planner.calc of {template}, its headlines {1e3 * median:9.2f} ms  (goal 5 ms)")
        told, plain = (process(command, template, *ARGUMENTS) for command in ("sensitivity", "calc"))
        print(f"planner sensitivity {template}, beyond calc {told - plain:8.2f} s  (goal 0.2 s; calc {plain:.2f} s)")


if __name__ == "__main__":
    main()
