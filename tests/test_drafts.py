"""Speculative decoding: the step that verifies drafts is a decode step of more tokens that reads the cache once."""

from __future__ import annotations

import functools

import pytest

from planner.formulas import library
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared

Plan = dict[str, float | str]
GROUPS: Plan = {
    "n_chips": 32, "serve_data": 32, "serve_expert": 32, "weight_dtype": "fp8", "compute_dtype": "fp8",
    "dispatch_dtype": "fp8",
}  # fmt: skip
PLANS: list[tuple[str, Plan]] = [
    ("llama3-70b", {"n_chips": 8, "batch": 32}),
    ("llama3-70b", {"n_chips": 8, "batch": 256, "weight_dtype": "fp8", "compute_dtype": "fp8"}),
    ("llama3-70b", {"n_chips": 48, "serve_pipeline": 6, "serve_tensor": 8, "batch": 48}),
    ("mixtral-8x7b", {"n_chips": 4, "batch": 8, "stack": "ideal"}),
    ("deepseek-v3", {**GROUPS, "batch": 1024}),
]
IDS = ["tensor", "compute-bound", "pipeline", "ideal", "experts"]


@functools.cache
def prepared(model: str) -> Prepared:
    """The serving plans of a model on H200."""
    template = library.load("inference")
    return Prepared(template, facts(template, model, "h200-sxm"))


def value(model: str, name: str, inputs: Plan) -> float:
    """A number of a plan."""
    found = prepared(model).results(inputs).value(name)
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize(("model", "inputs"), PLANS, ids=IDS)
def test_without_drafts_it_is_a_decode_step(model: str, inputs: Plan) -> None:
    """To the digit, and a token takes as long."""
    step = value(model, "decode_step_time_expected", inputs)
    assert value(model, "verify_time_expected", inputs) == pytest.approx(step, rel=1e-12)
    assert value(model, "speculative_token_time", inputs) == pytest.approx(step, rel=1e-12)


@pytest.mark.parametrize(("model", "inputs"), PLANS[:3], ids=IDS[:3])
def test_it_is_a_step_of_more_sequences_with_as_large_a_cache(model: str, inputs: Plan) -> None:
    """Three drafts of a sequence of 6,000 tokens: the step of four times the batch, of sequences of 1,500."""
    batch = inputs["batch"]
    assert isinstance(batch, int)
    drafts = value(model, "verify_time_expected", {**inputs, "context_len": 6000, "n_draft_tokens": 3})
    wide = value(model, "decode_step_time_expected", {**inputs, "context_len": 1500, "batch": 4 * batch})
    assert drafts == pytest.approx(wide, rel=1e-9)
    assert drafts > value(model, "decode_step_time_expected", {**inputs, "context_len": 6000})


def test_drafts_are_exchanged_and_attend() -> None:
    """DeepSeek-V3 in groups with a draft: twice the tokens travel between the experts' chips, and twice the queries
    attend out of the latent cache, which is work rather than reads. By hand, with what the chip reaches of each.
    """
    inputs: Plan = {**GROUPS, "batch": 2048, "context_len": 8192}
    numbers = {
        name: value("deepseek-v3", name, inputs)
        for name in ("decode_pass_exposed_time", "cached_attention_time", "cached_keys_time")
    }
    assert numbers["cached_keys_time"] == numbers["cached_attention_time"]
    growth = numbers["decode_pass_exposed_time"] + numbers["cached_attention_time"]
    step = value("deepseek-v3", "decode_step_time_expected", inputs)
    assert value("deepseek-v3", "verify_time_expected", {**inputs, "n_draft_tokens": 1}) > step + growth


def test_an_ideal_step_hides_what_drafts_communicate() -> None:
    """With the ideal stack it is the longer of the verifying bound and its communication."""
    inputs: Plan = {**GROUPS, "batch": 4096, "stack": "ideal", "n_draft_tokens": 2}
    parts = [value("deepseek-v3", name, inputs) for name in ("decode_comm_time", "verify_comm_growth")]
    bound = max(sum(parts), value("deepseek-v3", "verify_time", inputs))
    assert value("deepseek-v3", "verify_time_expected", inputs) == bound
