"""The widths, formats and groups of a sheet's columns: `cols`, a list of spans."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from planner.xlsx.address import MAX_COLUMN
from planner.xlsx.moves import Track
from planner.xlsx.worksheet import Worksheet
from planner.xlsx.xmltree import Element, child, children

MOST = 400  # columns told one by one; a span beyond is that of all that nobody has filled


def as_wide(xml: bytes, source: int, target: int) -> bytes:
    """The sheet with column `target` as wide as `source`.

    One that has a width of its own keeps it, and so does one whose source has none.
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
    columns[target, target] = spans[model]
    _replace(sheet.root, [_at(columns[limits], *limits) for limits in sorted(columns)])
    return sheet.xml()


def take_widths(old: Element, fresh: Element, columns: Track, fresh_columns: Track) -> None:
    """Give the old sheet its widths where its columns go, and the fresh one's for columns that it hasn't."""
    if child(old, "cols") is None:
        return
    told = _told(old)
    placed = {columns(column): found for column, found in told.items() if column not in columns.known}
    placed |= {fresh_columns(column): found for column, found in _told(fresh).items()}
    placed |= {columns(column): found for column, found in told.items() if column in columns.known}
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


def _told(root: Element) -> dict[int, Element]:
    """The element of each column, but for those of a span that goes on to the end of the sheet."""
    found: dict[int, Element] = {}
    for element in _spans(root):
        first, last = _limits(element)
        if last <= MOST:
            found |= dict.fromkeys(range(first, last + 1), element)
    return found


def _limits(element: Element) -> tuple[int, int]:
    return int(element.get("min", MAX_COLUMN)), min(int(element.get("max", MAX_COLUMN)), MAX_COLUMN)


def _joined(placed: dict[int, Element]) -> list[Element]:
    """The spans from left to right, columns side by side that are alike in one."""
    spans: list[tuple[int, int, Element]] = []
    alike: Callable[[Element], dict[str, str]] = lambda one: {**one.attrib, "min": "", "max": ""}  # noqa: E731
    for column, element in sorted(placed.items()):
        if spans and spans[-1][1] == column - 1 and alike(spans[-1][2]) == alike(element):
            spans[-1] = (spans[-1][0], column, element)
        else:
            spans.append((column, column, element))
    return [_at(element, first, last) for first, last, element in spans]


def _at(element: Element, first: int, last: int) -> Element:
    new = deepcopy(element)
    new.set("min", str(first))
    new.set("max", str(last))
    return new
