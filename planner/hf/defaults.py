"""What the class of a language model inside a multimodal config takes for fields that aren't written.

transformers writes a nested config without the fields that equal its class's defaults; these are the defaults
of its configuration_*.py. A config that stands alone is written with all its sizes, and needs none of this.
"""

from __future__ import annotations

from collections.abc import Mapping

_FIELDS = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "max_position_embeddings",
)  # fmt: skip

# 0 is none: key and value heads as many as the query heads, or no such field.
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
"""

_FURTHER: Mapping[str, Mapping[str, int]] = {
    "mistral": {"sliding_window": 4096},
    "gemma2": {"sliding_window": 4096},
    "gemma3_text": {"sliding_window": 4096},
    "cohere2": {"sliding_window": 4096},
    "mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "llama4_text": {"num_local_experts": 16, "num_experts_per_tok": 1, "intermediate_size_mlp": 16384},
    "qwen3_vl_moe_text": {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408},
    "qwen3_5_text": {
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    },
    "qwen3_5_moe_text": {
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "num_experts": 256, "num_experts_per_tok": 8,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
    },
}  # fmt: skip


def _class_defaults() -> dict[str, dict[str, int]]:
    rows = [line.split() for line in _SIZES.strip().splitlines()]
    sizes = {name: dict(zip(_FIELDS, map(int, numbers), strict=True)) for name, *numbers in rows}
    return {name: {field: size for field, size in found.items() if size} | dict(_FURTHER.get(name, {}))
            for name, found in sizes.items()}  # fmt: skip


CLASS_DEFAULTS: Mapping[str, Mapping[str, int]] = _class_defaults()
