"""What a profiler's tool tells, in the terms of a profile, and how its rows are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from planner.profiles.profile import Operation, Program, Step

Row = dict[str, Any]


@dataclass
class ToolTable:
    """What one tool's file tells; `format` is the tool's name. `idle` is in seconds over all cores."""

    format: str
    operations: list[Operation] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    device: str | None = None
    cores: int | None = None
    idle: float | None = None
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    facts: dict[str, str] = field(default_factory=dict)


def columns(page: Row) -> list[str]:
    """The names of a table's columns, as Google's charts have them."""
    found = page.get("cols")
    return [str(each.get("id")) for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def properties(page: Row) -> Row:
    """What a table says beside its rows."""
    found = page.get("p")
    return found if isinstance(found, dict) else {}


def rows(page: Row) -> Iterator[Row]:
    """The rows of a table by column."""
    names, listed = columns(page), page.get("rows")
    for row in listed if isinstance(listed, list) else []:
        cells = row.get("c") if isinstance(row, dict) else None
        if isinstance(cells, list):
            values = [cell.get("v") if isinstance(cell, dict) else None for cell in cells]
            yield dict(zip(names, values, strict=False))


def number(row: Row, key: str) -> float:
    """A number of a row; 0 where it is missing."""
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else 0.0
