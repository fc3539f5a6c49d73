"""How the cells of a workbook that is being written look: each look once, by the number that its cells bear."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from openpyxl.descriptors.nested import NestedBool
from openpyxl.styles import Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.styleable import StyleableObject
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from openpyxl.xml.functions import Element


class _Regular(Font):  # type: ignore[misc]  # openpyxl has no types
    """A font that says that it isn't bold: openpyxl's leaves that out, and a bold cell stays bold."""

    b = NestedBool(to_tree=lambda tag, value, namespace=None: Element(tag, val="0"))  # noqa: ARG005
    __elements__, __nested__, __attrs__ = Font.__elements__, Font.__nested__, Font.__attrs__


class Looks(dict[tuple[str, str | None], int]):
    """The number that a cell's attribute s has, by its named style and its number format, None for the style's own."""

    def __init__(self) -> None:
        super().__init__()
        self._quoted: dict[tuple[str, str | None], int] = {}
        self._conditional: dict[tuple[str, str | None, bool], int] = {}

    def add(self, sheet: Worksheet, style: str, number_format: str | None) -> int:
        """Make a look one of the workbook of `sheet`; returns its number, which is above 0."""
        self[style, number_format] = number = int(_probe(sheet, style, number_format).style_id)
        return number

    def quoted(self, sheet: Worksheet, style: str, number_format: str | None) -> int:
        """The number of the same look for a text that begins as a formula does, and is none."""
        key = (style, number_format)
        if key not in self._quoted:
            cell = _probe(sheet, style, number_format)
            cell.quotePrefix = True
            self._quoted[key] = int(cell.style_id)
        return self._quoted[key]

    def conditional(self, book: Workbook, ink: str, fill: str | None, bold: bool) -> int:
        """The number of what a conditional format changes: the colour of the text and of the cell, and its weight.

        A bold cell stays bold where it is filled; ink alone, as grey is, takes that away.
        """
        key = (ink, fill, bold)
        if key not in self._conditional:
            filled = PatternFill("solid", bgColor=fill) if fill else None
            change = DifferentialStyle(font=(Font if bold or fill else _Regular)(color=ink, bold=bold), fill=filled)
            self._conditional[key] = int(book._differential_styles.add(change))
        return self._conditional[key]


def _probe(sheet: Worksheet, style: str, number_format: str | None) -> StyleableObject:
    cell = StyleableObject(sheet)
    cell.style = style
    if number_format:
        cell.number_format = number_format
    return cell


_LOOKS: WeakKeyDictionary[Workbook, Looks] = WeakKeyDictionary()


def looks(book: Workbook) -> Looks:
    """The looks of a workbook's cells, which its pages share."""
    return _LOOKS.setdefault(book, Looks())
