"""Attention operators of PyTorch: how their arrays lie, which argument says that they are causal, and their FLOPs.

From the signatures in PyTorch's native_functions.yaml, of flash-attn (FlashAttention-2) and of aiter. A backward pass
isn't listed: it is no case of the template `attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.profiles.profile import Shape


@dataclass(frozen=True, slots=True)
class _Signature:
    """Whether arrays are [batch, heads, length, width] or [batch, length, heads, width]; places of arguments."""

    heads_first: bool
    causal: int
    window: int | None = None  # of the left window's size, -1 for none


_SIGNATURES = {
    "scaled_dot_product_attention": _Signature(True, 5),
    "_scaled_dot_product_flash_attention": _Signature(True, 4),
    "_scaled_dot_product_efficient_attention": _Signature(True, 6),
    "_scaled_dot_product_cudnn_attention": _Signature(True, 6),
    "_scaled_dot_product_fused_attention_overrideable": _Signature(True, 5),
    "_cudnn_attention_forward": _Signature(True, 10),
    "_flash_attention_forward": _Signature(False, 8),
    "_efficient_attention_forward": _Signature(False, 9),
    "_flash_attn_forward": _Signature(False, 5, 6),
    "mha_fwd": _Signature(False, 5, 6),
    "fmha_v3_fwd": _Signature(False, 5, 6),
}
_LENGTH_FIRST = ("_flash_attention_backward", "_efficient_attention_backward", "_flash_attn_backward", "mha_bwd")
_CAUSAL = {"true": True, "1": True, "2": True, "false": False, "0": False}  # 1 and 2: kinds of a custom mask


def is_known(operator: str) -> bool:
    """Whether the arguments of an operator, as `aten::_flash_attention_forward`, say what attention it is."""
    return _name(operator) in _SIGNATURES


def heads_first(operator: str) -> bool:
    """Whether its arrays are [batch, heads, length, width]; another framework's are."""
    found = _SIGNATURES.get(_name(operator))
    return found.heads_first if found else not operator.endswith(_LENGTH_FIRST)


def attention(operator: str, operands: Sequence[Shape], arguments: Sequence[str]) -> tuple[Shape | None, float | None]:
    """The result and FLOPs of an attention by its query, key and value, and by its arguments as text.

    Two matmuls of each query with each key that it sees. None where it isn't told whether it is causal, where it is of
    fewer or more queries than keys (which of them see each other differs by library), where its window is narrower, or
    for packed sequences, whose lengths are not in the trace.
    """
    found = _SIGNATURES.get(_name(operator))
    if found is None or len(operands) < 3 or any(len(each.dims) != 4 for each in operands[:3]):
        return None, None
    causal = _CAUSAL.get(_argument(arguments, found.causal).lower())
    if causal is None or (found.window is not None and _argument(arguments, found.window) != "-1"):
        return None, None
    heads, length = (1, 2) if found.heads_first else (2, 1)
    query, key, value = (each.dims for each in operands[:3])
    queries, keys = query[length], key[length]
    if causal and queries != keys:
        return None, None
    seen = queries * (keys + 1) // 2 if causal else queries * keys
    result = Shape(operands[0].dtype, (*query[:3], value[3]))
    return result, 2.0 * query[0] * query[heads] * seen * (query[3] + value[3])


def _name(operator: str) -> str:
    return operator.rpartition("::")[2]


def _argument(arguments: Sequence[str], at: int) -> str:
    return arguments[at].strip() if at < len(arguments) else ""
