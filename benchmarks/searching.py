"""Sweeps and searches as whole processes: seconds of the clock and of both cores.

python benchmarks/searching.py           # some two minutes
python benchmarks/searching.py --large   # and 1e8 plans to Parquet, with the memory that it takes
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
PLANNER = [sys.executable, "-m", "planner"]
SERVING = ["inference", "-m", "llama3-70b", "-H", "h100-sxm"]
TRAINING = ["training", "-m", "llama3.1-405b", "-H", "h100-sxm", "--set", "seq_len=8192"]
MESH = ["mesh_tensor=1,2,4,8", "mesh_pipeline=1,2,4,8,16", "n_microbatches=1..50"]
CASES = [
    ("calc of one plan", 0.45, ["calc", *SERVING]),
    ("1e5 plans of inference to a CSV", 1.0,
     ["sweep", *SERVING, "--over", "n_chips=1..100", "batch=1..1000", "--get", "decode_step_time_expected"]),
    ("1e6 plans of inference to a CSV", 1.5,
     ["sweep", *SERVING, "--over", "n_chips=1..1000", "batch=1..1000", "--get", "decode_step_time_expected"]),
    ("1e6 plans of training to a CSV", 3.0,
     ["sweep", *TRAINING, "--over", "n_chips=8192..8984+8", *MESH, "batch_tokens=2^20..2^29",
      "--get", "step_time_expected"]),
    ("1e6 plans of training, the best of them", 3.0,
     ["optimize", *TRAINING, "--alone", "--over", "n_chips=8192..8984+8", *MESH, "batch_tokens=2^20..2^29",
      "--minimize", "step_time_expected"]),
    ("search of Llama-3.1-405B on 8,192 chips", 3.0,
     ["optimize", *TRAINING, "n_chips=8192", "batch_tokens=16777216", "--minimize", "step_time_expected"]),
    ("front of 4e5 plans of DeepSeek-V3", 3.0,
     ["optimize", "inference", "-m", "deepseek-v3", "-H", "h100-sxm", "--over", "batch=1..1440", "prefill_chips=0",
      "--minimize", "cost_per_million_tokens_expected", "--and", "time_per_output_token_expected"]),
]  # fmt: skip
LARGE = ["sweep", *SERVING, "--over", "n_chips=1..1000", "batch=1..1000", "context_len=80..8000+80",
         "--get", "decode_step_time_expected"]  # fmt: skip


def measured(arguments: list[str], ending: str = "csv") -> tuple[float, float]:
    """Seconds of the clock and of the cores of a planner process."""
    with tempfile.TemporaryDirectory() as folder:
        output = ["-o", f"{folder}/table.{ending}"] if arguments[0] == "sweep" else []
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([*PLANNER, *arguments, *output], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.perf_counter() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each case: the medians, beside the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="1e8 plans to Parquet too")
    is_large = parser.parse_args().large
    for name, goal, arguments in CASES:
        rounds = [measured(arguments) for _ in range(ROUNDS)]
        clock, cores = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:44} {clock:6.2f} s, {cores:6.2f} s of the cores  (goal {goal:g} s)", flush=True)
    if is_large:
        clock, cores = measured(LARGE, "parquet")
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{'1e8 plans to Parquet':44} {clock:6.1f} s, {cores:6.1f} s of the cores, {most:,.0f} MB")


if __name__ == "__main__":
    main()
