"""The rows of a sheet that is being written, as XML text: each cell is written once, its value put in when it is known.

It is for a workbook that is made from nothing: what a file holds already is changed by `sheetxml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from xml.sax.saxutils import escape

from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import MAX_TEXT, Value, written_value

Block = Sequence[Sequence[Value]]  # of a sheet from A1 on: row by row, None for no value
_NO_ATTRIBUTES: Mapping[int, Mapping[str, str]] = {}


class Grid:
    """Cells by row and column. `style` is the number of a cell's format in the workbook's list of them."""

    def __init__(self) -> None:
        # What stands before the cell's type and behind it; of a cell that is no formula all, and nothing behind.
        self._rows: dict[int, dict[int, tuple[str, str]]] = {}

    def put_formula(self, row: int, column: int, text: str, style: int) -> None:
        """A formula, without its =."""
        at = f'<c r="{column_letters(column)}{row}" s="{style}"', f"><f>{escape(text)}</f>"
        if row in self._rows:
            self._rows[row][column] = at
        else:
            self._rows[row] = {column: at}

    def put(self, row: int, column: int, value: Value, style: int) -> None:
        """A typed value, a text within the cell itself; None for an empty cell that has a format.

        Raises UserError for what no cell can hold.
        """
        head = f'<c r="{column_letters(column)}{row}" s="{style}"'
        if value is None or value == "":
            whole = f"{head}/>"
        elif isinstance(value, str):
            text = _text(value)
            space = ' xml:space="preserve"' if text != text.strip() else ""
            whole = f'{head} t="inlineStr"><is><t{space}>{text}</t></is></c>'
        else:
            kind, content = written_value(value)
            whole = f"{head}{_typed(kind)}><v>{content.decode()}</v></c>"
        self._rows.setdefault(row, {})[column] = whole, ""

    def has(self, row: int, column: int) -> bool:
        """Whether there is a cell."""
        return row in self._rows and column in self._rows[row]

    def discard(self, row: int, column: int) -> None:
        """Take a cell out, if there is one."""
        self._rows.get(row, {}).pop(column, None)

    @property
    def size(self) -> tuple[int, int]:
        """The last row and the last column with a cell; 0 and 0 of an empty sheet."""
        return max(self._rows, default=0), max((max(cells, default=0) for cells in self._rows.values()), default=0)

    def formulas(self) -> Iterator[tuple[int, int]]:
        """The row and column of every formula, from top to bottom."""
        for row in sorted(self._rows):
            cells = self._rows[row]
            yield from ((row, column) for column in cells if cells[column][1])

    def beside_room(self) -> Iterator[tuple[int, int]]:
        """Those of the formulas that have an empty cell to their right or below, into which an array could flow."""
        for row, cells in self._rows.items():
            below = self._rows.get(row + 1, {})
            for column, (_, rest) in cells.items():
                if rest and not (_holds(cells.get(column + 1)) and _holds(below.get(column))):
                    yield row, column

    def sheet_data(self, values: Block | None = None, rows: Mapping[int, Mapping[str, str]] = _NO_ATTRIBUTES) -> bytes:
        """The element sheetData, with the `values` of formulas; `rows` are attributes of rows, such as a height."""
        pieces = ["<sheetData>"]
        add = pieces.append
        for row in sorted(self._rows.keys() | rows.keys()):
            attributes = "".join(f' {name}="{value}"' for name, value in rows.get(row, {}).items())
            add(f'<row r="{row}"{attributes}>')
            known = values[row - 1] if values and row <= len(values) else ()
            for column, (head, rest) in sorted(self._rows.get(row, {}).items()):
                if not rest:
                    add(head)
                    continue
                value = known[column - 1] if column <= len(known) else None
                if type(value) is float and isfinite(value):
                    add(f"{head}{rest}<v>{repr(value + 0.0).removesuffix('.0')}</v></c>")
                elif value is None:
                    add(f"{head}{rest}</c>")
                else:
                    kind, content = written_value(value)
                    add(f"{head}{_typed(kind)}{rest}<v>{content.decode()}</v></c>")
            add("</row>")
        add("</sheetData>")
        return "".join(pieces).encode()


def _holds(cell: tuple[str, str] | None) -> bool:
    return cell is not None and not cell[0].endswith("/>")


def _text(value: str) -> str:
    """A text as XML; most need no more than that marks are written as entities."""
    if value.isprintable() and "_x" not in value and len(value) <= MAX_TEXT:
        return escape(value)
    return written_value(value)[1].decode()


def _typed(kind: str) -> str:
    return "" if kind == "n" else f' t="{kind}"'
