"""What --over and --where say: the values of an axis, and the conditions on plans."""

from __future__ import annotations

import numpy as np
import pytest

import planner
from planner import progress
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.search.conditions import with_conditions
from planner.search.request import values_over
from planner.search.space import PlanAxis, PlanSpace
from planner.search.sweep import SweptPlans
from tests.commands import run
from tests.searches import TOKEN, asked


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("batch", "1,2,8", [1, 2, 8]),
        ("batch", "1..5", [1, 2, 3, 4, 5]),
        ("batch", "2^3..2^6", [8, 16, 32, 64]),
        ("batch", "8..64*2", [8, 16, 32, 64]),
        ("batch", "1,8..32*2,1", [1, 8, 16, 32]),
        ("n_chips", "16..64+16", [16, 32, 48, 64]),
        ("context_len", "8k..32k*2", [8000, 16000, 32000]),
        ("prefix_hit_rate", "0..0.3+0.1", [0, 0.1, 0.2, 0.3]),
        ("draft_time", "1ms..4ms*2", [0.001, 0.002, 0.004]),
        ("draft_time", "1e-3,2e-3", [0.001, 0.002]),
    ],
)
def test_a_spec_is_read_as_the_values_that_it_says(name, text, expected):
    """Lists, ranges by 1, by a step, by a factor and by powers give their values in order, each once, with units."""
    found = values_over(library.load("inference").row(name), text)
    assert found.tolist() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("batch", "8..1", "ends before it begins"),
        ("batch", "1,,2", "a value is missing"),
        ("batch", "1-8", "batch=1-8 is no range; write --over batch=1..8"),
        ("batch", "2,1k:8k", "batch=1k:8k is no range; write --over batch=1k..8k"),
        ("batch", "1..64:2", "batch=1..64:2 is no range; write 1..64\\*2 to multiply by 2, or \\+2"),
        ("batch", "1..1e9", "more than 10,000,000 values"),
        ("prefix_hit_rate", "0..1*2", "has no end"),
        ("prefix_hit_rate", "0..1", "the step is not given"),
        ("draft_time", "1GB..2GB*2", "draft_time=1GB"),
        ("weight_dtype", "bf17", "bf17"),
    ],
)
def test_a_spec_that_says_no_values_is_refused(name, text, said):
    """A falling, an endless, a too long range, one without a step and a wrong unit are each said."""
    with pytest.raises(UserError, match=said):
        values_over(library.load("inference").row(name), text)


@pytest.mark.parametrize("size", [1, 2, 5, 7, 24, 100])
def test_blocks_hold_every_plan_once_and_in_order(size):
    """The blocks of a space, whatever their size, are its plans in the order of their numbers, none of them larger."""
    space = PlanSpace([PlanAxis({"a": np.arange(3.0), "b": np.arange(3.0) * 10}), PlanAxis({"c": np.arange(2.0)}),
                   PlanAxis({"d": np.arange(4.0)})])  # fmt: skip
    found, start = [], 0
    for block in space.blocks(size):
        assert block.start == start
        assert block.count <= size
        start += block.count
        found += zip(*(block.flat(block.arrays[name]).tolist() for name in "abcd"), strict=True)
    assert found == [(a, 10 * a, c, d) for a in range(3) for c in range(2) for d in range(4)]
    assert [tuple(space.plan(at).values()) for at in range(24)] == found


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("decode_step_time_expected<20ms", True),
        ("decode_step_time_expected<0.005", False),
        ("memory_bytes_per_chip<=80GB", True),
        ("n_chips*2<=16chips", True),
        ("AND(n_chips>=8, batch<4)", True),
        ('OR(weight_dtype="int8",n_chips=16)', False),
        ("check_fits_memory", True),
        ("100ms>decode_step_time_expected", True),
        ("cost_per_million_tokens_expected<=$0.2k", True),
        ("cost_per_million_tokens_expected<=$1", False),
    ],
)
def test_a_condition_is_a_formula_whose_numbers_have_units(where, holds):
    """A number alone on a side of a comparison has the other side's unit or its own; the rest is the grammar."""
    template, names = with_conditions(library.load("inference"), [where])
    results = evaluate(template, facts(template, "llama3-70b", "h100-sxm"), {"n_chips": 8.0})
    assert (results.value(names[0]) == 1) is holds


def test_a_condition_without_a_unit_says_what_it_is_read_in(capsys):
    """Who means milliseconds sees seconds; what is counted, a 0 and a number with its unit need no word."""
    template = library.load("inference")
    progress.say_warnings()
    capsys.readouterr()
    with_conditions(template, ["decode_step_time<50", "n_chips<=8", "batch>2", "kv_time>0", "param_time<5ms"])
    progress.say_warnings()
    assert capsys.readouterr().err == "--where decode_step_time<50: 50 is read as 50 s\n"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("decode_step_tme<1", "decode_step_time"),
        ("decode_step_time_expected<80GB", "80GB"),
        ("decode_step_time_expected<n_chips", "units don't agree"),
        ("n_chips<", "the formula ends"),
        ("n_chips>2)", "unexpected ')'"),
        ("", "the formula is empty"),
        ("n_chips+8GB>2", "8GB"),
        ("n_chips>2 and batch<4", "unexpected 'and'; write AND(one,other)"),
        ("n_chips>2 && batch<4", "found '&'; write AND(one,other)"),
        ("n_chips>2 || batch<4", "unexpected '|'; write OR(one,other)"),
        ("n_chips=<2", "found '<'; write <="),
        ("n_chips == 2", "found '='; write ="),
        ("n_chips!=2", "unexpected '!'; write <>"),
        ("cost_per_million_tokens_expected<$2h", "'h' is unexpected in '$2h'"),
    ],
)
def test_a_condition_with_a_fault_is_refused_in_one_line(where, said):
    """A wrong name, a wrong unit and a broken formula are each one line that shows what is wrong."""
    with pytest.raises(UserError) as error:
        with_conditions(library.load("inference"), [where])
    assert said in error.value.line()


def test_a_condition_leaves_the_plans_that_meet_it():
    """With --where the table has exactly the combinations that meet it, in their order."""
    over = ["batch=1..64", "n_chips=8,16"]
    every = SweptPlans(asked("inference", "llama3-70b", ["h100-sxm"], (), over), [TOKEN])
    some = SweptPlans(asked("inference", "llama3-70b", ["h100-sxm"], (), over, [f"{TOKEN}<15ms"]), [TOKEN])
    whole = {name: np.concatenate([part[name] for part in every.parts()]) for name in ("batch", "n_chips", TOKEN)}
    met = {name: np.concatenate([part[name] for part in some.parts()]) for name in whole}
    kept = whole[TOKEN] < 0.015
    assert 0 < kept.sum() < len(kept)
    assert all(np.array_equal(met[name], whole[name][kept]) for name in whole)


def test_a_sweep_says_which_context_its_memory_has():
    """6,000 tokens of a prompt and 8,192 of an answer are 10,096 on average: more than the 8,192 of the cache.

    Nothing is said where memory isn't shown, and where the context is varied.
    """
    plan = ["sweep", "inference", "-m", "llama3.1-8b", "-H", "h100-sxm", "--over", "batch=1,2"]
    lengths = ["--set", "prompt_len=6000", "generate_len=8192", "context_len=8192"]
    told = "Memory is that of a context of 8,192 tokens, and sequences have 10,096 on average, 14,192 in the end"
    assert told in run(*plan, *lengths, "--get", "memory_bytes_per_chip").stderr
    assert not run(*plan, *lengths, "--get", "weight_bytes").stderr
    assert not run(*plan, *lengths[:3], "--over", "context_len=8192,16384", "--get", "memory_bytes_per_chip").stderr


def test_a_sweep_counts_the_plans_that_fail_a_check():
    """Llama 3 70B's 141 GB are more than one H100 has; two have room for 1 sequence of 8,192 tokens, not for 64."""
    over = ["batch=1,64", "n_chips=1,2"]
    plans = SweptPlans(asked("inference", "llama3-70b", ["h100-sxm"], (), over), [TOKEN], ["check_fits_memory"])
    assert [len(part[TOKEN]) for part in plans.parts()] == [4]
    assert (plans.failing.plans, plans.failing.failing, dict(plans.failing.of)) == (4, 3, {"check_fits_memory": 3})
    sweep = ["sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", *over, "--get", TOKEN]
    said = run(*sweep)
    assert said.stderr == (
        "Check failed in 3 of 4 plans: Weights and caches fit (check_fits_memory) in 3; "
        "--where check_fits_memory leaves them out\n"
    )
    assert len(said.stdout.splitlines()) == 5
    assert not run(*sweep, "--where", "check_fits_memory").stderr
    frame = planner.sweep("inference", model="llama3-70b", hardware="h100-sxm", over={"n_chips": [1, 2]}, get=TOKEN)
    assert frame.attrs["failing"] == {"check_fits_memory": 1}


def test_what_is_varied_or_set_and_changes_nothing_shown_is_told():
    """Drafts are in no time but that of a token with drafts; the reserve of memory is read by a check alone."""
    plan = ["inference", "-m", "llama3-8b", "-H", "h100-sxm"]
    unread = "Warning: n_draft_tokens was set, and nothing you asked for reads it"
    over, kept = ["--over", "n_draft_tokens=0..2"], ["--set", "n_chips=1", "hbm_reserve_bytes=8e9"]
    assert unread in run("sweep", *plan, *kept, *over, "--get", TOKEN).stderr
    assert not run("sweep", *plan, *kept, *over, "--get", "speculative_token_time").stderr
    search = ["optimize", *plan, *kept, "batch=1", "n_draft_tokens=2", "--minimize"]
    assert unread in run(*search, TOKEN).stderr
    assert "hbm_reserve_bytes was set" not in run(*search, TOKEN).stderr
    with pytest.warns(UserWarning, match="n_draft_tokens was set"):
        planner.sweep("inference", model="llama3-8b", hardware="h100-sxm", over={"n_draft_tokens": [1, 2]}, get=TOKEN)
