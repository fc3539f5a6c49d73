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


def write_changes(writer: LineWriter, each: Lines, at: int) -> int:
    """Write closed lines on what to change in a workload's plan: what would fit, else what takes most of its step.

    Each change that would fit has a line with those so far. Returns the next free row.
    """
    lines: list[tuple[str, str, str]] = []
    for advice in changes(each.sheet.template) if each.memory else ():
        for typed in (advice.first, *advice.along):
            above = f"{HERE}{at + len(lines) - 1}" if lines else ""
            join = WITH if typed in advice.along else OR
            joined = f'IF({above}="","","{join}")&' if above else ""
            words = _if_any(each.sheet, typed, joined)
            lines.append((f"would fit: {typed.said}", "", f"{above}&{words}" if above else words))
    fitting = f"{HERE}{at + len(lines) - 1}" if lines else ""
    most = _most(each)
    if not fitting and most == '""':
        return at
    lines.append(("takes most of the step", f"{each.template}.most", f'IFERROR({most},"")'))
    taken = f"{HERE}{at + len(lines) - 1}"
    if fitting:
        fits_by = f'IF({fitting}="","{NONE_FITS}",{fitting})'
        taken = f"IF({HERE}{each.fits}=0,{fits_by},{taken})"
    lines.append(("to change", f"{each.template}.change", taken))
    for place, (label, name, words) in enumerate(lines, start=at):
        _line(writer, place, f"{each.sheet.page.name}: {label}", name, words)
    each.change = at + len(lines) - 1
    return each.change + 1


def write_mends(writer: LineWriter, checks: Sequence[tuple[Lines, Row, int]], at: int) -> int:
    """Write closed lines on what would make the first failed check hold; returns the last one's row, 0 for none.

    `checks` has each check with its row of Dashboard, which says the first failure of it and those above. A line
    repeats the one above it, unless its check is the first that fails.
    """
    start = at
    for each, row, place in checks:
        advice = mends(each.sheet.template).get(row.name, Advice(Typed("", "", "")))
        fails = f'{HERE}{place}<>""'
        first = f'AND({HERE}{place - 1}="",{fails})' if place > checks[0][2] else fails
        for typed in (advice.first, *advice.along) if advice.check else ():
            above = f"{HERE}{at - 1}" if at > start else '""'
            join = f'{above}&"{WITH}"&' if typed in advice.along else ""
            words = f"IF({first},{_if_any(each.sheet, typed, join, above if join else '')},{above})"
            _line(writer, at, f"{each.sheet.page.name}: {row.name} would hold: {typed.said}", "", words)
            at += 1
    return at - 1 if at > start else 0


def _if_any(sheet: CalculationSheet, typed: Typed, joined: str, otherwise: str = "") -> str:
    """The formula of `joined` and the words of what to type; `otherwise`, a blank text, where there is no value."""
    if not typed.row:
        return f'{joined}"{typed.before}"'
    cell, none = sheet.here(typed.row), otherwise or '""'
    before, after = (f'"{text}"' if text else "" for text in (typed.before, typed.after))
    words = "&".join(filter(None, (before, f"FIXED({cell},0)", after)))
    return f"IFERROR(IF({cell}>0,{joined}{words},{none}),{none})"


def _line(writer: LineWriter, at: int, label: str, name: str, words: str) -> None:
    writer.line(at, (label, "text", name, "", "in words"), words, "plan_words")
    writer.close([at])


def _most(each: Lines) -> str:
    """The formula of the part that takes most of the expected step, in words; a blank text if it has no parts."""
    if not each.whole:
        return '""'
    first, last = each.parts.start, each.parts.stop - 1
    area, row = f"{HERE}{first}:{HERE}{last}", each.rows[each.whole.row.name]
    label = f"INDEX($E${first}:$E${last},MATCH(MAX({area}),{area},0))"
    if first == last:  # Gnumeric's MATCH fails in a range of one cell
        area, label = f"{HERE}{first}", f"$E${first}"
    digits = f"{HERE}{each.digits[each.whole.row.name]}"
    taken = f'FIXED(MAX({area}),{digits})&" of "&FIXED({HERE}{row},{digits})&" {each.whole.row.said_in}"'
    return f'"none; most time: "&{label}&", "&{taken}'
