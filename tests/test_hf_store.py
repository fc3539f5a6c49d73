"""A model's row put into a models CSV: appended or replaced, and every other byte left as it was."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planner.catalog import load_models
from planner.stored_rows import MODELS, put
from tests.commands import run
from tests.hf_configs import Run, config_of, refused, value

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
    assert add(config_of("llama3-8b"), "--id", "mine").exit_code == 0
    after = Path("mine.csv").read_bytes()
    assert after.startswith(before)
    appended = after[len(before) :]
    assert appended.count(b"\n") == 1
    assert appended.endswith(b"\r\n") == (b"\r\n" in before)
    assert value(load_models(Path("mine.csv")).row("mine"), "n_params_total") == 8_030_261_248


def test_appending_ends_the_last_line(add: Run) -> None:
    """A file without a line ending at its end gets one before the row."""
    before = OTHERS["plain"].rstrip(b"\n")
    Path("mine.csv").write_bytes(before)
    assert add(config_of("llama3-8b"), "--id", "mine").exit_code == 0
    assert Path("mine.csv").read_bytes().startswith(before + b"\nmine,32,4096,")


@pytest.mark.parametrize("before", OTHERS.values(), ids=OTHERS)
def test_further_columns_go_to_the_right(add: Run, before: bytes) -> None:
    """Columns that a row needs are added at the right, blank in the other rows, which keep their text and meaning."""
    Path("mine.csv").write_bytes(before)
    old = load_models(Path("mine.csv")) if before != OTHERS["header"] else None
    assert add(config_of("gpt-oss-20b"), "--id", "mine").exit_code == 0
    lines, after = before.splitlines(), Path("mine.csv").read_bytes().splitlines()
    assert all(new.startswith(line) for line, new in zip(lines, after, strict=False))
    assert after[0].startswith(lines[0] + b",moe_experts,moe_top_k,")
    table = load_models(Path("mine.csv"))
    assert value(table.row("mine"), "n_params_total") == 20_914_757_184
    if old is not None:
        assert all(table.rows[identifier] == row for identifier, row in old.rows.items())


def test_an_alias_in_the_file_is_used(add: Run) -> None:
    """A file that calls a column by its other name gets no second one."""
    Path("mine.csv").write_text(
        "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,window,n_global_layers\n", encoding="utf-8"
    )
    assert add(config_of("mistral-7b-v0.1"), "--id", "mine").exit_code == 0
    text = Path("mine.csv").read_text(encoding="utf-8")
    assert "sliding_window" not in text
    assert load_models(Path("mine.csv")).row("mine")["window"] == 4096


def test_an_id_that_is_there_is_refused(add: Run) -> None:
    """An id that the file has, in whatever case, is refused by line; the file stays as it is."""
    assert add(config_of("llama3-8b"), "--id", "Mine").exit_code == 0
    before = Path("mine.csv").read_bytes()
    said = refused(add(config_of("llama3-70b"), "--id", "mine"))
    assert (
        said == 'mine.csv, line 2: the id "mine" is there already; choose another with --id, or replace it with --force'
    )
    assert Path("mine.csv").read_bytes() == before


def test_force_replaces_the_row(add: Run) -> None:
    """With --force the row of the same id is replaced where it stands, and the others keep their text."""
    more = b"mine,2,64,256,4,2,16,1000,9,old\nlast,2,64,256,4,2,16,1000,9,\n"
    Path("mine.csv").write_bytes(OTHERS["quoted"] + more)
    before = Path("mine.csv").read_bytes().splitlines()
    assert add(config_of("llama3-8b"), "--id", "MINE", "--force").exit_code == 0
    after = Path("mine.csv").read_bytes().splitlines()
    assert [line for line, old in zip(after, before, strict=True) if line != old] == [
        b"MINE,32,4096,14336,32,8,128,128256,8192,"
    ]
    assert list(load_models(Path("mine.csv")).rows) == ["t", "MINE", "last"]


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (b"", "mine.csv: the file is empty"),
        (b"model,n_layers\nx,2\n", "mine.csv, line 1: column 'id' is missing"),
        (b"id;n_layers\nx;2\n", "mine.csv, line 1: the columns are separated by semicolons"),
        (b"id,n_layers\nx,many\n", "mine.csv, line 2, column n_layers: 'many' is no number"),
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
    assert says in refused(add(config_of("llama3-8b"), "--id", "mine"))
    assert Path("mine.csv").read_bytes() == before


def test_nothing_is_half_written(add: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the old file, and no temporary one."""
    Path("mine.csv").write_bytes(OTHERS["plain"])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "the file can't be written: No space left on device" in refused(add(config_of("llama3-8b")))
    assert Path("mine.csv").read_bytes() == OTHERS["plain"]
    assert {path.name for path in Path().iterdir()} == {"config.json", "mine.csv"}


def test_rows_that_are_added_at_the_same_time_all_stay(tmp_path: Path) -> None:
    """One waits for the other."""
    path = tmp_path / "mine.csv"
    path.write_bytes(OTHERS["header"])
    cells = dict(zip(_HEADER.decode().split(","), _TINY.decode().split(","), strict=True))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: put(MODELS, path, cells | {"id": name}), "abcdefgh"))
    assert sorted(load_models(path).rows) == [*"abcdefgh"]


@pytest.mark.parametrize(
    ("identifier", "why"),
    [
        *((text, "formula") for text in ("=1+1", "+1", "-x", "@sum", "\t=x")),
        *((text, "markup") for text in ("<b>x", "a>b", "a&b")),
        *((text, "path") for text in ("meta/llama", "a\\b", "..", "../x", ".")),
        ("a\rb", "printable"),
        ("a*", "wildcards"),
        ("a b", "two"),
    ],
)
def test_an_id_that_does_harm_is_refused(add: Run, identifier: str, why: str) -> None:
    """A formula, markup or a path is no id of a new model: one line, and no file is made."""
    said = refused(add(config_of("llama3-8b"), f"--id={identifier}"))
    assert said.startswith("config.json, column id: ")
    assert "can't be an id" in said
    assert why in said
    assert not Path("mine.csv").exists()


def test_an_id_that_a_config_suggests_is_refused_too(add: Run) -> None:
    """The id that is taken from a file's name is held to the same rule, and the remedy is --id."""
    Path("=cmd.json").write_text(json.dumps(config_of("llama3-8b")), encoding="utf-8")
    said = refused(run("models", "add", "=cmd.json", "--to", "mine.csv"))
    assert "'=cmd' can't be an id: a spreadsheet takes it for a formula" in said
    assert "--id" in said


def test_a_database_may_have_such_ids(add: Run) -> None:
    """An id that an existing file has is read as ever: the rule is for new ones."""
    Path("mine.csv").write_bytes(OTHERS["plain"].replace(b"tiny", b"org/tiny"))
    assert add(config_of("llama3-8b"), "--id", "mine").exit_code == 0
    assert list(load_models(Path("mine.csv")).rows) == ["org/tiny", "mine"]
