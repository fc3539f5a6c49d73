"""A sheet of an edited workbook with a fresh one's cells in it, and among them what a person put there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.align.keys import COMPARISON, COVER, DATABASES, LOG, Keyed
from planner.align.tracks import Tracks
from planner.update.outcome import Kept
from planner.update.sides import LOOK, Side, coarse, is_own
from planner.update.signatures import digest
from planner.xlsx.address import Area, Position, address
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.cellxml import prefixed, readdressed, row_tags, says_something
from planner.xlsx.markup import element_end, retagged
from planner.xlsx.pattern import pattern


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
        places = {(self.tracks.fresh_rows(row), self.tracks.fresh_columns(column)): (row, column)
                  for row, column in fresh.sheet.cells}  # fmt: skip
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
                self._note_filled(fresh, at)
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
        return not self.old.knows(digest(LOOK, kind, coarse(kind, row), column, repr(look)))

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
            (self.kept.texts if isinstance(value, str) else self.kept.typed).append(place)
        elif at[0] not in self.tracks.own_rows:  # those are named as a person's
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
        if self.kind in DATABASES and before != after:
            column = old.columns.get(at[1], "")
            self.kept.numbers.append(f"{old.rows.get(at[0], '')} {column}: {_said(before)} is now {_said(after)}")
        elif self.kind not in (COVER, LOG):
            self.kept.renewed.append(place)

    def _note_filled(self, fresh: Keyed, at: Position) -> None:
        """Note a number of a database for which the old one had a blank."""
        old, row, column = self.old.sheets[self.kind], fresh.rows.get(at[0], ""), fresh.columns.get(at[1], "")
        value = fresh.sheet.value(*at)
        is_known = self.kind in DATABASES and at[0] >= fresh.first_row and row in old.row_of and column in old.column_of
        if is_known and value not in (None, ""):
            self.kept.numbers.append(f"{row} {column}: blank is now {_said(value)}")

    def _fresh_cell(self, fresh: Keyed, at: Position, final: Position, style: int) -> bytes:
        raw = _raw(fresh, fresh.sheet.cells[at])
        formula = self.fresh.formula(fresh, at, self.name)
        own = self.old.sheets[self.kind].sheet.xml.prefix
        moves = self.fresh.moves.of(fresh.sheet.name)
        return prefixed(readdressed(raw, final, style, formula, moves), own)

    def _old_cell(self, old: Keyed, at: Position, final: Position, style: int) -> bytes:
        cell = old.sheet.cells[at]
        formula = self.old.formula(old, at, self.name)
        return readdressed(_raw(old, cell), final, style, formula, self.old.moves.of(old.sheet.name))

    def _blank_cell(self, final: Position, style: int) -> bytes:
        own = self.old.sheets[self.kind].sheet.xml.prefix
        return b'<%bc r="%b" s="%d"/>' % (own, address(*final).encode(), style)

    def _rows(self, cells: Mapping[int, Mapping[int, bytes]]) -> bytes:
        old, fresh = self.old.sheets[self.kind].sheet.xml, self.fresh.sheets[self.kind].sheet.xml
        tags = {self.tracks.fresh_rows(number): prefixed(tag, old.prefix) for number, tag in row_tags(fresh.xml)}
        gone = set(self.tracks.gone_rows)
        tags |= {self.tracks.old_rows(number): tag for number, tag in row_tags(old.xml) if number not in gone}
        rows: list[bytes] = []
        for number in sorted(cells.keys() | tags.keys()):
            tag = tags.get(number, b"<%brow>" % old.prefix)
            inner = b"".join(xml for _, xml in sorted(cells.get(number, {}).items()))
            if not inner and not says_something(tag):
                continue
            opened = retagged(tag, (b"spans",), {b"r": b"%d" % number})
            opened = opened[:-2].rstrip() + b">" if opened.endswith(b"/>") else opened
            rows.append(opened + inner + b"</%brow>" % old.prefix)
        return b"".join(rows)


def _raw(keyed: Keyed, cell: Cell) -> bytes:
    xml = keyed.sheet.xml.xml
    return xml[cell.span[0] : element_end(xml, *cell.span)]


def _extent(cells: Mapping[int, Mapping[int, bytes]]) -> Area:
    rows, columns = list(cells), [column for row in cells.values() for column in row]
    return Area(1, 1, max(rows, default=1), max(columns, default=1))


def _said(value: Value) -> str:
    return "blank" if value in (None, "") else f"{value:.12g}" if isinstance(value, float) else str(value)
