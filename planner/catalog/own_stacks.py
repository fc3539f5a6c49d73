"""Reads the stacks of a user's file of calibrations: its lines that give a factor of a stack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from planner import csvfile
from planner.catalog.calibrations import OF_STACKS, REQUIRED
from planner.catalog.checked_table import Table, called
from planner.catalog.columns import BlankRule, Value, parse
from planner.errors import Place, UserError, placed

RULED = {name: each.blank for name, each in OF_STACKS.items() if isinstance(each.blank, BlankRule)}
"""Rules that fill in missing lines of a stack from its other lines, by name."""


def own_stacks(path: Path, shipped: Table) -> Table:
    """The stacks of a file of calibrations, as a table like the shipped one, with defaults for what is missing.

    Raises UserError for an invalid line, and for the name of a shipped stack.
    """
    rows: dict[str, dict[str, Value]] = {}
    sources: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    sheet = csvfile.read(path, required=REQUIRED)
    for line, cells in sheet.records():
        identifier, name = cells["calibration"].strip(), cells["parameter"].strip()
        if name not in OF_STACKS:
            continue
        place = Place(path, line)
        if not identifier:
            raise UserError("the stack has no name", place=replace(place, column="calibration"), remedy="name it")
        if (identifier.lower(), name) in seen:
            raise UserError(f"{name} of {identifier} is there already", place=place, remedy="keep one")
        seen.add((identifier.lower(), name))
        if shipped.has(identifier):
            what, remedy = f"the stack {identifier!r} is a shipped one", "give yours a name of its own"
            raise UserError(what, place=replace(place, column="calibration"), remedy=remedy)
        if identifier not in rows:
            unsaid = {name: None for name in RULED if name != "name"}
            rows[identifier] = {**shipped.rows["default"], **unsaid, "name": identifier, "source": "", "note": ""}
            sources[identifier] = path.name
        with placed(replace(place, column="value")):
            rows[identifier][name] = parse(OF_STACKS[name], cells["value"])
        if own_sources := cells.get("sources", "").strip():
            rows[identifier]["source"] = sources[identifier] = own_sources
    for row in rows.values():
        for name, rule in RULED.items():
            if row[name] is None:
                row[name] = rule(row)  # a later rule may read what an earlier one gives
    return replace(shipped, path=path, rows=rows, sources=sources, digests={called(path): sheet.digest})
