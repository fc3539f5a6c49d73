"""What stands around a sheet's cells follows them: selections, filters, merged cells, formats, controls."""

from __future__ import annotations

import re

import pytest

from planner.xlsx.moved_parts import move, move_around_rows
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.workbook_part import name_new_columns
from planner.xlsx.worksheet import Worksheet
from tests.test_moves_parts import DRAWING, MOVES, OFFICE, Sample, workbook
from tests.xlsx_samples import MAIN, sheet

OWN = {
    "selection": (
        '<sheetView><selection activeCell="B5" sqref="B5:B6"/></sheetView>',
        'activeCell="B6" sqref="B6:B7"',
    ),
    "lost selection": (
        '<sheetViews><sheetView showGridLines="0"><selection activeCell="B8" sqref="B8"/></sheetView></sheetViews>',
        '<sheetViews><sheetView showGridLines="0"/></sheetViews>',
    ),
    "links here and to another file": (
        f'<hyperlinks xmlns:r="{OFFICE}"><hyperlink ref="A1" r:id="rId1" location="Data!B5"/>'
        '<hyperlink ref="A2" location="Data!B5"/></hyperlinks>',
        'r:id="rId1" location="Data!B5"/><hyperlink ref="A2" location="Data!B6"/>',
    ),
    "pane": ('<sheetView><pane topLeftCell="A5"/></sheetView>', 'topLeftCell="A6"'),
    "filter": ('<autoFilter ref="A4:C8"/>', '<autoFilter ref="A4:C8"/>'),
    "sort": (
        '<sortState ref="A5:C7"><sortCondition ref="B5:B7"/></sortState>',
        'ref="A6:C8"><sortCondition ref="B6:B8"',
    ),
    "protected range": ('<protectedRanges><protectedRange sqref="B5 B8"/></protectedRanges>', 'sqref="B6"'),
    "ignored error": ('<ignoredErrors><ignoredError sqref="B5"/></ignoredErrors>', 'sqref="B6"'),
    "watch": ('<cellWatches><cellWatch r="B5"/><cellWatch r="B8"/></cellWatches>', '<cellWatches><cellWatch r="B6"/><'),
    "Scenario Manager": (
        '<scenarios current="1" show="1"><scenario name="low" count="2"><inputCells r="B5" val="1"/>'
        '<inputCells r="B8" val="2"/></scenario><scenario name="gone" count="1"><inputCells r="B8" val="3"/></scenario>'
        "</scenarios>",
        '<scenarios current="0" show="0"><scenario name="low" count="1"><inputCells r="B6" val="1"/></scenario><',
    ),
    "row break": ('<rowBreaks count="1"><brk id="5"/></rowBreaks>', '<brk id="6"/>'),
    "merged cells": ('<mergeCells count="2"><mergeCell ref="A5:B5"/><mergeCell ref="A8:B8"/></mergeCells>',
                     '<mergeCells count="1"><mergeCell ref="A6:B6"/></mergeCells>'),
    "format over gone cells": (
        '<conditionalFormatting sqref="A8:C8"><cfRule><formula>1</formula></cfRule></conditionalFormatting>',
        "<sheetData/></worksheet>",
    ),
    "format whose first row is gone": (
        '<conditionalFormatting sqref="A8:C9"><cfRule><formula>$B8=$B$5</formula></cfRule></conditionalFormatting>',
        'sqref="A9:C9"><cfRule><formula>$B9=$B$6</formula>',
    ),
    "control": (
        f'<controls><control><controlPr><anchor xmlns:xdr="{DRAWING}"><from><xdr:col>1</xdr:col><xdr:row>4</xdr:row>'
        "</from><to><xdr:col>2</xdr:col><xdr:row>5</xdr:row></to></anchor></controlPr></control></controls>",
        "<xdr:row>5</xdr:row></from><to><xdr:col>2</xdr:col><xdr:row>6</xdr:row>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", OWN)
def test_what_stands_around_a_sheets_own_rows(kind: str) -> None:
    """On the sheet whose rows move, what is for some cells is for the same ones then, and goes with those that go."""
    around, wanted = OWN[kind]
    moved = Worksheet(f'<worksheet xmlns="{MAIN}"><sheetData/>{around}</worksheet>'.encode())
    move_around_rows(moved.root, "Data", MOVES)
    assert wanted in moved.xml().decode()


SORTED = SheetMoves("Data", Track({6: 7, 7: 6, 8: 8}))
TOPPED = SheetMoves("Data", Track({6: 8}), range_tops={6: 6})
RULES = {
    "rows that change places": (SORTED, "B6:B7", "B6&gt;$C6", "B6:B7", "B6&gt;$C6"),
    "rows that change places, of which one is gone": (
        SheetMoves("Data", Track({6: 7, 7: 6, 8: 8}, frozenset({5}))), "B5:B7", "B5&gt;B$9", "B6:B7", "B6&gt;B$9"
    ),
    "new rows at the top": (TOPPED, "A6:A10", "$F6&gt;$H$6", "A6:A12", "$F6&gt;$H$8"),
    "all further down": (SheetMoves("Data", Track({6: 8})), "A6:A10", "$F6&gt;1", "A8:A12", "$F8&gt;1"),
    "the first of two areas is gone": (
        SheetMoves("Data", Track({9: 8}, frozenset({8}))), "A8 A12", "A8&gt;1", "A11", "A11&gt;1"
    ),
    "areas in any order": (TOPPED, "C8:C10 A6:B10", "$F6&gt;1", "C10:C12 A6:B12", "$F6&gt;1"),
    "the corner of two areas is gone": (
        SheetMoves("Data", Track({10: 9}, frozenset({9}))), "A8:A10 C9", "A8&gt;1", "A8:A9", "A8&gt;1"
    ),
    "whole columns": (SheetMoves("Data", columns=Track({8: 7}, frozenset({7}))), "G1:H1048576", "G1&gt;1",
                      "G1:G1048576", "G1&gt;1"),
}  # fmt: skip


@pytest.mark.parametrize("kind", RULES)
def test_a_rules_formula_is_for_the_first_cell(kind: str) -> None:
    """A rule's relative formula reads as it has to in whatever cell is the first of its range then."""
    moves, area, formula, area_then, then = RULES[kind]
    rule = '<conditionalFormatting sqref="{}"><cfRule><formula>{}</formula></cfRule></conditionalFormatting>'
    moved = Worksheet(f'<worksheet xmlns="{MAIN}"><sheetData/>{rule.format(area, formula)}</worksheet>'.encode())
    move_around_rows(moved.root, "Data", Moves({"Data": moves}))
    assert rule.format(area_then, then) in moved.xml().decode()


FILTERED = (
    '<autoFilter ref="{}"><filterColumn colId="0"/><filterColumn colId="2"><filters/></filterColumn>'
    '<filterColumn colId="3"/></autoFilter>'
)
COLUMN_GONE = Moves({"Data": SheetMoves("Data", columns=Track({5: 4}, frozenset({4})))})  # D


def test_what_filters_by_a_column_goes_with_it() -> None:
    """A filter's columns are counted from its first one: those behind a column that is gone count one less."""
    moved = Worksheet(f'<worksheet xmlns="{MAIN}"><sheetData/>{FILTERED.format("B4:F9")}</worksheet>'.encode())
    move_around_rows(moved.root, "Data", COLUMN_GONE)
    wanted = '<autoFilter ref="B4:E9"><filterColumn colId="0"/><filterColumn colId="2"/></autoFilter>'
    assert wanted in moved.xml().decode()
    alone = Worksheet(
        f'<worksheet xmlns="{MAIN}"><sheetData/><autoFilter ref="B4:F9"><filterColumn colId="2"/></autoFilter>'
        "</worksheet>".encode()
    )
    move_around_rows(alone.root, "Data", COLUMN_GONE)
    assert '<autoFilter ref="B4:E9"/>' in alone.xml().decode()


def test_a_table_loses_the_column_that_is_gone() -> None:
    """It has as many names as columns."""
    columns = "".join(f'<tableColumn id="{number}" name="{name}"/>' for number, name in enumerate("BCDEF", 1))
    table = (
        f'<table xmlns="{MAIN}" displayName="T" ref="B4:F9">{FILTERED.format("B4:F9")}<tableColumns count="5">{columns}'
        "</tableColumns></table>"
    )
    package = workbook(Sample(linked=(("Data", "table", "xl/tables/t.xml", table),)))
    move(package, COLUMN_GONE, {"Data"})
    xml = package.parts["xl/tables/t.xml"].decode()
    assert 'ref="B4:E9"><autoFilter ref="B4:E9"><filterColumn colId="0"/><filterColumn colId="2"/></autoFilter>' in xml
    assert (
        '<tableColumns count="4"><tableColumn id="1" name="B"/><tableColumn id="2" name="C"/><tableColumn id="4"' in xml
    )


def test_what_there_can_be_once_only() -> None:
    """Breaks that come to one place are one, and merged cells of which one is left are none."""
    around = (
        '<mergeCells count="2"><mergeCell ref="C5:D5"/><mergeCell ref="B6:D6"/></mergeCells><colBreaks count="3" '
        'manualBreakCount="3"><brk id="2" man="1"/><brk id="3" man="1"/><brk id="4" man="1"/></colBreaks>'
    )
    moved = Worksheet(f'<worksheet xmlns="{MAIN}"><sheetData/>{around}</worksheet>'.encode())
    move_around_rows(moved.root, "Data", COLUMN_GONE)
    xml = moved.xml().decode()
    assert '<mergeCells count="1"><mergeCell ref="B6:C6"/></mergeCells>' in xml
    assert 'count="2" manualBreakCount="2"><brk id="2" man="1"/><brk id="3" man="1"/></colBreaks>' in xml


def test_a_table_has_a_name_for_a_column_that_is_put_in() -> None:
    """It is what the head of the new column says; the others keep theirs."""
    columns = "".join(f'<tableColumn id="{number}" name="{name}"/>' for number, name in enumerate("ABC", 1))
    table = f'<table xmlns="{MAIN}" ref="A1:C9"><tableColumns count="3">{columns}</tableColumns></table>'
    package = workbook(Sample(linked=(("Data", "table", "xl/tables/t.xml", table),)))
    head = sheet('<row r="1"><c r="B1" t="str"><v>New</v></c></row>').encode()
    package.replace("xl/worksheets/sheet1.xml", head)
    move(package, Moves({"Data": SheetMoves("Data", columns=Track({2: 3, 3: 5}))}), {"Data"})
    name_new_columns(package)
    found = re.findall('<tableColumn id="(.)" name="(.*?)"', package.parts["xl/tables/t.xml"].decode())
    assert found == [("1", "A"), ("4", "New"), ("2", "B"), ("5", "Column4"), ("3", "C")]
    assert b'ref="A1:E9"><tableColumns count="5">' in package.parts["xl/tables/t.xml"]
