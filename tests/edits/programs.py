"""The programs that carry edits out: LibreOffice, openpyxl, and XML by hand with what only Excel writes."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill

from planner.xlsx.opc import Package
from tests.edits.catalogue import Edit, Step

OFFICE = Path(__file__).with_name("office.py")
PYTHON = "/usr/bin/python3"
"""The system's, which has LibreOffice's bindings (python3-uno)."""


@functools.cache
def has_office() -> bool:
    """Whether LibreOffice and its Python bindings are there."""
    if shutil.which("soffice") is None or not Path(PYTHON).exists():
        return False
    return subprocess.run([PYTHON, "-c", "import uno"], capture_output=True, check=False).returncode == 0


needs_office = pytest.mark.skipif(not has_office(), reason="LibreOffice or its Python bindings are not installed")


def by_office(source: Path, edits: Sequence[tuple[Edit, Path]]) -> None:
    """Carry out every edit on `source` in one LibreOffice and save each at its path."""
    _carried_out([{"source": str(source), "target": str(target), "steps": edit.steps} for edit, target in edits])


def _carried_out(jobs: Sequence[dict[str, object]]) -> None:
    done = subprocess.run([PYTHON, str(OFFICE)], input=json.dumps(jobs), text=True, capture_output=True, timeout=900,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


def computed(files: Sequence[tuple[Path, Path]]) -> None:
    """Have LibreOffice compute every formula of the first of each two files, and save it as the second."""
    _carried_out([{"source": str(source), "target": str(target), "steps": []} for source, target in files])


def by_openpyxl(source: Path, edit: Edit, target: Path) -> None:
    """Load, edit and save: no cached value survives."""
    book = openpyxl.load_workbook(source)
    for step in edit.steps:
        _step(book, step)
    book.save(target)


def _step(book: openpyxl.Workbook, step: Step) -> None:
    if step["do"] == "add_sheet":
        book.create_sheet(step["sheet"], step["at"])
        return
    cell = book[step["sheet"]][step["cell"]]
    if step["do"] in ("type", "formula"):
        cell.value = step.get("value", step.get("formula"))
    elif step["do"] == "scale":
        cell.value = f"=({cell.value[1:]})*{step['factor']}"
    elif step["do"] == "note":
        cell.comment = Comment(step["text"], "me")
    elif step["do"] == "format":
        cell.font, cell.fill = Font(bold=True), PatternFill("solid", fgColor="FFD966")
    else:
        raise AssertionError(f"openpyxl can't {step['do']}")


def by_hand(source: Path, steps: Sequence[Step], target: Path) -> None:
    """Edit the XML: only the cells named change, nothing is computed, and no other byte is touched."""
    package = Package.read(source)
    for step in steps:
        HAND[step["do"]](package, **{key: value for key, value in step.items() if key != "do"})
    package.write(target)


def _type(package: Package, sheet: str, cell: str, value: float | str) -> None:
    text = f"<is><t>{escape(value)}</t></is>" if isinstance(value, str) else f"<v>{value!r}</v>"
    _put(package, sheet, cell, ' t="inlineStr"' if isinstance(value, str) else "", text)


def _scale(package: Package, sheet: str, cell: str, factor: str) -> None:
    xml = package.parts[package.sheets()[sheet]].decode()
    found = re.search(rf'<c r="{cell}"[^>]*><f>(.*?)</f>', xml)
    assert found, f"{sheet}!{cell} has no formula"
    _put(package, sheet, cell, "", f"<f>({found[1]})*{factor}</f>")


def _put(package: Package, sheet: str, cell: str, kind: str, content: str) -> None:
    part = package.sheets()[sheet]
    pattern = re.compile(rf'<c r="{cell}"( s="\d+")?[^>]*?(?:/>|>.*?</c>)')
    new, times = pattern.subn(
        lambda match: f'<c r="{cell}"{match[1] or ""}{kind}>{content}</c>', package.parts[part].decode(), count=1
    )
    assert times == 1, f"{sheet} has no {cell}"
    package.replace(part, new.encode())


def _shared(package: Package, sheet: str, row: int, columns: Sequence[str]) -> None:
    """A row as one shared formula, as Excel saves what was filled to the right."""
    part = package.sheets()[sheet]
    xml = package.parts[part].decode()
    for at, column in enumerate(columns):
        head = (
            f'<f t="shared" ref="{columns[0]}{row}:{columns[-1]}{row}" si="7">' if at == 0 else '<f t="shared" si="7"/>'
        )
        pattern = rf'(<c r="{column}{row}"[^>]*>)<f>(.*?)</f>'
        found = re.search(pattern, xml)
        assert found, f"{sheet}!{column}{row} has no formula"
        xml = xml.replace(found[0], f"{found[1]}{head}{found[2]}</f>" if at == 0 else f"{found[1]}{head}", 1)
    package.replace(part, xml.encode())


def _sparklines(package: Package, sheet: str, cell: str, row: int) -> None:
    """A sparkline, which lives in the extension list of a sheet."""
    x14 = "http://schemas.microsoft.com/office/spreadsheetml/2009/9/main"
    xm = "http://schemas.microsoft.com/office/excel/2006/main"
    group = (
        f'<extLst><ext uri="{{05C60535-1F16-4fd2-B633-F4F36F0B64E0}}" xmlns:x14="{x14}">'
        f'<x14:sparklineGroups xmlns:xm="{xm}"><x14:sparklineGroup><x14:sparklines><x14:sparkline>'
        f"<xm:f>{sheet}!F{row}:H{row}</xm:f><xm:sqref>{cell}</xm:sqref>"
        "</x14:sparkline></x14:sparklines></x14:sparklineGroup></x14:sparklineGroups></ext></extLst>"
    )
    part = package.sheets()[sheet]
    package.replace(part, package.parts[part].replace(b"</worksheet>", group.encode() + b"</worksheet>"))


def _dynamic(package: Package, sheet: str, cell: str, formula: str) -> None:
    """A dynamic array formula as Excel writes it, on a cell below everything: `cm` points into its metadata."""
    part = package.sheets()[sheet]
    row = re.sub(r"[A-Z]+", "", cell)
    new = f'<row r="{row}"><c r="{cell}" cm="1"><f t="array" ref="{cell}">{formula}</f><v>0</v></c></row></sheetData>'
    package.replace(part, package.parts[part].replace(b"</sheetData>", new.encode()))


def _threaded(package: Package, sheet: str, cell: str, text: str) -> None:
    """A threaded comment, as Microsoft 365 keeps it: a part of its own, and a note beside it for older programs."""
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main, office = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://schemas.microsoft.com/office"
    threads = f"{office}/spreadsheetml/2018/threadedcomments"
    part = package.sheets()[sheet]
    folder, _, file = part.rpartition("/")
    old = f"[Threaded comment]\n\nComment:\n    {text}"
    parts = {
        "xl/threadedComments/threadedComment7.xml": f'<ThreadedComments xmlns="{threads}">'
        f'<threadedComment ref="{cell}" id="{{1}}"><text>{escape(text)}</text></threadedComment></ThreadedComments>',
        "xl/comments7.xml": f'<comments xmlns="{main}"><authors><author>tc={{1}}</author></authors><commentList>'
        f'<comment ref="{cell}" authorId="0"><text><t>{escape(old)}</t></text></comment></commentList></comments>',
    }
    links = (
        f'<Relationship Id="rIdT1" Type="{office}/2017/10/relationships/threadedComment" '
        'Target="../threadedComments/threadedComment7.xml"/>'
        f'<Relationship Id="rIdT2" Type="{rel}/comments" Target="../comments7.xml"/></Relationships>'
    )
    rels = f"{folder}/_rels/{file}.rels"
    empty = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"></Relationships>'
    parts[rels] = package.parts.get(rels, empty.encode()).decode().replace("</Relationships>", links)
    parts[rels] = re.sub(r"(<Relationships[^>]*)/>", rf"\1>{links}", parts[rels])
    for name, content in parts.items():
        package._infos.setdefault(name, zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)))
        package.parts[name] = content.encode()
    types = {
        "xl/threadedComments/threadedComment7.xml": "application/vnd.ms-excel.threadedcomments+xml",
        "xl/comments7.xml": "application/vnd.openxmlformats-officedocument.spreadsheetml.comments+xml",
    }
    said = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    content_types = package.parts["[Content_Types].xml"]
    package.replace("[Content_Types].xml", content_types.replace(b"</Types>", said.encode() + b"</Types>"))


HAND = {
    "type": _type, "scale": _scale, "shared": _shared, "sparklines": _sparklines, "dynamic": _dynamic,
    "threaded": _threaded,
}  # fmt: skip
