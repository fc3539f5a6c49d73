"""The form of a workbook as planner builds it: what no edit of a person's need keep, and what our builder must."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from planner.book.formulas_in_names import OVERRIDE
from planner.book.sheet import SEARCHED, Sheet
from planner.book.tables import BESIDE, HEADER, LineTable
from planner.book.workbook import Book
from planner.formulas.text import Binary, Call, FormulaError, Node, Number, children, parse, walk
from planner.xlsx.address import Position, address, quoted, unquoted
from planner.xlsx.markup import tag_end
from planner.xlsx.xmltree import local_name

COVER_SAYS = ("Version", "Made on", "Failed checks", "Sheets", "Colours", "Made from (SHA-256)")
MOST_CHARACTERS, MOST_NAMES = 240, 8  # a prefix of 8 names may double the 120 characters of a template
MOST_IN_A_CELL = 200
TYPED = ("plan_input", "plan_input_words", "plan_constant", "plan_measured")
LIVE = ("plan_formula", "plan_formula_text", "plan_output", "plan_cross")
# of a formula its texts, cells and names, in which a figure is no number
_NO_NUMBERS = re.compile(r'"(?:[^"]|"")*"|\$?[A-Za-z_][\w.]*!|\$?[A-Z]{1,3}\$?[0-9]+|[A-Za-z_][\w.]*')
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+")
_STYLE = re.compile(rb"""\ss\s*=\s*["']([0-9]+)""")

Breaches = Iterator[str]
"""Where and how a workbook is not as it should be built: `Inputs!F5: ...`."""


@dataclass(frozen=True)
class CellLook:
    """How a cell looks: the name of its style, its number format, whether protection locks it."""

    style: str
    number_format: str
    is_locked: bool


class CellLooks:
    """The look of every cell, out of the workbook's styles."""

    def __init__(self, book: Book) -> None:
        package = book.package
        (part,) = (link.target for link in package.relationships(package.workbook_part()) if link.kind == "styles")
        root = package.tree(part)
        self._formats = {found.get("numFmtId", ""): found.get("formatCode", "") for found in _all(root, "numFmt")}
        self._names = {found.get("xfId", ""): found.get("name", "") for found in _all(root, "cellStyle")}
        (cells,) = _all(root, "cellXfs")
        self._looks = [self._look(element) for element in cells]

    def of(self, sheet: Sheet, at: Position) -> CellLook:
        """A cell's look."""
        xml, start = sheet.xml.xml, sheet.cells[at].span[0]
        match = _STYLE.search(xml, start, tag_end(xml, start))
        return self._looks[int(match[1]) if match else 0]

    def _look(self, element: ElementTree.Element) -> CellLook:
        protection = next((child for child in element if local_name(child) == "protection"), None)
        locked = protection is None or protection.get("locked", "1") not in ("0", "false")
        number, name = element.get("numFmtId", "0"), self._names.get(element.get("xfId", "0"), "Normal")
        return CellLook(name, self._formats.get(number, f"built-in {number}"), locked)


def cover(book: Book) -> Breaches:
    """2: Cover has title, purpose, version, date, sources with their hashes, colour key, count of failed checks."""
    sheet = book.designed["Cover"]
    said = {sheet.text(*at): at for at in sheet.values}
    yield from (f"Cover doesn't say {title}" for title in COVER_SAYS if title not in said)
    version = said.get(COVER_SAYS[0], (SEARCHED, 1))[0]
    if len([at for at in sheet.values if at[0] < version and sheet.text(*at)]) < len(("title", "purpose")):
        yield "Cover has no title and purpose"
    if not any(re.fullmatch(r"[0-9a-f]{64}", text) for text in said):
        yield "Cover has no hash of a source"


def links(book: Book) -> Breaches:
    """3: Cover links to every sheet; every sheet's title links back."""
    front = book.designed["Cover"]
    targets = {_target(link) for link in front.elements("hyperlink")}
    for sheet in (*book.our_sheets, book.designed["Log"]):
        if sheet.name not in targets:
            yield f"Cover has no link to {sheet.name}"
        corner = address(*sheet.title_at)
        back = {_target(link) for link in sheet.elements("hyperlink") if link.get("ref") == corner}
        if front.name not in back:
            yield f"{sheet.name}!{corner}: no link back to {front.name}"


def _target(link: ElementTree.Element) -> str:
    return unquoted(link.get("location", "").rpartition("!")[0])


def sheet_names(book: Book) -> Breaches:
    """5: sheet names need no quotes in a reference."""
    return (f"{name} needs quotes" for name in book.sheets if quoted(name) != name)


def panes(book: Book) -> Breaches:
    """7: panes are frozen at the first scenario's cell below the header rows; on Dashboard below and beside names."""
    for table in book.by_scenario:
        row = max(line.row for line in table.lines if line.name in HEADER) + 1
        corner = address(row, table.columns[0])
        if table is book.dashboard:
            corner = address(table.by_name[HEADER[1]].row + 1, table.head.unit)
        frozen = [pane.get("topLeftCell") for pane in table.sheet.elements("pane") if pane.get("state") == "frozen"]
        if frozen != [corner]:
            yield f"{table.sheet.name}!{corner}: panes are frozen at {frozen}"


def whole_tables(book: Book) -> Breaches:
    """8: no blank column inside a table."""
    for database in book.databases.values():
        columns = set(database.columns.values())
        for column in set(range(database.id_column, max(columns) + 1)) - columns:
            yield f"{database.sheet.name}!{address(database.header_row, column)}: a blank column"


def literals(book: Book) -> Breaches:
    """13: no number in a formula but 0 and 1 (2 as exponent or LOG base, or in a cell), no operator between two."""
    for table, row, text in _in_names(book):
        try:
            formula = parse(text)
        except FormulaError:
            continue  # a lookup

        def visit(node: Node, parent: Node | None) -> Iterator[Node]:
            if isinstance(node, Number) and not _allowed(node, parent):
                yield node
            if isinstance(node, Binary) and isinstance(node.left, Number) and isinstance(node.right, Number):
                yield node
            for child in children(node):
                yield from visit(child, node)

        for node in visit(formula.root, None):
            yield f"{table.sheet.name}!{address(row, _names_column(table))}: {formula.of(node)} in {text}"
    yield from _cells_with(book, _numbers_in)


def _cells_with(book: Book, what: Callable[[str], str]) -> Breaches:
    """The formulas of all sheets of which something is said."""
    for sheet in book.our_sheets:
        for at, formula in sheet.patterns.items():
            if said := what(formula.at(*at)):
                yield f"{sheet.name}!{address(*at)}: {said}"


def _numbers_in(text: str) -> str:
    """The numbers of a cell's formula but 0, 1 and 2, with the formula; blank for none."""
    found = [number for number in _NUMBER.findall(_NO_NUMBERS.sub("", text)) if float(number) not in (0, 1, 2)]
    return f"{', '.join(found)} in {text}" if found else ""


def _allowed(number: Number, parent: Node | None) -> bool:
    if number.value in (0, 1):
        return True
    exponent = isinstance(parent, Binary) and parent.op == "^" and parent.right is number
    base = isinstance(parent, Call) and parent.function == "LOG" and parent.args[1] is number
    return number.value == 2 and (exponent or base)


def limits(book: Book) -> Breaches:
    """16: a formula is short, of few names, with one IF and no line break."""
    for table, row, text in _in_names(book):
        try:
            formula = parse(text, whole_text=True)
        except FormulaError:
            continue  # a lookup
        branches = sum(isinstance(node, Call) and node.function == "IF" for node in walk(formula.root))
        if len(text) > MOST_CHARACTERS or len(formula.names) > MOST_NAMES or branches > 1 or "\n" in text:
            yield f"{table.sheet.name}!{address(row, _names_column(table))}: {text}"
    yield from _cells_with(book, lambda text: f"{len(text)} characters" if len(text) > MOST_IN_A_CELL else "")


def _names_column(table: LineTable) -> int:
    return table.head.fifth if table.kind in BESIDE else table.head.fourth


def _in_names(book: Book) -> Iterator[tuple[LineTable, int, str]]:
    """The formulas in names, with their tables and rows."""
    return ((table, line.row, line.names.removeprefix(OVERRIDE)) for table in book.named for line in table.lines)


def styles(book: Book) -> Breaches:
    """25: named cell styles that agree with what a cell holds."""
    looks = CellLooks(book)
    for table, at in _cells(book.inputs, *book.lines):
        style, formula = looks.of(table.sheet, at).style, table.sheet.patterns.get(at)
        if formula is not None and style in TYPED:
            yield f"{table.sheet.name}!{address(*at)}: a formula in the style {style}"
        elif formula is None and style in LIVE and table.kind == "inputs":
            yield f"{table.sheet.name}!{address(*at)}: a typed cell in the style {style}"
        elif formula is not None and style == "plan_cross" and not any(found.sheet for found in formula.references):
            yield f"{table.sheet.name}!{address(*at)}: the style of a link on a cell that links to no other sheet"


def formats(book: Book) -> Breaches:
    """26: all scenarios of a row have one number format."""
    looks = CellLooks(book)
    for table in (book.inputs, *book.calculations):
        for line in table.lines:
            cells = [(line.row, column) for column in table.columns if (line.row, column) in table.sheet.cells]
            if len({looks.of(table.sheet, at).number_format for at in cells}) > 1:
                yield f"{table.sheet.name}!{address(line.row, table.columns[0])}: several number formats"


def locks(book: Book) -> Breaches:
    """28: inputs are unlocked, formulas locked."""
    looks = CellLooks(book)
    for table, at in _cells(book.inputs):
        look = looks.of(table.sheet, at)
        if look.style in ("plan_input", "plan_input_words") and look.is_locked:
            yield f"{table.sheet.name}!{address(*at)}: a locked input"
    for table, at in _cells(*book.named):
        if at in table.sheet.patterns and not looks.of(table.sheet, at).is_locked:
            yield f"{table.sheet.name}!{address(*at)}: a formula that is not locked"


def _cells(*tables: LineTable) -> Iterator[tuple[LineTable, Position]]:
    cells = ((table, (line.row, column)) for table in tables for line in table.lines for column in table.columns)
    return ((table, at) for table, at in cells if at in table.sheet.cells)


def print_setup(book: Book) -> Breaches:
    """29: landscape, one page wide, a footer."""
    for sheet in book.our_sheets:
        setup, fit, footer = (sheet.elements(tag) for tag in ("pageSetup", "pageSetUpPr", "oddFooter"))
        if [found.get("orientation") for found in setup] != ["landscape"]:
            yield f"{sheet.name}: not landscape"
        if not any(found.get("fitToPage") in ("1", "true") for found in fit):
            yield f"{sheet.name}: not one page wide"
        if not any(found.text for found in footer):
            yield f"{sheet.name}: no footer"


def log(book: Book) -> Breaches:
    """30: the Log's last version is the Cover's."""
    front, kept = book.designed["Cover"], book.designed["Log"]
    said = [next(at for at, value in sheet.values.items() if value == "Version") for sheet in (front, kept)]
    stated = front.values[said[0][0], said[0][1] + 1]
    versions = [value for (row, column), value in kept.values.items() if column == said[1][1] and row > said[1][0]]
    if versions[-1:] != [stated]:
        yield f"Log's last version of {versions} is not the Cover's, {stated}"


def _all(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return [element for element in root.iter() if local_name(element) == tag]


FORM: dict[int, Callable[[Book], Breaches]] = {
    2: cover,
    3: links,
    5: sheet_names,
    7: panes,
    8: whole_tables,
    13: literals,
    16: limits,
    25: styles,
    26: formats,
    28: locks,
    29: print_setup,
    30: log,
}
"""What is asked of every workbook that planner builds, by the number among the rules of a workbook."""
