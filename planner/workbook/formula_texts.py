"""The texts of formula cells: blanks, overrides, lookups, calculations, and formulas that rank competing cells.

Ranking is made of MIN, MAX, IF, ROUND, INDEX and MATCH alone, which every spreadsheet program computes alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.catalog.table import TABLES
from planner.formulas.template import CALCULATED, Row
from planner.workbook.database_sheets import DatabaseSheet

DatabaseSheets = dict[str, DatabaseSheet]


def looked_up(row: Row, databases: DatabaseSheets, matched_row: str, selector: str = "") -> str:
    """A number out of Models or Hardware at a row already matched; N/A where the database is blank.

    `selector` is the cell that holds a dtype, for `peak[compute_dtype]`.
    """
    database = databases[TABLES[row.kind]]
    column, wants_selector = row.column
    if wants_selector:
        which = f'MATCH("{column}_"&{selector},{database.header},0)'
        number = f"INDEX({database.body},{matched_row},{which})"
    else:
        number = f"INDEX({database.range(column)},{matched_row})"
    return f'IF({number}="",NA(),{number})'


def looked_up_by_id(row: Row, databases: DatabaseSheets, id_cell: str) -> str:
    """A number out of Dtypes, Calibration or Stacks at the id that a cell names."""
    table, (column, _) = databases[TABLES[row.kind]], row.column
    number = f"INDEX({table.range(column)},MATCH({id_cell},{table.ids},0))"
    return number if row.kind == "dtype" else f'IF({number}="",NA(),{number})'


def calculated(row: Row, reference: Callable[[str], str]) -> str:
    """A calculated row's own text, its names replaced by cells."""
    assert row.kind in CALCULATED
    return row.expression.substitute(reference)


def or_blank(cell: str) -> str:
    """A typed cell's value; N/A where it is blank."""
    return f'IF({cell}="",NA(),{cell})'


def overridable(override_cell: str, formula: str) -> str:
    """The override where one is typed, else the formula."""
    return f'IF({override_cell}<>"",{override_cell},{formula})'


def in_row(cells: str, place: str) -> str:
    """The cell at a place of a range of one row. Not every program reads `INDEX(cells,place)` so."""
    return f"INDEX({cells},1,{place})"


ALONE, NONE, LEVEL = "nothing else counts", "nothing", "level with the next"


@dataclass(frozen=True)
class Ranking:
    """The cells of the competing parts in order, their range, the range of their labels, and MAX or MIN.

    `far` and `large` are the cells of the margins from which no digits, and no decimals, are told; `is_row` says that
    the parts stand side by side.
    """

    cells: Sequence[str]
    values: str
    labels: str
    function: str
    far: str
    large: str
    is_row: bool = False

    def formulas(self, best: str, binding: str, following: str, margin: str, times: str) -> list[str]:
        """The formulas of five cells, whose references are the arguments, and of what they say in words.

        `best` is the value that binds, `binding` its label, `following` the second largest or smallest, `margin` the
        larger of the two over the smaller (N/A where that is 0), `times` the margin as it is told: `1.80`. The words
        are `Compute, 1.80x above the next`; the smallest of some parts binds at 0 too.
        """
        is_largest = self.function == "MAX"
        small, large = (following, best) if is_largest else (best, following)
        which = self._label(best)
        return [
            f"{self.function}({self.values})",
            f'IF({best}=0,"{NONE}",{which})' if is_largest else which,
            self.following,
            f"IF({small}>0,{large}/{small},NA())",
            self._times(margin),
            self._words(small, binding, following, margin, times),
        ]

    @property
    def following(self) -> str:
        """The second largest, or smallest.

        The second largest of all is the largest, over each cell, of the smaller of it and the largest after it.
        """
        other = "MIN" if self.function == "MAX" else "MAX"
        pairs = []
        for index, one in enumerate(self.cells[:-1]):
            rest = self.cells[index + 1 :]
            after = rest[0] if len(rest) == 1 else f"{self.function}({rest[0]}:{rest[-1]})"
            pairs.append(f"{other}({one},{after})")
        return pairs[0] if len(pairs) == 1 else f"{self.function}({','.join(pairs)})"

    def _times(self, margin: str) -> str:
        """FIXED writes the decimals: Gnumeric joins some numbers with a text as 4.8699999999999999999."""
        rounded = f"IF({margin}>={self.large},ROUND({margin},0),FIXED(ROUND({margin},2),2))"
        return f'IF({margin}>={self.far},"more than "&{self.far},{rounded})'

    def _words(self, small: str, binding: str, following: str, margin: str, times: str) -> str:
        over = "above" if self.function == "MAX" else "below"
        distance = f'IF(ROUND({margin},2)=1,"{LEVEL}",{times}&"x {over} "&{self._label(following)})'
        alone = f'{binding}&IF({binding}="{NONE}","",", {ALONE}")'
        return f'IF({small}>0,{binding}&", "&{distance},{alone})'

    def _label(self, value: str) -> str:
        place = f"MATCH({value},{self.values},0)"
        return in_row(self.labels, place) if self.is_row else f"INDEX({self.labels},{place})"
