"""Which parameters are fitted to runs of which kinds, and the priors for what runs alone don't determine.

A parameter of `of_chips` has a number for each calibration: the number of its kind, `gpu` or `tpu`, times a deviation
with a prior of 1. The `weight` of a prior is relative to that of a source.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalog.calibrations import BY_NAME

SERVING = ("static", "prefill", "decode", "tpot")
FAMILIES = ("gpu", "tpu")
MEASURED = "measured"  # the calibration of chips measured by `planner hardware add`


@dataclass(frozen=True)
class Prior:
    """The prior value of a parameter, and its source."""

    value: float
    weight: float
    source: str


@dataclass(frozen=True)
class Group:
    """Parameters that are fitted together, to runs of some kinds."""

    name: str
    kinds: tuple[str, ...]
    common: tuple[str, ...] = ()  # parameters with one value for all chips
    of_families: tuple[str, ...] = ()  # parameters with one value for GPUs and one for TPUs
    of_chips: tuple[str, ...] = ()  # parameters with one value per calibration
    stacks: tuple[tuple[str, str, float, float], ...] = ()  # (stack, factor, lower bound, upper bound)
    of_experts: tuple[str, ...] = ()  # parameters fitted to mixtures of experts only; the others to dense models
    range_factor: str = ""  # name of the factor that widens the range of a stack's runs
    drawn: float = 0.1  # strength of the shrinkage of a calibration's deviation
    drawn_as: tuple[tuple[str, str], ...] = ()  # (parameter, the earlier one whose deviation is its prior instead of 1)
    families: tuple[str, ...] = FAMILIES  # kinds of chips with runs


GROUPS = (
    Group(
        "collectives", ("collective",),
        common=("fabric_latency", "switch_reduction_speed"), of_families=("node_latency",),
        of_chips=("collective_efficiency",),
        drawn=0.6,  # few sizes, one source each
    ),
    Group(
        "serving", SERVING,
        common=(
            "matmul_ramp", "layer_overhead", "collective_overhead", "fabric_collective_overhead",
            "serve_activation_passes", "serve_exposure", "serve_expert_overhead", "exchange_overhead",
            "expert_layer_host_time",
        ),
        of_chips=("serve_matmul_efficiency", "hbm_efficiency"),
        of_experts=("serve_expert_overhead", "exchange_overhead", "expert_layer_host_time"),
        stacks=(("unfused", "serve_overhead_factor", 1.0, 6.0), ("unfused", "cache_reads_power", 0.0, 1.0)),
        drawn=0.3,  # most chips have one source or two
        families=("gpu",),
    ),
    Group(
        "serving on TPUs", SERVING,
        of_families=(
            "serve_exposure", "serve_step_overhead", "serve_cache_speed", "collective_overhead",
            "serve_expert_overhead", "serve_activation_passes",
        ),
        of_chips=("serve_matmul_efficiency", "hbm_efficiency"), of_experts=("serve_expert_overhead",),
        drawn=0.6,  # three sources, one for most chips; parameters not listed are those of GPUs
        families=("tpu",),
    ),
    Group(
        "matmuls", ("matmul",),
        common=("operation_hbm_efficiency",), of_families=("operation_overhead",), of_chips=("gemm_efficiency",),
    ),
    Group(
        "training", ("train",),
        common=(
            "train_activation_passes", "expert_width_scale", "recompute_cost", "tensor_exposure", "fsdp_exposure",
            "expert_exposure", "pipeline_exposure",
        ),
        of_families=("expert_layer_overhead", "slice_wait"),
        of_chips=("train_matmul_efficiency", "train_attention_efficiency"),
        drawn_as=(("train_matmul_efficiency", "gemm_efficiency"),),  # where single matmuls are slow, so is training
        of_experts=("expert_width_scale", "expert_exposure", "expert_layer_overhead"),
        stacks=(
            ("tuned", "train_matmul_factor", 1.0, 1.8), ("tuned", "train_attention_factor", 0.8, 4.0),
            ("unfused", "train_matmul_factor", 0.3, 1.0), ("unfused", "train_attention_factor", 0.1, 1.0),
        ),
        range_factor="train_range_factor",
    ),
)  # fmt: skip

START = {
    "train_matmul_efficiency": 0.7, "train_attention_efficiency": 0.22, "train_activation_passes": 4.0,
    "expert_width_scale": 500.0, "expert_layer_overhead": 1e-3, "recompute_cost": 0.4, "tensor_exposure": 1.2,
    "fsdp_exposure": 1.0, "expert_exposure": 0.3, "pipeline_exposure": 1.0, "slice_wait": 0.02,
    "serve_matmul_efficiency": 0.84,
    "matmul_ramp": 83.0, "hbm_efficiency": 0.91, "layer_overhead": 42e-6, "collective_overhead": 6.7e-6,
    "fabric_collective_overhead": 20e-6, "serve_expert_overhead": 40e-6, "exchange_overhead": 30e-6,
    "serve_activation_passes": 4.0,
    "serve_exposure": 3.1, "serve_step_overhead": 3e-3, "serve_cache_speed": 0.8,
    "node_latency": 30e-6, "fabric_latency": 190e-6, "collective_efficiency": 0.6, "switch_reduction_speed": 0.75,
    "gemm_efficiency": 0.82, "operation_hbm_efficiency": 0.91, "operation_overhead": 4e-6, "attention_speed": 1.0,
    "attention_read_speed": 1.0, "train_matmul_factor": 1.0, "train_attention_factor": 1.5,
    "serve_overhead_factor": 2.6, "cache_reads_power": 0.75, "expert_layer_host_time": 1.2e-3,
}  # fmt: skip
"""Starting values of a fit."""

PRIORS: dict[str | tuple[str, str], Prior] = {
    ("tpu", "expert_layer_overhead"): Prior(0.2e-3, 1.0, "a compiled program: no host between router and experts"),
    ("gpu", "slice_wait"): Prior(0.003, 1.0, "training on GPUs over 2 to 2,048 nodes: 0.3 % at each doubling"),
    "layer_overhead": Prior(40e-6, 0.3, "ten launches of 4 us in a layer"),
    "collective_overhead": Prior(6.7e-6, 0.1, "one-shot all-reduces over NVLink take 5 to 10 us"),
    "expert_layer_host_time": Prior(1.2e-3, 0.3, "SGLang's first tokens after 600: 1 to 1.3 ms a layer"),
    "fabric_collective_overhead": Prior(20e-6, 0.03, "NCCL all-reduces of a few bytes: 15 us more between two nodes"),
    "serve_overhead_factor": Prior(2.5, 0.3, "host-bound serving of 2023"),
    "serve_matmul_efficiency": Prior(0.8, 0.3, "mamf-finder: 0.80 to 0.87 of the peak on large matmuls"),
    "hbm_efficiency": Prior(0.9, 0.3, "STREAM-like kernels reach 0.85 to 0.95"),
    "operation_hbm_efficiency": Prior(0.9, 1.0, "STREAM-like kernels reach 0.85 to 0.95"),
    "matmul_ramp": Prior(83.0, 0.3, "Vidur's sweep of an A100: 83"),
    "fabric_latency": Prior(190e-6, 1.0, "NCCL all-reduces over four nodes, two doublings, start in 380 us"),
    "node_latency": Prior(35e-6, 0.1, "NCCL all-reduces within a node"),
    "collective_efficiency": Prior(0.66, 1.0, "NCCL all-reduces of several sources: 0.6 to 0.8 of the bandwidth"),
    "gemm_efficiency": Prior(0.82, 0.3, "mamf-finder: 0.80 to 0.97 of the peak"),
    ("tpu", "collective_efficiency"): Prior(0.5, 0.1, "half of a ring's two directions"),
    ("tpu", "serve_exposure"): Prior(1.0, 0.3, "Pope et al. 2022: XLA runs collectives beside matmuls"),
    ("tpu", "collective_overhead"): Prior(5e-6, 0.1, "a few hops of 1 us and their synchronisation"),
    ("tpu", "serve_step_overhead"): Prior(3e-3, 0.1, "servers of Python on the host of a compiled step: a few ms"),
    ("tpu", "serve_cache_speed"): Prior(0.8, 0.3, "a paged cache is read in pieces"),
    ("tpu", "serve_expert_overhead"): Prior(40e-6, 0.3, "as on GPUs"),
    ("tpu", "serve_activation_passes"): Prior(4.0, 0.3, "two norms of a layer read and write the residual stream"),
    ("gpu", "operation_overhead"): Prior(4.6e-6, 3.0, "the overhead of a layer shared by ten operations"),
    ("tpu", "operation_overhead"): Prior(2e-6, 0.3, "kernels of a compiled program: no host between them"),
}


def prior_of(owner: str, name: str) -> Prior | None:
    """The prior of a parameter, for this calibration or for all."""
    return PRIORS.get((owner, name)) or PRIORS.get(name)


DEVIATION = (0.5, 1.6)  # bounds of a deviation: MI300X multiplies at half of the share of its peak that others reach


def bounds(name: str) -> tuple[float, float]:
    """The least and greatest value of a parameter."""
    return BY_NAME[name].lower, BY_NAME[name].upper


TRAINED = "NeuronX Distributed's seven training runs on Trainium 1, which GPUs' fit leaves out"
TRAINED_2 = "AXLearn's two training runs on Trainium 2 take 1.4 times what Trainium 1's share lets expect"
NEURON = "Transformers NeuronX's decode steps on Trainium and Inferentia2"
_SERVED_BY_NEURON = {
    "collective_overhead": Prior(50e-6, 0, NEURON + ": 0.12 to 0.15 ms a layer, whatever the model"),
    "hbm_efficiency": Prior(0.75, 0, NEURON + ", with one sequence"),
    "serve_cache_speed": Prior(0.42, 0, NEURON + ", with eight sequences"),
    "serve_matmul_efficiency": Prior(0.4, 0, "Transformers NeuronX's prompts of 256 to 2,048 tokens"),
}

UNMEASURED = {
    ("any", "exchange_exposure"): Prior(1.0, 0, "bytes over the bandwidth: so decode DeepSeek on 72 to 144 GPUs"),
    ("any", "matmul_least_rows"): Prior(1.0, 0, "kernels for one row multiply no others"),
    ("h100", "matmul_least_rows"): Prior(64.0, 0, "Hopper's units multiply 64 rows at once (WGMMA)"),
    ("h20", "matmul_least_rows"): Prior(64.0, 0, "InferSim's matmuls on an H20: 8 to 64 rows take equally long"),
    ("any", "serve_step_overhead"): Prior(0.0, 0, "what the host takes is fitted as the overhead of layers"),
    ("any", "serve_cache_speed"): Prior(1.0, 0, "as other reads: kernels of GPUs"),
    ("any", "serve_scan_time"): Prior(
        0.31e-6, 0, "SGLang's first tokens of Qwen3.5-27B and 35B-A3B: alike on H200, B200 and B300"
    ),
    ("any", "train_scan_passes"): Prior(
        1.5, 0, "NVIDIA's training of Nemotron 3 Nano: within 7 % on H100, B200, B300, GB200 and GB300"
    ),
    ("any", "sparse_attention_efficiency"): Prior(
        0.65, 0, "FlashMLA's own benchmarks: 640 TFLOP/s of 989 on an H800, 1,450 of 2,250 on a B200"
    ),
    ("any", "sparse_attention_heads"): Prior(
        64.0, 0, "FlashMLA on Hopper, for which vLLM and SGLang pad a chip's heads"
    ),
    ("b200", "sparse_attention_heads"): Prior(128.0, 0, "FlashMLA on Blackwell, for which vLLM pads a chip's heads"),
    ("gb300", "sparse_attention_heads"): Prior(128.0, 0, "FlashMLA on Blackwell, for which vLLM pads a chip's heads"),
    ("mi300x", "sparse_attention_heads"): Prior(16.0, 0, "TileLang's kernel, which SGLang runs on AMD's GPUs"),
    ("tpu", "sparse_attention_heads"): Prior(1.0, 0, "no such kernel is published: none is padded"),
    ("any", "sparse_layer_host_time"): Prior(
        4.4e-3, 0, "SGLang's first tokens of DeepSeek-V4: 4.4 ms a layer of Flash on four B300 and of Pro on eight"
    ),
    ("tpu", "sparse_layer_host_time"): Prior(0.0, 0, "a compiled program: no host between its operations"),
    ("tpu", "expert_layer_host_time"): Prior(0.0, 0, "a compiled program: no host between its operations"),
    ("gb300", "gemm_efficiency"): Prior(0.74, 0, "as B200's single matmuls"),
    ("gb300", "collective_efficiency"): Prior(0.71, 0, "as B200's collectives"),
    ("any", "attention_speed"): Prior(1.0, 0, "as a matmul of its dimensions: kernels that are fused"),
    ("any", "attention_read_speed"): Prior(1.0, 0, "as other reads: kernels that are fused"),
    ("any", "narrow_expert_overhead"): Prior(0.0, 0, "as experts in 16 bits"),
    ("mi300x", "narrow_expert_overhead"): Prior(
        0.22e-3, 0, "SGLang's decode steps in fp8: 0.16 to 0.27 ms a layer more than elsewhere, with three models"
    ),
    ("tpu", "exchange_overhead"): Prior(0.0, 0, "a compiled program: its ranks are in step"),
    ("tpu", "layer_overhead"): Prior(10e-6, 0, "a few fused kernels of a layer in one compiled step"),
    ("neuron", "train_matmul_efficiency"): Prior(0.48, 0, TRAINED),
    ("neuron", "train_attention_efficiency"): Prior(0.33, 0, TRAINED),
    ("neuron-2", "train_matmul_efficiency"): Prior(0.32, 0, TRAINED_2),
    ("neuron-2", "train_attention_efficiency"): Prior(0.22, 0, TRAINED_2),
    **{(chip, name): prior for chip in ("neuron", "neuron-2") for name, prior in _SERVED_BY_NEURON.items()},
    (MEASURED, "gemm_efficiency"): Prior(1.0, 0, "the peak of such a chip is what its own matmuls reach"),
    (MEASURED, "serve_matmul_efficiency"): Prior(1.0, 0, "the peak of such a chip is what its own matmuls reach"),
    (MEASURED, "hbm_efficiency"): Prior(1.0, 0, "the bandwidth of such a chip is what its own copies reach"),
    (MEASURED, "operation_hbm_efficiency"): Prior(1.0, 0, "the bandwidth of such a chip is what its own copies reach"),
}
"""Parameters that no fitted run determines: layers on TPUs, experts across nodes, scans and sparse attention."""
