"""A Difference as text for a terminal, or as JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple, TypeVar

from planner.diff.differences import (
    CellChange,
    CheckChange,
    Difference,
    FormulaChange,
    InputChange,
    OutcomeChange,
    RunChange,
    Structure,
)
from planner.diff.measured import folded
from planner.diff.recorded import typed_elsewhere, untold
from planner.number_text import EXACT, EXACT_DIGITS, apart, printed, rounded
from planner.terminal_table import counted
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import CellError, Value, is_number, plain
from planner.xlsx.pattern import pattern

T = TypeVar("T", CellChange, Structure)

MOST = 40
"""The most changes listed under a heading; --all and JSON have all of them."""

LEADING = "Headlines that moved, largest relative change first"
OTHERS = "Ranges, bounds and other numbers of Dashboard that moved"
NOTHING = "no differences"
_CELL = re.compile(r"\$?[A-Z]{1,3}\$?[0-9]+")
SMALL = 5e-4  # a smaller change would be shown as 0.0%
NO_RUN = "(none)"
UNCOUNTED = "-"  # the value of a check for a workload that the scenario isn't meant for
NOW = ("holds", "fails", "isn't counted", "can't be told")
BEFORE = ("held", "failed", "wasn't counted", "couldn't be told")


def number(value: Value, unit: str = "", *, exact: bool = False) -> str:
    """A value as text: "(blank)" for none, a number scaled to its unit as in a report.

    With `exact`, a number has all its digits.
    """
    if value in (None, ""):
        return "(blank)"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "N/A" if value == CellError("#N/A") else str(value)
    if not exact:
        return printed(value, unit)
    text = f"{value:,.0f}" if value == int(value) and abs(value) < EXACT else repr(float(value))
    return f"{text} {unit}" if unit and unit not in ("1", "text") else text


def both(old: Value, new: Value, unit: str = "") -> str:
    """`old -> new`; with all digits if fewer wouldn't distinguish them."""
    before, after = each(old, new, unit)
    return f"{before} -> {after}"


def each(old: Value, new: Value, unit: str = "") -> tuple[str, str]:
    """Both values as texts that differ."""
    before, after = number(old, unit), number(new, unit)
    if before == after and is_number(old) and is_number(new) and (_is_computed(old) or _is_computed(new)):
        before, after = (text.replace("\N{NO-BREAK SPACE}", " ") for text in apart(float(old), float(new), unit))
    if before == after:
        before, after = number(old, unit, exact=True), number(new, unit, exact=True)
    is_other_kind = isinstance(new, str) != isinstance(old, str) and number(old) == number(new)
    return (_kinded(old), _kinded(new)) if is_other_kind or before.split() == after.split() else (before, after)


def _is_computed(value: float) -> bool:
    """Whether a number has more digits than people type."""
    return float(f"{value:.{EXACT_DIGITS}g}") != value


def _kinded(value: Value) -> str:
    if isinstance(value, CellError):
        return f"the error {value}"
    return f"the text {str(value)!r}" if isinstance(value, str) else f"the number {number(value)}"


def percent(change: OutcomeChange) -> str:
    """A headline's relative change, or a word for what happened if there is none."""
    if change.relative is not None:
        if 0 < abs(change.relative) < SMALL:
            return f"{100 * change.relative:+.1g}%"
        return f"{change.relative:+.1%}" if abs(change.relative) < 10 else f"x{1 + change.relative:,.4g}"
    if isinstance(change.new, CellError):
        return "lost"
    return "now there" if isinstance(change.old, CellError) else "changed"


def structure(change: Structure) -> str:
    """A structural change in words."""
    was = f" (was {change.old_name})" if change.old_name else ""
    if change.what in ("sheet", "scenario"):
        return f"{change.what} {change.how}: {change.name}{was}"
    name = f": {change.name}" if change.name else ""
    return f"{change.what} {change.how}: {change.sheet}, {change.what} {change.at}{name}{was}"


def typed(change: InputChange) -> str:
    """A changed input in words."""
    who = f"{change.scenario}: " if change.scenario else ""
    label = f" ({change.label})" if change.label else ""
    return f"{who}{change.name or change.cell}{label}  {both(change.old, change.new, change.unit)}"


def recorded(change: RunChange) -> str:
    """A recorded run with its number before and after, in words."""
    before, after = each(change.old, change.new, change.unit)
    before, after = (NO_RUN if value is None else text for value, text in ((change.old, before), (change.new, after)))
    return f"{change.scenario}, run {change.on}: {change.quantity}  {before} -> {after}"


def formula(change: FormulaChange) -> str:
    """A changed formula in words."""
    called = " of ".join(part for part in (change.name, change.scenario) if part)
    before, after = number(change.old), number(change.new)
    if before == after:  # a formula that a cell in Text format holds as text
        before, after = (
            (before, f"the text {after!r}") if change.how == "overridden" else (f"the text {before!r}", after)
        )
    return f"{change.cell}{f', {called}' if called else ''}, {change.how}: {before} -> {after}"


def cell(change: CellChange) -> str:
    """Another changed cell in words."""
    return f"{change.cell}: {both(change.old, change.new)}"


def check(change: CheckChange) -> str:
    """A changed result of a check, in words."""
    now, before = _verdict(change.new, NOW), _verdict(change.old, BEFORE)
    who = f"{change.scenario}: " if change.scenario else ""
    return f"{who}{change.label} {now} now, {before} before"


def _verdict(value: Value, words: tuple[str, str, str, str]) -> str:
    holds, fails, uncounted, unknown = words
    return holds if value == 1 else fails if value == 0 else uncounted if value == UNCOUNTED else unknown


def as_text(found: Difference, width: int | None = None, *, whole: bool = False) -> str:
    """The difference as lines of text, wrapped to `width` characters if given.

    The plan's leading headlines come first, ranges and bounds last.
    """
    lines = [f"--- {found.old}", f"+++ {found.new}"]
    leading, others, unmeant = parted(found.headlines, whole=whole)
    if leading:
        lines += ["", LEADING, *_outcomes(leading, width, whole)]
    elif not found.is_empty:
        lines += ["", "No headline moved."]
    for title, texts in sections(found, whole=whole):
        lines += ["", title, *_listed(texts, width, whole=whole)]
    if others:
        lines += ["", OTHERS, *_outcomes(others, width, whole)]
    if unmeant:
        lines += ["", f"{left_out(unmeant)}; --all lists them"]
    if found.is_empty:
        lines = [f"{found.old} and {found.new}: {NOTHING}"]
    return "\n".join([*lines, *(f"Note: {text}" for text in found.unsure)])


def sections(found: Difference, *, whole: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Each non-empty heading with its changes in words, except the headlines, which are a table.

    The cells of a measurement, and those of a recorded run, are one text unless the `whole` is asked for.
    """
    cells = sorted(found.cells, key=_is_digest)
    lines = found.structure if whole else untold(found.structure, found.runs)
    parts: list[tuple[str, list[str]]] = [
        ("Sheets, scenarios, rows and columns", list(_told(lines, structure, "row", whole=whole))),
        ("Inputs that changed", [typed(change) for change in found.inputs] if whole else list(_inputs(found))),
        ("Recorded runs", [recorded(change) for change in found.runs]),
        ("Formulas overridden or edited", list(_formulas(found.formulas, whole=whole))),
        ("Checks that come out differently", [check(change) for change in found.checks]),
        ("Notes", [f"{note.cell} {note.how}: {note.new or note.old}" for note in found.notes]),
        ("Other cells", list(_told(cells, cell, "cell", whole=whole))),
        (
            "Formats",
            [
                f"{change.sheet}: {counted(change.cells, 'cell')}, such as {change.first} "
                f"({change.old} -> {change.new})"
                for change in found.formats
            ],
        ),
    ]
    return ((title, texts) for title, texts in parts if texts)


def _inputs(found: Difference) -> Iterator[str]:
    """The changed inputs in words, a text for each measured case."""
    for change in folded(typed_elsewhere(found.inputs, found.runs)):
        if isinstance(change, InputChange):
            yield typed(change)
            continue
        ratio = found.ratios.get(change.time.name)
        times = f", {rounded(ratio)} times the prediction" if ratio is not None else ""
        beside = f"; {counted(change.beside, 'more cell')} of it" if change.beside else ""
        yield f"{typed(change.time._replace(unit='s'))}{times}{beside}"


def _formulas(changes: Sequence[FormulaChange], *, whole: bool) -> Iterator[str]:
    """The changed formulas in words; those filled alike along one row or column are one text."""
    groups: dict[Hashable, list[FormulaChange]] = {}
    for change in changes:
        if whole or not change.by_planner:
            groups.setdefault(_filled(change), []).append(change)
    for first, *more in groups.values():
        yield formula(first) + (f"; so in {counted(len(more), 'more cell')}" if more else "")
    yield from _anew(changes, "cell", whole=whole)


def _told(changes: Sequence[T], in_words: Callable[[T], str], what: str, *, whole: bool) -> Iterator[str]:
    """The changes in words; of what planner wrote anew how much."""
    yield from (in_words(change) for change in changes if whole or not change.by_planner)
    yield from _anew(changes, what, whole=whole)


def _anew(changes: Sequence[FormulaChange | CellChange | Structure], what: str, *, whole: bool) -> Iterator[str]:
    """How many rows or cells of each sheet planner wrote anew, as `update` and `scenario add` do.

    Nothing if there are none, and if the `whole` is asked for: each is a line of its own then.
    """
    written = [change for change in changes if change.by_planner and not whole]
    sheets = Counter(each.sheet if isinstance(each, Structure) else each.cell.rpartition("!")[0] for each in written)
    if sheets:
        said = ", ".join(f"{sheet} {counted(count, what)}" for sheet, count in sheets.items())
        yield f"written anew by planner: {said}; --all lists them"


def _filled(change: FormulaChange) -> Hashable:
    """A key shared by formulas that are filled across a row, or down a column of cases."""
    if not (isinstance(change.old, str) and isinstance(change.new, str) and change.how == "edited"):
        return change.cell
    sheet, _, ref = change.cell.rpartition("!")
    row = change.name.partition("].")[2] or change.name
    return sheet, row, pattern(change.new, *coordinates(ref)), _CELL.sub("#", change.old)


def _is_digest(change: CellChange) -> bool:
    """Whether a cell is the digest of a file, as on Cover; such changes are listed last."""
    return isinstance(change.new, str) and re.fullmatch("[0-9a-f]{64}", change.new) is not None


def parted(
    changes: Sequence[OutcomeChange], *, whole: bool = False
) -> tuple[list[OutcomeChange], list[OutcomeChange], int]:
    """The headlines that lead the plan, its other numbers, such as ranges and bounds, and how many are left out.

    Those of a workload that the scenario isn't meant for are left out, or the last of the others in the `whole`.
    """
    meant = [change for change in changes if change.meant]
    others, unmeant = [change for change in meant if not change.leads], [each for each in changes if not each.meant]
    leading = [change for change in meant if change.leads]
    return (leading, [*others, *unmeant], 0) if whole else (leading, others, len(unmeant))


def left_out(unmeant: int) -> str:
    """How many changes are of workloads that their scenarios aren't meant for."""
    return f"{counted(unmeant, 'other number')} moved, of workloads that the scenarios aren't meant for"


def _listed(texts: Sequence[str], width: int | None, *, whole: bool) -> Iterator[str]:
    listed = texts if whole else texts[:MOST]
    for text in listed:
        yield from _wrapped(text, width, "  ", "      ")
    if len(listed) < len(texts):
        yield f"  and {len(texts) - len(listed):,} more; --all lists them"


def _wrapped(text: str, width: int | None, first: str, others: str) -> list[str]:
    """A text on one line, or wrapped to `width`."""
    one = " ".join(text.splitlines())
    return [first + one] if width is None else wrap(one, width, initial_indent=first, subsequent_indent=others) or [""]


def _outcomes(changes: Sequence[OutcomeChange], width: int | None, whole: bool) -> Iterator[str]:
    """The headlines as a table; long scenarios and names wrap to the next line."""
    listed = changes if whole else changes[:MOST]
    first = max(len(percent(change)) for change in listed)
    second = max(len(change.called) for change in listed)
    for change in listed:
        moved = "  ".join(
            part for part in (change.scenario, both(change.old, change.new, change.said_in or change.unit)) if part
        )
        line = f"  {percent(change):>{first}}  {change.called:<{second}}  {moved}"
        if width is None or len(line) <= width:
            yield line
        else:
            yield f"  {percent(change):>{first}}  {change.called}"
            yield from _wrapped(moved, width, " " * (first + 4), " " * (first + 6))
    if len(listed) < len(changes):
        yield f"  and {len(changes) - len(listed):,} more; --all lists them"


def as_object(difference: Difference) -> str:
    """The difference as one JSON object with a list for each kind of change."""
    changes = {kind: [_record(change) for change in found] for kind, found in difference.changes.items()}
    about = {"old": difference.old, "new": difference.new, "same": difference.is_empty}
    return json.dumps({**about, **changes, "unsure": difference.unsure}, indent=2)


def _record(change: NamedTuple) -> dict[str, object]:
    record: dict[str, object] = {name: plain(value) for name, value in change._asdict().items()}
    return {**record, "relative": change.relative} if isinstance(change, OutcomeChange) else record
