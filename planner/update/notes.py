"""Notes whose row stands on another sheet now: each follows it, with its author, its box and its thread."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.book.notes import Note
from planner.update import frames, parts
from planner.update.pairing import Pair
from planner.update.rows import with_boxes
from planner.xlsx.address import address, coordinates
from planner.xlsx.opc import Package

_MICROSOFT = b"http://schemas.microsoft.com/office/2017/10/relationships"
NOTES, THREADS, BOXES = "comments", "threadedComment", "vmlDrawing"
_ITEM = {kind: re.compile(rb"<((?:\w+:)?)%b\b[^>]*?(?:/>|>.*?</\1%b>)" % (tag, tag), re.DOTALL)
         for kind, tag in ((NOTES, b"comment"), (THREADS, b"threadedComment"), (BOXES, b"shape"))}  # fmt: skip
_LIST_END = re.compile(rb"</(?:\w+:)?commentList>")
_AUTHOR = re.compile(rb"<((?:\w+:)?)author\b[^>]*?(?:/>|>.*?</\1author>)", re.DOTALL)
_AUTHORS_END = re.compile(rb"</(?:\w+:)?authors>")
_AUTHOR_ID = re.compile(rb"""(\sauthorId=["'])([0-9]+)""")
_NAMESPACE = re.compile(rb"""\sxmlns:(\w+)=(?:"[^"]*"|'[^']*')""")
_REVISION = re.compile(rb"""\s\w+:uid=(?:"[^"]*"|'[^']*')""")  # which edit wrote it: readers may do without
_REF = re.compile(rb"""(\sref=["'])([^"']*)""")
_ROOT = re.compile(rb"<(?![?!])[^>]*>")
_SHAPE_ID = re.compile(rb"""(<(?:\w+:)?shape\b[^>]*?\sid=["'])([^"']*)""")
_WHERE = {"row": re.compile(rb"(<(?:\w+:)?Row>\s*)([0-9]+)"), "column": re.compile(rb"(<(?:\w+:)?Column>\s*)([0-9]+)")}


@dataclass(frozen=True)
class Way:
    """A note whose row is not on its sheet any more: the cell that it follows it to, or None, and what to say of it."""

    note: Note
    target: tuple[str, str] | None
    said: str


@dataclass
class Lifted:
    """A note out of its parts: its elements by the kind of part, and each part's name and content as it was."""

    way: Way
    items: dict[str, list[bytes]] = field(default_factory=dict)
    sources: dict[str, tuple[str, bytes]] = field(default_factory=dict)


def ways(pair: Pair, notes: Iterable[Note]) -> list[Way]:
    """The notes that have lost their row. One stays where no such cell is on the other sheet, or has a note already."""
    notes = list(notes)
    kinds = {pair.old.sheets[kind].sheet.name: kind for kind in pair.kinds}
    lost = [note for note in notes if note.sheet in kinds
            and coordinates(note.ref)[0] in pair.tracks[kinds[note.sheet]].gone_rows]  # fmt: skip
    taken = {_after(pair, note) for note in notes if note not in lost}
    found: list[Way] = []
    for note in lost:
        kind = kinds[note.sheet]
        named = pair.old.sheets[kind].rows.get(coordinates(note.ref)[0], "")
        who, target = f"the note on {note.sheet}!{note.ref} ({named})", _target(pair, kind, note, named)
        if target is not None and target not in taken:
            taken.add(target)
            found.append(Way(note, target, f"{who} is at {'!'.join(target)} now"))
            continue
        home = pair.homes(kind).get(named)
        where = f"is on {pair.names[home]}" if home else "is no more"
        found.append(Way(note, None, f"{who} is at {'!'.join(_after(pair, note))}: its row {where}"))
    return found


def _after(pair: Pair, note: Note) -> tuple[str, str]:
    """Where a note is in the end that stays on its sheet."""
    moves = pair.old.moves.of(note.sheet)
    return moves.name, address(*moves.cell(*coordinates(note.ref)))


def _target(pair: Pair, kind: str, note: Note, named: str) -> tuple[str, str] | None:
    """The sheet and the cell of the note's row and column on the sheet that has them now."""
    home = pair.homes(kind).get(named)
    column = pair.old.sheets[kind].columns.get(coordinates(note.ref)[1], "")
    if home is None or column not in pair.fresh.sheets[home].column_of:
        return None
    row = pair.tracks[home].fresh_rows(pair.fresh.sheets[home].row_of[named])
    return pair.names[home], address(row, pair.column(home, column))


def lifted(package: Package, found: Iterable[Way]) -> list[Lifted]:
    """Take the notes out of their parts that follow their rows."""
    return [_lift(package, way) for way in found if way.target is not None]


def _lift(package: Package, way: Way) -> Lifted:
    sheet, (row, column) = package.sheets()[way.note.sheet], coordinates(way.note.ref)
    found = Lifted(way)
    for link in package.relationships(sheet):
        if link.kind not in _ITEM or link.target not in package.parts:
            continue
        xml = package.parts[link.target]
        for match in list(_ITEM[link.kind].finditer(xml)):
            item = match[0]
            if link.kind == BOXES:
                at = {name: int(where[2]) if (where := one.search(item)) else -1 for name, one in _WHERE.items()}
                is_its = (at["row"] + 1, at["column"] + 1) == (row, column) and b"ClientData" in item
            else:
                ref = _REF.search(item)
                is_its = ref is not None and ref[2].decode() == way.note.ref
            if is_its:
                found.items.setdefault(link.kind, []).append(item)
                found.sources[link.kind] = (link.target, xml)
                package.replace(link.target, package.parts[link.target].replace(item, b"", 1))
    return found


def put(package: Package, found: Iterable[Lifted]) -> None:
    """Give each note to the sheet of its row, in the parts that this one has for notes, or in new ones."""
    for each in found:
        for kind, items in each.items.items():
            _put(package, each, kind, items)


def _put(package: Package, each: Lifted, kind: str, items: list[bytes]) -> None:
    assert each.way.target is not None, "only these were lifted"
    name, ref = each.way.target
    sheet = package.sheets()[name]
    source, xml = each.sources[kind]
    part = next((link.target for link in package.relationships(sheet)
                 if link.kind == kind and link.target in package.parts), None)  # fmt: skip
    if part is None:
        part = parts.like(package, source, _emptied(xml, kind))
        family = _MICROSOFT if kind == THREADS else parts.OFFICE
        identifier = parts.link(package, sheet, kind.encode(), part, family)
        if kind == BOXES:
            package.replace(sheet, with_boxes(package.parts[sheet], identifier))
    there = package.parts[part]
    for item in items:
        there = _with(there, _standing_alone(item, xml), kind, xml, ref)
    package.replace(part, there)


def _emptied(xml: bytes, kind: str) -> bytes:
    """A part without its notes, and without their authors."""
    bare = _ITEM[kind].sub(b"", xml)
    return _AUTHOR.sub(b"", bare) if kind == NOTES else bare


def _with(xml: bytes, item: bytes, kind: str, source: bytes, ref: str) -> bytes:
    """A part with one note more, at a cell."""
    if kind == BOXES:
        return _before(xml, _box(xml, item, source, ref), xml.rfind(b"</"))
    item = _REF.sub(lambda match: match[1] + ref.encode(), item, count=1)
    if kind == THREADS:
        return _before(xml, item, xml.rfind(b"</"))
    xml, number = _authored(xml, _author(source, item))
    item = _AUTHOR_ID.sub(lambda match: match[1] + b"%d" % number, item, count=1)
    end = _LIST_END.search(xml)
    assert end is not None, "a list that had a note has an end"
    return _before(xml, item, end.start())


def _author(source: bytes, item: bytes) -> bytes:
    match, authors = _AUTHOR_ID.search(item), [found[0] for found in _AUTHOR.finditer(source)]
    number = int(match[2]) if match else len(authors)
    return authors[number] if number < len(authors) else b"<author></author>"


def _authored(xml: bytes, author: bytes) -> tuple[bytes, int]:
    """Notes with this author among theirs, and the author's number."""
    authors = [found[0] for found in _AUTHOR.finditer(xml)]
    if author in authors:
        return xml, authors.index(author)
    end = _AUTHORS_END.search(xml)
    assert end is not None, "notes have authors"
    return _before(xml, author, end.start()), len(authors)


def _box(xml: bytes, item: bytes, source: bytes, ref: str) -> bytes:
    """A box beside its cell, under an id that no other has; with the type of shape that it is, where it is missing."""
    row, column = coordinates(ref)
    old = {name: int(match[2]) if (match := one.search(item)) else 0 for name, one in _WHERE.items()}
    down, right = row - 1 - old["row"], column - 1 - old["column"]
    item = frames.shifted_box(item, down, right)
    used = {int(number) for number in re.findall(rb"_x0000_s([0-9]+)", xml)}
    item = _SHAPE_ID.sub(lambda match: match[1] + b"_x0000_s%d" % (max(used, default=1024) + 1), item, count=1)
    if b"shapetype" not in xml:
        kind = re.search(rb"<((?:\w+:)?)shapetype\b.*?</\1shapetype>", source, re.DOTALL)
        item = (_standing_alone(kind[0], source) if kind else b"") + item
    return item


def _standing_alone(item: bytes, source: bytes) -> bytes:
    """An element with the prefixes declared that it uses and its part has at the top."""
    root, item = _ROOT.search(source), _REVISION.sub(b"", item)
    assert root is not None, "a part has an element"
    end = item.find(b">")
    end -= item[end - 1 : end] == b"/"
    declared = [match[0] for match in _NAMESPACE.finditer(root[0])
                if match[1] + b":" in item and b"xmlns:%b=" % match[1] not in item]  # fmt: skip
    return item[:end] + b"".join(declared) + item[end:]


def _before(xml: bytes, item: bytes, at: int) -> bytes:
    return xml[:at] + item + xml[at:]
