"""Hugging Face configs as rows of a models CSV: exact counts, what is asked for, and files left as they were."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from planner import cli, library
from planner.catalog import Value, load_models
from planner.evaluate import Facts, evaluate
from planner.facts import bytes_of_dtypes
from planner.hf.defaults import CLASS_DEFAULTS
from planner.hf.families import FAMILIES
from planner.hf.store import completed
from planner.hf.understand import understand

FOLDER = Path(__file__).parent / "data" / "hf"
CONFIGS = {path.stem: path for path in sorted(FOLDER.glob("[!_]*.json"))}
COUNTED = json.loads((FOLDER / "_counted.json").read_text(encoding="utf-8"))
MODELS = load_models()
TRANSFORMER = library.load("transformer")
SHARED = sorted(set(CONFIGS) & set(MODELS.rows))

# Columns that no config says, or that count what isn't the language model.
NOT_IN_A_CONFIG = {
    "name", "year", "published_kind", "n_params_published", "n_params_active_published", "train_tokens", "hf_id",
    "source", "extra_params_total",
}  # fmt: skip
# MiniMax-Text-01's config allows 10,240,000 positions; the database has the context that is advertised.
DIFFER = {"minimax-text-01": {"max_context", "window"}}

# Of families whose code lies beside the weights: the counts of their safetensors headers on the hub; Kimi K2's is
# what transformers counts for the same architecture in Kimi K2.5, Mistral Small 3.1's text that of Mistral Small 3,
# untied (transformers 4.57; 5.23 would tie it, and the checkpoint has a head of its own).
PUBLISHED = {
    "baichuan-7b": 7_505_973_248, "chatglm3-6b": 6_243_584_000, "internlm2-7b": 7_737_708_544,
    "kimi-k2": 1_026_408_232_448, "mistral-small-3.1-24b": 23_572_403_200, "qwen-1.8b": 1_836_828_672,
}  # fmt: skip

Run = Callable[..., Result]
Config = dict[str, Any]


def _row(path: Path, **settings: str) -> Mapping[str, Value]:
    return completed({"id": "mine", **understand(path, settings).cells}, path)


def _value(row: Mapping[str, Value], name: str) -> Value:
    return evaluate(TRANSFORMER, Facts(model=row, dtypes=bytes_of_dtypes())).value(name)


def _config(identifier: str, **changes: Any) -> Config:
    config: Config = json.loads(CONFIGS[identifier].read_text(encoding="utf-8")) | changes
    return {name: value for name, value in config.items() if value is not ...}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `planner models add config.json --to mine.csv` with further words, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(config: Config | str | bytes | None, *words: str) -> Result:
        if config is not None:
            text = json.dumps(config) if isinstance(config, dict) else config
            Path("config.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        return CliRunner().invoke(cli.group, ["models", "add", "config.json", "--to", "mine.csv", *words])

    return run


def _refused(done: Result) -> str:
    """The one line of a refusal."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("Error: ").rstrip()


@pytest.mark.parametrize("identifier", SHARED)
def test_equals_the_database(identifier: str) -> None:
    """A config of the hub makes every architecture column of the database's row, and the published count."""
    row, known = _row(CONFIGS[identifier]), MODELS.rows[identifier]
    skipped = NOT_IN_A_CONFIG | DIFFER.get(identifier, set())
    columns = [column.name for column in MODELS.columns if column.name not in skipped]
    assert {name: row[name] for name in columns} == {name: known[name] for name in columns}
    published, elsewhere = known["n_params_published"], known["extra_params_total"]
    if isinstance(published, float) and isinstance(elsewhere, float):
        assert _value(row, "n_params_total") == published - elsewhere


def test_most_of_the_database_is_covered() -> None:
    """Of 82 models all that have a config on the hub are held against it: 74, of which 71 have an exact count."""
    assert len(SHARED) == 74
    assert sum(MODELS.rows[identifier]["n_params_published"] is not None for identifier in SHARED) == 71


@pytest.mark.parametrize("identifier", sorted(set(CONFIGS) - set(SHARED)))
def test_equals_an_independent_count(identifier: str) -> None:
    """A config of a model outside the database has the count that transformers makes of it, or its header's."""
    assert _value(_row(CONFIGS[identifier]), "n_params_total") == (COUNTED["models"] | PUBLISHED)[identifier]


def test_variations_equal_an_independent_count(tmp_path: Path) -> None:
    """Small configs with every field of each family changed, left out or null count as transformers counts them."""
    path = tmp_path / "config.json"
    for case in COUNTED["variations"]:
        path.write_text(json.dumps(case["config"]))
        row = _row(path)
        assert _value(row, "n_params_total") == case["n_params"], case
        for column in {"n_local_layers", "window", "n_linear_layers"} & set(case):
            assert row[column] == case[column], case


@pytest.mark.parametrize("model_type", CLASS_DEFAULTS)
def test_class_defaults_are_those_of_transformers(model_type: str) -> None:
    """What a nested config leaves out stands for what transformers' class has."""
    known = COUNTED["class_defaults"][model_type]
    assert {name: known[name] for name in CLASS_DEFAULTS[model_type]} == CLASS_DEFAULTS[model_type]


_WEB = {"bias": False, "alibi": False, "multi_query": True, "parallel_attn": True, "vocab_size": 65024}
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
    "Yi 34B": (34_388_917_248, _config("yi-34b", model_type="Yi")),
    "InternLM 7B": (7_321_948_160, _config("llama-7b", model_type="internlm", vocab_size=103168)),
    "Qwen 7B": (7_721_324_544, {
        "model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "num_attention_heads": 32,
        "num_hidden_layers": 32, "no_bias": True, "vocab_size": 151936, "seq_length": 8192,
    }),
    "ChatGLM2 6B": (6_243_584_000, _config("chatglm3-6b", head_dim=..., kv_channels=..., post_layer_norm=...)),
    "Llama 4 Scout": (107_769_861_120, _config("llama4-scout")["text_config"]),
    "DeepSeek-V3 as transformers saves it": (671_026_419_200, _config(
        "deepseek-v3", topk_method=..., first_k_dense_replace=..., mlp_layer_types=["dense"] * 3 + ["sparse"] * 58,
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", _OLDER)
def test_a_family_under_other_names(tmp_path: Path, name: str) -> None:
    """Configs as a checkpoint's own code or a later transformers writes them count as the same model does."""
    count, config = _OLDER[name]
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    assert _value(_row(path), "n_params_total") == count


def test_every_family_is_held_against_a_count() -> None:
    """Each model_type that is known has a config or a variation whose count is known, but for names of the same."""
    nested = [part for path in CONFIGS.values() for part in [json.loads(path.read_text()).get("text_config")] if part]
    configs = [json.loads(path.read_text()) for path in CONFIGS.values()] + nested
    tried = {str(config["model_type"]).lower() for config in configs}
    tried |= {case["config"]["model_type"] for case in COUNTED["variations"]}
    families = [FAMILIES[name] for name in tried if name in FAMILIES]
    assert [name for name, family in FAMILIES.items() if not any(family is each for each in families)] == []


def test_prints_what_it_understood(add: Run) -> None:
    """The id, the exact counts and the cache of a token in its dtype are printed, with notes of what is not counted."""
    done = add(_config("deepseek-v3"), "--id", "mine")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.startswith("Added mine to mine.csv\n")
    assert lines[2][:2] == ["n_params_total", "671,026,419,200"]
    assert lines[3][:2] == ["n_params_active", "37,552,297,472"]
    assert lines[4][:3] == ["kv_bytes_per_token", "70,272", "byte"]
    assert lines[4][-1] == "bf16"
    assert "Note: 1 layer of multi-token prediction (MTP) not counted\n" in done.stdout
    assert "Note: quantised weights are counted as the numbers that they stand for, without scales\n" in done.stdout


def test_notes_what_it_assumed(add: Run) -> None:
    """What the config leaves to its class, and what of a multimodal model is left out, is said."""
    stdout = add(_config("gemma3-4b")).stdout
    assert "Note: text_config.vocab_size is not said: 262208, as gemma3_text has it\n" in stdout
    assert "Note: tie_word_embeddings is not said: true, as gemma3_text has it\n" in stdout
    assert "Note: head_dim is not said: 256, as gemma3_text has it\n" in stdout
    assert "Note: gemma3: its language model alone (text_config, gemma3_text)\n" in stdout
    assert "Note: vision_config is not counted\n" in stdout


def test_the_row_works_with_calc(add: Run) -> None:
    """The CSV serves as --models."""
    add(_config("qwen3-next-80b-a3b"), "--id", "next", "--name", "Next")
    words = ["calc", "transformer", "--models", "mine.csv", "-m", "next", "--get", "n_params_total", "--json"]
    assert json.loads(CliRunner().invoke(cli.group, words).stdout) == {"n_params_total": 79_674_391_296}
    assert load_models(Path("mine.csv")).row("next")["name"] == "Next"


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
    what, remedy = _refused(add(_config(identifier, **dict.fromkeys(left_out.split(), ...)))).split("; ")
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
    config, known, words = _config(identifier, **dict.fromkeys(sizes, ...)), MODELS.rows[identifier], list[str]()
    natural = {"moe_experts": "n_experts"}
    while (done := add(config, "--id", "mine", *words)).exit_code:
        asked = [word.removesuffix("=...") for word in _refused(done).split() if word.endswith("=...")]
        assert asked
        words += [f"--set={name}={known[natural.get(name, name)]}" for name in asked]
    assert words
    assert _value(load_models(Path("mine.csv")).row("mine"), "n_params_total") == known["n_params_published"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{", "config.json, line 1: not JSON: "),
        ("[1]", "not a Hugging Face config: no object in braces"),
        ("{}", "not a Hugging Face config: it has no model_type"),
        (b"\xff\xfe", "not JSON: the file is not UTF-8 text"),
        ("[" * 100_000, "not JSON that can be read"),
        ('{"model_type": "llama", "hidden_size": ' + "9" * 5000 + "}", "not JSON that can be read"),
        ('{"model_type": "llama", "rms_norm_eps": NaN}', "NaN is no number"),
        (None, "config.json: there is no such file"),
        ({"model_type": 7}, "model_type 7 is not a text"),
        ({"model_type": "lama"}, 'model_type "lama" is not a family that can be read; did you mean llama'),
        ({"model_type": "rwkv7"}, "Or type the row by hand; it needs id, n_layers, d_model, n_heads"),
        ({"model_type": "gemma3"}, "gemma3 keeps its language model in text_config, which is not in the config"),
        ({"model_type": "x", "text_config": {"model_type": "y"}}, 'text_config.model_type "y" is not a family'),
        (_config("llama3-8b", hidden_size="4096"), 'hidden_size "4096" is not a whole number'),
        (_config("llama3-8b", hidden_size=4096.5), "hidden_size 4096.5 is not a whole number"),
        (_config("llama3-8b", hidden_size=True), "hidden_size true is not a whole number"),
        (_config("llama3-8b", hidden_size=[4096]), "hidden_size [4096] is not a whole number"),
        (_config("llama3-8b", hidden_size=0), "hidden_size 0 is out of range; it must be 1 or more"),
        (_config("llama3-8b", hidden_size=float("inf")), "hidden_size Infinity is not a whole number"),
        (_config("llama3-8b", num_hidden_layers=10**12), "num_hidden_layers 1000000000000 is out of range"),
        (_config("llama3-8b", vocab_size=10**20), "100000000000000000000 is not a count"),
        (_config("llama3-8b", num_key_value_heads=64), "n_kv_heads 64 is more than n_heads 32"),
        (_config("llama3-8b", tie_word_embeddings="no"), 'tie_word_embeddings "no" is not true or false'),
        (_config("gemma3-270m", layer_types=["full_attention"]), "has 1 entries for 18 layers"),
        (_config("gemma3-270m", layer_types=["mamba"] * 18), 'has the kind "mamba"; known: full_attention'),
        (_config("qwen3-30b-a3b", mlp_only_layers="0"), 'mlp_only_layers "0" is not a list of whole numbers'),
        (_config("dbrx", ffn_config=3), "ffn_config 3 is not an object"),
        (_config("opt-125m", word_embed_proj_dim=512), "word_embed_proj_dim 512 differs from hidden_size 768"),
    ],
)
def test_wrong_configs(add: Run, config: Config | str | bytes | None, says: str) -> None:
    """What is no config, or has a wrong field, ends in one line that says what is wrong; nothing is written."""
    assert says in _refused(add(config))
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
    assert says in _refused(add(_config("llama3-8b"), *words))
    assert not Path("mine.csv").exists()


def test_settings_go_before_the_config(add: Run) -> None:
    """Columns typed, one --set or several words after it, take the place of what the config says."""
    done = add(_config("llama3-8b"), "--set", "n_layers=2", "vocab=1000", "window=64", "--id", "mine")
    assert done.exit_code == 0, done.output
    row = load_models(Path("mine.csv")).row("mine")
    assert [row[name] for name in ("n_layers", "vocab", "window", "n_local_layers")] == [2, 1000, 64, 2]


def test_a_setting_takes_the_familys_own_name(add: Run) -> None:
    """A column typed under another of its names is the family's column, not a second one."""
    assert add(_config("gemma3-1b"), "--set", "window=", "--id", "mine").exit_code == 0
    assert load_models(Path("mine.csv")).row("mine")["n_local_layers"] == 0


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
    (folder / name).write_text(json.dumps(_config("llama3-8b", **fields)))
    done = CliRunner().invoke(cli.group, ["models", "add", str(folder / name), "--to", str(folder / "mine.csv")])
    assert done.exit_code == 0, done.output
    assert load_models(folder / "mine.csv").ids() == [identifier]


def test_a_new_file_has_the_columns_that_the_row_needs(add: Run) -> None:
    """A dense model needs few columns; one of experts and windows has its own besides."""
    add(_config("llama3-8b"), "--id", "plain")
    few = "id,name,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,max_context,source"
    assert Path("mine.csv").read_text().splitlines()[0] == few
    Path("mine.csv").unlink()
    add(_config("gpt-oss-20b"), "--id", "sparse")
    header = Path("mine.csv").read_text().splitlines()[0].split(",")
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


_HEADER = b"id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,max_context"
_TINY = b"tiny,2,64,256,4,2,16,1000,9"
OTHERS = {
    "plain": _HEADER + b",mine\n" + _TINY + b",x\n",
    "crlf": _HEADER + b"\r\n" + _TINY + b"\r\n",
    "bom": b"\xef\xbb\xbf" + _HEADER + b"\n" + _TINY + b"\n",
    "quoted": _HEADER + b',notes\n"t",2, 64,256,4,2,16,1e3,9,"a, ""b""\nc"\n\n',
    "header": _HEADER + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_appending_leaves_every_byte(add: Run, before: bytes) -> None:
    """A row that needs no further column is appended with the file's line ending; every byte before it stays."""
    Path("mine.csv").write_bytes(before)
    assert add(_config("llama3-8b"), "--id", "mine").exit_code == 0
    after = Path("mine.csv").read_bytes()
    assert after.startswith(before)
    appended = after[len(before) :]
    assert appended.count(b"\n") == 1
    assert appended.endswith(b"\r\n") == (b"\r\n" in before)
    assert _value(load_models(Path("mine.csv")).row("mine"), "n_params_total") == 8_030_261_248


def test_appending_ends_the_last_line(add: Run) -> None:
    """A file without a line ending at its end gets one before the row."""
    before = OTHERS["plain"].rstrip(b"\n")
    Path("mine.csv").write_bytes(before)
    assert add(_config("llama3-8b"), "--id", "mine").exit_code == 0
    assert Path("mine.csv").read_bytes().startswith(before + b"\nmine,32,4096,")


@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_further_columns_go_to_the_right(add: Run, before: bytes) -> None:
    """Columns that a row needs are added at the right, blank in the other rows, which keep their text and meaning."""
    Path("mine.csv").write_bytes(before)
    old = load_models(Path("mine.csv")) if before != OTHERS["header"] else None
    assert add(_config("gpt-oss-20b"), "--id", "mine").exit_code == 0
    lines, after = before.splitlines(), Path("mine.csv").read_bytes().splitlines()
    assert all(new.startswith(line) for line, new in zip(lines, after, strict=False))
    assert after[0].startswith(lines[0] + b",moe_experts,moe_top_k,")
    table = load_models(Path("mine.csv"))
    assert _value(table.row("mine"), "n_params_total") == 20_914_757_184
    if old is not None:
        assert all(table.rows[identifier] == row for identifier, row in old.rows.items())


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
        assert add(_config(identifier), "--id", "mine").exit_code == 0
        after = Path("mine.csv").read_bytes()
        assert after.startswith(before)
        assert after[len(before) :].count(b"\n") == 1


def test_an_alias_in_the_file_is_used(add: Run) -> None:
    """A file that calls a column by its other name gets no second one."""
    Path("mine.csv").write_text("id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,window,n_global_layers\n")
    assert add(_config("mistral-7b-v0.1"), "--id", "mine").exit_code == 0
    text = Path("mine.csv").read_text()
    assert "sliding_window" not in text
    assert load_models(Path("mine.csv")).row("mine")["window"] == 4096


def test_an_id_that_is_there_is_refused(add: Run) -> None:
    """An id that the file has, in whatever case, is refused by line; the file stays as it is."""
    assert add(_config("llama3-8b"), "--id", "Mine").exit_code == 0
    before = Path("mine.csv").read_bytes()
    said = _refused(add(_config("llama3-70b"), "--id", "mine"))
    assert (
        said == 'mine.csv, line 2: the id "mine" is there already; choose another with --id, or replace it with --force'
    )
    assert Path("mine.csv").read_bytes() == before


def test_force_replaces_the_row(add: Run) -> None:
    """With --force the row of the same id is replaced where it stands, and the others keep their text."""
    more = b"mine,2,64,256,4,2,16,1000,9,old\nlast,2,64,256,4,2,16,1000,9,\n"
    Path("mine.csv").write_bytes(OTHERS["quoted"] + more)
    before = Path("mine.csv").read_bytes().splitlines()
    assert add(_config("llama3-8b"), "--id", "MINE", "--force").exit_code == 0
    after = Path("mine.csv").read_bytes().splitlines()
    assert [line for line, old in zip(after, before, strict=True) if line != old] == [
        b"MINE,32,4096,14336,32,8,128,128256,8192,"
    ]
    assert load_models(Path("mine.csv")).ids() == ["t", "MINE", "last"]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (b"", "mine.csv: the file is empty"),
        (b"model,n_layers\nx,2\n", "mine.csv, line 1: column 'id' is missing"),
        (b"id;n_layers\nx;2\n", "mine.csv, line 1: the columns are separated by semicolons"),
        (b"id,n_layers\nx,many\n", 'mine.csv, line 2, column n_layers: "many" is not a number'),
        (b"id,vendor\nx,y\n", "mine.csv, line 2, column n_layers: n_layers is blank"),
        (
            OTHERS["plain"] + b"tiny,2,64,256,4,2,16,1000,9,x\n",
            'mine.csv, line 3, column id: the id "tiny" is there already',
        ),
    ],
)
def test_a_file_that_is_no_models_csv_is_left(add: Run, before: bytes, says: str) -> None:
    """What is wrong with an existing file is named in it, and the file stays as it is."""
    Path("mine.csv").write_bytes(before)
    assert says in _refused(add(_config("llama3-8b"), "--id", "mine"))
    assert Path("mine.csv").read_bytes() == before


def test_nothing_is_half_written(add: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the old file, and no temporary one."""
    Path("mine.csv").write_bytes(OTHERS["plain"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "the file can't be written: No space left on device" in _refused(add(_config("llama3-8b")))
    assert Path("mine.csv").read_bytes() == OTHERS["plain"]
    assert {path.name for path in Path().iterdir()} == {"config.json", "mine.csv"}


def test_a_row_says_where_it_is_from(add: Run) -> None:
    """The source of a row names the config, its checkpoint and its digest, whatever characters those hold."""
    assert add(_config("llama3-8b", _name_or_path="o/\ud800\n" + "x" * 1000), "--id", "mine").exit_code == 0
    with Path("mine.csv").open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    assert row["source"].startswith("HF config.json of o/??xxx")
    assert ", SHA-256 " in row["source"]
    assert len(row["source"]) < 200
