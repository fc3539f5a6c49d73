"""What commands on a workbook take against building it, as ratios of user time of whole processes.

    python benchmarks/commands.py

Each command runs in turn with a build of the default workbook, A B A B ..., and the median of the ratios is printed.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROUNDS = 5
PLANNER = [sys.executable, "-m", "planner"]


def user_seconds(*arguments: str) -> float:
    """User CPU seconds of a planner command; 1 is no failure, since `diff` says so that something differs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([*PLANNER, *arguments], check=False, capture_output=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def ratio(name: str, command: Callable[[], float], build: Callable[[], float], goal: float) -> None:
    """Print the median ratio of a command to a build beside the goal."""
    pairs = [(command(), build()) for _ in range(ROUNDS + 1)][1:]  # the first warms up
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    share = statistics.median(one / other for one, other in pairs)
    print(f"{name:40} {ours:8.2f} s {theirs:8.2f} s  {share:5.2f}  (goal {goal:g})", flush=True)


def main() -> None:
    """Print every ratio."""
    print(f"{'command against build, user time':40} {'command':>10} {'build':>10}  ratio")
    with tempfile.TemporaryDirectory() as folder:
        plan, other, copy, fresh = (str(Path(folder) / f"{name}.xlsx") for name in ("plan", "other", "copy", "fresh"))
        user_seconds("build", "-o", plan)
        user_seconds("build", "-o", other, "--set", "batch=48")

        def build() -> float:
            return user_seconds("build", "--force", "-o", fresh)

        def add() -> float:
            shutil.copy(plan, copy)
            return user_seconds("scenario", "add", copy, "one more")

        ratio("diff of two workbooks", lambda: user_seconds("diff", plan, other), build, 2.0)
        ratio("diff of a workbook and itself", lambda: user_seconds("diff", plan, plan), build, 2.0)
        ratio("scenario add", add, build, 1.5)
        ratio("check", lambda: user_seconds("check", plan), build, 1.5)


if __name__ == "__main__":
    main()
