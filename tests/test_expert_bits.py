"""Experts in fewer bits than the other weights, as checkpoints in MXFP4 and NVFP4 have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import planner
from planner.errors import UserError

GIB = 2**30


def serve(model: str, **inputs: float | str) -> Mapping[str, Any]:
    """A plan on eight H200, but for the inputs."""
    return planner.calc("inference", model=model, hardware="h200-sxm", **{"n_chips": 8, "batch": 4, **inputs})


@pytest.mark.parametrize(("model", "size"), [("gpt-oss-120b", 60.8), ("gpt-oss-20b", 12.8)])
def test_a_checkpoint_weighs_what_its_card_says(model: str, size: float) -> None:
    """OpenAI's model card has 60.8 and 12.8 GiB: experts in MXFP4, all else in bf16."""
    plan = serve(model, n_chips=1, expert_weight_bits=4.25)
    assert plan["weight_bytes_per_chip"] / GIB == pytest.approx(size, abs=0.1)
    assert plan["memory_bytes_total"] == pytest.approx(plan["memory_bytes_per_chip"], rel=1e-12)


def test_bits_of_the_other_weights_change_nothing() -> None:
    """16 bits beside bf16 are the plan without them; a dense model has no experts that 4 bits are of."""
    plain, same = serve("deepseek-v3"), serve("deepseek-v3", expert_weight_bits=16)
    assert {name: value for name, value in same.items() if plain[name] != value} == {"expert_weight_bits": 16}
    dense, typed = serve("llama3-70b"), serve("llama3-70b", expert_weight_bits=4)
    assert typed["memory_bytes_per_chip"] == dense["memory_bytes_per_chip"]


def test_a_step_and_a_prompt_read_the_experts_in_their_bits() -> None:
    """By hand, of the matrices that are read: those of experts in 4.5 bits, the others in 8."""
    eight: Mapping[str, Any] = {"weight_dtype": "fp8", "compute_dtype": "fp8", "prompt_len": 64}  # reads bind
    plan = serve("deepseek-v3", **eight, expert_weight_bits=4.5)
    experts, others = plan["n_expert_params_read"], plan["n_params_read"] - plan["n_expert_params_read"]
    assert plan["read_bytes"] == pytest.approx(others + experts * 4.5 / 8, rel=1e-12)
    layers = others - plan["n_params_table"]  # the head is read in the activations' dtype
    assert plan["decode_pass_params_read"] == pytest.approx(layers + experts * 4.5 / 8, rel=1e-12)
    whole = serve("deepseek-v3", **eight)
    spared = whole["prefill_read_time"] - plan["prefill_read_time"]
    assert spared == pytest.approx(plan["prefill_expert_params"] * 3.5 / 8 / plan["prefill_bandwidth"], rel=1e-9)
    assert plan["decode_step_time_expected"] < whole["decode_step_time_expected"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("fp4", "4 for fp4, 4.25 for mxfp4, 4.5 for nvfp4"),
        ("MXFP4", "4.25 for mxfp4"),
        ("fp8", "8 for fp8, 8.25 for mxfp8"),
    ],
)
def test_a_dtype_typed_for_bits_is_told_its_bits(typed: str, wanted: str) -> None:
    """The remedy has the number to write, with scales: the OCP's and NVIDIA's formats have 4.25 and 4.5 bits."""
    with pytest.raises(UserError) as refused:
        serve("gpt-oss-120b", expert_weight_bits=typed)
    assert refused.value.remedy == f"write its bits: {wanted}"
