"""The first decoders and similar ones: GPT, CTRL, XGLM, BioGPT, GPT-NeoX Japanese, Persimmon."""

from __future__ import annotations

from planner.hf.dense import GPT2, PLAIN, biases
from planner.hf.rules import Family, layers, of, size, tied, times

# The first GPT has norms after each block, and none after the last layer.
GPT = Family("openai-gpt", {**GPT2, "d_ff": times(4, "d_model"), "final_norm": False})
# Positions are sinusoidal, not learned.
CTRL = Family("ctrl", {**GPT2, "d_ff": size("dff"), "lm_head_bias": True, "pos_emb_rows": 0})
XGLM = Family(
    "xglm",
    {
        **PLAIN,
        **biases(True),
        "n_layers": layers("num_layers", "num_hidden_layers"),
        "n_heads": size("attention_heads", "num_attention_heads"),
        "n_kv_heads": of("n_heads"),
        "d_ff": size("ffn_dim"),
        "tied_embeddings": tied(True),
    },
)
# Two rows of positions stand before the first, as in OPT.
BIOGPT = Family(
    "biogpt",
    {
        **PLAIN,
        **biases(True),
        "n_kv_heads": of("n_heads"),
        "tied_embeddings": tied(True),
        "max_context": size("max_position_embeddings"),
        "pos_emb_rows": lambda _, row: row.count("max_context") + 2,
    },
)
# Only the last layer's attention has a bias, on its output.
GPT_NEOX_JAPANESE = Family(
    "gpt_neox_japanese",
    {
        **PLAIN,
        "n_kv_heads": of("n_heads"),
        "tied_embeddings": tied(True),
        "d_ff": lambda config, row: config.said("intermediate_multiple_size", least=1) * row.count("d_model"),
        "extra_params_total": lambda _, row: row.count("d_model"),
    },
)
PERSIMMON = Family(
    "persimmon",
    {
        **PLAIN,
        **biases(True),
        "n_kv_heads": of("n_heads"),
        "qk_norm_params": lambda config, row: (
            4 * row.count("head_dim") if config.flag("qk_layernorm", default=True) else None
        ),
    },
)
