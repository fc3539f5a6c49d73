"""What keeps a number from moving: the part of a MAX or MIN that binds it, while another input moves other parts."""

from __future__ import annotations

import math

from planner.formulas.binding import on_the_way, told
from planner.formulas.evaluation import Results

SAME = 1e-12  # what differs by less is the same but for rounding
COUNTS = ("1", "chip")  # units of parts that explain nothing to a reader


def held(here: Results, beside: Results, target: str) -> str:
    """`Time to read the weights (param_time) binds decode_step_time`; blank where what binds moves too.

    `here` and `beside` are those of a single plan whose one input differs. Of several the one nearest to the target.
    """
    for each in reversed(on_the_way(here.template, [target])):
        found = told(each, here.number) if each.unit not in COUNTS else None
        if found is None:
            continue
        part = found.binding
        values = here.number(part.text), beside.number(part.text)
        if None not in values and math.isclose(*values, rel_tol=SAME):  # type: ignore[arg-type]
            called = part.label if part.label == part.text else f"{part.label} ({part.text})"
            return f"{called} binds {each.row.name}"
    return ""
