"""`planner update`: a note, its box and its thread follow their row to the sheet that it stands on now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import coordinates
from planner.xlsx.opc import Package
from tests.edits.programs import HAND
from tests.workbooks import few_rows, save

FEW = few_rows(("llama3-8b",), ("tpu-v5p",))
HEAD = "name,label,unit,kind,formula,source,note\n"
MODEL = "n_layers,Layers,1,input,2,test,\nn_twice,Twice as many,1,output,n_layers+n_layers,test,\n"
MOVED = "layer_size,Of a layer,1,calc,n_layers*n_layers,test,\nhead_width,Of a head,1,calc,layer_size*n_layers,test,\n"
SERVE = "step_size,Of a step,1,output,n_layers*n_layers,test,\n"


def cell(plan: Plan, name: str, sheet: str) -> str:
    """The cell of a row in the first scenario."""
    row = next(row for row in plan.tables[sheet] if row.name == name)
    return row.cells[plan.scenarios[0].key].spot.ref


@dataclass
class Old:
    """A workbook of two templates, as it is and as its file stands, and what the templates say now."""

    plan: Plan
    path: Path
    templates: list[str]

    def updated(self, path: Path, new: Path) -> Updated:
        """What is said when the workbook at `path` is brought up to date, as `new`."""
        return update_file(path, self.templates, FEW, new)[0]


@pytest.fixture(name="old", scope="module")
def fixture_old(tmp_path_factory: pytest.TempPathFactory, few_cases: None) -> Old:
    """Two rows stood on Serve, and stand on Model now, which Serve includes."""
    folder = tmp_path_factory.mktemp("old")
    path, model, serve = folder / "plan.xlsx", folder / "model.csv", folder / "serve.csv"
    model.write_text(HEAD + MODEL)
    serve.write_text(HEAD + "n_layers,Layers,1,input,2,test,\n" + MOVED + SERVE)
    path.write_bytes(build(plan_of((), (), [str(model), str(serve)], None, (), FEW)))
    model.write_text(HEAD + MODEL + MOVED)
    serve.write_text(HEAD + ".,Model,,include,model(),,\n" + SERVE)
    return Old(read_plan(path), path, [str(model), str(serve)])


def test_a_note_follows_its_row(old: Old, tmp_path: Path) -> None:
    """Two notes of two authors on rows that Model has now are there, beside one that was there; one stays."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    book = openpyxl.load_workbook(old.path)
    serve = book["Serve"]
    serve[cell(old.plan, "layer_size", "Serve")].comment = Comment("why so large?", "Ann")
    serve[cell(old.plan, "head_width", "Serve")].comment = Comment("two or three", "Bob & co.")
    serve[cell(old.plan, "step_size", "Serve")].comment = Comment("agreed", "Ann")
    book["Model"][cell(old.plan, "n_twice", "Model")].comment = Comment("deep", "Bob & co.")
    save(book, path)
    done = old.updated(path, new)
    after = read_plan(new)
    found = {(note.sheet, note.ref, note.author, note.text) for note in after.notes}
    assert found == {
        ("Model", cell(after, "layer_size", "Model"), "Ann", "why so large?"),
        ("Model", cell(after, "head_width", "Model"), "Bob & co.", "two or three"),
        ("Model", cell(after, "n_twice", "Model"), "Bob & co.", "deep"),
        ("Serve", cell(after, "step_size", "Serve"), "Ann", "agreed"),
    }
    assert sum("layer_size" in remark for remark in done.remarks) == 1
    boxes = boxes_of(Package.read(new))
    assert boxes == {(note.sheet, coordinates(note.ref)) for note in after.notes}
    openpyxl.load_workbook(new)


def test_a_thread_follows_its_row(old: Old, tmp_path: Path) -> None:
    """A threaded comment is on Model then, thread and note, and none is left on Serve."""
    path, new = tmp_path / "plan.xlsx", tmp_path / "new.xlsx"
    package = Package.read(old.path)
    HAND["threaded"](package, "Serve", cell(old.plan, "layer_size", "Serve"), "is this right?")
    package.write(path)
    old.updated(path, new)
    after, package = read_plan(new), Package.read(new)
    ref = cell(after, "layer_size", "Model")
    assert [(note.sheet, note.ref, note.text) for note in after.notes] == [("Model", ref, "is this right?")]
    parts = {link.kind: package.parts[link.target] for link in package.relationships(package.sheets()["Model"])}
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
