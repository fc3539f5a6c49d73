"""Small workbooks for the tests, written part by part, so that a test can have any XML it wants."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from planner.opc import Package

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT_RELS = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def sheet(rows: str, *, namespace: str = MAIN, before: str = "", after: str = "") -> str:
    """A worksheet with this content of its sheetData."""
    return (f'<worksheet xmlns="{namespace}" xmlns:r="{_RELS}">{before}<sheetData>{rows}</sheetData>'
            f"{after}</worksheet>")


def parts(sheets: Mapping[str, str], *, namespace: str = MAIN, workbook: str = "", head: str = "") -> dict[str, bytes]:
    """The parts of a workbook with these sheets; `head` and `workbook` stand before and behind its <sheets>."""
    rels = _STRICT_RELS if namespace == STRICT else _RELS
    names = {name: f"sheet{number}.xml" for number, name in enumerate(sheets, 1)}
    tabs = "".join(f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>'
                   for number, name in enumerate(sheets, 1))
    links = "".join(f'<Relationship Id="rId{number}" Type="{rels}/worksheet" Target="worksheets/{file}"/>'
                    for number, file in enumerate(names.values(), 1))
    overrides = "".join(f'<Override PartName="/xl/worksheets/{file}" ContentType="{_TYPE}.worksheet+xml"/>'
                        for file in names.values())
    texts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
        f'"application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f"{overrides}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{rels}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{namespace}" xmlns:r="{rels}">{head}<sheets>{tabs}</sheets>'
        f"{workbook}</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>',
        **{f"xl/worksheets/{names[name]}": xml for name, xml in sheets.items()},
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


def package(sheets: Mapping[str, str], *, namespace: str = MAIN, workbook: str = "", head: str = "") -> Package:
    """A workbook with these sheets, as read from a file."""
    return Package.from_bytes(zipped(parts(sheets, namespace=namespace, workbook=workbook, head=head)), "test.xlsx")
