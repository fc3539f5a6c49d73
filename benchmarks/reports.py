"""What `planner report` takes: the default workbook to each format, whole processes, beside its libraries' imports.

    python benchmarks/reports.py

Wall seconds, the median of several runs in turn: the goals are for two cores that do nothing else.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
GOALS = {"html": 3.0, "pdf": 6.0, "md": 3.0, "csv": 3.0, "json": 3.0}
LIBRARIES = ("jinja2.sandbox", "typst", "formualizer", "numpy")


def seconds(*command: str) -> float:
    """Wall seconds of a whole process."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    """Print each format's time beside its goal, and each library's import."""
    python, planner = sys.executable, [sys.executable, "-m", "planner"]
    with tempfile.TemporaryDirectory() as folder:
        book = str(Path(folder) / "plan.xlsx")
        subprocess.run([*planner, "build", "-o", book], check=True, stdout=subprocess.DEVNULL)
        commands = {
            f"planner report -o report.{ending}": [
                *planner,
                "report",
                book,
                "--force",
                "-o",
                str(Path(folder) / f"r.{ending}"),
            ]
            for ending in GOALS
        }
        commands |= {f"import {name}": [python, "-c", f"import {name}"] for name in LIBRARIES}
        commands["python alone"] = [python, "-c", ""]
        runs: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS + 1):  # the first warms up
            for name, command in commands.items():
                runs[name].append(seconds(*command))
    for name, taken in runs.items():
        goal = GOALS.get(name.rpartition(".")[2]) if name.startswith("planner") else None
        print(f"{name:58} {statistics.median(taken[1:]):8.3f} s" + (f"  (goal {goal:g} s)" if goal else ""), flush=True)


if __name__ == "__main__":
    main()
