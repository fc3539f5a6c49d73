"""What a fit to a person's own runs is written as: the CSV that `--calibrations` reads, lines, the sheet Fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from planner import csvfile, table
from planner.book.added import Added, added, is_as_written_but
from planner.book.sheet import Sheet
from planner.catalog import Table
from planner.catalog.calibrations import BY_NAME, COLUMNS, OF_STACKS, running
from planner.fit.runs import COUNTS_HALF
from planner.fit.stack import OwnCalibration, OwnRun, Parameter
from planner.spoken import few, percent
from planner.validation.parameters import GROUPS
from planner.workbook.added_sheet import FIRST_ROW
from planner.workbook.page import Page
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import Value, is_number

DIGITS = 6


@dataclass(frozen=True)
class Provenance:
    """Of what the runs are: the file, the devices, the day of the fit, and the versions of JAX that measured them.

    `jax` has a version for each that a run names, with blanks between; none where no run names one.
    """

    file: str
    device: str
    date: str
    jax: str = ""

    @property
    def cells(self) -> list[str]:
        """The last columns of each line."""
        return [self.device, self.date, running("planner"), self.jax]

    @property
    def versions(self) -> str:
        """`NVIDIA H100, planner 0.1.0, jax 0.7.0`."""
        jax = f"jax {self.jax.replace(' ', ' and ')}" if self.jax else ""
        return ", ".join(filter(None, (self.device, f"planner {running('planner')}", jax)))


def calibrations_csv(found: Sequence[OwnCalibration], stacks: Table, origin: Provenance) -> str:
    """The lines of the stacks and of their calibrations."""
    lines: list[Sequence[str]] = [COLUMNS]
    for own in found:
        used = sum(each.is_used for each in own.runs)
        said = f"{table.counted(used, 'run')} of {origin.file}; factors of {own.base}"
        row = {**stacks.rows[own.base], "name": f"Fitted to {said}", "fitted_for": own.fitted_for}
        for name, column in OF_STACKS.items():
            value = row[name]
            shown = value if isinstance(value, str) else f"{value:g}"
            lines.append([own.id, name, shown, column.column.unit, "", "", "", said, "", *origin.cells])
        lines += [_line(own, each, origin) for each in own.parameters]
    return csvfile.written(lines)


def _line(own: OwnCalibration, each: Parameter, origin: Provenance) -> list[str]:
    bounds = BY_NAME[each.name]
    error = "" if each.error is None else f"{each.error:.3f}"
    told = [str(each.rows), " ".join(own.sources), error] if each.rows else ["", f"as {own.fitted_for}", ""]
    limits = [bounds.unit, f"{bounds.lower:g}", f"{bounds.upper:g}"]
    return [own.id, each.name, f"{each.value:.{DIGITS}g}", *limits, *told, *origin.cells]


def lines(found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> Iterator[str]:
    """What a fit says of itself: what each stack moved, what stayed, and which runs were used."""
    for own in found:
        used = [each for each in own.runs if each.is_used]
        count = table.counted(len(used), "run")
        yield f"stack {own.id}: {count} used, on chips of {own.fitted_for}, over stack {own.base}"
        for each in own.moved:
            unit = BY_NAME[each.name].unit
            unit = "" if unit == "1" else f" {unit}"
            source = f"from {table.counted(each.rows, 'run')}"
            yield f"  {each.name} {each.before:.4g}{unit} -> {each.value:.4g}{unit}, {source}"
        if not own.moved:
            known = "the runs are as the shipped calibration has them, contradict each other"
            yield f"  no parameter is moved: {known}, or determine none"
        yield from _errors(used)
    if " " in origin.jax:
        versions = origin.jax.replace(" ", " and ")
        yield f"the runs were measured with several versions of JAX, {versions}: how they differ is mixed in"
    left = [*(each for own in found for each in own.runs if not each.is_used), *skipped]
    if left:
        yield f"{table.counted(len(left), 'run')} not used:"
        reasons: dict[str, list[str]] = {}
        for run in left:
            reasons.setdefault(run.why_not, []).append(run.run.id)
        for why, ids in sorted(reasons.items(), key=lambda found: -len(found[1])):
            yield f"  {table.counted(len(ids), 'run')}, {why}: {few(ids)}"


def _errors(used: Sequence[OwnRun]) -> Iterator[str]:
    """The median error before and after, a line for the runs of each group of parameters: they are fitted apart."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for each in used:
        group = next((group.name for group in GROUPS if each.run.judged_as in group.kinds), "")
        if each.before and each.after:
            ratios.setdefault(group, []).append((abs(each.before - 1), abs(each.after - 1)))
    for last, (group, errors) in enumerate(ratios.items(), 1 - len(ratios)):
        before, after = (median(side) for side in zip(*errors, strict=True))
        of = "the runs" if len(ratios) == 1 else f"{table.counted(len(errors), 'run')} of {group}"
        end = "" if last else "; all else stays as shipped"
        yield f"  median error of {of} {percent(before)} -> {percent(after)}{end}"


KIND = "Fit"
PURPOSE = "Your runs as a stack of your own: what they moved, and which of them were used (1) and which not (0)."
PARAMETERS = ("stack", "parameter", "what it is", "unit", "as shipped", "fitted", "runs", "error, each left out")
RUNS = ("run", "chip", "measured, in SI", "expected before", "expected now", "used", "why not")
NUMBERS = {*PARAMETERS[4:], *RUNS[2:6]}  # titles of columns of numbers
WIDTHS = (42, 26, 56, 18, 18, 16, 10, 20)
SHORT = "[<0.001]0.000E+00;[<1000]0.####;#,##0"  # four digits are read; the cell holds them all


BY_HAND = "you set used to 0"
Key = tuple[str, float]  # a run as it is known again: its name without the row that it stood in, and what was measured


def key_of(name: str, measured: float) -> Key:
    """A run of a workbook, whichever row it stands in."""
    begin, separator, rest = name.partition(": ")
    return (rest if separator else begin), float(f"{measured:.12g}")


def set_aside(sheets: Iterable[Sheet]) -> set[Key]:
    """The runs that a person set to 0 in the column `used` of the sheets Fit."""
    return {
        key_of(name, measured)
        for each in added(sheets)
        if each.kind == KIND
        for _, name, measured, used, why in _used(each.sheet)
        if used == 0 and (why == BY_HAND or _was_used(why))
    }


def may_replace(each: Added) -> bool:
    """Whether a person typed nothing on a sheet Fit but numbers in its column `used`."""
    return is_as_written_but(each, {at: float(_was_used(why)) for at, _, _, _, why in _used(each.sheet)})


def _used(sheet: Sheet) -> Iterator[tuple[Position, str, float, object, str]]:
    """Of each run of a sheet Fit the place of `used`, its name, what was measured, what `used` says and why not."""
    heads = [at for at, value in sheet.values.items() if value == RUNS[0] and sheet.value(at[0], at[1] + 5) == "used"]
    for row, column in heads:
        at = row + 1
        while isinstance(name := sheet.value(at, column), str):
            measured, used, why = (sheet.value(at, column + RUNS.index(title)) for title in (RUNS[2], "used", RUNS[6]))
            if is_number(measured):
                yield (at, column + RUNS.index("used")), name, float(str(measured)), used, str(why or "")
            at += 1


def _was_used(why: str) -> bool:
    """Whether planner wrote 1 into `used`, by what it wrote beside it."""
    return not why or why.endswith(COUNTS_HALF)


def write_sheet(page: Page, found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> None:
    """Fill the page: the parameters that moved, then all runs."""
    at = FIRST_ROW
    page.put(at - 1, 1, f"Fitted on {origin.date}: {origin.versions}", "plan_text")  # which goes on over the next cells
    at = _table(page, at, PARAMETERS, _parameters(found))
    _table(page, at + 2, RUNS, _runs([*(each for own in found for each in own.runs), *skipped]))
    page.widths(*WIDTHS)


def _table(page: Page, at: int, titles: Sequence[str], rows: Iterator[Sequence[Value]]) -> int:
    """A table with its titles at a row; returns the row below it."""
    for column, title in enumerate(titles, 1):
        page.put(at, column, title, "plan_header_right" if title in NUMBERS else "plan_header_text")
    last = at
    for last, row in enumerate(rows, at + 1):
        for column, value in enumerate(row, 1):
            form = SHORT if isinstance(value, float) and not value.is_integer() else "General"  # 1, and not 1.
            if value is not None:
                page.put(last, column, value, "plan_data_text" if isinstance(value, str) else "plan_data", form)
    return last + 1


def _parameters(found: Sequence[OwnCalibration]) -> Iterator[Sequence[Value]]:
    for own in found:
        for each in own.parameters:
            if each.rows:
                known = BY_NAME[each.name]
                yield own.id, each.name, known.label, known.unit, each.before, each.value, float(each.rows), each.error


def _runs(runs: Sequence[OwnRun]) -> Iterator[Sequence[Value]]:
    for each in runs:
        run = each.run
        before, after = (None if ratio is None else _expected(each, ratio) for ratio in (each.before, each.after))
        yield run.id, run.hardware, run.measured, before, after, float(each.is_used), each.why_not


def _expected(each: OwnRun, ratio: float) -> float:
    """What is expected of a run, by its expected time over the measured one: of a rate it is the inverse."""
    return each.run.measured / ratio if each.is_rate else each.run.measured * ratio
