"""A worksheet's XML: its rows as bytes and the rest as a tree; and the widths of its columns."""

from __future__ import annotations

import re
from collections.abc import Collection
from copy import deepcopy

from planner.xlsx.address import MAX_COLUMN, Area
from planner.xlsx.moves import Track
from planner.xlsx.relationships import OFFICE
from planner.xlsx.xmltree import Element, child, children, parse, put_in_order, written

ORDER = (
    "sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "sheetCalcPr", "sheetProtection",
    "protectedRanges", "scenarios", "autoFilter", "sortState", "dataConsolidate", "customSheetViews", "mergeCells",
    "phoneticPr", "conditionalFormatting", "dataValidations", "hyperlinks", "printOptions", "pageMargins", "pageSetup",
    "headerFooter", "rowBreaks", "colBreaks", "customProperties", "cellWatches", "ignoredErrors", "smartTags",
    "drawing", "legacyDrawing", "legacyDrawingHF", "drawingHF", "picture", "oleObjects", "controls",
    "webPublishItems", "tableParts", "extLst",
)  # fmt: skip
"""The children of a worksheet, in the order that the schema wants."""
PLAIN_COLUMN = 64  # pixels of a column with the default width
MOST = 1000  # columns handled one by one, more than any sheet uses; a span beyond it covers the unused columns
_START = re.compile(rb"<((?:[\w.-]+:)?)sheetData\s*(/?)>")


def _sections(xml: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """A sheet's XML before its rows, the element with the rows, the XML after it, and the elements' prefix."""
    start = _START.search(xml)
    assert start is not None, "a sheet has rows"
    end = start.end()
    if not start[2]:
        end = xml.index(b">", xml.rindex(b"</%bsheetData" % start[1])) + 1
    return xml[: start.start()], xml[start.start() : end], xml[end:], start[1]


class Worksheet:
    """A worksheet to be edited: `root` is everything but its rows, which are bytes."""

    def __init__(self, xml: bytes) -> None:
        head, self.rows, tail, self.prefix = _sections(xml)
        self._old = xml
        self.root = parse(head + b"<%bsheetData/>" % self.prefix + tail)
        self._untouched = written(self.root), self.rows

    def xml(self) -> bytes:
        """The sheet's XML; unchanged bytes if nothing was changed."""
        new = written(self.root)
        if (new, self.rows) == self._untouched:
            return self._old
        head, _, tail, _ = _sections(new)
        return head + self.rows + tail

    def fill(self, rows: bytes, area: Area) -> None:
        """Replace the rows by these, given without the element around them, which fill `area`."""
        self.rows = b"<%bsheetData>%b</%bsheetData>" % (self.prefix, rows, self.prefix)
        if (dimension := child(self.root, "dimension")) is not None:
            dimension.set("ref", str(area))

    def put(self, new: Element) -> None:
        """Insert an element where the schema wants it, after others of its name."""
        put_in_order(self.root, new, ORDER)

    def link(self, name: str, identifier: str) -> None:
        """Refer to the part of a relationship: the `drawing`, or the notes' boxes, `legacyDrawing`."""
        element = self.root.makeelement(
            self.root.tag.replace("worksheet", name), {f"{{{OFFICE}}}id": identifier}, {**self.root.nsmap, "r": OFFICE}
        )
        self.put(element)


def as_wide(xml: bytes, source: int, target: int) -> bytes:
    """The sheet with column `target` as wide as `source`.

    A target with a width of its own keeps it; nothing changes if the source has none.
    """
    sheet = Worksheet(xml)
    spans = {_limits(found): found for found in _spans(sheet.root)}
    model = next((limits for limits in spans if limits[0] <= source <= limits[1]), None)
    own = next((limits for limits in spans if limits[0] <= target <= limits[1]), None)
    if model is None or own == model or (own is not None and own[0] == own[1]):
        return xml
    columns = {limits: spans[limits] for limits in spans if limits != own}
    if own is not None:
        left, right = (own[0], target - 1), (target + 1, own[1])
        columns |= {limits: spans[own] for limits in (left, right) if limits[0] <= limits[1]}
    columns[target, target] = wide = deepcopy(spans[model])
    wide.attrib.pop("collapsed", None)  # the source ends a group of columns left of it, the target doesn't
    _replace(sheet.root, [_at(columns[limits], *limits) for limits in sorted(columns)])
    return sheet.xml()


def take_widths(
    old: Element, fresh: Element, columns: Track, fresh_columns: Track, in_tables: Collection[Track] = ()
) -> None:
    """Move the old sheet's column widths with its columns, and take the fresh one's for new columns.

    `in_tables` says where the columns of its tables move apart from the sheet's. A column from which a table moves
    holds something else then, and is as wide and as closed as in the fresh sheet; so is one that ended a group which is
    longer now.
    """
    if child(old, "cols") is None:
        return
    own_widths = _widths_by_column(old)
    theirs = {fresh_columns(column): found for column, found in _widths_by_column(fresh).items()}
    placed = {columns(column): found for column, found in own_widths.items() if column not in columns.known} | theirs
    for column, found in own_widths.items():
        has_moved = any(column in track.gone or track(column) != columns(column) for track in in_tables)
        is_in_longer_group = _is(found, "collapsed") and _is(theirs.get(columns(column)), "outlineLevel")
        if column in columns.known and not has_moved and not is_in_longer_group:
            placed[columns(column)] = found
    _widen(old, placed)


def move_widths(root: Element, columns: Track) -> None:
    """Move the widths of a sheet's columns with the columns."""
    if child(root, "cols") is not None:
        _widen(
            root,
            {columns(column): found for column, found in _widths_by_column(root).items() if column not in columns.gone},
        )


def pixels(root: Element, column: int) -> float:
    """The width of a column on the screen, in pixels."""
    found = _widths_by_column(root).get(column)
    return PLAIN_COLUMN if found is None else 7 * float(found.get("width", 9)) + 5


def _is(column: Element | None, attribute: str) -> bool:
    """Whether a column is collapsed, or in a group: its attribute is no 0."""
    return column is not None and column.get(attribute, "0") not in ("0", "false")


def _widen(old: Element, placed: dict[int, Element]) -> None:
    """Set these widths by column, followed by the span that reaches the sheet's end, if there is one."""
    spans = _joined(placed)
    rest = next((found for found in _spans(old) if _limits(found)[1] > MOST), None)
    if rest is not None:
        first, last = _limits(rest)
        start = max([first, *(column + 1 for column in placed)])
        spans += [_at(rest, start, last)] if start <= last else []
    _replace(old, spans)


def _spans(root: Element) -> list[Element]:
    found = child(root, "cols")
    return children(found, "col") if found is not None else []


def _replace(root: Element, spans: list[Element]) -> None:
    found = child(root, "cols")
    for element in list(found):
        found.remove(element)
    found.extend(spans)


def _widths_by_column(root: Element) -> dict[int, Element]:
    """The `col` element of each column, except for a span that reaches the sheet's end."""
    found: dict[int, Element] = {}
    for element in _spans(root):
        first, last = _limits(element)
        if last <= MOST:
            found |= dict.fromkeys(range(first, last + 1), element)
    return found


def _limits(element: Element) -> tuple[int, int]:
    return int(element.get("min", MAX_COLUMN)), min(int(element.get("max", MAX_COLUMN)), MAX_COLUMN)


def _joined(placed: dict[int, Element]) -> list[Element]:
    """The spans from left to right, with equal adjacent columns joined."""
    spans: list[tuple[int, int, Element]] = []

    def but_for_place(one: Element) -> dict[str, str]:
        return {**one.attrib, "min": "", "max": ""}

    for column, element in sorted(placed.items()):
        if spans and spans[-1][1] == column - 1 and but_for_place(spans[-1][2]) == but_for_place(element):
            spans[-1] = (spans[-1][0], column, element)
        else:
            spans.append((column, column, element))
    return [_at(element, first, last) for first, last, element in spans]


def _at(element: Element, first: int, last: int) -> Element:
    new = deepcopy(element)
    new.set("min", str(first))
    new.set("max", str(last))
    return new
