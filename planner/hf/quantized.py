"""What to set in a plan for the bytes of a checkpoint's quantised weights, as its config describes them.

The row of a model counts parameters, whatever their dtype; a plan has `weight_dtype`, and `expert_weight_bits` for
experts alone. What isn't recognized gives no advice, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.hf.config import read

NOTE = "quantised weights are counted as the numbers that they stand for, without scales"
UNKNOWN = "which setting of a plan has their bytes isn't known: choose weight_dtype, or expert_weight_bits"
NVIDIA = "hf_quant_config.json"  # in which NVIDIA's tools may describe the weights instead
GROUP = 128  # numbers that share a scale in int4_g128
SCALE_BITS = 16  # of the scale of a group of integers
MX_GROUP = 32  # numbers that share a scale in mxfp4
EXPERT_BITS = {"mxfp4": 4.25, "fp4": 4.25, "nvfp4": 4.5}  # bits of an expert's weight with its part of the scales
METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}  # dtype of the weights by quant_method
# The same by NVIDIA's quant_algo.
ALGORITHMS = {"fp8": "fp8", "nvfp4": "nvfp4", "w4a16_nvfp4": "nvfp4", "mxfp8": "mxfp8"}
INTEGERS = {"4": "int4_g128", "8": "int8"}  # by `bits`, of quant_method awq, gptq and auto-round
IN_GROUPS = {"4 int": "int4_g128", "8 int": "int8", "8 float": "fp8", "4 float": "nvfp4"}  # of compressed-tensors
LISTS = ("ignore", "modules_to_not_convert", "exclude_modules")  # fields with the modules that aren't quantised
ATTENTION = "attn"
FP8 = "8 float"


def notes(path: Path, fields: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[str]:
    """The notes on a config, given with that of its language model; none if it isn't quantised.

    Raises UserError as planner.hf.config.read does for NVIDIA's file beside it.
    """
    found = fields.get("quantization_config") or inner.get("quantization_config") or _beside(path)
    if not found:
        return
    yield NOTE
    settings = _settings(found, inner) if isinstance(found, dict) else []
    yield f"a plan has their bytes with --set {' '.join(settings)}" if settings else UNKNOWN


def _beside(path: Path) -> Any:
    """What NVIDIA's file beside a config describes, or None without one."""
    nvidia = path.with_name(NVIDIA)
    return read(nvidia).get("quantization") if nvidia != path and nvidia.is_file() else None


def _settings(found: Mapping[str, Any], inner: Mapping[str, Any]) -> list[str]:
    """The settings of a plan for a quantization_config; empty if it isn't recognized."""
    settings = _of_weights(found, inner)
    return [*settings, "kv_dtype=fp8"] if settings and _is_cache_fp8(found) else settings


def _of_weights(found: Mapping[str, Any], inner: Mapping[str, Any]) -> list[str]:
    method, algorithm = (str(found.get(name)).lower() for name in ("quant_method", "quant_algo"))
    if isinstance(layers := found.get("quantized_layers"), dict):
        return _of_modules(layers, METHODS.get(method, ""))
    group, dtype = found.get("group_size", GROUP), METHODS.get(method) or ALGORITHMS.get(algorithm, "")
    if method in ("awq", "gptq", "auto-round"):
        dtype = INTEGERS.get(str(found.get("bits")), "")
    elif method == "compressed-tensors":
        weights = _weights(found)
        group = weights.get("group_size", GROUP)
        dtype = IN_GROUPS.get(_kind(weights), "")
        dtype = "mxfp4" if dtype == "nvfp4" and group == MX_GROUP else dtype
    if not dtype:
        return []
    if _keeps_attention(found):  # the experts alone, if there are some
        scaled = 4 + SCALE_BITS / group if dtype == "int4_g128" and isinstance(group, int) and group > 1 else 0.0
        bits = scaled or EXPERT_BITS.get(dtype, 0.0)
        return [f"expert_weight_bits={bits:g}"] if bits and _has_experts(inner) else []
    if dtype == "int4_g128" and group != GROUP:
        return []
    experts = EXPERT_BITS.get(str(inner.get("expert_dtype")).lower())
    return [f"weight_dtype={dtype}", *([f"expert_weight_bits={experts:g}"] if experts else [])]


def _of_modules(layers: Mapping[str, Any], otherwise: str) -> list[str]:
    """The settings where each module has its own algorithm: one of the experts, and one of all others.

    `otherwise` is the dtype of the others if none of them is listed; empty if they aren't quantised.
    """
    dtypes: dict[bool, set[str]] = {True: set(), False: set()}
    for name, said in layers.items():
        algorithm = str(said.get("quant_algo")) if isinstance(said, dict) else ""
        dtypes[_is_routed(name)].add(ALGORITHMS.get(algorithm.lower(), ""))
    if "" in dtypes[True] | dtypes[False]:  # an algorithm without a name here
        return []
    experts, others = dtypes[True], dtypes[False] or {otherwise}
    bits = EXPERT_BITS.get(next(iter(experts)), 0.0) if len(experts) == 1 else 0.0
    if len(others) > 1 or not bits:
        return []
    return [*(f"weight_dtype={dtype}" for dtype in others if dtype), f"expert_weight_bits={bits:g}"]


def _is_routed(module: str) -> bool:
    """Whether a module holds experts among which a router chooses."""
    return "experts" in module and "shared" not in module


def _is_cache_fp8(found: Mapping[str, Any]) -> bool:
    scheme = found.get("kv_cache_scheme")
    told = _kind(scheme) if isinstance(scheme, dict) else str(scheme).lower()
    return told == FP8 or "fp8" in (told, str(found.get("kv_cache_quant_algo")).lower())


def _kind(said: Mapping[str, Any]) -> str:
    return f"{said.get('num_bits')} {said.get('type')}"


def _weights(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the weights in a config of compressed-tensors with a single group; else empty."""
    groups = found.get("config_groups")
    each = list(groups.values()) if isinstance(groups, dict) else []
    weights = each[0].get("weights") if len(each) == 1 and isinstance(each[0], dict) else None
    return weights if isinstance(weights, dict) else {}


def _keeps_attention(found: Mapping[str, Any]) -> bool:
    """Whether the modules that aren't quantised are those of attention: its norms and indexer alone are few bytes."""
    lists = [found.get(name) for name in LISTS]
    names = [str(each) for listed in lists if isinstance(listed, list) for each in listed]
    return any(ATTENTION in name and "norm" not in name and "indexer" not in name for name in names)


def _has_experts(inner: Mapping[str, Any]) -> bool:
    return any("experts" in name and isinstance(value, int) and value > 1 for name, value in inner.items())
