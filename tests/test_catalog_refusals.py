"""What the catalog refuses in a user's own file, each fault named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import data, progress
from planner.catalog import load_hardware, load_models
from planner.catalog.databases import Databases
from planner.errors import UserError
from tests.catalogs import DENSE, HEADER, TINY, load_csv, pairs, row_of_csv
from tests.commands import command

BAD_CELLS = [
    ("id", "", "is blank"), ("d_model", " ", "is blank"), ("d_ff", "", "is blank"),
    ("d_model", "NaN", "'NaN' is no number"), ("d_model", "-inf", "is no number"),
    ("d_model", "1e999", "too large"), ("d_model", "-64", "out of range"), ("d_model", "0", "out of range"),
    ("d_model", "64.5", "not a count"), ("d_model", "64q", "unknown unit 'q'"),
    ("d_model", "0x40", "unknown unit 'x'"), ("d_model", "\u0666\u0664", "is no number"),
    ("d_model", "1,5", "a point for decimals"), ("vocab", "1,000", "no thousands separators"),
    ("vocab", "1_000", "no thousands separators"), ("vocab", "1 000", "no thousands separators"),
    ("attn_gate", "maybe", "true or false"), ("norm", "rmsnrm", "did you mean rmsnorm"),
    ("attention", "linear", '"linear" is not one of mha, gqa, mqa, mla, hybrid'),
    ("name", "a\x07b", "control characters"), ("name", "x" * 32_768, "32,768 characters"),
    ("n_kv_heads", "8", "n_kv_heads 8 is more than n_heads 4"),
    ("n_dense_layers", "3", "n_dense_layers 3 is more than n_layers 2"),
    ("moe_top_k", "2", "moe_top_k 2 is more than n_experts 1"),
    ("n_local_layers", "3", "n_local_layers 3 is more than n_full_attention_layers 2"),
    ("n_kv_heads", "3", "n_kv_heads 3 does not divide n_heads 4; correct one of the two"),
    ("qk_rope_dim", "128", "qk_rope_dim 128 is more than head_dim 16; correct one of the two"),
    ("qk_rope_dim", "15", "qk_rope_dim 15 is odd, and rotary positions turn pairs; write an even number"),
    ("n_params_active_published", "8", "n_params_active_published 8 is more than n_params_total_published 4"),
    ("id", "tin*", "wildcards"), ("id", "ti\u200bny", "printable"), ("id", "x" * 256, "at most 255"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "cell", "words"), BAD_CELLS, ids=lambda part: part[:20])
def test_bad_cells_are_refused(tmp_path: Path, column: str, cell: str, words: str) -> None:
    """A cell that its column can't hold is one line: file, line, column, what is wrong, the remedy."""
    beside = {"n_params_total_published": "4"} if column == "n_params_active_published" else {}
    with pytest.raises(UserError) as fault:
        row_of_csv(tmp_path, DENSE | {column: cell} | beside)
    message = str(fault.value)
    assert f"mine.csv, line 2, column {column}: " in message
    assert words in message
    assert fault.value.remedy
    assert "\n" not in message


LAWLESS = """
kv_lora_rank=8 qk_rope_dim=8 qk_nope_dim=16 v_head_dim=16 -> qk_nope_dim + qk_rope_dim is 24, and head_dim is 16
tied_embeddings=yes is_untied=1 -> tied_embeddings 1 and is_untied 1 contradict each other
mlp_gated=no mlp_matrices=3 -> mlp_gated 0 and mlp_matrices 3 contradict each other
n_experts=8 n_experts_active=9 moe_d_ff=8 -> n_experts_active 9 is more than n_experts 8
moe_experts=8 n_experts=16 -> moe_experts 8 and n_experts 16 contradict each other
n_experts=8 n_dense_layers=1 n_moe_layers=2 -> n_dense_layers + n_moe_layers is 3, more than n_layers 2
n_full_attn_layers=2 n_linear_layers=1 -> n_full_attention_layers + n_linear_layers is 3, more than n_layers 2
n_linear_layers=3 -> n_linear_layers 3 is more than n_layers 2
n_full_attn_layers=1 n_global_layers=2 -> n_global_layers 2 is more than n_full_attention_layers 1
n_linear_layers=1 n_global_layers=2 -> n_global_layers 2 is more than n_full_attention_layers 1
n_full_attn_layers=1 n_global_layers=1 n_local_layers=1 -> n_local_layers is 2, more than n_full_attention_layers 1
n_linear_layers=1 n_global_layers=1 n_local_layers=1 -> n_local_layers is 2, more than n_full_attention_layers 1
moe_experts=8 moe_top_k=16 -> moe_top_k 16 is more than moe_experts 8
index_topk=8 index_n_heads=4 -> index_topk is 8, but no heads, dimension or layers of an indexer
bias=yes -> bias 'yes' names 'yes', which is none of none, all, qkv, o, mlp
moe_experts=8 moe_d_ff=0 -> d_ff_expert is 0, but there are 8 experts
"""


@pytest.mark.parametrize("case", LAWLESS.strip().splitlines())
def test_numbers_that_cannot_be_together(tmp_path: Path, case: str) -> None:
    """Cells that are each possible and not together are one line, at a column that the file has."""
    cells, words = case.split(" -> ")
    with pytest.raises(UserError) as fault:
        row_of_csv(tmp_path, DENSE | pairs(cells))
    assert words in str(fault.value)
    assert fault.value.place is not None
    assert fault.value.place.line == 2
    assert fault.value.place.column in pairs(cells)


def test_the_first_fault_is_told(tmp_path: Path) -> None:
    """Rows are checked many at a time; of several faults that of the first line is told, whatever its kind."""
    good = "\n".join(f"m{n}{TINY[4:]}" for n in range(700))
    bad = TINY.replace("64,", "x,", 1)
    with pytest.raises(UserError, match="line 702, column d_model: 'x' is no number"):
        load_csv(tmp_path, f"{HEADER}\n{good}\n{bad}\n{TINY},9\n")


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
    assert column not in row_of_csv(tmp_path, cells | {column: "1"}, kind)
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
    "no names": (f"{HEADER},,\n{TINY},,", "line 1, column 9: the column has no name"),
    "blank first line": (f"\n{HEADER}\n{TINY}", "line 1: the first line is blank; delete it: "),
    "first line of commas": (f",,,,,,,\n{HEADER}\n{TINY}", "line 1: the first line is blank; delete it: "),
    "doubled id": (f"{HEADER}\n{TINY}\n{TINY.title()}", 'line 3, column id: the id "Tiny" is there already'),
    "too few cells": (f"{HEADER}\n{TINY[:-5]}", "line 2: 7 cells, but the header has 8 columns"),
    "too many cells": (f"{HEADER}\n{TINY},1", "line 2: 9 cells, but the header has 8 columns"),
    "semicolons": (f"{HEADER}\n{TINY}".replace(",", ";"), "line 1: the columns are separated by semicolons"),
    "tabs": (f"{HEADER}\n{TINY}".replace(",", "\t"), "line 1: the columns are separated by tabs"),
    "open quote": (f'{HEADER}\n"{TINY}', "not a CSV row"),
    "UTF-16": (f"{HEADER}\n{TINY}".encode("utf-16"), "UTF-16"),
    "latin-1": (f"{HEADER},name\n{TINY},Café".encode("latin-1"), "line 2: byte 0xE9 is not UTF-8"),
    "empty": ("", "the file is empty"),
    "pointer": ("version https://git-lfs.github.com/spec/v1\nsize 9\n", "this is a pointer of Git LFS, and not the"),
    "page": ("<!DOCTYPE html>\n<html></html>\n", "this is a web page, and not the file; download the file itself"),
    "header only": (HEADER, "no rows below the header"),
}


@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    """A file that is no table of models is refused with its place and a remedy."""
    with pytest.raises(UserError) as fault:
        load_csv(tmp_path, content)
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
        row_of_csv(tmp_path, pairs(cells), "hardware")


def test_names_that_differ_by_a_number_are_no_slip(tmp_path: Path) -> None:
    """A column of one's own such as peak_fp64 is ignored, though one letter from peak_fp4."""
    row = row_of_csv(tmp_path, {"id": "x", "peak_fp64": "67e12", "peak_bf16": "1e15"}, "hardware")
    assert row["peak_fp4"] is None


def test_the_other_table_is_refused(tmp_path: Path) -> None:
    """A CSV of models is none of accelerators, nor the other way round, whatever names and sources both have."""
    shipped = data.folder("model_db") / "models.csv"
    with pytest.raises(
        UserError, match="line 1: no column says anything of an accelerator; this looks like a CSV of models"
    ):
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

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "mine.csv").touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match="can't be read: Permission denied"):
        load_models(tmp_path / "mine.csv")


def test_an_unknown_calibration_of_a_chip_is_refused(tmp_path: Path) -> None:
    """With its place and the nearest; a blank one, a shipped one, and one of a CSV given along are read."""
    chips, own = tmp_path / "chips.csv", tmp_path / "own.csv"
    own.write_text("calibration,parameter,value,unit\nmine,hbm_efficiency,0.8,1\n")

    def read(calibration: str, calibrations: Path | None = None) -> object:
        chips.write_text(f"id,peak_bf16,calibration\na,1e15,{calibration}\n")
        return Databases(hardware_csv=chips, calibrations_csv=calibrations).hardware.row("a")["calibration"]

    with pytest.raises(UserError) as fault:
        read("h1000")
    where = f"{chips}, line 2, column calibration: "
    said = "there is no calibration 'h1000' (did you mean h100 or a100 or gh200?); correct it, or give the CSV that "
    assert str(fault.value).startswith(where + said)
    assert [read("h100"), read(""), read("mine", own)] == ["h100", "gpu", "mine"]


def test_the_setting_of_an_unknown_calibration_is_named() -> None:
    """Where --set named it, the advice is which setting to change."""
    args = ("calc", "matmul", "-H", "h100-sxm", "--set", "tokens=8", "d_in=8", "d_out=8", "chip_calibration=h1000")
    said = "N/A because there is no calibration 'h1000' (--set chip_calibration chooses another): --set a value"
    assert said in command(*args)
