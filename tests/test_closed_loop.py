"""Clients that keep as many requests in flight as a batch holds: by Little's law, in flight = rate times time."""

from __future__ import annotations

from typing import Any

import pytest

import planner

DENSE = {"model": "llama3-8b", "hardware": "h100-sxm", "batch": 64}
EXPERTS = {"model": "deepseek-v3", "hardware": "h200-sxm", "weight_dtype": "fp8", "n_chips": 16, "batch": 64}
PLANS = {
    "long prompts": DENSE | {"prompt_len": 4096},
    "prompts that share a pass": DENSE | {"prompt_len": 64},
    "chunked prompts": DENSE | {"prompt_len": 4096, "chunk_len": 512},
    "stages": DENSE | {"n_chips": 4, "serve_pipeline": 4, "prompt_len": 2048},
    "groups that wait for each other": EXPERTS | {"serve_data": 16, "serve_expert": 16, "prompt_len": 2048},
    "no overhead": DENSE | {"prompt_len": 4096, "stack": "ideal"},
}


@pytest.mark.parametrize("answer", [1, 2, 16, 1024])
@pytest.mark.parametrize("plan", PLANS)
def test_requests_in_flight_are_those_of_the_batch(plan: str, answer: int) -> None:
    """However long an answer is; the server's own time comes on top, and the first token within the request."""
    got = given(plan, answer)
    inside = got["request_time_full_expected"] - got["server_time"]
    assert got["queries_per_second_expected"] * inside == pytest.approx(64, rel=1e-9)
    assert got["time_to_first_token_full_expected"] <= got["request_time_full_expected"] * (1 + 1e-12)
    assert got["request_time_full_expected_low"] <= got["request_time_full_expected"] * (1 + 1e-12)
    assert got["request_time_full_expected"] <= got["request_time_full_expected_high"] * (1 + 1e-12)


@pytest.mark.parametrize("plan", PLANS)
def test_the_first_token_of_an_answer_of_one_token_is_its_last(plan: str) -> None:
    """As where prompts are only scored or classified."""
    got = given(plan, 1)
    assert got["time_to_first_token_full_expected"] == pytest.approx(got["request_time_full_expected"], rel=1e-9)


def given(plan: str, answer: int) -> Any:
    """Numbers of a plan with answers of so many tokens."""
    return planner.calc("inference", **PLANS[plan], generate_len=answer, context_len=8192)  # type: ignore[arg-type]
