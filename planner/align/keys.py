"""What tells a row or a column of planner's sheets from every other, in every version and wherever it stands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from planner.book.line_tables import LineTable
from planner.book.record_tables import Database
from planner.book.sheet import Sheet
from planner.book.workbook import Book
from planner.compare import comparison_sheet as comparison
from planner.errors import UserError

COVER, LOG, COMPARISON = "cover", "log", "comparison"
SCENARIO = "scenario "
DATABASES = "models", "hardware", "dtypes"  # the kinds of sheets with a row for each id
TITLES = 3  # texts that make a row the titles of a table
TOP = 2  # rows of a sheet's title and purpose, which a person may write anew


@dataclass(frozen=True)
class Keyed:
    """One of planner's sheets: its kind (`inputs`, `calculation inference`, `hardware`), and keys of rows and columns.

    `groups` names what the formulas of a row have in common with other rows' in a table of cases: its template.
    """

    kind: str
    sheet: Sheet
    rows: dict[int, str]
    columns: dict[int, str]
    groups: dict[int, str] = field(default_factory=dict)
    line_table: LineTable | None = None
    first_case: int = 0

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each key."""
        return {key: row for row, key in self.rows.items()}

    @cached_property
    def column_of(self) -> dict[str, int]:
        """The column of each key."""
        return {key: column for column, key in self.columns.items()}

    @cached_property
    def first_row(self) -> int:
        """The row below the titles of a database; 0 on another sheet."""
        titles = self.row_of.get("above 0")
        return titles + 1 if titles and self.kind in DATABASES else 0

    def scenario_columns(self) -> list[int]:
        """The columns of the scenarios, from left to right."""
        return [column for column, key in self.columns.items() if key.startswith(SCENARIO)]


def keyed(book: Book) -> dict[str, Keyed]:
    """The sheets that planner built, by kind."""
    found: dict[str, Keyed] = {}
    templates = book.templates
    tables = [*((table.kind, table) for table in (book.inputs, book.dashboard, book.checks, *book.constraints)),
              *((f"calculation {templates[table.sheet.name]}", table) for table in book.calculations)]  # fmt: skip
    for kind, table in tables:
        if table.lines:
            found[kind] = _lines(book, kind, table)
    for kind, database in book.databases.items():
        found[kind] = _database(kind, database)
    case = _comparison(book)
    if case is not None:
        found[COMPARISON] = case
    known = {each.sheet.name for each in found.values()}
    for name, sheet in book.designed.items():
        if sheet.name not in known and name.lower() not in found:
            found[name.lower()] = _plain(name.lower(), sheet)
    return found


def _lines(book: Book, kind: str, table: LineTable) -> Keyed:
    head = table.head
    texts = dict(zip(head.texts, ("label", "unit", "name", "fourth", "fifth"), strict=True))
    columns: dict[int, str] = dict(texts)
    for column in table.columns:
        number = book.numbers.standard(table.sheet.name, column)
        columns[column] = f"{SCENARIO}{number}"
    names: dict[int, str] = {}
    lines = {line.row: line for line in table.lines}
    for row in sorted({row for row, _ in table.sheet.cells}):
        if row < head.row:
            names[row] = f"above {head.row - row}"
        elif row == head.row:
            names[row] = "titles"
        elif row in lines and (name := lines[row].name):
            names[row] = name
        elif label := table.sheet.text(row, head.label):
            names[row] = f"label {label}"
    return Keyed(kind, table.sheet, _unique(names), columns, line_table=table)


def _database(kind: str, database: Database) -> Keyed:
    sheet, names = database.sheet, {}
    for row in sorted({row for row, _ in sheet.cells}):
        identifier = sheet.text(row, database.id_column)
        if row <= database.header_row:
            names[row] = f"above {database.header_row - row}"
        elif identifier:
            names[row] = identifier
    columns = {column: name for name, column in database.columns.items()}
    return Keyed(kind, sheet, _unique(names), columns)


def _comparison(book: Book) -> Keyed | None:
    try:
        found = comparison.find(book.package, book.parsed)
    except UserError:
        return None
    sheet = book.sheets[found.name]
    columns: dict[int, str] = {}
    for name, column in found.columns.items():
        columns.setdefault(column, name)
    names = {row: f"above {found.header - row}" for row, _ in sheet.cells if row <= found.header}
    groups: dict[int, str] = {}
    known = [row for row in found.rows if row.template is not None]
    for at, case in enumerate(known):
        names[case.number] = f"case {at}"
        groups[case.number] = case.text("template")
    first = min(groups, default=0)
    return Keyed(COMPARISON, sheet, names, columns, groups, first_case=first)


def _plain(kind: str, sheet: Sheet) -> Keyed:
    """A sheet whose rows are told by the text at their left, below the titles of each table: Cover, Log, Roofline.

    A text that depends on the numbers tells nothing: such rows count from their titles.
    """
    names: dict[int, str] = {}
    section, titles = "", 0
    for row in sorted({row for row, _ in sheet.cells}):
        text = _label(sheet, row)
        if row <= TOP:
            names[row] = f"top {row}"
        elif is_titles(sheet, row) and kind not in (COVER, LOG):
            section, titles = text, row
            names[row] = f"titles {text}"
        elif text:
            names[row] = f"{section} | {text}" if section else text
        elif titles:
            names[row] = f"{section} {row - titles}"
    width = max((column for _, column in sheet.cells), default=1)
    return Keyed(kind, sheet, _unique(names), {column: str(column) for column in range(1, width + 1)})


def _label(sheet: Sheet, row: int) -> str:
    """The text at a row's left, typed or fetched from another cell; blank for one that is put together."""
    formula = sheet.patterns.get((row, 1))
    is_fetched = formula is None or (len(formula.references) == 1 and not formula.functions and "&" not in formula.text)
    return sheet.text(row, 1) if is_fetched else ""


def is_titles(sheet: Sheet, row: int) -> bool:
    """Whether a row is text all along, as the titles of a table are."""
    filled = [at for at in sheet.cells if at[0] == row and sheet.value(*at) not in (None, "")]
    return len(filled) >= TITLES and all(at not in sheet.patterns and sheet.text(*at) for at in filled)


def _unique(names: dict[int, str]) -> dict[int, str]:
    """The same keys, a second one of a kind numbered."""
    seen: Counter[str] = Counter()
    unique: dict[int, str] = {}
    for row, name in names.items():
        seen[name] += 1
        unique[row] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return unique
