"""What to set in a plan for the bytes of a checkpoint's quantised weights, as its config describes them.

The row of a model counts parameters, whatever their dtype; a plan has `weight_dtype`, and `expert_weight_bits` for
experts alone. What isn't recognized gives no advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NOTE = "quantised weights are counted as the numbers that they stand for, without scales"
GROUP = 128  # numbers that share a scale in int4_g128
SCALE_BITS = 16  # of the scale of a group of integers
EXPERT_BITS = {"mxfp4": 4.25, "fp4": 4.25, "nvfp4": 4.5}  # bits of an expert's weight with its part of the scales
METHODS = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}  # dtype of the weights by quant_method
ALGORITHMS = {"fp8": "fp8", "nvfp4": "nvfp4", "mxfp8": "mxfp8"}  # the same by NVIDIA's quant_algo
INTEGERS = {"4": "int4_g128", "8": "int8"}  # by `bits`, of quant_method awq and gptq
IN_GROUPS = {"4 int": "int4_g128", "8 int": "int8", "8 float": "fp8", "4 float": "nvfp4"}  # of compressed-tensors
LISTS = ("ignore", "modules_to_not_convert", "exclude_modules")  # fields with the modules that aren't quantised
ATTENTION = "attn"


def notes(fields: Mapping[str, Any], inner: Mapping[str, Any]) -> Iterator[str]:
    """The notes on a config, given with that of its language model; none if it isn't quantised."""
    found = fields.get("quantization_config") or inner.get("quantization_config")
    if not found:
        return
    yield NOTE
    if settings := _settings(found, inner) if isinstance(found, dict) else []:
        yield f"a plan has their bytes with --set {' '.join(settings)}"


def _settings(found: Mapping[str, Any], inner: Mapping[str, Any]) -> list[str]:
    """The settings of a plan for a quantization_config; empty if it isn't recognized."""
    method, algorithm = (str(found.get(name)).lower() for name in ("quant_method", "quant_algo"))
    group, dtype = found.get("group_size", GROUP), METHODS.get(method) or ALGORITHMS.get(algorithm, "")
    if method in ("awq", "gptq"):
        dtype = INTEGERS.get(str(found.get("bits")), "")
    elif method == "compressed-tensors":
        weights = _weights(found)
        group = weights.get("group_size", GROUP)
        dtype = IN_GROUPS.get(f"{weights.get('num_bits')} {weights.get('type')}", "")
    if not dtype:
        return []
    if _keeps_attention(found):  # the experts alone, if there are some
        scaled = 4 + SCALE_BITS / group if dtype == "int4_g128" and isinstance(group, int) and group > 1 else 0.0
        bits = scaled or EXPERT_BITS.get(dtype, 0.0)
        return [f"expert_weight_bits={bits:g}"] if bits and _has_experts(inner) else []
    if dtype == "int4_g128" and group != GROUP:
        return []
    experts = EXPERT_BITS.get(str(inner.get("expert_dtype")).lower())
    settings = [f"weight_dtype={dtype}", *([f"expert_weight_bits={experts:g}"] if experts else [])]
    return [*settings, "kv_dtype=fp8"] if str(found.get("kv_cache_quant_algo")).lower() == "fp8" else settings


def _weights(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the weights in a config of compressed-tensors with a single group; else empty."""
    groups = found.get("config_groups")
    each = list(groups.values()) if isinstance(groups, dict) else []
    weights = each[0].get("weights") if len(each) == 1 and isinstance(each[0], dict) else None
    return weights if isinstance(weights, dict) else {}


def _keeps_attention(found: Mapping[str, Any]) -> bool:
    """Whether the modules that aren't quantised are those of attention."""
    lists = [found.get(name) for name in LISTS]
    return any(ATTENTION in str(each) for names in lists if isinstance(names, list) for each in names)


def _has_experts(inner: Mapping[str, Any]) -> bool:
    return any("experts" in name and isinstance(value, int) and value > 1 for name, value in inner.items())
