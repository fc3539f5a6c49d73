"""What a person types for a row of a workbook's Inputs, as a cell's value: ids and dtypes are those of the workbook."""

from __future__ import annotations

from functools import cache

from planner.book.line_tables import LineItem
from planner.book.workbook import Book
from planner.errors import Place, UserError, nearest
from planner.formulas import library
from planner.formulas.input_values import typed
from planner.formulas.template import Row
from planner.xlsx.cellvalue import NA, Value

OVERRIDES = "Overrides"


def identified(book: Book, kind: str, text: str) -> str:
    """An id of the workbook's `models`, `hardware` or `dtypes` sheet as it stands there, whatever its capitals.

    Raises UserError with the nearest id.
    """
    known = {one.lower(): one for one in ids(book, kind)}
    found = known.get(text.strip().lower())
    if found is None:
        what = f"no {text!r} on the sheet {kind.capitalize()} of this workbook"
        raise UserError(what, place=Place(book.package.name), remedy=nearest(text, known.values()))
    return found


def ids(book: Book, kind: str) -> list[str]:
    """The ids of a database sheet, from top to bottom."""
    table = book.databases.get(kind)
    if table is None:
        return []
    rows = range(table.first_row, table.last_row + 1)
    return [text for row in rows if (text := table.sheet.text(row, table.id_column))]


def content(book: Book, line: LineItem, text: str) -> Value:
    """What `--set` types into a row of Inputs; N/A is a blank input, and #N/A where blank means the looked-up number.

    Raises UserError for what the row can't hold.
    """
    row = described(line)
    if line.name.endswith("dtype") and text and ids(book, "dtypes"):
        return identified(book, "dtypes", text)
    value = typed(row, text)
    if value is None:
        return NA if line.section.startswith(OVERRIDES) else None
    return value


def described(line: LineItem) -> Row:
    """The row of a template that a line of Inputs stands for; a template that isn't ours is told by its unit alone."""
    found = _known().get(line.name)
    if found is not None and found.unit == line.unit:
        return found
    return Row(line.name, line.label, line.unit, "input", "")


@cache
def _known() -> dict[str, Row]:
    """The inputs and lookups of the shipped templates by name, of two the first."""
    rows = (row for name in library.names() for row in library.load(name).rows)
    found: dict[str, Row] = {}
    for row in rows:
        if row.kind not in ("include",):
            found.setdefault(row.name, row)
    return found
