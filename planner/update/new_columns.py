"""Fills new columns of the databases in the user's own rows of models, chips, calibrations and stacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from planner.align.keys import KeyedSheet
from planner.catalog import FIELDS
from planner.catalog.calibrations import kind_of
from planner.catalog.columns import Completion, Value
from planner.update.fresh import FreshSheet
from planner.xlsx.cellvalue import is_number


def filled(old: KeyedSheet, fresh: FreshSheet, rows: Iterable[int]) -> Iterator[tuple[int, int, Value]]:
    """Yields (row of the file, column of the fresh sheet, value): the meaning of a blank CSV cell in new columns."""
    new = {name: column for column, name in fresh.columns.items() if name and name not in old.column_of}
    if old.kind == "calibration":
        yield from _of_calibrations(old, fresh, rows, new.values())
    fields = FIELDS.get(old.kind)
    if not fields or not new:
        return
    meant_by, is_text = Completion(fields, old.column_of), {field.name: field.kind == "text" for field in fields}
    for row in rows:
        given: dict[str, Value] = {}
        for column, name in old.columns.items():
            value = old.sheet.value(row, column)
            if isinstance(value, str) and is_text.get(name) is True:
                given[name] = value
            elif is_number(value) and is_text.get(name) is False:
                given[name] = float(str(value))
        meant = meant_by.of(given)
        yield from ((row, at, value) for name, at in new.items() if (value := meant.get(name)) is not None)


def _of_calibrations(
    old: KeyedSheet, fresh: FreshSheet, rows: Iterable[int], columns: Collection[int]
) -> Iterator[tuple[int, int, Value]]:
    """The same for calibrations: a blank takes the number of the chips of its kind."""
    for row in rows:
        kind = fresh.row_of.get(kind_of(old.rows.get(row, "")))
        if kind is not None and row in old.rows:
            yield from ((row, at, value) for at in columns if is_number(value := fresh.value(kind, at)))
