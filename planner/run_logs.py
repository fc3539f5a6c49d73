"""Recognizes logs of training and results of benchmarks, which planner doesn't read, and the numbers in them to record.

`planner record` writes such a number into the workbook of a plan. The last number counts, since the first steps of a
run compile or warm up; of a server's rates the median of those that aren't below half of the highest: before and after
it idles, and the highest is that of an interval without prefills.
"""

from __future__ import annotations

import re

MOST = 2**20  # bytes at the beginning of a file to search for the lines of steps
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
_GENERAL = "planner record writes the time that it tells into a workbook: {}"
_OPTIONS = "--time 6.4s, --tokens-per-second N or --mfu 41%"
_NUMBER = rb"([0-9][0-9,]*\.?[0-9]*)"
_SERVERS = "a server's log"
_KINDS = (  # what a text is, by a pattern
    (rb":::MLLOG|MLPerf Results Summary", "a log of MLPerf"),
    (
        rb"(?i)[\"_ (]ttft|time[_ ]to[_ ]first[_ ]token|(?:request|output|token)[_ ]throughput"
        rb"|\"avg_latency\":.{0,2000}?\"percentiles\"|\"(?:tokens|requests)_per_second\"|\"median_decode_latency\"",
        "a benchmark's result",
    ),
    (rb"\"?build_commit\"?[,:]|\| *t/s *\|", "a result of llama-bench"),
    (rb"generation throughput: [0-9.]+ tokens/s|gen throughput \(token/s\): ", _SERVERS),
    (
        rb"(?i)elapsed time per iteration|completed step: \d|train_step_timing|RunningAvgSamplesPerSec|\btps: *[\d,]"
        rb"|\biter \d+: loss|\| dt: [\d.]+ms|flops profiler -|train_(?:steps|samples)_per_second|'loss': [\d.]+, '"
        rb"|\"log_history\"|perf/step_time_seconds|\bStep Time *: *[\d.]+s",
        "a log of training",
    ),
)
_TOLD = (  # options of planner record, by a pattern of the number; of several that are alike the first
    (rb'(?:median_tpot_ms"|Median TPOT \(ms\)): *' + _NUMBER, "--time {}ms --of tpot"),
    (rb'(?:avg_tpot_ms"|average time-per-output-token \[TPOT\] \(ms\)): *' + _NUMBER, "--time {}ms --of tpot"),
    (rb'(?:median_itl_ms"|Median ITL \(ms\)): *' + _NUMBER, "--time {}ms --of tpot"),
    (rb'inter_token_latency": *\{[^}]{0,200}?"avg": *' + _NUMBER, "--time {}ms --of tpot"),
    (rb'Inter Token Latency \(ms\),"?' + _NUMBER, "--time {}ms --of tpot"),
    (rb'(?:median_ttft_ms"|Median TTFT \(ms\)): *' + _NUMBER, "--time {}ms --of ttft"),
    (rb'(?:avg_ttft_ms"|average time-to-first-token \[TTFT\] \(ms\)): *' + _NUMBER, "--time {}ms --of ttft"),
    (rb'time_to_first_token": *\{[^}]{0,200}?"avg": *' + _NUMBER, "--time {}ms --of ttft"),
    (rb'Time To First Token \(ms\),"?' + _NUMBER, "--time {}ms --of ttft"),
    (rb'(?:median_e2e(?:l|_latency)_ms"|Median E2EL? (?:Latency )?\(ms\)): *' + _NUMBER, "--time {}ms --of e2e"),
    (rb'"avg_latency": ' + _NUMBER, "--time {}s --of static_batch_time"),
    (rb'"median_decode_latency": ' + _NUMBER, "--time {}s"),
    (rb'"prefill_latency": ' + _NUMBER, "--time {}s --of prefill_time"),
    (rb'"n_gen": 0,[^}]{0,400}?"avg_ns": ' + _NUMBER, "--time {}ns --of prefill_time"),
    (rb'"n_prompt": 0,[^}]{0,400}?"avg_ts": ' + _NUMBER, "--tokens-per-second {}"),
    (rb"\| *tg\d+ *\| *" + _NUMBER, "--tokens-per-second {}"),
    (rb"generation throughput: " + _NUMBER + rb" tokens/s", "--tokens-per-second {}"),
    (rb"gen throughput \(token/s\): " + _NUMBER, "--tokens-per-second {}"),
    (rb"\nTokens per second: " + _NUMBER, "--tokens-per-second {}"),
    (rb"elapsed time per iteration \(ms\): *" + _NUMBER, "--time {}ms"),
    (rb"completed step: \d+, seconds: " + _NUMBER, "--time {}s"),
    (rb"train_step_timing in s: " + _NUMBER, "--time {}s"),
    (rb'perf/step_time_seconds": *' + _NUMBER, "--time {}s"),
    (rb"\bStep Time *: *" + _NUMBER + rb"s", "--time {}s"),
    (rb"iter \d+: loss [^\n]{0,80}time " + _NUMBER + rb"ms", "--time {}ms"),
    (rb"\| dt: " + _NUMBER + rb"ms", "--time {}ms"),
    (rb"iter latency: +" + _NUMBER + rb" ms", "--time {}ms"),
    (rb"RunningAvgSamplesPerSec=" + _NUMBER, "--tokens-per-second {}*SEQUENCE_LENGTH"),
    (rb"\btps: *" + _NUMBER, "--tokens-per-second {}*CHIPS"),  # torchtitan's MFU counts attention, planner's doesn't
)  # fmt: skip
_LIMIT = re.compile(rb'(?i)(?:max(?:imum)? request concurrency|"max_concurrency"|"concurrency"): *(\d+)')
_BUSY = re.compile(
    rb'(?i)request[ _]rate[^:\n]*: *"?inf|(?:concurrent[ _]requests"?|\nconcurrency): *(?:[2-9]|[0-9]{2})'
)
_LOADED = {"--of ttft": "--of time_to_first_token_full", "--of e2e": "--of request_time_full"}
"""What is timed with a full batch, by its name without load; under another load it is neither."""
_EACH = tuple((re.compile(pattern, re.IGNORECASE), option) for pattern, option in _TOLD)


def recognized(text: bytes) -> tuple[str, str] | None:
    """What a log or a result is, by its text, and the remedy: options of `planner record`. None if unknown."""
    text = _COLOURS.sub(b"", text)
    kind = next((what for pattern, what in _KINDS if re.search(pattern, text, re.DOTALL)), None)
    if kind is None:
        return None
    found: dict[str, str] = {}
    limit = max(map(int, _LIMIT.findall(text)), default=0)
    for pattern, option in _EACH:
        if numbers := list(map(_plain, pattern.findall(text))):
            number = _of_a_busy_server(numbers) if kind == _SERVERS else numbers[-1]
            found.setdefault(_kind_of(option), option.format(number))
    if not limit and _BUSY.search(text):
        found = {of: option for of, option in found.items() if of.strip() not in _LOADED}
    options = " or ".join(found.values()) or _OPTIONS
    for alone, loaded in _LOADED.items():
        options = options.replace(alone, loaded) if limit > 1 else options
    return kind, _GENERAL.format(options)


def _of_a_busy_server(rates: list[str]) -> str:
    """The median of a server's rates while it is busy; of two in the middle the higher, as it is written."""
    rising = sorted(rates, key=float)
    busy = [rate for rate in rising if float(rate) >= float(rising[-1]) / 2]
    return busy[len(busy) // 2]


def _kind_of(option: str) -> str:
    """What the number of an option measures, such as `--of tpot`; without that the option itself."""
    _, of, what = option.partition(" --of ")
    return of + what if of else option


def _plain(number: bytes) -> str:
    return number.decode().replace(",", "").rstrip(".")
