"""Which layers of a model have experts, and the columns that say how many and how wide."""

from __future__ import annotations

from collections.abc import Callable

from planner.hf.config import Config, UnsaidError
from planner.hf.layers import check_length
from planner.hf.rules import Cell, Family, Row, Rule, size

Sparse = Callable[[Config, Row], list[bool]]  # whether each layer has experts


def experts(number: Rule, chosen: Rule, width: Rule, sparse: Sparse, d_ff: Rule | None = None) -> Family:
    """The columns of a family with experts. A list `mlp_layer_types` goes before `sparse`.

    `d_ff` is the width of the layers without experts; where there is no such layer the config needn't say it.
    """

    def has_experts(config: Config, row: Row) -> list[bool]:
        listed = config.items("mlp_layer_types", str)
        if listed is None:
            return sparse(config, row)
        check_length(config, row, "mlp_layer_types", len(listed))
        return [kind != "dense" for kind in listed]

    def dense_layers(config: Config, row: Row) -> Cell:
        return has_experts(config, row).count(False) if row["moe_experts"] else 0

    def dense_width(config: Config, row: Row) -> Cell:
        if row["moe_experts"] and not row["n_dense_layers"]:
            return config.count("intermediate_size", least=1)
        return (d_ff or size("intermediate_size"))(config, row)

    return {
        "moe_experts": number, "moe_top_k": where_experts(chosen), "moe_d_ff": where_experts(width),
        "n_dense_layers": dense_layers, "d_ff": dense_width,
    }  # fmt: skip


def where_experts(rule: Rule) -> Rule:
    """A rule for models with experts, blank for others. Where the config doesn't say how many, both are asked for."""

    def guarded(config: Config, row: Row) -> Cell:
        try:
            number = row["moe_experts"]
        except UnsaidError:
            rule(config, row)
            raise
        return rule(config, row) if number else None

    return guarded


def all_sparse(_: Config, row: Row) -> list[bool]:
    """Every layer has experts."""
    return [True] * row.count("n_layers")


def after_first_dense(config: Config, row: Row) -> list[bool]:
    """DeepSeek: from layer `first_k_dense_replace` on, each whose number `moe_layer_freq` divides."""
    first = config.said("first_k_dense_replace")
    step = config.count("moe_layer_freq", least=1) or 1
    return [index >= first and index % step == 0 for index in range(row.count("n_layers"))]


def by_step(config: Config, row: Row) -> list[bool]:
    """Qwen: each `decoder_sparse_step`-th, but those that `mlp_only_layers` lists."""
    step = config.count("decoder_sparse_step", least=1) or 1
    dense = config.items("mlp_only_layers", int) or []
    return [index not in dense and (index + 1) % step == 0 for index in range(row.count("n_layers"))]


def interleaved(config: Config, row: Row) -> list[bool]:
    """Llama 4: those that `moe_layers` lists, else each `interleave_moe_layer_step`-th."""
    listed = config.items("moe_layers", int)
    step = config.count("interleave_moe_layer_step", least=1) or 1
    layers = range(row.count("n_layers"))
    return [index in listed if listed is not None else (index + 1) % step == 0 for index in layers]


def between(config: Config, row: Row) -> list[bool]:
    """ERNIE 4.5: each `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`."""
    layers = row.count("n_layers")
    step = config.count("moe_layer_interval", least=1) or 1
    first, last = config.said("moe_layer_start_index"), config.count("moe_layer_end_index", least=-1)
    beyond = layers if last is None or last == -1 else last + 1
    return [first <= index < beyond and (index + 1) % step == 0 for index in range(layers)]
