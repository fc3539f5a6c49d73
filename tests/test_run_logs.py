"""Logs and results of engines, which no command reads: each is named, with the number of it that can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from planner.run_logs import recognized

# As the engines of 2026 write them, shortened: the text, what it is, and the options for `planner record`.
LOGS = {
    "vllm bench serve": (
        '{"backend": "vllm", "output_throughput": 1555.1, "median_ttft_ms": 388.4, "median_tpot_ms": 21.2}',
        "a benchmark's result", "--time 21.2ms --of tpot or --time 388.4ms --of ttft",
    ),
    "vllm bench serve, printed": (
        "Output token throughput (tok/s):         1555.10   \nMean TTFT (ms):           410.20\n"
        "Median TTFT (ms):         388.40    \nMedian TPOT (ms):         21.20     \n",
        "a benchmark's result", "--time 21.20ms --of tpot or --time 388.40ms --of ttft",
    ),
    "vllm bench latency": (
        '{\n  "avg_latency": 1.284,\n  "latencies": [1.28, 1.29],\n  "percentiles": {"50": 1.284}\n}',
        "a benchmark's result", "--time 1.284s --of static_batch_time",
    ),
    "vllm bench serve, all requests at once": (
        '{"request_rate": "inf", "max_concurrency": null, "median_ttft_ms": 21943.2, "median_tpot_ms": 190.1}',
        "a benchmark's result", "--time 190.1ms --of tpot",
    ),
    "vllm bench serve, all requests at once within a limit": (
        '{"request_rate": "inf", "max_concurrency": 64, "median_ttft_ms": 118.2, "median_tpot_ms": 21.3}',
        "a benchmark's result", "--time 21.3ms --of tpot or --time 118.2ms --of time_to_first_token_full",
    ),
    "sglang bench_serving, printed, at a rate": (
        "Traffic request rate:                    4.0\nMax request concurrency:                 not set   \n"
        "Concurrency:                             40.55\nMedian TTFT (ms):    943.22\nMedian ITL (ms):     60.10\n",
        "a benchmark's result", "--time 60.10ms --of tpot",
    ),
    "trtllm-bench, printed whole": (
        "Number of concurrent requests:  1968.80\nRequest Throughput (req/sec):  43.2089\n"
        "Average time-to-first-token [TTFT] (ms):  52667.0339\n"
        "Average time-per-output-token [TPOT] (ms):        182.9639\n",
        "a benchmark's result", "--time 182.9639ms --of tpot",
    ),
    "aiperf, JSON": (
        '{"time_to_first_token": {"unit": "ms", "avg": 16.26}, "inter_token_latency": {"unit": "ms", "avg": 1.84},'
        ' "input_config": {"loadgen": {"concurrency": 64}}}',
        "a benchmark's result", "--time 1.84ms --of tpot or --time 16.26ms --of time_to_first_token_full",
    ),
    "sglang bench_serving, of two rates": (
        '{"backend": "sglang", "median_ttft_ms": 388.4, "median_tpot_ms": 21.2}\n'
        '{"backend": "sglang", "median_ttft_ms": 700.1, "median_tpot_ms": 31.2}\n',
        "a benchmark's result", "--time 31.2ms --of tpot or --time 700.1ms --of ttft",
    ),
    "vllm bench serve, so many requests in flight": (
        "Maximum request concurrency:             64\nMedian TTFT (ms):    118.02\nMedian TPOT (ms):   21.30\n",
        "a benchmark's result", "--time 21.30ms --of tpot or --time 118.02ms --of time_to_first_token_full",
    ),
    "vllm bench serve, JSON, one request at a time": (
        '{"max_concurrency": 1, "median_ttft_ms": 88.1, "median_tpot_ms": 11.2}\n',
        "a benchmark's result", "--time 11.2ms --of tpot or --time 88.1ms --of ttft",
    ),
    "sglang bench_serving, printed, so many requests in flight": (
        "Max request concurrency:                 64\nMedian E2E Latency (ms):   9120.55\nMedian TTFT (ms):  118.02\n",
        "a benchmark's result",
        "--time 118.02ms --of time_to_first_token_full or --time 9120.55ms --of request_time_full",
    ),
    "vllm bench serve, JSON, end to end": (
        '{"max_concurrency": 1, "median_ttft_ms": 88.1, "median_e2el_ms": 5700.5}\n',
        "a benchmark's result", "--time 88.1ms --of ttft or --time 5700.5ms --of e2e",
    ),
    "sglang bench_one_batch": (
        '{"run_name": "default", "prefill_latency": 0.812, "median_decode_latency": 0.0182, "total_latency": 3.12}',
        "a benchmark's result", "--time 0.0182s or --time 0.812s --of prefill_time",
    ),
    "trtllm-bench": (
        "Request Throughput (req/sec):                     43.2089\n"
        "Average time-to-first-token [TTFT] (ms):          52667.0339\n"
        "Average time-per-output-token [TPOT] (ms):        182.9639\n",
        "a benchmark's result", "--time 182.9639ms --of tpot or --time 52667.0339ms --of ttft",
    ),
    "genai-perf, CSV": (
        'Metric,avg,min\nTime To First Token (ms),"1,410.2",88.1\nInter Token Latency (ms),21.7,18.2\n',
        "a benchmark's result", "--time 21.7ms --of tpot or --time 1410.2ms --of ttft",
    ),
    "genai-perf, JSON": (
        '{"time_to_first_token": {"unit": "ms", "avg": 410.2}, "inter_token_latency": {\n "unit": "ms",'
        '\n "avg": 21.7}}',
        "a benchmark's result", "--time 21.7ms --of tpot or --time 410.2ms --of ttft",
    ),
    "llama-bench, JSON": (
        '[{"build_commit": "8cf427ff", "n_prompt": 512, "n_gen": 0, "avg_ns": 72135640, "avg_ts": 7100.0},\n'
        '{"build_commit": "8cf427ff", "n_prompt": 0, "n_gen": 128, "avg_ns": 1085, "avg_ts": 117.9}]',
        "a result of llama-bench", "--time 72135640ns --of prefill_time or --tokens-per-second 117.9",
    ),
    "llama-bench, Markdown": (
        "| model | backend | ngl | test |   t/s |\n| ----- | ------- | --: | ---: | ----: |\n"
        "| qwen2 1.5B Q4_0 | CUDA   |  99 | pp512 | 13872.18 ± 126.93 |\n"
        "| qwen2 1.5B Q4_0 | CUDA   |  99 | tg128 | 235.16 ± 0.66 |\n",
        "a result of llama-bench", "--tokens-per-second 235.16",
    ),
    "vllm serve": (
        "Avg prompt throughput: 12440.8 tokens/s, Avg generation throughput: 1555.1 tokens/s, Running: 64 reqs",
        "a server's log", "--tokens-per-second 1555.1",
    ),
    "vllm serve, until it idles": (
        "Avg generation throughput: 1555.1 tokens/s, Running: 64 reqs\n"
        "Avg generation throughput: 12.0 tokens/s, Running: 1 reqs\nAvg generation throughput: 0.0 tokens/s",
        "a server's log", "--tokens-per-second 1555.1",
    ),
    "vllm serve, prefills now and then": (
        "".join(f"Avg generation throughput: {rate} tokens/s\n" for rate in (3.1, 1302.2, 2210, 1290.4, 1315.9, 9)),
        "a server's log", "--tokens-per-second 1315.9",
    ),
    "sglang server": (
        "[2026-10-14 10:15:00 TP0] Decode batch. #running-req: 64, gen throughput (token/s): 1555.10, #queue-req: 0",
        "a server's log", "--tokens-per-second 1555.10",
    ),
    "MaxText": (
        "completed step: 0, seconds: 65.1, TFLOP/s/device: 24.4\ncompleted step: 9, seconds: 5.121, loss: 8.0",
        "a log of training", "--time 5.121s",
    ),
    "MaxText, its metrics": (
        '{"step": 1, "perf/step_time_seconds": 65.1}\n{"step": 9, "perf/step_time_seconds": 5.12, "loss": 3.1}\n',
        "a log of training", "--time 5.12s",
    ),
    "Megatron Bridge": (
        "Step Time : 9.53s GPU utilization: 512.3MODEL_TFLOP/s/GPU\n", "a log of training", "--time 9.53s",
    ),
    "Megatron-LM": (
        " iteration 10/ 24000 | elapsed time per iteration (ms): 5123.4/5200.1 | lm loss: 11.9 |",
        "a log of training", "--time 5123.4ms",
    ),
    "NeMo": ("| global_step: 9 | train_step_timing in s: 9.532 | ", "a log of training", "--time 9.532s"),
    "torchtitan, in colour": (
        "\x1b[31mstep: 10  \x1b[34mtps: 5,762  \x1b[36mtflops: 421.11  \x1b[35mmfu: 42.58%\x1b[39m",
        "a log of training", "--tokens-per-second 5762*CHIPS",
    ),
    "DeepSpeed": (
        "global_step=10, RunningAvgSamplesPerSec=28.5, CurrSamplesPerSec=28.9",
        "a log of training", "--tokens-per-second 28.5*SEQUENCE_LENGTH",
    ),
    "DeepSpeed's profiler": (
        "---- DeepSpeed Flops Profiler ----\niter latency:              376 ms\n", "a log of training", "--time 376ms",
    ),
    "nanoGPT": ("iter 10: loss 9.6423, time 251.22ms, mfu 41.12%\n", "a log of training", "--time 251.22ms"),
    "nanochat": ("step 00010/21400 | loss: 7.8 | dt: 512.34ms | mfu: 47.81 |", "a log of training", "--time 512.34ms"),
    "MLPerf Inference": (
        "MLPerf Results Summary\nScenario : Offline\nTokens per second: 20900.1\n",
        "a log of MLPerf", "--tokens-per-second 20900.1",
    ),
    "MLPerf Training": (
        ':::MLLOG {"key": "tracked_stats", "value": {"throughput": 5.1}}',
        "a log of MLPerf", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "Hugging Face's Trainer": (
        "{'train_runtime': 812.3, 'train_samples_per_second': 12.31, 'train_steps_per_second': 0.385}",
        "a log of training", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_the_number_to_record_is_told(name: str) -> None:
    """What the text is, and the number of its last step or its medians as options of `planner record`."""
    text, kind, options = LOGS[name]
    found = recognized(text.encode())
    assert found is not None
    assert found == (kind, f"planner record writes the time that it tells into a workbook: {options}")


@pytest.mark.parametrize("command", ["ingest", "validate", "fit"])
@pytest.mark.parametrize("name", ["vllm bench serve", "llama-bench, JSON", "torchtitan, in colour", "genai-perf, CSV"])
def test_each_command_names_it(planner: Callable[..., Result], tmp_path: Path, command: str, name: str) -> None:
    """One line, where a profile or a CSV of runs is wanted."""
    text, kind, options = LOGS[name]
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    done = planner(command, str(path))
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert f"this is {kind}, and no " in done.stderr
    assert done.stderr.rstrip().endswith(options)


def test_a_long_preamble_does_not_hide_a_log(planner: Callable[..., Result], tmp_path: Path) -> None:
    """Thousands of settings before the first step."""
    path = tmp_path / "train.log"
    path.write_text("".join(f"setting_{n} = {n}\n" for n in range(5000)) + LOGS["MaxText"][0])
    assert "this is a log of training, and no profile" in planner("ingest", str(path)).stderr


def test_a_csv_of_runs_with_a_word_of_logs_is_a_csv(planner: Callable[..., Result], tmp_path: Path) -> None:
    """A misspelt column is told as such, although the runs are of the time to the first token."""
    path = tmp_path / "runs.csv"
    path.write_text("idd,kind,source,template,hardware,settings,output,measured\na,ttft,me,inference,h100,x=1,ttft,1\n")
    assert "column 'id' is missing; did you mean idd? rename it to id" in planner("validate", str(path)).stderr
