"""The cached values in charts, which previews and phones show without computing anything.

A chart with caches is updated; one without is left so, since programs then read the cells. References over several
sheets or to other files, names and tables are left to these programs too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

from planner.xlsx.address import Area
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import CellError, Value, exact_text, is_number, same_value
from planner.xlsx.drawings import charts_of
from planner.xlsx.opc import Package
from planner.xlsx.references import reference
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import shared_strings
from planner.xlsx.xmltree import Element, child, children, every, like, local_name

MOST = 1 << 16  # cells of a range: a chart of whole columns is left to the program that opens it
ROUNDED = 1e-12  # a number that is nearer to the kept one is it: some programs keep 15 digits
_CACHES = {"numRef": "numCache", "strRef": "strCache"}
Cells = Callable[[str], SheetXml | None]


def make_room(root: Element) -> None:
    """Add empty caches to a new chart for everything that it draws."""
    for drawn in every(root, *_CACHES):
        if _cache(drawn) is None:
            drawn.insert(1, _empty(drawn, _CACHES[local_name(drawn)], 0))


def refresh(package: Package, read: Mapping[str, SheetXml] = MappingProxyType({})) -> None:
    """Update the caches of a package's charts from its cells, in place; equal ones stay.

    `read` are sheets that were parsed already, also from before `sheetedit` put values into them.
    """
    kept = [
        part for part in charts_of(package) if any(name.encode() in package.parts[part] for name in _CACHES.values())
    ]
    if not kept:
        return
    parts, strings = package.sheets(), shared_strings(package)

    @cache
    def cells(sheet: str) -> SheetXml | None:
        if sheet not in parts:
            return None
        xml, known = package.parts[parts[sheet]], read.get(sheet)
        return known if known is not None and known.xml is xml else SheetXml(xml, strings, known)

    for part in kept:
        with package.edited(part) as root:
            for drawn in every(root, *_CACHES):
                _refresh(drawn, cells)


def _refresh(drawn: Element, cells: Cells) -> None:
    """Update the cache of one reference (`numRef`, `strRef`)."""
    kept, drawn_cells = _cache(drawn), reference((child(drawn, "f").text or "").strip("()"))
    sheet = (
        cells(drawn_cells.sheet)
        if drawn_cells is not None and kept is not None and not drawn_cells.is_foreign
        else None
    )
    if drawn_cells is None or sheet is None or drawn_cells.area.n_cells > MOST:
        return
    values = _values(sheet, drawn_cells.area)
    if local_name(drawn) == "numRef" and local_name(drawn.getparent()) == "cat":
        drawn = _as_texts(drawn, values)
        kept = _cache(drawn)
    texts = local_name(drawn) == "strRef"
    before = {int(point.get("idx", "0")): child(point, "v").text or "" for point in children(kept, "pt")}
    after = {
        at: text for at, value in enumerate(values) if (text := _point(value, before.get(at), texts=texts)) is not None
    }
    count = child(kept, "ptCount")
    if after == before and count is not None and count.get("val") == str(len(values)):
        return
    new = _empty(drawn, local_name(kept), len(values))
    if (form := child(kept, "formatCode")) is not None:
        child(new, "formatCode").text = form.text
    for at, text in after.items():
        point, cached = like(drawn, "pt", idx=str(at)), like(drawn, "v")
        cached.text = text
        point.append(cached)
        new.append(point)
    drawn.replace(kept, new)


def _as_texts(drawn: Element, values: list[Value]) -> Element:
    """The reference, converted to one to texts if any of its values is a text."""
    if not any(isinstance(value, str) and value for value in values):
        return drawn
    new = like(drawn, "strRef")
    new.append(child(drawn, "f"))
    new.append(_empty(drawn, "strCache", 0))
    drawn.getparent().replace(drawn, new)
    return new


def _point(value: Value, before: str | None, *, texts: bool) -> str | None:
    """The text to cache for a value that was cached as `before`; None for one that isn't drawn, such as #N/A."""
    if texts and isinstance(value, str):
        return value or None
    if not is_number(value):
        return before if isinstance(value, CellError) and before == value.code else None
    kept = math.nan if before is None else _number(before)
    if before is not None and (same_value(kept, value, ROUNDED) or (texts and math.isnan(kept))):
        return before  # a number among texts is cached as displayed, such as 50%
    return exact_text(float(value))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _values(sheet: SheetXml, area: Area) -> list[Value]:
    """The values of an area, row by row."""
    found: Iterable[Cell | None]
    if area.left == area.right:
        found = sheet.column(area.left, area.rows)
    else:
        rows = (sheet.row(row) if row in sheet.rows else {} for row in area.rows)
        found = (row.get(column) for row in rows for column in area.columns)
    return [cell.value if cell is not None else None for cell in found]


def _cache(drawn: Element) -> Element:
    return next((found for found in (child(drawn, name) for name in _CACHES.values()) if found is not None), None)


def _empty(drawn: Element, name: str, count: int) -> Element:
    """An empty cache (`numCache`, `strCache`); its numbers have the format General."""
    made = like(drawn, name)
    if name == "numCache":
        form = like(drawn, "formatCode")
        form.text = "General"
        made.append(form)
    made.append(like(drawn, "ptCount", val=str(count)))
    return made
