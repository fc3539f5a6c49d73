"""Which family a model_type belongs to, and where a multimodal config keeps its language model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.catalog.model_columns import MODEL_FIELDS
from planner.errors import Place, UserError, nearest
from planner.hf import gated, latent, linear, plain, sparse
from planner.hf.config import TEXT_PARTS, Config
from planner.hf.defaults import CLASS_DEFAULTS
from planner.hf.rules import Family

_TYPES: Mapping[str, Family] = {
    "llama yi deepseek_llm aquila granite": gated.LLAMA,
    "mistral ministral": gated.MISTRAL,
    "ministral3": gated.MINISTRAL3,
    "gemma": gated.GEMMA,
    "gemma2": gated.GEMMA2,
    "gemma3_text": gated.GEMMA3,
    "qwen": gated.QWEN,
    "qwen2 qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text mimo": gated.QWEN2,
    "qwen3 qwen3_vl_text": gated.QWEN3,
    "phi3 phi3_v": gated.PHI3,
    "olmo": gated.OLMO,
    "olmo2": gated.OLMO2,
    "olmo3": gated.OLMO3,
    "glm": gated.GLM,
    "glm4": gated.GLM4,
    "chatglm": gated.CHATGLM,
    "cohere": gated.COHERE,
    "cohere2": gated.COHERE2,
    "smollm3": gated.SMOLLM3,
    "internlm internlm2": gated.INTERNLM,
    "baichuan": gated.BAICHUAN,
    "internlm3": gated.INTERNLM3,
    "exaone4": gated.EXAONE4,
    "hunyuan_v1_dense": gated.HUNYUAN,
    "seed_oss": gated.SEED_OSS,
    "ernie4_5": gated.ERNIE,
    "stablelm": gated.STABLELM,
    "gpt2": plain.GPT2,
    "gpt_bigcode": plain.GPT_BIGCODE,
    "gptj": plain.GPTJ,
    "gpt_neox": plain.GPT_NEOX,
    "bloom": plain.BLOOM,
    "opt": plain.OPT,
    "phi phi-msft": plain.PHI,
    "falcon refinedweb refinedwebmodel": plain.FALCON,
    "starcoder2": plain.STARCODER2,
    "mpt": plain.MPT,
    "nemotron": plain.NEMOTRON,
    "arcee": plain.ARCEE,
    "mixtral": sparse.MIXTRAL,
    "phimoe": sparse.PHIMOE,
    "olmoe": sparse.OLMOE,
    "gpt_oss": sparse.GPT_OSS,
    "minimax_m2": sparse.MINIMAX_M2,
    "llama4_text": sparse.LLAMA4,
    "granitemoe": sparse.GRANITEMOE,
    "granitemoeshared": sparse.GRANITEMOESHARED,
    "qwen2_moe": sparse.QWEN2_MOE,
    "qwen3_moe qwen3_vl_moe_text": sparse.QWEN3_MOE,
    "deepseek": sparse.DEEPSEEK,
    "glm4_moe": sparse.GLM4_MOE,
    "dots1": sparse.DOTS1,
    "ernie4_5_moe": sparse.ERNIE_MOE,
    "dbrx": sparse.DBRX,
    "deepseek_v2": latent.DEEPSEEK_V2,
    "deepseek_v3 kimi_k2 glm4_moe_lite": latent.DEEPSEEK_V3,
    "deepseek_v32 glm_moe_dsa": latent.DEEPSEEK_V32,
    "qwen3_next qwen3_5_moe_text": linear.QWEN3_NEXT,
    "qwen3_5_text": linear.QWEN3_5,
    "minimax minimax_text_01 minimax_m1": linear.MINIMAX,
}
FAMILIES: Mapping[str, Family] = {name: family for names, family in _TYPES.items() for name in names.split()}

# The language model's type where a nested config leaves it out, as the outer class has it.
_INNER = {
    "gemma3": "gemma3_text", "llama4": "llama4_text", "mistral3": "mistral", "llava": "llama", "llava_next": "llama",
    "paligemma": "gemma", "qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text", "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text",
    "kimi_k25": "deepseek_v3",
}  # fmt: skip


def language_model(path: Path, fields: Mapping[str, Any]) -> Config:
    """The config of the language model: the whole, or the part of a multimodal config that says it.

    Raises UserError for a model_type that isn't known, with the nearest, or a multimodal one without that part.
    """
    part = next((name for name in TEXT_PARTS if isinstance(fields.get(name), dict)), None)
    config = Config(path, fields) if part is None else _inner(path, fields, part)
    _check(config)
    if part is not None:
        config.note(f"{fields['model_type']}: its language model alone ({part}, {config.model_type})")
    for name in ("vision_config", "audio_config", "img_processor"):
        if fields.get(name):
            config.note(f"{name} is not counted")
    if fields.get("quantization_config"):
        config.note("quantised weights are counted as the numbers that they stand for, without scales")
    return config


def _inner(path: Path, fields: Mapping[str, Any], part: str) -> Config:
    inner = dict(fields[part])
    if not inner.get("model_type"):
        inner["model_type"] = _INNER.get(fields["model_type"], "")
    if inner.get("tie_word_embeddings") is None and fields.get("tie_word_embeddings") is not None:
        inner["tie_word_embeddings"] = fields["tie_word_embeddings"]
    return Config(path, inner, CLASS_DEFAULTS.get(str(inner["model_type"]).lower()), f"{part}.")


def _check(config: Config) -> None:
    if not isinstance(config.fields["model_type"], str):
        raise config.fault("model_type", "is not a text", "write it in double quotes")
    name = config.model_type
    if name.lower() in FAMILIES:
        return
    if name in _INNER and not config.prefix:
        what, remedy = f"{name} keeps its language model in text_config, which is not in the config", "add it"
        raise UserError(what, place=Place(config.path), remedy=remedy)
    needed = ", ".join(field.name for field in MODEL_FIELDS if field.required)
    what = f'{config.prefix}model_type "{name[:60]}" is not a family that can be read'
    remedy = f"{nearest(name, FAMILIES)} Or type the row by hand; it needs {needed}"
    raise UserError(what, place=Place(config.path), remedy=remedy)
