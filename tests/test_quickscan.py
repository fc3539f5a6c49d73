"""The quick scan finds what expat finds, or leaves the sheet to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.xlsx import sheetxml
from planner.xlsx.opc import Package
from planner.xlsx.sheetxml import SheetXml, plain_rows
from planner.xlsx.workbook_part import shared_strings
from tests.workbooks import write_comparison, write_plan
from tests.xlsx_samples import sheet

FIELDS = (
    "ref",
    "type",
    "text",
    "formula",
    "kind",
    "area",
    "span",
    "formula_span",
    "value_span",
    "value",
    "style",
    "shared",
)
USUAL = {
    "numbers": '<row r="2" spans="1:2"><c r="A2" s="3"><v>1.5</v></c><c r="C2"/></row><row r="4"/>',
    "texts": '<row r="1"><c r="A1" t="inlineStr"><is><t xml:space="preserve"> a&amp;b </t></is></c></row>',
    "formulas": '<row r="1"><c r="A1" t="str"><f>"a"&amp;B1</f><v>a&#10;</v></c>'
    '<c r="B1"><f aca="false">1</f></c></row>',
    "shared": '<row r="1"><c r="A1"><f t="shared" ref="A1:A2" si="0">B1</f><v>0</v></c></row>'
    '<row r="2"><c r="A2"><f t="shared" si="0"/><v>0</v></c></row>',
    "arrays": '<row r="1"><c r="A1" cm="1"><f t="array" ref="A1:A2">B1:B2</f><v>0</v></c></row>',
    "none": "",
}
UNUSUAL = {
    "rich": '<row r="1"><c r="A1" t="inlineStr"><is><r><t>a</t></r></is></c></row>',
    "space": '<row r="1">\n<c r="A1"><v>1</v></c></row>',
    "comment": '<row r="1"><c r="A1"><v>1</v></c><!-- a --></row>',
    "bare": "<row><c><v>1</v></c></row>",
    "quotes": "<row r='1'><c r='A1'><v>1</v></c></row>",
    "wrong row": '<row r="1"><c r="A2"><v>1</v></c></row>',
    "twice": '<row r="1"><c r="A1"/></row><row r="1"><c r="B1"/></row>',
    "outside": '<row r="1"><c r="XFE1"/></row>',
    "open": '<row r="1"><c r="A1"/>',
    "entity": '<row r="1"><c r="A1" t="str"><v>&nbsp;</v></c></row>',
}


def by_expat(xml: bytes, strings: list[str], monkeypatch: pytest.MonkeyPatch) -> SheetXml:
    """The scan without the quick one."""
    with monkeypatch.context() as patched:
        patched.setattr(sheetxml, "plain_rows", lambda *_: None)
        return SheetXml(xml, strings)


def same(one: SheetXml, other: SheetXml) -> bool:
    """Whether two scans have found the same."""
    cells = [[[getattr(cell, name) for name in FIELDS] for cell in scan.cells.values()] for scan in (one, other)]
    rest = [(scan.rows, scan.data, scan.dimension, scan.arrays) for scan in (one, other)]
    return cells[0] == cells[1] and rest[0] == rest[1]


@pytest.mark.parametrize("kind", USUAL)
def test_usual_xml_is_read_alike(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells, rows, spans, ranges and dimension."""
    xml = sheet(USUAL[kind], before='<dimension ref="A1:C4"/>').encode()
    assert plain_rows(xml) is not None
    assert same(SheetXml(xml), by_expat(xml, [], monkeypatch))


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_xml_is_left_to_expat(kind: str) -> None:
    """Whatever this regular expression doesn't cover to the last byte."""
    assert plain_rows(sheet(UNUSUAL[kind]).encode()) is None


@pytest.mark.parametrize("write", [write_comparison, pytest.param(write_plan, marks=pytest.mark.slow)])
def test_a_built_workbook_is_read_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]
) -> None:
    """Every sheet of a small one, and of the default one."""
    path = tmp_path / "plan.xlsx"
    write(path)
    package = Package.read(path)
    strings = shared_strings(package)
    for part in package.sheets().values():
        xml = package.parts[part]
        assert plain_rows(xml) is not None, part
        assert same(SheetXml(xml, strings), by_expat(xml, strings, monkeypatch)), part
