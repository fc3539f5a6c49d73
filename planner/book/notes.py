"""The notes and threaded comments of a workbook's cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from planner.xlsx.opc import Package
from planner.xlsx.xmltree import local_name

_THREAD = "[Threaded comment]"
"""How Excel begins the note that it leaves beside a threaded comment for older programs."""


class Note(NamedTuple):
    """A note or a threaded comment on a cell."""

    sheet: str
    ref: str
    author: str
    text: str


def notes(package: Package) -> tuple[Note, ...]:
    """Every note, sheet by sheet. A threaded comment and its replies stand for the note that Excel keeps beside it."""
    return tuple(note for sheet, part in package.sheets().items() for note in _of_sheet(package, sheet, part))


def _of_sheet(package: Package, sheet: str, part: str) -> Iterator[Note]:
    plain: list[Note] = []
    threads: dict[str, list[str]] = {}
    for link in package.relationships(part):
        if link.target not in package.parts:
            continue
        if link.kind == "comments":
            plain += _plain(sheet, package.tree(link.target))
        elif link.kind == "threadedComment":
            for element in package.tree(link.target):
                threads.setdefault(element.get("ref", ""), []).append(_text(element))
    for note in plain:
        if note.ref not in threads:
            yield note
    for ref, texts in threads.items():
        yield Note(sheet, ref, "", "\n".join(texts))


def _plain(sheet: str, root: ElementTree.Element) -> Iterator[Note]:
    authors = ["".join(element.itertext()) for element in root.iter() if local_name(element) == "author"]
    for element in root.iter():
        if local_name(element) == "comment":
            number = element.get("authorId", "")
            author = authors[int(number)] if number.isdigit() and int(number) < len(authors) else ""
            text = _text(element)
            if not text.startswith(_THREAD):
                yield Note(sheet, element.get("ref", ""), author, text)


def _text(element: ElementTree.Element) -> str:
    """What a reader sees: runs of text joined, without phonetic hints."""
    return "".join(child.text or "" for child in element.iter() if local_name(child) in ("t", "text")).strip()
