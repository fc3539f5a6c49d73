"""Rules of looks: named styles that agree with what a cell holds, formats, locks, the printed page (25, 26, 28, 29)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.line_tables import LineTable
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.check.findings import Fault, rule
from planner.xlsx.address import Position, address
from planner.xlsx.styles import Look, Stylesheet, looks_of

TYPED = ("plan_input", "plan_constant", "plan_measured")
LIVE = ("plan_formula", "plan_formula_text", "plan_output", "plan_cross")
OURS = "plan_"


def _look(looks: Stylesheet, sheet: Sheet, at: Position) -> Look:
    return looks.look(sheet.xml.xml, sheet.cells[at])


def _cells(table: LineTable) -> Iterator[Position]:
    return (at for at in table.positions() if at in table.sheet.cells)


@rule(25, "Named cell styles only, agreeing with content: input blue on pale yellow, formula black, cross-sheet link "
          "green, check red when it fails.")  # fmt: skip
def styles(book: Book) -> Iterator[Fault]:
    """A cell of a table whose style says that it is something else; an analyst's own style says nothing."""
    looks = looks_of(book.package)
    for table in (book.inputs, *book.lines):
        for at in _cells(table):
            look = _look(looks, table.sheet, at)
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
    looks = looks_of(book.package)
    for table in (book.inputs, *book.calculations):
        for line in table.lines:
            cells = [(line.row, column) for column in table.columns if (line.row, column) in table.sheet.cells]
            shown = {_look(looks, table.sheet, at).number_format: at for at in cells}
            if len(shown) > 1:
                at = list(shown.values())[-1]
                what = f"{line.name} is shown in {len(shown)} formats: {' and '.join(sorted(shown))}"
                yield Fault(table.sheet.name, address(*at), what, "copy the format of the first scenario", "note")


@rule(28, "Inputs unlocked, the rest locked; protection (without a password) is an option of `build`, off by default.")
def locks(book: Book) -> Iterator[Fault]:
    """An input that protection would lock, and a formula that it would not."""
    looks = looks_of(book.package)
    for at in _cells(book.inputs):
        look = _look(looks, book.inputs.sheet, at)
        if look.style == "plan_input" and look.is_locked:
            yield _lock(book.inputs.sheet, at, "the input is locked", "unlock it: Format Cells > Protection")
    for table in book.named:
        for at in _cells(table):
            look = _look(looks, table.sheet, at)
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
