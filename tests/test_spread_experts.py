"""Experts over the chips of several groups: the fullest chip, and groups that wait for each other's prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import planner
from tests.commands import run

GENERATED = 900


def decode(chips: int, **inputs: float) -> Mapping[str, Any]:
    """DeepSeek-V3 in 8 bits on H200s, with experts whole on each chip."""
    given: dict[str, Any] = {"serve_expert": chips, "weight_dtype": "fp8", "compute_dtype": "fp8", **inputs}
    return planner.calc("inference", model="deepseek-v3", hardware="h200-sxm", n_chips=chips, **given)


@pytest.mark.parametrize("ways", [4, 8, 16, 32])
@pytest.mark.parametrize("batch", [2, 8, 32, 128])
def test_the_fullest_chip_reads_what_drawn_routes_give_it(ways: int, batch: int) -> None:
    """Its experts over the mean are within 15 % of the mean of 300 batches whose tokens choose 8 of 256 at random."""
    drawn = np.random.default_rng(ways * batch)
    over = []
    for _ in range(300):
        chosen = np.argsort(drawn.random((batch, 256)), axis=1)[:, :8]
        on = np.bincount(np.unique(chosen) // (256 // ways), minlength=ways)
        over.append(on.max() / on.mean())
    assert decode(ways, batch=batch)["decode_pass_fullest_experts"] == pytest.approx(np.mean(over), rel=0.15)


def test_experts_over_all_chips_are_no_one_chips() -> None:
    """Tensor ways share every expert, so that no chip reads more than another."""
    shared = decode(8, batch=4, serve_expert=1)
    assert shared["decode_pass_fullest_experts"] == 1
    assert decode(8, batch=4)["decode_step_time_expected"] > shared["decode_step_time_expected"]
    assert decode(8, batch=4)["param_time"] == shared["param_time"]  # the bound is that of even routes


@pytest.mark.parametrize("batch", [16, 64, 256, 1024])
def test_groups_wait_for_each_others_prompts(batch: int) -> None:
    """As many turns of prefills as in a simulation of eight groups whose sequences end at random, within 10 %."""
    groups, steps = 8, 40_000
    begun = np.random.default_rng(batch).binomial(batch // groups - 1, 1 / GENERATED, (steps, groups))
    turns = np.maximum(begun.max(axis=1), 0).sum()  # a group prefills one prompt after another
    found = decode(groups, serve_data=groups, batch=batch, generate_len=GENERATED)
    of_a_group = (batch // groups - 1) / GENERATED
    assert found["turns_of_prompt"] * of_a_group == pytest.approx(turns / steps, rel=0.1)
    assert found["prefills_between_expected"] == pytest.approx(
        of_a_group * found["turns_of_prompt"] * found["turn_time"]
    )


@pytest.mark.parametrize("batch", [64, 512, 1600])
@pytest.mark.parametrize("inputs", [{}, {"chunk_len": 8192}, {"chunk_len": 4096, "prompt_len": 16384}])
def test_chunks_of_long_prompts_lie_beside_those_of_other_groups(batch: int, inputs: dict[str, float]) -> None:
    """As many steps with prefills as in a simulation of groups with a chunk of four in a step, within 10 %."""
    groups, steps, chunks = 8, 40_000, 4
    begun = np.random.default_rng(batch).binomial(batch // groups - 1, 1 / GENERATED, (steps, groups))
    waiting = np.zeros(groups)
    busy = 0
    for now in begun:
        waiting += chunks * now
        busy += (waiting > 0).any()
        waiting = np.maximum(waiting - 1, 0)
    given = {"prompt_len": chunks * 8192, **inputs}
    found = decode(groups, serve_data=groups, batch=batch, generate_len=GENERATED, **given)
    of_a_group = chunks * (batch // groups - 1) / GENERATED
    assert found["turns_of_prompt"] * of_a_group == pytest.approx(busy / steps, rel=0.1)


def test_prompts_share_a_chunk_at_most() -> None:
    """However many wait, a pass has no more of their tokens than a chunk: 4 of 128 in 512, 1 where it is as long."""
    for chunk, together in ((512, 4), (128, 1), (0, 64)):
        found = decode(8, batch=4096, prompt_len=128, generate_len=1, chunk_len=chunk)
        assert found["pass_prompts"] == together


def test_groups_with_experts_of_their_own_wait_for_their_prompts_alone() -> None:
    """Copies of a model, groups beside chips that prefill, and those that begin prompts together: a turn a prompt."""
    for inputs in ({"serve_expert": 1}, {"prefill_chips": 8}, {"has_joint_prompts": 1}):
        found = decode(8, serve_data=8, batch=64, **inputs)
        assert found["turns_of_prompt"] == 1
        assert found["turn_time"] == found["prompt_turn_time"]


def test_a_token_waits_for_the_prompts_of_all_groups_that_share_experts() -> None:
    """`calc` says of how many: 63 others of eight groups, and the 7 others of a group with experts of its own."""
    for ways, others in ((8, 63), (1, 7)):
        told = run("calc", "inference", "-m", "deepseek-v3", "-H", "h200-sxm", "--set", "n_chips=8", "serve_data=8",
                   f"serve_expert={ways}", "batch=64", "weight_dtype=fp8").output  # fmt: skip
        assert f"of the {others} other sequences' prefills between steps" in told
