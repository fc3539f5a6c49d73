"""Expected rows beside their bounds: never below them, alike in every engine, and N/A where nothing is known."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.databases import Databases
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.expected import notes
from planner.formulas.headlines import headlines
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.validation.expected_times import bound_of

DATABASES = Databases()
DENSE, EXPERTS = ("llama3-8b", "llama3.1-405b", "gpt2"), ("mixtral-8x7b", "deepseek-v3")
CHIPS = ("h100-sxm", "a100-sxm-80", "b200-sxm", "tpu-v5e", "tpu-v5p", "tpu-v7x", "l4", "mi250x")
STACKS = ("default", "tuned", "unfused", "ideal")
known = functools.cache(lambda name, model, chip: facts(load(name), model, chip, DATABASES))
ways = st.sampled_from([1, 2, 4, 8, 16, 64])
flag = st.sampled_from([0, 1])


def results(name: str, model: str | None, chip: str | None, **values: object) -> Results:
    """A template's rows for a plan."""
    return evaluate(load(name), known(name, model, chip), values)


def held(found: Results) -> None:
    """Each expected row lies between its bound and its range's end, and its range around it; a rate the other way."""
    names = [row.name for row in found.template.rows if f"{row.name}_low" in found.template.by_name]
    for name in (name for name in names if found.value(name) is not None):
        low, expected, high = (float(found[each]) for each in (f"{name}_low", name, f"{name}_high"))
        assert low <= expected * (1 + 1e-12), name
        assert expected <= high * (1 + 1e-12), name
        bound = bound_of(name)
        if bound in found.template.by_name:
            least = float(found[bound])
            is_rate = "per_second" in name or name.startswith("mfu")
            assert (high <= least * (1 + 1e-12)) if is_rate else (low >= least * (1 - 1e-12)), name


@given(
    model=st.sampled_from(DENSE + EXPERTS), chip=st.sampled_from(CHIPS), stack=st.sampled_from(STACKS),
    mesh=st.fixed_dictionaries({
        "mesh_data": ways, "mesh_fsdp": ways, "mesh_tensor": ways, "mesh_expert": ways, "mesh_pipeline": ways,
        "mesh_context": ways, "n_slices": st.sampled_from([1, 2]), "n_microbatches": st.sampled_from([1, 8, 64]),
        "pipeline_interleave": st.sampled_from([1, 4]), "zero_stage": st.sampled_from([0, 1, 2, 3]),
    }),
    batch=st.sampled_from([2**17, 2**22, 2**25]), seq_len=st.sampled_from([512, 8192, 131_072]),
    remat=st.sampled_from(["none", "block", "mlp", "matmuls"]), dtype=st.sampled_from(["bf16", "fp8"]),
    share=st.sampled_from([0, 0.5]),
)  # fmt: skip
def test_no_step_is_below_its_bound(model, chip, stack, mesh, batch, seq_len, remat, dtype, share):
    """Of random training plans on any chip, whether they can be run or not; ideal is the bound itself."""
    counted = ("mesh_data", "mesh_fsdp", "mesh_tensor", "mesh_expert", "mesh_pipeline", "mesh_context", "n_slices")
    chips = int(np.prod([mesh[name] for name in counted]))
    found = results("training", model, chip, **mesh, n_chips=chips, batch_tokens=batch, seq_len=seq_len, stack=stack,
                    remat=remat, compute_dtype=dtype, recomputed_share=share)  # fmt: skip
    held(found)
    if stack == "ideal":
        assert found.value("step_time_expected") == found.value("step_time_lower_bound")


@given(
    model=st.sampled_from(DENSE + EXPERTS), chip=st.sampled_from(CHIPS), stack=st.sampled_from(STACKS),
    n_chips=ways, batch=st.sampled_from([1, 7, 64, 4096]), prompt_len=st.sampled_from([1, 512, 100_000]),
    generate_len=st.sampled_from([1, 128, 8192]), context_len=st.sampled_from([1, 4096, 1_000_000]),
    dtype=st.sampled_from(["bf16", "int8", "fp8"]), sharp=st.sampled_from([0, 1]),
    layout=st.fixed_dictionaries({
        "serve_data": st.sampled_from([1, 2, 8]), "serve_pipeline": st.sampled_from([1, 2]),
        "serve_expert": st.sampled_from([1, 2, 16]), "cache_by_batch": flag, "has_2d_weights": flag,
        "redundant_experts": st.sampled_from([0, 32]), "routed_nodes": st.sampled_from([0, 4]),
        "expert_imbalance": st.sampled_from([1, 1.5]), "prefill_chips": st.sampled_from([0, 8]),
        "prefill_tensor": st.sampled_from([0, 2]), "chunk_len": st.sampled_from([0, 512]),
        "prefix_hit_rate": st.sampled_from([0, 0.5]), "dispatch_dtype": st.sampled_from(["bf16", "fp8"]),
    }),
)  # fmt: skip
def test_no_serving_time_is_below_its_bound(
    model, chip, stack, n_chips, batch, prompt_len, generate_len, context_len, dtype, sharp, layout
):  # fmt: skip
    """Of random serving plans on any chip in any layout, whose numbers agree with each other in their other order."""
    chips = n_chips * layout["serve_data"] * layout["serve_pipeline"]
    found = results("inference", model, chip, n_chips=chips, batch=batch, prompt_len=prompt_len, stack=stack,
                    generate_len=generate_len, context_len=context_len, weight_dtype=dtype, kv_dtype=dtype,
                    compute_dtype=dtype, has_sharp=sharp, **layout)  # fmt: skip
    held(found)
    crossed = [row.name for row in found.template.of_kind("check") if row.source == "Cross-check"]
    assert [name for name in crossed if found.value(name) == 0] == []


@pytest.mark.parametrize("serve_data", [1, 16])
def test_ideal_serving_is_its_bound(serve_data):
    """Also where groups that share experts hold each other up with their prompts."""
    served = {"batch": 256, "prompt_len": 2048, "generate_len": 256, "context_len": 4096, "weight_dtype": "fp8"}
    shared = {"n_chips": 16, "serve_expert": 16, "serve_data": serve_data}
    found = results("inference", "deepseek-v3", "h200-sxm", **served, **shared, stack="ideal")
    for name in ("decode_step_time", "time_per_output_token", "output_tokens_per_second", "cost_per_million_tokens"):
        assert found.value(f"{name}_expected") == pytest.approx(found.value(f"{name}_bound"), rel=1e-12), name


@pytest.mark.parametrize("stages", [2, 4, 8])
@pytest.mark.parametrize("model", ["llama3-70b", "qwen3-30b-a3b"])
def test_stages_fill_as_prompts_come(model, stages):
    """One prompt takes as long as a batch of one; many keep all stages busy: twice as many take twice as long."""
    layout = {"n_chips": stages, "serve_pipeline": stages, "prompt_len": 4096, "context_len": 4096}
    found = results("inference", model, "h100-sxm", **layout, batch=np.array([1.0, 512, 1024]))
    one, many, twice = found["prefill_batch_time_expected"]
    assert one == pytest.approx(found["prefill_time_expected"], rel=1e-9)
    assert twice == pytest.approx(2 * many, rel=0.02)


@pytest.mark.parametrize(
    ("model", "chip", "ways", "dtype", "tokens_per_second"),
    [
        ("qwen3-30b-a3b", "rtx-pro-6000", 1, "fp4", 28011),
        ("qwen3-30b-a3b", "b200-sxm", 1, "fp4", 39827),
        ("llama4-scout", "b200-sxm", 1, "fp4", 25342),
        ("llama4-scout", "h200-sxm", 4, "fp8", 30354),
        ("llama3.1-8b", "h200-sxm", 1, "fp8", 27911),
        ("llama3.3-70b", "h200-sxm", 1, "fp8", 3803),
        ("llama3.1-405b", "b200-sxm", 4, "fp4", 6281),
    ],
)
def test_short_prompts_share_their_passes(model, chip, ways, dtype, tokens_per_second):
    """128 tokens after 128: no rate of TensorRT-LLM 1.0's overview is above the bound, nor twice what is expected."""
    layout = {"n_chips": ways, "batch": 2048, "prompt_len": 128, "generate_len": 128, "context_len": 192}
    dtypes = {"weight_dtype": dtype, "kv_dtype": "fp8", "compute_dtype": dtype}
    found = results("inference", model, chip, **layout, **dtypes)
    assert found["output_tokens_per_second_bound"] >= tokens_per_second
    assert found["output_tokens_per_second_expected"] >= tokens_per_second / 2


@given(
    chip=st.sampled_from(CHIPS), stack=st.sampled_from(STACKS), n_chips=st.sampled_from([1, 2, 8, 64, 512]),
    size=st.sampled_from([1.0, 1e6, 1e10]), axes=st.sampled_from([1, 2]),
)  # fmt: skip
def test_no_collective_is_below_its_bound(chip, stack, n_chips, size, axes):
    """Of random collectives on any chip."""
    held(results("collectives", None, chip, n_chips=n_chips, collective_bytes=size, collective_axes=axes, stack=stack))


def test_a_step_takes_as_long_as_its_flops_at_least():
    """DeepSeek-V3 decodes with 242 FLOP of attention a byte of cache; an H20 has time for 37: the work counts."""
    found = results("inference", "deepseek-v3", "h20", n_chips=16, serve_data=16, serve_expert=16, batch=512,
                    context_len=16384, weight_dtype="fp8")  # fmt: skip
    attention = 512 * 61 * 2 * 128 * (512 + 512 + 64) * 16384 / (16 * 148e12)  # batch, layers, heads, latent widths
    assert found.value("decode_attention_time") == pytest.approx(attention, rel=1e-12)
    assert found.value("decode_step_time_expected") > attention + found.value("matmul_time")


@pytest.mark.parametrize("stack", STACKS)
def test_the_parts_make_the_step(stack):
    """The parts of an expected step, and of a decode step, are disjoint: none is below 0, and they add up to it."""
    plan = results("training", "llama3.1-405b", "h100-sxm", n_chips=1024, mesh_fsdp=8, mesh_tensor=8, mesh_pipeline=16,
                   n_microbatches=32, batch_tokens=2**22, seq_len=8192, stack=stack)  # fmt: skip
    assert (plan.value("imbalance_part_time") > 0) == (stack != "ideal")
    serve = results("inference", "llama3-70b", "h100-sxm", n_chips=8, batch=32, stack=stack)
    for found, whole in ((plan, "step_time_expected"), (serve, "decode_step_time_expected")):
        step = headlines(found.template)[0]
        assert step.row.name == whole
        times = [found.value(part.text) for part in step.parts]
        assert min(times) >= 0
        assert sum(times) == pytest.approx(found.value(whole), rel=1e-9)
        assert found.value("check_parts") == 1


@pytest.mark.parametrize("chip", ["mi455x", "cpu-spr-8481c"])  # a network without a bandwidth; none at all
def test_a_chip_without_a_network_works_alone(chip):
    """One chip needs no network: its plan has numbers, and its shape is no question; two of them have none."""
    for name, output in (("training", "step_time_expected"), ("inference", "static_batch_time_expected")):
        alone = results(name, "mixtral-8x7b", chip, n_chips=1)
        assert alone.value(output) is not None
        assert alone.value("check_slice_shape") == 1
        more = {"mesh_fsdp": 2} if name == "training" else {}
        assert results(name, "mixtral-8x7b", chip, n_chips=2, **more).value(output) is None


def test_a_plan_of_no_chip_has_no_expected_time():
    """Where the chip's numbers are typed and no chip is named, the bound is there and the expected is N/A."""
    alone = results("matmul", None, None, tokens=8, d_in=8, d_out=8, peak_flops=100, hbm_bandwidth=10)
    assert alone.value("lower_bound_time") is not None
    assert alone.value("expected_time") is None


def test_hops_are_whole():
    """Half of a ring of 4, the cube root of 64, is 2 hops on each axis, though that root is one digit short of 4."""
    found = results("placement", None, "tpu-v5p", axis_size=64 ** (1 / 3), n_axes=3)
    assert found.value("torus_hops") == 6


def test_what_lies_beyond_the_runs_is_told():
    """A plan on 64 tensor ways of H100s, one that serves on 256 TPUs and one of Trainium say why they are extrapolated.

    Trainium is neither, and its expected numbers are fitted to few runs of its own.
    """
    mesh = {"n_chips": 512, "mesh_fsdp": 8, "mesh_tensor": 64}
    wide = results("training", "llama3-70b", "h100-sxm", **mesh)
    usual = results("training", "llama3-70b", "h100-sxm", n_chips=512, mesh_fsdp=512)
    served = results("inference", "llama3-70b", "tpu-v5e", n_chips=256, cache_by_batch=1)
    other = results("training", "llama3-8b", "trainium2", n_chips=64, mesh_fsdp=2, mesh_tensor=32)
    told = [
        list(notes(lambda name, each=each: each.value(name) if name in each.template.by_name else None, 1))
        for each in (wide, usual, served, other)
    ]
    assert told == [
        ["Extrapolated: no run of GPUs that the expected numbers are fitted to has so many tensor ways."], [],
        ["Extrapolated: no run of TPUs that the expected numbers are fitted to has so many chips."],
        ["Extrapolated: no run that the expected numbers are fitted to has so many tensor ways."],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ways", "microbatches", "split"),
    [
        (96, 1, "1,024 sequences don't split evenly over 96 data ways: the busiest takes 11, the mean is 10.67."),
        (128, 3, "over 128 data ways of 3 microbatches: the busiest takes 3, the mean is 2.667."),
        (128, 4, ""),
        (2048, 1, ""),  # a check of the template fails
    ],
)
def test_sequences_that_do_not_split_evenly_are_told(ways, microbatches, split):
    """1,024 sequences over 96 data ways: 64 of them have 11 sequences, 32 have 10; the mean is 10.67."""
    mesh = {"n_chips": ways, "mesh_fsdp": ways, "n_microbatches": microbatches}
    plan = results("training", "llama3-70b", "h100-sxm", batch_tokens=2**22, seq_len=4096, **mesh)
    told = " ".join(notes(lambda name: plan.value(name) if name in plan.template.by_name else None, 1))
    assert ("split evenly" in told) is bool(split)
    assert split in told


@pytest.mark.parametrize(
    ("model", "trained", "told"),
    [
        (
            "deepseek-v3",
            0,
            "The plan leaves out multi-token prediction, which the model has: n_mtp_layers=1 trains it.",
        ),
        ("deepseek-v3", 1, ""),
        ("llama3-8b", 0, ""),
    ],
)
def test_layers_of_prediction_that_a_plan_leaves_out_are_told(model, trained, told):
    """DeepSeek-V3's config has `num_nextn_predict_layers` 1."""
    plan = results("training", model, "h200-sxm", n_chips=256, n_mtp_layers=trained)
    said = notes(lambda name: plan.value(name) if name in plan.template.by_name else None, 1)
    assert [each for each in said if "multi-token" in each] == [told][: len(told)]


def test_a_memory_for_more_than_sequences_have_is_told():
    """A memory for 8,192 tokens beside prompts of 1,000 and answers of as many may not fit where the run does."""
    served = results("inference", "llama3.3-70b", "tpu-v6e", n_chips=8, prompt_len=1000, generate_len=1000)
    told = " ".join(notes(lambda name: served.value(name) if name in served.template.by_name else None, 1))
    assert "Memory is that of a context of 8,192 tokens, and sequences have 2,000 at most: set context_len." in told


@pytest.mark.parametrize(("batch", "data_ways", "is_said"), [(512, 1, True), (512, 64, False), (16, 1, False)])
def test_copies_of_a_cache_that_does_not_fit_are_told(batch, data_ways, is_said):
    """A latent cache has one head, so each of 64 tensor ways holds it whole: said where it doesn't fit."""
    layout = {"n_chips": 64, "serve_expert": 64, "serve_data": data_ways}
    plan = results("inference", "deepseek-v3", "h200-sxm", batch=batch, **layout)
    told = " ".join(notes(lambda name: plan.value(name) if name in plan.template.by_name else None, 1))
    assert ("hold 64 copies of the cache" in told) is is_said


@pytest.mark.parametrize(
    ("usual", "corner"),
    [
        ({"mesh_fsdp": 64, "mesh_tensor": 8}, {"mesh_fsdp": 8, "mesh_tensor": 64}),
        ({"mesh_fsdp": 512, "n_microbatches": 1}, {"mesh_fsdp": 512, "zero_stage": 1, "n_microbatches": 4096}),
        ({"mesh_fsdp": 512}, {"mesh_fsdp": 8, "mesh_context": 64}),
    ],
)
def test_a_corner_that_practice_avoids_costs_time(usual, corner):
    """Tensor ways over eight nodes, microbatches of two tokens and 64 context ways are expected to take longer."""
    plan = {"n_chips": 512, "seq_len": 8192, "batch_tokens": 4194304}
    times = [results("training", "llama3-70b", "h100-sxm", **plan, **mesh).number("step_time_expected")
             for mesh in (usual, corner)]  # fmt: skip
    assert times[1] > 1.05 * times[0]
