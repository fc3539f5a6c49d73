"""Which layers of a model have global attention, windowed attention, or linear attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planner.hf.config import Config, UnsaidError
from planner.hf.rules import ColumnRule, ColumnRules, ColumnValue, ModelRow

Kinds = Callable[[Config, ModelRow], list[str]]  # full, local or linear for each layer

_KINDS = {
    "full_attention": "full",
    "indexed_attention": "full",
    "attention": "full",
    "sliding_attention": "local",
    "chunked_attention": "local",
    "linear_attention": "linear",
    "conv": "linear",
    "hybrid": "full",
    "hybrid_sliding": "local",
}


def attention(
    kinds: Kinds, window: ColumnRule, linear_params: ColumnRule | None = None, *, whole: bool = False
) -> ColumnRules:
    """The columns of a family with several kinds of attention. A list `layer_types` takes precedence over `kinds`.

    A window as long as the context counts as none. With `whole`, `kinds` reads that list itself (`listed`).
    """

    def found(config: Config, row: ModelRow) -> list[str]:
        return (None if whole else listed(config, row)) or kinds(config, row)

    def full_layers(config: Config, row: ModelRow) -> ColumnValue:
        layers = found(config, row)
        return len(layers) - layers.count("linear") if "linear" in layers else None

    def sliding_window(config: Config, row: ModelRow) -> ColumnValue:
        width = window(config, row) if "local" in found(config, row) else None
        longest = row.count("max_context")
        return None if not isinstance(width, int) or (longest and width >= longest) else width

    def global_layers(config: Config, row: ModelRow) -> ColumnValue:
        return found(config, row).count("full") if row["sliding_window"] else None

    columns: dict[str, ColumnValue | ColumnRule] = {
        "n_full_attn_layers": full_layers,
        "sliding_window": sliding_window,
        "n_global_layers": global_layers,
    }
    if linear_params is not None:
        columns["linear_attn_params_per_layer"] = lambda config, row: (
            linear_params(config, row) if "linear" in found(config, row) else None
        )
    return columns


def listed(config: Config, row: ModelRow) -> list[str] | None:
    """The kinds listed in `layer_types`, or None. Raises UserError as `known_kinds` does."""
    names = config.items("layer_types", str)
    return None if names is None else known_kinds(config, row, names)


def known_kinds(config: Config, row: ModelRow, names: list[str]) -> list[str]:
    """The kinds of layers for these names of `layer_types`. Raises UserError for an unknown one, or a wrong length."""
    unknown = next((kind for kind in names if kind not in _KINDS), None)
    if unknown is not None:
        raise config.fault("layer_types", f'has the kind "{unknown}"', f"known: {', '.join(_KINDS)}")
    check_length(config, row, "layer_types", len(names))
    return [_KINDS[kind] for kind in names]


def n_linear(row: ModelRow) -> int:
    """The number of linear layers."""
    full = row["n_full_attn_layers"]
    return 0 if full is None else row.count("n_layers") - row.count("n_full_attn_layers")


def of_layers(config: Config, row: ModelRow, name: str, kind: type[int] | type[str]) -> list[Any] | None:
    """A list with an entry for each layer, or None. Raises UserError as `Config.items` does, or for another length."""
    entries = config.items(name, kind)
    if entries is not None:
        check_length(config, row, name, len(entries))
    return entries


def check_length(config: Config, row: ModelRow, name: str, length: int) -> None:
    """Raise UserError unless a list has an entry for each layer."""
    if length != row.count("n_layers"):
        what = f"has {length} entries for {row.count('n_layers')} layers"
        raise config.fault(name, what, "correct one of the two")


def window(default: int | None, name: str = "sliding_window") -> ColumnRule:
    """The width of the window: null means none, and a missing one is the family's default."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        if config.says(name):
            return config.count(name, least=1)
        return None if default is None else config.assumed(name, default)

    return rule


def all_full(_: Config, row: ModelRow) -> list[str]:
    """All layers have global attention."""
    return ["full"] * row.count("n_layers")


def all_local(_: Config, row: ModelRow) -> list[str]:
    """All layers have windowed attention."""
    return ["local"] * row.count("n_layers")


def one_full_in(default: int, *names: str, other: str = "local", is_first: bool = False) -> Kinds:
    """Every n-th layer has global attention, with n from a field or the family's default; the others are `other`.

    It is the last of each n layers, or with `is_first` the first.
    """

    def kinds(config: Config, row: ModelRow) -> list[str]:
        step, begin = config.count(*names, least=1) or default, 0 if is_first else 1
        return ["full" if number % step == 0 else other for number in range(begin, begin + row.count("n_layers"))]

    return kinds


def lettered(config: Config, row: ModelRow) -> list[str]:
    """EXAONE 4: a repeated pattern of letters, L for windowed and G for global; the last layer is always global.

    Instead of letters there may be a number n, for every n-th layer global, or nothing, for every fourth.
    """
    pattern = config.value("sliding_window_pattern")
    if not isinstance(pattern, str):
        return one_full_in(4, "sliding_window_pattern")(config, row)
    if not pattern or set(pattern) - set("LG"):
        what = "is no pattern of the letters L and G"
        raise config.fault("sliding_window_pattern", what, "write it as in LLLG")
    last = row.count("n_layers") - 1
    return ["local" if pattern[i % len(pattern)] == "L" and i < last else "full" for i in range(last + 1)]


def after_first_full(config: Config, row: ModelRow) -> list[str]:
    """If `use_sliding_window` is true, layers after the first `max_window_layers` are windowed."""
    layers = row.count("n_layers")
    first = layers
    if config.flag("use_sliding_window"):
        said = config.count("max_window_layers")
        first = 28 if said is None else said
    return ["full" if index < first else "local" for index in range(layers)]


def first_odd_local(config: Config, row: ModelRow) -> list[str]:
    """Qwen 2 MoE: if `use_sliding_window`, every second one of the first `max_window_layers` layers is windowed."""
    said = config.count("max_window_layers")
    last = 0 if not config.flag("use_sliding_window") else 28 if said is None else said
    return ["local" if index % 2 == 0 and index < last else "full" for index in range(row.count("n_layers"))]


def all_where_used(config: Config, row: ModelRow) -> list[str]:
    """If `use_sliding_window` is true, all layers are windowed."""
    return (all_local if config.flag("use_sliding_window") else all_full)(config, row)


def local_where_rope(config: Config, row: ModelRow) -> list[str]:
    """Llama 4: layers with rotary positions attend within a chunk; every fourth has none and is global."""
    return ["local" if has_rope else "full" for has_rope in _rope(config, row)]


def local_where_no_rope(config: Config, row: ModelRow) -> list[str]:
    """SmolLM3: if `use_sliding_window` is true, layers without rotary positions are windowed."""
    windows = config.flag("use_sliding_window")
    return ["local" if windows and not has_rope else "full" for has_rope in _rope(config, row)]


def _rope(config: Config, row: ModelRow) -> list[int]:
    """1 for each layer with rotary positions; the field `no_rope_layers` is named after its zeros."""
    step = config.count("no_rope_layer_interval", least=1) or 4
    marks = config.items("no_rope_layers", int)
    if not marks:
        return [int(number % step != 0) for number in range(1, row.count("n_layers") + 1)]
    check_length(config, row, "no_rope_layers", len(marks))
    return marks


def marked_full(config: Config, row: ModelRow) -> list[str]:
    """MiniMax-Text-01: `attn_type_list` has 1 for a layer with softmax attention and 0 for a linear one."""
    marks = of_layers(config, row, "attn_type_list", int)
    if marks is None:
        raise UnsaidError(f"{config.prefix}attn_type_list")
    return ["full" if mark else "linear" for mark in marks]
