"""Finds a scenario of a workbook by id or name: its column on each sheet; and makes ids for new ones."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from itertools import count
from pathlib import Path

from planner.book.plan import Plan, Scenario
from planner.book.scenario_columns import identifier, inputs_column
from planner.book.tables import HEADER, LineTable
from planner.book.workbook import Book
from planner.errors import Place, UserError, nearest
from planner.number_text import few
from planner.recalc import Recalculated, edit
from planner.workbook.build_plan import WANTED, refuse_unfit
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import address, column_letters
from planner.xlsx.opc import Package, in_place

ID, NAME, MODEL, CHIP = HEADER
_NAMED = 8  # scenarios that a message names


def column_of(book: Book, said: str) -> int:
    """The column on Inputs of a scenario, by its id or its displayed name.

    Raises UserError with the nearest name if there is none, and with what distinguishes them if there are several.
    """
    columns, wanted, place = book.inputs.columns, said.strip().lower(), Place(book.package.name)
    by_id = [column for column in columns if wanted and book.said(ID, column).lower() == wanted]
    by_name = [column for column in columns if wanted and shown_name(book, column).lower() == wanted]
    found = by_id or by_name
    if not found:
        known = {text for column in columns for text in (book.said(ID, column), book.said(NAME, column)) if text}
        raise UserError(f"no scenario {said!r}", place=place, remedy=nearest(said, known))
    if len(found) > 1:
        ids = ", ".join(book.said(ID, column) for column in found)
        remedy = "give each an id of its own on Inputs" if by_id else f"give an id: {ids}"
        raise UserError(f"{len(found)} scenarios are called {said!r}", place=place, remedy=remedy)
    return found[0]


def scenario_of(plan: Plan, said: str) -> Scenario:
    """The scenario with this id or name, or the only one if blank.

    Raises UserError if it is blank and there are several, and as `column_of` does.
    """
    if not said and len(plan.scenarios) == 1:
        return plan.scenarios[0]
    if not said:
        remedy = f"say --scenario ID: {few([each.id for each in plan.scenarios], _NAMED)}"
        raise UserError(
            f"it has {len(plan.scenarios)} scenarios, and none is named", place=Place(plan.file), remedy=remedy
        )
    column = column_of(plan.book, said)
    return next(each for each in plan.scenarios if each.column == column)


def shown_name(book: Book, column: int) -> str:
    """The displayed name of a scenario: its name, or its model and chip if it has none."""
    return book.said(NAME, column) or book.model_on_chip(column)


def new_identifier(book: Book, name: str) -> str:
    """The id of a new scenario, made from the name that the user gives it.

    Raises UserError for a name that is empty, too long, or taken.
    """
    new = identifier(name)
    if not new:
        raise UserError(f"{name!r} is no name for a scenario", remedy=WANTED)
    refuse_taken(book, name, new, book.inputs.columns)
    return new


def free_identifier(book: Book, name: str) -> str:
    """The id of a new scenario from a name that may be taken: with a number appended if it is."""
    return free_name(identifier(name), {book.said(ID, column).lower() for column in book.inputs.columns})


def free_name(base: str, taken: Container[str]) -> str:
    """`base`, with a number appended if it is in `taken`, which is in lower case."""
    names = (base if at == 1 else f"{base}_{at}" for at in count(1))
    return next(name for name in names if name.lower() not in taken)


def refuse_taken(book: Book, name: str, new: str, columns: Iterable[int]) -> None:
    """Raise UserError for a name that is too long, has several lines, or is, like its id, taken in `columns`."""
    refuse_unfit(name.strip())
    place, wanted = Place(book.package.name), (new, name.strip().lower())
    for column in columns:
        for taken in (book.said(ID, column), shown_name(book, column)):
            if taken and taken.lower() in wanted:
                raise UserError(f"there is a scenario {taken!r} already", place=place, remedy="give another name")


def own_column(book: Book, table: LineTable, source: int) -> int:
    """The column of a table that shows the scenario in column `source` of Inputs. Raises UserError if there is none."""
    found = next((column for column in table.columns if inputs_column(book.inputs, table, column) == source), None)
    if found is None:
        said, sheet = book.said(ID, source), table.sheet
        what = f"no column shows the scenario {said or column_letters(source)}"
        remedy = "copy a scenario's column on every sheet, or delete it on Inputs"
        typed = (column for column in table.columns if said and sheet.text(table.head.row + 1, column) == said)
        if column := next(typed, None):
            what = f"column {column_letters(column)} shows {said} as a value, not by a formula"
            remedy = "undo what pasted values over the formulas"
        raise UserError(what, place=Place(book.package.name, sheet=sheet.name), remedy=remedy)
    return found


def columns_in_words(columns: Mapping[str, int]) -> str:
    """Columns by sheet in words: `column H of Inputs, Dashboard; column I of Inference`."""
    sheets: dict[int, list[str]] = {}
    for sheet, column in columns.items():
        sheets.setdefault(column, []).append(sheet)
    return "; ".join(f"column {column_letters(column)} of {', '.join(names)}" for column, names in sheets.items())


def scenarios(package: Package) -> tuple[list[str], list[list[str]]]:
    """The titles and rows of the list of a workbook's scenarios."""
    book = Book(package)
    rows = [
        [book.said(ID, at), shown_name(book, at), *(book.said(name, at) for name in (MODEL, CHIP, WORKLOAD))]
        for at in book.inputs.columns
    ]
    titles = ["id", "name", "model", "chip", WORKLOAD]
    return (titles, rows) if WORKLOAD in book.inputs.by_name else (titles[:-1], [row[:-1] for row in rows])


def rename_in_file(path: Path, scenario: str, name: str) -> tuple[str, Recalculated]:
    """Rename a scenario of the workbook at `path`; a blank name follows its model and chip again.

    Returns its id, which stays, and the recalculation. Raises UserError for an unknown scenario, for a name that is
    taken or too long, and as reading and writing do.
    """
    with in_place(path) as package:
        book = Book(package)
        column = column_of(book, scenario)
        if name.strip():
            refuse_taken(book, name, "", (other for other in book.inputs.columns if other != column))
        if (line := book.inputs.by_name.get(NAME)) is None:
            what = f"{book.inputs.sheet.name} has no row {NAME}"
            raise UserError(what, place=Place(path), remedy="planner update brings it back")
        cell = address(line.row, column)
        recalculated = edit(package, book.parsed, book.inputs.sheet.name, {cell: name.strip() or None})
    return book.said(ID, column), recalculated
