"""The same workbook in other forms that programs write: found, filled, and one part changes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.xlsx.opc import Package
from tests.backfills import backfill, changed, keys, measurement, rows
from tests.xlsx_samples import zipped

MAIN, OFFICE = (
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
)
STRICT = {
    MAIN: "http://purl.oclc.org/ooxml/spreadsheetml/main", OFFICE: "http://purl.oclc.org/ooxml/officeDocument/relationships",
}  # fmt: skip
Parts = dict[str, bytes]


def comparison_part(parts: Parts) -> str:
    """The part of the sheet."""
    return Package.from_bytes(zipped(parts), "plan.xlsx").sheets()["Comparison"]


def strict(parts: Parts) -> Parts:
    """Strict OOXML: other namespaces."""
    for old, new in STRICT.items():
        parts = {name: data.replace(old.encode(), new.encode()) for name, data in parts.items()}
    return parts


def prefixed_and_pretty(parts: Parts) -> Parts:
    """Every element with a prefix and on a line of its own."""
    part = comparison_part(parts)
    xml = re.sub(rb"<(/?)(?=[a-zA-Z])", rb"<\1x:", parts[part]).replace(b"xmlns=", b"xmlns:x=", 1)
    return parts | {part: xml.replace(b"><x:row", b">\n  <x:row").replace(b"><x:c ", b">\n    <x:c ")}


def elsewhere(parts: Parts) -> Parts:
    """Parts of other names, in the opposite order, behind targets that go up and down."""
    renamed = {
        name.replace("worksheets/sheet", "worksheets/Blatt"): data.replace(b"worksheets/sheet", b"worksheets/Blatt")
        for name, data in reversed(parts.items())
    }
    rels = "xl/_rels/workbook.xml.rels"
    target = re.sub(rb'Target="/?(?:xl/)?([^"]+)"', rb'Target="./worksheets/../\1"', renamed[rels])
    return renamed | {rels: target}


def empty_rows_with_formats(parts: Parts) -> Parts:
    """A row and a cell below the cases that hold a format and nothing else."""
    part, last = comparison_part(parts), b'<row r="25"><c r="C25" s="1"/></row></sheetData>'
    row = b'<row r="24" s="1" customFormat="1" ht="20" customHeight="1"/>'
    return parts | {part: parts[part].replace(b"</sheetData>", row + last)}


def filtered_and_protected(parts: Parts) -> Parts:
    """Rows hidden by hand, and the sheet protected by a password that stops nobody from writing a file."""
    part = comparison_part(parts)
    xml = re.sub(rb'<row r="(7|9|23)"', rb'<row r="\1" hidden="1"', parts[part])
    return parts | {part: xml.replace(b"</sheetData>", b'</sheetData><sheetProtection password="CC1A" sheet="1"/>', 1)}


def with_calc_chain(parts: Parts) -> Parts:
    """The order of calculation that Excel keeps, and calculation by hand."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml"
    link = f'<Relationship Id="chain" Type="{OFFICE}/calcChain" Target="calcChain.xml"/></Relationships>'
    rels = "xl/_rels/workbook.xml.rels"
    return parts | {
        "xl/calcChain.xml": f'<calcChain xmlns="{MAIN}"><c r="E6" i="1"/></calcChain>'.encode(),
        "[Content_Types].xml": parts["[Content_Types].xml"].replace(
            b"</Types>", f'<Override PartName="/xl/calcChain.xml" ContentType="{kind}"/></Types>'.encode()
        ),
        rels: parts[rels].replace(b"</Relationships>", link.encode()),
        "xl/workbook.xml": re.sub(rb"<calcPr[^>]*>", b'<calcPr calcMode="manual"/>', parts["xl/workbook.xml"]),
    }


def a_copy_with_names_of_its_own(parts: Parts) -> Parts:
    """The sheet was renamed, and a copy of it brought names for that copy alone."""
    book, name = "xl/workbook.xml", b'<definedName name="comparison_keys"'
    own = name + b' localSheetId="0">Cover!$Z$1:$Z$9</definedName>'
    xml = (
        parts[book]
        .replace(b'name="Comparison"', b'name="Ours &amp; theirs"')
        .replace(b">Comparison!", b">'Ours &amp; theirs'!")
    )
    assert name in xml
    return parts | {book: xml.replace(b"</definedNames>", own + b"</definedNames>")}


def another_sheet_called_comparison(parts: Parts) -> Parts:
    """Ours was renamed, and a page of the analyst's bears its name."""
    xml = (
        parts["xl/workbook.xml"]
        .replace(b'name="Comparison"', b'name="Measured"')
        .replace(b">Comparison!", b">Measured!")
    )
    return parts | {
        "xl/workbook.xml": xml.replace(b'name="Log"', b'name="Comparison"').replace(b"Log!", b"Comparison!")
    }


FORMS: list[Callable[[Parts], Parts]] = [
    strict, prefixed_and_pretty, elsewhere, empty_rows_with_formats, filtered_and_protected, with_calc_chain,
    a_copy_with_names_of_its_own, another_sheet_called_comparison,
]  # fmt: skip


class Unseekable(io.RawIOBase):
    """A pipe: a zip written into it has data descriptors behind its members."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.data += data
        return len(data)


def filled(path: Path, data: bytes) -> None:
    """One row updated and one appended, with the ratios of the workbook that nobody has touched; one sheet changes."""
    path.write_bytes(data)
    known = keys(path)[1]
    done = backfill(path, measurement(known, 2e-3), measurement(known.replace("=256", "=384"), 3e-3))
    assert "1 updated, 1 appended" in done.output
    measured = [row for row in rows(path) if row.number_in("measured_time")]
    for row, side in zip(measured, (256, 384), strict=True):
        least = max(2 * side**3 / 197e12, 6 * side**2 / 8.1e11)  # tpu-v5e: peak and bandwidth of its data sheet
        time, predicted = row.number_in("measured_time"), row.number_in("predicted_time")
        assert row.number_in("roofline_share") == pytest.approx(least / time, rel=0.02)  # type: ignore[operator]
        assert row.number_in("time_ratio") == pytest.approx(time / predicted, rel=1e-12)  # type: ignore[operator]
        assert row.number_in("predicted_low") <= predicted <= row.number_in("predicted_high")  # type: ignore[operator]
        assert predicted > row.number_in("bound_time") == pytest.approx(least, rel=0.02)  # type: ignore[operator]
    names = Package.read(path).workbook_part()  # which has the print area
    assert len(changed(data, path) - {names}) == 1


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_other_forms(built: bytes, tmp_path: Path, form: Callable[[Parts], Parts]) -> None:
    """Whatever way the parts are written and called."""
    parts = form(dict(Package.from_bytes(built, "plan.xlsx").parts))
    filled(tmp_path / "plan.xlsx", zipped(parts))


@pytest.mark.parametrize("kind", ["piped", "zip64"])
def test_other_zips(built: bytes, tmp_path: Path, kind: str) -> None:
    """Sizes behind the members, and sizes of 64 bits."""
    pipe, buffer = Unseekable(), io.BytesIO()
    with zipfile.ZipFile(pipe if kind == "piped" else buffer, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        for name, data in Package.from_bytes(built, "plan.xlsx").parts.items():
            with archive.open(name, "w", force_zip64=kind == "zip64") as member:
                member.write(data)
    filled(tmp_path / "plan.xlsx", bytes(pipe.data) or buffer.getvalue())
