"""The shipped databases: ids kept, a source for every number, SI units, settled conflicts, exact counts."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from planner import data
from planner.catalog import Table, Value, load_dtypes, load_hardware, load_models
from planner.formulas.units import parse_unit
from planner.measure.devices import matching

MODELS = load_models()
HARDWARE = load_hardware()
DTYPES = load_dtypes()
BOOK = load_hardware(data.folder("hardware_db") / "scaling_book.csv")
TABLES = pytest.mark.parametrize("table", [MODELS, HARDWARE, DTYPES, BOOK], ids=lambda table: table.path.stem)

MODEL_IDS = """
gpt2 gpt2-medium gpt2-xl gpt3-6.7b gpt3-175b llama-7b llama-13b llama-30b llama-65b llama2-7b llama2-13b llama2-70b
codellama-34b tinyllama-1.1b llama3-8b llama3-70b llama3.1-8b llama3.1-70b llama3.1-405b llama3.2-1b llama3.2-3b
llama3.3-70b llama4-scout llama4-maverick gemma-2b gemma-7b gemma2-2b gemma2-9b gemma2-27b gemma3-270m gemma3-1b
gemma3-4b gemma3-12b gemma3-27b gemma4-26b-a4b gemma4-31b qwen2-0.5b qwen2-7b qwen2-72b qwen2-57b-a14b
qwen1.5-moe-a2.7b qwen2.5-0.5b qwen2.5-1.5b qwen2.5-3b qwen2.5-7b qwen2.5-14b qwen2.5-32b qwen2.5-72b qwen3-0.6b
qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b qwen3-235b-a22b qwen3-coder-480b-a35b
qwen3-next-80b-a3b qwen3.5-27b qwen3.5-35b-a3b qwen3.5-122b-a10b qwen3.5-397b-a17b mistral-7b-v0.1 mistral-7b-v0.3
mistral-nemo-12b ministral-8b mistral-small-24b mistral-small-3.1-24b mistral-large-123b mixtral-8x7b mixtral-8x22b
deepseek-coder-33b deepseek-llm-67b deepseek-v2 deepseek-v2-lite deepseek-v3 deepseek-r1 deepseek-v3.2
deepseek-v4-flash deepseek-v4-pro kimi-k2 kimi-k2.5 kimi-k3 gpt-oss-120b gpt-oss-20b olmo2-7b olmo2-13b olmo2-32b
olmoe-1b-7b phi-2 phi-3-mini phi-3-medium phi-3.5-moe phi-4 phi-4-mini falcon-7b falcon-40b falcon-180b palm-8b
palm-540b chinchilla-70b gopher-280b bloom-176b opt-125m opt-6.7b opt-13b opt-30b opt-66b opt-175b glm-4.5
glm-4.5-air command-r command-r-plus command-a glm-4-9b yi-6b yi-34b gpt-neox-20b pythia-12b mpt-7b dbrx
ernie-4.5-21b-a3b jamba-52b nemotron-4-340b grok-1 granite-3.1-8b internlm2-7b smollm2-135m smollm3-3b
starcoder2-7b deepseek-moe-16b glm-5 glm-5.2 minimax-text-01 minimax-m2.5 minimax-m3 mimo-v2-flash step-3.5-flash
seed-oss-36b gpt3-125m nemotron3-nano-30b-a3b nemotron3-super-120b-a12b
"""
HARDWARE_IDS = """
tpu-v2 tpu-v3 tpu-v4 tpu-v4i tpu-v5e tpu-v5p tpu-v6e tpu-v7x tpu-8t tpu-8i v100-sxm2-32 v100-sxm2-16 a100-sxm-40
a100-sxm-80 a800-sxm a100-pcie-40 a100-pcie-80 h100-sxm h100-sxm-96 h100-pcie h100-nvl h800-sxm h200-sxm h200-nvl h20
h20-141 gh200-96 gh200-144 b200-sxm gb200 b300-sxm gb300 l4 l40s l40 l20 a10g a10 a30 a40 rtx-a6000 rtx-6000-ada t4
rtx-3090 rtx-4090 rtx-5090 rtx-pro-6000 gb10 mi100 mi210 mi250x mi300x mi300a mi325x mi350x mi355x mi455x
ryzen-ai-max-395 rubin gaudi2 gaudi3 trainium1 trainium2 trainium3 inferentia2 ascend-910b ascend-910c maia-200 mtia-2
groq-lpu-v1 cerebras-wse3 apple-m4-max apple-m3-ultra cpu-spr-8481c cpu-generic
"""


def test_ids_are_kept() -> None:
    """Every model and accelerator keeps its id, in the order of the database."""
    assert list(MODELS.rows) == MODEL_IDS.split()
    assert list(HARDWARE.rows) == HARDWARE_IDS.split()


@pytest.mark.parametrize("folder", ["hardware_db", "model_db", "templates"])
def test_data_files_end_their_lines_alike(folder: str) -> None:
    """A line feed and nothing else ends a line, the last too: files of two kinds of line ends differ in every line."""
    paths = sorted(data.folder(folder).glob("*.csv"))
    assert paths
    for path in paths:
        written = path.read_bytes()
        assert b"\r" not in written, path.name
        assert written.endswith(b"\n"), path.name


@TABLES
def test_every_number_has_a_source(table: Table) -> None:
    """Each row has a source, and so has each number: the column that covers it isn't blank."""
    for identifier, row in table.rows.items():
        assert table.sources[identifier].strip()
        for column in table.columns:
            if isinstance(row[column.name], float) and column.name not in ("least_slice", "stages_in_step"):
                assert row[column.source], (identifier, column.name)


@TABLES
def test_columns_have_unit_and_label(table: Table) -> None:
    """Each column has a unit of the closed list and a label of its own, and names come once."""
    for column in table.columns:
        parse_unit(column.unit)
    assert len({column.label for column in table.columns}) == len(table.columns)
    assert len({column.name for column in table.columns}) == len(table.columns)


@TABLES
def test_the_files_cite_public_sources_alone(table: Table) -> None:
    """No word of the place where the data were gathered is left in a shipped file."""
    text = table.path.read_text(encoding="utf-8")
    assert not [word for word in ("/shared", "/work", "find_string", "readable here") if word in text]


@pytest.mark.parametrize("table", [HARDWARE, BOOK, DTYPES], ids=lambda table: table.path.stem)
def test_every_column_is_meant(table: Table) -> None:
    """The columns of the shipped hardware and dtypes are those of the table, in its order."""
    with table.path.open(encoding="utf-8", newline="") as stream:
        assert next(csv.reader(stream)) == ["id", *[column.name for column in table.columns]]


def n_params(row: Mapping[str, Value]) -> float:
    """The parameter count of a model, written apart from the templates."""
    n = SimpleNamespace(**row)
    queries, values = n.n_heads * (n.qk_nope_dim + n.qk_rope_dim), n.n_heads * n.v_head_dim
    keys = n.n_kv_heads * (n.qk_nope_dim if n.kv_shared else n.qk_nope_dim + n.v_head_dim)
    query = n.d_model * queries * (1 + n.attention_gate)
    if n.q_lora_rank:
        query = n.q_lora_rank * (n.d_model + 1 + queries)
    key_value = n.d_model * keys
    if n.kv_lora_rank:
        up = n.n_heads * (n.qk_nope_dim + n.v_head_dim)
        key_value = n.d_model * (n.kv_lora_rank + n.qk_rope_dim) + n.kv_lora_rank * (1 + up)
    biases = n.n_qkv_bias * (queries + keys) + n.n_o_bias * n.d_model
    extras = n.extra_params_per_layer + n.indexer_params_per_layer
    output = n.o_lora_rank * values + n.o_groups * n.o_lora_rank * n.d_model if n.o_groups else values * n.d_model
    attention = query + key_value + output + biases + n.qk_norm_params + n.attn_sink_params + extras

    def mlp(width: float, bias: float, inner: float = n.d_model) -> float:
        return float(n.mlp_matrices * inner * width + bias * ((n.mlp_matrices - 1) * width + inner))

    shared = n.n_shared_experts * mlp(n.d_ff_shared, 0) + n.n_shared_gate * n.d_model
    router = n.n_experts * (n.d_model + n.n_router_bias)
    moe = n.n_experts * mlp(n.d_ff_expert, n.n_expert_bias, n.expert_latent_dim or n.d_model) + shared + router
    norms = (n.n_layers * n.norms_per_layer + n.final_norms + n.embed_norms) * n.norm_vectors * n.d_model
    tables = (n.vocab * (1 + n.is_untied) + n.pos_emb_rows) * n.d_model + n.vocab * n.n_lm_head_bias
    mixing = n.n_full_attention_layers * attention + n.n_linear_layers * n.linear_attention_params_layer
    feed_forward = (n.n_layers - n.n_moe_layers) * mlp(n.d_ff, n.n_mlp_bias) + n.n_moe_layers * moe
    return float(mixing + feed_forward + norms + tables + n.extra_params_total)


def test_published_counts_come_out_to_the_digit() -> None:
    """The columns give every exactly published parameter count, 126 of them."""
    exact = {name: row["n_params_published"] for name, row in MODELS.rows.items() if row["n_params_published"]}
    assert {name: n_params(MODELS.row(name)) for name in exact} == exact
    assert len(exact) == 126
    assert exact["llama3-70b"] == 70_553_706_496


def test_the_indexer_is_a_part_of_the_model() -> None:
    """GLM-5 with its indexers and its prediction layer is its checkpoint's header, to the digit."""
    n = SimpleNamespace(**MODELS.row("glm-5"))
    for name in ("n_layers", "n_full_attention_layers", "n_moe_layers"):
        setattr(n, name, getattr(n, name) + n.mtp_layers)
    joint = 2 * n.d_model**2 + 3 * n.d_model  # a projection of two inputs, their norms and the head's
    assert n_params(vars(n)) + joint == 753_864_139_008


def test_rounded_counts_are_not_compared() -> None:
    """A count that its source rounds, or that nobody published, is N/A."""
    for name in ("gpt3-175b", "palm-540b", "chinchilla-70b", "glm-5"):
        assert MODELS.row(name)["n_params_published"] is None


CHOICES = [
    ("tpu-v3", "peak_bf16", 123e12), ("tpu-v3", "link_bandwidth", 70e9),
    ("tpu-v5e", "hbm_bandwidth", 819e9), ("tpu-v5e", "peak_int8", 394e12),
    ("tpu-v5p", "hbm_bytes", 95 * 2**30), ("tpu-v5p", "link_bandwidth", 100e9),
    ("tpu-v6e", "peak_fp8", 918e12), ("trainium1", "hbm_bandwidth", 820e9),
    ("tpu-v7x", "peak_int8", None), ("tpu-v7x", "hbm_bytes", 192 * 2**30),
    ("h100-sxm", "hbm_bandwidth", 3350e9), ("h200-sxm", "hbm_bytes", 141e9),
    ("b200-sxm", "hbm_bytes", 180 * 2**30), ("b300-sxm", "peak_int8", 153.5e12),
    ("gaudi3", "peak_bf16", 1677.7e12), ("h800-sxm", "link_bandwidth", 200e9),
    ("h100-sxm-96", "hbm_bandwidth", 2400e9), ("gh200-144", "hbm_bytes", 141e9),
    ("mi355x", "link_bandwidth", 7 * 76.8e9), ("l40s", "dcn_bandwidth", 12.5e9),
    ("mi250x", "peak_fp32", 95.7e12), ("cerebras-wse3", "peak_fp16", None),
]  # fmt: skip


@pytest.mark.parametrize(("chip", "column", "value"), CHOICES)
def test_conflicts_are_settled(chip: str, column: str, value: Value) -> None:
    """Where sources disagree, the chosen number stands in the cell and the choice beside it in words."""
    row = HARDWARE.row(chip)
    assert row[column] == value
    assert row["conflicts"]


@pytest.mark.parametrize(
    ("called", "chip"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm"), ("NVIDIA B200", "b200-sxm"), ("NVIDIA B300 SXM6 AC", "b300-sxm"),
        ("NVIDIA GH200 480GB", "gh200-96"), ("NVIDIA GH200 144G HBM3e", "gh200-144"), ("TPU v6 lite", "tpu-v6e"),
    ],
)  # fmt: skip
def test_a_chip_is_known_by_what_its_driver_calls_it(called: str, chip: str) -> None:
    """A profile or a device of this name, as the drivers of such machines print it, is of one chip: this one."""
    assert matching(called, {name: str(row["jax_device_kind"] or "") for name, row in HARDWARE.rows.items()}) == (chip,)


def test_a_price_says_when_and_where() -> None:
    """Each price has its date and its region, or says that it is one for all; 39 chips have one.

    A longer term is cheaper, and the source says from where a reserved price is.
    """
    priced = {name: row["source_price"] for name, row in HARDWARE.rows.items() if row["price_per_chip_hour"]}
    assert len(priced) == 39
    for name, row in HARDWARE.rows.items():
        terms = [row[column] for column in ("price_per_chip_hour", "price_reserved_1y", "price_reserved_3y")]
        known = [price for price in terms if isinstance(price, float)]
        assert known == sorted(known, reverse=True), name
        assert ("reserved" in str(row["source_price"])) == (len(known) > 1), name
    for name, source in priced.items():
        assert re.search(r"20\d\d-\d\d-\d\d| in 2026", str(source)), name
        assert re.search(r"\bUS\b|(us|europe)-\w+|nyc2|North America|worldwide|all regions", str(source)), name


BOUNDS = {
    "FLOP/s/chip": (1e11, 2e17), "byte/chip": (4e6, 1e12), "byte/s/chip": (1e9, 1e17), "byte/s": (1e9, 2e13),
    "USD/h/chip": (0.3, 20), "W/chip": (50, 30_000), "1/s": (1e8, 1e10), "chip": (1, 1e4), "1": (0, 1e4),
}  # fmt: skip


@pytest.mark.parametrize("table", [HARDWARE, BOOK], ids=lambda table: table.path.stem)
def test_hardware_is_in_si_units(table: Table) -> None:
    """Each figure is of the magnitude that its base unit makes it: no GB, TFLOP/s or kW by mistake."""
    for identifier, row in table.rows.items():
        for column in table.columns:
            value = row[column.name]
            if isinstance(value, float):
                low, high = BOUNDS[column.unit]
                assert low <= value <= high, (identifier, column.name)


@pytest.mark.parametrize(
    ("chips", "expected"),
    [
        ("tpu-v4 tpu-v5p tpu-v7x", ("torus", 3, 4, 1)),
        ("tpu-v2 tpu-v5e tpu-v6e", ("torus", 2, 16, 0)),
        ("tpu-v3", ("torus", 2, 32, 0)),
        ("tpu-v4i", ("torus", 1, 4, 0)),
        ("h100-sxm gb200 gh200-96 mi300x mi355x l40s l4 a10g t4 rtx-4090 mi250x mi210", ("switch", None, None, None)),
        ("a100-pcie-80 h100-pcie", ("torus", 1, 2, 0)),
        ("groq-lpu-v1 cerebras-wse3 tpu-8i cpu-generic", (None, None, None, None)),
    ],
)
def test_topology_and_wraparound(chips: str, expected: tuple[Value, ...]) -> None:
    """A topology is torus, switch or N/A; axes of 3D tori wrap together at 4, of 2D ones at a full side."""
    for chip in chips.split():
        row = HARDWARE.row(chip)
        assert (row["topology"], row["torus_axes"], row["wrap_multiple"], row["wrap_needs_all"]) == expected


def test_cards_without_a_link_of_their_own_are_joined_by_pcie() -> None:
    """What a network of PCIe gives a chip is its bandwidth to the host: eight A10G of a g5.48xlarge share a model."""
    joined = [row for row in HARDWARE.rows.values() if row["network"] == "pcie"]
    assert len(joined) == 12
    assert all(row["link_bandwidth"] == row["pcie_bandwidth"] for row in joined)
    assert all(row["node_size"] == row["chips_per_host"] for row in joined)


def test_networks_agree_with_themselves() -> None:
    """A torus's links make its egress, a switch's link is its egress, a node sends what its chips send."""
    for row in HARDWARE.rows.values():
        n = SimpleNamespace(**row)
        if n.link_bandwidth is not None:
            assert n.scaleup_bandwidth == n.link_bandwidth * (2 * n.torus_axes if n.topology == "torus" else 1)
        if n.node_bandwidth is not None:
            assert n.topology == "switch"
            assert n.node_bandwidth == n.dcn_bandwidth * n.node_size
    assert HARDWARE.row("h100-sxm")["node_bandwidth"] == 400e9
    assert HARDWARE.row("gb200")["node_bandwidth"] == 3600e9


@pytest.mark.parametrize("size", ["max_chips", "node_size"])
def test_chips_of_a_mesh_have_a_link_to_each_other(tmp_path: Path, size: str) -> None:
    """One of seven links of eight chips leads to another, however their number is written; a switch leads to all."""
    own = tmp_path / "chips.csv"
    own.write_text(f"id,network,topology,scaleup_bandwidth,{size}\na,mesh,switch,420e9,8\nb,switch,,420e9,8\n")
    rows = load_hardware(own).rows
    assert [rows[chip]["peer_share"] for chip in "ab"] == [1 / 7, 1]
    assert HARDWARE.row("tpu-v5e")["peer_share"] is None


def test_cards_of_a_server_reach_each_other_through_its_pcie(tmp_path: Path) -> None:
    """A chip of one's own with `network` pcie has the network of the database's cards, such as the L40S, which says
    its topology; it was N/A in plans of several chips."""
    own = tmp_path / "chips.csv"
    own.write_text("id,network,scaleup_bandwidth,max_chips\nmine,pcie,32GB/s,8\n")
    mine, known = load_hardware(own).rows["mine"], HARDWARE.row("l40s")
    names = ("topology", "link_bandwidth", "node_size", "peer_share")
    assert [mine[name] for name in names] == [known[name] for name in names] == ["switch", 32e9, 8, 1]


def test_the_books_own_chips() -> None:
    """The scaling book's numbers stand apart, with the chapter, under the ids of the same chips."""
    assert BOOK.row("tpu-v5e")["link_bandwidth"] == 45e9
    assert BOOK.row("tpu-v5p")["vector_peak_flops"] == 2 * 8 * 128 * 4 * 1.75e9
    assert BOOK.row("h100-sxm")["node_bandwidth"] == 400e9
    assert set(BOOK.rows) - set(HARDWARE.rows) == {"h800"}
    assert all("chapter" in source for source in BOOK.sources.values())


@pytest.mark.parametrize(("model", "size"), [("gpt-oss-120b", 60.8), ("gpt-oss-20b", 12.8)])
def test_blocks_of_few_bits_weigh_what_is_published(model: str, size: float) -> None:
    """Experts in mxfp4 and all else in bf16 make gpt-oss' checkpoints as its model card has them, in GiB; without the
    scales of blocks they would be 57.4 and 12.3."""
    row = MODELS.row(model)
    experts = row["n_moe_layers"] * row["n_experts"] * row["mlp_matrices"] * row["d_model"] * row["d_ff_expert"]  # type: ignore[operator]
    size_of = {name: each["bytes_per_element"] for name, each in DTYPES.rows.items()}
    held = experts * size_of["mxfp4"] + (n_params(row) - experts) * size_of["bf16"]  # type: ignore[operator,arg-type]
    assert held / 2**30 == pytest.approx(size, abs=0.05)
    assert size_of["nvfp4"] == (16 * 4 + 8) / 16 / 8  # bits of a block and its scale, over its numbers
    assert size_of["mxfp8"] == (32 * 8 + 8) / 32 / 8
    assert size_of["int4_g128"] == (128 * 4 + 16 + 4) / 128 / 8


def test_dtypes_name_their_peak() -> None:
    """Each dtype has its bytes in memory; its peak is the hardware column that is named after it."""
    sizes = {name: row["bytes_per_element"] for name, row in DTYPES.rows.items()}
    assert sizes["int4"] == sizes["fp4"] == 0.5
    assert sizes["tf32"] == sizes["fp32"] == sizes["int32"] == 4
    assert (sizes["fp64"], sizes["bf16"], sizes["fp16"], sizes["fp8"], sizes["int8"]) == (8, 2, 2, 1, 1)
    peaks = {column.name for column in HARDWARE.columns if column.name.startswith("peak_")}
    assert {row["peak_column"] for row in DTYPES.rows.values()} - {None} == peaks
    assert all(row["peak_column"] in (None, f"peak_{name}") for name, row in DTYPES.rows.items())
