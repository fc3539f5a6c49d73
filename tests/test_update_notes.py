"""`planner update`: a note, its box and its thread follow their row to the sheet that it stands on now."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment

from planner.book.plan import Plan
from planner.book.reading import read_plan
from planner.update.update import update_file
from planner.xlsx.address import coordinates
from planner.xlsx.opc import Package
from tests.edits.programs import HAND
from tests.read_once import recalculate_once
from tests.test_update import GOLDEN


def cell(plan: Plan, name: str, sheet: str) -> str:
    """The cell of a row in the first scenario."""
    row = next(row for row in plan.tables[sheet] if row.name == name)
    return row.cells[plan.scenarios[0].key].spot.ref


@pytest.fixture(name="old", scope="module")
def fixture_old() -> Plan:
    """The workbook of the first version."""
    return read_plan(GOLDEN / "default.xlsx")


def test_a_note_follows_its_row(old: Plan, tmp_path: Path) -> None:
    """Two notes of two authors on rows that Transformer has now are there, beside one that was there; one stays."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    book = openpyxl.load_workbook(GOLDEN / "default.xlsx")
    inference = book["Inference"]
    inference[cell(old, "n_params_moe_layer", "Inference")].comment = Comment("why so many?", "Ann")
    inference[cell(old, "kv_head_width", "Inference")].comment = Comment("two or three", "Bob & co.")
    inference[cell(old, "decode_step_time", "Inference")].comment = Comment("agreed", "Ann")
    book["Transformer"][cell(old, "n_layers", "Transformer")].comment = Comment("deep", "Bob & co.")
    book.save(path)
    package = Package.read(path)
    recalculate_once(package)
    package.write(path)
    done, _ = update_file(path, output=new)
    after = read_plan(new)
    found = {(note.sheet, note.ref, note.author, note.text) for note in after.notes}
    assert found == {
        ("Transformer", cell(after, "n_params_moe_layer", "Transformer"), "Ann", "why so many?"),
        ("Transformer", cell(after, "kv_head_width", "Transformer"), "Bob & co.", "two or three"),
        ("Transformer", cell(after, "n_layers", "Transformer"), "Bob & co.", "deep"),
        ("Inference", cell(after, "decode_step_time", "Inference"), "Ann", "agreed"),
    }
    assert sum("n_params_moe_layer" in remark for remark in done.remarks) == 1
    boxes = boxes_of(Package.read(new))
    assert boxes == {(note.sheet, coordinates(note.ref)) for note in after.notes}
    openpyxl.load_workbook(new)


def test_a_thread_follows_its_row(tmp_path: Path, old: Plan) -> None:
    """A threaded comment is on Transformer then, thread and note, and none is left on Inference."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    package = Package.read(GOLDEN / "default.xlsx")
    HAND["threaded"](package, "Inference", cell(old, "n_params_moe_layer", "Inference"), "is this right?")
    package.write(path)
    update_file(path, output=new)
    after, package = read_plan(new), Package.read(new)
    ref = cell(after, "n_params_moe_layer", "Transformer")
    assert [(note.sheet, note.ref, note.text) for note in after.notes] == [("Transformer", ref, "is this right?")]
    parts = {link.kind: package.parts[link.target] for link in package.relationships(package.sheets()["Transformer"])}
    assert f'ref="{ref}"'.encode() in parts["threadedComment"]
    assert f'ref="{ref}"'.encode() in parts["comments"]
    assert b"tc={1}" in parts["comments"]


def boxes_of(package: Package) -> set[tuple[str, tuple[int, int]]]:
    """The sheet and the cell of every box."""
    found: set[tuple[str, tuple[int, int]]] = set()
    for sheet, part in package.sheets().items():
        for link in package.relationships(part):
            if link.kind == "vmlDrawing":
                xml = package.parts[link.target]
                ids = re.findall(rb'id="(_x0000_s\d+)"', xml)
                assert len(ids) == len(set(ids))
                at = [re.findall(rb"<\w*:?%b>(\d+)<" % tag, xml) for tag in (b"Row", b"Column")]
                found |= {(sheet, (int(row) + 1, int(column) + 1)) for row, column in zip(*at, strict=True)}
    return found
