"""Puts values and rows into a sheet's XML: only changed cells are touched, and every other byte stays."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.errors import Place, UserError
from planner.xlsx.address import Area, Position, address, coordinates
from planner.xlsx.cell import Cell, Span
from planner.xlsx.cellvalue import CellFormula, Value, same_value, written_value
from planner.xlsx.markup import Edit, apply_edits, element_end, escaped, inside, is_empty, retagged, tag_end
from planner.xlsx.sheetxml import SheetXml, TemplateCell

Content = Value | CellFormula
Values = Mapping[int, Value]  # column -> value

_TYPE_AND_METADATA = (b"t", b"vm", b"cm")
_TYPE_AND_RICH_VALUE = (b"t", b"vm")  # cm marks the formula as a dynamic array, whatever its value
_NOTHING = TemplateCell(None, None)


class NewRow(NamedTuple):
    """A row to add: its number, the row that it is a copy of, and typed values for its other cells."""

    number: int
    source: int
    typed: Values

    def with_typed(self, values: Mapping[str, Value]) -> NewRow:
        """The row with these values, by address, in cells that it types into."""
        at = {column: address(self.number, column) for column in self.typed}
        new = {column: values[ref] for column, ref in at.items() if ref in values}
        return self._replace(typed={**self.typed, **new}) if new else self


def with_values(
    sheet: SheetXml,
    values: Mapping[str, Content],
    like: Mapping[str, str] | None = None,
    cached: Mapping[str, Value] | None = None,
    rows: Sequence[NewRow] = (),
    of_rows: Mapping[str, Value] | None = None,
) -> bytes:
    """The XML of a sheet with `values` typed in, None for an empty cell; missing cells and rows are added.

    `like` maps new cells to the cell whose style they take; only new cells may get a formula. `cached` are values of
    formulas as in `with_cached`, also of new formulas and of the new `rows`, for which `of_rows` has most. Raises
    UserError for a cell with a formula, and for a value that no cell can hold.
    """
    known, writer, new = cached or {}, _Writer(sheet), {row.number for row in rows}
    old = {ref: known[ref] for ref in known if ref not in values and coordinates(ref)[0] not in new}
    writer.put_cached(old)
    for ref, value in values.items():
        writer.put(ref, value, (like or {}).get(ref), known.get(ref))
    every = {**(of_rows or {}), **known}
    for row in rows:
        writer.put_row(row, every)
    return writer.xml()


def with_cached(sheet: SheetXml, values: Mapping[str, Value]) -> bytes:
    """The XML of a sheet with other cached values in formula cells, None for no value.

    A cell that has the value already keeps its bytes. Raises ValueError for a cell without a formula.
    """
    writer = _Writer(sheet)
    writer.put_cached(values)
    return writer.xml()


class _Writer:
    """Collects the changes to a sheet's XML: edits of existing cells, and missing cells and rows by position."""

    def __init__(self, sheet: SheetXml) -> None:
        self._sheet, self._xml = sheet, sheet.xml
        self._edits: list[Edit] = []
        self._cells: dict[Position, bytes] = {}
        self._rows: dict[int, bytes] = {}
        self._corners: list[Position] = []  # of the new rows
        self._templates: dict[int, Mapping[int, TemplateCell]] = {}

    def put(self, ref: str, value: Content, source: str | None, cached: Value) -> None:
        """Type a value into a cell, with the style of the cell `source` if given."""
        if self._sheet.is_computed(ref):
            raise UserError("the cell holds a formula, which is not overwritten", place=Place(cell=ref))
        cell, like = self._sheet.cell(ref), self._sheet.cell(source) if source else None
        style = like.style if like is not None else None
        if cell is None:
            if value is not None or style is not None:
                self._cells[coordinates(ref)] = self._new_cell(ref, value, style, cached)
        elif source is not None:
            whole = element_end(self._xml, *cell.span)
            self._edits.append(Edit(cell.span[0], whole, self._new_cell(ref, value, style, cached)))
        else:
            assert not isinstance(value, CellFormula), "a formula is put into a cell made like another"
            self._edits.append(self._rewritten(cell, *self._typed(ref, value), _TYPE_AND_METADATA))

    def put_cached(self, values: Mapping[str, Value]) -> None:
        """Replace the cached values of formulas."""
        for ref, value in values.items():
            cell = self._sheet.cell(ref)
            if cell is None or not (cell.kind or self._sheet.is_computed(ref)):
                raise ValueError(f"{ref} has no formula")
            if not same_value(cell.value, value):
                self._edits.append(self._rewritten(cell, *self._cached(value), _TYPE_AND_RICH_VALUE))

    def put_row(self, row: NewRow, cached: Mapping[str, Value]) -> None:
        """Add a copy of a row; `cached` has the known values of its formulas."""
        if row.source not in self._templates:
            self._templates[row.source] = self._sheet.template(row.source)
        cells = self._templates[row.source]
        made: list[bytes] = []
        for column in sorted(cells.keys() | row.typed.keys()):
            (style, formula), value = cells.get(column, _NOTHING), row.typed.get(column)
            ref = address(row.number, column)
            if formula is not None:
                made.append(self._cell(ref, style, *self._computed(formula.xml_at(row.number), cached.get(ref))))
            elif value is not None or style is not None:
                made.append(self._cell(ref, style, *self._typed(ref, value)))
        self._rows[row.number] = self._new_row(row.number, made)
        if row.typed:
            self._corners += (row.number, min(row.typed)), (row.number, max(row.typed))

    def xml(self) -> bytes:
        """The sheet with all changes."""
        return apply_edits(self._xml, [*self._edits, *self._inserted(), *self._grown()])

    def _element(self, tag: bytes, content: bytes, attributes: bytes = b"") -> bytes:
        name = self._sheet.prefix + tag
        return b"<%b%b>%b</%b>" % (name, attributes, content, name)

    def _cached(self, value: Value) -> tuple[str, bytes]:
        """The type and content of a formula cell with this value."""
        if value is None:
            return "n", b""
        type_, text = written_value(value)
        return type_, self._element(b"v", text)

    def _typed(self, ref: str, value: Value) -> tuple[str, bytes]:
        """The type and content of a cell with this typed value; a text becomes an inline string."""
        try:
            type_, content = self._cached(value)
        except UserError as error:
            raise UserError(error.what, place=Place(cell=ref), remedy=error.remedy) from error
        if not isinstance(value, str):
            return type_, content
        space = b' xml:space="preserve"' if value != value.strip() else b""
        return "inlineStr", self._element(b"is", self._element(b"t", written_value(value)[1], space))

    def _computed(self, formula: bytes, cached: Value) -> tuple[str, bytes]:
        """The type and content of a cell with this formula and its value."""
        type_, content = self._cached(cached)
        return type_, self._element(b"f", formula) + content

    def _new_cell(self, ref: str, value: Content, style: int | None, cached: Value) -> bytes:
        if isinstance(value, CellFormula):
            return self._cell(ref, style, *self._computed(escaped(value.text).encode(), cached))
        return self._cell(ref, style, *self._typed(ref, value))

    def _cell(self, ref: str, style: int | None, type_: str, content: bytes) -> bytes:
        look = b"" if style is None else b' s="%d"' % style
        kind = b"" if type_ == "n" else b' t="%b"' % type_.encode()
        return self._element(b"c", content, b' r="%b"%b%b' % (ref.encode(), look, kind))

    def _new_row(self, number: int, cells: Iterable[bytes]) -> bytes:
        return self._element(b"row", b"".join(cells), b' r="%d"' % number)

    def _rewritten(self, cell: Cell, type_: str, content: bytes, drop: tuple[bytes, ...]) -> Edit:
        """Replace a cell's type and content; its style, formula and everything else stay."""
        xml, start, end = self._xml, cell.span[0], tag_end(self._xml, cell.span[0])
        tag = xml[start:end]
        if type_ != cell.type or b"m" in tag:  # only vm and cm contain an m
            tag = retagged(tag, drop, {} if type_ == "n" else {b"t": type_.encode()})
        if is_empty(xml, end):
            return Edit(start, end, inside(tag, content))
        if cell.value_span is not None:
            at, stop = cell.value_span[0], element_end(xml, *cell.value_span)
        else:
            at = stop = element_end(xml, *cell.formula_span) if cell.formula_span else end
        return Edit(start, stop, tag + xml[end:at] + content)

    def _inserted(self) -> Iterator[Edit]:
        """The edits that insert missing cells and rows in their places."""
        rows, new_rows = self._sheet.rows, dict(self._rows)
        by_row: dict[int, dict[int, bytes]] = {}
        for (row, column), xml in sorted(self._cells.items()):
            by_row.setdefault(row, {})[column] = xml
        for row, cells in by_row.items():
            if row in rows:
                present = {column: cell.span[0] for column, cell in self._sheet.row(row).items()}
                yield from self._with_children(rows[row], present, cells)
            else:
                new_rows[row] = self._new_row(row, cells.values())
        places = {number: span[0] for number, span in rows.items()}
        yield from self._with_children(self._sheet.data, places, dict(sorted(new_rows.items())))

    def _with_children(self, parent: Span, present: Mapping[int, int], new: Mapping[int, bytes]) -> Iterator[Edit]:
        """Insert elements, by number, into `parent`, each before the first existing one with a greater number."""
        start, end = parent[0], tag_end(self._xml, parent[0])
        if is_empty(self._xml, end):
            yield Edit(start, end, inside(self._xml[start:end], b"".join(new.values())))
            return
        numbers = list(present)
        for number, xml in new.items():
            later = bisect(numbers, number)
            at = present[numbers[later]] if later < len(numbers) else parent[1]
            yield Edit(at, at, xml)

    def _grown(self) -> Iterator[Edit]:
        """The edit that extends the sheet's declared dimension to new cells; some readers stop at it."""
        made = [*self._cells, *self._corners]
        if not made or self._sheet.dimension is None:
            return
        old, span = self._sheet.dimension
        rows, columns = zip(*made, strict=True)
        new = old.including(Area(min(rows), min(columns), max(rows), max(columns)))
        if new != old:
            end = tag_end(self._xml, span[0])
            yield Edit(span[0], end, retagged(self._xml[span[0] : end], (), {b"ref": str(new).encode()}))
