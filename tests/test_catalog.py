"""The catalog on a user's own file: derived columns, defaults, and every fault named with its place."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import data, progress
from planner.catalog import Table, Value, load_dtypes, load_hardware, load_models
from planner.catalog.cells import parse
from planner.catalog.columns import Field, Rule
from planner.catalog.hardware_columns import DTYPE_FIELDS, HARDWARE_FIELDS
from planner.catalog.model_columns import MODEL_FIELDS
from planner.errors import UserError

LOADERS = {"models": load_models, "hardware": load_hardware, "dtypes": load_dtypes}
HEADER = "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab"
TINY = "tiny,2,64,256,4,2,16,1000"
DENSE = dict(zip(HEADER.split(","), TINY.split(","), strict=True))


def _load(folder: Path, content: str | bytes, kind: str = "models") -> Table:
    path = folder / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return LOADERS[kind](path)


def _csv(*lines: list[str]) -> str:
    return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines)


def _row(folder: Path, cells: Mapping[str, str], kind: str = "models") -> Mapping[str, Value]:
    """The row of a file with these columns alone."""
    return _load(folder, _csv(list(cells), list(cells.values())), kind).row(cells["id"])


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


def test_dense_is_the_special_case(tmp_path: Path) -> None:
    """Eight columns are enough: one expert, no layer of experts, no latent attention, no window."""
    row = _row(tmp_path, DENSE)
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
bias=mlp -> n_qkv_bias=0 n_o_bias=0 n_mlp_bias=1
bias=all o_bias=false -> n_qkv_bias=1 n_o_bias=0 n_mlp_bias=1 n_lm_head_bias=0
norm=layernorm -> norm_vectors=2
norm=layernorm_nobias -> norm_vectors=1
qk_norm=per_head -> qk_norm_params=32
qk_norm=full -> qk_norm_params=96
attn_sinks=1 -> attn_sink_params=4
kv_lora_rank=8 qk_rope_dim=4 v_head_dim=12 -> qk_nope_dim=12 q_lora_rank=0 attention=mla
kv_lora_rank=8 -> qk_rope_dim=N/A qk_nope_dim=N/A v_head_dim=N/A
sliding_window=128 -> n_local_layers=2 window=128
sliding_window=128 n_global_layers=1 -> n_local_layers=1 window=128
max_context=512 -> n_local_layers=0 window=512
n_global_layers=1 max_context=512 -> n_local_layers=1 window=N/A
n_full_attn_layers=1 linear_attn_params_per_layer=7 -> n_linear_layers=1 attention=hybrid
n_linear_layers=1 -> n_full_attention_layers=1 n_local_layers=0 attention=hybrid
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
    cells, expected = map(_pairs, case.split("->"))
    row = _row(tmp_path, DENSE | cells)
    shown = {name: "N/A" if row[name] is None else row[name] for name in expected}
    assert {name: f"{v:g}" if isinstance(v, float) else v for name, v in shown.items()} == expected


@pytest.mark.parametrize(
    "cells",
    [
        "id=tpu-v5p kind=tpu flops_bf16=459e12 hbm_Bps=2.765e12 hbm_bytes=102005473280 ici_links=6"
        " ici_link_Bps_unidirectional=1e11 ici_topology=3d_torus scaleup_domain_max_chips=8960"
        " dcn_Bps_per_chip=6.25e9 price_usd_per_chip_hour=4.2",
        "id=h100-sxm flops_fp8=1978.9e12 scaleup_egress_Bps_per_chip=450e9 ici_topology=switch tdp_W=700"
        " scaleup_domain_max_chips=8 dcn_Bps_per_chip=50e9 host_pcie_Bps_unidirectional=64e9",
    ],
)
def test_data_sheet_names_of_hardware(tmp_path: Path, cells: str) -> None:
    """A file in a data sheet's words gives the figures of the shipped row, derived ones included."""
    row = _row(tmp_path, _pairs(cells), "hardware")
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    shipped = load_hardware().row(_pairs(cells)["id"])
    assert numbers == {name: shipped[name] for name in numbers}
    assert len(numbers) > len(cells.split()) - 3


def test_a_missing_number_is_not_zero(tmp_path: Path) -> None:
    """Of hardware the id and one column more are required; each figure that is not given is N/A."""
    row = _row(tmp_path, {"id": "bare", "kind": "gpu"}, "hardware")
    assert {value for name, value in row.items() if name not in ("name", "kind")} == {None}


@pytest.mark.parametrize("kind", LOADERS)
@pytest.mark.parametrize("step", [1, -1], ids=["in-order", "reversed"])
def test_own_columns_round_trip(tmp_path: Path, kind: str, step: int) -> None:
    """A table written under its own column names, in any order, reads back the same."""
    table = LOADERS[kind]()
    columns = [column.name for column in table.columns][::step]
    lines = [["id", *columns]]
    for identifier, row in table.rows.items():
        lines.append([identifier, *["" if row[name] is None else str(row[name]) for name in columns]])
    again = _load(tmp_path, _csv(*lines), kind)
    assert dict(again.rows) == dict(table.rows)
    assert again.columns == table.columns


def test_spreadsheet_habits_are_read_silently(tmp_path: Path) -> None:
    """A byte-order mark, CRLF, blank lines, spaces around cells and further columns change nothing."""
    plain = _load(tmp_path, f"{HEADER}\n{TINY}\n")
    edited = _load(tmp_path, f"\ufeff{HEADER} , remarks\r\n {TINY} , mine\r\n\r\n,,,,,,,,\r\n")
    assert dict(edited.rows) == dict(plain.rows)
    assert edited.digest != plain.digest


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
    assert _load(tmp_path, f"{HEADER}\n{TINY}\n").sources == {"tiny": "mine.csv, line 2"}
    table = _load(tmp_path, "id,hbm_bytes,source\nmine,1e9,data sheet\n", "hardware")
    assert table.sources == {"mine": "data sheet"}
    assert table.row("mine")["source_hbm"] == "data sheet"


BAD_CELLS = [
    ("id", "", "is blank"), ("d_model", " ", "is blank"), ("d_ff", "", "is blank"),
    ("d_model", "NaN", '"NaN" is not a number'), ("d_model", "-inf", "is not a number"),
    ("d_model", "1e999", "too large"), ("d_model", "-64", "out of range"), ("d_model", "0", "out of range"),
    ("d_model", "64.5", "not a count"), ("d_model", "64k", '"64k" is not a number'),
    ("d_model", "0x40", "is not a number"), ("d_model", "\u0666\u0664", "is not a number"),
    ("d_model", "1,5", "a point for decimals"), ("vocab", "1,000", "no thousands separators"),
    ("vocab", "1_000", "no thousands separators"), ("vocab", "1 000", "no thousands separators"),
    ("attn_gate", "maybe", "true or false"), ("norm", "rmsnrm", "did you mean rmsnorm"),
    ("name", "a\x07b", "control characters"), ("name", "x" * 32_768, "32,768 characters"),
    ("n_kv_heads", "8", "n_kv_heads 8 is more than n_heads 4"),
    ("n_dense_layers", "3", "n_dense_layers 3 is more than n_layers 2"),
    ("moe_top_k", "2", "moe_top_k 2 is more than n_experts 1"),
    ("n_local_layers", "3", "n_local_layers 3 is more than n_full_attention_layers 2"),
    ("n_kv_heads", "3", "n_kv_heads 3 does not divide n_heads 4; correct one of the two"),
    ("qk_rope_dim", "15", "qk_rope_dim 15 is odd, and rotary positions turn pairs; write an even number"),
    ("n_params_active_published", "8", "n_params_active_published 8 is more than n_params_total_published 4"),
    ("id", "tin*", "wildcards"), ("id", "ti\u200bny", "printable"), ("id", "x" * 256, "at most 255"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell", "words"), BAD_CELLS, ids=lambda part: part[:20])
def test_bad_cells_are_refused(tmp_path: Path, column: str, cell: str, words: str) -> None:
    """A cell that its column can't hold is one line: file, line, column, what is wrong, the remedy."""
    beside = {"n_params_total_published": "4"} if column == "n_params_active_published" else {}
    with pytest.raises(UserError) as fault:
        _row(tmp_path, DENSE | {column: cell} | beside)
    message = str(fault.value)
    assert f"mine.csv, line 2, column {column}: " in message
    assert words in message
    assert fault.value.remedy
    assert "\n" not in message


LAWLESS = """
kv_lora_rank=8 qk_rope_dim=8 qk_nope_dim=16 v_head_dim=16 -> qk_nope_dim + qk_rope_dim is 24, and head_dim is 16
tied_embeddings=yes is_untied=1 -> tied_embeddings 1 and is_untied 1 contradict each other
mlp_gated=no mlp_matrices=3 -> mlp_gated 0 and mlp_matrices 3 contradict each other
moe_experts=8 n_experts=16 -> moe_experts 8 and n_experts 16 contradict each other
n_experts=8 n_dense_layers=1 n_moe_layers=2 -> n_dense_layers + n_moe_layers is 3, more than n_layers 2
n_full_attn_layers=2 n_linear_layers=1 -> n_full_attention_layers + n_linear_layers is 3, more than n_layers 2
n_linear_layers=3 -> n_linear_layers 3 is more than n_layers 2
n_full_attn_layers=1 n_global_layers=2 -> n_global_layers 2 is more than n_full_attention_layers 1
n_linear_layers=1 n_global_layers=2 -> n_global_layers 2 is more than n_full_attention_layers 1
n_full_attn_layers=1 n_global_layers=1 n_local_layers=1 -> n_local_layers is 2, more than n_full_attention_layers 1
n_linear_layers=1 n_global_layers=1 n_local_layers=1 -> n_local_layers is 2, more than n_full_attention_layers 1
moe_experts=8 moe_top_k=16 -> moe_top_k 16 is more than n_experts 8
moe_experts=8 moe_d_ff=0 -> d_ff_expert is 0, but there are 8 experts
"""


@pytest.mark.parametrize("case", LAWLESS.strip().splitlines())
def test_numbers_that_cannot_be_together(tmp_path: Path, case: str) -> None:
    """Cells that are each possible and not together are one line, at a column that the file has."""
    cells, words = case.split(" -> ")
    with pytest.raises(UserError) as fault:
        _row(tmp_path, DENSE | _pairs(cells))
    assert words in str(fault.value)
    assert fault.value.place is not None
    assert fault.value.place.line == 2
    assert fault.value.place.column in _pairs(cells)


def test_the_first_fault_is_told(tmp_path: Path) -> None:
    """Rows are checked many at a time; of several faults that of the first line is told, whatever its kind."""
    good = "\n".join(f"m{n}{TINY[4:]}" for n in range(700))
    bad = TINY.replace("64,", "x,", 1)
    with pytest.raises(UserError, match='line 702, column d_model: "x" is not a number'):
        _load(tmp_path, f"{HEADER}\n{good}\n{bad}\n{TINY},9\n")


@pytest.mark.parametrize(
    ("kind", "column", "says"),
    [
        ("models", "top_k", "top_k (did you mean moe_top_k?)"), ("models", "owner", "column not read: owner;"),
        ("models", "experts_per_token", "experts_per_token (did you mean moe_top_k?)"),
        ("hardware", "hbm_gb", "hbm_gb (did you mean hbm_bytes?)"),
        ("hardware", "price", "price (did you mean price_per_chip_hour"), ("hardware", "note_of_mine", ""),
        ("hardware", "Comment", ""), ("models", "layer_pattern", ""),
        ("models", "note_indexer_params_per_layer", ""), ("models", "note_n_params_total_published", ""),
        ("models", "_n_heads", ""), ("models", "_n_params_active_published", ""), ("hardware", "Note hbm_bytes", ""),
    ],
)  # fmt: skip
def test_columns_that_nothing_reads_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, column: str, says: str
) -> None:
    """An unknown column is kept out of the table and said in one line, with the one that may be meant; a note isn't."""
    cells = DENSE if kind == "models" else {"id": "x", "hbm_bytes": "8e10"}
    progress.say_warnings()
    capsys.readouterr()
    assert column not in _row(tmp_path, cells | {column: "1"}, kind)
    progress.say_warnings()
    said = capsys.readouterr().err
    assert (says in said) if says else not said
    assert said.count("\n") == bool(says)


BAD_FILES = {
    "missing column": (f"{HEADER[:-6]}\n{TINY[:-5]}", "line 1: column 'vocab' is missing"),
    "another name": (f"{HEADER}_size\n{TINY}", "did you mean vocab_size? rename it to vocab"),
    "doubled column": (f"{HEADER},vocab\n{TINY},1", "line 1: column 'vocab' is there twice"),
    "two names": (f"{HEADER},moe_d_ff,d_ff_expert\n{TINY},1,1", "moe_d_ff and d_ff_expert are one column"),
    "misspelt": (f"{HEADER},sliding_windw\n{TINY},1", "column sliding_windw: unknown column"),
    "remedy": (f"{HEADER},sliding_windw\n{TINY},1", "did you mean sliding_window?"),
    "other case": (f"{HEADER},Max Context\n{TINY},1", "did you mean max_context?"),
    "no name": (f"{HEADER},\n{TINY},1", "line 1, column 9: the column has no name"),
    "doubled id": (f"{HEADER}\n{TINY}\n{TINY.title()}", 'line 3, column id: the id "Tiny" is there already'),
    "too few cells": (f"{HEADER}\n{TINY[:-5]}", "line 2: 7 cells, but the header has 8 columns"),
    "too many cells": (f"{HEADER}\n{TINY},1", "line 2: 9 cells, but the header has 8 columns"),
    "semicolons": (f"{HEADER}\n{TINY}".replace(",", ";"), "line 1: the columns are separated by semicolons"),
    "tabs": (f"{HEADER}\n{TINY}".replace(",", "\t"), "line 1: the columns are separated by tabs"),
    "open quote": (f'{HEADER}\n"{TINY}', "not a CSV row"),
    "UTF-16": (f"{HEADER}\n{TINY}".encode("utf-16"), "UTF-16"),
    "latin-1": (f"{HEADER},name\n{TINY},Café".encode("latin-1"), "line 2: byte 0xE9 is not UTF-8"),
    "empty": ("", "the file is empty"),
    "header only": (HEADER, "no rows below the header"),
}


@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    """A file that is no table of models is refused with its place and a remedy."""
    with pytest.raises(UserError) as fault:
        _load(tmp_path, content)
    assert "mine.csv" in str(fault.value)
    assert words in str(fault.value)
    assert fault.value.remedy


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("id=x hbm_bytess=1", r"did you mean hbm_bytes\?"),
        ("id=x hbm_bandwidth=0", "more than 0"),  # it would divide by zero: blank is how to say not known
        ("id=x topology=mesh", "not one of torus, switch"),
    ],
)
def test_bad_hardware_is_refused(tmp_path: Path, cells: str, words: str) -> None:
    """Hardware is checked as models are."""
    with pytest.raises(UserError, match=words):
        _row(tmp_path, _pairs(cells), "hardware")


def test_names_that_differ_by_a_number_are_no_slip(tmp_path: Path) -> None:
    """A column of one's own such as peak_fp64 is ignored, though one letter from peak_fp4."""
    row = _row(tmp_path, {"id": "x", "peak_fp64": "67e12", "peak_bf16": "1e15"}, "hardware")
    assert row["peak_fp4"] is None


def test_the_other_table_is_refused(tmp_path: Path) -> None:
    """A CSV of models is none of accelerators, nor the other way round, whatever names and sources both have."""
    shipped = data.folder("model_db") / "models.csv"
    with pytest.raises(UserError, match="line 1: no column says anything of an accelerator; give the CSV of"):
        load_hardware(shipped)
    with pytest.raises(UserError, match="line 1: column 'n_layers' is missing"):
        load_models(data.folder("hardware_db") / "accelerators.csv")
    path = tmp_path / "chips.csv"
    path.write_text("id,name,year,source\nnext,Next,2030,A guess\n")
    with pytest.raises(UserError, match="or add a column such as peak_bf16"):
        load_hardware(path)


def test_a_path_that_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder and a file that may not be read are named as such."""
    with pytest.raises(UserError, match="no such file"):
        load_models(tmp_path / "nowhere.csv")
    with pytest.raises(UserError, match="a folder"):
        load_models(tmp_path)

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UserError, match="can't be read: Permission denied"):
        load_models(tmp_path / "mine.csv")


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
    assert _row(folder, {name: DENSE[name] for name in order}) == _row(folder, DENSE)


@pytest.mark.parametrize("fields", [MODEL_FIELDS, HARDWARE_FIELDS, DTYPE_FIELDS], ids=list(LOADERS))
def test_the_dictionary_is_sound(fields: tuple[Field, ...]) -> None:
    """No name stands for two columns; rules and bounds read known columns; each rule says what it is."""
    names = [name for field in fields for name in (field.name, *field.aliases)]
    assert len(set(names)) == len(names)
    for field in fields:
        assert {field.at_most, field.source} - {""} <= set(names)
        if isinstance(field.blank, Rule):
            assert field.blank.function.__doc__
            assert set(field.blank.inputs) <= set(names)


def test_long_files_are_kept_small(tmp_path: Path) -> None:
    """A row costs less than a kilobyte, so that a million rows fit in memory."""
    lines = [f"model-{n},2,64,256,4,2,16,{n + 1000}" for n in range(4_000)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    tracemalloc.start()
    table = load_models(path)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / len(table.rows) < 1000
    assert table.row("model-3999")["vocab"] == 4_999


def test_the_catalog_starts_quickly() -> None:
    """Reading a database imports none of the heavy libraries."""
    script = "import sys; from planner import catalog; catalog.load_models(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pandas", "numpy", "openpyxl", "jax", "click"} & set(done.stdout.split())
