"""The plans that a search found as a table of numbers."""

from __future__ import annotations

import numpy as np

from planner.formulas.expected import EXTRAPOLATED
from planner.formulas.headlines import RANGE, fit
from planner.search.computing import Plans
from planner.search.optimum import Found
from planner.search.request import Request
from planner.search.space import Space
from planner.search.sweep import Column, Part, texts

TIE = "is_tie"  # the column that says 1 of a plan that can't be told from the best


def listed(asked: Request, found: Found) -> tuple[list[Column], Part]:
    """The columns and rows: model, chip, whether it is a tie, what moves, objectives with their ranges, memory.

    Last is whether a plan lies outside of the fitted runs. Of several objectives the whole front.
    """
    template = asked.template
    objectives = [each.row.name for each in found.objectives]
    ranges = [name + end for name in objectives for end in RANGE]
    moved = [name for name in found.plans[0].moved if name not in objectives]
    memory = fit(template)
    others = [*ranges, *([memory.needed] if memory else []), EXTRAPOLATED]
    shown = [*objectives, *(name for name in others if name in template.by_name)]
    columns = [Column(name) for name in ("model", "hardware")]
    columns += [Column(name, template.row(name)) for name in dict.fromkeys([*moved, *shown])]
    count = sum(len(each.ranks) for each in found.chosen)
    is_text = {column.name: column.unit == "text" for column in columns}
    table = {name: np.empty(count, dtype=object if text else np.float64) for name, text in is_text.items()}
    table[TIE] = np.empty(count)
    for each in found.chosen:
        space = Space([each.moved])
        plans = Plans(template, each.subject.facts, asked.given, space, [*dict.fromkeys([*moved, *shown])])
        table["model"][each.ranks], table["hardware"][each.ranks] = each.subject.model, each.subject.hardware
        table[TIE][each.ranks] = each.is_tie
        for block, rows in plans.each(lambda _, rows: rows):
            ranks = each.ranks[block.start : block.start + block.count]
            for name, array in rows.items():
                table[name][ranks] = block.flat(texts(array) if is_text[name] else array)
    ties = [Column(TIE, None, "1")] if len(objectives) == 1 else []
    return [*columns[:2], *ties, *columns[2:]], table
