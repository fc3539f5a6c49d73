"""What Dashboard says to change first: what would fit, or make the first failed check hold, else what takes most.

The values to type are live; `planner.formulas.advice` says which rows have them. All lines here are closed, and read by
the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.formulas.advice import OR, WITH, Advice, Typed, changes, mends
from planner.formulas.template import Row
from planner.workbook.calculation import CalculationSheet
from planner.workbook.dashboard_lines import Lines, LineWriter
from planner.xlsx.grid import HERE

NONE_FITS = "no change of chips or batch alone fits"


def write_changes(writer: LineWriter, each: Lines) -> None:
    """Write closed lines on what to change in a workload's plan: what would fit, else what takes most of its step.

    Each change that would fit has a line with those so far.
    """
    fitting = ""
    for advice in changes(each.sheet.template) if each.memory else ():
        for typed in (advice.first, *advice.along):
            join = WITH if typed in advice.along else OR
            joined = f'IF({fitting}="","","{join}")&' if fitting else ""
            words = _if_any(each.sheet, typed, joined)
            said = _said(each, f"would fit: {typed.said}")
            fitting = writer.add(said, f"{fitting}&{words}" if fitting else words)
    most = _most(each)
    if not fitting and most == '""':
        return
    taken = writer.add(_said(each, "takes most of the step", f"{each.template}.most"), f'IFERROR({most},"")')
    if fitting:
        fits_by = f'IF({fitting}="","{NONE_FITS}",{fitting})'
        taken = f"IF({HERE}{each.fits}=0,{fits_by},{taken})"
    each.change = writer.at
    writer.add(_said(each, "to change", f"{each.template}.change"), taken)


def write_mends(writer: LineWriter, checks: Sequence[tuple[Lines, Row, int]]) -> int:
    """Write closed lines on what would make the first failed check hold; returns the last one's row, 0 for none.

    `checks` has each check with its row of Dashboard, which says the first failure of it and those above. A line
    repeats the one above it, unless its check is the first that fails.
    """
    above = ""
    for each, row, place in checks:
        advice = mends(each.sheet.template).get(row.name, Advice(Typed("", "", "")))
        fails = f'{HERE}{place}<>""'
        first = f'AND({HERE}{place - 1}="",{fails})' if place > checks[0][2] else fails
        for typed in (advice.first, *advice.along) if advice.check else ():
            so_far = above or '""'
            join = f'{so_far}&"{WITH}"&' if typed in advice.along else ""
            words = f"IF({first},{_if_any(each.sheet, typed, join, so_far if join else '')},{so_far})"
            above = writer.add(_said(each, f"{row.name} would hold: {typed.said}"), words)
    return writer.at - 1 if above else 0


def _if_any(sheet: CalculationSheet, typed: Typed, joined: str, otherwise: str = "") -> str:
    """The formula of `joined` and the words of what to type; `otherwise`, a blank text, where there is no value."""
    if not typed.row:
        return f'{joined}"{typed.before}"'
    cell, none = sheet.here(typed.row), otherwise or '""'
    before, after = (f'"{text}"' if text else "" for text in (typed.before, typed.after))
    words = "&".join(filter(None, (before, f"FIXED({cell},0)", after)))
    return f"IFERROR(IF({cell}>0,{joined}{words},{none}),{none})"


def _said(each: Lines, label: str, name: str = "") -> tuple[str, ...]:
    """The description of a line in words about a workload's plan."""
    return f"{each.sheet.page.name}: {label}", "text", name, "", "in words"


def _most(each: Lines) -> str:
    """The formula of the part that takes most of the expected step, in words; a blank text if it has no parts.

    So it is of a step without a range, whose decimals have no line.
    """
    if not each.whole or each.whole.row.name not in each.digits:
        return '""'
    first, last = each.parts.start, each.parts.stop - 1
    area, row = f"{HERE}{first}:{HERE}{last}", each.rows[each.whole.row.name]
    label = f"INDEX($E${first}:$E${last},MATCH(MAX({area}),{area},0))"
    if first == last:  # Gnumeric's MATCH fails in a range of one cell
        area, label = f"{HERE}{first}", f"$E${first}"
    digits = f"{HERE}{each.digits[each.whole.row.name]}"
    taken = f'FIXED(MAX({area}),{digits})&" of "&FIXED({HERE}{row},{digits})&" {each.whole.row.said_in}"'
    return f'"none; most time: "&{label}&", "&{taken}'
