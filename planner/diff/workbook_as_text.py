"""A workbook as lines of text for a line-by-line diff: rows by name and scenario, not by position."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from planner.align.matched import Matched
from planner.align.matching import alone
from planner.book.plan import Plan
from planner.recalc.evidence import CLOCK_OR_DICE
from planner.xlsx.address import address, coordinates
from planner.xlsx.cellvalue import Value
from planner.xlsx.pattern import Pattern, RelativeReference, renamed
from planner.xlsx.sheetxml import SheetXml

Shown = Literal["formulas", "values", "both"]
TYPED_DIGITS, COMPUTED_DIGITS = 15, 12


def lines(plan: Plan, sheets: Collection[str], shown: Shown) -> Iterator[str]:
    """The sheets of a plan, row by row, with recalculated values except those of clocks and random numbers."""
    sides = {name: alone(plan, sheet) for name, sheet in plan.book.sheets.items()}
    for name in plan.sheets:
        if name in sheets:
            yield f"# {name}"
            yield from _Printer(plan, sides, shown).sheet(sides[name])
            yield from _notes(plan, sides[name])
            yield ""


def plain_lines(name: str, sheet: SheetXml, shown: Shown) -> Iterator[str]:
    """A sheet of a workbook that planner did not build, cell by cell, with its cached values."""
    yield f"# {name}"
    for cell in sheet.cells.values():
        formula = sheet.formula_of(cell)
        said = _content(f"={formula}" if formula else "", text(cell.value, TYPED_DIGITS), shown)
        if said:
            yield f"{cell.ref}: {said}"
    yield ""


def text(value: Value, digits: int) -> str:
    """A value on one line, a number with `digits` significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
    return f"{value:.{digits}g}"


def _content(formula: str, value: str, shown: Shown) -> str:
    if not formula or shown == "values":
        return value
    return formula if shown == "formulas" or not value else f"{value}  {formula}"


class _Printer:
    def __init__(self, plan: Plan, sides: dict[str, Matched], shown: Shown) -> None:
        self.plan, self.sides, self.shown = plan, sides, shown

    def sheet(self, side: Matched) -> Iterator[str]:
        """A sheet's rows: a line for each cell, or for a named row one line for a formula that scenarios share."""
        tables = (self.plan.book.inputs, *self.plan.book.lines)
        named = {line.row for table in tables if table.sheet is side.sheet for line in table.lines}
        columns: dict[int, list[int]] = {}
        for row, column in sorted((*side.filled, *side.results)):
            columns.setdefault(row, []).append(column)
        for row, found in columns.items():
            yield from self._line(side, row, found) if row in named else self._cells(side, row, found)

    def _line(self, side: Matched, row: int, columns: list[int]) -> Iterator[str]:
        """A row of planner's: its name and texts, its formulas, and a value for each scenario."""
        texts = {text: column for column, text in side.texts.items()}
        label, unit = (side.sheet.text(row, texts[name]) for name in ("label", "unit"))
        yield f"{side.names.get(row, '')}  {label} ({unit})"
        for column in (texts[name] for name in ("given", "fourth", "fifth") if name in texts):
            if (row, column) in side.sheet.cells and (said := self._said(side, row, column)):
                yield f"  {said}"
        formulas: dict[str, list[int]] = {}
        for column in columns:
            if column in side.scenarios and (row, column) in side.sheet.patterns:
                formulas.setdefault(in_names(side, self.sides, row, column), []).append(column)
        for formula, having in formulas.items() if self.shown != "values" else ():
            whose = "" if len(having) == len(side.scenarios) else f"{', '.join(side.scenarios[at] for at in having)}: "
            yield f"  {whose}{formula}"
        for column in (column for column in columns if column not in texts.values()):
            is_live = (row, column) in side.sheet.patterns
            if column not in side.scenarios:
                said = self._said(side, row, column)
            else:
                said = "" if is_live and self.shown == "formulas" else self._value(side, row, column)
            if said:
                yield f"  {side.scenarios.get(column, address(row, column))}: {said}"

    def _cells(self, side: Matched, row: int, columns: list[int]) -> Iterator[str]:
        """Any other row, cell by cell: by names of a database's row and column, else by address."""
        for column in columns:
            if said := self._said(side, row, column):
                known = row in side.names and column in side.titles
                called = f"{side.names[row]}.{side.titles[column]}" if known else address(row, column)
                yield f"{called}: {said}"

    def _said(self, side: Matched, row: int, column: int) -> str:
        formula = in_names(side, self.sides, row, column) if (row, column) in side.sheet.patterns else ""
        return _content(formula, self._value(side, row, column), self.shown)

    def _value(self, side: Matched, row: int, column: int) -> str:
        formula = side.sheet.patterns.get((row, column))
        if formula is None:
            return text(side.sheet.value(row, column), TYPED_DIGITS)
        if not formula.functions.isdisjoint(CLOCK_OR_DICE):
            return ""
        return text(self.plan.at(side.sheet.name, row, column), COMPUTED_DIGITS)


def in_names(side: Matched, sides: Mapping[str, Matched], row: int, column: int) -> str:
    """The formula of a cell with references to named rows replaced by names, so that inserted rows change nothing.

    `sides` are the matched sheets of its workbook, by name.
    """
    formula: Pattern = side.sheet.patterns[row, column]

    def named(reference: RelativeReference) -> str:
        area, other = reference.area(row, column), sides.get(reference.sheet or side.sheet.name)
        sheet = f"{reference.sheet}!" if reference.sheet else ""
        if other is None or not area.is_cell or area.top not in other.names:
            return sheet + (address(area.top, area.left) if area.is_cell else str(area))
        scenario, own = other.scenarios.get(area.left), side.scenarios.get(column)
        name = other.names[area.top]
        if scenario is None:
            return sheet + address(area.top, area.left)
        called = f"{reference.sheet}[{name}]" if reference.sheet else name
        return called if scenario == own else f"{called}@{scenario}"

    return f"={renamed(formula, named)}"


def _notes(plan: Plan, side: Matched) -> Iterator[str]:
    for note in plan.notes:
        if note.sheet == side.sheet.name:
            row, column = coordinates(note.ref)
            name, scenario = side.names.get(row), side.scenarios.get(column)
            yield f"note on {f'{name} of {scenario}' if name and scenario else note.ref}: {text(note.text, 0)}"
