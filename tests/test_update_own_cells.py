"""What a person put on planner's sheets, in ways of writing that the file has and planner doesn't."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
from openpyxl.comments import Comment

from planner.update.update import update_file
from planner.xlsx.comments import notes
from planner.xlsx.opc import Package
from tests.workbooks import CHIPS, few_rows, write_small

MORE = few_rows(("llama3-8b", "mixtral-8x7b"), CHIPS[:3])


def put(path: Path, sheet: str, pattern: str, new: str) -> None:
    """Rewrite a place of a sheet's XML."""
    package = Package.read(path)
    part = package.sheets()[sheet]
    xml, count = re.subn(pattern, new, package.parts[part].decode(), count=1)
    assert count == 1
    package.replace(part, xml.encode())
    package.write(path)


def xml_of(path: Path, sheet: str) -> str:
    """A sheet's XML."""
    package = Package.read(path)
    return package.parts[package.sheets()[sheet]].decode()


def test_a_shared_formula_keeps_the_operator_that_is_a_space(tmp_path: Path) -> None:
    """Every cell of a shared formula is written with the spaces that it has: between two ranges one is an operator."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    shared = ' t="shared" si="77"'
    put(path, "Inputs", '(<row r="11".*?)</row>',
        rf'\1<c r="M11"><f ref="M11:M12"{shared}>SUM($F$5:$F$20 F11:G11)</f></c></row>')  # fmt: skip
    put(path, "Inputs", '(<row r="12".*?)</row>', rf'\1<c r="M12"><f{shared}/></c></row>')
    update_file(path, [], MORE)
    found = re.findall(r'<c r="M1\d"[^>]*><f>(.*?)</f>', xml_of(path, "Inputs"))
    assert found == ["SUM($F$5:$F$20 F11:G11)", "SUM($F$5:$F$20 F12:G12)"]


def test_no_two_notes_are_on_one_cell(tmp_path: Path) -> None:
    """Notes whose rows are no more stand beside the one that has their cell now: a file with two there is refused."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    book = openpyxl.load_workbook(path)
    rows = {str(book["Models"].cell(row, 1).value): row for row in range(6, 10)}
    for model, row in rows.items():
        book["Models"].cell(row, 2).comment = Comment(f"of {model}", "me")
    book.save(path)
    done, _ = update_file(path, [], MORE)
    package = Package.read(path)
    found = {note.text: note.ref for note in notes(package)}
    assert len({*found.values()}) == len(found) == 4
    ids = {cell[0].value: cell[0].row for cell in openpyxl.load_workbook(path)["Models"]["A6:A12"]}
    assert all(found[f"of {model}"] == f"B{ids[model]}" for model in rows.keys() & ids.keys())
    for part in package.linked(package.sheets()["Models"], "comments"):
        refs = re.findall('<comment ref="(.*?)"', package.parts[part].decode())
        assert sorted(refs) == sorted(found.values())
    assert sum("is no more" in remark and "note" in remark for remark in done.remarks) == len(rows.keys() - ids.keys())
