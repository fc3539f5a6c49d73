"""Merges one sheet: the cells of the fresh workbook, with the user's edits carried over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.align.keys import CALCULATION, COMPARISON, MEMORY, KeyedSheet
from planner.book.rowkeys import COVER, DATABASES
from planner.book.tables import HEADER
from planner.update import new_columns
from planner.update.places import is_filled
from planner.update.threeway import ThreeWay
from planner.update.turned import FOURTH, INPUTS, read_by
from planner.xlsx.address import Area, Position, address
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.grid import Grid
from planner.xlsx.markup import element_end, retagged
from planner.xlsx.moved_cells import prefixed, readdressed, row_tags, says_something
from planner.xlsx.moved_parts import move_around_rows
from planner.xlsx.moves import Lost
from planner.xlsx.pattern import pattern
from planner.xlsx.sheet_rules import extended, links, part_rules, renew_rules, rules
from planner.xlsx.styles import Look
from planner.xlsx.worksheet import Worksheet, take_widths
from planner.xlsx.xmltree import take_out

PLAIN = Look()


def merged(merge: ThreeWay, kind: str, styles: Mapping[int, int], dxfs: Mapping[int, int]) -> bytes:
    """The XML of a sheet that the file has: cells, rules, links, widths. `styles` and `dxfs` are the numbers that the
    fresh workbook's formats have in the file.
    """
    old, fresh, places, moves = merge.ours.sheets[kind], merge.fresh.sheets[kind], merge.places[kind], merge.ours.moves
    rows, area = SheetMerge(merge, kind, styles, moved_in(merge, kind)).sheet_data()
    sheet, theirs = Worksheet(old.sheet.xml.xml), Worksheet(fresh.xml)
    part_rules(sheet.root)
    own = [rule for rule in rules(sheet.root) if not merge.base.is_our_rule(old, rule)]
    for rule in extended(sheet.root):
        if merge.base.is_our_rule(old, rule):
            take_out(rule)
    lost = move_around_rows(sheet.root, old.sheet.name, moves)
    if not merge.fresh.moves.is_idle:
        move_around_rows(theirs.root, fresh.name, merge.fresh.moves)
    renewed = {link.get("ref") for link in links(theirs.root)}
    merge.done.remarks += [str(each) for each in lost if each.place not in renewed]
    merge.done.rules += renew_rules(sheet, theirs, own, dxfs)
    take_widths(sheet.root, theirs.root, places.columns, places.fresh_columns)
    sheet.fill(rows, area)
    return sheet.xml()


@dataclass
class SheetMerge:
    """One sheet. `styles` are the numbers that the fresh workbook's formats have in the file."""

    merge: ThreeWay
    kind: str
    styles: Mapping[int, int]
    moved_in: Mapping[Position, tuple[KeyedSheet, Position]]
    alike: dict[tuple[int, int], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        merge, kind = self.merge, self.kind
        self.done = merge.done
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
        self.turned = merge.ours.moves.of(self.old.sheet.name).turned
        self.gone, self.own_rows = frozenset(self.places.gone_rows), frozenset(self.places.own_rows)

    def sheet_data(self) -> tuple[bytes, Area]:
        """The rows as XML, and the area that they fill."""
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
                found |= {columns[-1]: b""} | {columns[0]: self._raw_cells(row, columns)}
                taken |= {(fresh_row, column) for column in columns}
                continue
            for column in sorted(column for column in columns if column in column_of):
                final = final_row, column_of[column]
                other = fresh_row, self.fresh_column.get(final[1], 0)
                is_known = other in self.fresh.cells
                if is_known and self._is_theirs((row, column), other):
                    found[final[1]] = self._fresh_cell(other, final)
                elif xml := self._merged((row, column), other if is_known else None, final):
                    found[final[1]] = xml
                taken.add(other)
        for at in sorted(self.fresh.cells.keys() - taken):
            self._note_filled(at)
            final = self.places.fresh_rows(at[0]), self.places.fresh_columns(at[1])
            cells.setdefault(final[0], {})[final[1]] = self._fresh_cell(at, final)
        for row, column, value in new_columns.filled(self.old, self.fresh, self.own_rows):
            final = self.places.old_rows(row), self.places.fresh_columns(column)
            cells.setdefault(final[0], {})[final[1]] = self._new_cell(column, value, final)
            self.done.numbers.append(f"{self.old.rows[row]} {self.fresh.columns[column]}: blank is now {_said(value)}")
        for final, (source, at) in self.moved_in.items():
            other = self.fresh_row.get(final[0], 0), self.fresh_column.get(final[1], 0)
            style = self._style(other) if other in self.fresh.cells else 0
            cells.setdefault(final[0], {})[final[1]] = self._old_cell(source, at, final, style)
        return self._rows(cells), _extent(cells)

    def _is_gone(self, column: int) -> bool:
        """Whether a column was planner's and is no more."""
        is_placed = column in self.places.columns.known or column in self.places.own_columns
        return not is_placed and self.old.columns.get(column, "") != ""

    def _is_row_theirs(self, row: int, columns: list[int], fresh_row: int) -> bool:
        """Whether a row of the file stays byte for byte: it has the cells that planner's has now, each the same."""
        theirs = self.columns_of_fresh.get(fresh_row)
        if not self.is_straight or theirs is None or len(columns) != len(theirs):
            return False
        same = (column in theirs and self._is_theirs((row, column), (fresh_row, column)) for column in columns)
        return all(same) and columns == sorted(columns)

    def _raw_cells(self, row: int, columns: list[int]) -> bytes:
        cells, xml = self.old.sheet.cells, self.old.sheet.xml.xml
        first, last = cells[row, columns[0]], cells[row, columns[-1]]
        return xml[first.span[0] : element_end(xml, *last.span)]

    def _is_theirs(self, at: Position, other: Position) -> bool:
        """Whether a cell plainly holds what planner writes now, in planner's look: then nothing is to be merged."""
        cell, fresh = self.old.sheet.cells[at], self.fresh.cells[other]
        if fresh.formula is not None:
            is_same = cell.kind == "normal" and cell.formula == fresh.formula and self.is_still
            is_same = is_same and not self.merge.names_busy(fresh.formula)
        else:
            is_same = cell.kind == "" and same_value(cell.value, self.fresh.value(*other), 0.0)
            is_same = is_same and self.kind != COVER and not self._is_open(at, other)
        return is_same and self._looks_alike(self.merge.ours.style(self.old, at), fresh.style)

    def _merged(self, at: Position, other: Position | None, final: Position) -> bytes:
        """The XML of a cell that the file has: its own, or the fresh one in its look; or nothing."""
        style = self.merge.ours.style(self.old, at)
        is_formatted = self._is_formatted(at, style, other)
        self.done.formats += is_formatted and at[0] not in self.own_rows  # of these all is a person's
        if other is not None and not is_formatted:
            style = self._style(other)
        if self._keeps(at, other, final):
            return self._old_cell(self.old, at, final, style)
        if other is not None:
            return self._fresh_cell(other, final, style)
        blank = self.old.sheet.xml.prefix, address(*final).encode(), style
        return b'<%bc r="%b" s="%d"/>' % blank if is_formatted else b""

    def _is_formatted(self, at: Position, style: int, other: Position | None) -> bool:
        """Whether a person gave a cell its look."""
        if other is not None and self._looks_alike(style, self.fresh.cells[other].style):
            return False
        look = self.merge.ours.look_of(style)
        if look == self.merge.ours.looks[0] and self.merge.base.wrote(self.old, at) is None:
            return False
        if look._replace(style=PLAIN.style, font=PLAIN.font) == PLAIN and not is_filled(self.old, *at):
            return False  # it would only show in what is typed there
        return not self.merge.base.is_our_look(self.old, at, look)

    def _looks_alike(self, style: int, fresh: int) -> bool:
        """Whether a format of the file and one of the fresh workbook look alike, whatever the style is called."""
        if (style, fresh) not in self.alike:
            theirs = self.merge.fresh.looks[fresh]
            self.alike[style, fresh] = self.merge.ours.look_of(style)._replace(style=theirs.style) == theirs
        return self.alike[style, fresh]

    def _keeps(self, at: Position, other: Position | None, final: Position) -> bool:
        """Whether the file's content stays; what became of it is noted."""
        filled = is_filled(self.old, *at)
        if at[0] in self.turned and (at[1] in self.old.scenario_columns or self.old.columns.get(at[1]) == FOURTH):
            self._note_turned(at, final)
            return False
        if self._is_open(at, other):
            if filled and self._is_name_of_planners(at):
                self.done.renewed.append(self._place(final))
                return False
            if filled:
                self.done.typed.append(self._place(final))
            return True
        if at[0] in self.own_rows:
            if self.merge.base.is_row(self.old, at[0]):
                self._note_unasked(at, final)
            return True
        if not filled:
            return self._is_cleared(at, other, final)
        if self.merge.base.is_ours(self.old, at):
            self._note_renewal(at, other, final)
            return False
        if self.kind == COVER and at[1] > 1:
            return other is None
        if other is None:
            if not self._note_unasked(at, final):
                self.done.own_cells += 1
            return True
        if self._is_same(at, other, final):
            return False
        if self._is_said_of_planners(at):
            said = f"{self._place(final)} said {self.old.sheet.text(*at)!r}; it says what planner's formula is"
            self.done.remarks.append(said)
            return False
        self._note_kept(at, other, self._place(final))
        return True

    def _is_said_of_planners(self, at: Position) -> bool:
        """Whether a cell is the formula in names of a row in which no formula is a person's: it is planner's too."""
        if not self.kind.startswith(CALCULATION) or self.old.columns.get(at[1]) != FOURTH:
            return False
        cells = ((at[0], column) for column in self.old.scenario_columns)
        return not any(self.merge.is_own(self.old, cell) for cell in cells)

    def _place(self, final: Position) -> str:
        return f"{self.name}!{address(*final)}"

    def _is_cleared(self, at: Position, other: Position | None, final: Position) -> bool:
        """Whether a person emptied a cell that planner had filled."""
        if other is None or self.kind == COVER or self.merge.base.is_ours(self.old, at):
            return False
        self.done.cleared.append(self._place(final))
        return True

    def _is_open(self, at: Position, other: Position | None) -> bool:
        """Whether a cell is there to be typed into: a scenario's on Inputs, a case's on Comparison."""
        if self.kind == INPUTS:
            named = self.old.rows.get(at[0], "")
            is_open = at[1] in self.old.scenario_columns and bool(named) and at[0] not in self.own_rows
            return is_open and other is not None and not named.startswith(("above", "titles", "label"))
        if self.kind == COMPARISON:
            is_fresh_live = other is not None and self.fresh.cells[other].formula is not None
            live = is_fresh_live or self.old.sheet.cells[at].kind != ""
            return at[0] in self.old.groups and not live
        return False

    def _is_name_of_planners(self, at: Position) -> bool:
        """Whether a cell is a scenario's name that nobody gave it: it is blank now, and follows the model and chip."""
        is_name = self.kind == INPUTS and self.old.rows.get(at[0]) == HEADER[1]
        return is_name and not self.merge.ours.book.given_name(at[1])

    def _is_same(self, at: Position, other: Position, final: Position) -> bool:
        """Whether a person's content is what planner writes now."""
        mine = self.merge.ours.formula(self.old, at, self.name)
        yours = self._fresh_formula(other)
        if mine is None or yours is None:
            return mine is yours and same_value(self.old.sheet.value(*at), self.fresh.value(*other), 0.0)
        return pattern(mine, *final) is pattern(yours, *final)

    def _note_kept(self, at: Position, other: Position, place: str) -> None:
        formula, value = self.old.sheet.patterns.get(at), self.old.sheet.value(*at)
        wrote = self.merge.base.wrote(self.old, at)
        if wrote is not None and not self.merge.base.is_same(self.kind, wrote, other):
            theirs = self._fresh_formula(other)
            now = _said(self.fresh.value(*other)) if theirs is None else f"={theirs}"
            mine = _said(value) if formula is None else f"={self.merge.ours.formula(self.old, at, self.name)}"
            self.done.both.append(f"{place}: yours is {mine}, planner's now {now}")
        if self.fresh.cells[other].formula is not None:
            said = f"{place} ({self.old.rows.get(at[0], '')})"
            (self.done.typed_over if formula is None else self.done.formulas).append(said)
        else:
            (self.done.texts if isinstance(value, str) else self.done.typed).append(place)

    def _note_turned(self, at: Position, final: Position) -> None:
        """Note what a person typed into a row that is of another kind now, which has no place for it."""
        if self.merge.is_own(self.old, at):
            self._say_unasked(at, final)

    def _note_unasked(self, at: Position, final: Position) -> bool:
        """Note what a person typed for an input that the template has no more; whether it is such a cell."""
        if self.kind != INPUTS or at[1] not in self.old.scenario_columns or not self.merge.is_own(self.old, at):
            return False
        constants = self.merge.ours.book.inputs.section("Constants")
        if at[0] in {line.row for line in constants.values()}:
            return False
        self._say_unasked(at, final)
        return True

    def _say_unasked(self, at: Position, final: Position) -> None:
        said = _said(self.old.sheet.value(*at))
        self.done.unasked.append(f"{self._place(final)} ({self.old.rows.get(at[0], '')}): {said}")

    def _note_renewal(self, at: Position, other: Position | None, final: Position) -> None:
        if other is None or self.kind == COVER:
            return
        wrote = self.merge.base.wrote(self.old, at)
        if wrote is not None and self.merge.base.is_same(self.kind, wrote, other):
            return
        before, after = self.old.sheet.value(*at), self.fresh.value(*other)
        if wrote is None and self._is_same(at, other, final):
            return
        if self.kind in DATABASES and self.fresh.cells[other].formula is None:
            column = self.old.columns.get(at[1], "")
            self.done.numbers.append(f"{self.old.rows.get(at[0], '')} {column}: {_said(before)} is now {_said(after)}")
        else:
            self.done.renewed.append(self._place(final))

    def _note_filled(self, at: Position) -> None:
        """Note a number of a database for which the file had a blank."""
        row, column, value = self.fresh.rows.get(at[0], ""), self.fresh.columns.get(at[1], ""), self.fresh.value(*at)
        is_known = self.kind in DATABASES and row in self.old.row_of and column in self.old.column_of
        if is_known and not row.startswith("above ") and value not in (None, ""):
            self.done.numbers.append(f"{row} {column}: blank is now {_said(value)}")

    def _fresh_formula(self, at: Position) -> str | None:
        """A fresh cell's formula as it reads in the end."""
        return self.merge.fresh.formula(self.fresh, at)

    def _fresh_cell(self, at: Position, final: Position, style: int | None = None) -> bytes:
        """The XML of a fresh cell where it stands in the end, in its own format or another."""
        number = self._style(at) if style is None else style
        xml = self.fresh.cells[at].xml(final, number, self._fresh_formula(at))
        return prefixed(xml, self.old.sheet.xml.prefix)

    def _new_cell(self, column: int, value: Value, final: Position) -> bytes:
        """The XML of a typed value in the format that the fresh column's last cell has."""
        last = max(row for row, columns in self.columns_of_fresh.items() if column in columns)
        grid = Grid()
        grid.put(*final, value, self._style((last, column)))
        ((_, _, xml, _),) = grid.cells()
        return prefixed(xml.encode(), self.old.sheet.xml.prefix)

    def _style(self, fresh: Position) -> int:
        """The number that the format of a fresh cell has in the file."""
        return self.styles.get(self.fresh.cells[fresh].style, 0)

    def _old_cell(self, source: KeyedSheet, at: Position, final: Position, style: int) -> bytes:
        cell = source.sheet.cells[at]
        formula, moves = self.merge.ours.formula(source, at, self.name), self.merge.ours.moves
        if formula is not None:
            text = source.sheet.xml.formula_of(cell) or ""
            lost = (Lost(self.name, address(*final), read) for read in moves.lost(text, source.sheet.name))
            self.done.remarks += map(str, lost)
            place, inputs = self._place(final), self.merge.ours.sheets[INPUTS]
            self.done.remarks += read_by(place, text, source.sheet.name, moves, inputs)
        return readdressed(_raw(source, cell), final, style, formula, moves.of(source.sheet.name))

    def _rows(self, cells: Mapping[int, Mapping[int, bytes]]) -> bytes:
        old, prefix = self.old.sheet.xml, self.old.sheet.xml.prefix
        tags = {self.places.fresh_rows(number): prefixed(tag, prefix) for number, tag in row_tags(self.fresh.xml)}
        mine = {number: tag for number, tag in row_tags(old.xml) if number not in self.gone}
        with_cells = self.old.columns_by_row.keys()  # an empty row that falls on a filled one says nothing of it
        tags |= {place: tag for number, tag in mine.items()
                 if (place := self.places.old_rows(number)) not in tags or number in with_cells}  # fmt: skip
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
    """What a person put into rows that stand on this sheet now, and on another before."""
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


def _raw(keyed: KeyedSheet, cell: Cell) -> bytes:
    xml = keyed.sheet.xml.xml
    return xml[cell.span[0] : element_end(xml, *cell.span)]


def _extent(cells: Mapping[int, Mapping[int, bytes]]) -> Area:
    rows, columns = list(cells), [column for row in cells.values() for column in row]
    return Area(1, 1, max(rows, default=1), max(columns, default=1))


def _said(value: Value) -> str:
    return "blank" if value in (None, "") else f"{value:.12g}" if isinstance(value, float) else str(value)
