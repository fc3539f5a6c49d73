"""What a case over a mesh is called by its inputs: `All-reduce 64 KiB over 4`, `FSDP matmul 512 x 512 x 512 over 2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.catalog import Value

PREFIXES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
MESH = ("data", "fsdp", "tensor")


def label_of(template: str, inputs: Mapping[str, Value]) -> str:
    """The label of a collective, a sharded matmul or a sharded step; blank of another template."""
    return LABELS[template](inputs) if template in LABELS else ""


def _collective(inputs: Mapping[str, Value]) -> str:
    kind, ways = str(inputs.get("collective") or "all_gather"), number(inputs, "axis_size") ** number(inputs, "n_axes")
    size = number(inputs, "array_bytes") / (ways if kind == "all_to_all" else 1)
    return f"{kind.replace('_', '-').capitalize()} {_binary(size)} over {ways:g}"


def _matmul(inputs: Mapping[str, Value]) -> str:
    tokens, left, right, columns = (
        number(inputs, name) > 1 for name in ("tokens_ways", "d_in_ways_left", "d_in_ways_right", "d_out_ways")
    )
    overlapped = number(inputs, "is_overlapped", 0)
    if number(inputs, "shares_axis", 0):
        kind = "All-gather matmul"
    elif left and right:
        kind = "Matmul reduce-scatter" if number(inputs, "scatters_output", 0) else "Row-parallel matmul"
    elif right and tokens:
        kind = "FSDP matmul"
    else:
        kind = "Column-parallel matmul" if columns and not (left or right) else "Sharded matmul"
    shape = " x ".join(f"{number(inputs, name):g}" for name in ("tokens", "d_in", "d_out"))
    ways = max(number(inputs, f"{name}_ways{side}") for name, side in _WAYS)
    return f"{kind} {shape} over {ways:g}{', overlapped' if overlapped else ''}"


_WAYS = (("tokens", ""), ("d_in", "_left"), ("d_in", "_right"), ("d_out", ""))


def _step(inputs: Mapping[str, Value]) -> str:
    is_decode = number(inputs, "query_len") < number(inputs, "kv_len")
    kind = "train step" if number(inputs, "is_training", 0) else "decode step" if is_decode else "forward"
    ways = ", ".join(f"{name} {ways:g}" for name in MESH if (ways := number(inputs, f"mesh_{name}")) > 1)
    names = ("n_layers", "batch", "query_len", "kv_len", "d_model")
    return f"Sharded {kind} {' x '.join(f'{number(inputs, name):g}' for name in names)} over {ways or 1}"


LABELS: dict[str, Callable[[Mapping[str, Value]], str]] = {
    "collective": _collective,
    "sharded_matmul": _matmul,
    "sharded_step": _step,
}


def number(inputs: Mapping[str, Value], name: str, default: float = 1) -> float:
    """A numeric input, or its default."""
    value = inputs.get(name)
    return float(value) if isinstance(value, (int, float)) else default


def _binary(size: float) -> str:
    """Bytes as computers count them: `64 KiB`."""
    factor, prefix = next(((factor, prefix) for factor, prefix in PREFIXES if size >= factor), (1, "bytes"))
    return f"{size / factor:.4g} {prefix}"
