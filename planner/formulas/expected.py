"""What a template leads with: the expected numbers with their range and bound, and the parts that a time is made of.

A quantity here is a formula in names of the template's rows, so that it can be asked of arrays and of a workbook alike.
`X_low` and `X_high` of an expected row hold 80 % of published runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planner.formulas.spoken import PERCENT
from planner.formulas.text import parse

Number = Callable[[str], float | None]
"""What a formula in names of rows gives in a plan; None for N/A."""
IDEAL = "ideal"
FAMILIES = {"gpu": "GPUs", "tpu": "TPUs"}
"""Calibrations that stand for chips of which no run is published, and of which chips they are the median."""
ROOM = "hbm_bytes-hbm_reserve_bytes"
NEEDED = "memory_bytes_per_chip"


class Headline(NamedTuple):
    """An expected row, what to call it in a few words, and the bound beside it as a formula in names."""

    name: str
    label: str
    bound: str
    unit: str = "s"

    @property
    def low(self) -> str:
        """The row of the least that 80 % of published runs leave to expect."""
        return f"{self.name}_low"

    @property
    def high(self) -> str:
        """The row of the most."""
        return f"{self.name}_high"


class Made(NamedTuple):
    """What a time is made of: the expected row, what it is called, and its parts as (label, formula in names).

    A part whose rows a template lacks is none of it; of several with one label the first that it has counts.
    """

    name: str
    label: str
    parts: tuple[tuple[str, str], ...]


class Lead(NamedTuple):
    """What a template leads with. `made` are the times whose parts are told; `check` is its check of the memory."""

    headlines: tuple[Headline, ...]
    made: tuple[Made, ...]
    check: str = ""

    @property
    def names(self) -> set[str]:
        """Every row that it can't do without."""
        texts = [text for each in self.headlines for text in (each.name, each.low, each.high, each.bound)]
        texts += [self.check, NEEDED, ROOM] if self.check else []
        return {name for text in texts for name in parse(text).names}


def _collective(name: str, row: str, label: str) -> tuple[Headline, Made]:
    """The headline and the parts of a collective; `row` is the included template's prefix."""
    expected, bound, start = f"{name}_time_expected", f"{name}_time_bound", f"{row}_start_time"
    parts = (
        ("Bytes at the full bandwidth", bound),
        ("Bandwidth that is not reached", f"MAX(0,{expected}-{bound}-{start})"),
        ("Starting it", f"MIN({start},{expected}-{bound})"),
    )
    return Headline(expected, label, bound), Made(expected, label.lower(), parts)


_COLLECTIVES = tuple(
    _collective(name, row, label)
    for name, row, label in (
        ("all_gather", "all_gather", "All-gather"), ("all_reduce", "all_reduce", "All-reduce"),
        ("all_to_all", "all_to_all", "All-to-all"), ("permute", "neighbour", "Permute"),
    )
)  # fmt: skip
_STEPS = "train_steps*step_time_lower_bound"
_RATE = "output_tokens_per_second"
LEADS = {
    "training": Lead(
        (
            Headline("step_time_expected", "Step", "step_time_lower_bound"),
            Headline("mfu_expected", "MFU", "matmul_train_flops/(total_peak*step_time_lower_bound)", PERCENT),
            Headline("tokens_per_second_expected", "Tokens a second", "batch_tokens/step_time_lower_bound", "1/s"),
            Headline("train_time_expected", "Time of the run", _STEPS),
            Headline("train_cost_expected", "Cost of the run", f"plan_price*{_STEPS}/seconds_per_hour", "USD"),
        ),
        (Made("step_time_expected", "step", (
            ("Work at the peak", "work_part_time"),
            ("Recomputation at the peak", "repeated_part_time"),
            ("Matmuls and attention below the peak", "efficiency_part_time"),
            ("Activations moved outside the matmuls", "activation_part_time"),
            ("Activations moved outside the matmuls", "activation_time_expected"),
            ("Waiting for the longest stage", "imbalance_part_time"),
            ("Communication that no work hides", "exposed_part_time"),
            ("Pipeline bubble", "bubble_part_time"),
            ("Pipeline bubble", "bubble_time_expected"),
            ("Held up by the bound", "bound_part_time"),
        )),),
        "fits_memory",
    ),
    "inference": Lead(
        (
            Headline("decode_step_time_expected", "Decode step", "decode_step_time_bound"),
            Headline("time_per_output_token_expected", "Time per output token", "time_per_output_token_bound"),
            Headline(
                "time_to_first_token_expected", "Time to first token, without load", "prefill_lower_bound_time"
            ),
            Headline(f"{_RATE}_expected", "Output tokens a second", f"{_RATE}_bound", "1/s"),
            Headline(
                "cost_per_million_tokens_expected", "Cost per million output tokens",
                "cost_per_million_tokens_bound", "USD",
            ),
        ),
        (Made("decode_step_time_expected", "decode step", (
            ("Weights or matmuls at full speed", "weights_part_time"),
            ("Cache at the full bandwidth", "cache_part_time"),
            ("Reads and matmuls below full speed", "efficiency_part_time"),
            ("Reads of the cache below full speed", "cache_efficiency_part_time"),
            ("Activations moved outside the matmuls", "activation_part_time"),
            ("Communication", "exposed_part_time"),
            ("Overheads of the layers", "overhead_part_time"),
            ("Held up by the bound", "bound_part_time"),
        )),),
        "check_fits_memory",
    ),
    "collectives": Lead(
        tuple(headline for headline, _ in _COLLECTIVES), tuple(made for _, made in _COLLECTIVES),
    ),
    "matmul": Lead(
        (Headline("expected_time", "Matmul", "lower_bound_time"),),
        (Made("expected_time", "matmul", (
            ("Compute or memory at full speed", "lower_bound_time"),
            ("Below full speed", "MAX(0,expected_time-lower_bound_time-operation_overhead)"),
            ("Starting it", "MIN(operation_overhead,expected_time-lower_bound_time)"),
        )),),
    ),
}  # fmt: skip
"""By template, in the order in which a reader asks."""
AT_BOUND = frozenset({
    "step_time_calibrated", "mfu", "hfu", "mfu_with_attention", "tokens_per_second", "train_time", "train_cost",
    "decode_step_time", "decode_step_time_with_comm", "decode_step_time_calibrated",
    "decode_step_time_calibrated_with_comm", "decode_tokens_per_second", "decode_tokens_per_second_with_comm",
    "decode_tokens_per_second_per_chip", "decode_tokens_per_second_per_chip_with_comm", "queries_per_second",
    "queries_per_second_per_chip", "cost_per_million_tokens", "cost_per_million_tokens_with_comm",
    "all_gather_time", "all_reduce_time", "all_to_all_time", "permute_time",
})  # fmt: skip
"""Rows of a plan in which nothing is lost, whose labels don't say so."""


def lead(template: str, rows: Iterable[str]) -> Lead | None:
    """What a template of this name leads with, if it has all the rows for it; None for any other."""
    found, there = LEADS.get(template), set(rows)
    if found is None or not found.names <= there:
        return None
    return found._replace(made=tuple(each._replace(parts=_there(each, there)) for each in found.made))


def _there(made: Made, rows: set[str]) -> tuple[tuple[str, str], ...]:
    """The parts whose rows there are, one for each label."""
    found = {label: text for label, text in reversed(made.parts) if rows.issuperset(parse(text).names)}
    ordered = dict.fromkeys(label for label, _ in made.parts if label in found)
    return tuple((label, found[label]) for label in ordered)


class Answer(NamedTuple):
    """A headline in a plan; None is N/A."""

    headline: Headline
    expected: float | None
    low: float | None
    high: float | None
    bound: float | None


class Part(NamedTuple):
    """A part of an expected time, in seconds and as a share of it."""

    label: str
    seconds: float
    share: float


def answers(found: Lead, number: Number) -> list[Answer]:
    """The headlines of a plan."""
    return [
        Answer(each, number(each.name), number(each.low), number(each.high), number(each.bound))
        for each in found.headlines
    ]


def parts(made: Made, number: Number) -> list[Part]:
    """The parts of a time that take any of it, in order; none where one of them, or the time, is N/A or 0."""
    total = number(made.name)
    times = [(label, number(text)) for label, text in made.parts]
    if not total or any(seconds is None for _, seconds in times):
        return []
    return [Part(label, seconds, seconds / total) for label, seconds in times if seconds]


def notes(stack: str | None, calibration: str | None, own_runs: int | None) -> Iterator[str]:
    """What a reader must know of the numbers, in sentences.

    `calibration` is the chip's, `own_runs` how many published runs of its calibration there are for this template.
    """
    if stack == IDEAL:
        yield "stack=ideal: these are the bounds. Nothing is lost in them; no published run is faster."
    elif calibration in FAMILIES:
        how_many = "Few" if own_runs else "No"
        yield f"{how_many} published runs of this chip: the median of {FAMILIES[calibration]}, with a wider range."
    elif own_runs == 0:
        yield "No published runs of this kind on this chip: fitted to other chips' runs, with a wider range."
