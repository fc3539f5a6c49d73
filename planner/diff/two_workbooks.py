"""Compares two workbooks and collects their Difference."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from planner import catalog
from planner.align.matched import Matched, Token
from planner.align.matching import matched
from planner.align.meaning import Comparer, Meanings, Placed
from planner.align.pairs import Pairs, pairs
from planner.book.plan import Plan
from planner.book.read_plan import read_workbook
from planner.diff.differences import (
    CellChange,
    Difference,
    FormatChange,
    FormulaChange,
    How,
    InputChange,
    NoteChange,
    Structure,
)
from planner.diff.formats import Formats
from planner.diff.measured import ratios
from planner.diff.outcomes import Outcomes
from planner.diff.planner_cells import PlannerCells
from planner.diff.read_cells import other_cells
from planner.diff.recorded import runs
from planner.diff.structure import lines_of, moved_rows, named, within
from planner.diff.workbook_as_text import in_names
from planner.terminal_table import counted
from planner.xlsx.address import Position, Spot, address, column_letters, coordinates
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.opc import Package

TYPED_AGREE = 1e-14  # some programs save 15 digits of what was typed


def read_both(old: Path, new: Path) -> tuple[Plan, Plan]:
    """Two workbooks, recalculated in memory; identical files are read once. Raises UserError as `read_workbook`."""
    one, two = Package.read(old), Package.read(new)
    plan = read_workbook(one)
    return plan, replace(plan, file=two.name) if one.parts == two.parts else read_workbook(two)


def compare(old: Plan, new: Plan) -> Difference:
    """All differences between two workbooks, each recalculated in memory."""
    if old.book is new.book:
        return Difference(old.file, new.file, unsure=[text for plan in (old, new) for text in _unsure(plan)])
    return _Comparison(old, new).difference


class _Comparison:
    def __init__(self, old: Plan, new: Plan) -> None:
        self.old, self.new = old, new
        self.pairs: Pairs = pairs(old, new)
        self.difference = Difference(old.file, new.file)
        self.formulas = Comparer(
            {
                name: matched(old, new, old.book.sheets[name], new.book.sheets[other], self.pairs.scenarios)
                for name, other in self.pairs.sheets.items()
            }
        )
        self.difference.structure += [*self._sheets(), *self._scenarios()]
        for one, two in self.formulas.sheets.values():
            self._sheet(one, two)
        self._notes()
        self.difference.runs = list(runs(old, new, TYPED_AGREE))
        outcomes = Outcomes(old, new, self.pairs)
        self.difference.headlines = sorted(outcomes.headlines(), key=lambda change: -change.size)
        self.difference.checks = list(outcomes.checks())
        self.difference.unsure = [text for plan in (old, new) for text in _unsure(plan)]

    def _sheets(self) -> Iterator[Structure]:
        yield from named("sheet", self.old.sheets, self.new.sheets, self.pairs.sheets)

    def _scenarios(self) -> Iterator[Structure]:
        inputs = self.new.book.inputs.sheet.name
        for change in named("scenario", list(self.old.by_key), list(self.new.by_key), self.pairs.scenarios):
            if change.how == "renamed" and self.old.by_key[change.old_name].id == self.new.by_key[change.name].id:
                continue  # only the other scenario that has its id now, or had it, makes its key another
            at = column_letters(self.new.by_key[change.name].column) if change.how == "added" else ""
            yield change._replace(sheet=inputs, at=at)

    def _sheet(self, one: Matched, two: Matched) -> None:
        """Compare a sheet: its added and removed rows and columns, and the cells that both have."""
        lines = [*lines_of(one, two, "removed"), *lines_of(two, one, "added"), *moved_rows(one, two)]
        self.difference.structure += [line._replace(by_planner=self._is_planners_row(line)) for line in lines]
        changed_inputs = _changed_inputs(one, two)
        self.difference.inputs += self._changed_input_numbers(one, two, changed_inputs)
        cells = [
            (here, there)
            for here, there in _cells(one, two)
            if not (_is_of(one, here, changed_inputs) or _is_of(two, there, changed_inputs.values()))
        ]
        for here, there in cells:
            stayed = here or (there if there and _is_of_removed(one, two, there) else None)
            if not (stayed and there and self._is_same(one, two, stayed, there)):
                self._report(one, two, here, there)
        self.difference.ratios |= ratios(two, self.difference.inputs)
        before, after = self._formats
        if before.all_same(one.sheet, after, two.sheet):
            return
        pairs = [(here, there) for here, there in cells if here and there]
        formats = [
            (there, was, now)
            for here, there in pairs
            if (was := before.of(one.sheet, here)) != (now := after.of(two.sheet, there))
        ]
        if formats:
            first, was, now = formats[0]
            name = two.sheet.name
            self.difference.formats.append(FormatChange(name, len(formats), address(*first), str(was), str(now)))

    @cached_property
    def _formats(self) -> tuple[Formats, Formats]:
        return Formats(self.old.book.package), Formats(self.new.book.package)

    def _is_same(self, one: Matched, two: Matched, here: Position, there: Position) -> bool:
        formula, other = one.sheet.patterns.get(here), two.sheet.patterns.get(there)
        if formula and other:
            old, new = Placed(one.sheet.name, *here, formula), Placed(two.sheet.name, *there, other)
            return self.formulas.is_same(old, new) and not self._covers_others(old, new)
        if formula or other:
            return False
        was, now = one.sheet.value(*here), two.sheet.value(*there)
        return same_value("" if was is None else was, "" if now is None else now, TYPED_AGREE)

    def _covers_others(self, old: Placed, new: Placed) -> bool:
        """Whether a range that one of the user's formulas reads covers other rows or columns now.

        Planner's ranges cover whole tables, whose changed rows are listed anyway.
        """
        is_own = old.sheet in self._own_sheets or self.formulas.sheets[old.sheet][0].is_users_cell(old.row, old.column)
        return is_own and not self.formulas.covers_the_same(old, new)

    @cached_property
    def _own_sheets(self) -> Collection[str]:
        return frozenset(self.old.book.own_sheets)

    def _report(self, one: Matched, two: Matched, here: Position | None, there: Position | None) -> None:
        """Report a cell whose content differs, or that only one of the sheets has."""
        formula = one.sheet.patterns.get(here) if here else None
        other = two.sheet.patterns.get(there) if there else None
        old, new = _content(one, here), _content(two, there)
        side, at = (two, there) if there else (one, here)
        assert at is not None, "a change is of a cell"
        cell = f"{side.sheet.name}!{address(*at)}"
        name, scenario = self._called(one.sheet.name, side, at)
        if formula and other and here and there and old == new:
            old, new = (
                in_names(side, known.sheets, *place)
                for side, known, place in ((one, self.formulas.before, here), (two, self.formulas.after, there))
            )
            read, now = Placed(one.sheet.name, *here, formula), Placed(two.sheet.name, *there, other)
            if old == new and not (self.formulas.has_moved(read) or self._covers_others(read, now)):
                return  # a precedent was removed or added, which is reported as rows and columns
            new = f"{new}, {other_cells(self.formulas, read, now)}" if old == new else new
        if formula or other:
            is_input = two.sheet is self.new.book.inputs.sheet
            how: How = "edited" if formula and other else _how(formula is not None, old, new, is_input=is_input)
            by_planner = self._is_by_planner(one, two, here, there)
            self.difference.formulas.append(FormulaChange(how, scenario, name, cell, old, new, by_planner))
        elif what := _input(side, at, scenario, name):
            label, unit = what
            self.difference.inputs.append(InputChange(scenario, name, label, unit, cell, old, new))
        else:
            self.difference.cells.append(CellChange(cell, old, new, self._is_by_planner(one, two, here, there)))

    def _is_planners_row(self, line: Structure) -> bool:
        before, after = self._planners
        if line.what != "row" or before.is_of_one_writing(after):
            return False
        return (before if line.how == "removed" else after).has_row(line.sheet, int(line.at))

    def _is_by_planner(self, one: Matched, two: Matched, here: Position | None, there: Position | None) -> bool:
        """Whether planner wrote what a cell holds in the new workbook, and in the old one unless nothing was there."""
        before, after = self._planners
        is_new = there is not None and after.has(two.sheet.name, there)
        return is_new and (here is None or before.has(one.sheet.name, here))

    @cached_property
    def _planners(self) -> tuple[PlannerCells, PlannerCells]:
        return PlannerCells(self.old.book), PlannerCells(self.new.book)

    def _changed_input_numbers(
        self, one: Matched, two: Matched, changed_inputs: Mapping[int, int]
    ) -> Iterator[InputChange]:
        """The changed numbers of inputs that became constants, or the reverse, by scenario."""
        places = {scenario: column for column, scenario in two.scenarios.items()}
        for row, there in changed_inputs.items():
            _, then = two.lines[there]
            for column, scenario in one.scenarios.items():
                if scenario not in places:
                    continue
                was = one.sheet.value(*_number_at(one, row, column))
                at = _number_at(two, there, places[scenario])
                if not same_value("" if was is None else was, "" if (now := two.sheet.value(*at)) is None else now):
                    known, cell = self.pairs.scenarios.get(scenario, scenario), f"{two.sheet.name}!{address(*at)}"
                    yield InputChange(known, then.name, then.label, then.unit, cell, was, now)

    def _called(self, sheet: str, side: Matched, at: Position) -> tuple[str, str]:
        """The name of a cell's row, with a database's column, and the present name of its scenario."""
        row, title = side.names.get(at[0], ""), side.title(*at)
        if row and title is not None:
            return f"{sheet}[{row}].{title}", ""
        scenario = side.scenarios.get(at[1], "")
        return row, self.pairs.scenarios.get(scenario, scenario)

    def _notes(self) -> None:
        ours, theirs = _noted(self.old, self.formulas.before), _noted(self.new, self.formulas.after)
        still = {at: key for key, (at, _) in ours.items() if key not in theirs and _is_blank(key)}
        theirs = {
            (still.get(said[0], key) if _is_blank(key) and key not in ours else key): said
            for key, said in theirs.items()
        }
        for key in (*ours, *(key for key in theirs if key not in ours)):
            (before, was), (after, now) = ours.get(key, ("", "")), theirs.get(key, ("", ""))
            if not (before and after):
                self.difference.notes.append(NoteChange("removed" if before else "added", before or after, was, now))
            elif was != now:
                self.difference.notes.append(NoteChange("changed", after, was, now))


def _cells(one: Matched, two: Matched) -> Iterator[tuple[Position | None, Position | None]]:
    """The filled cells of both sheets, each with its counterpart in the other.

    Cells in rows or columns that only one of the sheets has are left out.
    """
    if one.has_same_positions(two):
        yield from ((at, at if at in two.filled else None) for at in one.filled)
        yield from ((None, at) for at in two.filled if at not in one.filled)
        return
    ours, theirs = (
        {(side.row(row), side.column(column, row)): (row, column) for row, column in side.filled} for side in (one, two)
    )
    for mine, other, side in ((ours, theirs, two), (theirs, ours, one)):
        rows, columns = set(side.rows.values()), {*side.columns.values(), *within(side)}
        for key, at in mine.items():
            there = other.get(key)
            if mine is theirs and there is not None:
                continue
            if there is not None or (key[0] in rows and key[1] in columns):
                yield (at, there) if mine is ours else (None, at)


def _is_of_removed(one: Matched, two: Matched, at: Position) -> bool:
    """Whether a cell of the old sheet is in the column of a scenario that the new one lacks.

    The Dashboard's first line starts in the first scenario's column, and stays there when that scenario goes.
    """
    return at[1] in one.scenarios and one.columns[at[1]] not in two.columns.values()


def _changed_inputs(one: Matched, two: Matched) -> dict[int, int]:
    """Old row -> new row of rows on Inputs that changed between input and constant."""
    rows = {two.rows.get(row): row for row in two.lines}
    pairs = ((row, rows[token]) for row in one.lines if (token := one.rows.get(row)) in rows)
    return {row: there for row, there in pairs if _is_constant(one, row) != _is_constant(two, there)}


def _is_constant(side: Matched, row: int) -> bool:
    table, line = side.lines[row]
    return table.kind == "inputs" and line.section == "Constants"


def _is_of(side: Matched, at: Position | None, rows: Collection[int]) -> bool:
    """Whether a cell holds the number of one of these rows of Inputs, or the note in a constant's place."""
    return at is not None and at[0] in rows and (at[1] in side.scenarios or side.texts.get(at[1]) == "fourth")


def _number_at(side: Matched, row: int, scenario: int) -> Position:
    """The cell of a row of Inputs with a scenario's number; a constant has one for all."""
    fourth = next(column for column, text in side.texts.items() if text == "fourth")
    return row, fourth if _is_constant(side, row) else scenario


def _content(side: Matched, at: Position | None) -> Value:
    """A cell's formula or typed value; None if there is no cell."""
    if at is None:
        return None
    formula = side.sheet.patterns.get(at)
    return f"={formula.at(*at)}" if formula else side.sheet.value(*at)


def _input(side: Matched, at: Position, scenario: str, name: str) -> tuple[str, str] | None:
    """Label and unit of a cell that is typed into; None for planner's texts and the user's own cells."""
    if name and (title := side.title(*at)) is not None:
        known = catalog.FIELDS.get(str(side.cases.get(at[0])), ())
        return "", next((field.column.unit for field in known if field.name == title), "")
    if at[0] not in side.lines:
        return None
    table, line = side.lines[at[0]]
    is_choice = table.kind == "dashboard" and line.name.startswith("shown_")
    typed_here = side.texts.get(at[1]) == ("given" if table.kind == "problem" else "fourth")
    if scenario or (typed_here and (line.section == "Constants" or is_choice or table.kind == "problem")):
        return line.label, line.unit
    return None


def _how(was_formula: bool, old: Value, new: Value, *, is_input: bool) -> How:
    if is_input and old not in (None, "") and new not in (None, ""):
        return "edited"  # an input has no formula to restore
    if was_formula:
        return "removed" if new in (None, "") else "overridden"
    return "added" if old in (None, "") else "restored"


def _noted(plan: Plan, meanings: Meanings) -> dict[tuple[str, Token, Token], tuple[str, str]]:
    """The notes of a workbook by the tokens of their cells: the address, and the text."""
    found: dict[tuple[str, Token, Token], tuple[str, str]] = {}
    for note in plan.notes:
        side = meanings.sheets.get(note.sheet)
        row, column = coordinates(note.ref)
        key = (side.exact_row(row), side.exact_column(column, row)) if side else (row, column)
        found[meanings.names.get(note.sheet, note.sheet), *key] = (f"{note.sheet}!{note.ref}", note.text)
    return found


def _is_blank(key: tuple[str, Token, Token]) -> bool:
    """Whether a note is on a blank row or column, whose token may change although the note didn't move."""
    return any(isinstance(token, tuple) and token[0] == "blank" for token in key[1:])


def _unsure(plan: Plan) -> Iterator[str]:
    """What of a workbook could not be recalculated, in words."""
    if plan.not_computed:
        yield f"{plan.file}: nothing was recalculated, values are as saved: {plan.not_computed}"
    elif plan.unknown:
        spot: Spot = next(iter(plan.unknown))
        are = "is" if len(plan.unknown) == 1 else "are"
        said = f"{counted(len(plan.unknown), 'cell')} {are} as saved"
        yield f"{plan.file}: {said}, such as {spot}: {plan.unknown[spot]}"
