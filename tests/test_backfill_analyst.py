"""Workbooks that hold what analysts put there: only the Comparison's values change, every other part stays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from planner.xlsx.opc import Package
from tests import libreoffice
from tests.backfills import backfill, changed, keys, measurement, rows
from tests.xlsx_samples import zipped

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = {
    "xl/threadedComments/threadedComment1.xml": b'<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"><threadedComment ref="A6" id="{1}"><text>why?</text></threadedComment></ThreadedComments>',  # noqa: E501
    "xl/persons/person.xml": b'<personList xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"/>',
    "xl/slicers/slicer1.xml": b'<slicers xmlns="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"/>',
    "xl/slicerCaches/slicerCache1.xml": b'<slicerCacheDefinition xmlns="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"/>',
    "xl/pivotCache/pivotCacheDefinition1.xml": b'<pivotCacheDefinition xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    "xl/externalLinks/externalLink1.xml": b'<externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    "xl/metadata.xml": b'<metadata xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    "customXml/item1.xml": b"<mine>  <kept/> </mine>",
    "xl/vbaProject.bin": b"\xd0\xcf\x11\xe0 a macro\x00\x01",
    "xl/drawings/drawing9.xml": b"<shape/>",
}
X14 = (
    b'<extLst><ext uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}" '
    b'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:conditionalFormattings/></ext>'
    b'<ext uri="{05C60535-1F16-4fd2-B633-F4F36F0B64E0}" '
    b'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"><x14:sparklineGroups/></ext></extLst>'
)


def edited(built: bytes) -> dict[str, bytes]:
    """The workbook's parts after an analyst has added parts, sparklines, data bars and a dynamic array."""
    package = Package.from_bytes(built, "plan.xlsx")
    sheet, log = (package.sheets()[name] for name in ("Comparison", "Log"))
    parts = dict(package.parts)
    parts[sheet] = parts[sheet].replace(b"</worksheet>", X14 + b"</worksheet>")
    cell = b'<row r="60"><c r="A60" cm="1"><f t="array" ref="A60:A61">_xlfn.UNIQUE(B6:B7)</f><v>0</v></c></row>'
    parts[log] = parts[log].replace(b"</sheetData>", cell + b"</sheetData>")
    links = "".join(
        f'<Relationship Id="own{number}" Type="{OFFICE}/own" Target="/{name}"/>' for number, name in enumerate(PARTS)
    ).encode()
    rels = "xl/_rels/workbook.xml.rels"
    parts[rels] = parts[rels].replace(b"</Relationships>", links + b"</Relationships>")
    return parts | PARTS


def test_every_other_part_stays(built: bytes, tmp_path: Path) -> None:
    """Updating and appending among everything that an analyst has added: one part differs, and keeps its extensions."""
    path = tmp_path / "plan.xlsm"
    path.write_bytes(before := zipped(edited(built)))
    known = keys(path)[1]
    done = backfill(path, measurement(known), measurement(known.replace("=256", "=384")))
    assert "1 updated, 1 appended" in done.output
    package = Package.read(path)
    part = package.sheets()["Comparison"]
    assert changed(before, path) <= {part, "xl/workbook.xml"}
    assert package.parts[part].endswith(X14 + b"</worksheet>")
    head, tail = b"<sheetData>", b"</sheetData>"
    old = Package.from_bytes(before, "before").parts[part]
    assert old.split(tail)[1] == package.parts[part].split(tail)[1]
    assert re.sub(rb"<dimension[^>]*>", b"", old.split(head)[0]) == re.sub(
        rb"<dimension[^>]*>", b"", package.parts[part].split(head)[0]
    )


def test_shared_formulas_and_strings_are_copied_down(built: bytes, tmp_path: Path) -> None:
    """As Excel saves it: the formulas of a column shared from its first row, texts in a part of their own."""
    package = Package.from_bytes(built, "plan.xlsx")
    part = package.sheets()["Comparison"]
    xml = package.parts[part].decode()
    column = re.search(r'<c r="([A-Z]+)6"[^>]*><f>MATCH\(D6,', xml)
    assert column is not None
    for row in (6, 7):
        body = f't="shared" ref="{column[1]}6:{column[1]}7" si="0">MATCH(D6,' if row == 6 else 't="shared" si="0"/>'
        pattern = rf'(<c r="{column[1]}{row}"[^>]*>)<f>MATCH\(D{row},' + ("" if row == 6 else "[^<]*</f>")
        xml, count = re.subn(pattern, rf"\g<1><f {body}", xml)
        assert count == 1
    package.replace(part, xml.encode())
    path = tmp_path / "plan.xlsx"
    package.write(path)
    known = keys(path)[1]
    assert "1 appended" in backfill(path, measurement(known.replace("=256", "=384"))).output
    assert rows(path)[-1].number_in("hardware_row") == rows(path)[0].number_in("hardware_row")


@libreoffice.needs_libreoffice
@pytest.mark.slow
def test_saved_by_libreoffice(built: bytes, tmp_path: Path) -> None:
    """Other part names, shared strings, 15 digits: found, filled, and LibreOffice computes the same from it."""
    source = tmp_path / "in" / "plan.xlsx"
    source.parent.mkdir()
    source.write_bytes(built)
    command = ["soffice", f"-env:UserInstallation={libreoffice._profile().as_uri()}", "--headless", "--convert-to"]
    subprocess.run([*command, "xlsx", "--outdir", str(tmp_path), str(source)], check=True, capture_output=True)
    path = tmp_path / "plan.xlsx"
    before, known = path.read_bytes(), keys(path)
    done = backfill(path, measurement(known[1]), measurement(known[1].replace("=256", "=384")))
    assert "1 updated, 1 appended" in done.output
    # The appended case is printed with the others, and what is printed stands in the workbook's part.
    assert changed(before, path) == {Package.read(path).sheets()["Comparison"], "xl/workbook.xml"}
    ours, theirs = rows(path), libreoffice.recalculated(path, tmp_path / "again")["Comparison"]
    from planner.compare.comparison_sheet import find
    from planner.xlsx.address import address

    column = find(Package.read(path)).columns
    for row in (ours[1], ours[-1]):
        for name in ("predicted_time", "time_ratio", "mfu", "achieved_flops"):
            assert row.number_in(name) == pytest.approx(theirs[address(row.number, column[name])], rel=1e-12)
