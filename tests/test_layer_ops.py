"""The operations of Operations and Roofline are all of the work that the step's template counts."""

from __future__ import annotations

from collections import Counter

import pytest

from planner.catalog import Value
from planner.formulas import layer_ops, library
from planner.formulas.evaluation import Results, evaluate, number_of
from planner.formulas.lookups import facts
from planner.formulas.text import Formula

STEPS = {name: library.load(name) for name in layer_ops.PHASES}
TRAINED = {
    "n_chips": 512,
    "batch_tokens": 4194304,
    "seq_len": 8192,
    "n_microbatches": 2,
    "mesh_fsdp": 16,
    "mesh_tensor": 4,
    "mesh_expert": 2,
    "mesh_context": 2,
    "mesh_pipeline": 2,
}
PLAN = {
    "n_chips": 8,
    "batch": 16,
    "prompt_len": 65536,
    "context_len": 65536,
    "kv_dtype": "fp8",
    "prefix_hit_rate": 0.25,
}
MODELS = (
    "llama3-8b", "gemma3-27b", "gpt-oss-120b", "deepseek-v3", "deepseek-v3.2", "deepseek-v4-flash", "glm-5.2",
    "qwen3-next-80b-a3b", "minimax-text-01", "minimax-m3",
)  # fmt: skip


def told(
    model: str, phase: str, row: str = "memory_bytes", **inputs: float
) -> tuple[Results, Counter[str], Counter[str]]:
    """A plan of a model on H200, and of its operations in a phase the FLOPs by template and a row of each."""
    step, given = (STEPS["training"], TRAINED) if phase == "training" else (STEPS["inference"], PLAN)
    plan, made = evaluate(step, facts(step, model, "h200-sxm"), {**given, **inputs}), layer_ops.load({step.name: step})
    known = {name: value for name in step.by_name if (value := plan.value(name)) is not None} | {"phase": phase}

    def of(formula: Formula) -> Value:
        text = known.get(formula.text)
        return text if isinstance(text, str) else number_of(formula.root, known)

    for row_of_step in (*made.steps[0].rows, *made.shared):
        known[row_of_step.name] = number_of(row_of_step.expression.root, known)
    flops, moved = Counter[str](), Counter[str]()
    for each in made.operations:
        bound = {name: of(formula) for name, formula in each.bindings.items()}
        own = {free.name: known[free.name] for free in each.template.of_kind("input") if free.name in known}
        found = evaluate(each.template, facts(each.template, None, "h200-sxm"), {**own, **bound})
        if count := number_of(each.count.root, known):
            flops[each.template.name] += count * (found.number("flops") or 0)
            moved[each.row.name] += count * (found.number(row) or 0 if row in each.template.by_name else 0)
    return plan, flops, moved


@pytest.mark.parametrize("model", MODELS)
def test_the_operations_are_the_work_of_the_step(model: str) -> None:
    """Matmuls are those of the step, but a gate; attention with windows and indexers is, and so are the states."""
    plan, flops, moved = told(model, "decode")
    assert flops["matmul"] == pytest.approx(plan.number("decode_flops"), rel=1e-4)
    assert flops["attention"] == pytest.approx(plan.number("decode_attention_flops"), rel=1e-3)  # a token sees itself
    assert moved["recurrent_states"] == pytest.approx(16 * plan.number("state_pass_bytes"), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_operations_are_the_work_of_a_prompt(model: str) -> None:
    """Matmuls are those of the tokens that have no cache, with the head once; attention sees what the prompt's does."""
    plan, flops, _ = told(model, "prefill")
    head = 2 * plan.number("n_params_table") * (plan.number("computed_len") - 1)
    assert flops["matmul"] == pytest.approx(plan.number("prefill_flops") - head, rel=1e-4)
    assert flops["attention"] == pytest.approx(plan.number("prefill_attention_flops"), rel=1e-12)


@pytest.mark.parametrize(("is_causal", "n_mtp_layers"), [(0, 0), (1, 0), (0, 2), (1, 2)])
@pytest.mark.parametrize("model", MODELS)
def test_the_operations_are_the_work_of_a_training_step(model: str, is_causal: int, n_mtp_layers: int) -> None:
    """All microbatches of all copies: matmuls with their backward, attention over its keys, prediction layers too."""
    plan, flops, _ = told(model, "training", is_causal=is_causal, n_mtp_layers=n_mtp_layers)
    assert flops["matmul"] == pytest.approx(plan.number("matmul_train_flops"), rel=1e-4)
    assert flops["attention"] == pytest.approx(plan.number("attention_train_flops"), rel=1e-12)


@pytest.mark.parametrize("model", ["llama3-8b", "mixtral-8x7b"])
def test_each_copy_reads_the_weights_of_each_microbatch(model: str) -> None:
    """64 copies read the bf16 weights in two microbatches, forward and twice backward; two share a copy's experts."""
    plan, _, weights = told(model, "training", "weight_memory_bytes")
    all_experts = plan.number("n_moe_layers") * plan.number("n_experts") * plan.number("n_params_expert_matmul")
    of_a_token = all_experts * plan.number("n_experts_active") / max(1, plan.number("n_experts"))
    others = plan.number("n_params_matmul_active") - of_a_token
    assert weights.total() == pytest.approx(64 * 2 * 3 * 2 * (others + all_experts / 2), rel=1e-12)


@pytest.mark.parametrize("model", ["gpt-oss-120b", "deepseek-v3"])
def test_experts_are_read_in_their_own_bits(model: str) -> None:
    """The matrices of the operations are what the step reads, experts in 4.25 bits; other rows are as without them."""
    plan, _, weights = told(model, "decode", "weight_memory_bytes", expert_weight_bits=4.25)
    assert weights.total() == pytest.approx(plan.number("read_bytes"), rel=1e-3)
    _, _, whole = told(model, "decode", "weight_memory_bytes")
    narrow = {name: bits / 16 for name, bits in (("experts_in", 4.25), ("experts_out", 4.25))}
    assert dict(weights) == {name: pytest.approx(whole[name] * narrow.get(name, 1)) for name in whole}
