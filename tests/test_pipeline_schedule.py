"""The expected times of a pipeline against schedules that are played through and stages that are tried one by one."""

from __future__ import annotations

import math

import pytest

from planner.formulas import library
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.lookups import facts

TRAINING = library.load("training")
FACTS = facts(TRAINING, "llama3-8b", "h100-sxm")


def plan(**inputs: float) -> Results:
    """A training plan of stages without communication."""
    return evaluate(TRAINING, FACTS, {"model_exposed_time": 0.0, **inputs})


def played(passes: list[float], microbatches: int) -> float:
    """The time of 1F1B, in which stage i takes passes[i] for a microbatch, a third of it forward."""
    stages = len(passes)
    ended: dict[tuple[str, int, int], float] = {}
    orders = []
    for stage in range(stages):
        ahead = min(stages - 1 - stage, microbatches)
        pairs = [(kind, at) for at in range(microbatches - ahead) for kind in ("forward", "backward")]
        steady = [(kind, at + (ahead if kind == "forward" else 0)) for kind, at in pairs]
        drained = [("backward", at) for at in range(microbatches - ahead, microbatches)]
        orders.append([*(("forward", at) for at in range(ahead)), *steady, *drained])
    while any(orders):
        for stage, order in enumerate(orders):
            while order:
                kind, at = order[0]
                before = (kind, at, stage - 1 if kind == "forward" else stage + 1)
                if kind == "backward" and stage == stages - 1:
                    before = ("forward", at, stage)
                if before not in ended and before != ("forward", at, -1):
                    break
                share = 1 / 3 if kind == "forward" else 2 / 3
                ready = max(ended.get(before, 0.0), ended.get(("stage", 0, stage), 0.0))
                ended[kind, at, stage] = ended["stage", 0, stage] = ready + share * passes[stage]
                order.pop(0)
    return max(ended.values())


@pytest.mark.parametrize(
    ("passes", "microbatches"),
    [([1.0] * 4, 8), ([1.0] * 3 + [1.15], 8), ([1.0] * 7 + [1.3], 8), ([1.0] * 11 + [1.1], 48)],
)
def test_a_step_takes_as_long_as_its_schedule_played_through(passes: list[float], microbatches: int) -> None:
    """The longest stage's microbatches and the bubble are the time of 1F1B, where the last stage is the longest."""
    stages = len(passes)
    step = plan(
        mesh_pipeline=stages, n_microbatches=microbatches, batch_tokens=8192 * microbatches, seq_len=8192,
        stage_imbalance=max(passes) * stages / sum(passes), stage_time_expected=microbatches * max(passes),
    )  # fmt: skip
    total = step.number("stage_time_expected") + step.number("bubble_time_expected")
    assert total == pytest.approx(played(passes, microbatches), rel=1e-9)


@pytest.mark.parametrize("stages", [1, 2, 4, 8, 12, 16, 35])
@pytest.mark.parametrize("layers", [32, 61, 80, 96, 126])
@pytest.mark.parametrize("head", [0.2, 0.66, 1.4, 3.2])
def test_the_longest_stage_is_that_of_the_best_whole_layers(layers: int, stages: int, head: float) -> None:
    """It is as long as with the best number of whole layers beside the head, of all that there are."""
    if stages > layers:
        return
    others = max(1, stages - 1)
    tried = (max(own + head, math.ceil((layers - own) / others)) for own in range(layers + 1))
    best = min(tried) if stages > 1 else layers + head
    counted = plan(n_layers=layers, mesh_pipeline=stages, head_layers=head).number("stage_imbalance")
    assert counted * (layers + head) / stages == pytest.approx(best, rel=1e-9)
