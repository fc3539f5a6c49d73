"""What keeps a target out of reach: a row that the number is made of, and no branch or addend that doesn't count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.formulas.evaluation import Facts, evaluate
from planner.formulas.in_use import in_use
from planner.formulas.template import Template
from tests.commands import refused

Load = Callable[..., Template]
PARTS = (
    "ways 1 input 1",
    "long_time s input 5",
    "short_time s input 2",
    "ways_time s calc IF(ways>1,long_time,short_time)",
    "idle_time s calc (ways-1)*long_time",
    "most_time s calc MAX(long_time,ways_time)",
)


@pytest.mark.parametrize(
    ("formula", "ways", "made_of"),
    [
        ("ways_time+idle_time", 1, {"ways_time", "short_time"}),
        ("ways_time+0*most_time", 2, {"ways_time", "long_time"}),
        ("most_time", 1, {"most_time", "long_time"}),
        ("MIN(most_time,ways_time)", 1, {"ways_time", "short_time"}),
        ("idle_time+short_time", 1, {"short_time"}),
        ("idle_time", 1, {"idle_time"}),
        ("idle_time", 3, {"idle_time", "ways", "long_time"}),
        ("long_time+(short_time+long_time)/ways", 1, {"long_time", "ways"}),
    ],
)
def test_what_a_number_is_made_of(load: Load, formula: str, ways: float, made_of: set[str]) -> None:
    """The branch taken, the argument that binds and the largest addend; no condition, and nothing times 0."""
    template = load(*PARTS, f"total_time s output {formula}")
    results = evaluate(template, Facts(), {"ways": ways})
    assert in_use(results, "total_time") == {"total_time", *made_of}


def test_a_typed_row_is_made_of_nothing(load: Load) -> None:
    """What is typed over a formula replaces it."""
    template = load(*PARTS, "total_time s output ways_time+ways_time")
    results = evaluate(template, Facts(), {"ways_time": 3.0})
    assert in_use(results, "total_time") == {"total_time", "ways_time"}


@pytest.mark.parametrize(
    ("words", "not_said"),
    [
        (["training", "-m", "llama3-70b", "--set", "n_chips=512", "mesh_pipeline=8", "--solve", "batch_tokens", "--for",
          "mfu_expected=0.3"], "Tensor parallelism"),
        (["inference", "-m", "llama3-8b", "--set", "batch=64", "--solve", "n_chips", "--for",
          "decode_step_time_expected=0.5ms"], "Bytes of an element"),
        (["training", "-m", "mixtral-8x7b", "--set", "n_chips=512", "--solve", "node_bandwidth", "--for",
          "step_time_expected=0.3"], "step_time_lower_bound"),
        (["inference", "-m", "llama3-8b", "--set", "batch=64", "--solve", "batch", "--for",
          "output_tokens_per_second_expected=1e9"], "turn_chips_time"),
    ],
    ids=["no tensor ways", "a condition", "a bound that the expected step is above", "a branch not taken"],
)  # fmt: skip
def test_nothing_else_is_said_to_bind(words: list[str], not_said: str) -> None:
    """The reason that a target is out of reach names no row that the plan's number isn't made of."""
    done = refused("calc", words[0], "-H", "h100-sxm", *words[1:])
    assert "the most is" in done or "the least is" in done
    assert not_said not in done
