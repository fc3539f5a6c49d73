"""The cells of a new sheet as XML text: each cell is written once, and formula values are inserted when known.

It is for workbooks built from scratch; an existing file's cells are edited by `sheetedit`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite

from planner.csvfile import CELL_LIMIT
from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import Value, exact_text, written_value
from planner.xlsx.markup import escaped

Block = Sequence[Sequence[Value]]  # a sheet's values from A1 on, row by row, None for no value
HERE = "\0"  # in the pattern of a copied formula: the cell's own column letters or row number
_NO_ATTRIBUTES: Mapping[int, Mapping[str, str]] = {}
SHORT = 256  # the most characters of a text whose XML is cached


class Grid:
    """Cells by row and column. `style` is always a style number."""

    def __init__(self) -> None:
        # The XML before the cell's type, and after it; a cell without a formula is all in the first.
        self._rows: defaultdict[int, dict[int, tuple[str, str]]] = defaultdict(dict)

    def put_formula(self, row: int, column: int, text: str, style: int) -> None:
        """Put a formula, without its =."""
        self._rows[row][column] = f'<c r="{column_letters(column)}{row}" s="{style}"', f"><f>{escaped(text)}</f>"

    def put_across(self, row: int, columns: Iterable[int], pattern: str, style: int) -> None:
        """Put one formula, copied to the right: `pattern` has HERE for the letters of each cell's own column."""
        cells, rest = self._rows[row], f"><f>{escaped(pattern)}</f>"
        for column in columns:
            letters = column_letters(column)
            cells[column] = f'<c r="{letters}{row}" s="{style}"', rest.replace(HERE, letters)

    def put_down(self, column: int, rows: Iterable[int], pattern: str, style: int) -> None:
        """Put one formula, copied downward: `pattern` has HERE for the number of each cell's own row."""
        letters, rest = column_letters(column), f"><f>{escaped(pattern)}</f>"
        for row in rows:
            number = str(row)
            self._rows[row][column] = f'<c r="{letters}{number}" s="{style}"', rest.replace(HERE, number)

    def put(self, row: int, column: int, value: Value, style: int) -> None:
        """Put a typed value, a text as an inline string; None for an empty cell with a style.

        Raises UserError for a value that no cell can hold.
        """
        head = f'<c r="{column_letters(column)}{row}" s="{style}"'
        if value is None or value == "":
            whole = f"{head}/>"
        elif isinstance(value, str):
            whole = head + (_inline(value) if len(value) <= SHORT else _inline.__wrapped__(value))
        else:
            kind, content = written_value(value)
            whole = f"{head}{_typed(kind)}><v>{content.decode()}</v></c>"
        self._rows[row][column] = whole, ""

    @property
    def size(self) -> tuple[int, int]:
        """The last row and the last column with a cell; (0, 0) for an empty sheet."""
        return max(self._rows, default=0), max((max(cells, default=0) for cells in self._rows.values()), default=0)

    def cells(self) -> Iterator[tuple[int, int, str, str]]:
        """Yields the row, the column, the XML, and the formula as XML (blank for none) of every cell."""
        for row, cells in self._rows.items():
            for column, (head, rest) in cells.items():
                yield row, column, f"{head}{rest}</c>" if rest else head, rest[4:-4]

    def formulas(self) -> Iterator[tuple[int, int]]:
        """The (row, column) of every formula, from top to bottom."""
        for row in sorted(self._rows):
            cells = self._rows[row]
            yield from ((row, column) for column in cells if cells[column][1])

    def may_spill(self) -> Iterator[tuple[int, int]]:
        """The formulas whose result may be an array and that have an empty cell to their right or below."""
        for row, cells in self._rows.items():
            below = self._rows.get(row + 1, {})
            for column, (_, rest) in cells.items():
                may_be_array = ":" in rest or "{" in rest  # others read no range
                if may_be_array and not (_holds(cells.get(column + 1)) and _holds(below.get(column))):
                    yield row, column

    def sheet_data(self, values: Block | None = None, rows: Mapping[int, Mapping[str, str]] = _NO_ATTRIBUTES) -> bytes:
        """The element sheetData, with the `values` of formulas; `rows` are attributes of rows, such as a height."""
        pieces = ["<sheetData>"]
        add = pieces.append
        for row in sorted(self._rows.keys() | rows.keys()):
            attributes = "".join(f' {name}="{value}"' for name, value in rows.get(row, {}).items())
            add(f'<row r="{row}"{attributes}>')
            cells = sorted(self._rows.get(row, {}).items())
            known = values[row - 1] if values and row <= len(values) else ()
            if known:
                pieces += [_valued(head, rest, known, column) if rest else head for column, (head, rest) in cells]
            else:
                pieces += [f"{head}{rest}</c>" if rest else head for _, (head, rest) in cells]
            add("</row>")
        add("</sheetData>")
        return "".join(pieces).encode()


def _valued(head: str, rest: str, known: Sequence[Value], column: int) -> str:
    """A formula's cell with its value from the row's known values."""
    value = known[column - 1] if column <= len(known) else None
    if type(value) is float and isfinite(value):
        return f"{head}{rest}<v>{exact_text(value + 0.0)}</v></c>"
    if value is None:
        return f"{head}{rest}</c>"
    kind, content = written_value(value)
    return f"{head}{_typed(kind)}{rest}<v>{content.decode()}</v></c>"


def _holds(cell: tuple[str, str] | None) -> bool:
    return cell is not None and not cell[0].endswith("/>")


@lru_cache(maxsize=4096)
def _inline(value: str) -> str:
    """The XML of an inline string cell after its style; cached, since units, names and notes recur."""
    text = _text(value)
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f' t="inlineStr"><is><t{space}>{text}</t></is></c>'


def _text(value: str) -> str:
    """A text as XML; most texts only need markup characters escaped."""
    if value.isprintable() and "_x" not in value and len(value) <= CELL_LIMIT:
        return escaped(value)
    return written_value(value)[1].decode()


def _typed(kind: str) -> str:
    return "" if kind == "n" else f' t="{kind}"'
