"""The text of a formula cell for each kind of row: links, lookups and calculations."""

from __future__ import annotations

from collections.abc import Callable

from planner.formulas.template import CALCULATED, Row
from planner.workbook.databases import Database

Databases = dict[str, Database]


def looked_up(row: Row, databases: Databases, matched_row: str, selector: str | None = None) -> str:
    """A number out of Models or Hardware at a row already matched; N/A where the database is blank.

    `selector` is the cell that holds a dtype, for `peak[compute_dtype]`.
    """
    database = databases["models" if row.kind == "model" else "hardware"]
    column, wants_selector = row.column
    if wants_selector:
        which = f'MATCH("{column}_"&{selector},{database.header},0)'
        number = f"INDEX({database.body},{matched_row},{which})"
    else:
        number = f"INDEX({database.range(column)},{matched_row})"
    return f'IF({number}="",NA(),{number})'


def bytes_of_dtype(databases: Databases, dtype_cell: str) -> str:
    """The bytes per element of the dtype that a cell names."""
    dtypes = databases["dtypes"]
    return f"INDEX({dtypes.range('bytes_per_element')},MATCH({dtype_cell},{dtypes.ids},0))"


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
