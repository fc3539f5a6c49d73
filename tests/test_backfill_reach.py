"""Rows that backfill appends are in the analyst's table, filter, formats and validations, as typed ones would be."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

import openpyxl
import pytest
from lxml import etree
from openpyxl.chart import BarChart, Reference
from openpyxl.workbook.defined_name import DefinedName

from planner.compare import comparison_sheet as comparison
from planner.xlsx.address import address
from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import tables
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import parse
from tests import libreoffice
from tests.backfills import backfill, changed, keys, measurement, rows
from tests.commands import refusal
from tests.xlsx_samples import zipped

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TABLE_PART = "xl/tables/table9.xml"
X14 = (
    '<extLst><ext uri="{CCE6A557-97BC-4b89-ADB6-D9C93CAAB3DF}" '
    'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:dataValidations count="1" '
    'xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:dataValidation type="list">'
    "<x14:formula1><xm:f>Models!$A$2:$A$9</xm:f></x14:formula1><xm:sqref>B6:B23</xm:sqref></x14:dataValidation>"
    "</x14:dataValidations></ext></extLst>"
)


def put(path: Path, parts: dict[str, bytes]) -> bytes:
    """The file of these parts, there and as bytes."""
    path.write_bytes(data := zipped(parts))
    return data


def with_table(built: bytes, *, totals: int = 0) -> dict[str, bytes]:
    """The parts of the workbook with a table laid over the cases, filter and all; `totals` rows at its end."""
    package = Package.from_bytes(built, "plan.xlsx")
    sheet = comparison.find(package)
    parts, bottom = dict(package.parts), sheet.rows[-1].number + totals
    ref = f"A{sheet.header}:{address(bottom, max(sheet.columns.values()))}"
    heads = sorted(sheet.columns, key=lambda name: sheet.columns[name])
    columns = "".join(f'<tableColumn id="{at}" name={quoteattr(name)}/>' for at, name in enumerate(heads, 1))
    parts[TABLE_PART] = (
        f'<table xmlns="{MAIN}" id="9" name="Cases" displayName="Cases" ref="{ref}" totalsRowCount="{totals}">'
        f'<autoFilter ref="{ref}"/><tableColumns count="{len(heads)}">{columns}</tableColumns>'
        '<tableStyleInfo name="TableStyleMedium2" showRowStripes="1"/></table>'
    ).encode()
    folder, _, file = sheet.part.rpartition("/")
    rels = f"{folder}/_rels/{file}.rels"
    link = f'<Relationship Id="own9" Type="{OFFICE}/table" Target="/{TABLE_PART}"/></Relationships>'.encode()
    parts[rels] = parts[rels].replace(b"</Relationships>", link)
    held = f'<tableParts count="1"><tablePart xmlns:r="{OFFICE}" r:id="own9"/></tableParts></worksheet>'.encode()
    parts[sheet.part] = parts[sheet.part].replace(b"</worksheet>", held)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.table+xml"
    types = f'<Override PartName="/{TABLE_PART}" ContentType="{kind}"/></Types>'.encode()
    parts["[Content_Types].xml"] = parts["[Content_Types].xml"].replace(b"</Types>", types)
    return parts


def more(path: Path, count: int = 1) -> list[str]:
    """Keys of cases that the workbook lacks."""
    return [keys(path)[1].replace("=256", f"={3000 + number}") for number in range(count)]


def test_a_table_grows_with_its_filter(built: bytes, tmp_path: Path) -> None:
    """Two rows more in the table's part; beside it only the Comparison and what is printed of it change, and a second
    run changes nothing."""
    path = tmp_path / "plan.xlsx"
    before = put(path, with_table(built))
    measured = [measurement(key) for key in more(path, 2)]
    assert "2 appended" in backfill(path, *measured).output
    package = Package.read(path)
    assert changed(before, path) == {package.sheets()["Comparison"], TABLE_PART, "xl/workbook.xml"}
    (table,) = tables(package)
    assert (table.area.top, table.area.bottom) == (5, rows(path)[-1].number)
    assert package.parts[TABLE_PART].count(str(table.area).encode()) == 2
    assert "nothing to write" in backfill(path, *measured).output


@libreoffice.needs_libreoffice
@pytest.mark.slow
def test_formulas_of_the_table_have_the_new_rows(built: bytes, tmp_path: Path) -> None:
    """A sum over its column elsewhere is that of all rows, here and in LibreOffice."""
    path = tmp_path / "plan.xlsx"
    parts = with_table(built)
    log = Package.from_bytes(built, "plan").sheets()["Log"]
    cell = b'<row r="60"><c r="A60"><f>SUM(Cases[measured_time])</f><v>0</v></c></row></sheetData>'
    parts[log] = parts[log].replace(b"</sheetData>", cell)
    put(path, parts)
    backfill(path, *(measurement(key, 0.25) for key in [keys(path)[0], *more(path, 2)]))
    from planner.xlsx.workbook_part import parse_sheets

    assert parse_sheets(Package.read(path))["Log"].cells["A60"].value == 0.75
    assert libreoffice.recalculated(path, tmp_path / "again")["Log"]["A60"] == 0.75


@pytest.mark.parametrize("what", ["totals", "note"])
def test_what_is_in_the_way_of_a_table_is_told(built: bytes, tmp_path: Path, what: str) -> None:
    """Below it a row of totals, or a note with no room above: refused, and the file is as it was."""
    path, parts = tmp_path / "plan.xlsx", with_table(built, totals=int(what == "totals"))
    part = Package.from_bytes(built, "plan").sheets()["Comparison"]
    at = 24 if what == "totals" else 25
    note = f'<row r="{at}"><c r="B{at}" t="inlineStr"><is><t>mine</t></is></c></row></sheetData>'.encode()
    parts[part] = parts[part].replace(b"</sheetData>", note)
    before = put(path, parts)
    said = refusal(backfill(path, *(measurement(key) for key in more(path, 2))))
    assert ("has a row of totals" if what == "totals" else "something stands below it") in said
    assert path.read_bytes() == before


def test_filters_formats_and_validations_grow(built: bytes, tmp_path: Path) -> None:
    """Those over all cases reach the new row, with the filter's name and the print area; one over another cell not."""
    path, package = tmp_path / "plan.xlsx", Package.from_bytes(built, "plan.xlsx")
    part, parts = package.sheets()["Comparison"], dict(package.parts)
    xml = re.sub(rb'(sqref="[A-Z]+6:[A-Z]+)124"', rb'\g<1>23"', parts[part])
    xml = xml.replace(b"</sheetData>", b'</sheetData><autoFilter ref="A5:F23"/>', 1)
    rule = b'<cfRule type="containsBlanks" priority="99"/>'
    mine = b'<conditionalFormatting sqref="C7 H6:H22">' + rule + b"</conditionalFormatting>"
    xml = xml.replace(b"<dataValidations", mine + b"<dataValidations", 1)
    parts[part] = xml.replace(b"</worksheet>", X14.encode() + b"</worksheet>")
    name = b'<definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">Comparison!$A$5:$F$23</definedName>'
    book = parts["xl/workbook.xml"].replace(b"</definedNames>", name + b"</definedNames>")
    parts["xl/workbook.xml"] = book
    before = put(path, parts)
    assert "1 appended" in backfill(path, measurement(more(path)[0])).output
    after = Package.read(path)
    assert changed(before, path) == {part, "xl/workbook.xml"}
    trees = [Worksheet(xml).root for xml in (after.parts[part], parts[part])]
    now, then = (etree.tostring(root, method="c14n").split(b"</sheetData>")[1] for root in trees)
    assert now == then.replace(b'23"', b'24"').replace(b"B23<", b"B24<")
    assert b'ref="A5:F24"' in now
    assert b"B6:B24</xm:sqref>" in now
    assert b'sqref="C7 H6:H22"' in now
    books = (
        after.parts["xl/workbook.xml"],
        re.sub(rb"(Comparison'?!\$[A-Z]+\$[45]:\$[A-Z]+)\$23<", rb"\g<1>$24<", book),
    )
    assert len({etree.tostring(parse(xml), method="c14n") for xml in books}) == 1


def test_own_ranges_that_end_at_the_last_case_are_named(plan: Path) -> None:
    """A person's formula, name and chart are as they were, and are said in one line; no other that reads cases."""
    last = rows(plan)[-1].number
    book = openpyxl.load_workbook(plan)
    mine = book.create_sheet("Mine")
    ends = {"A1": (6, last), "A2": (6, last - 1), "A3": (6, last + 1), "A4": (last, last)}
    for cell, (top, bottom) in ends.items():
        mine[cell] = f"=SUM(Comparison!HK{top}:HK{bottom})"
    mine["A5"] = f"=SUM(B6:B{last})"
    book.defined_names["all_mine"] = DefinedName("all_mine", attr_text=f"Comparison!$HK$6:$HK${last}")
    chart = BarChart()
    chart.add_data(Reference(book["Comparison"], min_col=2, min_row=6, max_row=last))
    mine.add_chart(chart, "C3")
    book.save(plan)
    printed = backfill(plan, measurement(more(plan)[0])).output
    assert [line for line in printed.splitlines() if "widen" in line] == [
        f"  Mine!A1, the name all_mine, a chart of 'Comparison'!$B$6:$B${last} end at row {last} of Comparison, "
        "the last case of before: widen their ranges"
    ]
    assert "widen" not in backfill(plan, measurement(more(plan)[0])).output  # the row is there


def test_more_rows_than_the_sheet_was_sized_for(built: bytes, tmp_path: Path) -> None:
    """A sheet with room for two more, and five come: formats, validations, our names and charts reach the last."""
    path, package = tmp_path / "plan.xlsx", Package.from_bytes(built, "plan.xlsx")
    part, parts = package.sheets()["Comparison"], dict(package.parts)
    parts[part] = re.sub(rb'(sqref="[A-Z]+6:[A-Z]+)124"', rb'\g<1>25"', parts[part])
    names = re.compile(rb'(<definedName name="comparison_[^>]*>[^<]*)\$124<')
    parts["xl/workbook.xml"] = names.sub(rb"\g<1>$25<", parts["xl/workbook.xml"])
    for chart in charts_of(package):
        parts[chart] = re.sub(rb"(Comparison[^<]*)\$124<", rb"\g<1>$25<", parts[chart])
    put(path, parts)
    measured = [measurement(key) for key in more(path, 5)]
    done = backfill(path, *measured)
    assert "5 appended" in done.output
    after = Package.read(path)
    assert comparison.find(after).sized_to == 28
    drawn = [(chart, rb"Comparison[^<]*\$25<") for chart in charts_of(package) if b"Comparison" in parts[chart]]
    assert len(drawn) >= 2
    for name, text in ((part, b':[A-Z]+25"'), ("xl/workbook.xml", rb'"comparison_[^<]*\$25<'), *drawn):
        assert re.search(text, parts[name])
        assert re.search(text, after.parts[name]) is None
    assert "nothing to write" in backfill(path, *measured).output
