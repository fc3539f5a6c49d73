"""What a sweep or a search tells on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner import progress
from planner.search.sweep import Column, Sweep
from planner.spoken import PERCENT, shown
from planner.table import aligned

FIRST = 20  # lines of a table that are printed


def first_lines(sweep: Sweep) -> Iterator[str]:
    """The first lines of a table with units, and how many plans there are."""
    rows: list[list[str]] = []
    for part in sweep.parts():
        columns = [part[column.name] for column in sweep.columns]
        rows += [
            list(cells) for cells in zip(*map(cells_of, sweep.columns, [each[:FIRST] for each in columns]), strict=True)
        ]
        if len(rows) >= FIRST:
            break
    progress.clear()
    yield from table(sweep.columns, rows[:FIRST])
    if not rows:
        yield f"None of {sweep.count:,} plans meets the conditions."
    elif sweep.count > FIRST <= len(rows):
        yield f"The first {FIRST} of {sweep.count:,} plans; -o table.csv writes all."


def cells_of(column: Column, values: Sequence[object] | np.ndarray) -> list[str]:
    """A column's values as they are read: `4.39 s`, `85.9 GB`."""
    unit = PERCENT if column.row is not None and column.row.display == PERCENT else column.unit
    return [
        shown(None if value is None or value != value else value if isinstance(value, str) else float(value), unit)  # type: ignore[arg-type]
        .replace("\N{NO-BREAK SPACE}", " ")
        for value in values
    ]  # fmt: skip


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """An aligned table with the names of its columns above."""
    names = [column.name for column in columns]
    return aligned(names, rows, right=[column.name for column in columns if column.unit != "text"]).splitlines()
