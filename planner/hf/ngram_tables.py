"""Qwen4-Exp, whose layers look up tables by the last tokens (n-grams).

Its residual streams are mixed through a low-rank projection, and its indexers select blocks of keys by one key per
block. Sizes as in transformers' modeling_qwen4_exp.py.
"""

from __future__ import annotations

from itertools import count, islice
from math import isqrt

from planner.hf.config import Config
from planner.hf.experts import all_sparse, experts
from planner.hf.hybrid import QWEN3_NEXT, delta_net, gate_bias
from planner.hf.latent import block_indexer
from planner.hf.layers import attention, n_linear, one_full_in
from planner.hf.rules import ColumnValue, Family, ModelRow, maybe, size, taken

_MOST_TABLES = 1000


def _mixer(config: Config, row: ModelRow) -> int:
    """Parameters of the low-rank projection that computes a block's input from all streams."""
    return 2 * row.count("residual_streams") * row.count("d_model") * taken(config, "hc_lowrank", 320)


def _mixed(config: Config, row: ModelRow) -> int:
    """Each layer's share of the stream-mixing matrices: its two blocks' with output weights, and the last mixer's.

    The remainder of the division is counted with the parameters outside layers.
    """
    streams, mixer = row.count("residual_streams"), _mixer(config, row)
    return 2 * (mixer + streams**2 * row.count("d_model")) + mixer // row.count("n_layers")


def _lookups(config: Config, row: ModelRow) -> int:
    """The number of layers with tables. Raises UserError if there are more than layers with linear attention."""
    number = len(set(config.items("ple_layer_ids", int) or []))
    if number > n_linear(row):
        raise config.fault("ple_layer_ids", "has more layers than have linear attention", "correct the config")
    return number


def _looked_up(config: Config, row: ModelRow) -> int:
    """The total width of a layer's table entries for a token."""
    return config.count("ple_embed_dim", least=1) or row.count("d_model")


def _lookup_matrices(config: Config, row: ModelRow) -> int:
    """Parameters of all lookups: keys for each stream, values, and a per-channel convolution over all streams."""
    streams, d_model = row.count("residual_streams"), row.count("d_model")
    matrices = d_model * _looked_up(config, row) * (streams + 1)
    convolution = streams * d_model * taken(config, "ple_conv_kernel_size", 4)
    return _lookups(config, row) * (matrices + convolution)


def _tables(config: Config, row: ModelRow) -> int:
    """Parameters of all tables; each has the next unused prime number of rows, assigned layer by layer.

    Raises UserError for widths that the number of tables doesn't divide, and for implausibly many tables.
    """
    layers = _lookups(config, row)
    if not layers:
        return 0
    tables = (taken(config, "ngram_size", 3) - 1) * taken(config, "heads_per_ngram", 8)
    width, rest = divmod(_looked_up(config, row), max(1, tables))
    if rest or not 0 < tables * layers <= _MOST_TABLES:
        what = f"makes {tables} tables of a layer, which must divide {_looked_up(config, row)} numbers"
        raise config.fault("heads_per_ngram", what, f"they must be {_MOST_TABLES} or less in all layers")
    first, step = taken(config, "ngram_vocab_size_base", 20_000_000), config.count("make_ngram_vocab_size_divisible_by")
    primes = list(islice(filter(_is_prime, count(first)), tables * layers))
    sizes = (sum(primes[layer * tables : (layer + 1) * tables]) for layer in range(layers))
    number = sum(-(-size // (step or 128)) * (step or 128) for size in sizes) * width
    config.note(
        f"tables for n-grams of tokens have {number:,} parameters: they count as active, as the embedding does, "
        f"though a token reads {tables} rows in each of {layers} layers; training moves them with the layers"
    )
    return number


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % each for each in range(2, isqrt(number) + 1))


def _qwen_rest(config: Config, row: ModelRow) -> ColumnValue:
    """Tables, norms of the lookups and after the last layer, half of a bias, and remainders of even divisions."""
    streams, bias = row.count("residual_streams") * row.count("d_model"), gate_bias(config, row)
    norms = (3 * _lookups(config, row) + 1) * streams
    parts = _mixer(config, row) % row.count("n_layers") + _lookup_matrices(config, row) % max(1, n_linear(row))
    return _tables(config, row) + norms + parts + int(bias or 0)


def _qwen_linear(config: Config, row: ModelRow) -> ColumnValue:
    lookups = _lookup_matrices(config, row) // max(1, n_linear(row))
    return delta_net(config, row) + _mixed(config, row) + lookups


QWEN4_EXP = Family(
    "qwen4_exp_text",
    QWEN3_NEXT,
    attention(one_full_in(4, "full_attention_interval", other="linear"), maybe(), _qwen_linear),
    experts(size("num_experts"), size("num_experts_per_tok"), all_sparse),
    residual_streams=lambda config, _: taken(config, "hc_count", 4),
    # Each block's norm spans all streams; the last mixer's is counted outside the layers.
    norms_per_layer=lambda _, row: 2 * row.count("residual_streams"),
    final_norm=False,
    index_topk=size("indexer_budget"),
    index_rate=size("indexer_compress_ratio"),
    index_n_heads=size("indexer_n_heads"),
    index_head_dim=size("indexer_head_dim"),
    indexer_params_per_layer=lambda _, row: block_indexer(row),
    extra_params_per_layer=_mixed,
    extra_params_total=_qwen_rest,
)
