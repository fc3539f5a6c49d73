"""Values put into one sheet's XML: only the cells that change are touched, every other byte stays."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from xml.sax.saxutils import escape

from planner.errors import Place, UserError
from planner.xlsx.address import Area, column_number, coordinates
from planner.xlsx.cell import Cell, Span
from planner.xlsx.cellvalue import Formula, Value, same_value, written_value
from planner.xlsx.markup import Edit, apply_edits, element_end, inside, is_empty, prefix, retagged, tag_end
from planner.xlsx.moving import moved
from planner.xlsx.quickscan import QuickCell
from planner.xlsx.sheetscan import Scan

Content = Value | Formula

_SHARED = re.compile(rb"""\ssi\s*=\s*["']([0-9]+)""")
_STYLE = re.compile(rb"""\ss\s*=\s*("[0-9]+"|'[0-9]+')""")
_TYPE_AND_METADATA = (b"t", b"vm", b"cm")
_TYPE_AND_RICH_VALUE = (b"t", b"vm")  # cm marks the formula as a dynamic array, whatever its value


class SheetXml:
    """A sheet's XML and the cells in it, by address.

    `arrays` are the ranges that one cell's formula fills; the other cells in them look like typed ones.
    Raises UserError for XML that is not sound.
    """

    def __init__(self, xml: bytes, strings: Sequence[str] = ()) -> None:
        self.xml, self.strings = xml, strings
        self._scan = scan = Scan(xml, strings)
        self._prefix = prefix(xml, scan.data[0])
        self.cells: dict[str, Cell] = {cell.ref: cell for cell in scan.cells}
        if len(self.cells) != len(scan.cells):
            raise UserError("the sheet has a cell twice")
        self.arrays = scan.arrays
        self.is_plain = scan.is_plain  # its cells are written as every program writes them, with no comment between

    def with_values(
        self, values: Mapping[str, Content], like: Mapping[str, str] | None = None,
        cached: Mapping[str, Value] | None = None,
    ) -> bytes:  # fmt: skip
        """The sheet with `values` typed in, None for an empty cell; missing cells and rows are made.

        `like` gives a cell the format of another one, new cell -> old cell; a formula is for such a cell only.
        `cached` are values of formulas, old or new, as `with_cached` takes them.
        Raises UserError for a cell that a formula fills, and for a value that no cell can hold.
        """
        known = cached or {}
        edits: list[Edit] = self._cache({ref: known[ref] for ref in known if ref not in values})
        missing: list[tuple[int, int, str]] = []
        styles = {ref: self._style(source) for ref, source in (like or {}).items()}
        for ref, value in values.items():
            cell = self.cells.get(ref)
            if self.is_computed(ref):
                raise UserError("the cell holds a formula, which is not overwritten", place=Place(cell=ref))
            if cell is None:
                if value is not None or styles.get(ref):
                    missing.append((*coordinates(ref), ref))
            elif ref in styles:
                whole = element_end(self.xml, *cell.span)
                edits.append(Edit(cell.span[0], whole, self._new_cell(ref, value, styles[ref], known.get(ref))))
            else:
                assert not isinstance(value, Formula), "a formula is put into a cell made like another"
                edits += self._rewrite(cell, *self._typed(ref, value), _TYPE_AND_METADATA)
        missing.sort()
        new = {ref: self._new_cell(ref, values[ref], styles.get(ref, b""), known.get(ref)) for *_, ref in missing}
        return apply_edits(self.xml, [*edits, *self._insert(missing, new), *self._grow(missing)])

    def with_cached(self, values: Mapping[str, Value]) -> bytes:
        """The sheet with cached values in cells that a formula fills, None for no value.

        A cell that has the value already keeps its bytes. Raises ValueError for a cell without a formula.
        """
        return apply_edits(self.xml, self._cache(values))

    def _cache(self, values: Mapping[str, Value]) -> list[Edit]:
        edits: list[Edit] = []
        for ref, value in values.items():
            cell = self.cells[ref]
            if not self.is_computed(ref):
                raise ValueError(f"{ref} has no formula")
            if not same_value(cell.value, value):
                type_, content = self._cached(value)
                edits += self._rewrite(cell, type_, content, _TYPE_AND_RICH_VALUE)
        return edits

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or lies in the range of an array formula or a data table."""
        cell = self.cells.get(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def formula_at(self, ref: str, target: str) -> str | None:
        """A cell's own formula as it reads in `target`; None where it has none, or one that fills several cells.

        Of a shared formula only the first cell holds the text.
        """
        cell = self.cells[ref]
        if cell.formula is None or cell.kind not in ("normal", "shared"):
            return None
        holder = cell if cell.formula else self._masters.get(self._shared_number(cell))
        return None if holder is None else moved(holder.formula or "", holder.ref, target)

    def cells_of_row(self, number: int) -> list[tuple[str, Cell]]:
        """The cells of a row by address, from left to right."""
        rows, cells = self._scan.rows, self._scan.cells
        at = next((at for at, row in enumerate(rows) if row.number == number), None)
        if at is None:
            return []
        stop = rows[at + 1].first if at + 1 < len(rows) else len(cells)
        return [(cell.ref, cell) for cell in cells[rows[at].first : stop]]

    @property
    def n_formulas(self) -> int:
        """How many cells have a formula."""
        if self.is_plain:
            return sum(self.xml.count(start) for start in (b"<f>", b"<f ", b"<f/>"))
        return sum(bool(cell.kind) for cell in self._scan.cells)

    def grid(self) -> dict[int, dict[int, Cell]]:
        """The cells by row and by column."""
        found: dict[int, dict[int, Cell]] = {}
        if not self.is_plain:
            for ref, cell in self.cells.items():
                row, column = coordinates(ref)
                found.setdefault(row, {})[column] = cell
            return found
        stops = [*(each.first for each in self._scan.rows[1:]), len(self._scan.cells)]
        for each, stop in zip(self._scan.rows, stops, strict=False):
            digits = len(str(each.number))
            found[each.number] = {
                column_number(cell.ref[:-digits]): cell for cell in self._scan.cells[each.first : stop]
            }  # fmt: skip
        return found

    @cached_property
    def _masters(self) -> dict[bytes, Cell]:
        """The first cell of each shared formula, by the number that its other cells name."""
        return {self._shared_number(cell): cell for cell in self._scan.cells if cell.kind == "shared" and cell.formula}

    def _shared_number(self, cell: Cell) -> bytes:
        assert cell.formula_span is not None, "a shared formula has an element"
        start = cell.formula_span[0]
        match = _SHARED.search(self.xml[start : tag_end(self.xml, start)])
        return match[1] if match else b""

    def _style(self, ref: str) -> bytes:
        """The attribute of a cell that names its format, with a blank before it; nothing where it has none."""
        cell = self.cells.get(ref)
        tag = self.xml[cell.span[0] : tag_end(self.xml, cell.span[0])] if cell else b""
        match = _STYLE.search(tag)
        return match[0] if match else b""

    def filled_by(self, ref: str) -> list[str]:
        """The cells of the file that the formula in `ref` fills: itself, or an array's whole range."""
        area = self.arrays.get(ref)
        if area is None:
            return [ref]
        return [other for other in self.cells if area.covers(*coordinates(other))]

    def _element(self, tag: bytes, content: bytes, attributes: bytes = b"") -> bytes:
        name = self._prefix + tag
        return b"<%b%b>%b</%b>" % (name, attributes, content, name)

    def _cached(self, value: Value) -> tuple[str, bytes]:
        """The type and the content of a formula cell with this value."""
        if value is None:
            return "n", b""
        type_, text = written_value(value)
        return type_, self._element(b"v", text)

    def _typed(self, ref: str, value: Value) -> tuple[str, bytes]:
        """The type and the content of a cell with this value typed in: a text stands in the cell itself."""
        try:
            type_, content = self._cached(value)
        except UserError as error:
            raise UserError(error.what, place=Place(cell=ref), remedy=error.remedy) from error
        if not isinstance(value, str):
            return type_, content
        space = b' xml:space="preserve"' if value != value.strip() else b""
        return "inlineStr", self._element(b"is", self._element(b"t", written_value(value)[1], space))

    def _rewrite(self, cell: Cell, type_: str, content: bytes, drop: tuple[bytes, ...]) -> Iterator[Edit]:
        """Give a cell another type and content; its style, its formula and what else it has stay."""
        if isinstance(cell, QuickCell):
            yield cell.rewritten(type_, content, drop)
            return
        start, end = cell.span[0], tag_end(self.xml, cell.span[0])
        tag = self.xml[start:end]
        if type_ != cell.type or b"m" in tag:  # vm and cm are all that has an m, so this is seldom in vain
            tag = retagged(tag, drop, {} if type_ == "n" else {b"t": type_.encode()})
        if is_empty(self.xml, end):
            yield Edit(start, end, inside(tag, content))
            return
        if tag != self.xml[start:end]:
            yield Edit(start, end, tag)
        if cell.value_span is not None:
            yield Edit(cell.value_span[0], element_end(self.xml, *cell.value_span), content)
        else:
            at = element_end(self.xml, *cell.formula_span) if cell.formula_span else end
            yield Edit(at, at, content)

    def _insert(self, missing: list[tuple[int, int, str]], new: Mapping[str, bytes]) -> Iterator[Edit]:
        """Cells that the file lacks, each in its row and the row in its place; `missing` is in order."""
        rows = [(row.number, row.span[0]) for row in self._scan.rows]
        known = {row.number: position for position, row in enumerate(self._scan.rows)}
        new_rows: list[tuple[int, bytes]] = []
        for number, group in groupby(missing, key=itemgetter(0)):
            cells = [(column, new[ref]) for _, column, ref in group]
            if number not in known:
                content = b"".join(xml for _, xml in cells)
                new_rows.append((number, self._element(b"row", content, b' r="%d"' % number)))
                continue
            position = known[number]
            yield from self._add_children(self._scan.rows[position].span, self._columns(position), cells)
        yield from self._add_children(self._scan.data, rows, new_rows)

    def _columns(self, position: int) -> list[tuple[int, int]]:
        """The columns of a row's cells, and where each cell starts."""
        rows, cells = self._scan.rows, self._scan.cells
        stop = rows[position + 1].first if position + 1 < len(rows) else len(cells)
        return [(coordinates(cell.ref)[1], cell.span[0]) for cell in cells[rows[position].first : stop]]

    def _add_children(
        self, parent: Span, present: list[tuple[int, int]], new: list[tuple[int, bytes]]
    ) -> Iterator[Edit]:
        """Put numbered elements into `parent`, each before the first present one of a greater number."""
        start, end = parent[0], tag_end(self.xml, parent[0])
        if is_empty(self.xml, end):
            yield Edit(start, end, inside(self.xml[start:end], b"".join(xml for _, xml in new)))
            return
        for number, xml in new:
            later = bisect(present, (number, end))
            at = present[later][1] if later < len(present) else parent[1]
            yield Edit(at, at, xml)

    def _new_cell(self, ref: str, value: Content, style: bytes, cached: Value) -> bytes:
        if isinstance(value, Formula):
            type_, content = self._cached(cached)
            content = self._element(b"f", escape(value.text).encode()) + content
        else:
            type_, content = self._typed(ref, value)
        kind = b"" if type_ == "n" else b' t="%b"' % type_.encode()
        return self._element(b"c", content, b' r="%b"' % ref.encode() + style + kind)

    def _grow(self, missing: list[tuple[int, int, str]]) -> Iterator[Edit]:
        """Widen the sheet's declared dimension to the cells that were made: some readers stop at it."""
        if not missing or self._scan.dimension is None:
            return
        old, span = self._scan.dimension
        new = old
        for row, column, _ in missing:
            new = new.including(Area(row, column, row, column))
        if new != old:
            end = tag_end(self.xml, span[0])
            yield Edit(span[0], end, retagged(self.xml[span[0] : end], (), {b"ref": str(new).encode()}))


def read_cells(xml: bytes, strings: Sequence[str] = ()) -> list[Cell]:
    """The cells of a sheet in the order of the file. Raises UserError for XML that is not sound."""
    return Scan(xml, strings).cells


def set_values(xml: bytes, values: Mapping[str, Value]) -> bytes:
    """A sheet with values typed into cells that have no formula, as `SheetXml.with_values` does."""
    return SheetXml(xml).with_values(values)


def set_cached(xml: bytes, values: Mapping[str, Value]) -> bytes:
    """A sheet with new cached values in formula cells, as `SheetXml.with_cached` does."""
    return SheetXml(xml).with_cached(values)
