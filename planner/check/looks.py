"""Rules of looks: named styles that agree with what a cell holds, formats, locks, the printed page (25, 26, 28, 29)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

from planner.book.line_tables import LineTable
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.xlsx.address import Position, address
from planner.xlsx.markup import tag_end
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import local_name

TYPED = ("plan_input", "plan_constant", "plan_measured")
LIVE = ("plan_formula", "plan_formula_text", "plan_output", "plan_cross")
OURS = "plan_"


_STYLE = re.compile(rb"""\ss\s*=\s*["']([0-9]+)""")


@dataclass(frozen=True)
class Look:
    """How a cell looks: the name of its style, its number format, whether it is locked under protection."""

    style: str
    number_format: str
    is_locked: bool


class Looks:
    """The look of every cell, out of the workbook's styles."""

    def __init__(self, book: Book) -> None:
        self.book = book

    def of(self, sheet: Sheet, at: Position) -> Look:
        """A cell's look; that of a plain cell where it says none."""
        start = sheet.cells[at].span[0]
        xml = sheet.xml.xml
        match = _STYLE.search(xml, start, tag_end(xml, start))
        number = int(match[1]) if match else 0
        return self._looks[number] if number < len(self._looks) else Look("Normal", "General", True)

    @cached_property
    def _looks(self) -> list[Look]:
        root = _styles(self.book.package)
        if root is None:
            return []
        formats = {element.get("numFmtId", ""): element.get("formatCode", "") for element in _all(root, "numFmt")}
        names = {element.get("xfId", ""): element.get("name", "") for element in _all(root, "cellStyle")}
        (cells,) = _all(root, "cellXfs") or [ElementTree.Element("cellXfs")]
        return [self._look(element, formats, names) for element in cells]

    def _look(self, element: ElementTree.Element, formats: dict[str, str], names: dict[str, str]) -> Look:
        protection = next((child for child in element if local_name(child) == "protection"), None)
        locked = protection is None or protection.get("locked", "1") not in ("0", "false")
        number = element.get("numFmtId", "0")
        return Look(names.get(element.get("xfId", "0"), "Normal"), formats.get(number, f"built-in {number}"), locked)


def _styles(package: Package) -> ElementTree.Element | None:
    workbook = package.workbook_part()
    part = next((link.target for link in package.relationships(workbook) if link.kind == "styles"), None)
    return package.tree(part) if part in package.parts else None


def _all(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if local_name(element) == tag]


def _cells(table: LineTable) -> Iterator[Position]:
    return (at for at in table.positions() if at in table.sheet.cells)


@rule(25, "Named cell styles only, agreeing with content: input blue on pale yellow, formula black, cross-sheet link "
          "green, check red when it fails.")  # fmt: skip
def styles(book: Book) -> Iterator[Fault]:
    """A cell of a table whose style says that it is something else; an analyst's own style says nothing."""
    looks = Looks(book)
    for table in (book.inputs, *book.lines):
        for at in _cells(table):
            look = looks.of(table.sheet, at)
            formula = table.sheet.patterns.get(at)
            if formula is not None and look.style in TYPED and table.kind != "inputs":  # there rule 14 says it
                what = f"a formula in the style of {look.style.removeprefix(OURS)}"
                yield Fault(table.sheet.name, address(*at), what, "give it the style of a formula")
            elif formula is None and look.style in LIVE and table.kind == "inputs":
                what = f"a typed cell in the style of {look.style.removeprefix(OURS)}"
                yield Fault(table.sheet.name, address(*at), what, "give it the style of an input")
            elif look.style == "plan_cross" and formula is not None and not any(r.sheet for r in formula.references):
                yield Fault(table.sheet.name, address(*at), "a link's style on a cell that links to no other sheet",
                            "give it the style of a formula")  # fmt: skip


@rule(26, "Number formats from a closed set per unit; a conditional SI format (`[>=1000000000000]`) only on rows that "
          "can't be negative, digits written out; engineering format otherwise.")  # fmt: skip
def formats(book: Book) -> Iterator[Fault]:
    """A row whose scenarios show one unit in several formats."""
    looks = Looks(book)
    for table in (book.inputs, *book.calculations):
        for line in table.lines:
            cells = [(line.row, column) for column in table.columns if (line.row, column) in table.sheet.cells]
            shown = {looks.of(table.sheet, at).number_format: at for at in cells}
            if len(shown) > 1:
                at = list(shown.values())[-1]
                what = f"{line.name} is shown in {len(shown)} formats: {' and '.join(sorted(shown))}"
                yield Fault(table.sheet.name, address(*at), what, "copy the format of the first scenario", "note")


@rule(28, "Inputs unlocked, the rest locked; protection (without a password) is an option of `build`, off by default.")
def locks(book: Book) -> Iterator[Fault]:
    """An input that protection would lock, and a formula that it would not."""
    looks = Looks(book)
    for at in _cells(book.inputs):
        look = looks.of(book.inputs.sheet, at)
        if look.style == "plan_input" and look.is_locked:
            yield _lock(book.inputs.sheet, at, "the input is locked", "unlock it: Format Cells > Protection")
    for table in book.named:
        for at in _cells(table):
            look = looks.of(table.sheet, at)
            if not look.is_locked and at in table.sheet.patterns and _is_ours(look):
                yield _lock(table.sheet, at, "the formula is not locked", "lock it: Format Cells > Protection")


def _is_ours(look: Look) -> bool:
    return look.style.startswith(OURS)


def _lock(sheet: Sheet, at: Position, what: str, remedy: str) -> Fault:
    return Fault(sheet.name, address(*at), what, remedy)


@rule(29, "Landscape, one page wide, repeated titles, a footer with file, sheet and page.")
def print_setup(book: Book) -> Iterator[Fault]:
    """A sheet that would not print as a report."""
    for sheet in book.our_sheets:
        setup, fit, footer = (
            next(iter(sheet.elements(tag)), None) for tag in ("pageSetup", "pageSetUpPr", "oddFooter")
        )
        wrong = [
            (setup is None or setup.get("orientation") != "landscape", "not landscape"),
            (fit is None or fit.get("fitToPage") not in ("1", "true"), "not one page wide"),
            (footer is None or not footer.text, "no footer"),
        ]
        if said := [what for is_wrong, what in wrong if is_wrong]:
            yield Fault(sheet.name, "", f"the page is {', '.join(said)}", "copy the page set-up of another sheet")
