"""Values spliced into a sheet's XML: they read back, and every byte outside their cells stays."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from dataclasses import dataclass

import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

from planner.errors import UserError
from planner.xlsx.address import Area, address, column_letters, column_number, coordinates
from planner.xlsx.cellvalue import NA, CellError, Value, same_value
from planner.xlsx.markup import element_end
from planner.xlsx.sheetedit import with_cached
from planner.xlsx.sheetxml import SheetXml
from tests.xlsx_samples import MAIN, STRICT, parts, read_cells, set_cached, set_values, sheet, zipped

CONTENTS = {  # what a cell may hold, {p} is the prefix: type and content
    "number": ("", "<{p}v>1.5</{p}v>"),
    "marked number": (' t="n"', "<{p}v>7</{p}v>"),
    "boolean": (' t="b" vm="1"', "<{p}v>1</{p}v>"),
    "error": (" t='e'", "<{p}v>#N/A</{p}v>"),
    "text": (' t="inlineStr"', "<{p}is><{p}r><{p}t>a</{p}t></{p}r><{p}r><{p}t>b</{p}t></{p}r></{p}is>"),
    "cdata": ("", "<{p}v><![CDATA[2]]></{p}v><!-- > -->"),
    "nothing": ("", None),
    "empty": ("", ""),
    "formula": ("", "<{p}f>1+1</{p}f><{p}v>2</{p}v>"),
    "new formula": ("", "<{p}f>A1&gt;0</{p}f>"),
    "openpyxl's formula": ("", "<{p}f>1+1</{p}f><{p}v></{p}v>"),
    "LibreOffice's formula": (' t="str"', '<{p}f aca="false">"a&gt;b"</{p}f><{p}v>a&gt;b</{p}v>'),
    "shared formula": ('  t = "b"', '<{p}f t="shared" si="0"/><{p}v>1</{p}v>'),
    "dynamic array": (' cm="1" t="e"', '<{p}f t="array" ref="{ref}">X</{p}f><{p}v>#NAME?</{p}v>'),
}
REFS = [address(row, column) for row in range(1, 7) for column in range(1, 6)]
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["_x0041_", "_x0041_x0042_", " a ", "a\r\nb", "\t", "\x00\x1f\ufffe", "=1+1", "<&>\"'", "", "µs ≤ 5", "#N/A"]
)
VALUES: st.SearchStrategy[Value] = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**53), 2**53)
    | st.booleans()
    | TEXTS
    | st.sampled_from([NA, CellError("#DIV/0!"), None])
)


@dataclass(frozen=True)
class Sample:
    """A sheet's XML, and which of its cells hold what."""

    xml: bytes
    kinds: dict[str, str]

    @property
    def formulas(self) -> list[str]:
        """The cells with a formula."""
        return [ref for ref, kind in self.kinds.items() if "formula" in kind or "array" in kind]


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Sheets as different writers make them: prefixes, addresses left out, spaces, comments."""
    prefix = draw(st.sampled_from(["", "x:"]))
    kinds = draw(st.dictionaries(st.sampled_from(REFS), st.sampled_from(sorted(CONTENTS)), max_size=12))
    gap = draw(st.sampled_from(["", "\n  ", "<!-- <c r='A1'/> -->"]))
    rows, previous = "", 0
    for row in sorted({coordinates(ref)[0] for ref in kinds}):
        cells, last = "", 0
        for column in range(1, 6):
            kind = kinds.get(address(row, column))
            if kind is not None:
                named = draw(st.booleans()) or column != last + 1
                cells += gap + _cell(prefix, address(row, column), named, kind)
                last = column
        number = f' r="{row}"' if row != previous + 1 or draw(st.booleans()) else ""
        rows += f'{gap}<{prefix}row{number} ht="15">{cells}</{prefix}row>'
        previous = row
    name = f"xmlns:{prefix[:-1]}" if prefix else "xmlns"
    xml = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{prefix}worksheet {name}="{MAIN}"><{prefix}sheetData>'
        f"{rows}</{prefix}sheetData></{prefix}worksheet>"
    )
    return Sample(xml.encode(), kinds)


def _cell(prefix: str, ref: str, named: bool, kind: str) -> str:
    type_, content = CONTENTS[kind]
    start = f"<{prefix}c" + (f' r="{ref}"' if named else "") + f' s="0"{type_}'
    return start + ("/>" if content is None else f">{content.format(p=prefix, ref=ref)}</{prefix}c>")


def without(xml: bytes, cells: Iterable[str], rows: Iterable[int] = ()) -> bytes:
    """The XML without these cells and rows."""
    parsed = SheetXml(xml)
    spans = [parsed.cells[ref].span for ref in cells if ref in parsed.cells]
    spans += [parsed.rows[number] for number in rows if number in parsed.rows]
    for start, end in sorted(spans, reverse=True):
        xml = xml[:start] + xml[element_end(xml, start, end) :]
    return xml


def through_openpyxl(xml: bytes) -> dict[str, Value]:
    """The values that openpyxl reads, errors as such and coded characters decoded."""
    book = openpyxl.load_workbook(io.BytesIO(zipped(parts({"S": xml.decode()}))), data_only=True)
    return {
        cell.coordinate: CellError(cell.value)
        if cell.data_type == "e"
        else unescape(cell.value)
        if isinstance(cell.value, str)
        else cell.value
        for row in book["S"].iter_rows()
        for cell in row
        if cell.value not in (None, "")
    }


@settings(deadline=None)
@given(samples(), st.dictionaries(st.sampled_from(REFS), VALUES, max_size=8))
def test_typed_values_read_back_and_nothing_else_changes(sample: Sample, wanted: dict[str, Value]) -> None:
    """Values typed into any cells without a formula are what openpyxl reads; other bytes are the same."""
    values = {ref: value for ref, value in wanted.items() if ref not in sample.formulas}
    xml = set_values(sample.xml, values)
    cells = through_openpyxl(xml)
    for ref, value in values.items():
        assert same_value(cells.get(ref), None if value == "" else value, 0.0)
    old_rows = {coordinates(ref)[0] for ref in sample.kinds}
    new_rows = {coordinates(ref)[0] for ref in values} - old_rows
    shown = [ref for ref in values if coordinates(ref)[0] in old_rows]
    assert without(without(xml, (), new_rows), shown) == without(sample.xml, values)


@settings(deadline=None)
@given(samples(), st.data())
def test_cached_values_read_back_and_nothing_else_changes(sample: Sample, data: st.DataObject) -> None:
    """Cached values are what openpyxl reads; other bytes, and the formulas, are the same."""
    values = {ref: data.draw(VALUES) for ref in sample.formulas if data.draw(st.booleans())}
    xml = set_cached(sample.xml, values)
    cells = through_openpyxl(xml)
    for ref, value in values.items():
        assert same_value(cells.get(ref), None if value == "" else value, 0.0)
    assert without(xml, values) == without(sample.xml, values)
    assert [cell.formula for cell in read_cells(xml)] == [cell.formula for cell in read_cells(sample.xml)]
    assert set_cached(xml, values) == xml


@settings(deadline=None)
@given(samples())
def test_the_same_cached_value_keeps_every_byte(sample: Sample) -> None:
    """Writing the cached values that are there changes nothing, whatever their spelling."""
    parsed = SheetXml(sample.xml)
    assert with_cached(parsed, {ref: parsed.cells[ref].value for ref in sample.formulas}) == sample.xml


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.1 + 0.2)
@example(5e-324)
@example(2.0**53 + 2)
def test_numbers_keep_all_their_digits(number: float) -> None:
    """A number reads back as exactly the same number."""
    xml = set_values(sheet("").encode(), {"A1": number})
    assert read_cells(xml)[0].value == number


@given(TEXTS)
def test_texts_keep_all_their_characters(text: str) -> None:
    """A text reads back the same: control characters, spaces, and what looks like a code of its own."""
    for xml in (
        set_values(sheet("").encode(), {"A1": text}),
        set_cached(sheet("<row><c><f>B1</f></c></row>").encode(), {"A1": text}),
    ):
        assert read_cells(xml)[0].value == text


def test_spelling_of_values() -> None:
    """Types and texts are spelt as spreadsheets spell them."""
    rows = '<row r="1">' + "".join(f'<c r="{c}1"><f>X</f></c>' for c in "ABCDEFG") + "</row>"
    values = {"A1": 5.0, "B1": 0.1, "C1": "a<b", "D1": True, "E1": NA, "F1": 1e22, "G1": -0.0}
    xml = set_cached(sheet(rows).encode(), values).decode()
    for text in (
        '"A1"><f>X</f><v>5</v>',
        '"B1"><f>X</f><v>0.1</v>',
        '"C1" t="str"><f>X</f><v>a&lt;b</v>',
        '"D1" t="b"><f>X</f><v>1</v>',
        '"E1" t="e"><f>X</f><v>#N/A</v>',
        "<v>1e+22</v>",
        "<v>0</v>",
    ):
        assert text in xml
    typed = set_values(sheet("").encode(), {"A1": " a", "B1": "b"}).decode()
    assert '<c r="A1" t="inlineStr"><is><t xml:space="preserve"> a</t></is></c>' in typed
    assert '<c r="B1" t="inlineStr"><is><t>b</t></is></c>' in typed


def test_missing_rows_and_cells_come_in_order() -> None:
    """Cells and rows are made in their places, in empty elements too; the dimension grows."""
    rows = '<row r="2"><c r="B2"/><c r="D2"/></row><row r="4"/>'
    values = {"C2": 1, "E2": 2, "A2": 3, "B4": 4, "A4": 5, "C1": 6, "A3": 7, "F9": 8, "B9": 9, "A1": None}
    xml = set_values(sheet(rows, before='<dimension ref="B2:D4"/>').encode(), values)
    assert [cell.ref for cell in read_cells(xml)] == ["C1", "A2", "B2", "C2", "D2", "E2", "A3", "A4", "B4", "B9", "F9"]
    assert b'<dimension ref="A1:F9"/>' in xml
    nothing = sheet("").replace("<sheetData></sheetData>", "<sheetData/>").encode()
    empty = set_values(nothing, {"B2": 1, "A1": "x"})
    assert [cell.ref for cell in read_cells(empty)] == ["A1", "B2"]


def test_style_and_extensions_of_a_cell_stay() -> None:
    """A typed value keeps the cell's style and extensions, and drops its type and its rich value."""
    rows = '<row><c r="A1" s="7" t="s" vm="1" cm="2"><v>3</v><extLst><ext uri="u"/></extLst></c></row>'
    xml = set_values(sheet(rows).encode(), {"A1": 5})
    assert b'<c r="A1" s="7"><v>5</v><extLst><ext uri="u"/></extLst></c>' in xml


def test_strict_namespace_is_read() -> None:
    """Strict workbooks have the same cells."""
    xml = set_values(sheet('<row><c r="A1"><v>1</v></c></row>', namespace=STRICT).encode(), {"A1": 2})
    assert read_cells(xml)[0].value == 2


def test_formulas_are_not_overwritten() -> None:
    """A formula, and the cells that an array formula or a data table fills, are refused, with the place."""
    rows = (
        '<row r="1"><c r="A1"><f>1</f></c><c r="B1"><f t="array" ref="B1:B2">X</f></c>'
        '<c r="C1"><f t="dataTable" ref="C1:D2" dt2D="1" r1="A1" r2="A2"/></c></row>'
        '<row r="2"><c r="B2"><v>1</v></c></row>'
    )
    for ref in ("A1", "B1", "B2", "D1", "D2"):
        with pytest.raises(UserError, match=rf"cell {ref}.*formula"):
            set_values(sheet(rows).encode(), {ref: 1})
    with pytest.raises(ValueError, match="no formula"):
        set_cached(sheet('<row><c r="A1"/></row>').encode(), {"A1": 1})


@pytest.mark.parametrize("value", [math.nan, math.inf, "x" * 32_768])
def test_values_that_no_cell_holds(value: float | str) -> None:
    """Numbers that aren't finite, and texts too long, are refused with the cell."""
    with pytest.raises(UserError, match="cell B5"):
        set_values(sheet("").encode(), {"B5": value})


@pytest.mark.parametrize(
    "xml",
    [
        b"<worksheet>",
        sheet("").encode("utf-16"),
        b"<a/>",
        b'<?xml version="1.0" encoding="latin-1"?>' + sheet("").encode(),
        sheet('<row><c r="A1"/><c r="A1"/></row>').encode(),
        sheet('<row><c r="a1"/></row>').encode(),
        sheet('<row><c r="XFE1"/></row>').encode(),
    ],
)
def test_unsound_sheets_are_refused(xml: bytes) -> None:
    """XML that is broken, not UTF-8, no sheet, or names cells wrongly is refused in words."""
    with pytest.raises(UserError):
        set_values(xml, {"A1": 1})


def test_shared_strings_and_phonetic_hints() -> None:
    """A cell of type s has its text where the texts are given; phonetic hints are no part of a text."""
    rows = '<row><c t="s"><v>1</v></c><c t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>z</t></rPh></is></c></row>'
    assert [cell.value for cell in read_cells(sheet(rows).encode(), ["x", "y_x0041_"])] == ["yA", "a"]


@given(st.integers(1, 16_384), st.integers(1, 1_048_576))
def test_addresses(column: int, row: int) -> None:
    """Addresses and coordinates are inverse, also for areas."""
    assert column_number(column_letters(column)) == column
    assert coordinates(address(row, column)) == (row, column)
    assert Area.parse(str(Area(1, 1, row, column))) == Area(1, 1, row, column)
