"""Cached values in files of other programs: their XML, coded names, and what the engine can't load."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from xml.etree.ElementTree import canonicalize

import pytest

from planner.errors import UserError
from planner.recalc import recalculate
from planner.xlsx.address import column_letters
from planner.xlsx.opc import Package
from tests.recalcs import cached
from tests.xlsx_samples import STRICT, package, parts, sheet, zipped


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("", '<calcPr fullCalcOnLoad="1"/>'),
        ("<definedNames/><oleSize/>", '<definedNames/><calcPr fullCalcOnLoad="1"/><oleSize/>'),
        ('<calcPr calcId="1"/>', '<calcPr calcId="1" fullCalcOnLoad="1"/>'),
        ('<calcPr fullCalcOnLoad="0" a="1"></calcPr>', '<calcPr fullCalcOnLoad="1" a="1"></calcPr>'),
    ],
)
def test_the_workbook_asks_to_be_computed(tail: str, expected: str) -> None:
    """calcPr gets its attribute, or is made where the schema wants it."""
    book, wanted = (package({"S": sheet("<row><c><f>NOSUCH(1)</f></c></row>")}, tail=each) for each in (tail, expected))
    recalculate(book)
    one, other = (canonicalize(each.parts["xl/workbook.xml"].decode()) for each in (book, wanted))
    assert one == other


def test_foreign_xml_is_computed() -> None:
    """Strict namespaces, comments, CDATA, shared formulas, ISO dates and 1904 make no difference."""
    dated = '<row><c t="d"><v>2024-01-02</v></c><c><f>SUM(A1)+1</f></c></row>'
    strict = package({"S": sheet(dated, namespace=STRICT)}, namespace=STRICT)
    recalculate(strict)
    assert cached(strict)["B1"] == 45294
    odd = package(
        {
            "S": sheet(
                "<row><c><v><![CDATA[2]]></v></c><c><f><![CDATA[IF(A1<3,1,0)]]></f></c><c><f>A1<!-- x -->+1</f></c>"
                '<c><f t="shared" ref="D1:D2" si="0">A1*2</f></c></row>'
                '<row><c><v>3</v></c><c r="D2"><f t="shared" si="0"/></c></row>'
            )
        }
    )
    recalculate(odd)
    assert [cached(odd)[ref] for ref in ("B1", "C1", "D1", "D2")] == [1.0, 3.0, 4.0, 6.0]
    old = package({"S": sheet("<row><c><f>DATE(2024,1,2)</f></c></row>")}, head='<workbookPr date1904="1"/>')
    recalculate(old)
    assert cached(old)["A1"] == 45293 - 1462


def test_prefixed_formulas_are_computed() -> None:
    """Formulas that the engine is given in other words are given so where elements have a prefix as well."""
    rows = (
        '<row r="1"><c r="A1"><v>2</v></c></row><row r="2"><c r="A2"><v>3</v></c><c r="B2"><f>SUM(A2:A1)</f></c></row>'
    )
    book = package({"S": re.sub("<(/?)(?=[a-z])", r"<\1x:", sheet(rows)).replace("xmlns=", "xmlns:x=")})
    recalculate(book)
    assert cached(book)["B2"] == 5.0


@pytest.mark.parametrize("name", ["Blatt 1.xml", "Blatt%201.xml"])
def test_parts_whose_names_are_coded(name: str) -> None:
    """A sheet whose part is called Blatt%201.xml by what links to it is computed, however the zip has its name."""
    content = parts({"S": sheet("<row><c><v>1</v></c><c><f>A1+1</f></c></row>")})
    content[f"xl/worksheets/{name}"] = content.pop("xl/worksheets/sheet1.xml")
    book = {part: data.replace(b"sheet1.xml", b"Blatt%201.xml") for part, data in content.items()}
    package = Package.from_bytes(zipped(book), "x")
    recalculate(package)
    assert cached(package)["B1"] == 2.0


def test_a_workbook_that_the_engine_cannot_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the engine refuses the whole workbook, no formula keeps a value, and the note says why."""
    monkeypatch.setattr("planner.recalc.engine.given", lambda formula, _elsewhere: formula)
    book = package({"S": sheet("<row><c><f>[1]Other!A1</f><v>1</v></c><c><f>1+1</f><v>2</v></c></row>")})
    result = recalculate(book)
    assert cached(book) == {"A1": None, "B1": None}
    assert "can't compute this workbook" in result.note


def test_a_missing_engine_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without formualizer the user is told what to install."""
    monkeypatch.setitem(sys.modules, "formualizer", None)
    with pytest.raises(UserError, match="pip install"):
        recalculate(package({"S": sheet("")}))


@pytest.mark.slow
def test_more_cells_and_columns_than_the_cache_only_path_takes() -> None:
    """110,000 formulas in 400 columns are computed and given their values, every one."""
    letters = list(pairwise(column_letters(column) for column in range(1, 401)))
    rows = "".join(
        f'<row r="{row}"><c r="A{row}"><v>{row}</v></c>'
        + "".join(f'<c r="{now}{row}"><f>{last}{row}+1</f></c>' for last, now in letters)
        + "</row>"
        for row in range(1, 277)
    )
    book = package({"S": sheet(rows)})
    result = recalculate(book)
    assert (result.n_formulas, result.n_changed, result.skipped) == (276 * 399, 276 * 399, [])
    assert cached(book)["OJ276"] == 276 + 399
