"""Sensitivities as output: a table with a tornado chart of text, an object for JSON, records for a CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner import csvfile, table
from planner.formulas.sensitivity import Elasticity, Sensitivity, Tried
from planner.spoken import shown

WIDTH = 10  # characters of a bar on each side
LESS, MORE, AXIS = "░", "█", "│"
BEYOND = {1: "►", -1: "◄"}  # the end of a bar that is longer than there is room
FEW = 4  # names of what is left out that a line has
RECORD = (
    "name", "label", "kind", "unit", "value", "less", "more", "elasticity_less", "elasticity_more", "note",
)  # fmt: skip


def lines(found: Sensitivity, top: int = 0) -> list[str]:
    """The largest elasticities as a table with a bar for each side, and what is left out; a `top` of 0 has them all."""
    told = found.elasticities[: top or None]
    value = _value(found.value, found.row.unit)
    said = [f"Elasticities of {found.row.name} ({found.row.label}), {value}: its % for each % of a quantity"]
    body = [
        [
            each.row.name, _value(each.value, each.row.unit), _slope(each.down), _slope(each.up),
            _bar(each, found.scale), each.note,
        ]
        for each in told
    ]  # fmt: skip
    titles = ["", "now", "less", "more", f"{LESS} 1 % less  {MORE} 1 % more".center(2 * WIDTH + 1), ""]
    said += table.aligned(titles, body, right=("now", "less", "more")).splitlines()
    if len(told) < len(found.elasticities):
        said.append(f"and {len(found.elasticities) - len(told)} more: --top 0 tells all")
    if found.left_out:
        said += ["", "Left out", *(f"  {why}: {few(names)}" for why, names in found.left_out.items())]
    return said


def _value(value: float, unit: str) -> str:
    return shown(value, unit).replace("\N{NO-BREAK SPACE}", " ")


def few(names: tuple[str, ...]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def _slope(tried: Tried | None) -> str:
    if tried is None:
        return ""
    return "N/A" if tried.elasticity is None else f"{tried.elasticity:+.3f}"


def _bar(each: Elasticity, most: float) -> str:
    """What more and less of a quantity do to the row, as a bar on each side of an axis; more is drawn over less.

    `most` is an elasticity whose bar is as long as there is room.
    """
    cells = [" "] * (2 * WIDTH + 1)
    for sign, tried, mark in ((-1, each.down, LESS), (1, each.up, MORE)):
        effect = sign * (tried.elasticity or 0.0) if tried is not None else 0.0
        length = round(min(WIDTH, WIDTH * abs(effect) / most))
        way = 1 if effect > 0 else -1
        for step in range(1, length + 1):
            cells[WIDTH + way * step] = mark
        if abs(effect) > most:
            cells[WIDTH + way * WIDTH] = BEYOND[way]
    cells[WIDTH] = AXIS
    return "".join(cells)


def as_object(found: Sensitivity) -> dict[str, Any]:
    """All of it for a program: numbers raw, None for N/A."""
    return {
        "name": found.row.name,
        "value": found.value,
        "unit": found.row.unit,
        "elasticities": [_object(each) for each in found.elasticities],
        "left_out": {why: list(names) for why, names in found.left_out.items()},
    }


def _object(each: Elasticity) -> dict[str, Any]:
    return _of(each) | {
        "value": each.value,
        "more": each.up and each.up._asdict(),
        "less": each.down and each.down._asdict(),
        "is_kink": each.is_kink,
        "note": each.note,
    }


def _of(each: Elasticity) -> dict[str, Any]:
    return {"name": each.row.name, "label": each.row.label, "kind": each.row.kind, "unit": each.row.unit}


def as_csv(told: Mapping[str, Sensitivity]) -> str:
    """The records of some scenarios as a CSV; one that has no name is a template's, which has no column for it."""
    rows = [{"scenario": scenario} | record for scenario, found in told.items() for record in records(found)]
    columns = [*([] if "" in told else ["scenario"]), *RECORD]
    return csvfile.written([columns, *([row[name] for name in columns] for row in rows)])


def records(found: Sensitivity) -> Iterator[dict[str, Any]]:
    """A record of RECORD for each elasticity: the values that were tried, and the elasticity of each side."""
    for each in found.elasticities:
        yield _of(each) | {
            "value": each.value,
            "less": each.down and each.down.at,
            "more": each.up and each.up.at,
            "elasticity_less": each.down and each.down.elasticity,
            "elasticity_more": each.up and each.up.elasticity,
            "note": each.note,
        }
