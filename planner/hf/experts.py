"""Reads a model's experts from its config: their numbers and widths, and the layers that have them."""

from __future__ import annotations

from collections.abc import Callable

from planner.hf.config import NO_ROW, Config, UnsaidError
from planner.hf.layers import of_layers
from planner.hf.rules import ColumnRule, ColumnRules, ColumnValue, ModelRow, size

Sparse = Callable[[Config, ModelRow], list[bool]]  # whether each layer has experts


def experts(
    number: ColumnRule,
    chosen: ColumnRule,
    sparse: Sparse,
    *,
    width: ColumnRule | None = None,
    d_ff: ColumnRule | None = None,
) -> ColumnRules:
    """The columns of a family with experts. A list `mlp_layer_types` takes precedence over `sparse`.

    `width` is an expert's, by default `moe_intermediate_size`. `d_ff` is that of layers without experts, by default
    `intermediate_size`; if there are none, the config doesn't need it.
    """

    def has_experts(config: Config, row: ModelRow) -> list[bool]:
        listed = of_layers(config, row, "mlp_layer_types", str)
        return sparse(config, row) if listed is None else [kind != "dense" for kind in listed]

    def dense_layers(config: Config, row: ModelRow) -> ColumnValue:
        if not (n_experts := row["moe_experts"]):
            return 0
        with_experts = has_experts(config, row)
        if not any(with_experts):
            config.note(f"none of the {len(with_experts)} layers has the {n_experts} experts: all are counted as dense")
        return with_experts.count(False)

    def dense_width(config: Config, row: ModelRow) -> ColumnValue:
        if row["moe_experts"] and not row["n_dense_layers"]:
            return config.count("intermediate_size", least=1)
        return (d_ff or size("intermediate_size"))(config, row)

    return {
        "moe_experts": number,
        "moe_top_k": where_experts(chosen),
        "moe_d_ff": where_experts(width or size("moe_intermediate_size")),
        "n_dense_layers": dense_layers,
        "d_ff": dense_width,
    }


def where_experts(rule: ColumnRule) -> ColumnRule:
    """A rule that is blank for models without experts. If their number is unknown, both columns are requested."""

    def guarded(config: Config, row: ModelRow) -> ColumnValue:
        try:
            number = row["moe_experts"]
        except UnsaidError:
            rule(config, row)
            raise
        return rule(config, row) if number else None

    return guarded


def n_sparse(row: ModelRow) -> int:
    """The number of layers with experts."""
    return row.count("n_layers") - row.count("n_dense_layers")


def all_sparse(_: Config, row: ModelRow) -> list[bool]:
    """Every layer has experts."""
    return [True] * row.count("n_layers")


def after(first: Callable[[Config], int]) -> Sparse:
    """All layers have experts except for the first few."""
    return lambda config, row: [index >= first(config) for index in range(row.count("n_layers"))]


def marked(otherwise: Sparse) -> Sparse:
    """The layers for which `moe_layer_freq` has a number other than 0; if missing, those of `otherwise`."""

    def sparse(config: Config, row: ModelRow) -> list[bool]:
        marks = of_layers(config, row, "moe_layer_freq", int)
        return otherwise(config, row) if marks is None else [mark != 0 for mark in marks]

    return sparse


def after_first_dense(config: Config, row: ModelRow) -> list[bool]:
    """DeepSeek: layers from `first_k_dense_replace` on whose index is divisible by `moe_layer_freq`."""
    first = config.said("first_k_dense_replace")
    step = config.count("moe_layer_freq", least=1) or 1
    return [index >= first and index % step == 0 for index in range(row.count("n_layers"))]


def by_step(config: Config, row: ModelRow) -> list[bool]:
    """Qwen: every `decoder_sparse_step`-th layer except those in `mlp_only_layers`."""
    step = config.count("decoder_sparse_step", least=1) or 1
    dense = config.items("mlp_only_layers", int) or []
    return [index not in dense and (index + 1) % step == 0 for index in range(row.count("n_layers"))]


def interleaved(config: Config, row: ModelRow) -> list[bool]:
    """Llama 4: the layers in `moe_layers`, else every `interleave_moe_layer_step`-th."""
    listed = config.items("moe_layers", int)
    step = config.count("interleave_moe_layer_step", least=1) or 1
    layers = range(row.count("n_layers"))
    return [index in listed if listed is not None else (index + 1) % step == 0 for index in layers]


def between(config: Config, row: ModelRow) -> list[bool]:
    """ERNIE 4.5: every `moe_layer_interval`-th layer from `moe_layer_start_index` to `moe_layer_end_index`."""
    layers = row.count("n_layers")
    step = config.count("moe_layer_interval", least=1) or 1
    first, last = config.said("moe_layer_start_index"), config.count("moe_layer_end_index", least=-1)
    beyond = layers if last is None or last == -1 else last + 1
    return [first <= index < beyond and (index + 1) % step == 0 for index in range(layers)]


def step_sparse(first: int) -> Sparse:
    """Step: the layers listed in the text `moe_layers_enum`, else all from layer `first` on."""

    def sparse(config: Config, row: ModelRow) -> list[bool]:
        said = config.value("moe_layers_enum")
        if not isinstance(said, str):
            listed = config.items("moe_layers_enum", int)
        elif all(part.strip().isdecimal() for part in said.split(",")):
            listed = [int(part) for part in said.split(",")]
        else:
            raise config.fault("moe_layers_enum", "is no list of layers", "write it as in 4,5,6")
        return [index >= first if listed is None else index in listed for index in range(row.count("n_layers"))]

    return sparse


def one_shared(width: ColumnRule) -> ColumnRules:
    """A shared expert, or a dense block acting as one, with its own width; none if that is 0 or missing."""
    return {
        "moe_shared_experts": lambda _, row: 1 if row["moe_shared_d_ff"] else None,
        "moe_shared_d_ff": where_experts(lambda config, row: width(config, row) or None),
    }


def n_shared(config: Config, _: ModelRow) -> ColumnValue:
    """`n_shared_experts` with the width of the routed ones; null means none."""
    names = ("n_shared_experts", "num_shared_experts")
    return config.count(*names) if config.says(names[0]) else config.said(*names)


def n_routed(config: Config, _: ModelRow) -> ColumnValue:
    """`n_routed_experts`; null means a dense model, and 0 layers of no experts, which no code runs."""
    if config.says("n_routed_experts") and config.value("n_routed_experts") is None:
        return 0
    return config.said("n_routed_experts", "num_experts", "num_local_experts", least=1)


def always(name: str, number: int) -> ColumnRule:
    """A number that the family's code fixes. Raises UserError if the config says another."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        if config.says(name) and config.count(name) != number:
            raise config.fault(name, f"is not heeded: {config.model_type} always has {number}", "correct it")
        return number

    return rule


def unbiased(name: str) -> ColumnRule:
    """No biases. Raises UserError if a flag of the config gives them to shared experts as well."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        if config.flag(name):
            raise config.fault(name, "gives the shared experts biases, which have no column", NO_ROW)
        return False

    return rule
