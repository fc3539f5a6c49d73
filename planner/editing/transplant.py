"""A sheet of an edited workbook with a fresh one's cells in it, and among them what a person put there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from planner.editing.keys import COMPARISON, COVER, LOG, TOP, Keyed
from planner.editing.pristine import named_formula
from planner.editing.signatures import Signer, digest, history
from planner.editing.tracks import Tracks
from planner.lint.book import Book
from planner.lint.pattern import Position, pattern
from planner.xlsx.address import Area, address
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.markup import element_end, is_empty, retagged, tag_end
from planner.xlsx.moves import Moves
from planner.xlsx.stylesheet import Look

_STYLE = re.compile(rb"""\ss\s*=\s*["']([0-9]+)["']""")
_FORMULA = re.compile(rb"<((?:\w+:)?)f(?:\s[^>]*)?(?:/>|>.*?</(?:\w+:)?f>)", re.DOTALL)
_ROW = re.compile(rb"<(?:\w+:)?row\b[^>]*>")
LOOK = "look"


@dataclass
class Kept:
    """What of a person's work stands in the new workbook, and what planner changed, cell by cell."""

    typed: list[str] = field(default_factory=list)
    typed_over: list[str] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    own_cells: int = 0
    formats: int = 0
    renewed: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Side:
    """A workbook on its way: its sheets by kind, how its cells look, and what its references lead to in the end."""

    book: Book
    sheets: Mapping[str, Keyed]
    looks: list[Look]
    moves: Moves
    signer: Signer
    known: frozenset[str] = frozenset()  # what this version writes, besides history

    def knows(self, signed: str) -> bool:
        """Whether planner wrote what has this digest, in this version or an earlier one."""
        return signed in self.known or signed in history()

    def style(self, keyed: Keyed, at: Position) -> int:
        """The number of a cell's format."""
        start = keyed.sheet.cells[at].span[0]
        xml = keyed.sheet.xml.xml
        match = _STYLE.search(xml, start, tag_end(xml, start))
        return int(match[1]) if match else 0

    def look(self, keyed: Keyed, at: Position) -> Look:
        """How a cell looks."""
        number = self.style(keyed, at)
        return self.looks[number] if number < len(self.looks) else Look("Normal", "", "", "", "", "", True)

    def formula(self, keyed: Keyed, at: Position, to: str) -> str | None:
        """A cell's formula as it reads in the end, on the sheet `to`."""
        cell = keyed.sheet.cells.get(at)
        if cell is None or cell.formula is None:
            return None
        text = cell.formula or (found.at(*at) if (found := keyed.sheet.patterns.get(at)) else "")
        return self.moves.formula(text, keyed.sheet.name, to=to)


def is_own(side: Side, keyed: Keyed, at: Position) -> bool:
    """Whether a person filled a cell: what planner never wrote there."""
    formula, value = keyed.sheet.patterns.get(at), keyed.sheet.value(*at)
    if formula is None and value in (None, ""):
        return False
    if keyed.kind == COVER and at[1] == 2 and at[0] > TOP:
        return (at[0], 1) in keyed.sheet.cells and is_own(side, keyed, (at[0], 1))
    if side.knows(side.signer.cell(keyed, at)):
        return False
    table = keyed.line_table
    if formula is not None and table is not None:
        line = next((line for line in table.lines if line.row == at[0]), None)
        if line is not None and at[1] in table.columns:
            named = named_formula(side.book, table, line, at[1], formula)
            return named is None or named is not formula
    return True


@dataclass
class Merge:
    """One sheet: the fresh cells and the old ones, each at its final place."""

    old: Side
    fresh: Side
    kind: str
    tracks: Tracks
    styles: Mapping[int, int]
    kept: Kept
    name: str
    moved_in: Mapping[Position, tuple[Keyed, Position]] = field(default_factory=dict)

    def sheet_data(self) -> tuple[bytes, Area]:
        """The rows as XML, and the area that they fill."""
        old, fresh = self.old.sheets[self.kind], self.fresh.sheets[self.kind]
        cells: dict[int, dict[int, bytes]] = {}
        places = {(self.tracks.fresh_rows(row), column): (row, column) for row, column in fresh.sheet.cells}
        taken: set[Position] = set()
        for at in sorted(old.sheet.cells):
            if at[0] in self.tracks.gone_rows or self._is_dropped(at):
                continue
            final = self.tracks.old_rows(at[0]), self.tracks.columns(at[1])
            xml = self._merged(old, at, fresh, places.get(final), final)
            if xml:
                cells.setdefault(final[0], {})[final[1]] = xml
                taken.add(final)
        for final, at in places.items():
            if final not in taken:
                style = self.styles.get(self.fresh.style(fresh, at), 0)
                cells.setdefault(final[0], {})[final[1]] = self._fresh_cell(fresh, at, final, style)
        for final, (source, at) in self.moved_in.items():
            style = self.styles.get(self.fresh.style(fresh, places[final]), 0) if final in places else 0
            cells.setdefault(final[0], {})[final[1]] = self._old_cell(source, at, final, style)
        return self._rows(cells), _extent(cells)

    def _is_dropped(self, at: Position) -> bool:
        """Whether a column of planner's is no more: it has no place, and a person put nothing into it."""
        old = self.old.sheets[self.kind]
        known = at[1] in self.tracks.columns.known
        return not known and old.columns.get(at[1], "") not in ("",) and at[1] not in self.tracks.own_columns

    def _merged(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None, final: Position) -> bytes:
        """The XML of a cell that the old sheet has: its own, or the fresh one in its look; or nothing."""
        is_formatted = self._is_formatted(old, at, fresh, other)
        if is_formatted:
            self.kept.formats += 1
        style = self.old.style(old, at)
        if other is not None and not is_formatted:
            style = self.styles.get(self.fresh.style(fresh, other), 0)
        if self._keeps(old, at, fresh, other, final):
            return self._old_cell(old, at, final, style)
        if other is not None:
            return self._fresh_cell(fresh, other, final, style)
        return self._blank_cell(final, style) if is_formatted else b""

    def _is_formatted(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None) -> bool:
        look = self.old.look(old, at)
        if other is not None and self.fresh.look(fresh, other) == look:
            return False
        kind, row, column = self.old.signer.place(old, at)
        return not self.old.knows(digest(LOOK, kind, _coarse(kind, row), column, repr(look)))

    def _keeps(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None, final: Position) -> bool:
        """Whether the old content stays; what became of it is noted."""
        formula, value = old.sheet.patterns.get(at), old.sheet.value(*at)
        place = f"{self.name}!{address(*final)}"
        if self._is_typed_by_people(old, at, fresh, other):
            if formula is not None or value not in (None, ""):
                self.kept.typed.append(place)
            return True
        if formula is None and value in (None, ""):
            return False
        theirs = fresh.sheet.cells.get(other) if other is not None else None
        if theirs is not None and self._is_same(old, at, fresh, other, final):
            return False
        if self.kind == COVER and at[1] > 1:
            return other is None
        if not is_own(self.old, old, at):
            self._note_renewal(old, at, fresh, other, place)
            return False
        if other is not None and other in fresh.sheet.patterns:
            said = f"{place} ({old.rows.get(at[0], '')})"
            (self.kept.typed_over if formula is None else self.kept.formulas).append(said)
        elif other is not None:
            self.kept.texts.append(place)
        else:
            self.kept.own_cells += 1
        return True

    def _is_typed_by_people(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None) -> bool:
        """Whether a cell is there to be typed into: a scenario's on Inputs, a case's on Comparison."""
        if self.kind == "inputs":
            named = old.rows.get(at[0], "")
            return (
                at[1] in old.scenario_columns() and bool(named) and not named.startswith(("above", "titles", "label"))
            )
        if self.kind == COMPARISON:
            live = at in old.sheet.patterns or (other is not None and other in fresh.sheet.patterns)
            return at[0] in old.groups and not live
        return False

    def _is_same(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None, final: Position) -> bool:
        assert other is not None, "there is a fresh cell"
        mine = self.old.formula(old, at, self.name)
        yours = self.fresh.formula(fresh, other, self.name)
        if mine is None or yours is None:
            return mine is yours and same_value(old.sheet.value(*at), fresh.sheet.value(*other), 0.0)
        if pattern(mine, *final) is pattern(yours, *final):
            return True
        return self.old.signer.cell(old, at) == self.fresh.signer.cell(fresh, other)

    def _note_renewal(self, old: Keyed, at: Position, fresh: Keyed, other: Position | None, place: str) -> None:
        if other is None:
            return
        before, after = old.sheet.value(*at), fresh.sheet.value(*other)
        if self.kind in ("models", "hardware", "dtypes") and before != after:
            column = old.columns.get(at[1], "")
            self.kept.numbers.append(f"{old.rows.get(at[0], '')} {column}: {_said(before)} is now {_said(after)}")
        elif self.kind not in (COVER, LOG):
            self.kept.renewed.append(place)

    def _fresh_cell(self, fresh: Keyed, at: Position, final: Position, style: int) -> bytes:
        raw = _raw(fresh, fresh.sheet.cells[at])
        formula = self.fresh.formula(fresh, at, self.name)
        own = self.old.sheets[self.kind].sheet.xml._prefix
        return _prefixed(readdressed(raw, final, style, formula), own)

    def _old_cell(self, old: Keyed, at: Position, final: Position, style: int) -> bytes:
        cell = old.sheet.cells[at]
        formula = self.old.formula(old, at, self.name)
        area = ""
        if cell.kind in ("array", "dataTable") and cell.area:
            area = self.old.moves.of(old.sheet.name).ref(cell.area)
        return readdressed(_raw(old, cell), final, style, formula, cell.kind, area)

    def _blank_cell(self, final: Position, style: int) -> bytes:
        own = self.old.sheets[self.kind].sheet.xml._prefix
        return b'<%bc r="%b" s="%d"/>' % (own, address(*final).encode(), style)

    def _rows(self, cells: Mapping[int, Mapping[int, bytes]]) -> bytes:
        old, fresh = self.old.sheets[self.kind].sheet.xml, self.fresh.sheets[self.kind].sheet.xml
        tags = {self.tracks.fresh_rows(number): _prefixed(tag, old._prefix) for number, tag in _row_tags(fresh.xml)}
        gone = set(self.tracks.gone_rows)
        tags |= {self.tracks.old_rows(number): tag for number, tag in _row_tags(old.xml) if number not in gone}
        rows: list[bytes] = []
        for number in sorted(cells.keys() | tags.keys()):
            tag = tags.get(number, b"<%brow>" % old._prefix)
            inner = b"".join(xml for _, xml in sorted(cells.get(number, {}).items()))
            if not inner and not _says_something(tag):
                continue
            opened = retagged(tag, (b"spans",), {b"r": b"%d" % number})
            opened = opened[:-2].rstrip() + b">" if opened.endswith(b"/>") else opened
            rows.append(opened + inner + b"</%brow>" % old._prefix)
        return b"".join(rows)


def looks_of(side: Side) -> Iterator[str]:
    """The digest of every cell's look, for `history.txt`."""
    for keyed in side.sheets.values():
        for at in keyed.sheet.cells:
            kind, row, column = side.signer.place(keyed, at)
            yield digest(LOOK, kind, _coarse(kind, row), column, repr(side.look(keyed, at)))


def _coarse(kind: str, row: str) -> str:
    """The row as far as looks go: of a database all rows look alike."""
    return "" if kind in ("models", "hardware", "dtypes") and not row.startswith("above") else row


def _raw(keyed: Keyed, cell: Cell) -> bytes:
    xml = keyed.sheet.xml.xml
    return xml[cell.span[0] : element_end(xml, *cell.span)]


def readdressed(
    raw: bytes, final: Position | None, style: int | None, formula: str | None, kind: str = "normal", area: str = ""
) -> bytes:  # fmt: skip
    """A cell's XML at another place: its address, its format (None: as they are), and its formula as it reads there."""
    end = tag_end(raw, 0)
    named = {} if final is None else {b"r": address(*final).encode()}
    tag = retagged(raw[:end], (), named | ({} if style is None else {b"s": b"%d" % style}))
    rest = raw[end:]
    if formula is not None and not is_empty(raw, end):
        attributes = b"" if kind in ("normal", "shared", "") else b' t="%b"' % kind.encode()
        attributes += b' ref="%b"' % area.encode() if area else b""
        text = escape(formula).encode()
        rest = _FORMULA.sub(lambda match: b"<%bf%b>%b</%bf>" % (match[1], attributes, text, match[1]), rest, count=1)
    return tag + rest


def _prefixed(xml: bytes, prefix: bytes) -> bytes:
    return re.sub(rb"<(/?)(?=[A-Za-z])", rb"<\1" + prefix, xml) if prefix else xml


def _row_tags(xml: bytes) -> Iterator[tuple[int, bytes]]:
    for match in _ROW.finditer(xml):
        number = re.search(rb"""\sr=["']([0-9]+)["']""", match[0])
        if number:
            yield int(number[1]), match[0]


def _says_something(tag: bytes) -> bool:
    """Whether a row without cells has a height, a format or a group of its own."""
    return bool(re.search(rb"""\s(ht|hidden|outlineLevel|s|customFormat|collapsed)=""", tag))


def _extent(cells: Mapping[int, Mapping[int, bytes]]) -> Area:
    rows, columns = list(cells), [column for row in cells.values() for column in row]
    return Area(1, 1, max(rows, default=1), max(columns, default=1))


def _said(value: Value) -> str:
    return "blank" if value in (None, "") else f"{value:.12g}" if isinstance(value, float) else str(value)
