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

    @property
    def best(self) -> str:
        """The value that binds."""
        return f"{self.function}({self.values})"

    @property
    def binding(self) -> str:
        """The label of what binds; the smallest of some parts binds at 0 too."""
        which = self._label(self.best)
        return f'IF({self.best}=0,"{NONE}",{which})' if self.function == "MAX" else which

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

    def margin(self, following: str) -> str:
        """The larger of the two over the smaller; N/A where the smaller is 0. `following` is the cell of the second."""
        small, large = self._ends(following)
        return f"IF({small}>0,{large}/{small},NA())"

    def times(self, margin: str) -> str:
        """`1.80`; the argument is the cell of the margin.

        FIXED writes the decimals: Gnumeric joins some numbers with a text as 4.8699999999999999999.
        """
        rounded = f"IF({margin}>={self.large},ROUND({margin},0),FIXED(ROUND({margin},2),2,TRUE))"
        return f'IF({margin}>={self.far},"more than "&{self.far},{rounded})'

    def words(self, binding: str, following: str, margin: str, times: str) -> str:
        """`Compute, 1.80x above the next`; the arguments are the cells of the four formulas above."""
        over = "above" if self.function == "MAX" else "below"
        distance = f'IF(ROUND({margin},2)=1,"{LEVEL}",{times}&"x {over} "&{self._label(following)})'
        alone = f'{binding}&IF({binding}="{NONE}","",", {ALONE}")'
        return f'IF({self._ends(following)[0]}>0,{binding}&", "&{distance},{alone})'

    def _ends(self, following: str) -> tuple[str, str]:
        return (following, self.best) if self.function == "MAX" else (self.best, following)

    def _label(self, value: str) -> str:
        place = f"MATCH({value},{self.values},0)"
        return in_row(self.labels, place) if self.is_row else f"INDEX({self.labels},{place})"
