"""What to change in layouts that a slice, the chips that prefill alone, or a layer's matrices are too small for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from planner.formulas.advice import mends
from tests.plans_together import Inputs, Planned, together
from tests.test_advice import CHIPS, SERVED, TRAINED, Plans, failing, read_alone, typed

SIDES = (1, 2, 4, 8, 16)
ON_A_TORUS = ("tpu-v5e", "tpu-v5p", "tpu-v6e")


def apart_plans(count: int, seed: int) -> Iterator[Planned]:
    """Chips that prefill alone, in groups that may be too small for the weights and a prompt."""
    draw = random.Random(seed)
    for _ in range(count):
        ways, groups = draw.choice((0, 1, 2, 3, 4, 6)), draw.choice((1, 1, 2, 3, 1.5))
        yield draw.choice(SERVED), draw.choice(("h100-sxm", "l4", *ON_A_TORUS)), {
            "prefill_tensor": ways, "prefill_chips": max(1, ways) * groups, CHIPS: draw.choice((8, 16, 64)),
            "serve_expert": draw.choice((1, 1, 16)), "prompt_len": draw.choice((512, 8192, 200_000)),
            "hbm_reserve_bytes": draw.choice((0, 4e9)), "weight_dtype": draw.choice(("bf16", "fp8")), "batch": 64,
        }  # fmt: skip


def _slice(draw: random.Random, chip: str) -> Inputs:
    """The shape of a slice, of two axes on a chip that has no more."""
    return {
        "slice_x": draw.choice(SIDES), "slice_y": draw.choice(SIDES),
        "slice_z": draw.choice(SIDES) if chip == "tpu-v5p" else 1,
    }  # fmt: skip


def sliced_plans(count: int, seed: int) -> Iterator[Planned]:
    """Slices whose axes may be too short for the chips of a group."""
    draw = random.Random(seed)
    for _ in range(count):
        chip = draw.choice(ON_A_TORUS)
        shape = _slice(draw, chip)
        yield draw.choice(SERVED), chip, {
            **shape, CHIPS: float(np.prod(list(shape.values()))) * draw.choice((1, 1, 4)), "batch": 256,
            "tensor_axes": draw.choice((1, 1, 2, 3)), "serve_data": draw.choice((1, 1, 2, 4)),
        }  # fmt: skip


def wide_plans(count: int, seed: int) -> Iterator[Planned]:
    """Groups of more chips than a layer's matrices have columns."""
    draw = random.Random(seed)
    for _ in range(count):
        data, ways = draw.choice((1, 2, 4)), 2.0 ** draw.choice((13, 15, 17, 20)) * draw.choice((1, 3, 7))
        yield draw.choice(SERVED), draw.choice(("h100-sxm", "tpu-v5p", "l4")), {
            CHIPS: data * ways, "serve_data": data, "serve_tensor": draw.choice((0, ways)), "batch": 1024,
            "serve_expert": draw.choice((1, 1, 64)), "kv_head_sharding": draw.choice((0, 0, 1)),
            "slice_x": draw.choice((0, 0, 0, 16)),
        }  # fmt: skip


def sliced_training_plans(count: int, seed: int) -> Iterator[Planned]:
    """Meshes on slices whose axes may be too short, or too few, for them."""
    draw = random.Random(seed)
    for _ in range(count):
        chip = draw.choice((*ON_A_TORUS, "tpu-v5p", "h100-sxm"))
        ways = {"mesh_tensor": draw.choice((1, 2, 4, 8, 16, 32)), "mesh_expert": draw.choice((1, 1, 2, 4, 8, 16, 64)),
                "mesh_fsdp": draw.choice((1, 4, 16)), "mesh_data": draw.choice((1, 1, 2)),
                "mesh_context": draw.choice((1, 1, 1, 2, 32))}  # fmt: skip
        yield draw.choice(TRAINED), chip, {
            **ways, **(_slice(draw, chip) if draw.random() < 0.8 else {}), CHIPS: float(np.prod(list(ways.values()))),
            "tensor_axes": draw.choice((1, 1, 2, 3)), "expert_axes": draw.choice((0, 0, 1, 2, 3, 5)),
            "has_whole_experts": draw.choice((0, 0, 1)), "batch_tokens": 2.0**22, "seq_len": 4096,
        }  # fmt: skip


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "check", "plans", "least"),
    [
        ("inference", "check_fits_prefill", apart_plans, 100),
        ("inference", "check_ways_on_axes", sliced_plans, 60),
        ("inference", "check_tensor_ways", wide_plans, 100),
        ("training", "check_ways_on_axes", sliced_training_plans, 60),
    ],
)
def test_what_mends_a_layout_breaks_no_other_check(name: str, check: str, plans: Plans, least: int, seed: int) -> None:
    """Of random plans: what is said of a check that fails, typed, makes it hold, and no check fails that didn't."""
    template, seen = read_alone(name), Counter[bool]()
    advice, drawn = mends(template)[check], list(plans(400, seed))
    tried: list[tuple[list[str], Planned]] = []
    for (model, chip, inputs), found in zip(drawn, together(template, drawn), strict=True):
        if check in (was := failing(template, found)):
            more = typed(template, advice, found)
            seen[bool(more)] += 1
            tried += [(was, (model, chip, inputs | more))] if more else []
    for (was, plan), found in zip(tried, together(template, [plan for _, plan in tried]), strict=True):
        now = failing(template, found)
        assert check not in now, plan
        assert set(now) <= set(was), plan
    assert seen[True] >= least, seen
