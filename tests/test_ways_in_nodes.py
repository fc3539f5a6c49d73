"""Where the ways of a training layout lie: each group spans the nodes that its ranks do, in one order of placement."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np

from planner.formulas import library
from tests.plans_together import Inputs, together

ORDER = ("mesh_pipeline", "mesh_data", "mesh_fsdp", "mesh_context", "mesh_expert", "mesh_tensor")
"""The ways, outermost first: `tp-cp-ep-dp-pp` of Megatron-LM, whose experts and contexts lie the other way round."""
NODE = {"h100-sxm": 8, "h200-nvl": 4}
SHARES = ("shares_dense_state", "shares_context_state", "has_whole_experts")


def layouts(count: int) -> Iterator[tuple[str, str, Inputs]]:
    """Random layouts of a mixture of experts."""
    rng = random.Random(3)
    for _ in range(count):
        mesh = {name: 2 ** max(0, rng.randint(-2, 3)) for name in ORDER}
        shares = {name: rng.randint(0, 1) for name in SHARES}
        inputs: Inputs = {**mesh, **shares, "n_chips": int(np.prod([*mesh.values()])), "zero_stage": 1}
        yield "mixtral-8x7b", rng.choice([*NODE]), inputs


def nodes(inputs: Inputs, node: int, *ways: str) -> int:
    """Nodes that the ranks of a group lie on."""
    sizes = [range(int(inputs[name])) if name in ways else range(1) for name in ORDER]
    whole = [int(inputs[name]) for name in ORDER]
    return len({int(np.ravel_multi_index(at, whole)) // node for at in itertools.product(*sizes)})


def groups(inputs: Inputs) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each include of the template that communicates, and the ways of its group."""
    context = ("mesh_context",) if inputs["shares_context_state"] else ()
    copies = () if context else ("mesh_context",)
    yield "tensor", ("mesh_tensor",)
    yield "expert", ("mesh_expert", "mesh_tensor") if inputs["has_whole_experts"] else ("mesh_expert",)
    yield "context", ("mesh_context",)
    yield "fsdp", ("mesh_fsdp", *context)
    yield "data", ("mesh_data", *copies)
    yield "stage", ("mesh_pipeline",)
    if inputs["mesh_expert"] != 1:
        yield "shared", ("mesh_expert", *(("mesh_fsdp", *context) if inputs["shares_dense_state"] else ()))


def test_each_group_spans_the_nodes_of_its_ranks() -> None:
    """Of random layouts, each group lies on as many nodes as its ranks, counted one by one from the innermost ways."""
    plans = list(layouts(400))
    for (_, chip, inputs), found in zip(plans, together(library.load("training"), plans), strict=True):
        for name, ways in groups(inputs):
            assert found.value(f"{name}_n_nodes") == nodes(inputs, NODE[chip], *ways), (name, inputs)


def test_stages_on_two_nodes_need_a_network_between_them() -> None:
    """An L40 has none: eight FSDP ways of two stages, on 16 chips, have no step; four do."""
    ways = {"mesh_pipeline": 2, "n_microbatches": 4}
    plans = [("llama3-8b", "l40", {**ways, "mesh_fsdp": fsdp, "n_chips": 2 * fsdp}) for fsdp in (8, 4)]
    two_nodes, one = together(library.load("training"), plans)
    assert two_nodes.value("step_time_lower_bound") is None
    assert one.value("step_time_lower_bound") is not None
