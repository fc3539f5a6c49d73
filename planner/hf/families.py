"""Assigns a model_type to its family, and locates the language model in a multimodal config.

transformers writes a nested config without the fields that equal its class's defaults; CLASS_DEFAULTS are those of its
configuration_*.py. A standalone config is written with all its sizes and doesn't need them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.catalog.model_columns import MODEL_FIELDS
from planner.errors import Place, UserError, nearest
from planner.hf import (
    dense,
    gemma,
    gpt,
    hybrid,
    kimi,
    latent,
    ling,
    moe,
    ngram_tables,
    quantized,
    routed,
    sparse_attention,
    state_space,
    windowed,
)
from planner.hf.config import NO_ROW, REMEDY, TEXT_PARTS, Config
from planner.hf.contradictions import refuse_draft
from planner.hf.rules import Family

_HEAD = re.compile("(ForCausalLM|LMHeadModel|ForConditionalGeneration)$")
_MODULES = (
    dense, gpt, moe, routed, latent, sparse_attention, ngram_tables, hybrid, kimi, ling, state_space, gemma, windowed,
)  # fmt: skip
FAMILIES: Mapping[str, Family] = {
    name: family
    for module in _MODULES
    for family in vars(module).values()
    if isinstance(family, Family)
    for name in family.types
}

_PAIR = "it is an encoder with a decoder"
# Known families that can't be expressed in columns with one attention layer for all.
_UNREADABLE = {
    name: reason
    for names, reason in (
        ("deepseek_v41 deepseek_v41_text", "its layers share compressed keys and indexers, which have no columns"),
        (
            "mistral_large4 mistral_large4_text",
            "its layers share latent caches and indexers of another form, which have no columns",
        ),
        (
            "dots3_note dots3_note_text",
            "its layers with a window have latent caches of another rank, which has no column",
        ),
        (
            "inkling2 inkling2_text",
            "its layers read the sums of all earlier groups of layers, which have no columns",
        ),
        (
            "inkling2_loop inkling2_loop_text",
            "it runs some layers several times with one set of weights, which has no columns",
        ),
        ("jetmoe", "a token uses some of the query heads and their outputs as experts, which has no columns"),
        ("hrm_text hrm", "it runs two stacks of layers several times with one set of weights, which has no columns"),
        (
            "dory",
            "its layers are attention or feed-forward blocks alone and may run several times, which has no columns",
        ),
        ("phi4flash", "its later layers read the cache and the states of earlier ones, which has no columns"),
        ("blt", "it reads bytes, which further models join to patches"),
        ("diffusion_gemma diffusion_gemma_text", "it fills in whole blocks of tokens"),
        ("t5gemma t5gemma2 t5 bart whisper", _PAIR),
        ("bert roberta xlm-roberta modernbert deberta-v2 electra", "it is an encoder"),
        ("diffllama", "its differential attention has no columns"),
        ("nemotron-nas", "its layers differ in attention and feed-forward block"),
        ("zamba zamba2", "its attention layers share one set of weights, which has no columns"),
        ("hunyuan", "attention to the keys and values of another layer has no columns"),
        ("falcon_mamba mamba mamba2 rwkv rwkv5 rwkv6 rwkv6qwen2 rwkv7 xlstm", "it has no attention"),
    )
    for name in names.split()
}

# Outer classes whose language model has their own type with `_text` behind it.
_OUTER = """
glm5_next minimax_m3_vl gemma3 apertus1p5 muse_glimmer muse_spark dots3_note inkling2 inkling2_loop mistral_large4
qwen4_exp llama4 qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe gemma3n gemma4 gemma4_unified
ernie4_5_vl_moe glm4v glm4v_moe aria molmo2 glm_ocr paddleocr_vl granite_docling unlimited_ocr cosmos3_edge hy_v4_vl
cohere_compass
"""
# The language model's type if a nested config omits it, by outer class.
_INNER = {
    **{name: f"{name}_text" for name in _OUTER.split()},
    "shieldgemma2": "gemma3_text", "voxtral": "llama", "deepseek_vl": "llama", "inkling_mm_model": "inkling_text",
    "exaone4_5": "exaone4", "mistral3": "mistral", "llava": "llama", "llava_next": "llama", "paligemma": "gemma",
    "kimi_k25": "deepseek_v3", "kimi_k3": "kimi_linear", "step3p7": "step3p5", "mllama": "mllama_text_model",
    "qwen2_5_omni_thinker": "qwen2_5_omni_text", "qwen3_omni_moe_thinker": "qwen3_omni_moe_text", "fuyu": "persimmon",
}  # fmt: skip

# A model_type that another model has too, and what the class in `architectures` says: Grok 2 (GIT), MiniMax-M2.
_BY_CLASS = {"git": "grok1", "minimax": "minimax_m2"}

_OF_BASE = "give the config.json of that model, and plan the training with the template lora"

# What a config may say beside its language model.
_BESIDE = (
    "vision_config", "audio_config", "img_processor", "audio_processor", "embd_layer", "vision_lora", "speech_lora",
    "visual", "mm_vision_tower", "talker_config", "medusa_num_heads",
)  # fmt: skip


def language_model(path: Path, fields: Mapping[str, Any]) -> Config:
    """The config of the language model: the whole config, or the corresponding part of a multimodal one.

    Raises UserError for an unknown model_type (naming the nearest), a multimodal one without that part, or a draft
    head.
    """
    refuse_draft(Config(path, fields))
    fields = _named(path, fields)
    outer = fields.get("thinker_config")
    if isinstance(outer, dict) and not any(name in fields for name in TEXT_PARTS):
        fields = {"model_type": f"{fields['model_type']}_thinker", **outer}
    part = next((name for name in TEXT_PARTS if isinstance(fields.get(name), dict)), None)
    config = Config(path, fields) if part is None else _inner(path, fields, part)
    if (by_class := _BY_CLASS.get(config.model_type)) and of_architecture(fields) == by_class:
        _reread(config, by_class)
    if config.model_type == "deepseek_v2" and not config.flag("use_mla", default=True):
        # DeepSeek-OCR and the smallest DeepSeek-VL2: the second's code, with the attention of the first
        _reread(config, "deepseek", kv_lora_rank=None)
    if FAMILIES.get(config.model_type.lower()) is latent.DEEPSEEK_V3 and config.value("index_topk") is not None:
        # loads DeepSeek-V3.2 without knowing its model_type; there is an indexer if this field is present
        _reread(config, "deepseek_v32")
        config.note("index_topk says sparse attention: read as deepseek_v32")
    _check(config)
    if part is not None:
        config.note(f"{fields['model_type']}: its language model alone ({part}, {config.model_type})")
    for name in _BESIDE:
        if fields.get(name):
            config.note(f"{name} is not counted")
    for note in quantized.notes(path, fields, config.fields):
        config.note(note)
    return config


def _reread(config: Config, model_type: str, **others: None) -> None:
    """Treat a config as another model_type than its own, as `architectures` and `others` indicate."""
    config.fields = {**config.fields, "model_type": model_type, "architectures": None, **others}


def _named(path: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields with a model_type; a missing one is that of the class in `architectures`."""
    if fields.get("model_type"):
        if not isinstance(fields["model_type"], str):
            raise Config(path, fields).fault("model_type", "is not a text", REMEDY)
        return fields
    if name := of_architecture(fields):
        return {**fields, "model_type": name}
    if fields.get("peft_type"):
        raise Config(path, fields).fault("peft_type", "is an adapter's, trained beside a frozen model", _OF_BASE)
    raise UserError("not a Hugging Face config: it has no model_type", place=Place(path), remedy=REMEDY)


def of_architecture(fields: Mapping[str, Any]) -> str:
    """The model_type of the class in `architectures`; empty if unknown."""
    architectures = fields.get("architectures")
    stems = [_HEAD.sub("", str(each)).lower() for each in architectures] if isinstance(architectures, list) else []
    return next((name for stem in stems for name in (*FAMILIES, *_INNER) if name.replace("_", "") == stem), "")


def _inner(path: Path, fields: Mapping[str, Any], part: str) -> Config:
    inner = dict(fields[part])
    if not inner.get("model_type"):
        inner["model_type"] = _INNER.get(fields["model_type"]) or of_architecture(inner)
    # Qwen's outer classes define the head; others leave it to the inner class, if it says so.
    outer = str(fields["model_type"]).startswith("qwen") or inner.get("tie_word_embeddings") is None
    said = inner.get("tie_word_embeddings"), fields.get("tie_word_embeddings")
    if outer and fields.get("tie_word_embeddings") is not None:
        inner["tie_word_embeddings"] = fields["tie_word_embeddings"]
    config = Config(path, inner, CLASS_DEFAULTS.get(str(inner["model_type"]).lower()), f"{part}.")
    if None not in said and said[0] != said[1]:
        used = str(said[outer]).lower()
        config.note(f"tie_word_embeddings differs inside and outside {part}: {used} is used")
    return config


def _check(config: Config) -> None:
    if not isinstance(config.fields["model_type"], str):
        raise config.fault("model_type", "is not a text", "write it in double quotes")
    name = config.model_type
    if name.lower() in FAMILIES:
        return
    if reason := _UNREADABLE.get(name.lower()) or (_PAIR if config.fields.get("is_encoder_decoder") is True else ""):
        what = f'{config.prefix}model_type "{name}" has no row: {reason}'
        raise UserError(what, place=Place(config.path), remedy=NO_ROW)
    if name in _INNER and not config.prefix:
        what, remedy = f"{name} keeps its language model in text_config, which is not in the config", "add it"
        raise UserError(what, place=Place(config.path), remedy=remedy)
    needed = ", ".join(field.name for field in MODEL_FIELDS if field.required)
    what = f'{config.prefix}model_type "{name[:60]}" is not a family that can be read'
    by_hand = (
        f"if its layers are those of a known one, such as llama or mixtral, give a copy of it with that model_type; "
        f"or type the row by hand, which needs {needed}"
    )
    alike = nearest(name, FAMILIES, otherwise="")
    remedy = f"{alike} Else, {by_hand}" if alike else by_hand
    raise UserError(what, place=Place(config.path), remedy=remedy)


_FIELDS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "max_position_embeddings",
)

# 0 means none: as many KV heads as query heads, or no such field.
_SIZES = """
llama               32000 4096 11008 32 32 0 2048
mistral             32000 4096 14336 32 32 8 131072
ministral3         131072 4096 14336 34 32 8 262144
gemma              256000 3072 24576 28 16 16 8192
gemma2             256000 2304 9216 26 8 4 8192
gemma3_text        262208 2304 9216 26 8 4 131072
qwen2              151936 4096 22016 32 32 32 32768
qwen2_vl_text      152064 8192 29568 80 64 8 32768
qwen2_5_vl_text    152064 8192 29568 80 64 8 32768
qwen3              151936 4096 22016 32 32 32 32768
qwen3_vl_text      151936 4096 22016 32 32 32 128000
qwen3_vl_moe_text  151936 2048 5632 24 16 16 128000
qwen3_5_text       248320 4096 12288 32 16 4 32768
qwen3_5_moe_text   248320 2048 0 40 16 2 32768
llama4_text        202048 5120 8192 48 40 8 131072
cohere             256000 8192 22528 40 64 0 8192
cohere2            256000 8192 22528 40 64 0 8192
phi                 51200 2048 8192 24 32 0 2048
phi3                32064 3072 8192 32 32 0 4096
mixtral             32000 4096 14336 32 32 8 131072
gemma3n_text       262400 2048 16384 35 8 2 32768
gemma4_text        262144 2304 9216 30 8 4 131072
gemma4_unified_text 262144 2304 9216 30 8 4 262144
mllama_text_model  128256 4096 14336 40 32 8 131072
glm4v_text         151552 4096 13696 40 32 2 32768
glm4v_moe_text     151424 4096 10944 46 96 8 65536
ernie4_5_vl_moe_text 103424 2560 12288 28 20 4 131072
qwen4_exp_text     248320 2048 0 40 16 2 32768
muse_glimmer_text  202048 6656 19968 52 32 2 131072
muse_spark_text    202048 8192 16384 62 128 16 1048576
inkling_text       201024 6144 24576 66 64 8 131072
apertus1p5_text    266752 4096 14336 32 32 0 65536
"""

_DELTA_NET = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
}  # fmt: skip
_FURTHER: Mapping[str, Mapping[str, int]] = {
    "mistral": {"sliding_window": 4096},
    "gemma2": {"sliding_window": 4096},
    "gemma3_text": {"sliding_window": 4096},
    "cohere2": {"sliding_window": 4096},
    "ernie4_5_vl_moe_text": {"moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2},
    "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "glm4v_moe_text": {
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1,
    },
    "llama4_text": {"num_local_experts": 16, "num_experts_per_tok": 1, "intermediate_size_mlp": 16384},
    "qwen3_vl_moe_text": {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408},
    "qwen3_5_text": _DELTA_NET,
    "muse_spark_text": {"num_local_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 4096},
    "inkling_text": {
        "n_routed_experts": 256, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 3072,
    },
    "qwen4_exp_text": {
        **_DELTA_NET, "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    },
    "qwen3_5_moe_text": {
        **_DELTA_NET, "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    },
}  # fmt: skip


def _class_defaults() -> dict[str, dict[str, int]]:
    rows = [line.split() for line in _SIZES.strip().splitlines()]
    sizes = {name: dict(zip(_FIELDS, map(int, numbers), strict=True)) for name, *numbers in rows}
    return {
        name: {field: size for field, size in found.items() if size} | dict(_FURTHER.get(name, {}))
        for name, found in sizes.items()
    }


CLASS_DEFAULTS: Mapping[str, Mapping[str, int]] = _class_defaults()
