"""Sweeps and searches as whole processes: seconds of the clock and of both cores.

python benchmarks/searching.py                   # some two minutes
python benchmarks/searching.py --large           # and 1e7 plans by JAX, 1e8 to Parquet with the memory that they take
python benchmarks/searching.py --peer PYTHON     # and plans a second beside llm-analysis, which that Python has
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
PARQUET = [
    ("1e7 plans of inference by JAX", 5.0,
     ["sweep", *SERVING, "--over", "n_chips=1..1000", "batch=1..1000", "context_len=800..8000+800",
      "--get", "decode_step_time_expected", "--backend", "jax"]),
    ("1e7 plans of training by JAX", 12.0,
     ["sweep", *TRAINING, "--over", "n_chips=8192..16184+8", *MESH, "batch_tokens=2^20..2^29",
      "--get", "step_time_expected", "--backend", "jax"]),
]  # fmt: skip
LARGE = ["sweep", *SERVING, "--over", "n_chips=1..1000", "batch=1..1000", "context_len=80..8000+80",
         "--get", "decode_step_time_expected"]  # fmt: skip

# Plans of Llama 2 70B on H100, each of another layout, of which the peer makes an analysis; its configs are read once.
PEER = """
import logging, time
logging.disable(logging.CRITICAL)
from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import ParallelismConfig, get_dtype_config_by_name, get_gpu_config_by_name
from llm_analysis.config import get_model_config_by_name
configs = (get_model_config_by_name("upstage_Llama-2-70b-instruct-v2"), get_gpu_config_by_name("h100-sxm-80gb"),
           get_dtype_config_by_name("w16a16e16"))
for call in (
    lambda analysis, at: analysis.inference(batch_size_per_gpu=1 + at, seq_len=512),
    lambda analysis, at: analysis.training(batch_size_per_gpu=1 + at % 2, seq_len=2048, total_num_tokens=10**12),
):
    begun = time.perf_counter()
    for at in range(500):
        call(LLMAnalysis(*configs, ParallelismConfig(tp_size=8, pp_size=8, dp_size=1 + at, sp_size=8)), at)
    print(500 / (time.perf_counter() - begun))
"""


def beside(python: str) -> None:
    """Print plans a second of the peer, called in a process, and of planner's tables, made in this one."""
    from planner.catalog.databases import Databases
    from planner.search.request import request
    from planner.search.sweep import SweptPlans

    told = subprocess.run([python, "-c", PEER], check=True, capture_output=True, text=True).stdout.split()
    for template, peer, over, wanted in (
        ("inference", float(told[0]), ["n_chips=1..1000", "batch=1..1000", "context_len=2000..8000+2000"],
         "decode_step_time_expected"),
        ("training", float(told[1]), ["n_chips=8192..11384+8", *MESH, "batch_tokens=2^20..2^29"],
         "step_time_expected"),
    ):  # fmt: skip
        rates = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            sweep = SweptPlans(request(template, ["llama2-70b"], ["h100-sxm"], [], over, [], Databases()), [wanted])
            count = sum(len(part[wanted]) for part in sweep.parts())
            rates.append(count / (time.perf_counter() - begun))
        ours = statistics.median(rates)
        print(
            f"{template}: {ours:,.0f} plans a second, llm-analysis {peer:,.0f}: {ours / peer:,.0f} times (goal 1,000)"
        )


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
    parser.add_argument("--large", action="store_true", help="1e7 plans by JAX and 1e8 plans to Parquet too")
    parser.add_argument("--peer", metavar="PYTHON", help="a Python that has llm-analysis")
    asked = parser.parse_args()
    for name, goal, arguments in CASES:
        rounds = [measured(arguments) for _ in range(ROUNDS)]
        clock, cores = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:44} {clock:6.2f} s, {cores:6.2f} s of the cores  (goal {goal:g} s)", flush=True)
    if asked.peer:
        beside(asked.peer)
    if asked.large:
        clock, cores = measured(LARGE, "parquet")
        most = (
            resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        )  # of all so far, of which it is the largest
        print(f"{'1e8 plans to Parquet':44} {clock:6.2f} s, {cores:6.2f} s of the cores, {most:,.0f} MB", flush=True)
        for name, goal, arguments in PARQUET:
            _, *rounds = [measured(arguments, "parquet") for _ in range(1 + ROUNDS)]  # the first compiles
            clock, cores = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(f"{name:44} {clock:6.2f} s, {cores:6.2f} s of the cores  (goal {goal:g} s)", flush=True)


if __name__ == "__main__":
    main()
