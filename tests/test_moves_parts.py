"""Every kind of thing in a workbook that refers to cells follows them, and says so where they are gone."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from planner.xlsx.moved_cells import moved_formula
from planner.xlsx.moved_parts import move
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from tests.xlsx_samples import MAIN, parts, sheet, zipped

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_X14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
_XM = "http://schemas.microsoft.com/office/excel/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"
_VML = 'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:x="urn:schemas-microsoft-com:office:excel"'

# On Data a row was put in above row 5, row 8 is gone, and so the rows from 9 on stand where they stood.
ROWS = {4: 4} | {row: row + 1 for row in (5, 6, 7)} | {9: 9, 20: 20}
MOVES = Moves({"Data": SheetMoves("Data", Track(ROWS, frozenset({8}))), "Mine": SheetMoves("Mine")})


class Sample(NamedTuple):
    """A workbook: rows and tail of Mine, other parts as (sheet, kind, name, XML); what it has to hold, and what not."""

    rows: str = ""
    tail: str = ""
    linked: tuple[tuple[str, str, str, str], ...] = ()
    workbook: str = ""
    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def formula(ref: str, text: str, attributes: str = "") -> str:
    """A row of one cell with a formula."""
    row = ref.lstrip("ABCDEFGH")
    inner = f"<f{attributes}>{text}</f>" if text else f"<f{attributes}/>"
    return f'<row r="{row}"><c r="{ref}">{inner}<v>1</v></c></row>'


def ext(inner: str) -> str:
    """An extension of a sheet."""
    return f'<extLst><ext xmlns:x14="{_X14}" xmlns:xm="{_XM}" uri="{{1}}">{inner}</ext></extLst>'


def anchored(kind: str, prefix: str) -> str:
    """A drawing of one shape that shows Data!A5, at row 5."""
    p = f"{prefix}:" if prefix else ""
    name = f"xmlns:{prefix}" if prefix else "xmlns"
    at = "".join(
        f"<{p}{end}><{p}col>1</{p}col><{p}colOff>0</{p}colOff><{p}row>{row}</{p}row><{p}rowOff>0</{p}rowOff></{p}{end}>"
        for end, row in (("from", 4), ("to", 9))
    )
    shape = f'<{p}sp textlink="Data!$A$5"><{p}nvSpPr><{p}cNvPr id="2" name="Box"/></{p}nvSpPr></{p}sp>'
    return f'<{p}wsDr {name}="{DRAWING}"><{p}{kind}>{at}{shape}</{p}{kind}></{p}wsDr>'


SAMPLES = {
    "normal": Sample(formula("A1", "Data!B5*2"), there=("<f>Data!B6*2</f>",)),
    "lost cell": Sample(
        formula("A1", "Data!B8+1"), there=("<f>Data!#REF!+1</f>",), lost=("Mine!A1 read Data!B8, which is no more",)
    ),
    "range that loses its end": Sample(formula("A1", "SUM(Data!B6:B8)"), there=("<f>SUM(Data!B7:B8)</f>",)),
    "range around a lost row": Sample(formula("A1", "SUM(Data!B6:B9)"), there=("<f>SUM(Data!B7:B9)</f>",)),
    "range of lost rows": Sample(formula("A1", "SUM(Data!B8:C8)"), there=("SUM(Data!#REF!)",), lost=("Mine!A1",)),
    "whole columns": Sample(formula("A1", "SUM(Data!B:B)"), there=("<f>SUM(Data!B:B)</f>",)),
    "several sheets": Sample(formula("A1", "SUM(Data:Mine!B5)"), there=("<f>SUM(Data:Mine!B5)</f>",)),
    "another file": Sample(formula("A1", "[1]Data!B5"), there=("<f>[1]Data!B5</f>",)),
    "shared": Sample(
        formula("A1", "Data!B4", ' t="shared" ref="A1:A2" si="0"') + formula("A2", "", ' t="shared" si="0"'),
        there=("<f>Data!B4</f>", "<f>Data!B6</f>"),
        gone=('t="shared"',),
    ),
    "shared and still": Sample(
        formula("A1", "Data!B1", ' t="shared" ref="A1:A2" si="0"') + formula("A2", "", ' t="shared" si="0"'),
        there=('<f t="shared" ref="A1:A2" si="0">Data!B1</f>', '<f t="shared" si="0"/>'),
    ),
    "array": Sample(
        formula("A1", "Data!B5:B7*2", ' t="array" ref="A1:A3"'),
        there=('<f t="array" ref="A1:A3">Data!B6:B8*2</f>',),
    ),
    "data table": Sample(
        formula("B2", "", ' t="dataTable" ref="B2:B4" dt2D="0" dtr="0" r1="A9"'),
        there=('<f t="dataTable" ref="B2:B4" dt2D="0" dtr="0" r1="A9"/>',),
    ),
    "conditional format": Sample(
        tail='<conditionalFormatting sqref="A1:A9"><cfRule type="expression" priority="1">'
        "<formula>Data!$B$5&gt;1</formula></cfRule></conditionalFormatting>",
        there=("<formula>Data!$B$6&gt;1</formula>",),
    ),
    "validation": Sample(
        tail='<dataValidations count="1"><dataValidation type="list" sqref="A1">'
        "<formula1>Data!$B$5:$B$8</formula1></dataValidation></dataValidations>",
        there=("<formula1>Data!$B$6:$B$8</formula1>",),
    ),
    "conditional format of 2010": Sample(
        tail=ext(
            '<x14:conditionalFormattings><x14:conditionalFormatting><x14:cfRule type="expression"><xm:f>Data!$B$5'
            "</xm:f></x14:cfRule><xm:sqref>A1</xm:sqref></x14:conditionalFormatting></x14:conditionalFormattings>"
        ),
        there=("<xm:f>Data!$B$6</xm:f>",),
    ),
    "validation of 2010": Sample(
        tail=ext(
            '<x14:dataValidations count="1"><x14:dataValidation type="list"><x14:formula1><xm:f>Data!B8</xm:f>'
            "</x14:formula1><xm:sqref>C3</xm:sqref></x14:dataValidation></x14:dataValidations>"
        ),
        there=("<xm:f>Data!#REF!</xm:f>",),
        lost=("Mine!C3 read Data!B8, which is no more",),
    ),
    "sparkline": Sample(
        tail=ext(
            "<x14:sparklineGroups><x14:sparklineGroup><x14:sparklines><x14:sparkline><xm:f>Data!B5:D5</xm:f>"
            "<xm:sqref>A1</xm:sqref></x14:sparkline></x14:sparklines></x14:sparklineGroup></x14:sparklineGroups>"
        ),
        there=("<xm:f>Data!B6:D6</xm:f>",),
    ),
    "hyperlink": Sample(
        tail='<hyperlinks><hyperlink ref="A1" location="Data!B5" display="x"/></hyperlinks>',
        there=('location="Data!B6"',),
    ),
    "control of a sheet": Sample(
        tail='<controls><control shapeId="1"><controlPr linkedCell="Data!$B$5" listFillRange="Data!B5:B7"/>'
        "</control></controls>",
        there=('linkedCell="Data!$B$6"', 'listFillRange="Data!B6:B8"'),
    ),
    "consolidation": Sample(
        tail='<dataConsolidate><dataRefs count="1"><dataRef ref="B5:B7" sheet="Data"/></dataRefs></dataConsolidate>',
        there=('ref="B6:B8"',),
    ),
    "defined name": Sample(
        workbook='<definedNames><definedName name="rate">Data!$B$5</definedName>'
        '<definedName name="old">Data!$B$8</definedName></definedNames>',
        there=('name="rate">Data!$B$6<', 'name="old">Data!#REF!<'),
        lost=("the name old read Data!$B$8, which is no more",),
    ),
    "printed area": Sample(
        workbook='<definedNames><definedName name="_xlnm.Print_Area" localSheetId="0">Data!$A$1:$C$8</definedName>'
        '<definedName name="_xlnm.Print_Titles" localSheetId="0">Data!$8:$8</definedName></definedNames>',
        there=("Data!$A$1:$C$8",),
        gone=("Print_Titles",),
    ),
    "comment": Sample(
        linked=(("Data", "comments", "xl/c.xml", f'<comments xmlns="{MAIN}"><comment ref="B5"/></comments>'),),
        there=('ref="B6"',),
    ),
    "threaded comment": Sample(
        linked=(("Data", "threadedComment", "xl/t.xml", '<T xmlns="urn:t"><threadedComment ref="B5"/></T>'),),
        there=('ref="B6"',),
    ),
    "note's box": Sample(
        linked=(
            (
                "Data",
                "vmlDrawing",
                "xl/v.vml",
                f'<xml {_VML}><v:shape><x:ClientData ObjectType="Note"><x:Anchor>1, 15, 4, 2, 3, 15, 8, 4</x:Anchor>'
                "<x:Row>4</x:Row><x:Column>1</x:Column></x:ClientData><br></v:shape></xml>",
            ),
        ),
        there=("<x:Row>5</x:Row>", "1, 15, 5, 2, 3, 15, 9, 4"),
    ),
    "control of VML": Sample(
        linked=(
            (
                "Data",
                "vmlDrawing",
                "xl/v.vml",
                f'<xml {_VML}><v:shape><x:ClientData ObjectType="Drop"><x:Anchor>1, 15, 4, 2, 3, 15, 8, 4</x:Anchor>'
                "<x:FmlaMacro>[0]!Sub5</x:FmlaMacro><x:FmlaRange>$B$5:$B$7</x:FmlaRange><x:FmlaLink>$B$5</x:FmlaLink>"
                "</x:ClientData></v:shape></xml>",
            ),
        ),
        there=("FmlaRange>$B$6:$B$8<", "FmlaLink>$B$6<", "[0]!Sub5", "1, 15, 5, 2"),
    ),
    "form control": Sample(
        linked=(
            (
                "Data",
                "ctrlProp",
                "xl/p.xml",
                f'<formControlPr xmlns="{_X14}" objectType="Drop" fmlaMacro="Sub5" fmlaLink="$B$5" '
                'fmlaRange="Data!B5:B7"/>',
            ),
        ),
        there=('fmlaLink="$B$6"', 'fmlaRange="Data!B6:B8"', 'fmlaMacro="Sub5"'),
    ),
    "table": Sample(
        linked=(
            (
                "Data",
                "table",
                "xl/tables/t.xml",
                f'<table xmlns="{MAIN}" displayName="T" ref="A4:B8"><autoFilter ref="A4:B8"/><sortState ref="A5:B8"/>'
                "<tableColumns><tableColumn><calculatedColumnFormula>T[[#This Row],[A5]]*Data!B5"
                "</calculatedColumnFormula></tableColumn></tableColumns></table>",
            ),
        ),
        there=('displayName="T" ref="A4:B8"', '<sortState ref="A6:B8"', "T[[#This Row],[A5]]*Data!B6"),
    ),
    "drawing": Sample(
        linked=(("Data", "drawing", "xl/drawings/d.xml", anchored("twoCellAnchor", "xdr")),),
        there=("<xdr:row>5</xdr:row>", "<xdr:row>10</xdr:row>", 'textlink="Data!$A$6"'),
    ),
    "link of a shape": Sample(
        linked=(
            ("Data", "drawing", "xl/drawings/d.xml", anchored("twoCellAnchor", "xdr")),
            (
                "",
                "other",
                "xl/drawings/_rels/d.xml.rels",
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                + "".join(
                    f'<Relationship Id="rId{at}" Type="{OFFICE}/hyperlink" Target="{target}"{mode}/>'
                    for at, (target, mode) in enumerate(
                        (
                            ("#Data!B5", ""),
                            ("#'Data'!$B$5:$B$6", ""),
                            ("#Data!B1", ""),
                            ("https://example.com/#Data!B5", ' TargetMode="External"'),
                        )
                    )
                )
                + "</Relationships>",
            ),
        ),
        there=('"#Data!B6"', "#'Data'!$B$6:$B$7", '"#Data!B1"', '"https://example.com/#Data!B5"'),
    ),
    "drawing with another prefix": Sample(
        linked=(("Data", "drawing", "xl/drawings/d.xml", anchored("oneCellAnchor", "")),),
        there=("<row>5</row>", 'textlink="Data!$A$6"'),
    ),
    "pivot cache": Sample(
        linked=(
            (
                "",
                "pivotCacheDefinition",
                "xl/pivotCache/p.xml",
                f'<pivotCacheDefinition xmlns="{MAIN}"><cacheSource type="worksheet"><worksheetSource ref="A4:C7" '
                'sheet="Data"/></cacheSource></pivotCacheDefinition>',
            ),
        ),
        there=('ref="A4:C8"',),
    ),
    "chart": Sample(
        linked=(
            ("Mine", "drawing", "xl/drawings/d.xml", f'<wsDr xmlns="{DRAWING}"/>'),
            (
                "xl/drawings/d.xml",
                "chart",
                "xl/charts/c.xml",
                '<c:chartSpace xmlns:c="urn:c"><c:f>Data!$B$5:$B$7</c:f><c:f>Data!$B$8</c:f></c:chartSpace>',
            ),
        ),
        there=("<c:f>Data!$B$6:$B$8</c:f>", "<c:f>Data!#REF!</c:f>"),
        lost=("the chart in xl/charts/c.xml read Data!$B$8, which is no more",),
    ),
    "shapes in a chart": Sample(
        linked=(
            ("Mine", "drawing", "xl/drawings/d.xml", f'<wsDr xmlns="{DRAWING}"/>'),
            ("xl/drawings/d.xml", "chart", "xl/charts/c.xml", '<c:chartSpace xmlns:c="urn:c"/>'),
            (
                "xl/charts/c.xml",
                "chartUserShapes",
                "xl/drawings/u.xml",
                '<c:userShapes xmlns:c="urn:c" xmlns:cdr="urn:d"><cdr:sp textlink="Data!$B$5"/><cdr:sp '
                'textlink="Data!$B$8"/></c:userShapes>',
            ),
        ),
        there=('<cdr:sp textlink="Data!$B$6"/>', 'textlink="Data!#REF!"'),
        lost=("the chart in xl/charts/c.xml read Data!$B$8, which is no more",),
    ),
    "chart of 2016": Sample(
        linked=(
            ("Mine", "drawing", "xl/drawings/d.xml", f'<wsDr xmlns="{DRAWING}"/>'),
            (
                "xl/drawings/d.xml",
                "chartEx",
                "xl/charts/x.xml",
                '<cx:chartSpace xmlns:cx="urn:x"><cx:f dir="row">Data!B5:D5</cx:f></cx:chartSpace>',
            ),
        ),
        there=('<cx:f dir="row">Data!B6:D6</cx:f>',),
    ),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_refers_to_cells_follows_them(kind: str) -> None:
    """Each kind reads the cells that it read, at their new places; what is lost says #REF! and is told."""
    sample = SAMPLES[kind]
    package = workbook(sample)
    before = dict(package.parts)
    lost = move(package, MOVES, {"Data"})
    text = "".join(data.decode() for name, data in package.parts.items() if not name.startswith("xl/worksheets/sheet1"))
    assert [wanted for wanted in sample.there if wanted not in text] == []
    assert [unwanted for unwanted in sample.gone if unwanted in text] == []
    assert [str(each)[: len(said)] for each, said in zip(lost, sample.lost, strict=False)] == list(sample.lost)
    assert package.parts["xl/worksheets/sheet1.xml"] == before["xl/worksheets/sheet1.xml"]


def test_what_need_not_change_keeps_its_bytes() -> None:
    """Where no cell moves, every part has the bytes that it had."""
    for sample in SAMPLES.values():
        package = workbook(sample)
        before = dict(package.parts)
        move(package, Moves({"Data": SheetMoves("Data", Track({30: 31}))}), {"Data"})
        assert package.parts == before


def test_the_formulas_of_a_sheet_that_is_written_anew() -> None:
    """The range of an array or a data table moves, and the input cells of the latter; one that is gone is marked so."""
    track = MOVES.of("Data")
    assert moved_formula(b'<f t="array" ref="B5:B7">A1</f>', "A2", track) == b'<f t="array" ref="B6:B8">A2</f>'
    table = b'<f t="dataTable" ref="B5:C7" dt2D="1" dtr="1" r1="A5" r2="A8"/>'
    assert moved_formula(table, "", track) == (
        b'<f t="dataTable" ref="B6:C8" dt2D="1" dtr="1" r1="A6" r2="A8" del2="1"/>'
    )


def test_a_sheet_that_is_renamed() -> None:
    """The tab has its new name, and so has every reference, over several sheets too."""
    package = Package.from_bytes(
        zipped(parts({"Data": sheet(""), "Mine": sheet(formula("A1", "Data!A1+SUM(Data:Mine!B2)"))})), "x"
    )
    move(package, Moves({"Data": SheetMoves("My data")}), set())
    assert list(package.sheets()) == ["My data", "Mine"]
    assert b"<f>'My data'!A1+SUM('My data:Mine'!B2)</f>" in package.parts["xl/worksheets/sheet2.xml"]


def workbook(sample: Sample) -> Package:
    """Data, which is written by others, and Mine."""
    mine = sheet(sample.rows).replace("</worksheet>", f"{sample.tail}</worksheet>")
    content = parts({"Data": sheet(formula("A1", "B5")), "Mine": mine}, tail=sample.workbook)
    owners = {"Data": "xl/worksheets/sheet1.xml", "Mine": "xl/worksheets/sheet2.xml", "": "xl/workbook.xml"}
    for number, (owner, kind, name, xml) in enumerate(sample.linked, 10):
        folder, _, file = owners.get(owner, owner).rpartition("/")
        rels = f"{folder}/_rels/{file}.rels"
        link = f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="/{name}"/>'
        there = content.get(rels, b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
                                  b"</Relationships>").decode()  # fmt: skip
        content[rels] = there.replace("</Relationships>", f"{link}</Relationships>").encode()
        content[name] = xml.encode()
    return Package.from_bytes(zipped(content), "x.xlsx")
