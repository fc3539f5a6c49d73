"""`planner models add`: what it prints, the id that it takes, and the row that it makes."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from planner.catalog import load_models
from tests.commands import command, refused, run
from tests.hf_configs import MODELS, Config, Run, config_of


def test_prints_what_it_understood(add: Run) -> None:
    """The id, the exact counts and the cache of a token in its dtype are printed, with notes of what is not counted."""
    done = add(config_of("deepseek-v3"), "--id", "mine")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.startswith("Added mine to mine.csv\n")
    assert lines[2][:2] == ["n_params_total", "671,026,419,200"]
    assert lines[3][:2] == ["n_params_active", "37,552,297,472"]
    assert lines[4][:3] == ["kv_bytes_per_token", "70,272", "byte"]
    assert lines[4][-1] == "bf16"
    assert "Note: 1 layer of multi-token prediction (MTP) not counted\n" in done.stdout
    assert "Note: quantised weights are counted as the numbers that they stand for, without scales\n" in done.stdout


@pytest.mark.parametrize(
    ("model", "quantized", "says"),
    [
        ("deepseek-v3", ..., "weight_dtype=fp8"),
        ("deepseek-v4-flash", ..., "weight_dtype=fp8 expert_weight_bits=4.25"),
        ("kimi-k2.5", ..., "expert_weight_bits=4.5"),
        ("gpt-oss-20b", {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]},
         "expert_weight_bits=4.25"),
        ("llama3-8b", {"quant_method": "awq", "bits": 4, "group_size": 128}, "weight_dtype=int4_g128"),
        ("llama3-8b", {"quant_method": "gptq", "bits": 8}, "weight_dtype=int8"),
        ("llama3-8b", {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
         "weight_dtype=nvfp4 kv_dtype=fp8"),
        ("llama3-8b", {"quant_method": "awq", "bits": 4, "group_size": 32}, ""),
        ("llama3-8b", {"quant_method": "awq", "bits": [4]}, ""),
        ("llama3-8b", {"quant_method": "compressed-tensors", "config_groups": [1], "ignore": 3}, ""),
        ("llama3-8b", {"quant_algo": "NVFP4", "ignore": ["*self_attn*"]}, ""),
        ("llama3-8b", "fp8", ""),
        # GLM-5 FP8: of attention the norms and the indexers alone are kept.
        ("deepseek-v3", {"quant_method": "fp8", "modules_to_not_convert": [
            "lm_head", "model.layers.0.self_attn.kv_a_layernorm", "model.layers.0.self_attn.indexers_proj"]},
         "weight_dtype=fp8"),
        # Kimi K3: four bits in groups of 32 are MXFP4, with a scale of 8 bits each.
        ("kimi-k2.5", {"quant_method": "compressed-tensors", "ignore": ["re:.*self_attn.*"], "config_groups": {
            "group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 32}}}}, "expert_weight_bits=4.25"),
        # MiniMax M3 NVFP4: the experts have one format, all else another.
        ("mixtral-8x7b", {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "layers.0.mlp.experts.0.w1": {"quant_algo": "NVFP4"},
            "layers.0.self_attn.q_proj": {"quant_algo": "MXFP8"}}},
         "weight_dtype=mxfp8 expert_weight_bits=4.5"),
        # DeepSeek V4 NVFP4: the experts alone are listed, the rest is as quant_method says.
        ("mixtral-8x7b", {"quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "layers.0.ffn.experts": {"quant_algo": "NVFP4"}}}, "weight_dtype=fp8 expert_weight_bits=4.5"),
        # A format that is unknown here beside the experts: nothing is known of its bytes.
        ("mixtral-8x7b", {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "layers.0.mlp.experts.0.w1": {"quant_algo": "NVFP4"},
            "layers.0.self_attn.q_proj": {"quant_algo": "W4A8_AWQ"}}}, ""),
        # Qwen3.6 NVFP4: two formats beside the experts have no setting in common.
        ("llama3-8b", {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "layers.0.mlp.up_proj": {"quant_algo": "W4A16_NVFP4"}, "layers.0.self_attn.q_proj": {"quant_algo": "FP8"}}},
         ""),
        ("llama3-8b", {"quant_method": "modelopt", "quant_algo": "NVFP4",
                       "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "weight_dtype=nvfp4 kv_dtype=fp8"),
        ("llama3-8b", {"quant_method": "auto-round", "bits": 4, "group_size": 128}, "weight_dtype=int4_g128"),
    ],
)  # fmt: skip
def test_what_to_set_for_the_bytes_of_quantised_weights(add: Run, model: str, quantized: object, says: str) -> None:
    """A row counts parameters: a note says which setting of a plan has the bytes, where that is known."""
    config = config_of(model) if quantized is ... else {**config_of(model), "quantization_config": quantized}
    stdout = add(config, "--id", "mine").stdout
    assert "Note: quantised weights are counted as the numbers that they stand for, without scales\n" in stdout
    assert re.findall(r"Note: a plan has their bytes with --set (.*)\n", stdout) == ([says] if says else [])
    assert ("Note: which setting of a plan has their bytes isn't known: choose weight_dtype" in stdout) == (not says)


def test_quantised_weights_described_in_a_file_beside(add: Run) -> None:
    """NVIDIA's older checkpoints describe their weights in hf_quant_config.json, beside a config that is silent."""
    described = {
        "producer": {"name": "modelopt"},
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
    }
    Path("hf_quant_config.json").write_text(json.dumps(described), encoding="utf-8")
    stdout = add(config_of("llama3-8b"), "--id", "mine").stdout
    assert "Note: a plan has their bytes with --set weight_dtype=nvfp4 kv_dtype=fp8\n" in stdout


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("adapter_config.json", '{"peft_type": "LORA", "r": 16}',
         'peft_type "LORA" is an adapter\'s, trained beside a frozen model; give the config.json of that model'),
        ("model.gguf", "GGUF", "these are weights, not a config.json; give the config.json that lies beside"),
        ("Qwen3-8B", None, "there is no such file; planner doesn't reach the hub: download the model's config"),
    ],
)  # fmt: skip
def test_other_files_of_a_checkpoint(add: Run, name: str, text: str | None, says: str) -> None:
    """An adapter's config, weights, and a name of the hub are told what to give instead; nothing is written."""
    if text is not None:
        Path(name).write_text(text, encoding="utf-8")
    assert says in refused("models", "add", name, "--to", "mine.csv")
    assert not Path("mine.csv").exists()


def test_notes_what_it_assumed(add: Run) -> None:
    """What the config leaves to its class, and what of a multimodal model is left out, is said."""
    stdout = add(config_of("gemma3-4b")).stdout
    assert "Note: text_config.vocab_size is not said: 262208, as gemma3_text has it\n" in stdout
    assert "Note: tie_word_embeddings is not said: true, as gemma3_text has it\n" in stdout
    assert "Note: head_dim is not said: 256, as gemma3_text has it\n" in stdout
    assert "Note: gemma3: its language model alone (text_config, gemma3_text)\n" in stdout
    assert "Note: vision_config is not counted\n" in stdout
    stdout = add(config_of("ernie-4.5-21b-a3b", moe_num_shared_experts=...), "--id", "other").stdout
    assert "Note: moe_num_shared_experts is not said: 0, as ernie4_5_moe has it\n" in stdout


def test_a_head_that_is_tied_outside_alone_is_noted(add: Run) -> None:
    """Whether the head is tied differs between a multimodal config and its language model: which one counts is said."""
    inner = {**config_of("mistral-nemo-12b"), "tie_word_embeddings": False}
    config = {"model_type": "mistral3", "tie_word_embeddings": True, "text_config": inner}
    said = "Note: tie_word_embeddings differs inside and outside text_config: false is used\n"
    assert said in add(config, "--id", "mine").stdout
    assert said not in add({**config, "tie_word_embeddings": False}, "--id", "other").stdout


def test_layers_of_different_sizes(add: Run) -> None:
    """Gemma 4: layers that share keys and values keep no cache, yet work; what wider heads take stands as ratios."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 64}
    layers = {"num_hidden_layers": 9, "num_kv_shared_layers": 2, "global_head_dim": 32, "intermediate_size": 64}
    done = add({"model_type": "gemma4_text", **sizes, **layers}, "--id", "mine")
    assert done.exit_code == 0, done.output
    row = load_models(Path("mine.csv")).row("mine")
    assert [row[name] for name in ("n_full_attention_layers", "n_local_layers", "n_linear_layers")] == [7, 6, 2]
    assert "Note: 2 of 9 layers use the keys and values of an earlier layer: they stand as linear layers" in done.stdout
    assert (row["global_kv_ratio"], row["local_kv_ratio"]) == (32 / 8, 1)
    # One global layer of two keeps a cache, and 6 windowed ones of 7.
    assert (row["global_attention_ratio"], row["local_attention_ratio"]) == (2 * 32 / 8, 7 / 6)


@pytest.mark.parametrize(
    ("config", "cache", "work"),
    [
        ({"model_type": "mimo_v2_flash", "moe_layer_freq": [0, 0], "hybrid_layer_pattern": [0, 1]}, 4 / 2, 1),
        (
            {"model_type": "laguna", "num_attention_heads_per_layer": [4, 8], "mlp_layer_types": ["dense", "dense"],
             "layer_types": ["full_attention", "sliding_attention"]},
            1, 8 / 4,
        ),
    ],
    ids=["MiMo", "Laguna"],
)  # fmt: skip
def test_layers_with_a_window_of_more_heads(add: Run, config: Config, cache: float, work: float) -> None:
    """The columns are the heads of the layers without a window; what the others cache, and their work, are ratios."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 80, "vocab_size": 64}
    widths = {"intermediate_size": 64, "num_hidden_layers": 2, "v_head_dim": 64, "sliding_window": 128}
    experts = {"n_routed_experts": 4, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
    done = add({**sizes, **widths, **experts, **config}, "--id", "mine")
    assert done.exit_code == 0, done.output
    row = load_models(Path("mine.csv")).row("mine")
    assert (row["local_kv_ratio"], row["local_attention_ratio"]) == (cache, work)
    assert row["global_kv_ratio"] == row["global_attention_ratio"] == 1


def test_blocks_that_are_no_layers(add: Run) -> None:
    """Nemotron-H: what stands otherwise than in the model is said; experts may read a latent vector."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 64}
    spaces = {"mamba_num_heads": 4, "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 2, "conv_kernel": 4}
    experts = {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "moe_latent_size": 16}
    shared = {"moe_shared_expert_intermediate_size": 48, "hybrid_override_pattern": "MEMEM*EME"}
    done = add({"model_type": "nemotron_h", **sizes, **spaces, **experts, **shared}, "--id", "mine")
    assert done.exit_code == 0, done.output
    row = load_models(Path("mine.csv")).row("mine")
    names = ("n_layers", "n_full_attention_layers", "n_linear_layers")
    assert [row[name] for name in names] == [4, 1, 3]
    assert [row[name] for name in ("d_ff_expert", "expert_latent_dim", "d_ff_shared")] == [24, 16, 48 + 16]
    assert "Note: its 9 blocks stand as 4 layers, as many as it has feed-forward blocks; its 4 state" in done.stdout


def test_the_row_works_with_calc(add: Run) -> None:
    """The CSV serves as --models."""
    add(config_of("qwen3-next-80b-a3b"), "--id", "next", "--name", "Next")
    words = ["calc", "transformer", "--models", "mine.csv", "-m", "next", "--get", "n_params_total", "--json"]
    assert json.loads(run(*words).stdout) == {"n_params_total": 79_674_391_296}
    assert load_models(Path("mine.csv")).row("next")["name"] == "Next"


@pytest.mark.parametrize(
    ("name", "fields", "identifier"),
    [
        ("my-llama.json", {"_name_or_path": "meta-llama/Meta-Llama-3-8B"}, "my-llama"),
        ("config.json", {"_name_or_path": "meta-llama/Meta-Llama-3-8B"}, "Meta-Llama-3-8B"),
        ("config.json", {"_name_or_path": "./checkpoint"}, "the-folder"),
        ("config.json", {}, "the-folder"),
    ],
)
def test_the_id_that_it_takes(tmp_path: Path, name: str, fields: Config, identifier: str) -> None:
    """Without --id the file's name is the id if it is not config.json, else the checkpoint's, else the folder's."""
    folder = tmp_path / "the-folder"
    folder.mkdir()
    (folder / name).write_text(json.dumps(config_of("llama3-8b", **fields)))
    command("models", "add", folder / name, "--to", folder / "mine.csv")
    assert list(load_models(folder / "mine.csv").rows) == [identifier]


def test_a_new_file_has_the_columns_that_the_row_needs(add: Run) -> None:
    """A dense model needs few columns; one of experts and windows has its own besides."""
    add(config_of("llama3-8b"), "--id", "plain")
    few = "id,name,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,max_context,source"
    assert Path("mine.csv").read_text(encoding="utf-8").splitlines()[0] == few
    Path("mine.csv").unlink()
    add(config_of("gpt-oss-20b"), "--id", "sparse")
    header = Path("mine.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    needed = {
        "moe_experts",
        "moe_top_k",
        "sliding_window",
        "n_global_layers",
        "attn_sinks",
        "expert_bias",
        "router_bias",
    }
    assert needed <= set(header)


def test_a_model_of_experts_alone_makes_a_new_file(add: Run) -> None:
    """A config whose every layer has experts says no feed-forward width: the new file has that column, blank."""
    assert add(config_of("qwen3.5-35b-a3b"), "--id", "sparse").exit_code == 0
    assert load_models(Path("mine.csv")).row("sparse")["d_ff"] == 8 * 512


def test_the_shipped_columns_are_enough(add: Run) -> None:
    """To a copy of the shipped database every config of the tests is appended, and not a byte before it changes."""
    before = MODELS.path.read_bytes()
    for identifier in (
        "llama3-8b",
        "deepseek-v3",
        "qwen3-next-80b-a3b",
        "gpt-oss-20b",
        "llama4-scout",
        "glm-5.2",
        "falcon-40b",
    ):
        Path("mine.csv").write_bytes(before)
        assert add(config_of(identifier), "--id", "mine").exit_code == 0
        after = Path("mine.csv").read_bytes()
        assert after.startswith(before)
        assert after[len(before) :].count(b"\n") == 1


def test_a_row_says_where_it_is_from(add: Run) -> None:
    """The source of a row names the config, its checkpoint and its digest, whatever characters those hold."""
    assert add(config_of("llama3-8b", _name_or_path="o/\ud800\n" + "x" * 1000), "--id", "mine").exit_code == 0
    with Path("mine.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["source"].startswith("HF config.json of o/??xxx")
    assert ", SHA-256 " in row["source"]
    assert len(row["source"]) < 200


def test_a_doubtful_size_is_told_once(add: Run) -> None:
    """One warning for a number that is doubted, which names the config: none of a file that is gone, or of no name."""
    done = add(config_of("llama3-8b"), "--set", "vocab=3", "d_model=2e6", "head_dim=128", "--id", "mine")
    assert done.exit_code == 0, done.output
    doubts = [line for line in done.stderr.splitlines() if "column d_model" in line]
    assert len(doubts) == 1, doubts
    assert doubts[0].startswith("Warning: config.json, column d_model: ")
