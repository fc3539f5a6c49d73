"""Rows of Inputs of another kind now: a constant has one cell for all scenarios, every other row one for each.

A reference to the number of such a row is led to the number, and what reads it is named; a range goes on without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.align.keys import KeyedSheet
from planner.book.rowkeys import TEXTS, Keyed
from planner.book.tables import SECTIONS
from planner.update.places import FinalPlaces
from planner.xlsx.moves import Moves
from planner.xlsx.references import references

INPUTS, CONSTANTS, PLAN = "inputs", "Constants", "Plan"
FOURTH, FIFTH = TEXTS[3:]  # of a constant its number, and its source with a note; of other rows their note and source


def turned(old: KeyedSheet, fresh: Keyed, places: FinalPlaces) -> dict[int, dict[int, int | None]]:
    """Rows of a file's sheet that became constants or ceased to be: {row: {old column: new one, None for nowhere}}.

    A constant's number goes to the first scenario's, a scenario's to the constant's. A row that is calculated now has
    no number before somebody overrides it.
    """
    if old.kind != INPUTS:
        return {}
    before, now = _sections(old), _sections(fresh)
    rows = {row: fresh.row_of[key] for row, key in old.rows.items() if key in fresh.row_of and row in before}
    found: dict[int, dict[int, int | None]] = {}
    fourth, fifth = (old.column_of[text] for text in (FOURTH, FIFTH))
    for row, there in rows.items():
        if before[row] == CONSTANTS != now[there]:
            first = places.columns(min(old.scenario_columns))
            found[row] = {fourth: first if now[there] == PLAN else None}
        elif now[there] == CONSTANTS != before[row]:
            number = places.columns(fourth)
            found[row] = {fourth: places.columns(fifth), **dict.fromkeys(old.scenario_columns, number)}
    return found


def _sections(sheet: Keyed) -> dict[int, str]:
    """The section of each row of Inputs below the first one's title."""
    section, found = "", dict[int, str]()
    for row, key in sorted(sheet.rows.items()):
        title = key.removeprefix("label ")
        section = next((name for name in SECTIONS[INPUTS] if title != key and title.startswith(name)), section)
        found |= {row: section} if section else {}
    return found


def read_by(place: str, text: str, sheet: str, moves: Moves, inputs: KeyedSheet) -> Iterator[str]:
    """What to say of a formula of `sheet` at `place` that reads the number of such a row of the file's Inputs."""
    said: dict[str, None] = {}
    for each in (each for each in references(text) if not each.is_foreign and not each.is_range):
        led = moves.of(each.sheet or sheet).turned.get(each.first.row, {})
        if led.get(each.first.column) is None:
            continue
        key = inputs.rows[each.first.row]
        if len(led) == 1:  # a constant's number alone
            said[f"{place} read the constant {key}, now an input per scenario: it reads the first scenario's"] = None
        elif each.first.column in inputs.scenario_columns:
            said[f"{place} read the input {key}, now one constant for all scenarios: it reads the constant"] = None
    yield from said
