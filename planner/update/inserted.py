"""Columns that a person put into a sheet of several tables, whose columns are told by their number as built."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher

from planner.align.keys import COMPARISON, COVER, LOG, Keyed, is_titles
from planner.update.sides import Side, is_own
from planner.update.signatures import Signer

_Titles = tuple[str, ...]


def as_built(old: Side, fresh: Side) -> Side:
    """The old workbook with the columns of such sheets numbered as they were built: a person's have no number.

    A column is a person's where the fresh sheet has none between the same neighbours, and no title in it is planner's.
    """
    sheets = dict(old.sheets)
    for kind, keyed in old.sheets.items():
        if kind in fresh.sheets and _is_numbered(keyed) and (own := _own_columns(old, keyed, fresh.sheets[kind])):
            built = [column for column in keyed.columns if column not in own]
            sheets[kind] = replace(keyed, columns={column: str(at) for at, column in enumerate(built, start=1)})
    return replace(old, sheets=sheets, signer=Signer(sheets))


def _is_numbered(keyed: Keyed) -> bool:
    return keyed.kind not in (COVER, LOG, COMPARISON) and all(key.isdigit() for key in keyed.columns.values())


def _own_columns(old: Side, keyed: Keyed, fresh: Keyed) -> set[int]:
    ours, theirs = _titles(keyed), _titles(fresh)
    columns, known = list(keyed.columns), {text for titles in theirs.values() for text in titles}
    one, two = [ours.get(column, ()) for column in columns], [theirs.get(column, ()) for column in fresh.columns]
    own: set[int] = set()
    for how, start, stop, *_ in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if how in ("delete", "replace"):
            own |= {column for column in columns[start:stop] if known.isdisjoint(ours.get(column, ()))
                    and _is_a_persons(old, keyed, column) and column < max(ours, default=0)}  # fmt: skip
    return own


def _titles(keyed: Keyed) -> dict[int, _Titles]:
    """The titles in each column that has any, from top to bottom."""
    found: dict[int, _Titles] = {}
    for row in sorted({row for row, _ in keyed.sheet.cells}):
        if is_titles(keyed.sheet, row):
            for column in keyed.columns:
                if text := keyed.sheet.text(row, column):
                    found[column] = (*found.get(column, ()), text)
    return found


def _is_a_persons(old: Side, keyed: Keyed, column: int) -> bool:
    """Whether no cell of a column is what planner wrote there."""
    cells, sheet = (at for at in keyed.sheet.cells if at[1] == column), keyed.sheet
    return all(is_own(old, keyed, at) for at in cells if at in sheet.patterns or sheet.value(*at) not in (None, ""))
