"""Keys that identify a row of planner's sheets in every version and position.

The same rules name the rows of a sheet that is being written and those of a sheet in a file, however edited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from planner.book.sheet import SEARCHED
from planner.book.tables import MACHINE_NAME, are_titles
from planner.catalog.checked_table import TABLES

Typed = Mapping[int, Mapping[int, str | None]]
"""The typed text of each cell, by row and column: "" for a blank, None for a number or a formula."""

COVER, LOG = "cover", "log"
COVER_TITLE = "Plan"  # the title of Cover; other sheets are titled by their names
TEXTS = ("label", "unit", "name", "fourth", "fifth")  # the columns that describe a line
DATABASES = tuple(TABLES.values())  # the kinds of sheets with a row for each id
PARTS = "Of the expected step"  # the title of the parts that the expected step is made of
VERDICTS = "Scenario"  # the first title of Cover's verdicts, a row for each scenario
FAILED = "Failed checks"  # beside the title of every sheet but Cover
TOP = 2  # rows of a sheet's title and purpose, which the user may reword
HEADINGS = ("above ", "top ", "label ", "titles", "case ")  # prefixes of the keys of rows that are no quantities


class Keyed:
    """A sheet with keyed rows and columns, and the inverse maps from key to row or column."""

    rows: Mapping[int, str]
    columns: Mapping[int, str]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each key."""
        return {key: row for row, key in self.rows.items()}

    @cached_property
    def column_of(self) -> dict[str, int]:
        """The column of each key."""
        return {key: column for column, key in self.columns.items()}

    def rows_on(self, other: Keyed) -> dict[int, int]:
        """Row -> the row with the same key on another sheet, for the keys that both have."""
        return {row: other.row_of[key] for row, key in self.rows.items() if key in other.row_of}

    def columns_on(self, other: Keyed) -> dict[int, int]:
        """Column -> the column with the same key on another sheet, for the keys that both have."""
        return {column: other.column_of[key] for column, key in self.columns.items() if key in other.column_of}


def is_heading(key: str) -> bool:
    """Whether a row's key is that of a heading, title or case rather than a quantity."""
    return key.startswith(HEADINGS)


def line_keys(rows: Typed, head: int, label: int, name: int) -> dict[int, str]:
    """The keys of a table of line items with its titles in the row `head`: machine names, else labels.

    The parts of a step are numbered below their title, up to a blank row: where a workbook plans several workloads,
    their labels are formulas.
    """
    keys: dict[int, str] = {}
    title, parts = 0, 0
    for row in sorted(rows):
        named, labelled = rows[row].get(name) or "", rows[row].get(label) or ""
        if row < head:
            keys[row] = f"above {head - row}"
        elif row == head:
            keys[row] = "titles"
        elif title and row == title + parts + 1 and rows[row].get(label, "") != "":
            parts += 1
            keys[row] = f"label {PARTS} {parts}"
        elif MACHINE_NAME.fullmatch(named):
            keys[row] = named
        elif labelled:
            keys[row] = f"label {labelled}"
            title, parts = (row, 0) if labelled == PARTS else (0, 0)
    return unique(keys)


def database_keys(rows: Typed, header: int, identifier: int) -> dict[int, str]:
    """The keys of a database's rows: its ids, below a header row of machine names."""
    keys: dict[int, str] = {}
    for row in sorted(rows):
        if row <= header:
            keys[row] = f"above {header - row}"
        elif text := rows[row].get(identifier):
            keys[row] = text
    return unique(keys)


def plain_keys(rows: Typed, kind: str) -> dict[int, str]:
    """The keys of a sheet with several tables: the text in column A, prefixed by the titles of its table.

    A row without such a text is numbered from its titles, as are those of Cover's verdicts. Rows above the sheet's own
    title are the user's. Where the row of the title is gone, that of the purpose is the first.
    """
    keys: dict[int, str] = {}
    section, titles, verdicts = "", 0, 0
    title = COVER_TITLE if kind == COVER else kind.capitalize()
    is_gone = kind != COVER and bool(rows.get(1, {}).get(1)) and FAILED not in rows[1].values()
    without = 0 if is_gone else 1
    first = next((row for row in sorted(rows) if row <= SEARCHED and rows[row].get(1) == title), without)
    for row in sorted(rows):
        text = rows[row].get(1) or ""
        if row < first:
            keys[row] = f"above top {first - row}"
        elif row < first + TOP:
            keys[row] = f"top {row - first + 1}"
        elif are_titles(rows[row].values()) and kind not in (COVER, LOG):
            section, titles = text, row
            keys[row] = f"titles {text}"
        elif text:
            keys[row] = f"{section} | {text}" if section else text
            verdicts = row if kind == COVER and text == VERDICTS and are_titles(rows[row].values()) else 0
        elif verdicts:
            keys[row] = f"{VERDICTS} {row - verdicts}"
        elif titles:
            keys[row] = f"{section} {row - titles}"
    return unique(keys)


def unique(keys: Mapping[int, str]) -> dict[int, str]:
    """The keys with a number appended to repeated ones."""
    seen: Counter[str] = Counter()
    found: dict[int, str] = {}
    for row, key in keys.items():
        seen[key] += 1
        found[row] = key if seen[key] == 1 else f"{key} ({seen[key]})"
    return found
