"""What a person put on planner's sheets, in ways of writing that the file has and planner doesn't."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment

from planner.errors import UserError
from planner.update.update import update_file
from planner.workbook.added_sheet import put as put_sheet
from planner.xlsx.comments import notes
from planner.xlsx.opc import Package
from tests.commands import untouched
from tests.test_backfill_forms import strict
from tests.workbooks import CHIPS, few_rows, sheet_of, write_small

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
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    shared = ' t="shared" si="77"'
    put(path, "Inputs", '(<row r="10".*?)</row>',
        rf'\1<c r="M10"><f ref="M10:M11"{shared}>SUM($F$5:$F$20 F10:G10)</f></c></row>')  # fmt: skip
    put(path, "Inputs", '(<row r="11".*?)</row>', rf'\1<c r="M11"><f{shared}/></c></row>')
    update_file(path, [], MORE)
    found = re.findall(r'<c r="M1\d"[^>]*><f>(.*?)</f>', xml_of(path, "Inputs"))
    assert found == ["SUM($F$5:$F$20 F10:G10)", "SUM($F$5:$F$20 F11:G11)"]


def test_an_array_on_the_log_is_written_below(tmp_path: Path) -> None:
    """The line of an update stands below the range of a person's array formula, also where its cells aren't filled."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    put(path, "Log", "</sheetData>",
        '<row r="20"><c r="A20"><f t="array" ref="A20:A23">Inputs!F4:F7</f></c></row></sheetData>')  # fmt: skip
    update_file(path, [], MORE)
    log = sheet_of(path, "Log")
    assert (log["A20"].value.ref, log["A23"].value, log["C24"].value) == ("A20:A23", None, "Updated by planner")


def test_no_two_notes_are_on_one_cell(tmp_path: Path) -> None:
    """Notes whose rows are no more stand beside the one that has their cell now: a file with two there is refused."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    book = openpyxl.load_workbook(path)
    rows = {str(book["Models"].cell(row, 1).value): row for row in range(6, 10)}
    for model, row in rows.items():
        book["Models"].cell(row, 2).comment = Comment(f"of {model}", "me")
    book.save(path)
    done, _ = update_file(path, [], MORE)
    package = Package.read(path)
    found = {note.text: note.ref for note in notes(package)}
    assert len({*found.values()}) == len(found) == 4
    ids = {cell[0].value: cell[0].row for cell in sheet_of(path, "Models")["A6:A12"]}
    assert all(found[f"of {model}"] == f"B{ids[model]}" for model in rows.keys() & ids.keys())
    for part in package.linked(package.sheets()["Models"], "comments"):
        refs = re.findall('<comment ref="(.*?)"', package.parts[part].decode())
        assert sorted(refs) == sorted(found.values())
    assert sum("is no more" in remark and "note" in remark for remark in done.remarks) == len(rows.keys() - ids.keys())


X14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
XM = "http://schemas.microsoft.com/office/excel/2006/main"


def as_excel_writes(path: Path) -> int:
    """Put the validations of Inputs that read another sheet into an extension, and one of a person's; how many."""
    package = Package.read(path)
    part = package.sheets()["Inputs"]
    xml = package.parts[part].decode()
    found = re.findall(
        r'<dataValidation ([^>]*?)sqref="([^"]*)"([^>]*)><formula1>([^<]*![^<]*)</formula1></dataValid', xml
    )
    xml = re.sub(r"<dataValidation [^>]*><formula1>[^<]*![^<]*</formula1></dataValidation>", "", xml)
    found.append(('type="list" ', "M300", "", "Models!$A$6:$A$7"))
    listed = "".join(
        f"<x14:dataValidation {own}{more}><x14:formula1><xm:f>{formula}</xm:f></x14:formula1>"
        f"<xm:sqref>{area}</xm:sqref></x14:dataValidation>"
        for own, area, more, formula in found
    )
    ext = (
        f'<extLst><ext uri="{{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}}" xmlns:x14="{X14}"><x14:dataValidations '
        f'xmlns:xm="{XM}" count="{len(found)}">{listed}</x14:dataValidations></ext></extLst></worksheet>'
    )
    package.replace(part, xml.replace("</worksheet>", ext).encode())
    package.write(path)
    return len(found) - 1


def test_planners_validations_in_an_extension_are_renewed(tmp_path: Path) -> None:
    """Those that Excel wrote into an extension don't stay beside the new ones; a person's does."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    there = len(re.findall("<dataValidation ", xml_of(path, "Inputs")))
    assert as_excel_writes(path)
    update_file(path, [], MORE)
    xml = xml_of(path, "Inputs")
    assert re.findall("<xm:sqref>(.*?)</xm:sqref>", xml) == ["M300"]
    assert re.findall('<x14:dataValidations [^>]*count="(.*?)"', xml) == ["1"]
    assert len(re.findall("<dataValidation ", xml)) >= there


def test_a_name_in_other_capitals_is_the_same_name(tmp_path: Path) -> None:
    """A workbook can't have a name twice, and capitals don't tell names apart."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    package = Package.read(path)
    part = package.workbook_part()
    package.replace(part, package.parts[part].replace(b'"comparison_keys"', b'"Comparison_Keys"'))
    package.write(path)
    update_file(path, [], MORE)
    names = re.findall('<definedName name="(.*?)"', Package.read(path).parts[part].decode())
    assert [name for name in names if name.lower() == "comparison_keys"] == ["Comparison_Keys"]


def test_a_strict_file_is_refused(tmp_path: Path) -> None:
    """Its namespaces are others, so that what planner would put in would be foreign there; nothing is written."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    package = Package.read(path)
    package.parts.update(strict(package.parts))
    package.write(path)
    with untouched(path), pytest.raises(UserError, match="Strict Open XML"):
        update_file(path, [], MORE)
    with pytest.raises(UserError, match="Strict Open XML"):
        put_sheet(package, "Found", "A sheet of its own.", lambda _: None)


def test_a_conditional_format_that_a_program_split_is_planners(tmp_path: Path) -> None:
    """LibreOffice lists the areas around copied cells in any order: the rule is planner's, over its whole area."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    before = re.findall(r'<conditionalFormatting sqref="(.*?)"', xml_of(path, "Checks"))
    (area,) = (each for each in before if each.startswith("F10:"))
    last, bottom = area[4:].rstrip("0123456789"), area[4:].lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    put(path, "Checks", f'sqref="{area}"', f'sqref="G10:{last}{bottom} F10:F11 F13:F{bottom}"')
    done, _ = update_file(path, [], MORE)
    assert done.rules == 0
    assert re.findall(r'<conditionalFormatting sqref="(.*?)"', xml_of(path, "Checks")) == before


def test_conditional_formats_that_read_nothing_more_are_taken_out(tmp_path: Path) -> None:
    """With the first column of its area deleted LibreOffice writes #REF! into planner's own: it colours nothing, and is
    no rule of a person's.
    """
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    before = re.findall(r'<conditionalFormatting sqref="(.*?)"', xml_of(path, "Checks"))
    put(path, "Checks", r"<formula>ISNA\(F10\)</formula>", "<formula>ISNA(#REF!)</formula>")
    done, _ = update_file(path, [], MORE)
    assert done.rules == 0
    assert "1 conditional format on Checks read #REF! and showed nothing: taken out" in done.remarks
    assert "#REF!" not in xml_of(path, "Checks")
    assert re.findall(r'<conditionalFormatting sqref="(.*?)"', xml_of(path, "Checks")) == before
