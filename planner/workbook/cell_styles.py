"""Named cell styles, the number format of each unit, and the style number of a cell with both.

Formats scale what is shown and never the value. A format with conditions drops a minus sign, so it is only for units
whose values can't be negative. Formats scale by thousands, and only down, so fractions of a second are shown as
decimals: to the millisecond from a second up, to the microsecond below, to the nanosecond below a millisecond.
"""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from openpyxl.descriptors.nested import NestedBool
from openpyxl.styles import Alignment, Border, Font, NamedStyle, PatternFill, Protection, Side
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.styleable import StyleableObject
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from openpyxl.xml.functions import Element

from planner.formulas.input_values import is_flag
from planner.formulas.template import CALCULATED, Row

PREFIX = "plan_"  # of the names of all styles here
FONT = "Calibri"
COUNT = "[>=1000]#,##0;General"
RATIO = "[>=1000]#,##0;[>=0.001]0.00##;General"
PERCENT = "0.0%"
FAILED_CHECKS = '[=1]0" failed check";0" failed checks"'
MAGNITUDE = '[>=1000000000]#,##0.000,,," G";[>=1000]#,##0;General'  # for any unit
YES_NO = '[=1]"yes";[=0]"no";General'  # the value stays a number, for formulas to read
SAID = "[>=100]#,##0;[>=1]0.00;0.0###"  # a number in a display unit: mostly three or four digits
SECONDS = '[>=1]#,##0.000" s";[>=0.001]0.000000" s";0.0########" s"'
ENGINEERING = "##0.000E+0"
SMALL = 1e-3
ANY_POWER = re.compile(r"\^\w+_(power|factor)\b")  # with ways or axes it is a count


def _scaled(unit: str, digits: str = "0.000") -> str:
    """A format with tera and giga of a unit, plain below."""
    tera, giga = "1000000000000", "1000000000"
    return f'[>={tera}]#,##{digits},,,," T{unit}";[>={giga}]{digits},,," G{unit}";#,##0.###" {unit}"'


def _work(unit: str) -> str:
    """A format for work from an operation's to a run's: giga of a unit, powers of ten from peta up, plain below."""
    return f'[>=1000000000000000]0.000E+0" {unit}";[>=1000000000]#,##0.000,,," G{unit}";#,##0.###" {unit}"'


FORMATS = {
    "1": COUNT,
    "text": "@",
    "chip": "[>=1000]#,##0;General",
    "byte": '[>=1000000000]#,##0.000,,," GB";[>=1000000]0.000,," MB";#,##0.###" byte"',
    "byte/chip": '[>=1000000000]#,##0.000,,," GB/chip";[>=1000000]0.000,," MB/chip";#,##0.###" byte/chip"',
    "byte/s": _scaled("B/s"),
    "byte/s/chip": _scaled("B/s/chip"),
    "FLOP": _work("FLOP"),
    "FLOP/s": _scaled("FLOP/s"),
    "FLOP/s/chip": _scaled("FLOP/s/chip"),
    "s": SECONDS,
    "h": "#,##0.00",
    "USD": "[>=1000]#,##0;[>=0.01]0.000;General",
    "USD/h": "#,##0.00",
    "USD/chip": COUNT,
    "USD/W/h": "General",
    "USD/h/chip": "#,##0.00",
    "FLOP/chip": _work("FLOP/chip"),
    "1/chip": COUNT,
    "1/s": COUNT,
    "1/s/chip": COUNT,
    "FLOP/byte": COUNT,
    "s/h": COUNT,
    "W/chip": COUNT,
    "W": COUNT,
}


def number_format(unit: str) -> str:
    """The number format of a unit; engineering format for one without a format of its own."""
    return FORMATS.get(unit, ENGINEERING)


def row_format(row: Row) -> str:
    """The number format of a row: two decimals for a quotient, an exponential or a power; a count has its unit's."""
    if is_flag(row.name, row.unit):
        return YES_NO
    form = number_format(row.unit)
    if row.kind == "constant" and isinstance(row.default, float) and 0 < abs(row.default) < SMALL:
        return ENGINEERING
    has_parts = "/" in row.formula or "EXP(" in row.formula or ANY_POWER.search(row.formula)
    is_quotient = row.kind in CALCULATED and has_parts and "ROUND" not in row.formula and row.unit != "chip"
    return RATIO if form == COUNT and is_quotient else form


RED, PALE_RED, GREY, ORANGE, BROWN = "FFB42318", "FFFEE4E2", "FF9CA3AF", "FFFDE9CF", "FF8A4B08"
GREEN, PALE_GREEN, PALE_GREY, INK = "FF11734B", "FFE3F1E9", "FFD1D5DB", "FF1F2937"
_GREY, _BLUE = "FF6B7280", "FF1F4FBF"
UNLINED = (
    "plan_title",
    "plan_header",
    "plan_header_right",
    "plan_header_text",
    "plan_column",
    "plan_column_right",
    "plan_note",
    "plan_note_right",
    "plan_titles",
)
_THIN = Border(bottom=Side(style="hair", color=PALE_GREY))
_UNDRAWN, _UNFILLED = Border(), PatternFill()


def _style(
    name: str,
    *,
    fill: str | None = None,
    locked: bool = True,
    wrap: bool = False,
    side: str | None = None,
    indent: int = 0,
    **font: object,
) -> NamedStyle:
    return NamedStyle(
        name=name,
        font=Font(**{"name": FONT, "size": 10, "color": INK, **font}),
        fill=PatternFill("solid", fgColor=fill) if fill else _UNFILLED,
        border=_UNDRAWN if name in UNLINED else _THIN,
        alignment=Alignment(vertical="center", wrap_text=wrap, horizontal=side, indent=indent),
        protection=Protection(locked=locked),
    )


_HEAD = {"bold": True, "color": "FFFFFFFF", "fill": "FF1F3A5F"}
_TYPED = {"color": _BLUE, "fill": "FFFFFBE6", "locked": False}
_RUN = {"color": "FF5B2A86", "fill": "FFF5F0FA", "locked": False}
_LOOKS: dict[str, dict[str, Any]] = {
    "plan_title": {"size": 16, "bold": True},
    "plan_link": {"color": _BLUE, "underline": "single"},
    "plan_note": {"side": "left", "indent": 1, "color": _GREY, "wrap": True},
    "plan_header": {**_HEAD},
    "plan_header_right": {**_HEAD, "side": "right"},
    "plan_header_text": {**_HEAD, "side": "left", "indent": 1},
    "plan_section": {"bold": True, "fill": "FFE5EAF2"},
    "plan_label": {},
    "plan_unit": {"side": "right", "color": _GREY},
    "plan_note_right": {"side": "right", "color": _GREY, "wrap": True},
    "plan_text": {"color": _GREY},
    "plan_wrapped": {"wrap": True},
    "plan_told": {"wrap": True, "side": "left", "indent": 1, "color": _GREY},
    "plan_told_link": {"wrap": True, "side": "left", "indent": 1, "color": _BLUE, "underline": "single"},
    "plan_beside": {"side": "left", "indent": 1, "color": _GREY},
    "plan_verdict": {"side": "left", "indent": 1},
    "plan_fact": {"side": "left", "color": _GREY},
    "plan_input": {**_TYPED, "side": "right"},
    "plan_input_words": {**_TYPED, "side": "right", "wrap": True},
    "plan_case": {**_TYPED, "side": "left"},
    "plan_constant": {"side": "right", "color": _BLUE},
    "plan_data": {"color": INK},
    "plan_data_text": {"side": "left", "indent": 1, "color": INK},
    "plan_formula": {"side": "right"},
    "plan_formula_text": {"side": "left"},
    "plan_words": {"side": "left", "indent": 1, "wrap": True},
    "plan_aside_label": {"side": "left", "indent": 1, "color": _GREY, "size": 9},
    "plan_aside": {"side": "right", "color": _GREY, "size": 9},
    "plan_aside_words": {"side": "right", "color": _GREY, "size": 9, "wrap": True},
    "plan_told_words": {"side": "right", "wrap": True},
    "plan_long_words": {"side": "right", "indent": 1, "wrap": True},  # lines that don't touch the next column's
    "plan_titles": {**_HEAD, "side": "left", "wrap": True},
    "plan_lead_words": {"side": "left", "bold": True, "wrap": True},
    "plan_said": {"side": "right", "bold": True, "wrap": True},
    "plan_column": {**_HEAD, "side": "left", "indent": 1, "size": 8, "wrap": True},
    "plan_column_right": {**_HEAD, "side": "right", "size": 8, "wrap": True},
    "plan_output": {"side": "right", "bold": True},
    "plan_answer": {"side": "right", "bold": True, "fill": PALE_GREEN},
    "plan_cross": {"side": "right", "color": GREEN},
    "plan_cross_words": {"side": "right", "color": GREEN, "wrap": True},
    "plan_lead": {"side": "right", "bold": True, "color": GREEN},
    "plan_lead_label": {"bold": True, "wrap": True},
    "plan_check": {"side": "right", "bold": True},
    "plan_measured": {**_RUN, "side": "right"},
    "plan_measured_text": {**_RUN, "side": "left", "indent": 1},
    # the looks of conditional formats, for Cover to show
    "plan_overridden": {"bold": True, "color": BROWN, "fill": ORANGE},
    "plan_failed": {"bold": True, "color": RED, "fill": PALE_RED},
    "plan_absent": {"color": GREY},
    "plan_key": {"bold": True, "color": "FF000000"},
}
"""The arguments of `_style` for each named style. Inputs are blue on pale yellow, links green, formulas black."""


def styles() -> list[NamedStyle]:
    """Every named style of a workbook."""
    return [_style(name, **look) for name, look in _LOOKS.items()]


def new_book() -> Workbook:
    """A workbook without sheets, with all named styles."""
    book = Workbook()
    book.remove(book.active)
    for style in styles():
        book.add_named_style(style)
    return book


class _Regular(Font):  # type: ignore[misc]  # openpyxl has no types
    """A font that states explicitly that it isn't bold, which openpyxl omits: a bold cell would stay bold."""

    b = NestedBool(to_tree=lambda tag, value, namespace=None: Element(tag, val="0"))  # noqa: ARG005
    __elements__, __nested__, __attrs__ = Font.__elements__, Font.__nested__, Font.__attrs__


class StyleNumbers(dict[tuple[str, str | None], int]):
    """The style number (attribute s) of a named style with a number format, None for the style's own."""

    def __init__(self) -> None:
        super().__init__()
        self._quoted: dict[tuple[str, str | None], int] = {}
        self._conditional: dict[tuple[str, str | None, bool], int] = {}

    def add(self, sheet: Worksheet, style: str, number_format: str | None) -> int:
        """Add a style to the workbook of `sheet`; returns its number, which is positive."""
        self[style, number_format] = number = int(_probe(sheet, style, number_format).style_id)
        return number

    def of(self, styles: Container[str]) -> set[int]:
        """The numbers of all styles based on these named styles."""
        known = chain(self.items(), self._quoted.items())
        return {number for (style, _), number in known if style in styles}

    def quoted(self, sheet: Worksheet, style: str, number_format: str | None) -> int:
        """The number of the same style for a text that begins like a formula."""
        key = (style, number_format)
        if key not in self._quoted:
            cell = _probe(sheet, style, number_format)
            cell.quotePrefix = True
            self._quoted[key] = int(cell.style_id)
        return self._quoted[key]

    def conditional(self, book: Workbook, ink: str, fill: str | None, bold: bool) -> int:
        """The number of a differential format: text colour, fill, and bold.

        Bold cells stay bold if filled; text colour alone, such as grey, makes them regular.
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


_STYLE_NUMBERS: WeakKeyDictionary[Workbook, StyleNumbers] = WeakKeyDictionary()


def style_numbers(book: Workbook) -> StyleNumbers:
    """The style numbers of a workbook, shared by its pages."""
    return _STYLE_NUMBERS.setdefault(book, StyleNumbers())
