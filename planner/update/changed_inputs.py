"""Inputs that became constants or looked-up numbers, or constants that became inputs.

A constant has one cell for all scenarios, an input one for each.

A reference to the number of such a row is redirected, and its formula is listed; ranges are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.align.keys import KeyedSheet
from planner.book.rowkeys import TEXTS, Keyed
from planner.book.tables import SECTIONS
from planner.update.places import FinalPlaces
from planner.xlsx.moves import Moves
from planner.xlsx.references import references

INPUTS, CONSTANTS, PLAN, OVERRIDES = "inputs", "Constants", "Plan", "Overrides"
FOURTH, FIFTH = TEXTS[3:]  # a constant's number and source with note; other rows' note and source


def redirections(old: KeyedSheet, fresh: Keyed, places: FinalPlaces) -> dict[int, dict[int, int | None]]:
    """For each row of the file's Inputs whose kind changed: old column -> new column, or None without one.

    A constant's number moves to the first scenario, a scenario's to the constant. For an input that is calculated now
    there is no cell until it is overridden.
    """
    if old.kind != INPUTS:
        return {}
    before, now = _sections(old), _sections(fresh)
    rows = {row: fresh.row_of[key] for row, key in old.rows.items() if key in fresh.row_of and row in before}
    found: dict[int, dict[int, int | None]] = {}
    fourth, fifth = old.column_of[FOURTH], old.column_of.get(FIFTH)
    for row, there in rows.items():
        if before[row] == CONSTANTS != now[there]:
            first = places.columns(min(old.scenario_columns))
            found[row] = {fourth: first if now[there] == PLAN else None}
        elif now[there] == CONSTANTS != before[row]:
            number = places.columns(fourth)
            note = places.columns(fifth) if fifth else None  # its column may be deleted
            found[row] = {fourth: note, **dict.fromkeys(old.scenario_columns, number)}
    return found


def looked_up_now(old: KeyedSheet, fresh: Keyed) -> set[int]:
    """The rows of the file's Inputs that the template asked for and now looks up, so that a blank cell is no gap.

    The number in such a row may be planner's default or one that the user gave at the build. The file doesn't tell
    which, so the number stays, and the caller remarks on it.
    """
    if old.kind != INPUTS:
        return set()
    before, now = _sections(old), _sections(fresh)
    asked = {row: key for row, key in old.rows.items() if before.get(row) == PLAN}
    return {row for row, key in asked.items() if now.get(fresh.row_of.get(key, 0)) == OVERRIDES}


def _sections(sheet: Keyed) -> dict[int, str]:
    """The section (such as Plan or Constants) of each row of Inputs below the first section's title."""
    section, found = "", dict[int, str]()
    for row, key in sorted(sheet.rows.items()):
        title = key.removeprefix("label ")
        section = next((name for name in SECTIONS[INPUTS] if title != key and title.startswith(name)), section)
        found |= {row: section} if section else {}
    return found


def read_by(place: str, text: str, sheet: str, moves: Moves, inputs: KeyedSheet) -> Iterator[str]:
    """Remarks on a formula `text` of `sheet`, finally at `place`, that reads the number of such a row."""
    said: dict[str, None] = {}
    for each in (each for each in references(text) if not each.is_foreign and not each.is_range):
        targets = moves.of(each.sheet or sheet).redirections.get(each.first.row, {})
        if targets.get(each.first.column) is None:
            continue
        key = inputs.rows[each.first.row]
        if len(targets) == 1:  # a constant's number alone
            said[f"{place} read the constant {key}, now an input per scenario: it reads the first scenario's"] = None
        elif each.first.column in inputs.scenario_columns:
            said[f"{place} read the input {key}, now one constant for all scenarios: it reads the constant"] = None
    yield from said
