"""Gives the rows and columns of one sheet of two workbooks common tokens, so that equal ones have equal tokens.

A quantity's row and a column have their key (`planner.align.keys`) as token, a database's row its id, a case its name.
Headings and rows without a name are aligned by content, as the lines of two texts in a diff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from planner.align.by_content import align
from planner.align.keys import SCENARIO, keyed_lines, keyed_records
from planner.align.matched import Matched, Within
from planner.book.plan import Plan
from planner.book.rowkeys import unique
from planner.book.sheet import Sheet
from planner.book.tables import RUN_NAME, CaseTable, Database, LineTable
from planner.xlsx.cellvalue import Value, is_number


def matched(old: Plan, new: Plan, sheet: Sheet, other: Sheet, scenarios: Mapping[str, str]) -> tuple[Matched, Matched]:
    """The sheet in both workbooks, with common tokens; `scenarios` maps old scenario keys to new ones.

    A table whose row of titles one of them has lost is compared by content.
    """
    one, two = Matched(sheet), Matched(other)
    tables, others = _tables(old, sheet), _tables(new, other)
    if tables.keys() - others.keys() and others.keys() - tables.keys():
        tables, others = _titled_alike(tables, others)
    kinds = _kinds(old, sheet) & _kinds(new, other)
    fewest = min(filter(None, (tables, others)), key=len, default={})
    _name(one, old, {key: key for key in old.by_key}, kinds, tables, fewest)
    _name(two, new, {there: here for here, there in scenarios.items()}, kinds, others, fewest)
    if not (one.rows and two.rows):
        one, two = Matched(sheet), Matched(other)
    align(one, two, by_row=True)
    align(one, two, by_row=False)
    return one, two


def alone(plan: Plan, sheet: Sheet) -> Matched:
    """A sheet without a counterpart, with tokens of its own."""
    found = Matched(sheet)
    tables = _tables(plan, sheet)
    _name(found, plan, {key: key for key in plan.by_key}, _kinds(plan, sheet), tables, tables)
    for number in found.filled_rows:
        found.rows.setdefault(number, ("own", number))
    for number in found.filled_columns:
        found.columns.setdefault(number, ("own", number))
    return found


Cases = Mapping[str, CaseTable]
"""The tables of cases, and of runs, on a sheet, each by the title of its first column."""


def _tables(plan: Plan, sheet: Sheet) -> Cases:
    """The tables of cases, and of runs, on a sheet, each by the title of its first column."""
    tables = [table for table in plan.book.cases if table.sheet is sheet]
    keys = unique(dict(enumerate(table.columns[min(table.columns)] for table in tables)))
    return {keys[number]: table for number, table in enumerate(tables)}


def _titled_alike(tables: Cases, others: Cases) -> tuple[Cases, Cases]:
    """The tables of cases that have equal titles in both workbooks, each under its key in the old one."""
    by_titles = {tuple(each.columns.values()): each for each in others.values()}
    titles = {key: tuple(each.columns.values()) for key, each in tables.items()}
    both = [key for key in tables if titles[key] in by_titles]
    return {key: tables[key] for key in both}, {key: by_titles[titles[key]] for key in both}


def _kinds(plan: Plan, sheet: Sheet) -> set[str]:
    """The kinds of the tables of lines and of the database on a sheet."""
    book = plan.book
    lines = {table.kind for table in (book.inputs, *book.lines) if table.sheet is sheet}
    return lines | {kind for kind, database in book.databases.items() if database.sheet is sheet}


def _name(
    found: Matched, plan: Plan, keys: Mapping[str, str], kinds: Collection[str], tables: Cases, fewest: Collection[str]
) -> None:
    """Give rows and columns of planner's tables their tokens; `keys` maps a scenario's key to its old one.

    `kinds` are those of the tables of lines and of the database that count, `tables` the tables of cases. `fewest` are
    the tables of cases on the sheet in the workbook that has fewer of them, if any. If there is only one, its columns
    are the sheet's in both workbooks, even if another table, such as that of runs, was added or removed.
    """
    book, sheet = plan.book, found.sheet
    for table in (book.inputs, *book.lines):
        if table.sheet is sheet and table.kind in kinds:
            _name_lines(found, plan, table, keys)
    for kind, database in book.databases.items():
        if database.sheet is sheet and kind in kinds:
            _name_records(found, kind, database)
    for key, cases in tables.items():
        _name_cases(found, plan, cases, key, is_alone=[key] == list(fewest))


def _name_lines(found: Matched, plan: Plan, table: LineTable, keys: Mapping[str, str]) -> None:
    known = keyed_lines(plan.book, table, table.kind)
    inputs, standard = plan.book.inputs, plan.book.numbers.standard
    for line in table.lines:
        found.names[line.row] = known.rows[line.row] if table.kind == "problem" else line.name or line.label
        found.lines[line.row] = table, line
    found.rows |= {row: key for row, key in known.rows.items() if row in found.lines}
    found.rows[table.head.row] = "titles"
    found.texts |= {column: key for column, key in known.columns.items() if column not in known.scenario_columns}
    found.columns |= found.texts
    scenarios = {f"{SCENARIO}{standard(inputs.sheet.name, each.column)}": each.key for each in plan.scenarios}
    for column, number in known.scenario_columns.items():
        if key := scenarios.get(number):
            found.columns[column] = ("scenario", keys.get(key, f"new {key}"))
            found.scenarios[column] = keys.get(key, key)


def _name_records(found: Matched, kind: str, database: Database) -> None:
    known = keyed_records(kind, database)
    for row, key in known.rows.items():
        if row > database.header_row:
            found.rows[row], found.names[row] = key, str(found.sheet.value(row, database.id_column))
            found.cases[row] = kind
    found.rows[database.header_row] = "titles"
    found.titles |= known.columns
    found.columns |= known.columns


def _name_cases(found: Matched, plan: Plan, cases: CaseTable, table: str, *, is_alone: bool) -> None:
    """Name the rows of a table of cases, and its columns by their titles.

    `table` distinguishes it from other tables of the sheet; a single table names the sheet's columns unless lines do.
    """
    titles, sheet = cases.columns, found.sheet
    at = {name: column for column, name in titles.items()}
    label = at.get("case_label", min(titles))
    names = {row: _called(titles[label], plan.at(sheet.name, row, label)) for row in cases.rows}
    found.names |= _told_apart(plan, cases, at, names)
    run = {row: sheet.text(row, at["run_id"]) for row in cases.rows} if cases.is_of_runs and "run_id" in at else {}
    found.rows |= unique({row: f"case {table} {name}{run.get(row, '')}" for row, name in names.items()})
    found.cases |= dict.fromkeys(cases.rows, table)
    found.rows[cases.header_row] = f"titles of cases {table}"
    if is_alone and not found.texts:
        found.titles = titles | found.titles
        found.columns = titles | found.columns
        return
    labels = cases.header_row - 1
    heads = [cases.header_row]
    if labels not in found.rows and _has_labels(cases):
        found.rows[labels] = f"labels of cases {table}"
        heads.append(labels)
    within = {column: Within(table, title) for column, title in unique(titles).items()}
    found.columns_within |= dict.fromkeys((*heads, *cases.rows), within)


def _told_apart(plan: Plan, cases: CaseTable, at: Mapping[str, int], names: dict[int, str]) -> dict[int, str]:
    """The names of cases for readers: one that several have with the chip, a run's with the scenario."""

    def text(row: int, title: str) -> str:
        return str(plan.at(cases.sheet.name, row, at[title]) or "") if title in at else ""

    if cases.is_of_runs:
        return unique({row: ", ".join(filter(None, (text(row, RUN_NAME), name))) for row, name in names.items()})
    having = Counter(names.values())
    chips = {row: text(row, "hardware_id") for row, name in names.items() if having[name] > 1}
    return {row: f"{name} on {chips[row]}" if chips.get(row) else name for row, name in names.items()}


def _called(title: str, value: Value) -> str:
    """The name of a case: its text, or its number with the column's title."""
    return f"{title} {value:.15g}" if is_number(value) else "" if value is None else str(value)


def _has_labels(cases: CaseTable) -> bool:
    """Whether the row above a table's titles has only labels, each above a title."""
    row = cases.header_row - 1
    filled = cases.sheet.filled.get(row, ())
    return len(filled) > 1 and all(column in cases.columns and cases.sheet.text(row, column) for column in filled)
