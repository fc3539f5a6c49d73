"""The catalog on a user's own file: derived columns, defaults, names and order."""

from __future__ import annotations

import csv
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.catalog import checked_table, load_hardware, load_models
from planner.catalog.columns import BlankRule, Field
from planner.catalog.columns import parse as parse
from planner.catalog.databases import Databases
from planner.catalog.hardware_columns import DTYPE_FIELDS, HARDWARE_FIELDS
from planner.catalog.model_columns import MODEL_FIELDS
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.formulas.lookups import facts
from tests.catalogs import DENSE, HEADER, LOADERS, TINY, csv_of, load_csv, pairs, row_of_csv

with (Path(__file__).parent / "cases/data_sheets.csv").open(encoding="utf-8", newline="") as _file:
    DATA_SHEETS = list(csv.DictReader(_file))


def test_dense_is_the_special_case(tmp_path: Path) -> None:
    """Eight columns are enough: one expert, no layer of experts, no latent attention, no window."""
    row = row_of_csv(tmp_path, DENSE)
    expected = {
        "n_experts": 1, "n_experts_active": 1, "n_moe_layers": 0, "d_ff_expert": 0, "kv_lora_rank": 0,
        "qk_rope_dim": 0, "qk_nope_dim": 16, "v_head_dim": 16, "n_full_attention_layers": 2,
        "n_local_layers": 0, "n_linear_layers": 0, "mlp_matrices": 3, "is_untied": 1, "norm_vectors": 1,
        "norms_per_layer": 2, "final_norms": 1, "max_context": None, "window": None, "train_tokens": None,
        "n_params_published": None, "attention": "gqa", "name": "tiny",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


DERIVED = """
moe_experts=8 moe_top_k=2 -> n_moe_layers=2 n_experts=8 n_experts_active=2 d_ff_expert=256
n_experts=8 n_experts_active=2 d_ff_expert=32 d_ff= -> n_moe_layers=2 d_ff=64
moe_experts=4 moe_top_k=1 n_layers=9 n_dense_layers=2 moe_layer_step=3 -> n_moe_layers=2
moe_experts=4 moe_shared_experts=1 moe_d_ff=32 -> d_ff_shared=32 n_experts_active=N/A
moe_experts=4 moe_shared_experts=1 moe_d_ff=32 moe_shared_d_ff=99 -> d_ff_shared=99
router_bias=true router_score_bias=yes -> n_router_bias=2
moe_shared_gate=TRUE attn_gate=1 expert_bias=Yes -> n_shared_gate=1 attention_gate=1 n_expert_bias=1
tied_embeddings=true mlp_gated=no -> is_untied=0 mlp_matrices=2
mlp_matrices=2 -> mlp_matrices=2
bias=qkv+o -> n_qkv_bias=1 n_o_bias=1 n_mlp_bias=0
bias=QKV -> n_qkv_bias=1 n_o_bias=0 n_mlp_bias=0
bias=mlp -> n_qkv_bias=0 n_o_bias=0 n_mlp_bias=1
bias=all o_bias=false -> n_qkv_bias=1 n_o_bias=0 n_mlp_bias=1 n_lm_head_bias=0
norm=layernorm -> norm_vectors=2
norm=layernorm_nobias -> norm_vectors=1
train_tokens=2e12 -> run_tokens=2e+12
train_tokens= -> run_tokens=1.5e+13
qk_norm=per_head -> qk_norm_params=32
qk_norm=full -> qk_norm_params=96
attn_sinks=1 -> attn_sink_params=4
kv_lora_rank=8 qk_rope_dim=4 v_head_dim=12 -> qk_nope_dim=12 q_lora_rank=0 attention=mla
head_dim= kv_lora_rank=8 q_lora_rank=8 qk_nope_dim=12 qk_rope_dim=4 v_head_dim=12 -> head_dim=16 attention=mla
kv_lora_rank=8 -> qk_rope_dim=N/A qk_nope_dim=N/A v_head_dim=N/A
sliding_window=128 -> n_local_layers=2 window=128
sliding_window=128 n_global_layers=1 -> n_local_layers=1 window=128
max_context=512 -> n_local_layers=0 window=512
n_global_layers=1 max_context=512 -> n_local_layers=1 window=N/A
n_full_attn_layers=1 linear_attn_params_per_layer=7 -> n_linear_layers=1 attention=hybrid
n_linear_layers=1 -> n_full_attention_layers=1 n_local_layers=0 attention=hybrid linear_attention_params_layer=N/A
n_linear_layers=0 -> n_full_attention_layers=2 linear_attention_params_layer=0
n_linear_layers=1 attention=hybrid -> n_full_attention_layers=1
n_linear_layers=1 sliding_window=128 -> n_full_attention_layers=1 n_local_layers=1 window=128
attention=hybrid -> n_full_attention_layers=N/A n_linear_layers=N/A
n_params_total_published=5 published_kind=exact,incl.vision -> n_params_published=5
n_params_total_published=5 published_kind=rounded -> n_params_published=N/A
n_params_total_published=5 -> n_params_published=N/A
"""


@pytest.mark.parametrize("case", DERIVED.strip().splitlines())
def test_blank_cells_follow_from_others(tmp_path: Path, case: str) -> None:
    """What stands for a blank cell follows from the row's other cells by the column's rule."""
    cells, expected = map(pairs, case.split("->"))
    row = row_of_csv(tmp_path, DENSE | cells)
    shown = {name: "N/A" if row[name] is None else row[name] for name in expected}
    assert {name: f"{v:g}" if isinstance(v, float) else v for name, v in shown.items()} == expected


@pytest.mark.parametrize(
    "cells",
    [
        "id=tpu-v5p kind=tpu flops_bf16=459e12 hbm_Bps=2.765e12 hbm_bytes=102005473280 ici_links=6"
        " ici_link_Bps_unidirectional=1e11 ici_topology=3d_torus scaleup_domain_max_chips=8960"
        " dcn_Bps_per_chip=6.25e9 price_usd_per_chip_hour=4.2 least_slice=2",
        "id=h100-sxm flops_fp8=1978.9e12 scaleup_egress_Bps_per_chip=450e9 ici_topology=switch tdp_W=700"
        " scaleup_domain_max_chips=8 dcn_Bps_per_chip=50e9 host_pcie_Bps_unidirectional=64e9 switch_reduces=1",
    ],
)
def test_data_sheet_names_of_hardware(tmp_path: Path, cells: str) -> None:
    """A file in a data sheet's words gives the figures of the shipped row, derived ones included."""
    row = row_of_csv(tmp_path, pairs(cells), "hardware")
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    shipped = load_hardware().row(pairs(cells)["id"])
    assert numbers == {name: shipped[name] for name in numbers}
    assert len(numbers) > len(cells.split()) - 3


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("kind=other network=2d_torus max_chips=32", (4, 0, 1)),  # 4 by 8: both axes wrap
        ("kind=other network=2d_torus max_chips=64", (8, 0, 1)),
        ("kind=other network=3d_torus max_chips=512", (8, 1, 1)),
        ("kind=other network=ring max_chips=12", (12, 0, 1)),
        ("kind=tpu network=3d_torus max_chips=4096", (4, 1, 4)),
        ("kind=TPU network=3D_Torus max_chips=4096", (4, 1, 4)),
        ("kind=tpu network=2d_torus max_chips=256", (16, 0, 4)),
        ("kind=gpu", (None, None, 1)),
        ("kind=gpu network=switch max_chips=8", (None, None, 1)),
    ],
)
def test_a_torus_wraps_where_its_axes_do(tmp_path: Path, cells: str, expected: tuple[float | None, ...]) -> None:
    """An axis as long as the shortest of the whole torus wraps, of TPUs one of cubes; their slices have four chips."""
    row = row_of_csv(tmp_path, pairs(f"id=mine {cells}"), "hardware")
    assert (row["wrap_multiple"], row["wrap_needs_all"], row["least_slice"]) == expected
    assert row["calibration"] == ("tpu" if "tpu" in cells.lower() else "gpu")


def test_a_missing_number_is_not_zero(tmp_path: Path) -> None:
    """Of hardware the id and one column more are required; each figure that is not given is N/A."""
    row = row_of_csv(tmp_path, {"id": "bare", "kind": "gpu"}, "hardware")
    assert row["calibration"] == "gpu"  # the median of its kind
    assert row["least_slice"] == 1  # chips are joined in any number unless they are a TPU's
    known = ("name", "kind", "calibration", "least_slice", "stages_in_step")
    assert {v for name, v in row.items() if name not in known} == {None}


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize("step", [1, -1], ids=["in-order", "reversed"])
def test_own_columns_round_trip(tmp_path: Path, kind: str, step: int) -> None:
    """A table written under its own column names, in any order, reads back the same."""
    table = LOADERS[kind]()
    columns = [column.name for column in table.columns][::step]
    lines = [["id", *columns]]
    for identifier, row in table.rows.items():
        lines.append([identifier, *["" if row[name] is None else str(row[name]) for name in columns]])
    again = load_csv(tmp_path, csv_of(*lines), kind)
    assert dict(again.rows) == dict(table.rows)
    assert again.columns == table.columns


def test_spreadsheet_habits_are_read_silently(tmp_path: Path) -> None:
    """A byte-order mark, CRLF, blank lines, spaces around cells and further columns change nothing."""
    plain = load_csv(tmp_path, f"{HEADER}\n{TINY}\n")
    edited = load_csv(tmp_path, f"\ufeff{HEADER} , remarks\r\n {TINY} , mine\r\n\r\n,,,,,,,,\r\n")
    assert dict(edited.rows) == dict(plain.rows)
    assert edited.digests != plain.digests


def test_ids_ignore_case() -> None:
    """A row is found whatever the case of its id; an unknown id gets the nearest ones."""
    models = load_models()
    assert models.row(" Llama3-70B ") == models.rows["llama3-70b"]
    with pytest.raises(UserError, match=r'no model "lama3-70b"; did you mean llama3-70b'):
        models.row("lama3-70b")
    with pytest.raises(UserError, match=r'no accelerator "h10-sxm"; did you mean h100-sxm'):
        load_hardware().row("h10-sxm")


def test_a_row_without_source_cites_the_file(tmp_path: Path) -> None:
    """A user's row is traceable to its file and line; one source may stand for all figures of a chip."""
    assert load_csv(tmp_path, f"{HEADER}\n{TINY}\n").sources == {"tiny": "mine.csv, line 2"}
    table = load_csv(tmp_path, "id,hbm_bytes,source\nmine,1e9,data sheet\n", "hardware")
    assert table.sources == {"mine": "data sheet"}
    assert table.row("mine")["source_hbm"] == "data sheet"


@given(st.floats(min_value=0, max_value=1e30, allow_subnormal=False))
def test_numbers_read_back_to_the_bit(number: float) -> None:
    """Any number that Python or a spreadsheet prints is read as the same float."""
    field = Field("quantity", "Quantity", kind="number")
    assert parse(field, repr(number)) == number
    assert parse(field, f" +{number:.17E} ") == number


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(list(DENSE)))
def test_column_order_is_free(tmp_path_factory: pytest.TempPathFactory, order: list[str]) -> None:
    """Columns in any order give the same row."""
    folder = tmp_path_factory.mktemp("order")
    assert row_of_csv(folder, {name: DENSE[name] for name in order}) == row_of_csv(folder, DENSE)


@pytest.mark.parametrize("fields", [MODEL_FIELDS, HARDWARE_FIELDS, DTYPE_FIELDS], ids=["models", "hardware", "dtypes"])
def test_the_dictionary_is_sound(fields: tuple[Field, ...]) -> None:
    """No name stands for two columns; rules and bounds read known columns."""
    names = [name for field in fields for name in (field.name, *field.aliases)]
    assert len(set(names)) == len(names)
    for field in fields:
        assert {field.at_most, field.source} - {""} <= set(names)
        if isinstance(field.blank, BlankRule):
            assert set(field.blank.inputs) <= set(names)


def test_long_files_are_kept_small(tmp_path: Path) -> None:
    """A row costs less than a kilobyte, so that a million rows fit in memory."""
    lines = [f"model-{n},2,64,256,4,2,16,{n + 1000}" for n in range(1_000)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    tracemalloc.start()
    table = load_models(path)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / len(table.rows) < 1000
    assert table.row("model-999")["vocab"] == 1_999


def test_the_catalog_starts_quickly() -> None:
    """Reading a database imports none of the heavy libraries."""
    script = "import sys; from planner import catalog; catalog.load_models(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pandas", "numpy", "openpyxl", "jax", "click"} & set(done.stdout.split())


@pytest.mark.parametrize("line", DATA_SHEETS, ids=lambda line: f"{line['chip']} {line['column']}")
def test_chips_have_the_numbers_of_their_data_sheets(line: dict[str, str]) -> None:
    """A number of a chip, rounded as its data sheet prints it, is what the data sheet prints."""
    value = load_hardware().row(line["chip"])[line["column"]]
    assert isinstance(value, float)
    digits = len(line["printed"].partition(".")[2])
    assert round(value / float(line["unit"]), digits) == float(line["printed"])


def test_a_plus_is_read_as_the_word() -> None:
    """Command R+ is the larger of two models whose names differ by the plus alone, however it is written."""
    models = load_models()
    assert [models.identify(text) for text in ("Command R+", "command-r+", "command r")] == [
        "command-r-plus", "command-r-plus", "command-r",
    ]  # fmt: skip


def test_a_model_is_meant_by_its_repository() -> None:
    """A Hugging Face repository is its model, in any case; another of the same model is told the nearest ids."""
    models = load_models()
    known = ("meta-llama/Meta-Llama-3-70B", "qwen/qwen3-235b-a22b")
    assert [models.identify(text) for text in known] == ["llama3-70b", "qwen3-235b-a22b"]
    with pytest.raises(UserError, match="did you mean gemma3-27b or "):
        models.identify("google/gemma-3-27b-it")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A100 80GB", "a100-sxm-80 or a100-pcie-80"), ("B200", "b200-sxm"),
        ("H200", "h200-sxm or h200-nvl"),
        ("ironwood", "tpu-v7x"), ("Trillium", "tpu-v6e"), ("GB200 NVL72", "gb200"), ("v5p", "tpu-v5p"),
        ("H100 80GB SXM5", "h100-sxm"),
    ],
)  # fmt: skip
def test_an_unknown_chip_is_told_those_that_its_words_name(text: str, meant: str) -> None:
    """The remedy names the chips in whose id or name each of the words begins a word, before what is only alike."""
    with pytest.raises(UserError) as fault:
        load_hardware().identify(text)
    assert fault.value.remedy == f"did you mean {meant}?"


def test_an_unknown_id_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a thousand runs on one unknown chip doesn't compare it with every known one a thousand times."""
    table, sought = replace(load_hardware()), list[str]()
    monkeypatch.setattr(checked_table, "nearest", lambda text, known: sought.append(text) or nearest(text, known))
    said = set()
    for _ in range(3):
        with pytest.raises(UserError) as caught:
            table.identify("zx81")
        said.add(str(caught.value))
    assert sought == ["zx81"]
    assert len(said) == 1


def test_what_is_filled_in_is_not_said_to_be_the_files(tmp_path: Path) -> None:
    """The number of a blank cell is told as a default, or with the columns that it follows from; a given one is not."""
    experts = {"n_experts": "8", "n_experts_active": "2", "d_ff_expert": "32", "d_ff": ""}
    path = tmp_path / "mine.csv"
    path.write_text(csv_of(list(DENSE | experts), list((DENSE | experts).values())), encoding="utf-8")
    known = facts(library.load("training"), "tiny", None, Databases(path))
    said = {name: known.origin("model", name) for name in ("d_ff_expert", "d_ff", "n_shared_experts", "run_tokens")}
    assert said == {
        "d_ff_expert": "tiny in mine.csv: mine.csv, line 2",
        "d_ff": "tiny in mine.csv: not given, follows from n_moe_layers, n_layers, n_experts_active, d_ff_expert; "
        "mine.csv, line 2",
        "n_shared_experts": "tiny in mine.csv: not given, planner's default",
        "run_tokens": "tiny in mine.csv: not given, planner's default",
    }
    assert known.model is not None
    assert known.model["d_ff"] == 64
