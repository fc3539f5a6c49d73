"""Which layers of a model see the whole context, which see a window, and which are linear."""

from __future__ import annotations

from collections.abc import Callable

from planner.hf.config import Config, UnsaidError
from planner.hf.rules import ColumnRule, ColumnRules, ColumnValue, ModelRow

Kinds = Callable[[Config, ModelRow], list[str]]  # full, local or linear for each layer

_KINDS = {
    "full_attention": "full", "indexed_attention": "full", "attention": "full",
    "sliding_attention": "local", "chunked_attention": "local", "linear_attention": "linear",
    "conv": "linear", "hybrid": "full", "hybrid_sliding": "local",
}  # fmt: skip


def attention(
    kinds: Kinds, window: ColumnRule, linear_params: ColumnRule | None = None, *, whole: bool = False
) -> ColumnRules:
    """The columns of a family whose layers differ in what they see. A list `layer_types` goes before `kinds`.

    A window as long as the context is none. `whole`: `kinds` reads that list itself (`listed`).
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
        "n_full_attn_layers": full_layers, "sliding_window": sliding_window, "n_global_layers": global_layers,
    }  # fmt: skip
    if linear_params is not None:
        columns["linear_attn_params_per_layer"] = lambda config, row: (
            linear_params(config, row) if "linear" in found(config, row) else None
        )
    return columns


def listed(config: Config, row: ModelRow) -> list[str] | None:
    """The kinds that `layer_types` lists, or None. Raises UserError as `known_kinds` does."""
    names = config.items("layer_types", str)
    return None if names is None else known_kinds(config, row, names)


def known_kinds(config: Config, row: ModelRow, names: list[str]) -> list[str]:
    """The kinds of layers that `layer_types` calls so. Raises UserError for an unknown one, or a wrong length."""
    unknown = next((kind for kind in names if kind not in _KINDS), None)
    if unknown is not None:
        raise config.fault("layer_types", f'has the kind "{unknown}"', f"known: {', '.join(_KINDS)}")
    check_length(config, row, "layer_types", len(names))
    return [_KINDS[kind] for kind in names]


def n_linear(row: ModelRow) -> int:
    """The number of linear layers."""
    full = row["n_full_attn_layers"]
    return 0 if full is None else row.count("n_layers") - row.count("n_full_attn_layers")


def check_length(config: Config, row: ModelRow, name: str, length: int) -> None:
    """Raise UserError where a list hasn't an entry for each layer."""
    if length != row.count("n_layers"):
        what = f"has {length} entries for {row.count('n_layers')} layers"
        raise config.fault(name, what, "correct one of the two")


def window(default: int | None, name: str = "sliding_window") -> ColumnRule:
    """The window's width: null is none, and what is left out is as the family has it."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        if config.says(name):
            return config.count(name, least=1)
        return None if default is None else config.assumed(name, default)

    return rule


def all_full(_: Config, row: ModelRow) -> list[str]:
    """Every layer sees the whole context."""
    return ["full"] * row.count("n_layers")


def all_local(_: Config, row: ModelRow) -> list[str]:
    """Every layer sees a window."""
    return ["local"] * row.count("n_layers")


def one_full_in(default: int, *names: str, other: str = "local") -> Kinds:
    """Each n-th layer sees the whole context, where n is a field or the family's own; the rest are `other`."""

    def kinds(config: Config, row: ModelRow) -> list[str]:
        step = config.count(*names, least=1) or default
        return ["full" if number % step == 0 else other for number in range(1, row.count("n_layers") + 1)]

    return kinds


def lettered(config: Config, row: ModelRow) -> list[str]:
    """EXAONE 4: letters that come again and again, L a window and G the whole context; the last layer sees it anyhow.

    Where a number is written in their place, or nothing, each so-many-th layer sees it, or each fourth.
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
    """Where `use_sliding_window` is true, the layers after the first `max_window_layers` see a window."""
    layers = row.count("n_layers")
    first = layers
    if config.flag("use_sliding_window"):
        said = config.count("max_window_layers")
        first = 28 if said is None else said
    return ["full" if index < first else "local" for index in range(layers)]


def first_odd_local(config: Config, row: ModelRow) -> list[str]:
    """Qwen 2 MoE: where `use_sliding_window` is true, each second of the first `max_window_layers` sees a window."""
    said = config.count("max_window_layers")
    last = 0 if not config.flag("use_sliding_window") else 28 if said is None else said
    return ["local" if index % 2 == 0 and index < last else "full" for index in range(row.count("n_layers"))]


def all_where_used(config: Config, row: ModelRow) -> list[str]:
    """Where `use_sliding_window` is true, every layer sees a window."""
    return (all_local if config.flag("use_sliding_window") else all_full)(config, row)


def local_where_rope(config: Config, row: ModelRow) -> list[str]:
    """Llama 4: a layer with rotary positions sees a chunk; each fourth has none and sees the whole context."""
    return ["local" if has_rope else "full" for has_rope in _rope(config, row)]


def local_where_no_rope(config: Config, row: ModelRow) -> list[str]:
    """SmolLM3: where `use_sliding_window` is true, the layers without rotary positions see a window."""
    windows = config.flag("use_sliding_window")
    return ["local" if windows and not has_rope else "full" for has_rope in _rope(config, row)]


def _rope(config: Config, row: ModelRow) -> list[int]:
    """1 for each layer with rotary positions: `no_rope_layers` is called after its zeros."""
    step = config.count("no_rope_layer_interval", least=1) or 4
    marks = config.items("no_rope_layers", int)
    if not marks:
        return [int(number % step != 0) for number in range(1, row.count("n_layers") + 1)]
    check_length(config, row, "no_rope_layers", len(marks))
    return marks


def marked_full(config: Config, row: ModelRow) -> list[str]:
    """MiniMax-Text-01: `attn_type_list` has 1 for a layer with softmax attention and 0 for a linear one."""
    marks = config.items("attn_type_list", int)
    if marks is None:
        raise UnsaidError(f"{config.prefix}attn_type_list")
    check_length(config, row, "attn_type_list", len(marks))
    return ["full" if mark else "linear" for mark in marks]
