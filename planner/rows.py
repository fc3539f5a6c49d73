"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from planner.cells import CellError, parse
from planner.columns import Field, Rule, Value
from planner.csvfile import Sheet
from planner.errors import Place, UserError

NEAR_MISS = 0.85  # similarity from which an unknown column counts as a misspelt one


def read_rows(sheet: Sheet, fields: Sequence[Field]) -> Iterator[tuple[int, dict[str, Value]]]:
    """Each row as (line number, the value of every field).

    Raises UserError: a misnamed column, a column under two names, a cell that its column can't hold, a
    required cell left blank, a number above the one that bounds it.
    """
    columns = _bound(sheet.header, fields, sheet.path)
    constants, rules = _completion(fields, {field.name for field in columns.values()})
    required = [field for field in fields if field.required]
    bounded = [field for field in fields if field.at_most]
    for line, cells in sheet.records():
        row = constants.copy()
        try:
            for header, field in columns.items():
                value = parse(field, cells[header])
                if value is not None:
                    row[field.name] = value
        except CellError as error:
            raise UserError(error.what, place=Place(sheet.path, line, header), remedy=error.remedy) from None
        for name, rule in rules:
            if row[name] is None:
                row[name] = rule(row)
        for field in required:
            if row[field.name] is None:
                place = Place(sheet.path, line, field.name)
                raise UserError(f"{field.name} is blank", place=place, remedy=f"fill in: {field.label}")
        for field in bounded:
            value, bound = row[field.name], row[field.at_most]
            if isinstance(value, float) and isinstance(bound, float) and value > bound:
                what = f"{field.name} {value:g} is more than {field.at_most} {bound:g}"
                place = Place(sheet.path, line, field.name)
                raise UserError(what, place=place, remedy="correct one of the two")
        yield line, row


def _bound(header: Sequence[str], fields: Sequence[Field], path: Path) -> dict[str, Field]:
    """The field that each column of the file fills; columns that no field knows are left out."""
    known = {name: field for field in fields for name in (field.name, *field.aliases)}
    columns: dict[str, Field] = {}
    names: dict[str, str] = {}
    for number, name in enumerate(header, 1):
        place = Place(path, 1, name or number)
        if not name:
            raise UserError("the column has no name", place=place, remedy="name it, or delete it")
        field = known.get(name)
        if field is None:
            _refuse_near_miss(name, known, place)
            continue
        if field.name in names:
            what = f"{name} and {names[field.name]} are two names of one column"
            raise UserError(what, place=place, remedy="keep one of the two")
        columns[name] = field
        names[field.name] = name
    return columns


def _refuse_near_miss(name: str, known: dict[str, Field], place: Place) -> None:
    plain = re.sub("[^a-z0-9]+", "_", name.lower())
    alike = {other.lower(): other for other in known if _digits(other) == _digits(name)}  # fp64 is no fp4
    match = difflib.get_close_matches(plain, alike, n=1, cutoff=NEAR_MISS)
    if match:
        remedy = f"did you mean {alike[match[0]]}? If not, give it another name"
        raise UserError(f'unknown column "{name}"', place=place, remedy=remedy)


def _digits(name: str) -> str:
    return re.sub("[^0-9]", "", name)


def _completion(
    fields: Sequence[Field], present: set[str]
) -> tuple[dict[str, Value], list[tuple[str, Rule]]]:
    """The values that every row of a file shares, and the rules to run on each row, in order."""
    row: dict[str, Value] = dict.fromkeys(field.name for field in fields)
    fixed: set[str] = set()
    rules: list[tuple[str, Rule]] = []
    for field in fields:
        if isinstance(field.blank, Rule):
            if field.name in present or not fixed.issuperset(field.blank.inputs):
                rules.append((field.name, field.blank))
                continue
            row[field.name] = field.blank(row)
        else:
            row[field.name] = field.blank
        if field.name not in present:
            fixed.add(field.name)
    return row, rules
