"""A Difference for a reader of a terminal, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from planner.diffing.changes import (
    CheckChange,
    Difference,
    FormulaChange,
    InputChange,
    OutcomeChange,
    Structure,
    plain,
)
from planner.xlsx.cellvalue import CellError, Value

SHOWN = 40
"""The changes of one heading that are listed; --all and JSON have them all."""

NOTHING = "no differences"


def number(value: Value, unit: str = "", *, exact: bool = False) -> str:
    """A value for a reader: a blank is said to be one, a number has six digits and its unit."""
    if value in (None, ""):
        return "(blank)"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "N/A" if value == CellError("#N/A") else str(value)
    text = repr(float(value)).removesuffix(".0") if exact else f"{value:,.6g}"
    return f"{text} {unit}" if unit and unit not in ("1", "text") else text


def both(old: Value, new: Value, unit: str = "") -> str:
    """`old -> new`; to the last digit where six don't tell them apart."""
    exact = number(old) == number(new)
    if exact and isinstance(new, str) != isinstance(old, str):
        return f"{_kinded(old)} -> {_kinded(new)}"
    return f"{number(old, exact=exact)} -> {number(new, unit, exact=exact)}"


def _kinded(value: Value) -> str:
    return f"the text '{value}'" if isinstance(value, str) else f"the number {number(value)}"


def percent(change: OutcomeChange) -> str:
    """A headline's relative change; what happened where there is none."""
    if change.relative is not None:
        return f"{change.relative:+.1%}" if abs(change.relative) < 10 else f"x{1 + change.relative:,.4g}"
    if isinstance(change.new, CellError):
        return "lost"
    return "now there" if isinstance(change.old, CellError) else "changed"


def structure(change: Structure) -> str:
    """A structural change in words."""
    was = f" (was {change.old_name})" if change.old_name else ""
    if change.what == "sheet":
        return f"sheet {change.how}: {change.name}{was}"
    if change.what == "scenario":
        return f"scenario {change.how}: {change.name}{was}"
    name = f": {change.name}" if change.name else ""
    return f"{change.what} {change.how}: {change.sheet}, {change.what} {change.at}{name}"


def typed(change: InputChange) -> str:
    """A changed input in words."""
    who = f"{change.scenario}: " if change.scenario else ""
    label = f" ({change.label})" if change.label else ""
    return f"{who}{change.name or change.cell}{label}  {both(change.old, change.new, change.unit)}"


def formula(change: FormulaChange) -> str:
    """A changed formula in words."""
    called = " of ".join(part for part in (change.name, change.scenario) if part)
    return f"{change.cell}{f', {called}' if called else ''}, {change.how}: {number(change.old)} -> {number(change.new)}"


def check(change: CheckChange) -> str:
    """A check that comes out differently, in words."""
    now, before = _verdict(change.new, "holds", "fails"), _verdict(change.old, "held", "failed")
    return f"{change.scenario}: {change.label} {now} now, {before} before"


def _verdict(value: Value, holds: str, fails: str) -> str:
    return holds if value == 1 else fails if value == 0 else "can't be told"


def as_text(found: Difference, width: int, *, whole: bool = False) -> str:
    """The difference as lines of text of at most `width` characters, the headlines last."""
    lines = [f"--- {found.old}", f"+++ {found.new}"]
    for title, texts in sections(found):
        lines += ["", title, *_listed(texts, width, whole=whole)]
    if found.headlines:
        lines += ["", "Headlines that moved, largest relative change first", *_outcomes(found.headlines, width, whole)]
    elif not found.is_empty:
        lines += ["", "No headline moved."]
    if found.is_empty:
        lines = [f"{found.old} and {found.new}: {NOTHING}"]
    return "\n".join([*lines, *(f"Note: {text}" for text in found.unsure)])


def sections(found: Difference) -> Iterator[tuple[str, list[str]]]:
    """Each heading that has something below it, with its changes in words; the headlines are a table of their own."""
    parts: list[tuple[str, list[str]]] = [
        ("Sheets, scenarios, rows and columns", [structure(change) for change in found.structure]),
        ("Inputs that changed", [typed(change) for change in found.inputs]),
        ("Formulas overridden or edited", [formula(change) for change in found.formulas]),
        ("Checks that come out differently", [check(change) for change in found.checks]),
        ("Notes", [f"{note.cell} {note.how}: {note.new or note.old}" for note in found.notes]),
        ("Other cells", [f"{change.cell}: {both(change.old, change.new)}" for change in found.cells]),
        ("Formats", [f"{change.sheet}: {change.cells:,} cell{'s' * (change.cells > 1)}, such as {change.first} "
                     f"({change.old} -> {change.new})" for change in found.formats]),
    ]  # fmt: skip
    return ((title, texts) for title, texts in parts if texts)


def _listed(texts: Sequence[str], width: int, *, whole: bool) -> Iterator[str]:
    shown = texts if whole else texts[:SHOWN]
    for text in shown:
        yield from wrap(" ".join(text.split(" ")), width, initial_indent="  ", subsequent_indent="      ") or [""]
    if len(shown) < len(texts):
        yield f"  and {len(texts) - len(shown):,} more; --all lists them"


def _outcomes(changes: Sequence[OutcomeChange], width: int, whole: bool) -> Iterator[str]:
    """The headlines as a table, of which long scenarios and names wrap into the line below."""
    shown = changes if whole else changes[:SHOWN]
    first = max(len(percent(change)) for change in shown)
    second = max(len(change.name) for change in shown)
    for change in shown:
        moved = both(change.old, change.new, change.unit)
        line = f"  {percent(change):>{first}}  {change.name:<{second}}  {change.scenario}  {moved}"
        if len(line) <= width:
            yield line
        else:
            yield f"  {percent(change):>{first}}  {change.name}"
            yield from wrap(f"{change.scenario}  {moved}", width, initial_indent=" " * (first + 4),
                            subsequent_indent=" " * (first + 6))  # fmt: skip
    if len(shown) < len(changes):
        yield f"  and {len(changes) - len(shown):,} more; --all lists them"


def as_object(found: Difference) -> str:
    """The difference as one JSON object: a list for each kind of change, empty where there is none."""
    record: Callable[[tuple[object, ...]], dict[str, object]] = _record
    return json.dumps({
        "old": found.old, "new": found.new, "same": found.is_empty,
        "structure": [record(change) for change in found.structure],
        "inputs": [record(change) for change in found.inputs],
        "formulas": [record(change) for change in found.formulas],
        "checks": [record(change) for change in found.checks],
        "notes": [record(change) for change in found.notes],
        "cells": [record(change) for change in found.cells],
        "formats": [record(change) for change in found.formats],
        "headlines": [{**record(change), "relative": change.relative} for change in found.headlines],
        "unsure": found.unsure,
    }, indent=2)  # fmt: skip


def _record(change: tuple[object, ...]) -> dict[str, object]:
    names: tuple[str, ...] = change._fields  # type: ignore[attr-defined]
    return {name: plain(value) for name, value in zip(names, change, strict=True)}  # type: ignore[arg-type]
