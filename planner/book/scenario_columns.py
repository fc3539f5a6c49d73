"""Numbers columns by content, so that formulas can be compared although an analyst moved columns on some sheets.

An analyst may insert a column of notes into one sheet, or reorder its scenarios; references follow, and nothing is
wrong. The numbers are those of a built workbook: 1 to 5 for the texts of a line, and from 6 on the scenarios in the
order of Inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from planner.book.tables import Head, LineTable
from planner.xlsx.address import Position
from planner.xlsx.pattern import Pattern, RelativeCorner, rewritten

FIRST_SCENARIO = 6
_STRAY = 20_000  # beyond every column of a sheet: the number of a column with neither text nor scenario


class ColumnNumbers:
    """The number of each sheet's columns by content; on a sheet that is as built, the column itself."""

    def __init__(self, inputs: LineTable, tables: Iterable[LineTable]) -> None:
        self._known: dict[str, dict[int, int]] = {}
        for table in (table for table in tables if table.kind != "problem"):
            columns = () if table.kind == "working" else table.columns
            texts = dict(zip(table.head.texts, Head().texts, strict=False))  # the fifth may be deleted
            known = texts | {column: FIRST_SCENARIO + at for at, column in _in_order(inputs, table, columns)}
            if any(column != number for column, number in known.items()):
                self._known[table.sheet.name] = known

    def __bool__(self) -> bool:
        return bool(self._known)

    @property
    def sheets(self) -> list[str]:
        """The sheets whose columns aren't as built."""
        return list(self._known)

    def standard(self, sheet: str, column: int) -> int:
        """The number of a column."""
        known = self._known.get(sheet)
        if known is None or column in known:
            return column if known is None else known[column]
        last = max(known)
        return column + max(known.values()) - last if column > last else column + _STRAY

    def actual(self, sheet: str, number: int) -> int:
        """The column with this number."""
        known = self._known.get(sheet)
        if known is None:
            return number
        if number > _STRAY:
            return number - _STRAY
        back = {value: column for column, value in known.items()}
        return back[number] if number in back else number + max(known) - max(back)

    def numbered(self, sheet: str, at: Position, formula: Pattern) -> Pattern:
        """The formula of the cell `at` with every column replaced by its number."""
        return self._moved(sheet, at, (at[0], self.standard(sheet, at[1])), formula, back=False)

    def shown(self, sheet: str, at: Position, formula: Pattern) -> str:
        """The inverse of `numbered`: the formula with real columns, as it reads in the cell `at`."""
        if not self._known:
            return formula.at(*at)
        return self._moved(sheet, (at[0], self.standard(sheet, at[1])), at, formula, back=True).at(*at)

    def _moved(self, sheet: str, old: Position, new: Position, formula: Pattern, *, back: bool) -> Pattern:
        def ends(other: str, first: RelativeCorner, last: RelativeCorner) -> tuple[RelativeCorner, RelativeCorner]:
            left, right = first.seen_from(*old)[1], last.seen_from(*old)[1]
            to = self.actual if back else self.standard
            name = other or sheet
            moved = (to(name, left), to(name, right))
            if left != right:  # a range holds the scenarios in whatever order
                covered = [to(name, column) for column in range(left, min(right, left + 200) + 1)]
                within = [column for column in covered if column < _STRAY]
                moved = (min(within, default=moved[0]), max(within, default=moved[1]))
            return _at(first, moved[0], new[1]), _at(last, moved[1], new[1])

        return rewritten(formula, ends)


def identifier(name: str) -> str:
    """The scenario id made from a name: lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def inputs_column(inputs: LineTable, table: LineTable, column: int) -> int | None:
    """The column of Inputs whose id a table's header reads in `column`; None if it reads none."""
    if table is inputs:
        return column
    formula = table.sheet.patterns.get((table.id_row, column))
    references = formula.references if formula else ()
    own = (found for found in references if found.sheet == inputs.sheet.name)
    return next((found.area(table.id_row, column).left for found in own), None)


def _at(corner: RelativeCorner, column: int, own: int) -> RelativeCorner:
    return corner._replace(column=column if corner.column_fixed else column - own)


def _in_order(inputs: LineTable, table: LineTable, columns: tuple[int, ...]) -> list[tuple[int, int]]:
    """(index among the scenarios of Inputs, column) of each column, by the id that its header reads."""
    places = {column: at for at, column in enumerate(inputs.columns)}
    if table is inputs:
        return [(at, column) for column, at in places.items()]
    found: dict[int, int] = {}
    for column in columns:
        read = inputs_column(inputs, table, column)
        if read in places:
            found[column] = places[read]
    taken = set(found.values())
    if len(taken) != len(found):
        return list(enumerate(columns))  # two headers read one scenario: rule 6 says so
    beyond = count(len(places))
    for at, column in enumerate(columns):
        if column not in found:  # it reads nothing, as where the scenario was deleted on Inputs alone
            found[column] = at if at < len(places) and at not in taken else next(beyond)
            taken.add(found[column])
    return [(at, column) for column, at in found.items()]
