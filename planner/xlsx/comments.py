"""Reads notes and threaded comments of cells, and moves them from one sheet's parts to another's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import NamedTuple

from planner.xlsx.address import coordinates
from planner.xlsx.drawings import box_cell, shift_box
from planner.xlsx.opc import Package
from planner.xlsx.relationships import OFFICE, add_part, content_type, link
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, child, children, every, like, local_name, parse, written

_MICROSOFT = "http://schemas.microsoft.com/office/2017/10/relationships"
NOTES, THREADS, BOXES = "comments", "threadedComment", "vmlDrawing"
_ITEMS = {NOTES: "comment", THREADS: "threadedComment", BOXES: "shape"}
_SHAPE_ID = re.compile(r"_x0000_s([0-9]+)")
_THREAD = "[Threaded comment]"
"""The beginning of the note that Excel writes along with a threaded comment, for older programs."""


class Note(NamedTuple):
    """A note or a threaded comment on a cell."""

    sheet: str
    ref: str
    author: str
    text: str


def notes(package: Package) -> tuple[Note, ...]:
    """Every note, sheet by sheet.

    For a threaded comment, the thread counts and not the note that Excel keeps for it.
    """
    return tuple(note for sheet, part in package.sheets().items() for note in _of_sheet(package, sheet, part))


def _of_sheet(package: Package, sheet: str, part: str) -> Iterator[Note]:
    plain: list[Note] = []
    threads: dict[str, list[str]] = {}
    for found in package.linked(part, NOTES):
        plain += _plain(sheet, package.tree(found))
    for found in package.linked(part, THREADS):
        for element in package.tree(found):
            threads.setdefault(element.get("ref", ""), []).append(_text(element))
    for note in plain:
        if note.ref not in threads:
            yield note
    for ref, texts in threads.items():
        yield Note(sheet, ref, "", "\n".join(texts))


def _plain(sheet: str, root: Element) -> Iterator[Note]:
    authors = ["".join(author.itertext()) for author in every(root, "author")]
    for element in every(root, "comment"):
        number, text = element.get("authorId", ""), _text(element)
        author = authors[int(number)] if number.isdigit() and int(number) < len(authors) else ""
        if not text.startswith(_THREAD):
            yield Note(sheet, element.get("ref", ""), author, text)


def _text(element: Element) -> str:
    """The visible text: runs joined, without phonetic hints."""
    return "".join(part.text or "" for part in every(element, "t", "text")).strip()


class Taken(NamedTuple):
    """The elements of a note that were removed from a part, with the part's kind, name and former content."""

    kind: str
    items: list[Element]
    part: str
    xml: bytes


def take_note(package: Package, sheet: str, ref: str) -> list[Taken]:
    """Remove the note of a cell from its sheet's parts, and return what was removed."""
    taken: list[Taken] = []
    for found in package.relationships(package.sheets()[sheet]):
        if found.kind not in _ITEMS or found.target not in package.parts:
            continue
        before = package.parts[found.target]
        with package.edited(found.target) as root:
            its = [item for item in every(root, _ITEMS[found.kind]) if _is_at(item, ref)]
            if its:
                taken.append(Taken(found.kind, [deepcopy(item) for item in its], found.target, before))
            for item in its:
                item.getparent().remove(item)
    return taken


def _is_at(item: Element, ref: str) -> bool:
    if local_name(item) == "shape":
        return any(box_cell(box) == coordinates(ref) for box in every(item, "ClientData"))
    return bool(item.get("ref") == ref)


def put_note(package: Package, note: Sequence[Taken], sheet: str, ref: str) -> None:
    """Add a removed note to a cell of another sheet, in that sheet's parts for notes or in new ones."""
    owner = package.sheets()[sheet]
    for kind, items, name, xml in note:
        part = next(iter(package.linked(owner, kind)), None)
        if part is None:
            part = add_part(package, name, _emptied(xml, kind), content_type(package, name))
            identifier = link(package, owner, kind, part, _MICROSOFT if kind == THREADS else OFFICE)
            if kind == BOXES:
                worksheet = Worksheet(package.parts[owner])
                worksheet.link("legacyDrawing", identifier)
                package.replace(owner, worksheet.xml())
        with package.edited(part) as root:
            for item in items:
                _put(root, deepcopy(item), kind, parse(xml), ref)


def _emptied(xml: bytes, kind: str) -> bytes:
    """A part without its notes and authors."""
    root = parse(xml)
    for item in every(root, _ITEMS[kind], *(["author"] if kind == NOTES else [])):
        item.getparent().remove(item)
    return written(root)


def _put(root: Element, item: Element, kind: str, source: Element, ref: str) -> None:
    """Add one note to a part; `source` is the root of the part that it comes from."""
    item.tail = None
    if kind == BOXES:
        _put_box(root, item, source, ref)
        return
    item.set("ref", ref)
    for name in [name for name in item.attrib if name.endswith("}uid")]:
        del item.attrib[name]  # the id of the edit that wrote it, which is optional
    if kind == THREADS:
        root.append(item)
        return
    authors = [author.text or "" for author in every(source, "author")]
    number = int(item.get("authorId", "0"))
    item.set("authorId", str(_author_number(root, authors[number] if number < len(authors) else "")))
    next(every(root, "commentList")).append(item)


def _author_number(root: Element, name: str) -> int:
    """The index of an author in a part, added if missing."""
    names = [author.text or "" for author in every(root, "author")]
    if name not in names:
        author = like(root, "author")
        author.text = name
        next(every(root, "authors")).append(author)
        names.append(name)
    return names.index(name)


def _put_box(root: Element, shape: Element, source: Element, ref: str) -> None:
    """Add a note's box beside its cell, with a unique id, and with its shape type if that is missing."""
    row, column = coordinates(ref)
    for box in children(shape, "ClientData"):
        at = box_cell(box)
        if at is not None:
            shift_box(box, row - at[0], column - at[1])
    ids = (found for one in every(root, "shape") for found in _SHAPE_ID.findall(one.get("id", "")))
    shape.set("id", f"_x0000_s{max(map(int, ids), default=1024) + 1}")
    kind = child(source, "shapetype")
    if child(root, "shapetype") is None and kind is not None:
        root.append(deepcopy(kind))
    root.append(shape)
