"""`planner calc --solve NAME --for TARGET`: the input that meets a target, held against algebra and brute force."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import Facts, evaluate
from planner.formulas.lookups import facts
from planner.formulas.solving import parse_target, solve
from planner.formulas.template import Template
from planner.number_text import in_seven_digits
from tests.commands import refused, run

INFERENCE = ["calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8", "context_len=2048"]
Load = Callable[..., Template]


def answer(template: Template, name: str, target: str, **values: float) -> float | None:
    """The one answer, without facts."""
    return solve(template, Facts(), values, name, parse_target(template, target)).answer


@given(seconds=st.floats(0.006, 0.5))
@settings(max_examples=settings().max_examples // 8, deadline=None)
def test_the_largest_batch_is_the_last_that_meets_the_target(seconds: float) -> None:
    """At the answer the step is within the target and one sequence more is not, as the template itself says."""
    template = library.load("inference")
    known = facts(template, "llama3-70b", "h100-sxm")
    values = {"n_chips": 8.0, "context_len": 2048.0}
    solution = solve(template, known, values, "batch", parse_target(template, f"decode_step_time={seconds!r}"))
    assert solution.answer is not None
    batches = np.array([solution.answer, solution.answer + 1])
    below, above = evaluate(template, known, {**values, "batch": batches})["decode_step_time"]
    assert below <= seconds < above
    assert solution.answer <= solution.exact[0].high.at < solution.answer + 1


def test_the_exact_crossing_is_the_algebra_s(load: Load) -> None:
    """A straight line's and a hyperbola's crossing come out to the last digits, from either side."""
    template = load("work FLOP input 10", "speed FLOP/s input 4.5", "total_time s output work/speed")
    assert answer(template, "speed", "total_time=4") == pytest.approx(2.5, rel=1e-15)
    assert answer(template, "work", "total_time<=4") == pytest.approx(18, rel=1e-15)
    assert answer(template, "work", "total_time>=4") == pytest.approx(18, rel=1e-15)


def test_a_count_is_answered_by_the_smallest_or_the_largest_whole_number(load: Load) -> None:
    """What more chips shorten has a smallest count that is enough; what more rows lengthen has a largest."""
    template = load(
        "chips chip input 1", "rows 1 input 1", "each s*chip input 1.5", "total_time s output rows*each/chips"
    )
    assert answer(template, "chips", "total_time=2", rows=9.0) == 7  # 6.75
    assert answer(template, "rows", "total_time=2", chips=3.0) == 4  # exactly
    assert answer(template, "rows", "total_time=1.99", chips=3.0) == 3


SPEEDS = (
    "work FLOP input 10",
    "speed FLOP/s input 4",
    "wait_time s input 2",
    "total_time s output MAX(work/speed,wait_time)",
)


def test_what_binds_is_said_where_a_target_is_out_of_reach(load: Load) -> None:
    """Below a plateau no input meets the target: the other part of the MAX binds, and its name is in the message."""
    template = load(*SPEEDS)
    with pytest.raises(UserError, match=r"the least is 2 s, at speed=.*, where wait_time binds total_time"):
        answer(template, "speed", "total_time=1")
    with pytest.raises(UserError, match=r"is 9 s whatever speed is: wait_time binds total_time"):
        answer(template, "speed", "total_time=1", work=1e-300, wait_time=9.0)
    with pytest.raises(UserError, match=r"the least is 2.5 s, at wait_time=.*, where work/speed binds total_time"):
        answer(template, "wait_time", "total_time=1")


def test_a_plateau_is_one_stretch(load: Load) -> None:
    """From the input on at which another part binds, every one meets the target: one answer, and no word of two."""
    template = load(*SPEEDS)
    solution = solve(template, Facts(), {}, "speed", parse_target(template, "total_time<=2"))
    assert solution.answer == pytest.approx(5, rel=1e-12)
    assert [(met.low.is_limit, met.high.is_limit) for met in solution.ranges] == [(False, True)]


def test_an_answer_stays_where_an_input_makes_sense(load: Load) -> None:
    """No end of a range is narrowed to next to nothing: where the target is N/A or jumps, the input is as swept."""
    template = load(*SPEEDS)
    (met,) = solve(template, Facts(), {}, "speed", parse_target(template, "total_time>=3")).ranges
    assert met.low.is_limit
    assert met.low.at >= 4e-9
    assert met.high.at == pytest.approx(10 / 3)
    template = load("rank 1 input 0", "width 1 input 8", "total 1 output IF(rank>0,rank,width)")
    solution = solve(template, Facts(), {}, "rank", parse_target(template, "total<=4"))
    assert [(each.low.at, each.high.at) for each in solution.exact] == [(1, 4)]


def test_a_count_is_looked_for_beyond_the_one_of_now(load: Load) -> None:
    """Fifteen trillion tokens are not clipped to fewer."""
    template = load("tokens 1 input 15000000000000", "rate 1/s input 1000000", "total_time s output tokens/rate")
    assert answer(template, "tokens", "total_time<=2e7") == 2e13


def test_a_hump_has_two_answers(load: Load) -> None:
    """A target that is met at both ends of the range but not between is said to be met in two stretches."""
    template = load("rows 1 input 1", "limit 1 input 100", "hump 1 output rows*(limit-rows)")
    solution = solve(template, Facts(), {}, "rows", parse_target(template, "hump<=900"))
    met = [rows for rows in range(1, 201) if rows * (100 - rows) <= 900]
    assert len(solution.ranges) == 2
    assert solution.answer is None
    assert next((each.low.at, each.high.at) for each in solution.ranges) == (1, 10)
    assert solution.ranges[1].low.at == 90
    assert met[:11] == [*range(1, 11), 90]


def test_what_is_missing_does_not_meet_a_target(load: Load) -> None:
    """Inputs at which the target is N/A are no part of the answer."""
    template = load("rows 1 input 1", "floor 1 input 8", "known 1 output IF(rows>=floor,rows,NA())")
    solution = solve(template, Facts(), {}, "rows", parse_target(template, "known<=20"))
    assert [(each.low.at, each.high.at) for each in solution.ranges] == [(8, 20)]


def test_a_time_is_at_most_and_a_rate_at_least() -> None:
    """The sense of `=` follows from the unit."""
    template = library.load("inference")
    senses = {name: parse_target(template, f"{name}=1").sense for name in (
        "decode_step_time", "memory_bytes_total", "cost_per_million_tokens", "decode_tokens_per_second", "max_batch",
        "min_slice_chips", "decode_tokens_per_second_per_chip")}  # fmt: skip
    assert senses == {
        "decode_step_time": "<=", "memory_bytes_total": "<=", "cost_per_million_tokens": "<=", "min_slice_chips": "<=",
        "decode_tokens_per_second": ">=", "max_batch": ">=", "decode_tokens_per_second_per_chip": ">=",
    }  # fmt: skip


def test_a_share_that_is_lost_is_at_most() -> None:
    """Seven of 47 steps of eight stages are a bubble at 40 microbatches, 0.149; seven of 46 at 39."""
    plan = ["calc", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=64", "mesh_pipeline=8"]
    said = run(*plan, "--solve", "n_microbatches", "--for", "pipeline_bubble_fraction=0.15").stdout
    assert said.startswith(
        "n_microbatches = 40 is the smallest whole number with pipeline_bubble_fraction at most 0.15"
    )


def test_the_command_says_and_prints_it() -> None:
    """The line names answer, neighbours and crossing; --json has the same numbers, and --get rows at the answer."""
    words = [*INFERENCE, "--solve", "batch", "--for", "decode_step_time=0.02"]
    said, printed = run(*words, "--get", "kv_time"), json.loads(run(*words, "--json", "--get", "kv_time").output)
    assert said.output.startswith("batch = 469 is the largest whole number with decode_step_time at most 20 ms: ")
    assert printed["answer"] == 469
    plain = json.loads(run(*INFERENCE, "batch=469", "--json", "--get", "kv_time", "decode_step_time").output)
    assert {name: printed["answers"][0][name] for name in plain} == plain
    assert "kv_time" in said.output


def test_a_failed_check_at_the_answer_is_said() -> None:
    """An answer that does not fit the memory says so."""
    done = run(*INFERENCE, "--solve", "batch", "--for", "decode_step_time=0.2")
    assert "these checks fail: Weights and caches fit (check_fits_memory)" in done.output


def test_no_solution_names_the_range_that_is_reached() -> None:
    """A target beyond reach is one line with the least that can be had, and where."""
    done = refused(*INFERENCE, "--solve", "batch", "--for", "decode_step_time=0.001")
    assert "no batch from 1 to 1,000,000,000 gives decode_step_time at most 1 ms: the least is 5.2" in done
    assert "at batch=1, where Time to read the weights (param_time) binds decode_step_time" in done


def test_what_is_out_of_reach_has_its_unit() -> None:
    """The ends of what was tried, and where the target comes nearest, are told in the input's unit, as an answer is."""
    done = refused(*INFERENCE, "--solve", "hbm_bandwidth", "--for", "decode_step_time=1ns")
    assert re.search(r"no hbm_bandwidth from 3.35 kB/s/chip to \S+ EB/s/chip gives ", done), done
    assert re.search(r"at hbm_bandwidth=\S+ EB/s/chip, ", done), done


def test_a_target_that_every_value_meets_says_so() -> None:
    """Nothing is made up where any input would do."""
    done = run(*INFERENCE, "--solve", "batch", "--for", "decode_step_time=1e9")
    assert done.output == "any batch from 1 to 1,000,000,000 gives decode_step_time at most 31.68809 years\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--solve", "batch"], "--solve NAME and --for NAME=VALUE belong together"),
        (["--for", "decode_step_time=1"], "--solve NAME and --for NAME=VALUE belong together"),
        (["--solve", "batch", "--for", "decode_step_time"], "is not name=value"),
        (["--solve", "batch", "--for", "decode_step_tim=1"], "did you mean decode_step_time"),
        (["--solve", "bacth", "--for", "decode_step_time=1"], "did you mean batch"),
        (["--solve", "batch", "--for", "decode_step_time=fast"], "'fast' is no number"),
        (["--solve", "batch", "--for", "decode_step_time=N/A"], "a target is a number"),
        (["--solve", "weight_dtype", "--for", "decode_step_time=1"], "weight_dtype is a text"),
        (["--solve", "batch", "--for", "weight_dtype=1"], "it is a text"),
        (["--solve", "read_bytes", "--for", "decode_step_time=1"], "read_bytes is calculated or constant"),
        (["--solve", "prompt_len", "--for", "decode_step_time=1"], "decode_step_time doesn't depend on prompt_len"),
        (
            ["--solve", "batch", "--for", "time_to_first_token_expected=1s"],
            "doesn't depend on batch; these do: decode_step_time_expected, time_per_output_token_expected, "
            "time_to_first_token_full_expected",
        ),
        (["--solve", "hop_latency", "--for", "critical_batch=1"], "doesn't depend on hop_latency; it does on "),
        (["--solve", "batch", "--for", "batch=1"], "batch is the target itself"),
    ],
)
def test_wrong_words(words: list[str], says: str) -> None:
    """What can't be solved is one line on stderr and exit code 2."""
    done = refused(*INFERENCE, *words)
    assert says in done


def test_a_template_without_the_number_says_what_is_missing() -> None:
    """A target that is N/A for every input is not a number that can be met."""
    template = library.load("inference")
    known = facts(template, "llama3-70b", "tpu-v5e")
    target = parse_target(template, "decode_step_time=1")
    with pytest.raises(UserError, match="N/A whatever batch is"):
        solve(template, known, {"hbm_bandwidth": None}, "batch", target)


def test_an_expected_target_has_its_range() -> None:
    """An expected number is a target like any other; its range at the answer stands below, and the bound is quicker."""
    words = [*INFERENCE, "--solve", "batch", "--for", "time_per_output_token_expected<=0.03"]
    said, printed = run(*words).output, json.loads(run(*words, "--json").output)
    rows = "time_per_output_token_expected", "time_per_output_token_expected_low", "time_per_output_token_expected_high"

    def at(batch: float) -> list[float]:
        raw = json.loads(run(*INFERENCE, f"batch={batch}", "--json").output)
        return [raw[name] for name in rows]

    now, past = at(printed["answer"]), at(printed["answer"] + 1)
    assert now[0] <= 0.03 < past[0]
    assert f"80 % of published runs there: {in_seven_digits(now[1], 's')} to {in_seven_digits(now[2], 's')}" in said


def test_what_is_solved_for_may_be_set() -> None:
    """The value that is set says where to look, the solution takes its place, and a line says so."""
    words = ["--solve", "n_chips", "--for", "decode_step_time=0.02"]
    done, open_one = run(*INFERENCE, *words), run(*INFERENCE, "n_chips=", *words)
    assert done.stdout == open_one.stdout
    assert done.stderr == "Warning: --solve n_chips replaces --set n_chips=8\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--solve", "batch", "--for", "decode_step_time=20ms"],
            r"decode_step_time at most 20 ms: 19\.\d+ ms there, 20",
        ),
        (
            ["--solve", "price_per_chip_hour", "--for", "cost_per_million_tokens=3"],
            r"= \$[\d.]+/h/chip is .* \$3: \$3 there",
        ),
        (["--solve", "hbm_bandwidth", "--for", "decode_step_time=10ms"], r"= [\d.]+ TB/s/chip is .*: 10 ms there"),
    ],
)
def test_an_answer_is_said_in_the_unit_that_people_type(words: list[str], says: str) -> None:
    """Milliseconds where the target is asked for in milliseconds, and the input with its unit, to be typed again."""
    assert re.search(says, run(*INFERENCE, *words).stdout)
