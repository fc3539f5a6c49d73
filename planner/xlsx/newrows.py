"""Rows made like another one of the sheet, as bytes: thousands of them, each written in one go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.filldown import Downward
from planner.xlsx.markup import escaped

Values = Mapping[int, Value]  # column -> value


class NewRow(NamedTuple):
    """A row that the file has not: its number, the row that it is a copy of, and what is typed into its other cells."""

    number: int
    source: int
    typed: Values

    def with_typed(self, values: Mapping[str, Value]) -> NewRow:
        """The row with those of some values, by address, that are for a cell into which it types something."""
        at = {column: f"{column_letters(column)}{self.number}" for column in self.typed}
        new = {column: values[ref] for column, ref in at.items() if ref in values}
        return self._replace(typed={**self.typed, **new}) if new else self


class TemplateCell(NamedTuple):
    """A cell of the row that is copied: its column, the attribute that names its format, its formula."""

    column: int
    style: bytes
    formula: Downward | None


Written = Callable[[str, Value], tuple[str, bytes]]  # an address and a value -> the cell's type and its content


class RowWriter:
    """Writes copies of one row whose cells are `cells`.

    `typed` and `cached` give a cell's type and content, for a value that is typed in and for that of a formula;
    `prefix` is that of the sheet's elements.
    """

    def __init__(self, cells: Sequence[TemplateCell], typed: Written, cached: Written, prefix: bytes) -> None:
        self._typed, self._cached, self._prefix = typed, cached, prefix
        self._cells = {cell.column: cell for cell in cells}
        self._heads: dict[tuple[int, str], list[bytes]] = {}

    def write(self, row: NewRow, computed: Values) -> bytes:
        """The row's element; `computed` are the values of its formulas, as far as they are known.

        Raises UserError for a value that no cell can hold.
        """
        number, mark, nothing = b"%d" % row.number, self._prefix, TemplateCell(0, b"", None)
        pieces, close = [b'<%brow r="%b">' % (mark, number)], b"</%bc>" % mark
        for column in sorted(self._cells.keys() | row.typed.keys()):
            cell = self._cells.get(column, nothing)
            if cell.formula is not None:
                type_, content = self._cached("", computed.get(column))
            elif cell.style or row.typed.get(column) is not None:
                type_, content = self._typed(f"{column_letters(column)}{row.number}", row.typed.get(column))
            else:
                continue
            head = self._heads.get((column, type_))
            if head is None:
                head = self._head(column, cell, type_, row.number)
                if cell.formula is None or cell.formula.reads_own_row:
                    self._heads[column, type_] = head
            pieces += number.join(head), content, close
        pieces.append(b"</%brow>" % mark)
        return b"".join(pieces)

    def _head(self, column: int, cell: TemplateCell, type_: str, row: int) -> list[bytes]:
        """All of a cell up to its value, cut where the number of the row stands."""
        mark, kind = self._prefix, b"" if type_ == "n" else b' t="%b"' % type_.encode()
        start, after = b'<%bc r="%b' % (mark, column_letters(column).encode()), b'"%b%b>' % (cell.style, kind)
        if cell.formula is None:
            return [start, after]
        is_shared = cell.formula.reads_own_row
        texts = [escaped(text).encode() for text in (cell.formula.texts if is_shared else [cell.formula.at(row)])]
        texts[0] = after + b"<%bf>" % mark + texts[0]
        texts[-1] += b"</%bf>" % mark
        return [start, *texts]
