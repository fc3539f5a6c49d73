"""Decides for each cell of a sheet whether the user's content stays, and notes the outcome."""

from __future__ import annotations

from planner.align.keys import CALCULATION, COMPARISON
from planner.book.rowkeys import COVER, DATABASES
from planner.book.tables import HEADER
from planner.update.changed_inputs import FOURTH, INPUTS, looked_up_now
from planner.update.places import is_filled
from planner.update.threeway import ThreeWay
from planner.update.typed_cells import LONG, TypedCells, in_words, shown
from planner.xlsx.address import Position, address
from planner.xlsx.cellvalue import Value, is_number, same_value
from planner.xlsx.pattern import pattern
from planner.xlsx.references import BROKEN
from planner.xlsx.styles import Look

PLAIN = Look()


class Judge:
    """Decides for one sheet.

    `at` is a cell of the file, `other` the fresh cell that would replace it, `final` its position in the merged
    workbook.
    """

    def __init__(self, merge: ThreeWay, kind: str) -> None:
        self.merge, self.kind, self.done = merge, kind, merge.done
        self.old, self.fresh, self.name = merge.ours.sheets[kind], merge.fresh.sheets[kind], merge.names[kind]
        self.redirections = merge.ours.moves.of(self.old.sheet.name).redirections
        self.own_rows = frozenset(merge.places[kind].own_rows)
        self._alike: dict[tuple[int, int], bool] = {}
        self._typed = TypedCells(merge, kind)
        self._looked_up_now = looked_up_now(self.old, self.fresh)

    def keeps(self, at: Position, other: Position | None, final: Position) -> bool:
        """Whether the file's cell stays; else the fresh one is written. Notes what became of it."""
        filled = is_filled(self.old, *at)
        if at[0] in self.redirections and (at[1] in self.old.scenario_columns or self.old.columns.get(at[1]) == FOURTH):
            if self.merge.is_own(self.old, at):
                self._say_unasked(at, final)
            return False
        if self.is_open(at, other):
            return self._keeps_typed(at, other, final)
        if at[0] in self.own_rows:
            if self.merge.base.is_row(self.old, at[0]):
                self._note_unasked(at, final)
            return True
        if not filled:
            return self._is_cleared(at, other, final)
        if self.merge.base.is_ours(self.old, at):
            self._note_renewal(at, other, final)
            return False
        if other is not None and self._is_read_again(at[0]):
            if not self._is_same(at, other, final):
                self._note_both(at, other, final)
            return False
        if self.kind == COVER and at[1] > 1:
            return other is None
        if other is None:
            if self._is_number_of_database(at):
                self.done.typed.append(f"{self.place(final)} ({self._called(at)}: {shown(self.merge, self.old, at)})")
            elif not self._note_unasked(at, final):
                self.done.own_cells += 1
            return True
        if self._is_same(at, other, final):
            return False
        if self._is_broken(at, other):
            self.done.mended.append(f"{self.place(final)} ({self.old.rows.get(at[0], '')})")
            return False
        if moved := self.merge.base.left_behind(self.old, at):
            self.done.left_behind += 1
            self.done.moved_sheets |= moved
            return False
        if self._is_planners_text(at):
            said = f"{self.place(final)} said {self.old.sheet.text(*at)!r}; it says what planner's formula is"
            self.done.remarks.append(said)
            return False
        self._note_kept(at, other, self.place(final))
        return True

    def _keeps_typed(self, at: Position, other: Position | None, final: Position) -> bool:
        """Whether a cell that is meant to be typed into stays: all but names and notes that planner filled in."""
        filled = is_filled(self.old, *at)
        if filled and self._is_name_of_planners(at):
            self.done.renewed.append(self.place(final))
            return False
        if other is not None and self._typed.is_note_on_values(at):
            return False  # the row has formulas now
        if filled:
            self._note_typed(at, final)
        elif self._typed.is_emptied(at):
            self.done.cleared.append(f"{self.place(final)} ({self.old.rows[at[0]]})")
        return True

    def is_open(self, at: Position, other: Position | None) -> bool:
        """Whether a cell is meant to be typed into: a scenario's cell on Inputs, or an input of a case."""
        if self.kind == INPUTS:
            named = self.old.rows.get(at[0], "")
            is_open = at[1] in self.old.scenario_columns and bool(named) and at[0] not in self.own_rows
            return is_open and other is not None and not named.startswith(("above", "titles", "label"))
        if self.kind == COMPARISON:
            is_fresh_live = other is not None and self.fresh.cells[other].formula is not None
            live = is_fresh_live or self.old.sheet.cells[at].kind != ""
            return at[0] in self.old.groups and not live
        return False

    def looks_own(self, at: Position, style: int, other: Position | None) -> bool:
        """Whether the user formatted a cell of the file."""
        if other is not None and self.looks_alike(style, self.fresh.cells[other].style):
            return False
        look = self.merge.ours.look_of(style)
        if look == self.merge.ours.looks[0] and self.merge.base.wrote(self.old, at) is None:
            return False
        if look._replace(style=PLAIN.style, font=PLAIN.font) == PLAIN and not is_filled(self.old, *at):
            return False  # it would only show in what is typed there
        return not self.merge.base.is_our_look(self.old, at, look)

    def looks_alike(self, style: int, fresh: int) -> bool:
        """Whether a style of the file and one of the fresh workbook look alike, whatever the styles are called."""
        if (style, fresh) not in self._alike:
            theirs = self.merge.fresh.looks[fresh]
            self._alike[style, fresh] = self.merge.ours.look_of(style)._replace(style=theirs.style) == theirs
        return self._alike[style, fresh]

    def _is_broken(self, at: Position, other: Position) -> bool:
        """Whether a cell of planner's has a formula with #REF!, as after a precedent was deleted."""
        formula = self.old.sheet.cells[at].formula
        return self.fresh.cells[other].formula is not None and formula is not None and BROKEN in formula

    def _is_planners_text(self, at: Position) -> bool:
        """Whether a cell is the formula in words of a row whose formulas are all planner's, and so is planner's too."""
        if not self.kind.startswith(CALCULATION) or self.old.columns.get(at[1]) != FOURTH:
            return False
        cells = ((at[0], column) for column in self.old.scenario_columns)
        return not any(self.merge.is_own(self.old, cell) for cell in cells)

    def _is_cleared(self, at: Position, other: Position | None, final: Position) -> bool:
        """Whether the user emptied a cell that planner had filled."""
        if other is None or self.kind == COVER or self.merge.base.is_ours(self.old, at):
            return False
        self.done.cleared.append(self.place(final))
        return True

    def _is_read_again(self, row: int) -> bool:
        """Whether a row that an earlier update kept is in a CSV that is given now: then the CSV's values replace it."""
        is_kept = self.kind in DATABASES and not self.merge.base.is_row(self.old, row)
        return is_kept and self.old.rows.get(row, "") in self.merge.read_again.get(self.kind, ())

    def _is_name_of_planners(self, at: Position) -> bool:
        """Whether a cell is a scenario's default name.

        It is left blank now, so that the name follows the model and chip.
        """
        is_name = self.kind == INPUTS and self.old.rows.get(at[0]) == HEADER[1]
        return is_name and not self.merge.ours.book.given_name(at[1])

    def _is_same(self, at: Position, other: Position, final: Position) -> bool:
        """Whether the user's content equals what planner writes now."""
        mine = self.merge.ours.formula(self.old, at, self.name)
        yours = self.fresh_formula(other)
        if self.kind == COMPARISON and at[0] in self.old.groups and mine is None and yours is not None:
            return in_words(self.old.sheet.value(*at)) == yours  # an input of a case that its template sets now
        if mine is None or yours is None:
            return mine is yours and same_value(self.old.sheet.value(*at), self.fresh.value(*other), 0.0)
        return pattern(mine, *final) is pattern(yours, *final)

    def _note_kept(self, at: Position, other: Position, place: str) -> None:
        is_live, value = at in self.old.sheet.patterns, self.old.sheet.value(*at)
        wrote, mine = self.merge.base.wrote(self.old, at), shown(self.merge, self.old, at)
        if wrote is not None and not self.merge.base.is_same(self.kind, wrote, other):
            theirs = self.fresh_formula(other)
            now = in_words(self.fresh.value(*other)) if theirs is None else f"={theirs}"
            self.done.both.append(f"{place}: yours is {mine}, planner's now {now}")
        if self.fresh.cells[other].formula is not None:
            said = f"{place} ({self.old.rows.get(at[0], '')})"
            (self.done.formulas if is_live else self.done.typed_over).append(said)
        elif isinstance(value, str):
            self.done.texts.append(place)
        else:
            self.done.typed.append(f"{place} ({self._called(at)}: {mine})")

    def _called(self, at: Position) -> str:
        """A cell's name: its row's key and, on a database, its column's."""
        column = self.old.columns.get(at[1], "") if self.kind in DATABASES else ""
        return f"{self.old.rows.get(at[0], '')} {column}".rstrip()

    def _is_number_of_database(self, at: Position) -> bool:
        """Whether a cell holds a number in a known row and column of a database where planner has a blank."""
        is_known = self.kind in DATABASES and at[0] > self.old.first_row - 1 and self.old.rows.get(at[0], "") != ""
        return is_known and self.old.columns.get(at[1], "") != "" and is_number(self.old.sheet.value(*at))

    def _note_typed(self, at: Position, final: Position) -> None:
        """Note what the user typed into an open cell."""
        if self._typed.is_time(at):
            self.done.times += 1
        elif text := self._typed.said(at):
            self.done.typed.append(f"{self.place(final)} ({text})")
        elif at[0] in self._looked_up_now:
            said = f"{self.old.rows[at[0]]}: {shown(self.merge, self.old, at)}"
            what = "as planner wrote it; it is looked up now: blank the cell to have it so"
            self.done.remarks.append(f"{self.place(final)} ({said}), {what}")

    def _note_unasked(self, at: Position, final: Position) -> bool:
        """Note what the user typed for an input that the template no longer has. Returns whether the cell is one."""
        if self.kind != INPUTS or at[1] not in self.old.scenario_columns or not self.merge.is_own(self.old, at):
            return False
        constants = self.merge.ours.book.inputs.section("Constants")
        if at[0] in {line.row for line in constants.values()}:
            return False
        self._say_unasked(at, final)
        return True

    def _say_unasked(self, at: Position, final: Position) -> None:
        """Note the value of a cell whose row no longer takes one."""
        said = in_words(self.old.sheet.value(*at))
        self.done.unasked.append(f"{self.place(final)} ({self.old.rows.get(at[0], '')}): {said}")

    def _note_renewal(self, at: Position, other: Position | None, final: Position) -> None:
        if other is None or self.kind == COVER:
            return
        wrote = self.merge.base.wrote(self.old, at)
        if wrote is not None and self.merge.base.is_same(self.kind, wrote, other):
            return
        if wrote is None and self._is_same(at, other, final):
            return
        self._note_both(at, other, final)

    def _note_both(self, at: Position, other: Position, final: Position) -> None:
        """Note that a cell's content changed: old and new number for a database, else its address."""
        before, after = self.old.sheet.value(*at), self.fresh.value(*other)
        is_long = any(isinstance(value, str) and len(value) > LONG for value in (before, after))
        if self.kind in DATABASES and self.fresh.cells[other].formula is None and not is_long:
            self.note_number(self.old.rows.get(at[0], ""), self.old.columns.get(at[1], ""), before, after)
        else:
            self.done.renewed.append(self.place(final))

    def note_filled(self, at: Position) -> None:
        """Note a number of a database where the file had a blank."""
        row, column, value = self.fresh.rows.get(at[0], ""), self.fresh.columns.get(at[1], ""), self.fresh.value(*at)
        is_known = self.kind in DATABASES and row in self.old.row_of and column in self.old.column_of
        if is_known and not row.startswith("above ") and value not in (None, ""):
            self.note_number(row, column, None, value)

    def note_number(self, row: str, column: str, before: Value, after: Value) -> None:
        """Note that a number of a database changed from `before` to `after`."""
        was, now = (in_words(float(str(value)) if is_number(value) else value) for value in (before, after))
        self.done.numbers.append(f"{self.name}: {row} {column} {was} is now {now}")

    def place(self, final: Position) -> str:
        """The final address of a cell, as Sheet!A1."""
        return f"{self.name}!{address(*final)}"

    def fresh_formula(self, at: Position) -> str | None:
        """A fresh cell's formula in the merged workbook."""
        return self.merge.fresh.formula(self.fresh, at)
