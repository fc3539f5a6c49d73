"""What a Hugging Face config doesn't say, or says wrongly, and what is typed in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog import load_models
from tests.commands import printed_by
from tests.hf_configs import COUNTED, MODELS, Config, Run, config_of, refused, value

# A small Qwen4-Exp of seven layers, two of them with tables.
QWEN4 = next(case["config"] for case in COUNTED["variations"] if case["config"].get("ple_layer_ids") == [1, 5])


@pytest.mark.parametrize(
    ("identifier", "left_out", "columns"),
    [
        ("llama3-8b", "hidden_size", "d_model"),
        ("llama3-8b", "num_hidden_layers vocab_size", "n_layers vocab"),
        ("llama3-8b", "intermediate_size", "d_ff"),
        ("mistral-7b-v0.1", "num_key_value_heads", "n_kv_heads"),
        ("mixtral-8x7b", "num_local_experts", "moe_experts"),
        ("qwen2-57b-a14b", "shared_expert_intermediate_size", "moe_shared_d_ff"),
        ("qwen3-30b-a3b", "moe_intermediate_size num_experts_per_tok", "moe_d_ff moe_top_k"),
        ("deepseek-v3", "q_lora_rank first_k_dense_replace", "q_lora_rank n_dense_layers"),
        ("deepseek-v3", "n_routed_experts n_shared_experts", "moe_experts moe_shared_experts"),
        ("deepseek-v3.2", "index_n_heads", "indexer_params_per_layer"),
        ("gpt2", "n_embd n_layer", "d_model n_layers"),
        ("falcon-7b", "num_attention_heads", "n_heads"),
        ("opt-125m", "ffn_dim", "d_ff"),
        ("minimax-text-01", "attn_type_list", "n_full_attn_layers"),
    ],
)
def test_asks_by_name_for_what_the_config_leaves_out(add: Run, identifier: str, left_out: str, columns: str) -> None:
    """A size that the config doesn't say is named, with the column to set; nothing is written."""
    what, remedy = refused(add(config_of(identifier, **dict.fromkeys(left_out.split(), ...)))).split("; ")
    place, _, rest = what.partition(": ")
    assert place == "config.json"
    assert set(rest.replace(" are ", " is ").removesuffix(" is not in the config").split(" and ")) == set(
        left_out.split()
    )
    asked = [word.removesuffix("=...") for word in remedy.split() if word.endswith("=...")]
    assert sorted(asked) == sorted(columns.split())
    assert not Path("mine.csv").exists()


@pytest.mark.parametrize("identifier", ["llama3-8b", "qwen3-30b-a3b", "deepseek-v3", "gpt2", "falcon-7b", "mpt-7b"])
def test_what_is_asked_for_can_be_set(add: Run, identifier: str) -> None:
    """Setting what is asked for, again and again, ends in the count of the whole config."""
    sizes = {
        "hidden_size",
        "num_hidden_layers",
        "vocab_size",
        "num_experts",
        "q_lora_rank",
        "n_layer",
        "n_embd",
        "d_model",
    }
    config, known, words = config_of(identifier, **dict.fromkeys(sizes, ...)), MODELS.rows[identifier], list[str]()
    natural = {"moe_experts": "n_experts"}
    while (done := add(config, "--id", "mine", *words)).exit_code:
        asked = [word.removesuffix("=...") for word in refused(done).split() if word.endswith("=...")]
        assert asked
        words += [f"--set={name}={known[natural.get(name, name)]}" for name in asked]
    assert words
    assert value(load_models(Path("mine.csv")).row("mine"), "n_params_total") == known["n_params_published"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "config.json, line 1: not JSON: "),
        ("[1]", "not a Hugging Face config: no object in braces"),
        ("{}", "not a Hugging Face config: it has no model_type"),
        ({"architectures": ["BertModel"]}, "not a Hugging Face config: it has no model_type"),
        (b"\xff\xfe", "not JSON: the file is not UTF-8 text"),
        ("version https://git-lfs.github.com/spec/v1\nsize 9\n", "this is a pointer of Git LFS, and not the"),
        ("\ufeff<!DOCTYPE html>\n<html></html>", "this is a web page, and not the file; download the file itself, by"),
        ("[" * 100_000, "not JSON that can be read"),
        ('{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}", "not JSON that can be read"),
        ('{"model_type": "llama", "rms_norm_eps": NaN}', "NaN is no number"),
        (None, "config.json: there is no such file"),
        ({"model_type": 7}, "model_type 7 is not a text"),
        ({"model_type": "lama"}, 'model_type "lama" is not a family that can be read; did you mean llama'),
        ({"model_type": "own"}, "or type the row by hand, which needs id, n_layers"),
        ({"model_type": "rwkv7"}, 'model_type "rwkv7" has no row: it has no attention; use another template'),
        ({"model_type": "zamba2"}, "its attention layers share one set of weights, which has no columns; use another"),
        ({"model_type": "deepseek_v41"}, "its layers share compressed keys and indexers, which have no columns; use"),
        ({"model_type": "hunyuan"}, "attention to the keys and values of another layer has no columns; use another"),
        ({"model_type": "falcon_mamba"}, 'model_type "falcon_mamba" has no row: it has no attention'),
        ({"model_type": "mistral_large4", "text_config": {"n_layers": 1}}, "its layers share latent caches"),
        ({"model_type": "dots3_note"}, "its layers with a window have latent caches of another rank, which has"),
        ({"model_type": "inkling2", "text_config": {"n_layers": 1}}, "its layers read the sums of all earlier groups"),
        ({"model_type": "inkling2_loop", "text_config": {"n_layers": 1}}, "several times with one set of weights"),
        (
            {"model_type": "hrm_text"},
            "it runs two stacks of layers several times with one set of weights, which has no",
        ),
        ({"model_type": "dory"}, "its layers are attention or feed-forward blocks alone and may run several times"),
        ({"model_type": "blt"}, "it reads bytes, which further models join to patches"),
        ({"model_type": "jetmoe"}, "a token uses some of the query heads and their outputs as experts, which has"),
        ({"model_type": "muse_glimmer_assistant"}, 'model_type "muse_glimmer_assistant" is a draft head\'s'),
        ({"model_type": "t5gemma"}, "it is an encoder with a decoder"),
        ({"model_type": "moonshine", "is_encoder_decoder": True}, "it is an encoder with a decoder"),
        ({"model_type": "bert"}, "it is an encoder; use another template"),
        ({"model_type": "gemma3"}, "gemma3 keeps its language model in text_config, which is not in the config"),
        ({"model_type": "vqvae"}, 'model_type "vqvae" is not a family that can be read; if its layers are those of a'),
        ({"model_type": "phi4flash"}, 'model_type "phi4flash" has no row: its later layers read the cache and the'),
        ({"model_type": "x", "text_config": {"model_type": "y"}}, 'text_config.model_type "y" is not a family'),
        (config_of("llama3-8b", hidden_size="4096"), 'hidden_size "4096" is not a whole number'),
        (config_of("llama3-8b", hidden_size=4096.5), "hidden_size 4096.5 is not a whole number"),
        (config_of("llama3-8b", hidden_size=True), "hidden_size true is not a whole number"),
        (config_of("llama3-8b", hidden_size=[4096]), "hidden_size [4096] is not a whole number"),
        (config_of("llama3-8b", hidden_size=0), "hidden_size 0 is out of range; it must be 1 or more"),
        (config_of("llama3-8b", hidden_size=float("inf")), "hidden_size Infinity is not a whole number"),
        (config_of("llama3-8b", num_hidden_layers=10**12), "num_hidden_layers 1000000000000 is out of range"),
        (
            config_of("llama3-8b", hidden_size=10**12),
            "hidden_size 1000000000000 is out of range; it must be 100,000,000 or less",
        ),
        (config_of("llama3-8b", vocab_size=10**20), "vocab_size 100000000000000000000 is out of range"),
        (config_of("mixtral-8x7b", num_local_experts=10**9), "num_local_experts 1000000000 is out of range"),
        (config_of("llama3-8b", num_key_value_heads=64), "n_kv_heads 64 is more than n_heads 32"),
        (config_of("llama3-8b", hidden_size=4100), "column head_dim: d_model 4100 is no multiple of n_heads 32"),
        (config_of("gpt2", n_embd=770), "column head_dim: d_model 770 is no multiple of n_heads 12"),
        (config_of("llama3-8b", tie_word_embeddings="no"), 'tie_word_embeddings "no" is not true or false'),
        (config_of("gemma3-270m", layer_types=["full_attention"]), "has 1 entries for 18 layers"),
        (config_of("gemma3-270m", layer_types=["mamba"] * 18), 'has the kind "mamba"; known: full_attention'),
        (config_of("qwen3-30b-a3b", mlp_only_layers="0"), 'mlp_only_layers "0" is not a list of whole numbers'),
        (config_of("dbrx", ffn_config=3), "ffn_config 3 is not an object"),
        (
            config_of("mixtral-8x7b", model_type="hunyuan_v1_moe", num_experts=8, moe_topk=[1, 2]),
            "moe_topk [1, 2] differs from layer to layer, which has no column; use another template, or a model of",
        ),
        (
            config_of("qwen3-8b", model_type="exaone4", sliding_window=8, sliding_window_pattern="LLFG"),
            'sliding_window_pattern "LLFG" is no pattern of the letters L and G; write it as in LLLG',
        ),
        (
            config_of("llama3-8b", model_type="nemotron_h", hybrid_override_pattern="M*M*-"),
            "1 feed-forward block for 2 blocks of attention and 2 state spaces: too few, for each layer",
        ),
        (
            config_of("llama3-8b", model_type="nemotron_h", num_hidden_layers=7, hybrid_override_pattern="M-M*-M"),
            'hybrid_override_pattern "M-M*-M" has 6 blocks for 7 layers; correct one of the two',
        ),
        (
            config_of("llama3-8b", model_type="lfm2", conv_L_cache=3, block_ffn_dim_multiplier=float("inf")),
            "block_ffn_dim_multiplier Infinity is out of range; it must be between 0 and 1000",
        ),
        (
            config_of("llama3-8b", model_type="lfm2", conv_L_cache=3, block_ffn_dim_multiplier="1"),
            'block_ffn_dim_multiplier "1" is not a number',
        ),
        (
            config_of("llama3-8b", model_type="step3_text", moe_num_experts=4, moe_layers_enum="4,five"),
            'moe_layers_enum "4,five" is no list of layers; write it as in 4,5,6',
        ),
        (
            config_of("llama3-8b", model_type="nemotron_h", hybrid_override_pattern="M-Q"),
            'hybrid_override_pattern "M-Q" has the kind "Q"; known: M, *, -, E',
        ),
        (
            config_of("llama3-8b", architectures=["LlamaForCausalLMEagle3"], num_hidden_layers=1),
            'architectures ["LlamaForCausalLMEagle3"] is a draft head\'s, whose input another model computes: it has '
            "no row; give the config.json of the model that it drafts for",
        ),
        (config_of("llama3-8b", draft_vocab_size=32000), "draft_vocab_size 32000 is a draft head's"),
        ({"speculators_model_type": "eagle3", "transformer_layer_config": {}}, "is a draft head's"),
        ({"model_type": "eagle", "model": config_of("llama3-8b")}, 'model_type "eagle" is a draft head\'s'),
        (config_of("deepseek-v3", architectures=["DeepSeekMTPModel"]), "is a draft head's"),
        (
            config_of("llama3-8b", num_local_experts=8, num_experts_per_tok=2),
            'num_local_experts 8 contradicts model_type "llama", which has none; correct the one that is wrong',
        ),
        (config_of("llama3-8b", kv_lora_rank=512), 'kv_lora_rank 512 contradicts model_type "llama", which has none'),
        (config_of("qwen3-8b", index_topk=2048), 'index_topk 2048 contradicts model_type "qwen3", which has none'),
        (
            config_of("llama3-8b", architectures=["MixtralForCausalLM"]),
            'architectures ["MixtralForCausalLM"] contradicts model_type "llama": each makes another row; correct the',
        ),
        (
            config_of("llama3-8b", model_type="helium", architectures=..., head_dim=64),
            "head_dim 64 times 32 heads is not d_model 4096; correct it",
        ),
        (config_of("deepseek-v4-flash", num_key_value_heads=2), "2 is not heeded: deepseek_v4 always has 1"),
        (config_of("deepseek-v4-flash", n_shared_experts=2), "2 is not heeded: deepseek_v4 always has 1"),
        (config_of("deepseek-v4-flash", mlp_bias=True), "mlp_bias true gives the shared experts biases, which have no"),
        (config_of("deepseek-v3", n_routed_experts=0), "n_routed_experts 0 is out of range; it must be 1 or more"),
        (
            config_of("mpt-7b", ffn_config={"ffn_type": "mb_dmoe", "moe_num_experts": 8, "moe_top_k": 2}),
            'ffn_config.ffn_type "mb_dmoe" is no block that can be read; known: mptmlp, te_ln_mlp, mptglu',
        ),
        (
            config_of("llama3-8b", model_type="doge", architectures=..., is_moe=True, num_experts=16384),
            "is_moe true gives it experts of two vectors each, which have no columns; use another template, or a model",
        ),
        (
            config_of("llama3-8b", model_type="apertus1p5_text", architectures=..., output_vocab_size=200000),
            "output_vocab_size 200000 is more than vocab_size 128256; correct one of the two",
        ),
        (
            config_of("qwen3-30b-a3b", model_type="zaya", architectures=..., router_hidden_size=1, cca_time1=0),
            "router_hidden_size 1 makes a smaller router than the columns have; use another template, or a model of",
        ),
        (
            QWEN4 | {"heads_per_ngram": 7},
            "heads_per_ngram 7 makes 14 tables of a layer, which must divide 64 numbers; they must be 1000 or less in",
        ),
        (QWEN4 | {"ple_layer_ids": list(range(1, 8))}, "ple_layer_ids [1, 2, 3, 4, 5, 6, 7] has more layers than have"),
        (config_of("opt-125m", word_embed_proj_dim=512), "between the two have no column; use another template"),
    ],
)
def test_wrong_configs(add: Run, config: Config | str | bytes | None, says: str) -> None:
    """What is no config, or has a wrong field, ends in one line that says what is wrong; nothing is written."""
    assert says in refused(add(config))
    assert not Path("mine.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "n_layer=3"], "--set n_layer=3: no column n_layer; did you mean n_layers"),
        (["--set", "n_layers=3.5"], "--set n_layers=3.5: 3.5 is not a count"),
        (["--set", "n_layers"], "--set 'n_layers' is not name=value"),
        (["--set", "id=mine"], "--set id=mine: the id has an option of its own; write --id mine"),
        (["--set", "n_heads="], "n_heads is blank; every row needs it"),
        (["--set", "norm=batchnorm"], '"batchnorm" is not one of'),
        (["--id", "a*"], 'column id: "a*" can\'t be an id'),
    ],
)
def test_wrong_settings(add: Run, words: list[str], says: str) -> None:
    """A setting that is no column, or no value of it, ends in one line; nothing is written."""
    assert says in refused(add(config_of("llama3-8b"), *words))
    assert not Path("mine.csv").exists()


def test_settings_go_before_the_config(add: Run) -> None:
    """Columns typed, one --set or several words after it, take the place of what the config says."""
    printed_by(add(config_of("llama3-8b"), "--set", "n_layers=2", "vocab=1000", "window=64", "--id", "mine"))
    row = load_models(Path("mine.csv")).row("mine")
    assert [row[name] for name in ("n_layers", "vocab", "window", "n_local_layers")] == [2, 1000, 64, 2]


def test_a_setting_takes_the_familys_own_name(add: Run) -> None:
    """A column typed under another of its names is the family's column, not a second one."""
    assert add(config_of("gemma3-1b"), "--set", "window=", "--id", "mine").exit_code == 0
    assert load_models(Path("mine.csv")).row("mine")["n_local_layers"] == 0


@pytest.mark.parametrize(
    ("identifier", "architecture"), [("llama3-8b", "LlamaForCausalLM"), ("gpt2", "GPT2LMHeadModel")]
)
def test_an_architecture_stands_for_a_model_type(add: Run, identifier: str, architecture: str) -> None:
    """A config without model_type is read as the class that it names under architectures is."""
    printed_by(add(config_of(identifier, model_type=..., architectures=[architecture]), "--id", "mine"))
    found = value(load_models(Path("mine.csv")).row("mine"), "n_params_total")
    assert found == MODELS.rows[identifier]["n_params_published"]


def test_one_row_whichever_is_right(add: Run) -> None:
    """Where `architectures` and model_type differ and make the same row, as Ling 2.0's, the model is read."""
    assert add(config_of("llama3-8b", architectures=["MistralForCausalLM"], sliding_window=None)).exit_code == 0


def test_deepseek_v3_with_an_indexer_is_v32(add: Run) -> None:
    """DeepSeek-V3.2's config under the older model_type, which libraries without the newer one load, makes its row."""
    changes = {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}
    said = printed_by(add(config_of("deepseek-v3.2", **changes), "--id", "mine"))
    assert "Note: index_topk says sparse attention: read as deepseek_v32\n" in said
    found = load_models(Path("mine.csv")).row("mine")
    assert value(found, "n_params_total") == MODELS.rows["deepseek-v3.2"]["n_params_published"]
    assert found["index_topk"] == 2048


def test_what_is_beside_a_language_model_is_told(add: Run) -> None:
    """Phi-4 multimodal's encoders and adapters, and Medusa's heads, are notes: the row counts none of them."""
    beside = {
        "embd_layer": {"image_embd_layer": {}},
        "audio_processor": {"name": "cascades"},
        "vision_lora": {"r": 256},
        "speech_lora": {"r": 320},
    }
    said = printed_by(add(config_of("phi-4-mini", model_type="phi4mm", architectures=["Phi4MMForCausalLM"], **beside)))
    for name in ("embd_layer", "audio_processor", "vision_lora", "speech_lora"):
        assert f"Note: {name} is not counted\n" in said
    llava = {"architectures": ["LlavaLlamaForCausalLM"], "mm_vision_tower": "openai/clip-vit-large-patch14"}
    assert "Note: mm_vision_tower is not counted\n" in add(config_of("llama3-8b", **llava), "--id", "llava").stdout
    done = add(config_of("llama3-8b", medusa_num_heads=3), "--id", "medusa")
    assert "Note: medusa_num_heads is not counted\n" in done.stdout


def test_a_single_layer_is_doubted(add: Run) -> None:
    """EAGLE's first draft heads say nothing but one layer: a note tells of it."""
    assert "Note: it has 1 layer: if it is a draft head" in add(config_of("llama3-8b", num_hidden_layers=1)).stdout


def test_experts_that_no_layer_has_are_doubted(add: Run) -> None:
    """A model that starts its layers with experts behind its last layer is counted as dense, and a note tells of it."""
    noted = "Note: none of the 61 layers has the 256 experts: all are counted as dense\n"
    assert noted in add(config_of("deepseek-v3", first_k_dense_replace=61), "--id", "dense").stdout
    assert noted not in add(config_of("deepseek-v3", first_k_dense_replace=60), "--id", "last").stdout
