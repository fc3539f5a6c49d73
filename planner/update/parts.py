"""The parts around the sheets of a package: new sheets, drawings, links between parts, names, content types."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, unescape

from planner.update import frames
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package

_TYPES = "[Content_Types].xml"
OFFICE = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = b"http://schemas.openxmlformats.org/package/2006/relationships"
_NAME = re.compile(rb"<(?:\w+:)?definedName\b([^>]*)>([^<]*)</(?:\w+:)?definedName>")
_SHEET = re.compile(rb"<(?:\w+:)?sheet\b[^>]*?(?:/>|></(?:\w+:)?sheet>)")
_TARGET = rb"""(<(?:\w+:)?Relationship\b(?=[^>]*\bId=["']%b["'])[^>]*?\bTarget=)["'][^"']*["']"""
_LOCAL = re.compile(rb"""\slocalSheetId=["']([0-9]+)["']""")


def content_type(package: Package, part: str) -> bytes:
    """A part's content type, as its override says; blank where its extension does."""
    found = re.search(
        rb"<Override\b[^>]*?PartName=[\"']/%b[\"'][^>]*>" % re.escape(part.encode()), package.parts[_TYPES]
    )
    said = re.search(rb"""ContentType=["']([^"']*)["']""", found[0]) if found else None
    return said[1] if said else b""


def declare(package: Package, part: str, kind: bytes) -> None:
    """Give a new part its content type."""
    if kind:
        override = b'<Override PartName="/%b" ContentType="%b"/>' % (part.encode(), kind)
        xml = package.parts[_TYPES]
        at = xml.rfind(b"</")
        package.replace(_TYPES, xml[:at] + override + xml[at:])


def link(package: Package, part: str, kind: bytes, target: str, family: bytes = OFFICE) -> str:
    """Link a part to another; `family` is what the kind's address begins with. Returns the id of the link."""
    folder, file = posixpath.split(part)
    rels = posixpath.join(folder, "_rels", f"{file}.rels")
    there = package.parts.get(rels, b'<Relationships xmlns="%b"></Relationships>' % _PACKAGE)
    used = {int(number) for number in re.findall(rb'Id="rId([0-9]+)"', there)}
    name = f"rId{max(used, default=0) + 1}"
    whole = b'<Relationship Id="%b" Type="%b/%b" Target="/%b"/>' % (name.encode(), family, kind, target.encode())
    if there.rstrip().endswith(b"/>"):
        there = there.rstrip()[:-2] + b"></Relationships>"
    at = there.rfind(b"</")
    new = there[:at] + whole + there[at:]
    if rels in package.parts:
        package.replace(rels, new)
    else:
        package.add(rels, new)
    return name


def like(package: Package, source: str, data: bytes) -> str:
    """A new part of the kind of another one, beside it; returns its name."""
    part = _free(package, source)
    package.add(part, data)
    declare(package, part, content_type(package, source))
    return part


def drop_calculation_chain(package: Package) -> None:
    """Take out the order of calculation that Excel keeps, which would name cells that hold no formula now."""
    workbook = package.workbook_part()
    for found in package.relationships(workbook):
        if found.kind != "calcChain" or found.target not in package.parts:
            continue
        folder, file = posixpath.split(workbook)
        rels = posixpath.join(folder, "_rels", f"{file}.rels")
        pattern = rb"<(?:\w+:)?Relationship\b[^>]*?\bId=[\"']%b[\"'][^>]*?/>" % re.escape(found.id.encode())
        package.replace(rels, re.sub(pattern, b"", package.parts[rels]))
        override = rb"<Override\b[^>]*?PartName=[\"']/%b[\"'][^>]*?/>" % re.escape(found.target.encode())
        package.replace(_TYPES, re.sub(override, b"", package.parts[_TYPES]))
        package.remove(found.target)


def copy_drawing(package: Package, fresh: Package, part: str, drawing: str, moves: Moves) -> str:
    """Take a drawing of a fresh sheet with its charts and pictures; returns the id of the link to it."""
    target = _copied(package, fresh, drawing, moves, {})
    return link(package, part, b"drawing", target)


def _copied(package: Package, fresh: Package, part: str, moves: Moves, done: dict[str, str]) -> str:
    if part in done:
        return done[part]
    target = done[part] = _free(package, part)
    data = fresh.parts[part]
    package.add(target, frames.chart(data, moves) if b"chartSpace" in data[:2000] else data)
    declare(package, target, content_type(fresh, part))
    folder, file = posixpath.split(part)
    rels = posixpath.join(folder, "_rels", f"{file}.rels")
    if rels in fresh.parts:
        xml = fresh.parts[rels]
        for found in fresh.relationships(part):
            if found.target in fresh.parts:
                new = _copied(package, fresh, found.target, moves, done)
                one = re.compile(_TARGET % re.escape(found.id.encode()))
                xml = one.sub(lambda match, new=new: match[1] + b'"/%b"' % new.encode(), xml)  # type: ignore[misc]
        there, name = posixpath.split(target)
        package.add(posixpath.join(there, "_rels", f"{name}.rels"), xml)
    return target


def _free(package: Package, part: str) -> str:
    """A name like this one that no part has."""
    base, dot, extension = part.rpartition(".")
    stem = base.rstrip("0123456789")
    number = 1
    lowered = {name.lower() for name in package.parts}
    while f"{stem}{number}{dot}{extension}".lower() in lowered:
        number += 1
    return f"{stem}{number}{dot}{extension}"


def add_sheet(package: Package, name: str, xml: bytes, behind: str | None) -> str:
    """A new worksheet behind the sheet `behind` (or last); returns its part."""
    workbook = package.workbook_part()
    part = _free(package, posixpath.join(posixpath.dirname(workbook), "worksheets/sheet1.xml"))
    package.add(part, xml)
    declare(package, part, b"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml")
    identifier = link(package, workbook, b"worksheet", part)
    text = package.parts[workbook]
    sheets = list(_SHEET.finditer(text))
    names = [unescape(_attribute(found[0], b"name").decode(), {"&quot;": '"', "&apos;": "'"}) for found in sheets]
    at = names.index(behind) if behind in names else len(names) - 1
    number = max(int(_attribute(found[0], b"sheetId") or b"0") for found in sheets) + 1
    prefix = re.match(rb"<((?:\w+:)?)sheet", sheets[at][0])
    assert prefix is not None
    quoted_name = escape(name, {'"': "&quot;"}).encode()
    tag = b'<%bsheet xmlns:r="%b" name="%b" sheetId="%d" r:id="%b"/>' % (
        prefix[1], OFFICE, quoted_name, number, identifier.encode())  # fmt: skip
    text = text[: sheets[at].end()] + tag + text[sheets[at].end() :]

    def later(match: re.Match[bytes]) -> bytes:
        old = int(match[1])
        return b' localSheetId="%d"' % (old + (old > at))

    text = _LOCAL.sub(later, text)
    text = re.sub(rb'\s(activeTab|firstSheet)="([0-9]+)"',
                  lambda m: b' %b="%d"' % (m[1], int(m[2]) + (int(m[2]) > at)), text)  # fmt: skip
    package.replace(workbook, text)
    return part


def move_names(package: Package, moves: Moves) -> None:
    """Defined names led to where their cells are then."""
    workbook = package.workbook_part()

    def one(match: re.Match[bytes]) -> bytes:
        text = moves.formula(unescape(match[2].decode()), "")
        return match[0].replace(b">" + match[2] + b"<", b">" + escape(text).encode() + b"<", 1)

    package.replace(workbook, _NAME.sub(one, package.parts[workbook]))


def take_names(package: Package, fresh: Package, moves: Moves, new_sheets: Sequence[str]) -> None:
    """The defined names of the fresh workbook: planner's markers, and of new sheets what they print."""
    workbook = package.workbook_part()
    theirs = _names(fresh)
    mine = _names(package)
    order = list(package.sheets())
    fresh_order = list(fresh.sheets())
    tags: list[bytes] = []
    for (name, scope), text in theirs.items():
        moved = escape(moves.formula(text, "")).encode()
        if scope is None:
            if (name, None) in mine:
                _set_name(package, name, moved)
            else:
                tags.append(b'<definedName name="%b">%b</definedName>' % (name, moved))
        else:
            sheet = moves.of(fresh_order[scope]).name
            if sheet in new_sheets:
                local = order.index(sheet)
                tags.append(b'<definedName name="%b" localSheetId="%d">%b</definedName>' % (name, local, moved))
    if tags:
        xml = package.parts[workbook]
        prefix = re.search(rb"<((?:\w+:)?)sheets\b", xml)
        assert prefix is not None
        content = b"".join(re.sub(rb"<(/?)(?=d)", rb"<\1" + prefix[1], tag) for tag in tags)
        closing = xml.find(b"</%bdefinedNames>" % prefix[1])
        if closing >= 0:
            xml = xml[:closing] + content + xml[closing:]
        else:
            ends = [tag % prefix[1] for tag in (b"</%bsheets>", b"</%bexternalReferences>") if tag % prefix[1] in xml]
            behind = max(xml.find(end) + len(end) for end in ends)
            name = prefix[1] + b"definedNames"
            xml = xml[:behind] + b"<%b>%b</%b>" % (name, content, name) + xml[behind:]
        package.replace(workbook, xml)


def _names(package: Package) -> dict[tuple[bytes, int | None], str]:
    found: dict[tuple[bytes, int | None], str] = {}
    for match in _NAME.finditer(package.parts[package.workbook_part()]):
        local = _LOCAL.search(b" " + match[1])
        scope = int(local[1]) if local else None
        found[_attribute(b"<x " + match[1] + b">", b"name"), scope] = unescape(match[2].decode())
    return found


def _set_name(package: Package, name: bytes, text: bytes) -> None:
    workbook = package.workbook_part()

    def one(match: re.Match[bytes]) -> bytes:
        own = _attribute(b"<x " + match[1] + b">", b"name") == name and not _LOCAL.search(b" " + match[1])
        return match[0].replace(b">" + match[2] + b"<", b">" + text + b"<", 1) if own else match[0]

    package.replace(workbook, _NAME.sub(one, package.parts[workbook]))


def _attribute(tag: bytes, name: bytes) -> bytes:
    match = re.search(rb"""\s%b=(?:"([^"]*)"|'([^']*)')""" % name, tag)
    return (match[1] if match[1] is not None else match[2]) if match else b""
