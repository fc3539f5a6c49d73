"""How each reference to cells in an element of a part changes when cells move: in rules, filters, tables, links."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.xlsx.address import Area, address
from planner.xlsx.moves import Lost, Moves
from planner.xlsx.xmltree import Element, children, every, like, link_id, local_name, take_out


class Walk:
    """A walk over one part, whose unqualified references are to `sheet`; `place` describes an element's place.

    Each method below takes an element and its text with a reference, and returns the new text, or None to remove the
    element.
    """

    def __init__(self, sheet: str, moves: Moves, place: Callable[[Element], str]) -> None:
        self.sheet, self.moves, self.track, self.place = sheet, moves, moves.of(sheet), place
        self.lost: list[Lost] = []

    def follow(self, root: Element, table: References) -> None:
        """Adjust all references that `table` names; a blank name is the element's own text."""
        for element in every(root, *table):
            for name, adjust in table[local_name(element)]:
                text = element.get(name) if name else element.text
                new = adjust(self, element, text) if text else text
                if new is None and text:
                    take_out(element if name else element.getparent())
                elif new != text and name:
                    element.set(name, new)
                elif new != text:
                    element.text = new

    def formula(self, element: Element, text: str) -> str:
        """A formula; lost references are noted."""
        self.lost += (Lost(self.sheet, self.place(element), read) for read in self.moves.lost(text, self.sheet))
        return self.moves.formula(text, self.sheet)

    def linked(self, element: Element, text: str) -> str:
        """The target of a link: a cell in this workbook, or unchanged if it leads to another file."""
        return text if link_id(element) else self.formula(element, text)

    def of_shape(self, element: Element, text: str) -> str:
        """The target of a shape's link; within the workbook it is behind a #, with blanks percent-encoded."""
        place = text[1:].replace("%20", " ")
        if not text.startswith("#") or (new := self.formula(element, place)) == place:
            return text
        return "#" + new.replace(" ", "%20")

    def areas(self, _element: Element, text: str) -> str | None:
        """A list of ranges; None if all cells are deleted."""
        return self.track.ref(text) or None

    def areas_or_as_before(self, _element: Element, text: str) -> str:
        """A list of ranges; unchanged if all cells are deleted."""
        return self.track.ref(text) or text

    def merged(self, _element: Element, text: str) -> str | None:
        """A merged range; None if a single cell is left."""
        moved = self.track.ref(text)
        area = Area.tried(moved)
        return None if not moved or (area and area.is_cell) else moved

    def filtered(self, element: Element, text: str) -> str | None:
        """The range of a filter, whose columns are numbered from its first; filters of deleted columns are removed."""
        before, after = Area.tried(text), Area.tried(self.track.ref(text))
        if before is None or after is None:
            return text if local_name(element.getparent()) == "table" else None
        for each in children(element, "filterColumn"):
            column = before.left + int(each.get("colId", "0"))
            if column in self.track.columns.gone:
                element.remove(each)
            else:
                each.set("colId", str(self.track.columns(column) - after.left))
        return self.track.ref(text)

    def tabled(self, element: Element, text: str) -> str:
        """The range of a table, which names each of its columns.

        A new one's name is left blank (`name_new_columns`).
        """
        area, moved, listed = Area.tried(text), Area.tried(self.track.ref(text)), list(every(element, "tableColumn"))
        if area is None or moved is None or len(listed) != len(area.columns):
            return self.areas_or_as_before(element, text)
        there = {
            self.track.columns(column): each
            for column, each in zip(area.columns, listed, strict=True)
            if column not in self.track.columns.gone
        }
        parent, ids = listed[0].getparent(), [int(each.get("id", "0")) for each in listed]
        for each in listed:
            if each not in there.values():
                take_out(each)
        for at, column in enumerate(moved.columns):
            if column not in there:
                ids.append(max(ids) + 1)
                parent.insert(at, like(parent, "tableColumn", id=str(ids[-1]), name=""))
        parent.set("count", str(len(moved.columns)))
        return self.areas_or_as_before(element, text)

    def cell(self, _element: Element, text: str) -> str:
        """A cell; a deleted one keeps its address, so that nothing typed is lost."""
        area = Area.tried(text)
        return address(*self.track.cell(area.top, area.left)) if area else text

    def cell_there(self, element: Element, text: str) -> str | None:
        """A cell; None if it is deleted."""
        area = Area.tried(text)
        return self.cell(element, text) if area is None or self.track.has(area.top, area.left) else None

    def area_elsewhere(self, element: Element, text: str) -> str:
        """A range of the sheet that another attribute names."""
        on = element.get("sheet")
        moved = self.moves.of(on).ref(text) if on else text
        if not moved and local_name(element) != "dataRef":
            self.lost.append(Lost("", self.place(element), f"{on}!{text}"))
        return moved or text

    def renamed(self, _element: Element, text: str) -> str:
        """A sheet's name."""
        return self.moves.of(text).name

    def page_break(self, element: Element, text: str) -> str:
        """The number of the row or column after which a page breaks."""
        moved = self.track.rows if local_name(element.getparent()) == "rowBreaks" else self.track.columns
        return str(moved(int(text) + 1) - 1)


References = Mapping[str, tuple[tuple[str, Callable[[Walk, Element, str], str | None]], ...]]
"""By element name, the attributes that refer to cells (blank for the text), each with the method that adjusts it."""
