"""A model from its Hugging Face config: its count equals the database's, transformers' and the published one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import settings

from planner.hf.families import CLASS_DEFAULTS, FAMILIES
from tests.hf_configs import CONFIGS, COUNTED, MODELS, Config, config_of, row_of, row_of_fields, value

SHARED = sorted(set(CONFIGS) & set(MODELS.rows))

# Columns that no config says, or that count what isn't the language model.
NOT_IN_A_CONFIG = {
    "name", "year", "published_kind", "n_params_published", "n_params_active_published", "train_tokens", "run_tokens",
    "hf_id", "source", "extra_params_total",
}  # fmt: skip

# MiniMax-Text-01's config allows 10,240,000 positions; the database has the context that is advertised.
DIFFER = {"minimax-text-01": {"max_context", "window"}}

# Of families whose code lies beside the weights: the counts of their safetensors headers on the hub; Mistral Small
# 3.1's text is that of Mistral Small 3, untied (transformers 4.57; 5.23 would tie it, and the checkpoint has a head of
# its own).
PUBLISHED = {
    "baichuan-7b": 7_505_973_248, "chatglm3-6b": 6_243_584_000, "internlm2-7b": 7_737_708_544,
    "mistral-small-3.1-24b": 23_572_403_200, "qwen-1.8b": 1_836_828_672,
}  # fmt: skip


@pytest.mark.parametrize("identifier", SHARED)
def test_equals_the_database(identifier: str) -> None:
    """A config of the hub makes every architecture column of the database's row, and the published count."""
    row, known = row_of(CONFIGS[identifier]), MODELS.rows[identifier]
    skipped = NOT_IN_A_CONFIG | DIFFER.get(identifier, set())
    columns = [column.name for column in MODELS.columns if column.name not in skipped]
    assert {name: row[name] for name in columns} == {name: known[name] for name in columns}
    published, extra, own = known["n_params_published"], known["extra_params_total"], row["extra_params_total"]
    if isinstance(published, float):
        assert isinstance(extra, float)
        assert isinstance(own, float)
        assert value(row, "n_params_total") == published - (extra - own)


def test_most_of_the_database_is_covered() -> None:
    """Of 142 models all that have a config on the hub are held against it: 134, of which 126 have an exact count."""
    assert len(SHARED) == 134
    assert sum(MODELS.rows[identifier]["n_params_published"] is not None for identifier in SHARED) == 126


@pytest.mark.parametrize("identifier", sorted(set(CONFIGS) - set(SHARED)))
def test_equals_an_independent_count(identifier: str) -> None:
    """A config of a model outside the database has the count that transformers makes of it, or its header's."""
    assert value(row_of(CONFIGS[identifier]), "n_params_total") == (COUNTED["models"] | PUBLISHED)[identifier]


@pytest.mark.parametrize(
    ("changes", "kv_heads", "total"),
    [
        # Replit Code v1.5 3B: of a layer 2*D*D + 2*D*8*128 + 2*4*D*D and two norms; published as 3.3 B.
        ({"d_model": 3072, "n_heads": 24, "n_layers": 32, "vocab_size": 32768, "max_seq_len": 4096,
          "attn_config": {"alibi": True, "attn_type": "grouped_query_attention", "kv_n_heads": 8}}, 8, 3_322_088_448),
        # The same with one head, and a gated block of 8,192.
        ({"d_model": 3072, "n_heads": 24, "n_layers": 32, "vocab_size": 32768, "max_seq_len": 4096,
          "attn_config": {"alibi": True, "attn_type": "multiquery_attention"},
          "ffn_config": {"ffn_type": "mptglu", "ffn_hidden_size": 8192}}, 1,
         32768 * 3072 + 32 * (2 * 3072**2 + 2 * 3072 * 128 + 3 * 3072 * 8192 + 2 * 3072) + 3072),
    ],
)  # fmt: skip
def test_mpt_with_fewer_kv_heads(tmp_path: Path, changes: Config, kv_heads: int, total: int) -> None:
    """The heads of keys and values, and the kind of the feed-forward block, stand in configs of their own."""
    row = row_of_fields(config_of("mpt-7b", **changes), tmp_path)
    assert (row["n_kv_heads"], value(row, "n_params_total")) == (kv_heads, total)


def test_variations_equal_an_independent_count(tmp_path: Path) -> None:
    """Small configs with every field of each family changed, left out or null count as transformers counts them:
    everyday each fourth, else all of them."""
    for case in COUNTED["variations"][:: 100 // settings().max_examples]:
        row = row_of_fields(case["config"], tmp_path)
        assert value(row, "n_params_total") == case["n_params"], case
        for column in {"n_local_layers", "window", "n_linear_layers"} & set(case):
            assert row[column] == case[column], case


@pytest.mark.parametrize("model_type", CLASS_DEFAULTS)
def test_class_defaults_are_those_of_transformers(model_type: str) -> None:
    """What a nested config leaves out stands for what transformers' class has."""
    known = COUNTED["class_defaults"][model_type]
    assert {name: known[name] for name in CLASS_DEFAULTS[model_type]} == CLASS_DEFAULTS[model_type]


_WEB = {"bias": False, "alibi": False, "multi_query": True, "parallel_attn": True, "vocab_size": 65024}

_MODERNBERT = {
    "model_type": "modernbert-decoder", "vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152,
    "num_hidden_layers": 22, "num_attention_heads": 12, "max_position_embeddings": 8192, "decoder_bias": True,
    "global_attn_every_n_layers": 3, "local_attention": 128,
}  # fmt: skip
_LING_3 = {
    "model_type": "bailing_hybrid", "vocab_size": 157184, "hidden_size": 2560, "intermediate_size": 6144,
    "moe_intermediate_size": 768, "num_hidden_layers": 42, "num_attention_heads": 32, "num_key_value_heads": 32,
    "num_experts": 512, "num_shared_experts": 1, "num_experts_per_token": 8, "first_k_dense_replace": 2,
    "kv_lora_rank": 512, "q_lora_rank": None, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
    "head_dim": 64, "linear_head_dim": 128, "linear_num_heads": 32, "linear_conv_kernel_dim": 4,
    "short_conv_kernel_size": 4, "layer_group_size": 6, "model_max_length": 262144,
}  # fmt: skip
_OLDER: dict[str, tuple[int, Config]] = {
    "Falcon 40B": (41_303_293_952, {
        **_WEB, "model_type": "RefinedWeb", "hidden_size": 8192, "n_head": 128, "n_head_kv": 8, "n_layer": 60,
    }),
    "Falcon 7B": (6_921_720_704, {
        **_WEB, "model_type": "RefinedWebModel", "hidden_size": 4544, "n_head": 71, "n_layer": 32,
    }),
    "Phi-2": (2_779_683_840, {
        "model_type": "phi-msft", "n_embd": 2560, "n_head": 32, "n_head_kv": None, "n_inner": None, "n_layer": 32,
        "n_positions": 2048, "vocab_size": 51200, "tie_word_embeddings": False,
    }),
    "Phi-3-small 8K": (7_392_272_384, {
        "model_type": "phi3small", "hidden_size": 4096, "ff_intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 100352, "max_position_embeddings": 8192,
    }),
    "Yi 34B": (34_388_917_248, config_of("yi-34b", model_type="Yi")),
    "InternLM 7B": (7_321_948_160, config_of("llama-7b", model_type="internlm", architectures=..., vocab_size=103168)),
    "Qwen 7B": (7_721_324_544, {
        "model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "num_attention_heads": 32,
        "num_hidden_layers": 32, "no_bias": True, "vocab_size": 151936, "seq_length": 8192,
    }),
    "ChatGLM2 6B": (6_243_584_000, config_of("chatglm3-6b", head_dim=..., kv_channels=..., post_layer_norm=...)),
    "Llama 4 Scout": (107_769_861_120, config_of("llama4-scout")["text_config"]),
    "DeepSeek-OCR": (2_934_734_080, {  # counted as transformers' deepseek_ocr2_text
        "model_type": "deepseek_vl_v2", "language_config": {
            "architectures": ["DeepseekV2ForCausalLM"], "use_mla": False, "hidden_size": 1280,
            "intermediate_size": 6848, "num_hidden_layers": 12, "num_attention_heads": 10, "num_key_value_heads": 10,
            "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 896,
            "first_k_dense_replace": 1, "kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0,
            "qk_rope_head_dim": 0, "v_head_dim": 0, "topk_method": "greedy", "vocab_size": 129280,
        },
    }),
    # Of families whose code lies beside the weights, as that code sums up; Grok 2 and MiniCPM have exact headers too.
    "Grok 1": (315_684_820_992, {
        "model_type": "grok-1", "vocab_size": 131072, "hidden_size": 6144, "intermediate_size": 32768,
        "num_hidden_layers": 64, "num_attention_heads": 48, "num_key_value_heads": 8, "num_experts": 8,
        "num_experts_per_tok": 2, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    }),
    "Grok 2": (269_515_497_472, {
        "model_type": "git", "architectures": ["Grok1ForCausalLM"], "vocab_size": 131072, "hidden_size": 8192,
        "intermediate_size": 32768, "moe_intermediate_size": 16384, "num_hidden_layers": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 8, "num_experts_per_tok": 2,
        "residual_moe": True, "max_position_embeddings": 131072,
    }),
    "MiniMax-M2": (
        62 * (3072 * ((48 + 2 * 8 + 48) * 128 + 256 * (3 * 1536 + 1) + 2) + (48 + 8) * 128 + 256)
        + (2 * 200064 + 1) * 3072,
        {
            "model_type": "minimax", "architectures": ["MiniMaxM2ForCausalLM"], "vocab_size": 200064,
            "hidden_size": 3072, "intermediate_size": 1536, "num_hidden_layers": 62, "num_attention_heads": 48,
            "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 256, "num_experts_per_tok": 8,
            "use_qk_norm": True, "use_routing_bias": True, "max_position_embeddings": 196608,
        },
    ),
    "Snowflake Arctic": (
        35 * ((2 * 7168 + 2 * 1024 + 3 * 7168 + 128 * 3 * 4864 + 128 + 3) * 7168) + (2 * 32000 + 1) * 7168,
        {
            "model_type": "arctic", "vocab_size": 32000, "hidden_size": 7168, "intermediate_size": 4864,
            "num_hidden_layers": 35, "num_attention_heads": 56, "num_key_value_heads": 8, "num_local_experts": 128,
            "num_experts_per_tok": 2, "moe_layer_frequency": 1, "use_residual": True, "max_position_embeddings": 4096,
        },
    ),
    "Step-3": (
        61 * (7168 * (2048 + 2 * 256 + 16384) + 2048 * (16384 + 1) + 2 * 7168) + 5 * 3 * 7168 * 18432
        + 56 * (49 * 3 * 7168 * 5120 + 48 * 7168) + (2 * 128815 + 1) * 7168,
        {
            "model_type": "step3_vl", "text_config": {
                "model_type": "step3_text", "vocab_size": 128815, "hidden_size": 7168, "intermediate_size": 18432,
                "num_hidden_layers": 61, "num_attention_heads": 64, "num_attention_groups": 1, "head_dim": 256,
                "share_q_dim": 2048, "moe_num_experts": 48, "moe_top_k": 3, "moe_intermediate_size": 5120,
                "share_expert_dim": 5120, "moe_layers_enum": ",".join(map(str, range(4, 60))),
                "max_position_embedding": 65536,
            },
        },
    ),
    "MiniCPM 2B": (2_724_880_896, {
        "model_type": "minicpm", "vocab_size": 122753, "hidden_size": 2304, "intermediate_size": 5760,
        "num_hidden_layers": 40, "num_attention_heads": 36, "num_key_value_heads": 36, "max_position_embeddings": 4096,
    }),
    "LongCat-Flash": (561_862_880_256 - 1_197_899_776, {  # the header's, less the layer of multi-token prediction
        "model_type": "longcat_flash", "vocab_size": 131072, "hidden_size": 6144, "num_layers": 28,
        "ffn_hidden_size": 12288, "expert_ffn_hidden_size": 2048, "num_attention_heads": 64, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "moe_topk": 12,
        "n_routed_experts": 512, "zero_expert_num": 256, "max_position_embeddings": 131072, "attention_bias": False,
    }),
    # Ling-mini-2.0 with lightning attention in four of five layers: 16.4 billion, as it is published.
    "Ring-mini-linear-2.0": (
        16_255_643_392 + 16 * (5 * 2048**2 + 2048 - 2048 * (2 * 2048 + 2 * 4 * 128)),
        {
            "model_type": "bailing_moe_linear", "vocab_size": 157184, "hidden_size": 2048, "intermediate_size": 5120,
            "num_hidden_layers": 20, "num_attention_heads": 16, "num_key_value_heads": 4, "num_experts": 256,
            "num_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
            "first_k_dense_replace": 1, "use_qk_norm": True, "moe_router_enable_expert_bias": True,
            "layer_group_size": 5, "group_norm_size": 4, "max_position_embeddings": 131072,
        },
    ),
    "EXAONE 4.5": (5_483_264, {
        "model_type": "exaone4_5", "text_config": {
            "model_type": "exaone4_5_text", "vocab_size": 1000, "hidden_size": 512, "intermediate_size": 1024,
            "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "tie_word_embeddings": False,
        },
    }),
    # Class defaults and changed fields of transformers 5.24.0, counted on the meta device.
    "ModernBERT decoder": (149_655_232, _MODERNBERT),
    "ModernBERT decoder with all biases": (149_655_232 + 67_584 + 67_584 + 768 + 35_328, {
        **_MODERNBERT, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "norm_bias": True,
    }),
    "Ling 3.0 Flash with half the heads in linear attention": (123_310_840_752, {**_LING_3, "linear_num_heads": 16}),
    "Ling 3.0 Flash with longer convolutions": (124_415_931_872, {**_LING_3, "linear_conv_kernel_dim": 8}),
    "dots.vlm1": (671_026_419_200, config_of("deepseek-v3", model_type="dots_vlm")),
    "DeepSeek-V3 as transformers saves it": (671_026_419_200, config_of(
        "deepseek-v3", topk_method=..., first_k_dense_replace=..., mlp_layer_types=["dense"] * 3 + ["sparse"] * 58,
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", _OLDER)
def test_a_family_under_other_names(tmp_path: Path, name: str) -> None:
    """Configs as a checkpoint's own code or a later transformers writes them count as the same model does."""
    count, config = _OLDER[name]
    assert value(row_of_fields(config, tmp_path), "n_params_total") == count


@pytest.mark.parametrize(
    ("model_type", "part", "inner"),
    [
        ("mistral3", "text_config", "mistral"),
        ("janus", "text_config", "llama"),
        ("deepseek_vl", "language_config", "llama"),
        ("internvl", "text_config", "qwen2"),
        ("kimi_k25", "text_config", "deepseek_v3"),
    ],
)
def test_a_nested_model_has_a_head_of_its_own(tmp_path: Path, model_type: str, part: str, inner: str) -> None:
    """Where neither the whole config nor its part says whether the head is tied, it is as the language model's class
    has it: the header of Mistral Small 3.1 counts 24,011,361,280 parameters, which transformers counts untied alone,
    though since 5.0 its class for the whole would tie it."""
    whole = "deepseek-v3" if inner == "deepseek_v3" else "qwen2-7b"
    text = config_of(whole, model_type=inner, architectures=..., tie_word_embeddings=...)
    row = row_of_fields({"model_type": model_type, part: text}, tmp_path)
    assert row["is_untied"] == 1
    untied = row_of_fields({"model_type": model_type, part: text | {"tie_word_embeddings": False}}, tmp_path)
    assert value(row, "n_params_total") == value(untied, "n_params_total")


def test_every_family_is_held_against_a_count() -> None:
    """Each model_type that is known has a config or a variation whose count is known, but for names of the same."""
    configs = [json.loads(path.read_text(encoding="utf-8")) for path in CONFIGS.values()]
    configs += [case["config"] for case in COUNTED["variations"]] + [config for _, config in _OLDER.values()]
    nested = [part for config in configs for part in [config.get("text_config")] if part]
    tried = {str(config.get("model_type")).lower() for config in configs + nested}
    families = [FAMILIES[name] for name in tried if name in FAMILIES]
    assert [name for name, family in FAMILIES.items() if not any(family is each for each in families)] == []
