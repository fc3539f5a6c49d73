"""Keys the rows of Sensitivity by the heading of their table, so that they match whichever tables are above it.

By default all tables are numbered in order: what a person typed into the table of serving would be that of training
once a scenario that trains is added, whose table comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.align.keys import KeyedSheet
from planner.formulas.sweeps import FACTORS
from planner.update.fresh import Fresh
from planner.update.table_columns import TITLES
from planner.workbook.memory import Memory
from planner.workbook.sensitivity_sheet import NAME

SENSITIVITY = NAME.lower()
FIRST = FACTORS[0].label  # the first title of each table
UNDER = " | "  # in the key of a row with a text, between the titles above it and the text


def keyed_by_heading(
    memory: Memory | None, sheets: Mapping[str, KeyedSheet], fresh: Fresh
) -> tuple[Memory | None, dict[str, KeyedSheet], Fresh]:
    """The record, the file's sheets and the fresh workbook with these keys on Sensitivity.

    A row of the file has the key that planner gave it, whatever was typed above it since.
    """
    built, old, now = memory and memory.sheets.get(SENSITIVITY), sheets.get(SENSITIVITY), fresh.sheets.get(SENSITIVITY)
    if old is None or now is None:
        return memory, dict(sheets), fresh
    wrote = _keys(built.rows if built else old.rows)
    if memory and built:
        built = replace(built, rows=_renamed(built.rows, wrote))
        memory = replace(memory, sheets={**memory.sheets, SENSITIVITY: built})
    ours, theirs = replace(old, rows=_renamed(old.rows, wrote)), replace(now, rows=_renamed(now.rows, _keys(now.rows)))
    return memory, {**sheets, SENSITIVITY: ours}, replace(fresh, sheets={**fresh.sheets, SENSITIVITY: theirs})


def _renamed(rows: Mapping[int, str], names: Mapping[str, str]) -> dict[int, str]:
    return {row: names.get(key, key) for row, key in rows.items()}


def _keys(rows: Mapping[int, str]) -> dict[str, str]:
    """The new key of each row of a table by the present one: its heading without the unit, and its number."""
    found: dict[str, str] = {}
    heading, label, number = "", "", 0
    for _, key in sorted(rows.items()):
        if key.startswith(f"{TITLES}{FIRST}"):
            label, number = heading.rpartition(UNDER)[2].partition(" (")[0], 0
            found[heading], found[key] = label, f"{TITLES}{label}"
        elif UNDER in key:
            heading, label = key, ""
        elif label:
            number += 1
            found[key] = f"{label}, {number}"
    return found
