"""The formulas of a large table computed row by row, without the engine: those that read their own row and fixed cells.

They are held to the engine's rule (`planner.recalc.trust`): a row counts only where each of its formulas gives, before
the edits, what the last program saved; a new row, where those of the row that it was copied from do. Every other row,
and all that reads further, is left to the engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from math import nan

from planner.recalc.added import NewRows
from planner.recalc.cells import AGREEMENT, Address, Sheets
from planner.recalc.likerows import LikeRows, grouped
from planner.recalc.operators import UnsureError
from planner.recalc.rowformula import RowFormula, is_shared, row_formula
from planner.recalc.scope import Scope
from planner.xlsx.address import Area, address, column_letters, column_number, coordinates
from planner.xlsx.cellvalue import NA, CellError, Value, same_value
from planner.xlsx.markup import escaped
from planner.xlsx.newrows import NewRow

Cells = dict[int, Value]  # column -> what stands there, NaN for N/A


@dataclass
class RowValues:
    """The values that formulas have after the edits, and those of them that are others than before."""

    values: dict[Address, Value] = field(default_factory=dict)
    changed: dict[Address, Value] = field(default_factory=dict)
    rows: dict[int, dict[int, Value]] = field(default_factory=dict)  # those of new rows, by row and column


@dataclass
class _Plan:
    """What is computed in each of some rows, in order, and the columns that it reads besides: numbers and letters."""

    steps: list[tuple[int, str, RowFormula]]
    reads: list[tuple[int, str]]

    @property
    def columns(self) -> set[int]:
        """Those that it computes."""
        return {column for column, _, _ in self.steps}


def row_values(
    sheets: Sheets, scope: Scope, name: str, typed: Mapping[str, Value], added: Mapping[str, str],
    like: Mapping[str, str], new: NewRows | None = None,
) -> RowValues:  # fmt: skip
    """Compute what can be of the formulas of a sheet: of those that `scope` has, and of those `added`, by address.

    `typed` is what the edits put into other cells, `like` the old cell that a new formula was copied from, which counts
    where it is one of the same column; `new` are rows that are copies of others.
    """
    rows = _Rows(sheets, scope, name, typed, added, new or NewRows())
    for plan, numbers in rows.plans(scope.rows.get(name, ())):
        for number in numbers:
            rows.old_row(number, plan)
    for source, texts in _by_source(added, like).items():
        for alike in grouped(texts.items()):
            trusted = rows.trusted(source, alike.patterns)
            for plan, numbers in rows.plans([alike]) if trusted else ():
                for number in numbers if plan.columns <= trusted else ():
                    rows.new_row(number, plan)
    for source, alike, copies in new.like() if new else ():
        trusted, of = rows.trusted(source, alike.patterns), {copy.number: copy for copy in copies}
        for plan, numbers in rows.plans([alike]) if trusted else ():
            for number in numbers if plan.columns <= trusted else ():
                rows.copied_row(of[number], plan)
    return rows.found


def _by_source(added: Mapping[str, str], like: Mapping[str, str]) -> dict[int, dict[int, dict[str, bytes]]]:
    """The new formulas by the row that they were copied from, by their own row and by column.

    A row of which one was copied from elsewhere, or from nowhere, is left out.
    """
    texts: dict[int, dict[str, bytes]] = defaultdict(dict)
    sources: dict[int, set[int]] = defaultdict(set)
    for ref, text in added.items():
        row, column = coordinates(ref)
        texts[row][column_letters(column)] = escaped(text).encode()
        source, in_column = coordinates(like[ref]) if ref in like else (0, 0)
        sources[row].add(source if column == in_column else 0)
    found: dict[int, dict[int, dict[str, bytes]]] = defaultdict(dict)
    for row, (source, *others) in sources.items():
        if source and not others:
            found[source][row] = texts[row]
    return found


class _Rows:
    """The rows of one sheet, one after the other; `found` is what came of them."""

    def __init__(
        self, sheets: Sheets, scope: Scope, name: str, typed: Mapping[str, Value], added: Collection[str], new: NewRows
    ) -> None:
        self.found, self._sheet, self._scope, self._name, self._typed = RowValues(), sheets[name], scope, name, typed
        self._added = added
        self._fixed = _Fixed(sheets, scope, name, {*typed, *added}, {row.number for row in new.rows})
        self._shared: dict[bytes, RowFormula | None] = {}

    def plans(self, likes: Iterable[LikeRows]) -> list[tuple[_Plan, list[int]]]:
        """How to compute each of these rows; what they hold and read is loaded."""
        found: list[tuple[_Plan, list[int]]] = []
        for like in likes:
            if len(like.numbers) == 1 or all(is_shared(pattern, self._name) for pattern in like.patterns.values()):
                found.append((self._plan(like.patterns, like.numbers[0]), like.numbers))
            else:  # the number of a row is a part of something else as well
                found += [(self._plan(like.patterns, row), [row]) for row in like.numbers]
        self._load(plan for plan, _ in found)
        return found

    def trusted(self, source: int, patterns: Mapping[str, bytes]) -> Set[int]:
        """The columns whose formulas the row `source` bears out: all, or none where one has another value."""
        plan = self._plan(patterns, source)
        self._load([plan])
        return frozenset() if self._before(source, plan, needs_saved=True) is None else plan.columns

    def old_row(self, row: int, plan: _Plan) -> None:
        """Compute formulas that the file has, if they give the saved values from what was typed before."""
        before = self._before(row, plan)
        if before is None:
            return
        after = self._after(row, plan, {column: before[column] for column, _ in plan.reads})
        for column, letters, _ in plan.steps if after else ():
            cell, value = (self._name, f"{letters}{row}"), after[column]
            self.found.values[cell] = _outer(value)
            if not _same(before[column], value, 0.0) or self._saved(cell[1]) is None:
                self.found.changed[cell] = _outer(value)

    def new_row(self, row: int, plan: _Plan) -> None:
        """Compute formulas that are put into a row of the file, or below its last one, from what stands there then."""
        try:
            cells = {column: self._then(f"{letters}{row}") for column, letters in plan.reads}
        except UnsureError:
            return
        after = self._after(row, plan, cells)
        for column, letters, _ in plan.steps if after else ():
            cell = self._name, f"{letters}{row}"
            self.found.values[cell] = self.found.changed[cell] = _outer(after[column])

    def copied_row(self, row: NewRow, plan: _Plan) -> None:
        """Compute the formulas of a row that the file has not."""
        try:
            cells = {column: _inner(row.typed.get(column)) for column, _ in plan.reads}
            _run(plan, cells)
        except UnsureError:
            return
        self.found.rows[row.number] = {column: _outer(cells[column]) for column, _, _ in plan.steps}

    def _plan(self, patterns: Mapping[str, bytes], row: int) -> _Plan:
        return _planned({column_number(column): self._formula(pattern, row) for column, pattern in patterns.items()})

    def _formula(self, pattern: bytes, row: int) -> RowFormula | None:
        """The function of a formula; one that serves every row is made once."""
        if pattern in self._shared:
            return self._shared[pattern]
        formula = row_formula(pattern, row, self._name, self._fixed)
        if is_shared(pattern, self._name):
            self._shared[pattern] = formula
        return formula

    def _load(self, plans: Iterable[_Plan]) -> None:
        self._sheet.load({column for plan in plans for column in plan.columns.union(at for at, _ in plan.reads)})

    def _before(self, row: int, plan: _Plan, *, needs_saved: bool = False) -> Cells | None:
        """A row's values without the edits; None where a formula doesn't give the saved one, or needs one and has none.
        """  # fmt: skip
        try:
            cells = {column: self._saved(f"{letters}{row}") for column, letters in plan.reads}
            _run(plan, cells)
            for column, letters, _ in plan.steps:
                saved = self._saved(f"{letters}{row}")
                if needs_saved if saved is None else not _same(saved, cells[column], AGREEMENT):
                    return None
        except UnsureError:
            return None
        return cells

    def _after(self, row: int, plan: _Plan, cells: Cells) -> Cells:
        """A row's values with the edits; nothing where they aren't certain."""
        typed = self._typed
        try:
            for column, letters in plan.reads:
                ref = f"{letters}{row}"
                if ref in self._added:
                    raise UnsureError  # a formula of the file that reads a new one
                if ref in typed:
                    cells[column] = _inner(typed[ref])
            _run(plan, cells)
        except UnsureError:
            return {}
        return cells

    def _then(self, ref: str) -> Value:
        """What a cell holds after the edits, unless it is typed into. Raises UnsureError where that isn't known."""
        if not self._sheet.is_computed(ref) or not self._scope.may_reach(self._name, ref):
            return self._saved(ref)
        if (self._name, ref) not in self.found.values:
            raise UnsureError
        return _inner(self.found.values[self._name, ref])

    def _saved(self, ref: str) -> Value:
        cell = self._sheet.cell(ref)
        return None if cell is None else _inner(cell.value)


def _planned(formulas: Mapping[int, RowFormula | None]) -> _Plan:
    """The formulas in an order in which each follows what it reads; those that can't be computed are left out."""
    waiting = {column: formula for column, formula in formulas.items() if formula is not None}
    steps: dict[int, RowFormula] = {}
    while ready := [at for at, formula in waiting.items() if formula.reads & formulas.keys() <= steps.keys()]:
        for column in ready:
            steps[column] = waiting.pop(column)
    reads = {column for formula in steps.values() for column in formula.reads} - steps.keys()
    return _Plan(
        [(column, column_letters(column), formula) for column, formula in steps.items()],
        [(column, column_letters(column)) for column in sorted(reads)],
    )


def _run(plan: _Plan, cells: Cells) -> None:
    """Compute a row: what its formulas give joins its other cells."""
    for column, _, formula in plan.steps:
        value = formula.value(cells)
        cells[column] = 0.0 if value is None else value


class _Fixed:
    """Cells that no edit reaches, by sheet and area; UnsureError is raised for others."""

    def __init__(
        self, sheets: Sheets, scope: Scope, name: str, edited: Collection[str], new_rows: Collection[int]
    ) -> None:
        self._sheets, self._scope, self._name, self._edited, self._new_rows = sheets, scope, name, edited, new_rows
        self._known: dict[tuple[str, Area], list[list[Value]]] = {}

    def __call__(self, on: str, area: Area) -> list[list[Value]]:
        if (on, area) not in self._known:
            self._known[on, area] = [
                [self._value(on, address(row, column)) for column in range(area.left, area.right + 1)]
                for row in range(area.top, area.bottom + 1)
            ]
        return self._known[on, area]

    def _value(self, on: str, ref: str) -> Value:
        if on not in self._sheets or (on == self._name and ref in self._edited):
            raise UnsureError
        if on == self._name and coordinates(ref)[0] in self._new_rows:
            raise UnsureError
        if self._sheets[on].is_computed(ref) and self._scope.may_reach(on, ref):
            raise UnsureError
        cell = self._sheets[on].cell(ref)
        return None if cell is None else _inner(cell.value)


def _inner(value: Value) -> Value:
    """A cell's value as the formulas take it. Raises UnsureError for an error other than N/A."""
    if isinstance(value, CellError):
        if value != NA:
            raise UnsureError
        return nan
    return float(value) if type(value) is int else value


def _outer(value: Value) -> Value:
    """What a formula gave, as a cell holds it."""
    return NA if type(value) is float and value != value else value


def _same(one: Value, other: Value, tolerance: float) -> bool:
    return (one == other and type(one) is type(other)) or same_value(_outer(one), _outer(other), tolerance)
