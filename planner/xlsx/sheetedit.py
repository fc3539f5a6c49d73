"""Values put into one sheet's XML: only the cells that change are touched, every other byte stays."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from planner.errors import Place, UserError
from planner.xlsx.address import Area, coordinates
from planner.xlsx.cell import Cell, Span
from planner.xlsx.cellvalue import Formula, Value, same_value, written_value
from planner.xlsx.markup import Edit, apply_edits, element_end, escaped, inside, is_empty, retagged, tag_end
from planner.xlsx.newrows import NewRow, RowWriter, Values
from planner.xlsx.sheetxml import SheetXml

Content = Value | Formula

_TYPE_AND_METADATA = (b"t", b"vm", b"cm")
_TYPE_AND_RICH_VALUE = (b"t", b"vm")  # cm marks the formula as a dynamic array, whatever its value


def with_values(
    sheet: SheetXml, values: Mapping[str, Content], like: Mapping[str, str] | None = None,
    cached: Mapping[str, Value] | None = None, rows: Sequence[NewRow] = (),
    computed: Mapping[int, Values] | None = None,
) -> bytes:  # fmt: skip
    """The XML of a sheet with `values` typed in, None for an empty cell; missing cells and rows are made.

    `like` gives a cell the format of another one, new cell -> old cell; a formula is for such a cell only.
    `cached` are values of formulas, old or new, as `with_cached` takes them.
    `rows` are new rows, and `computed` the values of their formulas, by row and column.
    Raises UserError for a cell that a formula fills, and for a value that no cell can hold.
    """
    return apply_edits(sheet.xml, _Writer(sheet).typed(values, like or {}, cached or {}, rows, computed or {}))


def with_cached(sheet: SheetXml, values: Mapping[str, Value]) -> bytes:
    """The XML of a sheet with cached values in cells that a formula fills, None for no value.

    A cell that has the value already keeps its bytes. Raises ValueError for a cell without a formula.
    """
    return apply_edits(sheet.xml, _Writer(sheet).cached(values))


class _Writer:
    """What is to be put into the XML of one sheet, edit by edit."""

    def __init__(self, sheet: SheetXml) -> None:
        self._sheet, self._xml = sheet, sheet.xml

    def typed(
        self, values: Mapping[str, Content], like: Mapping[str, str], known: Mapping[str, Value],
        rows: Sequence[NewRow], computed: Mapping[int, Values],
    ) -> list[Edit]:  # fmt: skip
        """What is typed in, values of formulas, and new rows."""
        edits: list[Edit] = self.cached({ref: known[ref] for ref in known if ref not in values})
        missing: list[tuple[int, int, str]] = []
        looks = {source: self._sheet.style(source) for source in set(like.values())}
        styles = {ref: looks[source] for ref, source in like.items()}
        new_rows = not self._sheet.arrays  # or a formula may fill cells of a row that isn't there
        for ref, value in values.items():
            if new_rows and coordinates(ref)[0] not in self._sheet.row_places:
                if value is not None or styles.get(ref):
                    missing.append((*coordinates(ref), ref))
                continue
            cell = self._sheet.cell(ref)
            if self._sheet.is_computed(ref):
                raise UserError("the cell holds a formula, which is not overwritten", place=Place(cell=ref))
            if cell is None:
                if value is not None or styles.get(ref):
                    missing.append((*coordinates(ref), ref))
            elif ref in styles:
                whole = element_end(self._xml, *cell.span)
                edits.append(Edit(cell.span[0], whole, self._new_cell(ref, value, styles[ref], known.get(ref))))
            else:
                assert not isinstance(value, Formula), "a formula is put into a cell made like another"
                edits += self._rewrite(cell, *self._typed(ref, value), _TYPE_AND_METADATA)
        missing.sort()
        new = {ref: self._new_cell(ref, values[ref], styles.get(ref, b""), known.get(ref)) for *_, ref in missing}
        ends = [(row.number, column, "") for row in rows for column in (min(row.typed), max(row.typed)) if row.typed]
        return [*edits, *self._insert(missing, new, self._copied(rows, computed)), *self._grow([*missing, *ends])]

    def _copied(self, rows: Iterable[NewRow], computed: Mapping[int, Values]) -> list[tuple[int, bytes]]:
        """The numbers and the elements of new rows."""

        def cached(_ref: str, value: Value) -> tuple[str, bytes]:
            return self._cached(value)

        writers: dict[int, RowWriter] = {}
        found = []
        for row in rows:
            if row.source not in writers:
                cells = self._sheet.template(row.source)
                writers[row.source] = RowWriter(cells, self._typed, cached, self._sheet.prefix)
            found.append((row.number, writers[row.source].write(row, computed.get(row.number, {}))))
        return found

    def cached(self, values: Mapping[str, Value]) -> list[Edit]:
        """Values of formulas."""
        edits: list[Edit] = []
        for ref, value in values.items():
            cell = self._sheet.cell(ref)
            if cell is None or not self._sheet.is_computed(ref):
                raise ValueError(f"{ref} has no formula")
            if not same_value(cell.value, value):
                type_, content = self._cached(value)
                edits += self._rewrite(cell, type_, content, _TYPE_AND_RICH_VALUE)
        return edits

    def _element(self, tag: bytes, content: bytes, attributes: bytes = b"") -> bytes:
        name = self._sheet.prefix + tag
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
        if whole := cell.rewritten(type_, content, drop):
            yield whole
            return
        start, end = cell.span[0], tag_end(self._xml, cell.span[0])
        tag = self._xml[start:end]
        if type_ != cell.type or b"m" in tag:  # vm and cm are all that has an m, so this is seldom in vain
            tag = retagged(tag, drop, {} if type_ == "n" else {b"t": type_.encode()})
        if is_empty(self._xml, end):
            yield Edit(start, end, inside(tag, content))
            return
        if tag != self._xml[start:end]:
            yield Edit(start, end, tag)
        if cell.value_span is not None:
            yield Edit(cell.value_span[0], element_end(self._xml, *cell.value_span), content)
        else:
            at = element_end(self._xml, *cell.formula_span) if cell.formula_span else end
            yield Edit(at, at, content)

    def _insert(
        self, missing: list[tuple[int, int, str]], new: Mapping[str, bytes], made: Iterable[tuple[int, bytes]]
    ) -> Iterator[Edit]:
        """Cells that the file lacks (`missing`, in order), and rows `made`, each in its place."""
        rows = [(row.number, row.span[0]) for row in self._sheet.scan.rows]
        known = self._sheet.row_places
        new_rows: list[tuple[int, bytes]] = list(made)
        for number, group in groupby(missing, key=itemgetter(0)):
            cells = [(column, new[ref]) for _, column, ref in group]
            if number not in known:
                content = b"".join(xml for _, xml in cells)
                new_rows.append((number, self._element(b"row", content, b' r="%d"' % number)))
                continue
            position = known[number]
            yield from self._add_children(self._sheet.scan.rows[position].span, self._columns(position), cells)
        yield from self._add_children(self._sheet.scan.data, rows, sorted(new_rows))

    def _columns(self, position: int) -> list[tuple[int, int]]:
        """The columns of a row's cells, and where each cell starts."""
        return [(coordinates(cell.ref)[1], cell.span[0]) for cell in self._sheet.cells_at(position)]

    def _add_children(
        self, parent: Span, present: list[tuple[int, int]], new: list[tuple[int, bytes]]
    ) -> Iterator[Edit]:
        """Put numbered elements into `parent`, each before the first present one of a greater number."""
        start, end = parent[0], tag_end(self._xml, parent[0])
        if is_empty(self._xml, end):
            yield Edit(start, end, inside(self._xml[start:end], b"".join(xml for _, xml in new)))
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
        if not missing or self._sheet.scan.dimension is None:
            return
        old, span = self._sheet.scan.dimension
        columns = [column for _, column, _ in missing]
        numbers = [row for row, _, _ in missing]
        new = old.including(Area(min(numbers), min(columns), max(numbers), max(columns)))
        if new != old:
            end = tag_end(self._xml, span[0])
            yield Edit(span[0], end, retagged(self._xml[span[0] : end], (), {b"ref": str(new).encode()}))
