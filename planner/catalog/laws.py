"""Consistency rules between the numbers of one row: laws of an architecture, or of a chip."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from planner.errors import nearest

BIASED = ("none", "all", "qkv", "o", "mlp")  # allowed values of the column bias


@dataclass(frozen=True)
class Law:
    """A consistency rule: `fault` describes a violation, or is blank, given the values of `reads` if all are there.

    The fault is reported at the first of `reads` that the row itself has. The rule applies only if the row itself has
    all of `said`, such as two columns with one meaning.
    """

    reads: tuple[str, ...]
    fault: Callable[..., str]
    remedy: str = "correct one of the two"
    said: tuple[str, ...] = ()


def at_most(name: str, other: str, *, said: tuple[str, ...] = ()) -> Law:
    """The law of a column that another one bounds; `said` as for any law."""

    def fault(value: float, most: float) -> str:
        return f"{name} {value:g} is more than {other} {most:g}" if value > most else ""

    return Law((name, other), fault, said=said)


def of_calibrations(known: Callable[[], Collection[str]]) -> Law:
    """The law that a chip's calibration is one of the `known` ids, read when a row names one; capitals don't count."""

    def fault(calibration: str) -> str:
        ids = known()
        is_known = calibration.lower() in {each.lower() for each in ids}
        return "" if is_known else f"there is no calibration {calibration!r} ({nearest(calibration, ids)})"

    remedy = "correct it, or give the CSV that has it with --calibrations"
    return Law(("calibration",), fault, remedy, said=("calibration",))


def biased(bias: str) -> list[str]:
    """The words of the column bias, such as those of `qkv+o`."""
    return [part.strip().lower() for part in bias.split("+")]


def _of_biases(bias: str) -> str:
    unknown = [part for part in biased(bias) if part not in BIASED]
    return f"bias {bias!r} names {unknown[0]!r}, which is none of {', '.join(BIASED)}" if unknown else ""


def _divides(n_kv_heads: float, n_heads: float) -> str:
    return f"n_kv_heads {n_kv_heads:g} does not divide n_heads {n_heads:g}" if n_heads % n_kv_heads else ""


def _in_pairs(qk_rope_dim: float) -> str:
    return f"qk_rope_dim {qk_rope_dim:g} is odd, and rotary positions turn pairs" if qk_rope_dim % 2 else ""


def _parts_of_a_head(qk_nope_dim: float, qk_rope_dim: float, head_dim: float, kv_lora_rank: float) -> str:
    whole = qk_nope_dim + qk_rope_dim
    differs = kv_lora_rank and whole != head_dim
    return f"qk_nope_dim + qk_rope_dim is {whole:g}, and head_dim is {head_dim:g}" if differs else ""


def _at_most_together(first: str, second: str, whole: str) -> Law:
    def fault(one: float, other: float, most: float) -> str:
        return f"{first} + {second} is {one + other:g}, more than {whole} {most:g}" if one + other > most else ""

    return Law((first, second, whole), fault, "correct one of the three", said=(first, second))


def _alike(first: str, second: str, meant: Callable[[float], float] = float) -> Law:
    """The law of two columns with one meaning: if both are given, `second` must be `meant(first)`."""

    def fault(one: float, other: float) -> str:
        return "" if meant(one) == other else f"{first} {one:g} and {second} {other:g} contradict each other"

    return Law((first, second), fault, said=(first, second))


def _width_of_experts(d_ff_expert: float, n_experts: float, n_moe_layers: float) -> str:
    missing = n_experts > 1 and n_moe_layers and not d_ff_expert
    return f"d_ff_expert is 0, but there are {n_experts:g} experts" if missing else ""


def _size_of_indexers(index_topk: float, index_n_heads: float, index_head_dim: float, n_indexer_layers: float) -> str:
    missing = index_topk and not (index_n_heads and index_head_dim and n_indexer_layers)
    return f"index_topk is {index_topk:g}, but no heads, dimension or layers of an indexer" if missing else ""


def _rank_of_groups(o_lora_rank: float, o_groups: float) -> str:
    return "" if bool(o_lora_rank) == bool(o_groups) else f"o_lora_rank is {o_lora_rank:g} and o_groups {o_groups:g}"


MODEL_LAWS: tuple[Law, ...] = (
    Law(("bias",), _of_biases, "write parts joined by +, such as qkv+o"),
    Law(("n_kv_heads", "n_heads"), _divides),
    Law(("qk_rope_dim",), _in_pairs, "write an even number"),
    at_most("qk_rope_dim", "head_dim"),
    Law(("qk_nope_dim", "qk_rope_dim", "head_dim", "kv_lora_rank"), _parts_of_a_head, "correct one of the three"),
    Law(("d_ff_expert", "n_experts", "n_moe_layers"), _width_of_experts, "write the width of an expert"),
    Law(
        ("index_topk", "index_n_heads", "index_head_dim", "n_indexer_layers"),
        _size_of_indexers,
        "write the indexer's sizes",
    ),
    Law(("o_lora_rank", "o_groups"), _rank_of_groups, "write both, or neither"),
    _at_most_together("n_csa_layers", "n_hca_layers", "n_local_layers"),
    _at_most_together("n_unindexed_layers", "n_indexer_layers", "n_full_attention_layers"),
    _at_most_together("n_dense_layers", "n_moe_layers", "n_layers"),
    _at_most_together("n_full_attention_layers", "n_linear_layers", "n_layers"),
    at_most("n_global_layers", "n_full_attention_layers"),
    _at_most_together("n_global_layers", "n_local_layers", "n_full_attention_layers"),
    _alike("tied_embeddings", "is_untied", lambda tied: 1 - tied),
    _alike("mlp_gated", "mlp_matrices", lambda gated: 2 + gated),
    _alike("moe_experts", "n_experts", lambda experts: max(1.0, experts)),
    _alike("moe_top_k", "n_experts_active", lambda chosen: chosen or 1.0),
    at_most("moe_top_k", "moe_experts", said=("moe_top_k", "moe_experts")),  # before what follows from them
    at_most("moe_top_k", "n_experts"),
    at_most("n_experts_active", "n_experts"),
    at_most("n_params_active_published", "n_params_total_published"),
)


HARDWARE_LAWS: tuple[Law, ...] = (at_most("node_size", "max_chips"),)
