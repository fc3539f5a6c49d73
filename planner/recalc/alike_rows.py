"""Computes rows with the same formulas together, as arrays, without the engine.

The rule of `planner.recalc.evidence` applies: a row counts only if each of its formulas reproduces the saved value
before the edits; a new row, if those of its source row do. Every other row, and each formula that
`planner.recalc.cell_arrays` can't compute, is left to the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.formulas.arrays import Array
from planner.recalc.alike_formulas import OWN_ROW, AlikeRows, RowFormula, row_formula, text_of
from planner.recalc.cell_arrays import BLANK, NUMBER, UNSURE, ColumnCells, computed
from planner.recalc.dependents import Dependents
from planner.recalc.edits import Edits
from planner.recalc.engine import AGREEMENT, Address, Sheets
from planner.xlsx.address import Area, address, column_letters, column_number
from planner.xlsx.cellvalue import Value
from planner.xlsx.sheetedit import NewRow

LARGEST = 1 << 18  # most cells of an area outside the rows
Formulas = Mapping[int, RowFormula | None]  # by column; None if it can't be computed here


@dataclass
class RowValues:
    """The formulas whose value after the edits is known, the values that changed, and those of new rows (`new`)."""

    known: set[Address] = field(default_factory=set)
    changed: dict[Address, Value] = field(default_factory=dict)
    new: dict[Address, Value] = field(default_factory=dict)


def row_values(sheets: Sheets, reached: Dependents, edits: Edits) -> RowValues:
    """Compute what is possible of the `reached` formulas and of new rows; only for edits of a single sheet."""
    names = {name for name, _ in (*edits.typed, *edits.added)} | edits.new.places.keys()
    if len(names) != 1:
        return RowValues()
    rows = _Rows(sheets, reached, names.pop(), edits)
    for formulas, numbers in rows.groups(reached.rows):
        rows.compute_old(formulas, numbers)
    for source, alike, copies in edits.new.alike():
        by_number = {copy.number: copy for copy in copies}
        for formulas, numbers in rows.groups([alike]):
            rows.compute_copies(formulas, source, [by_number[number] for number in numbers])
    return rows.found


class _Rows:
    """The rows of one sheet; `found` collects the results."""

    def __init__(self, sheets: Sheets, reached: Dependents, name: str, edits: Edits) -> None:
        self.found, self.name = RowValues(), name
        self._sheets, self._sheet, self._reached = sheets, sheets[name], reached
        self._typed = {ref: value for (_, ref), value in edits.typed.items()}
        self._added = {ref for _, ref in edits.added}
        self._new_rows = {row.number for row in edits.new.rows}
        self._formula_of: dict[bytes, RowFormula | None] = {}
        self._areas: dict[tuple[str, Area], ColumnCells | None] = {}

    def groups(self, alike: Iterable[AlikeRows]) -> list[tuple[Formulas, list[int]]]:
        """Row numbers grouped by their formulas; a formula that can't be computed is None."""
        found: dict[tuple[tuple[int, RowFormula | None], ...], list[int]] = {}
        for rows in alike:
            columns = [(column_number(column), pattern) for column, pattern in rows.patterns.items()]
            first, is_shared = self._formulas(columns, rows.numbers[0])
            found.setdefault(first, []).extend(rows.numbers if is_shared else rows.numbers[:1])
            for row in () if is_shared else rows.numbers[1:]:
                found.setdefault(self._formulas(columns, row)[0], []).append(row)
        return [(dict(formulas), numbers) for formulas, numbers in found.items()]

    def compute_old(self, formulas: Formulas, rows: list[int]) -> None:
        """Compute formulas in the file's rows that reproduce saved values from the values before the edits."""
        before = {column: self._saved(column, rows) for column in _inputs(formulas)}
        old = self._computed(formulas, before, len(rows))
        saved = {column: self._saved(column, rows) for column in old}
        after = {column: self._after(column, rows, cells) for column, cells in before.items()}
        new = self._computed(formulas, after, len(rows)) if old else {}
        sure = np.ones(len(rows), bool)
        for column in new:
            unsure = (old[column].kinds == UNSURE) | (new[column].kinds == UNSURE)
            sure &= ~unsure & ((saved[column].kinds == BLANK) | _same(saved[column], old[column], AGREEMENT))
        for column, values in new.items():
            letters = column_letters(column)
            changed = sure & (~_same(old[column], values, 0.0) | (saved[column].kinds == BLANK))
            self.found.known.update((self.name, f"{letters}{rows[at]}") for at in np.flatnonzero(sure).tolist())
            all_values = values.values()
            for at in np.flatnonzero(changed).tolist():
                self.found.changed[self.name, f"{letters}{rows[at]}"] = all_values[at]

    def compute_copies(self, formulas: Formulas, source: int, rows: list[NewRow]) -> None:
        """Compute the formulas of new rows, if those of their source row reproduce its saved values."""
        before = {column: self._saved(column, [source]) for column in _inputs(formulas)}
        old = self._computed(formulas, before, 1)
        if not all(_same(self._saved(column, [source]), cells, AGREEMENT).all() for column, cells in old.items()):
            return
        typed = {column: ColumnCells.of([row.typed.get(column) for row in rows]) for column in before}
        new = self._computed(formulas, typed, len(rows))
        sure = np.ones(len(rows), bool)
        for cells in new.values():
            sure &= cells.kinds != UNSURE
        places = np.flatnonzero(sure).tolist()
        for column, cells in new.items():
            letters, values = column_letters(column), cells.values()
            self.found.new |= {(self.name, f"{letters}{rows[at].number}"): values[at] for at in places}

    def _formulas(
        self, columns: Iterable[tuple[int, bytes]], row: int
    ) -> tuple[tuple[tuple[int, RowFormula | None], ...], bool]:
        """The formulas of a row, and whether all rows with these patterns share them."""
        found: list[tuple[int, RowFormula | None]] = []
        is_shared = True
        for column, pattern in columns:
            if pattern not in self._formula_of:
                formula = row_formula(text_of(pattern, row), row, self.name)
                formula = formula if formula and formula.is_alike else None
                if formula and formula.n_own != pattern.count(OWN_ROW):
                    found.append((column, formula))
                    is_shared = False
                    continue
                self._formula_of[pattern] = formula
            found.append((column, self._formula_of[pattern]))
        return tuple(found), is_shared

    def _computed(self, formulas: Formulas, cells: Mapping[int, ColumnCells], n_rows: int) -> dict[int, ColumnCells]:
        """The values of formulas in order of dependence.

        Those that can't be computed, and their dependents, are left out.
        """
        known, found, waiting = dict(cells), dict[int, ColumnCells](), dict(formulas)
        while ready := [at for at, formula in waiting.items() if not (formula and formula.columns & waiting.keys())]:
            for at in ready:
                formula = waiting.pop(at)
                if formula is None or not formula.columns <= known.keys():
                    continue
                result = computed(formula, known, self._fixed)
                if result is not None:
                    known[at] = found[at] = ColumnCells(*(np.broadcast_to(each, n_rows) for each in result))
        return found

    def _saved(self, column: int, rows: Sequence[int]) -> ColumnCells:
        row_of = self._sheet.row
        return ColumnCells.of([None if (found := row_of(row).get(column)) is None else found.value for row in rows])

    def _after(self, column: int, rows: Sequence[int], saved: ColumnCells) -> ColumnCells:
        """A column's cells after the edits; UNSURE where a formula was put in."""
        letters = column_letters(column)
        refs = [f"{letters}{row}" for row in rows]
        at = [place for place, ref in enumerate(refs) if ref in self._typed or ref in self._added]
        if not at:
            return saved
        new = ColumnCells.of([self._typed.get(refs[place]) for place in at])
        numbers, kinds = saved.numbers.copy(), saved.kinds.copy()
        numbers[at], kinds[at] = new.numbers, new.kinds
        kinds[[place for place in at if refs[place] in self._added]] = UNSURE
        return ColumnCells(numbers, kinds)

    def _fixed(self, on: str, area: Area) -> ColumnCells | None:
        """The cells of an area that no edit reaches; None if one may be reached."""
        if (on, area) not in self._areas:
            self._areas[on, area] = self._unreached(on, area)
        return self._areas[on, area]

    def _unreached(self, on: str, area: Area) -> ColumnCells | None:
        if on not in self._sheets or area.n_cells > LARGEST:
            return None
        sheet, refs = self._sheets[on], [address(row, column) for row in area.rows for column in area.columns]
        if on == self.name and not (
            self._new_rows.isdisjoint(area.rows)
            and self._added.isdisjoint(refs)
            and self._typed.keys().isdisjoint(refs)
        ):
            return None
        if any(sheet.is_computed(ref) and self._reached.may_reach(on, ref) for ref in refs):
            return None
        return ColumnCells.of([None if (cell := sheet.cell(ref)) is None else cell.value for ref in refs])


def _inputs(formulas: Formulas) -> set[int]:
    """The columns that formulas read and none of them computes."""
    return {column for formula in formulas.values() if formula for column in formula.columns} - formulas.keys()


def _same(one: ColumnCells, other: ColumnCells, tolerance: float) -> Array:
    """Where two columns have equal values of the same kind, numbers within a relative tolerance."""
    a, b = one.numbers, other.numbers
    equal = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b)))
    return (one.kinds == other.kinds) & np.where(one.kinds == NUMBER, equal, a == b) & (one.kinds != UNSURE)
