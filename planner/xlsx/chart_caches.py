"""The values that charts keep of the cells that they draw: what a preview or a phone shows, which computes nothing.

A chart that keeps them is brought up to date; one that keeps none stays so, for the program that opens it reads the
cells. What several sheets, other files, names and tables give is left to that program too.
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
    """Let a chart keep the values of all that it draws; it has none yet."""
    for drawn in every(root, *_CACHES):
        if _cache(drawn) is None:
            drawn.insert(1, _empty(drawn, _CACHES[local_name(drawn)], 0))


def refresh(package: Package, read: Mapping[str, SheetXml] = MappingProxyType({})) -> None:
    """Bring the values that the charts of a package keep to those of its cells, in place. What is so stays as it is.

    `read` are sheets that have been read, as they are or as they were before `sheetedit` put values into them.
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
    """Bring what a reference (`numRef`, `strRef`) keeps to the values of its cells."""
    kept, told = _cache(drawn), reference((child(drawn, "f").text or "").strip("()"))
    sheet = cells(told.sheet) if told is not None and kept is not None and not told.is_foreign else None
    if told is None or sheet is None or told.area.n_cells > MOST:
        return
    values = _values(sheet, told.area)
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
        point, held = like(drawn, "pt", idx=str(at)), like(drawn, "v")
        held.text = text
        point.append(held)
        new.append(point)
    drawn.replace(kept, new)


def _as_texts(drawn: Element, values: list[Value]) -> Element:
    """A reference to categories of which one is a text: as one to texts, whatever it was."""
    if not any(isinstance(value, str) and value for value in values):
        return drawn
    new = like(drawn, "strRef")
    new.append(child(drawn, "f"))
    new.append(_empty(drawn, "strCache", 0))
    drawn.getparent().replace(drawn, new)
    return new


def _point(value: Value, before: str | None, *, texts: bool) -> str | None:
    """What is kept of a value that was kept as `before`: None for what isn't drawn, such as #N/A."""
    if texts and isinstance(value, str):
        return value or None
    if not is_number(value):
        return before if before is not None and before == _said(value) else None
    kept = math.nan if before is None else _number(before)
    if before is not None and (same_value(kept, value, ROUNDED) or (texts and math.isnan(kept))):
        return before  # a number among texts is kept as its cell shows it, such as 50%
    return exact_text(float(value))


def _said(value: Value) -> str | None:
    return value.code if isinstance(value, CellError) else None


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
    """A list of kept values (`numCache`, `strCache`) without any; numbers are shown as they are."""
    made = like(drawn, name)
    if name == "numCache":
        form = like(drawn, "formatCode")
        form.text = "General"
        made.append(form)
    made.append(like(drawn, "ptCount", val=str(count)))
    return made
