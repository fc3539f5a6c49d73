"""Merges one sheet: the cells of the fresh workbook, with the user's edits carried over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.align.keys import MEMORY, KeyedSheet
from planner.book.lost_precedents import Reader
from planner.book.rowkeys import COVER
from planner.terminal_table import counted
from planner.update import new_columns
from planner.update.changed_inputs import INPUTS, read_by
from planner.update.judge import Judge
from planner.update.threeway import ThreeWay
from planner.xlsx.address import Area, Position, Spot, address
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.grid import Grid
from planner.xlsx.markup import element_end, retagged
from planner.xlsx.moved_cells import prefixed, readdressed, row_tags, says_something
from planner.xlsx.moved_parts import move_around_rows
from planner.xlsx.moves import Lost
from planner.xlsx.pattern import pattern
from planner.xlsx.references import BROKEN
from planner.xlsx.sheet_rules import extended, formulas, links, part_rules, renew_rules, rules
from planner.xlsx.worksheet import Worksheet, take_widths
from planner.xlsx.xmltree import Element, take_out


def merged(merge: ThreeWay, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> bytes:
    """The merged XML of a sheet that the file has: cells, rules, links, column widths.

    `styles` and `dxfs` map the fresh workbook's style and differential format numbers to the file's.
    """
    old, fresh, places, moves = merge.ours.sheets[kind], merge.fresh.sheets[kind], merge.places[kind], merge.ours.moves
    rows, area = SheetMerge(merge, kind, styles, moved_in(merge, kind)).sheet_data()
    sheet, theirs = Worksheet(old.sheet.xml.xml), Worksheet(fresh.xml)
    part_rules(sheet.root)
    own = [rule for rule in rules(sheet.root) if not merge.base.is_our_rule(old, rule)]
    dead = [rule for rule in own if _is_dead(rule)]
    own = [rule for rule in own if rule not in dead]
    if dead:
        formats = counted(len(dead), "conditional format")
        merge.done.remarks.append(f"{formats} on {merge.names[kind]} read {BROKEN} and showed nothing: taken out")
    for rule in extended(sheet.root):
        if merge.base.is_our_rule(old, rule):
            take_out(rule)
    for rule in rules(sheet.root):  # planner's come anew: what they read that is no more is no loss
        if rule not in own:
            rule.getparent().remove(rule)
    lost = move_around_rows(sheet.root, old.sheet.name, moves)
    if not merge.fresh.moves.is_idle:
        move_around_rows(theirs.root, fresh.name, merge.fresh.moves)
    renewed, final = {link.get("ref") for link in links(theirs.root)}, moves.of(old.sheet.name).ref
    # What stood on rows that are gone, as a link to a row of another sheet, went with them.
    merge.done.remarks += [str(each) for each in lost if (there := final(each.place)) and there not in renewed]
    merge.done.rules += renew_rules(sheet, theirs, own, dxfs)
    in_tables = {id(track): track for track in places.columns_at.values()}.values()  # one for each table
    take_widths(sheet.root, theirs.root, places.columns, places.fresh_columns, in_tables)
    sheet.fill(rows, area)
    return sheet.xml()


def _is_dead(rule: Element) -> bool:
    """Whether a conditional format reads #REF!, as LibreOffice leaves planner's after its first cell is deleted.

    Nobody can tell whose it was, but it shows nothing, so it may be removed.
    """
    return rule.tag.endswith("conditionalFormatting") and any(BROKEN in text for text in formulas(rule))


@dataclass
class SheetMerge:
    """Merges one sheet. `styles` maps the fresh workbook's style numbers to the file's.

    `moved_in` has cells from other sheets.
    """

    merge: ThreeWay
    kind: str
    styles: Mapping[int, int]
    moved_in: Mapping[Position, tuple[KeyedSheet, Position]]

    def __post_init__(self) -> None:
        merge, kind = self.merge, self.kind
        self.judge, self.done = Judge(merge, kind), merge.done
        self.old, self.fresh = merge.ours.sheets[kind], merge.fresh.sheets[kind]
        self.places, self.name = merge.places[kind], merge.names[kind]
        self.columns_of_fresh: dict[int, set[int]] = {}
        for row, column in self.fresh.cells:
            self.columns_of_fresh.setdefault(row, set()).add(column)
        columns = set[int]().union(*self.columns_of_fresh.values())
        self.fresh_row = {self.places.fresh_rows(row): row for row in self.columns_of_fresh}
        self.fresh_column = {self.places.fresh_columns(column): column for column in columns}
        self.is_still = self.name not in self.merge.busy
        self.is_straight = self.places.columns.is_idle and self.places.fresh_columns.is_idle
        self.gone = frozenset(self.places.gone_rows)

    def sheet_data(self) -> tuple[bytes, Area]:
        """The XML of the rows, and the area that they fill."""
        cells: dict[int, dict[int, bytes]] = {}
        taken: set[Position] = set()
        columns_there = set[int]().union(*self.old.columns_by_row.values())
        column_of = {column: self.places.columns(column) for column in columns_there if not self._is_gone(column)}
        for row, columns in sorted(self.old.columns_by_row.items()):
            if row in self.gone or (self.kind == COVER and self.old.rows.get(row, "").startswith(MEMORY)):
                continue
            final_row = self.places.old_rows(row)
            found, fresh_row = cells.setdefault(final_row, {}), self.fresh_row.get(final_row, 0)
            if row == final_row and self._is_row_theirs(row, columns, fresh_row):
                found |= {columns[-1]: b""} | {columns[0]: _raw(self.old, (row, columns[0]), (row, columns[-1]))}
                taken |= {(fresh_row, column) for column in columns}
                continue
            placed = column_of if row not in self.places.columns_at else self._placed_in_table(row, columns)
            for column in sorted(column for column in columns if column in placed):
                final = final_row, placed[column]
                other = fresh_row, self.fresh_column.get(final[1], 0)
                is_known = other in self.fresh.cells
                if is_known and self._is_theirs((row, column), other):
                    found[final[1]] = self._fresh_cell(other, final)
                elif xml := self._merged((row, column), other if is_known else None, final):
                    found[final[1]] = xml
                taken.add(other)
        for at in sorted(self.fresh.cells.keys() - taken):
            self.judge.note_filled(at)
            final = self.places.fresh_rows(at[0]), self.places.fresh_columns(at[1])
            cells.setdefault(final[0], {})[final[1]] = self._fresh_cell(at, final)
        for row, column, value in new_columns.filled(self.old, self.fresh, self.places.own_rows):
            final = self.places.old_rows(row), self.places.fresh_columns(column)
            cells.setdefault(final[0], {})[final[1]] = self._new_cell(column, value, final)
            self.judge.note_number(self.old.rows[row], self.fresh.columns[column], None, value)
        for final, (source, at) in self.moved_in.items():
            other = self.fresh_row.get(final[0], 0), self.fresh_column.get(final[1], 0)
            style = self._style(other) if other in self.fresh.cells else 0
            cells.setdefault(final[0], {})[final[1]] = self._old_cell(source, at, final, style)
        return self._rows(cells), _extent(cells)

    def _placed_in_table(self, row: int, columns: list[int]) -> dict[int, int]:
        """Old -> final columns of a row in a table whose columns moved.

        Notes the user's cells in columns that were removed.
        """
        track = self.places.columns_at[row]
        for column in (column for column in columns if column in track.gone):
            if self.merge.is_own(self.old, (row, column)):
                said = f"{self.old.sheet.name}!{address(row, column)} ({self.old.rows.get(row, '')})"
                self.done.remarks.append(f"{said} is no more: its column is not in the table")
        return {column: track(column) for column in columns if column not in track.gone}

    def _is_gone(self, column: int) -> bool:
        """Whether a column was planner's and has been removed."""
        is_placed = column in self.places.columns.known or column in self.places.own_columns
        return not is_placed and self.old.columns.get(column, "") != ""

    def _is_row_theirs(self, row: int, columns: list[int], fresh_row: int) -> bool:
        """Whether a row of the file can be copied byte for byte: it has the fresh row's cells, each equal."""
        theirs = self.columns_of_fresh.get(fresh_row)
        if not self.is_straight or theirs is None or len(columns) != len(theirs):
            return False
        same = (column in theirs and self._is_theirs((row, column), (fresh_row, column)) for column in columns)
        return all(same) and columns == sorted(columns)

    def _is_theirs(self, at: Position, other: Position) -> bool:
        """Whether a cell equals the fresh one in content and look, so that nothing is to be merged."""
        cell, fresh = self.old.sheet.cells[at], self.fresh.cells[other]
        if fresh.formula is not None:
            is_same = cell.kind == "normal" and cell.formula == fresh.formula and self.is_still
            is_same = is_same and not self.merge.names_busy(fresh.formula)
        else:
            is_same = cell.kind == "" and same_value(cell.value, self.fresh.value(*other), 0.0)
            is_same = is_same and self.kind != COVER and not self.judge.is_open(at, other)
        return is_same and self.judge.looks_alike(self.merge.ours.style(self.old, at), fresh.style)

    def _merged(self, at: Position, other: Position | None, final: Position) -> bytes:
        """A cell's merged XML: its own or the fresh one; empty for a blank cell without a user's format."""
        style = self.merge.ours.style(self.old, at)
        is_formatted = self.judge.looks_own(at, style, other)
        self.done.formats += is_formatted and at[0] not in self.judge.own_rows  # all cells of such a row are the user's
        if other is not None and not is_formatted:
            style = self._style(other)
        if self.judge.keeps(at, other, final):
            return self._old_cell(self.old, at, final, style)
        if other is not None:
            return self._fresh_cell(other, final, style)
        blank = self.old.sheet.xml.prefix, address(*final).encode(), style
        return b'<%bc r="%b" s="%d"/>' % blank if is_formatted else b""

    def _fresh_cell(self, at: Position, final: Position, style: int | None = None) -> bytes:
        """The XML of a fresh cell at its final position, in its own style or in `style`."""
        number = self._style(at) if style is None else style
        xml = self.fresh.cells[at].xml(final, number, self.judge.fresh_formula(at))
        return prefixed(xml, self.old.sheet.xml.prefix)

    def _new_cell(self, column: int, value: Value, final: Position) -> bytes:
        """The XML of a typed value, in the style of the last cell of the fresh column."""
        last = max(row for row, columns in self.columns_of_fresh.items() if column in columns)
        grid = Grid()
        grid.put(*final, value, self._style((last, column)))
        ((_, _, xml, _),) = grid.cells()
        return prefixed(xml.encode(), self.old.sheet.xml.prefix)

    def _style(self, fresh: Position) -> int:
        """The file's number of a fresh cell's style."""
        return self.styles.get(self.fresh.cells[fresh].style, 0)

    def _old_cell(self, source: KeyedSheet, at: Position, final: Position, style: int) -> bytes:
        cell = source.sheet.cells[at]
        formula, moves = self.merge.ours.formula(source, at, self.name), self.merge.ours.moves
        if formula is not None:
            text = source.sheet.xml.formula_of(cell) or ""
            lost = (Lost(self.name, address(*final), read) for read in moves.lost(text, source.sheet.name))
            self.done.remarks += map(str, lost)
            place, inputs = self.judge.place(final), self.merge.ours.sheets[INPUTS]
            self.done.remarks += read_by(place, text, source.sheet.name, moves, inputs)
            self.merge.kept.append(Reader(Spot(self.name, *final), source.sheet.name, at, pattern(text, *at)))
        return readdressed(_raw(source, at, at), final, style, formula, moves.of(source.sheet.name))

    def _rows(self, cells: Mapping[int, Mapping[int, bytes]]) -> bytes:
        old, prefix = self.old.sheet.xml, self.old.sheet.xml.prefix
        tags = {self.places.fresh_rows(number): prefixed(tag, prefix) for number, tag in row_tags(self.fresh.xml)}
        mine = {number: tag for number, tag in row_tags(old.xml) if number not in self.gone}
        with_cells = self.old.columns_by_row.keys()  # an empty row that falls on a filled one says nothing of it
        tags |= {
            place: tag
            for number, tag in mine.items()
            if (place := self.places.old_rows(number)) not in tags or number in with_cells
        }
        rows: list[bytes] = []
        for number in sorted(cells.keys() | tags.keys()):
            tag = tags.get(number, b"<%brow>" % prefix)
            inner = b"".join(xml for _, xml in sorted(cells.get(number, {}).items()))
            if not inner and not says_something(tag):
                continue
            opened = retagged(tag, (b"spans",), {b"r": b"%d" % number})
            opened = opened[:-2].rstrip() + b">" if opened.endswith(b"/>") else opened
            rows.append(opened + inner + b"</%brow>" % prefix)
        return b"".join(rows)


def moved_in(merge: ThreeWay, kind: str) -> dict[Position, tuple[KeyedSheet, Position]]:
    """What the user typed into rows that moved here from another sheet: final position -> (old sheet, old position)."""
    found: dict[Position, tuple[KeyedSheet, Position]] = {}
    for other in merge.kinds:
        homes, sheet = merge.homes(other), merge.ours.sheets[other]
        for row in merge.places[other].gone_rows:
            if homes.get(sheet.rows.get(row, "")) != kind:
                continue
            target = merge.places[kind].fresh_rows(merge.fresh.sheets[kind].row_of[sheet.rows[row]])
            for column in sheet.scenario_columns:
                at = row, column
                if at in sheet.sheet.cells and merge.is_own(sheet, at):
                    said = f"{sheet.sheet.name}!{address(*at)} ({sheet.rows[row]})"
                    if sheet.columns[column] not in merge.fresh.sheets[kind].column_of:
                        merge.done.remarks.append(f"{said} is no more: its scenario is not on Inputs")
                        continue
                    final = target, merge.column(kind, sheet.columns[column])
                    found[final] = sheet, at
                    merge.done.remarks.append(f"{said} stands at {merge.names[kind]}!{address(*final)} now")
    return found


def _raw(keyed: KeyedSheet, first: Position, last: Position) -> bytes:
    """The XML of a row from the cell `first` to the cell `last`."""
    xml, cells = keyed.sheet.xml.xml, keyed.sheet.cells
    return xml[cells[first].span[0] : element_end(xml, *cells[last].span)]


def _extent(cells: Mapping[int, Mapping[int, bytes]]) -> Area:
    rows, columns = list(cells), [column for row in cells.values() for column in row]
    return Area(1, 1, max(rows, default=1), max(columns, default=1))
