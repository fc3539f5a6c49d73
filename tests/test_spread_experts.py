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


def simulated(sequences: list[int], chunks: int) -> float:
    """The share of steps with a prefill, of groups whose sequences end at random, a chunk of each in a step."""
    begun = np.random.default_rng(sum(sequences)).binomial(sequences, 1 / GENERATED, (100_000, len(sequences)))
    rest = np.cumsum(chunks * begun - 1, axis=0)
    rest -= np.minimum(np.minimum.accumulate(rest, axis=0), 0)  # what waits for the next step: never below 0
    waiting = np.vstack([np.zeros_like(rest[:1]), rest[:-1]]) + chunks * begun
    return float((waiting > 0).any(axis=1).mean())


@pytest.mark.parametrize("sequences", [1, 2, 8, 32, 128])
@pytest.mark.parametrize(("chunks", "inputs"), [(1, {}), (4, {}), (4, {"chunk_len": 8192}), (2, {"chunk_len": 16384})])
def test_groups_wait_for_each_others_prompts(sequences: int, chunks: int, inputs: dict[str, float]) -> None:
    """As often as in a simulation of eight groups, within 10 %: of all prompts, and of all but a sequence's own.

    Also where each group has one sequence. Chunks of long prompts lie beside those of other groups.
    """
    given = {"prompt_len": chunks * inputs.get("chunk_len", 8192), **inputs}
    found = decode(8, serve_data=8, batch=8 * sequences, generate_len=GENERATED, **given)
    share = found["turns_of_prompt"] * chunks * sequences / GENERATED
    assert share == pytest.approx(simulated([sequences] * 8, chunks), rel=0.1)
    waits = found["prefills_between_expected"] / found["turn_time"] * chunks
    assert waits == pytest.approx(simulated([sequences - 1, *[sequences] * 7], chunks), rel=0.1)


def test_a_sequence_alone_waits_for_no_prompt() -> None:
    """Whatever chips it leaves idle: groups and stages without a sequence prefill nothing."""
    for inputs in ({"serve_data": 8}, {"serve_pipeline": 8, "serve_expert": 1}, {"serve_data": 2, "serve_pipeline": 4,
                                                                               "serve_expert": 2}):  # fmt: skip
        found = decode(8, batch=1, **inputs)
        assert found["prefills_between_expected"] == 0
        assert found["turns_of_prompt"] == 1


def test_a_stage_prefills_for_all_parts_of_a_pipeline() -> None:
    """By hand: 15 others of 4 parts, each a quarter of a prompt's time on a stage: 3.75 prompts of a token's answer."""
    found = decode(4, batch=16, serve_pipeline=4, serve_expert=1)
    assert found["waiting_prompts"] == found["own_waiting_prompts"] == 3.75


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


def test_at_the_parity_batch_experts_are_read_by_all_chips() -> None:
    """Groups that share experts read a part of them each: the cache of so many sequences takes as long as that."""
    found = decode(32, serve_data=8, batch=8192)
    cache_time = found["kv_time"] * found["cache_parity_batch"] / 8192
    assert cache_time == pytest.approx(found["param_time"], rel=1e-12)


def test_more_chips_that_prefill_than_experts_hold_them_again() -> None:
    """Pools of once, twice and four times as many chips: a prompt takes as long, and each prefills as many more."""
    pools = [decode(8, serve_data=8, batch=4096, generate_len=1, prefill_chips=256 * more, prefill_tensor=1)
             for more in (1, 2, 4)]  # fmt: skip
    for name in ("prefill_time_expected", "prefill_lower_bound_time", "prefill_memory_per_chip"):
        assert len({found[name] for found in pools}) == 1, name
    assert pools[1]["rate_of_prefill"] == pytest.approx(2 * pools[0]["rate_of_prefill"], rel=1e-12)
