"""Small workbooks for the tests, written part by part, so that a test can have any XML it wants."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_cached, with_values
from planner.xlsx.sheetxml import SheetXml

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT_RELS = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def sheet(rows: str, *, namespace: str = MAIN, before: str = "") -> str:
    """A worksheet with this content of its sheetData."""
    return f'<worksheet xmlns="{namespace}">{before}<sheetData>{rows}</sheetData></worksheet>'


def parts(sheets: Mapping[str, str], *, namespace: str = MAIN, head: str = "", tail: str = "") -> dict[str, bytes]:
    """The parts of a workbook with these sheets; `head` and `tail` stand before and behind <sheets>."""
    rels = _STRICT_RELS if namespace == STRICT else _RELS
    tabs = links = overrides = ""
    for number, name in enumerate(sheets, 1):
        file = f"worksheets/sheet{number}.xml"
        tabs += f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>'
        links += f'<Relationship Id="rId{number}" Type="{rels}/worksheet" Target="{file}"/>'
        overrides += f'<Override PartName="/xl/{file}" ContentType="{_TYPE}.worksheet+xml"/>'
    texts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>{overrides}</Types>',
        "_rels/.rels": _relationships(
            f'<Relationship Id="rId1" Type="{rels}/officeDocument" Target="xl/workbook.xml"/>'
        ),
        "xl/workbook.xml": f'<workbook xmlns="{namespace}" xmlns:r="{rels}">{head}<sheets>{tabs}</sheets>'
        f"{tail}</workbook>",
        "xl/_rels/workbook.xml.rels": _relationships(links),
        **{f"xl/worksheets/sheet{number}.xml": xml for number, xml in enumerate(sheets.values(), 1)},
    }
    return {name: text.encode() for name, text in texts.items()}


def zipped(content: Mapping[str, bytes]) -> bytes:
    """A zip with these members, each with a time and attributes of its own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, data) in enumerate(content.items()):
            info = zipfile.ZipInfo(name, (2020, 1, 1 + number % 28, 12, 0, 0))
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_STORED if number % 2 else zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def package(sheets: Mapping[str, str], *, namespace: str = MAIN, head: str = "", tail: str = "") -> Package:
    """A workbook with these sheets, as read from a file."""
    return Package.from_bytes(zipped(parts(sheets, namespace=namespace, head=head, tail=tail)), "test.xlsx")


def _relationships(links: str) -> str:
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


def read_cells(xml: bytes, strings: Sequence[str] = ()) -> list[Cell]:
    """The cells of a sheet in the order of the file."""
    return list(SheetXml(xml, strings).cells.values())


def set_values(xml: bytes, values: Mapping[str, Value]) -> bytes:
    """A sheet with values typed into cells that have no formula."""
    return with_values(SheetXml(xml), values)


def set_cached(xml: bytes, values: Mapping[str, Value]) -> bytes:
    """A sheet with new cached values in formula cells."""
    return with_cached(SheetXml(xml), values)
