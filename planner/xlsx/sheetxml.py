"""Values put into one sheet's XML: only the cells that change are touched, every other byte stays."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from planner.errors import Place, UserError
from planner.xlsx.address import Area, column_letters, coordinates
from planner.xlsx.cell import Cell, Span
from planner.xlsx.cellvalue import Formula, Value, same_value, written_value
from planner.xlsx.markup import Edit, apply_edits, element_end, escaped, inside, is_empty, prefix, retagged, tag_end
from planner.xlsx.moving import Downward, downward, moved
from planner.xlsx.newrows import NewRow, RowWriter, TemplateCell, Values
from planner.xlsx.quickscan import QuickCell
from planner.xlsx.sheetscan import Scan

Content = Value | Formula

_DIGITS = "0123456789"
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
        if scan.quick.has_twins if scan.quick else len(self.cells) != len(scan.cells):
            raise UserError("the sheet has a cell twice")
        self._known: dict[str, Cell | None] = {}
        self._loaded: set[str] = set()  # the columns of which every cell is known
        self.arrays = scan.arrays
        self.is_plain = scan.is_plain  # its cells are written as every program writes them, with no comment between

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """Every cell by its address, in the order of the file; of a large sheet `cell` reads some more quickly."""
        return {cell.ref: cell for cell in self._scan.cells}

    def cell(self, ref: str) -> Cell | None:
        """One cell; None where the file has none at this address."""
        if ref in self._known:
            return self._known[ref]
        quick = self._scan.quick
        if quick is None or "cells" in self.__dict__:
            return self.cells.get(ref)
        found = None if ref.rstrip(_DIGITS) in self._loaded else quick.cell(ref)
        self._known[ref] = found
        return found

    def load(self, columns: Iterable[int]) -> None:
        """Read the cells of some columns at once, for `cell` to give: a large sheet has many more."""
        wanted = {column_letters(column) for column in columns} - self._loaded
        if wanted and self._scan.quick is not None and "cells" not in self.__dict__:
            self._known.update(self._scan.quick.columns(sorted(wanted)))
            self._loaded |= wanted

    def with_values(
        self, values: Mapping[str, Content], like: Mapping[str, str] | None = None,
        cached: Mapping[str, Value] | None = None, rows: Sequence[NewRow] = (),
        computed: Mapping[int, Values] | None = None,
    ) -> bytes:  # fmt: skip
        """The sheet with `values` typed in, None for an empty cell; missing cells and rows are made.

        `like` gives a cell the format of another one, new cell -> old cell; a formula is for such a cell only.
        `cached` are values of formulas, old or new, as `with_cached` takes them.
        `rows` are new rows, and `computed` the values of their formulas, by row and column.
        Raises UserError for a cell that a formula fills, and for a value that no cell can hold.
        """
        known = cached or {}
        edits: list[Edit] = self._cache({ref: known[ref] for ref in known if ref not in values})
        missing: list[tuple[int, int, str]] = []
        looks = {source: self._style(source) for source in set((like or {}).values())}
        styles = {ref: looks[source] for ref, source in (like or {}).items()}
        new_rows = not self.arrays  # or a formula may fill cells of a row that isn't there
        for ref, value in values.items():
            column = ref.rstrip(_DIGITS)
            if new_rows and int(ref[len(column) :]) not in self._positions:
                if value is not None or styles.get(ref):
                    missing.append((*coordinates(ref), ref))
                continue
            cell = self.cell(ref)
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
        ends = [(row.number, column, "") for row in rows for column in (min(row.typed), max(row.typed)) if row.typed]
        return apply_edits(
            self.xml,
            [*edits, *self._insert(missing, new, self._copied(rows, computed or {})), *self._grow([*missing, *ends])],
        )

    def _copied(self, rows: Iterable[NewRow], computed: Mapping[int, Values]) -> list[tuple[int, bytes]]:
        """The numbers and the elements of new rows."""
        writers: dict[int, RowWriter] = {}
        found = []
        for row in rows:
            if row.source not in writers:
                cells = self.template(row.source)
                writers[row.source] = RowWriter(cells, self._typed, lambda _, value: self._cached(value), self._prefix)
            found.append((row.number, writers[row.source].write(row, computed.get(row.number, {}))))
        return found

    def with_cached(self, values: Mapping[str, Value]) -> bytes:
        """The sheet with cached values in cells that a formula fills, None for no value.

        A cell that has the value already keeps its bytes. Raises ValueError for a cell without a formula.
        """
        return apply_edits(self.xml, self._cache(values))

    def _cache(self, values: Mapping[str, Value]) -> list[Edit]:
        edits: list[Edit] = []
        for ref, value in values.items():
            cell = self.cell(ref)
            if cell is None or not self.is_computed(ref):
                raise ValueError(f"{ref} has no formula")
            if not same_value(cell.value, value):
                type_, content = self._cached(value)
                edits += self._rewrite(cell, type_, content, _TYPE_AND_RICH_VALUE)
        return edits

    def is_computed(self, ref: str) -> bool:
        """Whether the cell has a formula, or lies in the range of an array formula or a data table."""
        cell = self.cell(ref)
        if cell is not None and cell.kind:
            return True
        return bool(self.arrays) and any(area.covers(*coordinates(ref)) for area in self.arrays.values())

    def template(self, number: int) -> list[TemplateCell]:
        """The cells of a row, ready to be copied into rows below it."""
        return [
            TemplateCell(coordinates(ref)[1], self._style(ref), self.formula_below(ref))
            for ref, _ in self.cells_of_row(number)
        ]  # fmt: skip

    def formula_below(self, ref: str) -> Downward | None:
        """A cell's own formula as it reads in another row below; None where it has none, or one that fills several.

        Of a shared formula only the first cell holds the text.
        """
        cell = self.cell(ref)
        if cell is None or cell.formula is None or cell.kind not in ("normal", "shared"):
            return None
        holder = cell if cell.formula else self._masters.get(self._shared_number(cell))
        if holder is None:
            return None
        here = holder.formula or ""
        return downward(here if holder is cell else moved(here, holder.ref, ref), ref)

    def cells_of_row(self, number: int) -> list[tuple[str, Cell]]:
        """The cells of a row by address, from left to right."""
        position = self._positions.get(number)
        return [] if position is None else [(cell.ref, cell) for cell in self._row(position)]

    @property
    def row_numbers(self) -> list[int]:
        """The numbers of the rows that the file has, from the top down."""
        return [row.number for row in self._scan.rows] if self.is_plain else sorted(self._grid)

    @property
    def row_spans(self) -> list[tuple[int, int, int]]:
        """The number of each row that the file has, and where the row starts and ends in the XML."""
        return [(row.number, *row.span) for row in self._scan.rows]

    def row(self, number: int) -> dict[int, Cell]:
        """The cells of a row by column."""
        if not self.is_plain:
            return self._grid.get(number, {})
        return {coordinates(ref)[1]: cell for ref, cell in self.cells_of_row(number)}

    @property
    def n_formulas(self) -> int:
        """How many cells have a formula."""
        if self.is_plain:
            return sum(self.xml.count(start) for start in (b"<f>", b"<f ", b"<f/>"))
        return sum(bool(cell.kind) for cell in self._scan.cells)

    @cached_property
    def _grid(self) -> dict[int, dict[int, Cell]]:
        """The cells by row and by column."""
        found: dict[int, dict[int, Cell]] = {}
        for ref, cell in self.cells.items():
            row, column = coordinates(ref)
            found.setdefault(row, {})[column] = cell
        return found

    @cached_property
    def _positions(self) -> dict[int, int]:
        """Row number -> its place among the rows."""
        return {row.number: position for position, row in enumerate(self._scan.rows)}

    def _row(self, position: int) -> Sequence[Cell]:
        """The cells of a row by its place."""
        rows, quick = self._scan.rows, self._scan.quick
        if quick is not None:
            return quick.cells_of_row(rows[position])
        stop = rows[position + 1].first if position + 1 < len(rows) else len(self._scan.cells)
        return self._scan.cells[rows[position].first : stop]

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
        cell = self.cell(ref)
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

    def _insert(
        self, missing: list[tuple[int, int, str]], new: Mapping[str, bytes], made: Iterable[tuple[int, bytes]]
    ) -> Iterator[Edit]:
        """Cells that the file lacks (`missing`, in order), and rows `made`, each in its place."""
        rows = [(row.number, row.span[0]) for row in self._scan.rows]
        known = self._positions
        new_rows: list[tuple[int, bytes]] = list(made)
        for number, group in groupby(missing, key=itemgetter(0)):
            cells = [(column, new[ref]) for _, column, ref in group]
            if number not in known:
                content = b"".join(xml for _, xml in cells)
                new_rows.append((number, self._element(b"row", content, b' r="%d"' % number)))
                continue
            position = known[number]
            yield from self._add_children(self._scan.rows[position].span, self._columns(position), cells)
        yield from self._add_children(self._scan.data, rows, sorted(new_rows))

    def _columns(self, position: int) -> list[tuple[int, int]]:
        """The columns of a row's cells, and where each cell starts."""
        return [(coordinates(cell.ref)[1], cell.span[0]) for cell in self._row(position)]

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
            content = self._element(b"f", escaped(value.text).encode()) + content
        else:
            type_, content = self._typed(ref, value)
        kind = b"" if type_ == "n" else b' t="%b"' % type_.encode()
        return self._element(b"c", content, b' r="%b"' % ref.encode() + style + kind)

    def _grow(self, missing: list[tuple[int, int, str]]) -> Iterator[Edit]:
        """Widen the sheet's declared dimension to the cells that were made: some readers stop at it."""
        if not missing or self._scan.dimension is None:
            return
        old, span = self._scan.dimension
        columns = [column for _, column, _ in missing]
        numbers = [row for row, _, _ in missing]
        new = old.including(Area(min(numbers), min(columns), max(numbers), max(columns)))
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
