"""Recognizes logs of training and results of benchmarks, which planner doesn't read, and the numbers in them to record.

`planner record` writes such a number into the workbook of a plan. Which of several numbers counts is said beside it:

- of training the median of the later half of the lines: the first ones compile or warm up, and any single one, also the
  last, may have waited for a checkpoint, an evaluation or a profiler;
- of a server's rates the median of those that aren't below half of the highest: before and after it idles, and the
  highest is that of an interval without prefills;
- of single requests or steps their median;
- of several results in one file, such as those of a sweep, the last.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

MOST = 2**20  # bytes at either end of a file to search for the lines of steps
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
_GENERAL = "planner record writes the time that it tells into a workbook: {}"
_OPTIONS = "--time 6.4s, --tokens-per-second N or --mfu 41%"
_TOKEN_MS, _FIRST_MS = "--time {}ms --of tpot", "--time {}ms --of ttft"
_TOKEN_S, _FIRST_S = "--time {}s --of tpot", "--time {}s --of ttft"
_BATCH_S = "--time {}s --of static_batch_time"
_OF_A_CHIP = "--tokens-per-second {}*CHIPS"
_NUMBER = rb"((?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?)"
_IN_MS = rb'%s(?:": *\{\s*"unit": *"ms",| \(ms\)", )'  # as aiperf and genai-perf begin it in JSON, and in a CSV's row
_BEFORE = rb'"%s": *\{[^}]*\},\s*"%s": *\{[^}]*"median": *'  # inference-perf's order of latencies, in seconds
_KINDS = (  # what a text is, by a pattern
    (rb":::MLLOG|MLPerf Results Summary", "a log of MLPerf"),
    (rb"\btiming_s/|policy_training: [\d.]+s", "a log of reinforcement learning, whose steps generate too"),
    (
        rb"(?i)[\"_ (]ttft|time[-_ ]to[-_ ]first[-_ ]token|inter[-_ ]token[-_ ]latency"
        rb"|(?:request|output|token)[_ ]throughput|\"avg_latency\":.{0,2000}?\"percentiles\""
        rb"|\"(?:tokens|requests)_per_second\"|\"median_decode_latency\""
        rb"|% percentile latency: |throughput: [\d.]+ requests/s|\bDecode\. +median latency: |\"median_tpot\"",
        "a benchmark's result",
    ),
    (rb"\"?build_commit\"?[,:]|\| *t/s *\||\| *S_TG t/s *\|", "a result of llama-bench"),
    (rb"\beval time = +[\d.]+ ms / |\"predicted_per_token_ms\"", "a log of llama.cpp"),
    (rb"\neval rate: +[\d.]+ tokens/s|\"prompt_eval_duration\"", "a result of Ollama"),
    (
        rb"generation throughput: [0-9.]+ tokens/s|gen throughput \(token/s\): |\bhost_step_time = [\d.]+ms",
        "a server's log",
    ),
    (rb"# +size +count +type .*\balgbw +busbw", "a table of nccl-tests"),
    (
        rb"(?i)elapsed[ _]time[ _]per[ _]iteration|completed step: \d|train_step_timing|RunningAvgSamplesPerSec"
        rb"|\btps: *[\d,]|\biter \d+: loss|\| dt: [\d.]+ms|flops profiler -|train_(?:steps|samples)_per_second"
        rb"|'loss': '?[\d.]+'?, '|\"log_history\"|perf/step_time_seconds|\bStep Time *: *[\d.]+s"
        rb"|average step time: [\d.]+ seconds|\biter time \(s\): |\| tps [\d.]+\([\d.]+/gpu\)"
        rb"|tokens_per_second_per_gpu\"?: ?\d|Progress on:train |throughput/(?:device/TPS|tokens_per_sec|duration)\b"
        rb"|time_metrics/end_to_end\(s\)|\biteration-time\b",
        "a log of training",
    ),
)

Chosen = tuple[str, str]  # a number as it is written, and in words which of several it is
Choice = Callable[[Sequence[str]], Chosen]


def _last(numbers: Sequence[str]) -> Chosen:
    """The last of several results."""
    return numbers[-1], f"the last of {len(numbers)} results"


def _steady(numbers: Sequence[str]) -> Chosen:
    """The median of the later half of a run's steps."""
    return _middle(numbers[len(numbers) // 2 :])[0], f"the median of the later half of {len(numbers)} lines"


def _busy(rates: Sequence[str]) -> Chosen:
    """The median of a server's rates while it is busy."""
    highest = max(map(float, rates))
    said = f"the median of {len(rates)} rates, without those below half of the highest"
    return _middle([rate for rate in rates if float(rate) >= highest / 2])[0], said


def _middle(numbers: Sequence[str]) -> Chosen:
    """The median; of two in the middle the higher, as it is written."""
    return sorted(numbers, key=float)[len(numbers) // 2], f"the median of {len(numbers)}"


_TOLD = (  # options of planner record by a pattern of the number, and the choice; of several that are alike the first
    (rb'(?:median_tpot_ms"|Median TPOT \(ms\)): *' + _NUMBER, _TOKEN_MS, _last),
    (rb'"tpot_percentiles": *\{[^}]{0,400}?"p50": *' + _NUMBER, _TOKEN_MS, _last),
    (rb"\[TPOT\] P50 *: *" + _NUMBER, _TOKEN_MS, _last),
    (rb'(?:avg_tpot_ms"|average time-per-output-token \[TPOT\] \(ms\)): *' + _NUMBER, _TOKEN_MS, _last),
    (rb'(?:median_itl_ms"|Median ITL \(ms\)): *' + _NUMBER, _TOKEN_MS, _last),
    (rb'"median_tpot": *' + _NUMBER, _TOKEN_S, _last),
    (rb'"median_itl": *' + _NUMBER, _TOKEN_S, _last),
    (_IN_MS % rb"inter[_ ]token[_ ]latency" + rb'[^}]{0,600}?"p50": *' + _NUMBER, _TOKEN_MS, _last),
    (_IN_MS % rb"inter[_ ]token[_ ]latency" + rb'[^}]{0,200}?"avg": *' + _NUMBER, _TOKEN_MS, _last),
    (_BEFORE % (rb"normalized_time_per_output_token", rb"time_per_output_token") + _NUMBER, _TOKEN_S, _last),
    (rb'"inter_token_latency_ms": *\{\s*"successful": *\{[^{}]{0,300}?"median": *' + _NUMBER, _TOKEN_MS, _last),
    (rb'"inter_token_latency": *\{"value": *' + _NUMBER + rb', *"unit": *"ms"', _TOKEN_MS, _middle),
    ("│ *Inter Token Latency \\(ms\\) *│ *".encode() + _NUMBER, _TOKEN_MS, _last),
    (rb'(?:median_ttft_ms"|Median TTFT \(ms\)): *' + _NUMBER, _FIRST_MS, _last),
    (rb'"ttft_percentiles": *\{[^}]{0,400}?"p50": *' + _NUMBER, _FIRST_MS, _last),
    (rb"\[TTFT\] P50 *: *" + _NUMBER, _FIRST_MS, _last),
    (rb'(?:avg_ttft_ms"|average time-to-first-token \[TTFT\] \(ms\)): *' + _NUMBER, _FIRST_MS, _last),
    (rb'"median_ttft": *' + _NUMBER, _FIRST_S, _last),
    (_IN_MS % rb"time[_ ]to[_ ]first[_ ]token" + rb'[^}]{0,600}?"p50": *' + _NUMBER, _FIRST_MS, _last),
    (_IN_MS % rb"time[_ ]to[_ ]first[_ ]token" + rb'[^}]{0,200}?"avg": *' + _NUMBER, _FIRST_MS, _last),
    (_BEFORE % (rb"time_per_output_token", rb"time_to_first_token") + _NUMBER, _FIRST_S, _last),
    (rb'"time_to_first_token_ms": *\{\s*"successful": *\{[^{}]{0,300}?"median": *' + _NUMBER, _FIRST_MS, _last),
    (rb'"time_to_first_token": *\{"value": *' + _NUMBER + rb', *"unit": *"ms"', _FIRST_MS, _middle),
    ("│ *Time to First Token \\(ms\\) *│ *".encode() + _NUMBER, _FIRST_MS, _last),
    (rb'(?:median_e2e(?:l|_latency)_ms"|Median E2EL? (?:Latency )?\(ms\)): *' + _NUMBER, "--time {}ms --of e2e", _last),
    (rb'"median_e2el": *' + _NUMBER, "--time {}s --of e2e", _last),
    (rb'"avg_latency": [^{}]*"percentiles": *\{[^}]{0,400}?"50": *' + _NUMBER, _BATCH_S, _last),
    (rb"50% percentile latency: " + _NUMBER + rb" seconds", _BATCH_S, _last),
    (rb'"avg_latency": ' + _NUMBER, _BATCH_S, _last),
    (rb'"output_len": *\d+, *"latency": *' + _NUMBER, _BATCH_S, _last),
    (rb"\nlatency: " + _NUMBER + rb" s\b", _BATCH_S, _last),
    (rb'(?:"median_decode_latency":|\bDecode\. +median latency:) *' + _NUMBER, "--time {}s", _last),
    (rb'(?:"prefill_latency":|\bPrefill\. latency:) *' + _NUMBER, "--time {}s --of prefill_time", _last),
    (rb'"?\blast_ttft"?: *' + _NUMBER, "--time {}s --of prefill_time", _last),
    (rb'"n_gen": 0,[^}]{0,400}?"avg_ns": ' + _NUMBER, "--time {}ns --of prefill_time", _last),
    (rb'"n_prompt": 0,[^}]{0,400}?"avg_ts": ' + _NUMBER, "--tokens-per-second {}", _last),
    (rb"\| *tg\d+ *\| *" + _NUMBER, "--tokens-per-second {}", _last),
    (rb"\n\|(?: *[\d.]+ *\|){7} *" + _NUMBER + rb"(?= *\|(?: *[\d.]+ *\|){2}\s)", "--tokens-per-second {}", _last),
    (rb"(?<!prompt )\beval time = [^\n]{0,60}\( *" + _NUMBER + rb" ms per token", _TOKEN_MS, _middle),
    (rb'"predicted_per_token_ms": *' + _NUMBER, _TOKEN_MS, _middle),
    (rb'(?:prompt eval time =|"prompt_ms":) *' + _NUMBER, _FIRST_MS, _middle),
    (rb"\neval rate: +" + _NUMBER, "--tokens-per-second {}", _middle),
    (
        rb"Engine 0*[1-9]\d*: Avg [^\n]{0,80}?generation throughput: " + _NUMBER + rb" tokens/s",
        "--tokens-per-second {}*ENGINES",
        _busy,
    ),
    (rb"\bDP0*[1-9]\d* [^\n]{0,300}?gen throughput \(token/s\): " + _NUMBER, "--tokens-per-second {}*DP_RANKS", _busy),
    (rb"generation throughput: " + _NUMBER + rb" tokens/s", "--tokens-per-second {}", _busy),
    (rb"gen throughput \(token/s\): " + _NUMBER, "--tokens-per-second {}", _busy),
    (
        rb"\bhost_step_time = " + _NUMBER + rb"ms[^\n]{0,400}'num_ctx_tokens': 0, 'num_generation_tokens': [1-9]",
        "--time {}ms",
        _middle,
    ),
    (rb"\n(?:Completed )?Tokens per second *: " + _NUMBER, "--tokens-per-second {}", _last),
    (rb"\n +\d+ +\d+ +\w+ +\w+ +-?\d+ +" + _NUMBER, "--case COLLECTIVE --time {}us", _last),
    (rb"elapsed time per iteration \(ms\): *" + _NUMBER, "--time {}ms", _steady),
    (rb"elapsed_time_per_iteration_ms[:=] *([0-9]+(?:\.[0-9]+)?(?-i:[KM])?)", "--time {}ms", _steady),
    (rb"completed step: \d+, seconds: " + _NUMBER, "--time {}s", _steady),
    (rb'train_step_timing in s"?[:=] *' + _NUMBER, "--time {}s", _steady),
    (rb'(?:perf/step_time_seconds|throughput/duration)": *' + _NUMBER, "--time {}s", _steady),
    (rb'(?:time_metrics/end_to_end\(s\)|iteration-time)": *' + _NUMBER, "--time {}s", _steady),
    (rb"(?<!Total )\bStep Time *: *" + _NUMBER + rb"s", "--time {}s", _steady),
    (rb"average step time: " + _NUMBER + rb" seconds", "--time {}s", _steady),
    (rb"Progress on:train [^\n]{0,80}rate: ?" + _NUMBER + rb"s/it", "--time {}s", _steady),
    (rb"\biter time \(s\): " + _NUMBER, "--time {}s", _steady),
    (rb"iter \d+: loss [^\n]{0,80}time " + _NUMBER + rb"ms", "--time {}ms", _steady),
    (rb"\| dt: " + _NUMBER + rb"ms", "--time {}ms", _steady),
    (rb"iter latency: +" + _NUMBER + rb" ms", "--time {}ms", _last),
    (rb"iter latency: +" + _NUMBER + rb" s\b", "--time {}s", _last),
    (rb"RunningAvgSamplesPerSec=" + _NUMBER, "--tokens-per-second {}*SEQUENCE_LENGTH", _last),
    (rb"\| tps " + _NUMBER + rb"\(", "--tokens-per-second {}", _steady),
    (rb'throughput/tokens_per_sec"?: *' + _NUMBER, "--tokens-per-second {}", _steady),
    (rb"\btps: *" + _NUMBER, _OF_A_CHIP, _steady),  # torchtitan's MFU counts attention, planner's doesn't
    (rb'(?:tokens_per_second_per_gpu|throughput/device/TPS)"?[:=] *' + _NUMBER, _OF_A_CHIP, _steady),
)  # fmt: skip
_FAST = re.compile(rb"(Progress on:train [^\n]{0,80}rate: ?)([0-9]+(?:\.[0-9]+)?)it/s")
"""A rate of Levanter's steps, which tells slow ones by their time."""
_LIMIT = re.compile(
    rb'(?i)(?:max(?:imum)? request concurrency|"max_concurrency"|"concurrency"|"conc"): *(\d+)(?![\d.])'
)
_BUSY = re.compile(
    rb'(?i)request[ _]rate[^:\n]*: *"?inf'
    rb'|(?:concurrent[ _]requests"?|\nconcurrency|"concurrency"): *(?:[2-9]|[0-9]{2})'
)
_LOADED = {"--of ttft": "--of time_to_first_token_full", "--of e2e": "--of request_time_full"}
"""What is timed with a full batch, by its name without load; under another load it is neither."""
_EACH = tuple((re.compile(pattern, re.IGNORECASE), option, choose) for pattern, option, choose in _TOLD)


def recognized(text: bytes) -> tuple[str, str] | None:
    """What a log or a result is, by its text, and the remedy: options of `planner record`. None if unknown."""
    text = _COLOURS.sub(b"", text)
    kind = next((what for pattern, what in _KINDS if re.search(pattern, text, re.DOTALL)), None)
    if kind is None:
        return None
    text = _FAST.sub(lambda rate: rate[1] + b"%.4gs/it" % (1 / float(rate[2])) if float(rate[2]) else rate[0], text)
    text += _rows_as_json(text)
    found: dict[str, str] = {}
    limit = next((int(each) for each in reversed(_LIMIT.findall(text))), 0)
    for pattern, option, choose in _EACH:
        of = _kind_of(option)
        if of not in found and (numbers := [each for each in map(_plain, pattern.findall(text)) if float(each)]):
            number, said = choose(numbers)
            found[of] = option.format(number) + (f" ({said})" if len(numbers) > 1 else "")
    if not limit and _BUSY.search(text):
        found = {of: option for of, option in found.items() if of not in _LOADED}
    options = " or ".join(found.values()) or _OPTIONS
    for alone, loaded in _LOADED.items():
        options = options.replace(alone, loaded) if limit > 1 else options
    return kind, _GENERAL.format(options)


def ends(stream: IO[bytes]) -> bytes:
    """The text to search of a file: its beginning, and its end, since a result may follow many single requests."""
    head, tail = stream.read(MOST), b""
    while block := stream.read(MOST):
        tail = (tail + block)[-MOST:]
    return head + tail


def _rows_as_json(text: bytes) -> bytes:
    """The rows of a CSV with column titles as JSON, a line each, so that its numbers are found as those of JSON.

    Empty for any other text.
    """
    first = text.partition(b"\n")[0]
    if first.count(b",") < 2 or re.search(rb"[{}\[\]:]", first):
        return b""
    made = ""
    with suppress(csv.Error):
        for row in csv.DictReader(io.StringIO(text.decode("utf-8", "replace"))):
            made += "\n" + json.dumps({title: _number(cell or "") for title, cell in row.items() if title})
    return made.encode()


def _number(cell: str) -> float | int | str:
    """A cell's number, without the commas of thousands; else its text."""
    plain = cell.replace(",", "")
    for read in (int, float):
        with suppress(ValueError):
            return read(plain)
    return cell


def _kind_of(option: str) -> str:
    """What the number of an option measures, such as `--of tpot`; blank for a step."""
    return option.partition(" --of ")[2] and option[option.index("--of") :]


def _plain(number: bytes) -> str:
    """A number as planner reads it: 1.23K as 1.23e3."""
    text = number.decode().replace(",", "").rstrip(".")
    return text.replace("K", "e3").replace("M", "e6")
