"""The plans that a search found as a table of numbers."""

from __future__ import annotations

import numpy as np

from planner.catalog import Value
from planner.formulas.headlines import RANGE
from planner.search.optimum import Found
from planner.search.request import Request
from planner.search.sweep import Column, Part

ALWAYS = "memory_bytes_per_chip"


def listed(asked: Request, found: Found) -> tuple[list[Column], Part]:
    """The columns and rows: model, chip, whether it is a tie, what moves, the objectives with their ranges, memory."""
    template = asked.template
    objectives = [each.row.name for each in found.objectives]
    ranges = [name + end for name in objectives for end in RANGE]
    moved = [name for name in found.plans[0].moved if name not in objectives]
    names = [*moved, *objectives, *(name for name in (*ranges, ALWAYS) if name in template.by_name)]
    values: dict[str, list[Value]] = {
        kind: [getattr(plan.subject, kind) for plan in found.plans] for kind in ("model", "hardware")
    }
    values["is_tie"] = [float(plan.is_tie) for plan in found.plans]
    for name in dict.fromkeys(names):
        values[name] = [plan.results.value(name) for plan in found.plans]
    columns = [Column(name, template.by_name.get(name)) for name in values]
    texts = {column.name for column in columns if column.unit == "text" and column.name != "is_tie"}
    return columns, {
        name: np.array(cells, dtype=object if name in texts else np.float64) for name, cells in values.items()
    }  # fmt: skip
