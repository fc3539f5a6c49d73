"""Cached values of formulas that read tables, ranges as people write them, and other workbooks."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import openpyxl.worksheet.table
import pytest

from planner.recalc import recalculate
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.relationships import OFFICE
from tests.recalcs import cached
from tests.xlsx_samples import MAIN, package, parts, set_values, sheet, zipped


def test_tables() -> None:
    """References to a table are computed, those to the formula's own row beside it too."""
    rows = '<row r="3"><c r="D3"><f>SUM(T[v w])</f></c><c r="E3"><f>T[[#This Row],[n]]</f></c></row>'
    data = {"A1": "n", "B1": "v w", "A2": 1, "B2": 5, "A3": 2, "B3": 6}
    content = parts({"S": set_values(sheet(rows).encode(), data).decode()})
    content["xl/worksheets/_rels/sheet1.xml.rels"] = content["_rels/.rels"].replace(
        b'officeDocument" Target="xl/workbook.xml', b'table" Target="../tables/table1.xml'
    )
    content["xl/tables/table1.xml"] = (
        f'<table xmlns="{MAIN}" id="1" displayName="T" ref="A1:B3"><tableColumns count="2">'
        '<tableColumn id="1" name="n"/><tableColumn id="2" name="v w"/></tableColumns></table>'
    ).encode()
    book = Package.from_bytes(zipped(content), "x")
    result = recalculate(book)
    assert (cached(book)["D3"], cached(book)["E3"]) == (11.0, 2.0)
    assert result.skipped == []


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("SUM(A9:A1)", 45.0),
        ("SUM(B9:A$1)", 45.0),
        ("SUM($A$4:A2)", 9.0),
        ("SUM(A1 : A4)", 10.0),
        ("SUM(S!A4 :S!A1)", 10.0),
        ('SUM(A3:A1)&" : "&"A9:A1"', "6 : A9:A1"),
    ],
)
def test_ranges_as_people_write_them(formula: str, value: Value) -> None:
    """A range from another corner, or with blanks about its colon, is the same range, and spoils no other formula."""
    rows = "".join(f'<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>' for row in range(1, 10))
    like_one = '<c r="B12" t="inlineStr"><is><t>GPT4:LLAMA3</t></is></c>'
    own = f'<c r="C12"><f>{formula.replace("&", "&amp;")}</f></c><c r="D12"><f>A1*2</f></c>'
    book = package({"S": sheet(f'{rows}<row r="12">{like_one}{own}</row>')})
    recalculate(book)
    assert (cached(book)["C12"], cached(book)["D12"]) == (value, 2.0)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("SUM(T[n])", 6.0),
        ("SUM(t[[n]:[v w]])", 24.0),
        ("SUM(T[[#Data],[#Totals],[n]])", 12.0),
        ("T[[#Totals],[v w]]", 18.0),
        ("T[[#Headers],[v w]]", "v w"),
        ("COUNTA(T[#Headers])", 2.0),
        ("ROWS(T[#All])", 5.0),
        ("ROWS(T[])", 3.0),
        ("SUM(T)", 24.0),
        ("VLOOKUP(2,T,2,FALSE)", 6.0),
        ("SUMIF(T[n],2,T[v w])", 6.0),
    ],
)
def test_a_table_with_totals_is_read(formula: str, value: Value) -> None:
    """Each part of a table is its cells, and a total below a column is no circle."""
    book = openpyxl.Workbook()
    own = book.active
    for row in (("n", "v w"), (1, 5), (2, 6), (3, 7), ("=SUBTOTAL(109,T[n])", "=SUBTOTAL(109,T[v w])")):
        own.append(row)
    table = openpyxl.worksheet.table.Table(displayName="T", ref="A1:B5", totalsRowCount=1)
    own.add_table(table)
    own["D9"] = f"={formula}"
    data = io.BytesIO()
    book.save(data)
    package = Package.from_bytes(data.getvalue(), "x")
    assert recalculate(package).skipped == []
    assert [cached(package)[ref] for ref in ("A5", "B5", "D9")] == [6.0, 18.0, value]


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("[1]Other!$A$1+1", 4.0),  # of which this workbook keeps the value
        ("[1]Other!Rate", None),
        ("[1]Empty!$A$1", None),  # of which it keeps none
        ("IFERROR([2]Gone!$A$1,0)", None),
        (r"'C:\plans\[other.xlsx]Other'!A1", None),
        ("[@Chips]*2", None),  # as people type it, and no file should have it
    ],
)
@pytest.mark.parametrize("has_links", [True, False])
def test_other_workbooks(formula: str, value: Value, *, has_links: bool) -> None:
    """A cell of another workbook has the value that this one keeps; where it keeps none, nothing is spoiled.

    A program that drops the links leaves the formulas.
    """
    rows = f'<row r="1"><c r="A1"><f>{formula}</f><v>7</v></c><c r="B1"><f>1+1</f></c></row>'
    tail = f'<externalReferences><externalReference xmlns:r="{OFFICE}" r:id="rId9"/></externalReferences>'
    content = parts({"S": sheet(rows)}, tail=tail * has_links)
    if has_links:
        part, kind = "externalLinks/externalLink1.xml", "vnd.openxmlformats-officedocument.spreadsheetml.externalLink"
        link = f'<Relationship Id="rId9" Type="{OFFICE}/externalLink" Target="{part}"/></Relationships>'
        listed = f'<Override PartName="/xl/{part}" ContentType="application/{kind}+xml"/></Types>'
        for name, more in (("xl/_rels/workbook.xml.rels", link), ("[Content_Types].xml", listed)):
            content[name] = content[name].replace(more[more.rindex("</") :].encode(), more.encode())
        content["xl/externalLinks/externalLink1.xml"] = (
            f'<externalLink xmlns="{MAIN}"><externalBook xmlns:r="{OFFICE}" r:id="rId1"><sheetNames><sheetName '
            'val="Other"/><sheetName val="Empty"/></sheetNames><sheetDataSet><sheetData sheetId="0"><row r="1"><cell '
            'r="A1"><v>3</v></cell></row></sheetData><sheetData sheetId="1"/></sheetDataSet></externalBook>'
            "</externalLink>"
        ).encode()
        content["xl/externalLinks/_rels/externalLink1.xml.rels"] = content["_rels/.rels"].replace(
            b'officeDocument"', b'externalLinkPath"'
        )
    book = Package.from_bytes(zipped(content), "x")
    recalculate(book)
    assert (cached(book)["A1"], cached(book)["B1"]) == (value if has_links else None, 2.0)
    saved = Package.from_bytes(zipped(content), "x")
    recalculate(saved, is_as_saved=True)
    assert cached(saved)["A1"] == (value if has_links and value else 7.0)


def test_a_table_reads_its_own_row(tmp_path: Path) -> None:
    """`[#This Row]` is the cell beside, in its table or beside it; a head may hold signs that mean something there."""
    book = openpyxl.Workbook()
    costs = book.active
    costs.title = "My costs"
    costs.append(["Chips", "USD [#]", "Cost"])
    for row in range(2, 5):
        costs.append([row, 10 * row, "=Costs[[#This Row],[Chips]]*Costs[[#This Row],[USD '['#']]]"])
        costs[f"E{row}"] = "=SUM(Costs[[#This Row],[Chips]:[Cost]])+Costs[[#this row],[chips]]"
    costs.add_table(openpyxl.worksheet.table.Table(displayName="Costs", ref="A1:C4"))
    book.create_sheet("Sum")["A1"] = "=SUM(Costs[Cost])"
    path = tmp_path / "table.xlsx"
    book.save(path)
    package = Package.read(path)
    assert recalculate(package).skipped == []
    found = cached(package)
    assert [found[f"C{row}"] for row in (2, 3, 4)] == [40.0, 90.0, 160.0]
    assert [found[f"E{row}"] for row in (2, 3, 4)] == [64.0, 126.0, 208.0]
