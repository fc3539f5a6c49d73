"""Two workbooks become their Difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

from planner.align.grid import Side, Token, is_filled, sides
from planner.align.identity import Pairs, pairs
from planner.align.meaning import Meanings
from planner.book.plan import Plan, Quantity
from planner.diff.changes import (
    CellChange,
    CheckChange,
    Difference,
    FormatChange,
    FormulaChange,
    InputChange,
    NoteChange,
    OutcomeChange,
    Structure,
)
from planner.diff.looks import Formats
from planner.xlsx.address import Position, Spot, address, column_letters, coordinates
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.pattern import Pattern

TYPED_AGREE = 1e-14  # some programs save 15 digits of what was typed
OUTCOMES_AGREE = 1e-12

Key = tuple[Token, Token]
"""A row and a column by their tokens."""

Cells = dict[Key, Position]


def compare(old: Plan, new: Plan) -> Difference:
    """All that differs between two workbooks, each recalculated in memory."""
    return _Comparison(old, new).difference


class _Comparison:
    def __init__(self, old: Plan, new: Plan) -> None:
        self.old, self.new = old, new
        self.pairs: Pairs = pairs(old, new)
        self.difference = Difference(old.file, new.file)
        self.sides = {
            name: sides(old, new, old.book.sheets[name], new.book.sheets[other], self.pairs.scenarios)
            for name, other in self.pairs.sheets.items()
        }
        back = {other: name for name, other in self.pairs.sheets.items()}
        self.before = Meanings({name: one for name, (one, _) in self.sides.items()}, {})
        self.after = Meanings({two.sheet.name: two for _, two in self.sides.values()}, back)
        self.difference.structure += [*self._sheets(), *self._scenarios()]
        for one, two in self.sides.values():
            self._sheet(one, two)
        self._notes()
        self.difference.headlines = sorted(self._headlines(), key=lambda change: -change.size)
        self.difference.checks = list(self._checks())
        self.difference.unsure = [text for plan in (old, new) for text in _unsure(plan)]

    def _sheets(self) -> Iterator[Structure]:
        old, new = self.old.sheets, self.new.sheets
        for name in old:
            if name not in self.pairs.sheets:
                yield Structure("sheet", "removed", name, name)
        for name in new:
            if name not in self.pairs.sheets.values():
                yield Structure("sheet", "added", name, name)
        for name, other in self.pairs.sheets.items():
            if name != other:
                yield Structure("sheet", "renamed", other, other, name)
        yield from (Structure("sheet", "moved", name, name) for name in _moved(old, new, self.pairs.sheets))

    def _scenarios(self) -> Iterator[Structure]:
        old, new, inputs = list(self.old.by_key), list(self.new.by_key), self.new.book.inputs.sheet.name
        for key in old:
            if key not in self.pairs.scenarios:
                yield Structure("scenario", "removed", inputs, key)
        for key in new:
            if key not in self.pairs.scenarios.values():
                at = column_letters(self.new.by_key[key].column)
                yield Structure("scenario", "added", inputs, key, at=at)
        for key, other in self.pairs.scenarios.items():
            if key != other:
                yield Structure("scenario", "renamed", inputs, other, key)
        yield from (Structure("scenario", "moved", inputs, key) for key in _moved(old, new, self.pairs.scenarios))

    def _sheet(self, one: Side, two: Side) -> None:
        """Rows and columns added and removed, and the cells that both sheets have."""
        self.difference.structure += [*_lines_of(one, two, "removed"), *_lines_of(two, one, "added")]
        ours, theirs = _cells(one), _cells(two)
        formats: list[tuple[str, str, str]] = []
        looks = self._looks
        for key in (*ours, *(key for key in theirs if key not in ours)):
            here, there = ours.get(key), theirs.get(key)
            if here is None and not _has(key, one):
                continue  # of a row or a column that was added
            if there is None and not _has(key, two):
                continue
            self._cell(one, two, key, here, there)
            if here in one.sheet.cells and there in two.sheet.cells:
                before, after = looks[0].of(one.sheet, here), looks[1].of(two.sheet, there)
                if before != after:
                    formats.append((address(*there), str(before), str(after)))
        if formats:
            self.difference.formats.append(FormatChange(two.sheet.name, len(formats), *formats[0]))

    @cached_property
    def _looks(self) -> tuple[Formats, Formats]:
        return Formats(self.old.book.package), Formats(self.new.book.package)

    def _cell(self, one: Side, two: Side, key: Key, here: Position | None, there: Position | None) -> None:
        formula = one.sheet.patterns.get(here) if here else None
        other = two.sheet.patterns.get(there) if there else None
        if self._is_same(one, two, (here, formula), (there, other)):
            return
        name, scenario = self._called(one, two, key, here, there)
        cell = f"{two.sheet.name}!{address(*there)}" if there else f"{one.sheet.name}!{address(*here or (1, 1))}"
        old = f"={formula.at(*here)}" if formula and here else _typed(one, here)
        new = f"={other.at(*there)}" if other and there else _typed(two, there)
        if formula or other:
            is_input = two.sheet is self.new.book.inputs.sheet
            how = "edited" if formula and other else _how(formula is not None, old, new, is_input=is_input)
            self.difference.formulas.append(FormulaChange(how, scenario, name, cell, old, new))
        elif what := self._input((two, there) if there else (one, here), key, scenario, name):
            label, unit = what
            self.difference.inputs.append(InputChange(scenario, name, label, unit, cell, old, new))
        else:
            self.difference.cells.append(CellChange(cell, old, new))

    def _is_same(
        self, one: Side, two: Side, before: tuple[Position | None, Pattern | None],
        after: tuple[Position | None, Pattern | None],
    ) -> bool:  # fmt: skip
        """Whether a cell says the same: its formula reads the same, or the value typed there is the same."""
        (here, formula), (there, other) = before, after
        if formula and other and here and there:
            if formula is other and here == there and self._stands_still(one.sheet.name, formula):
                return True
            was, now = (one.sheet.name, *here, formula), (two.sheet.name, *there, other)
            is_same = self.before.of(*was) == self.after.of(*now)
            return is_same or self.before.in_place(*was) == self.after.in_place(*now)
        if formula or other:
            return False
        old, new = _typed(one, here), _typed(two, there)
        return same_value("" if old is None else old, "" if new is None else new, TYPED_AGREE)

    def _stands_still(self, sheet: str, formula: Pattern) -> bool:
        """Whether a sheet and all that a formula on it reads are where they were."""
        return sheet in self._still and all(not r.sheet or r.sheet in self._still for r in formula.references)

    @cached_property
    def _still(self) -> set[str]:
        """The sheets on which every row, every column and the name are what they were."""
        return {name for name, (one, two) in self.sides.items()
                if name == two.sheet.name and (one.rows, one.columns) == (two.rows, two.columns)}  # fmt: skip

    def _called(self, one: Side, two: Side, key: Key, here: Position | None, there: Position | None) -> tuple[str, str]:
        """The name of a cell's row, with the column of a database behind it, and its scenario as it is called now."""
        side, at = (two, there) if there else (one, here)
        assert at is not None, "a change is of a cell"
        row = side.names.get(at[0], "")
        column = key[1]
        if row and isinstance(column, tuple) and column[0] == "column":
            return f"{one.sheet.name}[{row}].{column[1]}", ""
        scenario = side.scenarios.get(at[1], "")
        return row, self.pairs.scenarios.get(scenario, scenario)

    def _input(
        self, place: tuple[Side, Position | None], key: Key, scenario: str, name: str
    ) -> tuple[str, str] | None:  # fmt: skip
        """Label and unit of a cell that a person types a value into; None for a text of planner's or an own cell."""
        side, at = place
        kind, text = key[1][:2] if isinstance(key[1], tuple) and len(key[1]) > 1 else ("", "")
        if kind == "column" and name:
            return "", ""
        table, line = side.lines.get(at[0] if at else 0, (None, None))
        if line is None or table is None:
            return None
        is_choice = table.kind == "dashboard" and line.name.startswith("shown_")
        typed_here = kind == "text" and text == ("given" if table.kind == "problem" else "fourth")
        if scenario or (typed_here and (line.section == "Constants" or is_choice or table.kind == "problem")):
            return line.label, line.unit
        return None

    def _notes(self) -> None:
        ours, theirs = _noted(self.old, self.before), _noted(self.new, self.after)
        for key in (*ours, *(key for key in theirs if key not in ours)):
            before, after = ours.get(key), theirs.get(key)
            if before is None and after is not None:
                self.difference.notes.append(NoteChange("added", after[0], "", after[1]))
            elif after is None and before is not None:
                self.difference.notes.append(NoteChange("removed", before[0], before[1], ""))
            elif before and after and before[1] != after[1]:
                self.difference.notes.append(NoteChange("changed", after[0], before[1], after[1]))

    def _headlines(self) -> Iterator[OutcomeChange]:
        """The headlines of both workbooks that moved, and what binds them where that is another."""
        rows = {(row.origin, row.name): row for row in self.new.headlines}
        known = Counter(row.name for row in self.new.headlines)
        for row in self.old.headlines:
            other = rows.get((self.pairs.sheets.get(row.origin, row.origin), row.name))
            for key, now in self._keys(row) if other else ():
                assert other is not None, "there is one here"
                sheet = other.origin if known[other.name] > 1 else ""
                values = row.value(key), other.value(now)
                if not same_value(*values, OUTCOMES_AGREE):
                    yield OutcomeChange(now, row.name, other.title, other.unit, *values, sheet)
                bound = (row.bound_by or {}).get(key), (other.bound_by or {}).get(now)
                if bound[0] != bound[1] and None not in bound:
                    yield OutcomeChange(now, f"{row.name}.bound_by", f"{other.title}: bound by", "text", *bound, sheet)

    def _keys(self, row: Quantity) -> Iterator[tuple[str, str]]:
        """The keys of a row's values in both workbooks; one that belongs to no scenario has the same in both."""
        known = self.pairs.scenarios if row.cells.keys() != {""} else {"": ""}
        yield from known.items()

    def _checks(self) -> Iterator[CheckChange]:
        rows = {row.name: row for row in self.new.checks}
        for row in self.old.checks:
            if other := rows.get(row.name):
                for key, now in self._keys(row):
                    if not same_value(row.value(key), other.value(now)):
                        yield CheckChange(now, row.name, other.title, row.value(key), other.value(now))


def _cells(side: Side) -> Cells:
    return {(side.row(row), side.column(column)): (row, column) for row, column in side.sheet.cells
            if is_filled(side.sheet, row, column)}  # fmt: skip


def _has(key: Key, side: Side) -> bool:
    """Whether a sheet has the row and the column of a cell."""
    return key[0] in side.rows.values() and key[1] in side.columns.values()


def _typed(side: Side, at: Position | None) -> Value:
    return None if at is None else side.sheet.value(*at)


def _how(
    was_formula: bool, old: Value, new: Value, *, is_input: bool
) -> Literal["edited", "overridden", "restored", "removed", "added"]:  # fmt: skip
    if is_input and old not in (None, "") and new not in (None, ""):
        return "edited"  # there, nothing is meant to be a formula
    if was_formula:
        return "removed" if new in (None, "") else "overridden"
    return "added" if old in (None, "") else "restored"


def _lines_of(side: Side, other: Side, how: Literal["added", "removed"]) -> Iterator[Structure]:
    """The rows and columns of a sheet that the other one hasn't."""
    sheet, known = side.sheet, set(other.rows.values())
    for row in side.filled_rows:
        if side.rows.get(row) not in known:
            said = (sheet.text(row, column) for column in side.filled_columns)
            name = side.names.get(row) or next((text for text in said if text), "")
            yield Structure("row", how, sheet.name, name, at=str(row))
    known = set(other.columns.values())
    for column in side.filled_columns:
        if column not in side.scenarios and side.columns.get(column) not in known:
            said = (sheet.text(row, column) for row in side.filled_rows)
            yield Structure("column", how, sheet.name, next((text for text in said if text), ""),
                            at=column_letters(column))  # fmt: skip


def _moved(old: list[str], new: list[str], known: Mapping[str, str]) -> list[str]:
    """The fewest of what both have that must move to come from the old order to the new."""
    before = [known[name] for name in old if name in known]
    after = [name for name in new if name in known.values()]
    places = [before.index(name) for name in after]
    best: list[list[int]] = []
    for place in places:
        best.append([*_longest([run for run in best if run[-1] < place]), place])
    kept = set(_longest(best))
    return [name for name, place in zip(after, places, strict=True) if place not in kept]


def _longest(runs: list[list[int]]) -> list[int]:
    return max(runs, key=lambda run: len(run), default=[])


def _noted(plan: Plan, meanings: Meanings) -> dict[tuple[str, Token, Token], tuple[str, str]]:
    """The notes of a workbook by the tokens of their cells: where they stand, and what they say."""
    found: dict[tuple[str, Token, Token], tuple[str, str]] = {}
    for note in plan.notes:
        side = meanings.sides.get(note.sheet)
        row, column = coordinates(note.ref)
        key = (side.row(row), side.column(column)) if side else (row, column)
        found[meanings.names.get(note.sheet, note.sheet), *key] = (f"{note.sheet}!{note.ref}", note.text)
    return found


def _unsure(plan: Plan) -> Iterator[str]:
    """What of a workbook could not be recalculated."""
    if plan.not_computed:
        yield f"{plan.file}: nothing was recalculated, values are as saved: {plan.not_computed}"
    elif plan.unknown:
        spot: Spot = next(iter(plan.unknown))
        yield f"{plan.file}: {len(plan.unknown):,} cells are as saved, such as {spot}: {plan.unknown[spot]}"
