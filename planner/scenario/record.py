"""Records a run of a scenario in the table of runs on Comparison, with a snapshot of what the plan expects now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from planner import progress
from planner.book.plan import Plan, Quantity, Scenario
from planner.book.read_plan import read_plan
from planner.catalog import Value
from planner.catalog.checked_table import Ids
from planner.compare import likely_unit
from planner.compare.comparison_sheet import ComparisonSheet, find
from planner.compare.measuring import kinds_on
from planner.compare.row_of_measurement import ABOVE_PEAK, is_other
from planner.compare.runs_table import (
    UNREADABLE,
    RecordedRun,
    appended,
    beside_run,
    numbered,
    print_run,
    taken_out,
    unreadable_rows,
)
from planner.errors import NEAR, Place, UserError, closest, nearest
from planner.formulas import library
from planner.formulas.headlines import RANGE
from planner.formulas.synonyms import meant
from planner.measure.records import SHORTEST, TOLERATED
from planner.number_text import DIGITS, PERCENT, few, shown, spoken
from planner.plausible import share_meant
from planner.recalc import edit, recalculate
from planner.report.expectation import Planned, planned
from planner.report.figures import CellFigures
from planner.scenario.which import scenario_of
from planner.typed_numbers import read
from planner.xlsx.atomic import kept_beside
from planner.xlsx.cellvalue import is_number
from planner.xlsx.moved_parts import delete_rows
from planner.xlsx.opc import Package, in_place
from planner.xlsx.workbook_part import print_no_more

RECORDED = "recorded"
TRAINED, DECODED = "step_time_expected", "decode_step_time_expected"
STEPS = (TRAINED, DECODED)  # rows that a measured time per step means, not one of the whole run
EXPECTED, BOUND = "_expected", "_bound"
PREDICTED = "Expected"  # the word that the labels of such rows begin with
TIME, RATE, SHARE = "s", "1/s", PERCENT  # the units of a run's number, each with its own option
MOST = {TIME: 1e10, RATE: 1e15, SHARE: 1.0}  # largest values: 300 years; more tokens/s than any machine
ALIKE = 5.0  # largest factor between two numbers that are said in one unit: the ends of a range are near as well
OPTIONS = {TIME: "--time TIME", RATE: "--tokens-per-second N", SHARE: "--mfu SHARE"}  # by unit


@dataclass(frozen=True)
class StatedRun:
    """A run as the user states it: a number as typed, in one of three units, and the quantity measured.

    `row` is the name or the label of a row of the scenario's plan; blank means the step, else the first headline.
    """

    text: str
    unit: str
    row: str = ""

    @property
    def kind(self) -> str:
        """The kind of the number, in words."""
        return {TIME: "time", RATE: "rate", SHARE: "MFU"}[self.unit]

    @property
    def number(self) -> float:
        """The number in SI units. Raises UserError for one that no run can have."""
        value = read(self.text, "1" if self.unit in (PERCENT, RATE) else self.unit)
        if not 0 < value <= MOST[self.unit] or (self.unit == TIME and value < SHORTEST):
            what = {TIME: "a time", RATE: "tokens a second", SHARE: "a utilisation"}[self.unit]
            raise UserError(f"{self.text!r} is not {what} that a run has", remedy=self._remedy(value))
        return value

    def _remedy(self, value: float) -> str:
        """What to type in place of an impossible number."""
        if self.unit == SHARE:
            meant = share_meant(value)
            return f"write {meant}" if meant else "give a part of 1, or per cent: 0.41, 41%"
        if not value > 0:
            return "give a number above 0"
        return f"give at most {MOST[self.unit]:g}" if value > MOST[self.unit] else f"give at least {SHORTEST:g}"


def record(path: Path, scenario: str, stated: StatedRun, facts: Mapping[str, object], chip: str = "") -> str:
    """Add a run of a scenario to the table of runs of the workbook at `path`; returns a line of text.

    `facts` are further fields of `RecordedRun`: note, device, source; `chip` is the chip that ran it, if stated. Raises
    UserError for an unknown scenario or row, for another chip than the scenario's, for an impossible number, and as
    reading and writing do.
    """
    number = stated.number
    with in_place(path) as package:
        plan = read_plan(package)
        sheet = find(package, plan.book.parsed)
        run = replace(snapshot(plan, scenario, stated, number), **facts)  # type: ignore[arg-type]
        is_planned = not chip or Ids([run.chip]).meant(chip)
        is_elsewhere = run.device and is_other(run.device, run.chip, kinds_on(sheet, plan.book.parsed))
        if not is_planned or is_elsewhere:
            said_to_be = run.device if is_planned else chip
            what = f"{run.scenario} is a plan of {run.chip or 'no chip'}, and {said_to_be} is said to have run it"
            remedy = "name the scenario of that chip, or add one with planner scenario add"
            raise UserError(what, place=Place(path), remedy=remedy)
        row = put(package, plan, sheet, run)
    if doubted := likely_unit.doubt(stated.text, stated.unit, run.ratio):
        progress.warn(doubted)
    return f"{sheet.name} row {row}: {said(run)}"


def remove(path: Path, row: int) -> tuple[list[str], Path]:
    """Remove a run from the table of runs of the workbook at `path`, and keep a copy of the old file beside it.

    `row` is the run's row on the sheet; rows below it move up. With the last run goes the table. Returns lines for the
    user, and the path of the copy.
    Raises UserError for a row without a run, and as reading and writing do.
    """
    with in_place(path) as package:
        sheet = find(package)
        rows = {number: _called(run) for number, run in numbered(sheet)}
        rows |= dict.fromkeys(unreadable_rows(sheet), UNREADABLE)
        if row not in rows:
            known = [f"{number} ({run})" for number, run in sorted(rows.items())]
            place, remedy = Place(path, sheet=sheet.name), f"runs are in rows {few(known)}" if known else ""
            raise UserError(f"row {row} holds no run of a scenario", place=place, remedy=remedy)
        gone = taken_out(sheet, row)
        beside = [f"{sheet.name}!{ref} went with it" for each in gone for ref in beside_run(sheet, each)]
        print_no_more(package, sheet.name, gone)
        remarks = [*beside, *map(str, delete_rows(package, sheet.name, gone))]
        note = recalculate(package).note
        backup = kept_beside(path)
    done = f"removed {sheet.name} row {row}: {rows[row]}"
    return [*filter(None, (done, *remarks, note))], backup


def _called(run: RecordedRun) -> str:
    """A run and its measured number, in words."""
    return f"{run.name or run.scenario}: {run.quantity} {spoken(run.measured, run.said_in)}"


def put(package: Package, plan: Plan, sheet: ComparisonSheet, run: RecordedRun) -> int:
    """Add a run to the package's table of runs; returns its row number."""
    row, contents, like = appended(sheet, run)
    edit(package, plan.book.parsed, sheet.name, contents, like)
    print_run(package, sheet, row)
    return row


def said(run: RecordedRun) -> str:
    """A run and what was expected of it, in words."""
    unit, line = run.said_in, _called(run)
    if run.expected is None or run.ratio is None:
        return f"{line}; nothing is expected of it, for the plan's number is N/A"
    like = run.measured if 1 / ALIKE < run.ratio < ALIKE else run.expected
    line += f", {shown(run.ratio, '1', DIGITS)} times the expected {spoken(run.expected, unit, like)}"
    if ABOVE_PEAK in run.flags:
        return f"{line}; it beats its bound of {spoken(run.bound, unit, like)}: flagged {run.flags}"
    if run.low is not None and run.high is not None:
        where = "within" if run.low <= run.measured <= run.high else "outside of"
        line += f", {where} its range of {spoken(run.low, unit, like)} to {spoken(run.high, unit, like)}"
    return line


def snapshot(plan: Plan, scenario: str, stated: StatedRun, measured: float) -> RecordedRun:
    """A run with this number, in SI units, and what the plan expects now. Raises UserError as `record` does."""
    every = list(planned(CellFigures(plan)))
    try:
        which = scenario_of(plan, scenario)
    except UserError:
        if every and stated.row:  # what no scenario plans is the greater problem
            _measured(every, stated, Place(plan.file), "no scenario of it plans")
        raise
    plans = [each for each in every if each.means(which.key)]
    plans = [each for each in plans if each.is_whole] or plans
    own, row = _measured(plans, stated, Place(plan.file), f"{which.id or which.key} plans no")

    def number(name: str) -> float | None:
        return own.number(name, which.key) if name in own.rows else None

    low, high = (number(f"{row.name}{end}") for end in RANGE)
    bound = number(_bound(own, row))
    return RecordedRun(
        scenario=which.id or which.key,
        name=which.name,
        template=own.template,
        row=row.name,
        quantity=_label(own, row),
        unit=_unit(own.template, row),
        measured=measured,
        expected=number(row.name),
        low=low,
        high=high,
        bound=bound,
        on=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        model=which.model,
        chip=which.hardware,
        stack=str(own.value("stack", which.key) or ""),
        inputs=_inputs(plan, own.template, which),
        flags=ABOVE_PEAK if bound and _beats(measured, bound, stated.unit) else "",
        method=RECORDED,
        id=f"{RECORDED} {datetime.now(UTC).isoformat(timespec='milliseconds')}",
        source="recorded by hand",
    )


def _beats(measured: float, bound: float, unit: str) -> bool:
    """Whether a number is better than its bound, by more than the tolerance for measurements."""
    return measured * TOLERATED < bound if unit == TIME else measured > bound * TOLERATED


def _measured(plans: Sequence[Planned], stated: StatedRun, place: Place, none: str) -> tuple[Planned, Quantity]:
    """The row that was measured, and the plan that has it.

    Raises UserError where none has, with the words `none` before the row's name.
    """
    rows = [(each, _rows(each, stated.unit)) for each in plans]
    for own, known in rows:
        wanted = stated.row.strip().lower()
        if not wanted and (steps := [name for name in known if name in STEPS]):
            return own, known[steps[0]]
        leading = {each.row.name for each in own.headlines}
        for name, row in known.items():
            called = (name, name.removesuffix(EXPECTED), row.label.lower(), _label(own, row).lower())
            if wanted in called or name in meant(wanted, known) if wanted else name in leading:
                return own, row
    names = [name for _, known in rows for name in known]
    what = f"{none} {stated.row or stated.kind}"
    remedy = "planner record --help lists what can be told"
    if stated.row and names:  # headlines come first: a step's parts are seldom measured
        remedy = nearest(stated.row, names) if closest(stated.row, names, 1, NEAR) else f"known: {few(names)}"
    for unit in OPTIONS:
        in_unit = [_rows(each, unit) for each in plans]
        if stated.row and any(stated.row in found or meant(stated.row, found) for found in in_unit):
            what, remedy = f"{stated.row} is no {stated.kind}", f"tell it with {OPTIONS[unit]}"
    remedy = remedy if plans else "planner update brings what is expected of a scenario"
    raise UserError(what, place=place, remedy=remedy)


def _rows(plan: Planned, unit: str) -> dict[str, Quantity]:
    """The rows of a plan that a run may state in a unit: headlines first, then other expected ones."""
    leading = [each.row for each in plan.headlines]
    others = [row for name, row in plan.rows.items() if name.endswith(EXPECTED) and row.sheet == plan.sheet]
    found = {row.name: row for row in (*leading, *others)}
    return {name: row for name, row in found.items() if _kind(plan.template, row) == unit}


def _kind(template: str, row: Quantity) -> str:
    said = _unit(template, row)
    return SHARE if said == PERCENT else RATE if row.unit == "1/s" else TIME if row.unit == "s" else ""


def _unit(template: str, row: Quantity) -> str:
    """The display unit of a row."""
    known = library.load(template).by_name.get(row.name)
    return (known.said_in if known else "") or row.unit


def _label(plan: Planned, row: Quantity) -> str:
    """What was measured: `Prefill of one prompt` for the row `Expected prefill of one prompt`."""
    title = row.title.removeprefix(f"{PREDICTED} ")
    return next((each.said for each in plan.headlines if each.row.name == row.name), title[:1].upper() + title[1:])


def _bound(plan: Planned, row: Quantity) -> str:
    """The name of the row that bounds a row."""
    leads = (each.bound.name for each in plan.headlines if each.row.name == row.name and each.bound)
    return next(leads, row.name.removesuffix(EXPECTED) + BOUND)


def _inputs(plan: Plan, template: str, scenario: Scenario) -> dict[str, Value]:
    """A scenario's inputs of a template, and its overrides."""
    names = {row.name for row in library.load(template).of_kind("input")}
    rows = [*(row for row in plan.inputs if row.name in names), *plan.overrides]
    found: dict[str, Value] = {}
    for row in rows:
        value = row.value(scenario.key)
        if is_number(value):
            found[row.name] = float(value)
        elif isinstance(value, str) and value:
            found[row.name] = value
    return found
