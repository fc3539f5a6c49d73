"""The parameters of a calibration: what stands between a roofline and the time that runs take, each with its bounds.

A parameter is fitted to published runs within what physics allows, or is a prior with its source. The forms that read
them are the templates' rows of kind `calibration`; `docs/validation.md` says what each is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

COMMON = "any"  # the calibration whose parameters stand for those that another one leaves open
# The kinds of runs, each with an error of its own.
KINDS = ("train", "static", "prefill", "decode", "tpot", "matmul", "collective")
OF_LAYOUTS = KINDS[:5]  # of which one question is answered by several layouts
MIXES = ("dense", "moe")
TIE = "tie"  # how the names of parameters end that say how little two plans of one model and chip may differ


@dataclass(frozen=True)
class Parameter:
    """One number of a calibration: its unit, and the least and the most that it may be."""

    name: str
    label: str
    unit: str
    lower: float
    upper: float


def _ranges() -> Iterator[Parameter]:
    """The quantiles of measured over expected: of each kind of run, for dense models and mixtures of experts apart."""
    for kind in KINDS:
        for mix in MIXES:
            yield Parameter(
                f"{kind}_{mix}_low", f"10 % of {kind} runs take this times the expected ({mix})", "1", 0.1, 1
            )
            yield Parameter(
                f"{kind}_{mix}_high", f"90 % of {kind} runs take this times the expected ({mix})", "1", 1, 10
            )
            if kind in OF_LAYOUTS:
                label = f"80 % of two {kind} runs of one model and chip err alike but for these times ({mix})"
                yield Parameter(f"{kind}_{mix}_{TIE}", label, "1", 1, 10)


PARAMETERS = (
    Parameter("train_matmul_efficiency", "Share of the peak that training matmuls reach", "1", 0.3, 1),
    Parameter("train_attention_efficiency", "Share of the 16-bit peak that training attention reaches", "1", 0.05, 1),
    Parameter("train_activation_passes", "Passes over a layer's activations outside its matmuls", "1", 0, 15),
    Parameter(
        "expert_width_scale", "Smallest dimension at which the work of experts takes twice as long", "1", 0, 5000
    ),
    Parameter("expert_layer_overhead", "Time that a layer with experts adds to a microbatch", "s", 0, 0.02),
    Parameter("recompute_cost", "Time of repeated matmuls over that of the first", "1", 0.3, 1),
    Parameter("tensor_exposure", "Tensor communication that no work hides, over its bound", "1", 0, 3),
    Parameter("fsdp_exposure", "FSDP and data-parallel communication that no work hides, over its bound", "1", 0, 2),
    Parameter("expert_exposure", "Expert communication that no work hides, over its bound", "1", 0, 2),
    Parameter("pipeline_exposure", "Pipeline communication that no work hides, over its bound", "1", 0, 4),
    Parameter("serve_matmul_efficiency", "Share of the peak that serving matmuls of many tokens reach", "1", 0.3, 1),
    Parameter("matmul_ramp", "Smallest dimension at which a matmul reaches half of its best", "1", 0, 2000),
    Parameter("hbm_efficiency", "Share of the HBM bandwidth that reads reach", "1", 0.3, 1),
    Parameter("layer_overhead", "Time of a layer in which nothing is computed or read", "s", 0, 1e-3),
    Parameter("collective_overhead", "Start-up time of an all-reduce while serving", "s", 0, 1e-4),
    Parameter("fabric_collective_overhead", "Start-up time of an all-reduce between nodes while serving", "s", 0, 1e-3),
    Parameter("serve_activation_passes", "Passes over a layer's activations while serving", "1", 0, 20),
    Parameter("serve_exposure", "All-reduces while serving, over bytes by bandwidth", "1", 0, 10),
    Parameter("exchange_exposure", "Exchanges for experts while serving, over bytes by bandwidth", "1", 0, 10),
    Parameter("node_latency", "Start-up time of a collective within a node or a slice", "s", 0, 1e-3),
    Parameter("fabric_latency", "Start-up time of a collective between nodes", "s", 0, 1e-2),
    Parameter("collective_efficiency", "Share of the bandwidth that collectives reach", "1", 0.2, 1),
    Parameter("gemm_efficiency", "Share of the peak that one large matmul reaches", "1", 0.3, 1),
    Parameter("operation_overhead", "Time to start an operation", "s", 0, 1e-4),
    Parameter("attention_speed", "Speed of attention over that of a matmul", "1", 0.01, 1),
    Parameter("attention_read_speed", "Speed of attention's reads over that of others", "1", 0.01, 1),
    Parameter("train_most_chips", "Most chips of the fitted training runs", "chip", 0, 1e9),
    Parameter("train_most_tensor", "Most tensor ways of the fitted training runs", "1", 0, 1e9),
    Parameter("train_most_pipeline", "Most pipeline stages of the fitted training runs", "1", 0, 1e9),
    Parameter("train_most_context", "Most context ways of the fitted training runs", "1", 0, 1e9),
    Parameter("train_least_tokens", "Fewest tokens of a microbatch on a model shard of the fitted runs", "1", 0, 1e9),
    Parameter("train_tells_moe", "Fitted training runs tell of mixtures of experts (1 or 0)", "1", 0, 1),
    Parameter("serve_most_chips", "Most chips of the fitted serving runs", "chip", 0, 1e9),
    Parameter("serve_tells_moe", "Fitted serving runs tell of mixtures of experts (1 or 0)", "1", 0, 1),
    *_ranges(),
)
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}
