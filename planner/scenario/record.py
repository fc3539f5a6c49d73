"""A run of a scenario, put into the table of runs on Comparison with a snapshot of what the plan says of it now."""

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
from planner.compare.runs_table import RecordedRun, appended, beside_run, numbered
from planner.errors import Place, UserError, nearest
from planner.formulas import library
from planner.formulas.headlines import RANGE
from planner.formulas.synonyms import meant
from planner.measure.records import SHORTEST, TOLERATED
from planner.recalc import edit, recalculate
from planner.report.expectation import Planned, planned
from planner.report.figures import CellFigures
from planner.scenario.which import scenario_of
from planner.spoken import DIGITS, PERCENT, few, shown, spoken
from planner.typed_numbers import read
from planner.xlsx.atomic import kept_beside
from planner.xlsx.cellvalue import is_number
from planner.xlsx.moved_parts import delete_row
from planner.xlsx.opc import Package, in_place

RECORDED = "recorded"
TRAINED, DECODED = "step_time_expected", "decode_step_time_expected"
STEPS = (TRAINED, DECODED)  # what the clock of a run tells, not that of all of it
EXPECTED, BOUND = "_expected", "_bound"
TIME, RATE, SHARE = "s", "1/s", PERCENT  # the units in which a run may be told, each by an option of its own
MOST = {TIME: 1e10, RATE: 1e15, SHARE: 1.0}  # three hundred years; the tokens of all that was ever written, each second
OPTIONS = {TIME: "--time TIME", RATE: "--tokens-per-second N", SHARE: "--mfu SHARE"}  # that a run is told with
PER_CENT = 100.0


@dataclass(frozen=True)
class ToldRun:
    """What a person says of a run: a number as typed, in which of the three units, and of what it is.

    `row` is the name or the label of a row of the scenario's plan; blank means the step, else its first headline.
    """

    text: str
    unit: str
    row: str = ""

    @property
    def said_in(self) -> str:
        """What the number is."""
        return {TIME: "time", RATE: "rate", SHARE: "MFU"}[self.unit]

    @property
    def number(self) -> float:
        """The number in SI. Raises UserError for one that no run can have."""
        value = read(self.text, "1" if self.unit in (PERCENT, RATE) else self.unit)
        if not 0 < value <= MOST[self.unit] or (self.unit == TIME and value < SHORTEST):
            what = {TIME: "a time", RATE: "tokens a second", SHARE: "a utilisation"}[self.unit]
            raise UserError(f"{self.text!r} is not {what} that a run has", remedy=self._remedy(value))
        return value

    def _remedy(self, value: float) -> str:
        """What to give in place of a number that no run has."""
        if self.unit == SHARE:
            meant = f"{value:g}%, which is {value / PER_CENT:g}" if 1 < value <= PER_CENT else ""
            return f"did you mean {meant}?" if meant else "give a part of 1, or per cent: 0.41, 41%"
        if not value > 0:
            return "give a number above 0"
        return f"give at most {MOST[self.unit]:g}" if value > MOST[self.unit] else f"give at least {SHORTEST:g}"


def record(path: Path, scenario: str, told: ToldRun, facts: Mapping[str, object], chip: str = "") -> str:
    """Put a run of a scenario into the table of runs of the workbook at `path`; a line for a person.

    `facts` are those of a `RecordedRun` that its recorder knows: note, device, source; `chip` is what it says that ran
    it, where it says so. Raises UserError for a scenario or a row that isn't there, for another chip than the
    scenario's, for a number that no run has, and as reading and writing do.
    """
    number = told.number
    with in_place(path) as package:
        plan = read_plan(package)
        sheet = find(package, plan.book.parsed)
        run = replace(snapshot(plan, scenario, told, number), **facts)  # type: ignore[arg-type]
        is_planned = not chip or Ids([run.chip]).meant(chip)
        is_elsewhere = run.device and is_other(run.device, run.chip, kinds_on(sheet, plan.book.parsed))
        if not is_planned or is_elsewhere:
            said_to_be = run.device if is_planned else chip
            what = f"{run.scenario} is a plan of {run.chip or 'no chip'}, and {said_to_be} is said to have run it"
            remedy = "name the scenario of that chip, or add one with planner scenario add"
            raise UserError(what, place=Place(path), remedy=remedy)
        row = put(package, plan, sheet, run)
    if doubted := likely_unit.doubt(told.text, told.unit, run.ratio):
        progress.warn(doubted)
    return f"{sheet.name} row {row}: {said(run)}"


def remove(path: Path, row: int) -> tuple[list[str], Path]:
    """Take a run out of the table of runs of the workbook at `path`, and keep the old file beside it.

    `row` is its number on the sheet; those below move up. Returns lines for a person, and where the old file is.
    Raises UserError for a row that holds no run, and as reading and writing do.
    """
    with in_place(path) as package:
        sheet = find(package)
        rows = dict(numbered(sheet))
        if row not in rows:
            told = [f"{number} ({_called(run)})" for number, run in rows.items()]
            place, remedy = Place(path, sheet=sheet.name), f"runs are in rows {few(told)}" if told else ""
            raise UserError(f"row {row} holds no run of a scenario", place=place, remedy=remedy)
        beside = [f"{sheet.name}!{each} went with it" for each in beside_run(sheet, row)]
        remarks = [*beside, *map(str, delete_row(package, sheet.name, row))]
        note = recalculate(package).note
        backup = kept_beside(path)
    done = f"removed {sheet.name} row {row}: {_called(rows[row])}"
    return [*filter(None, (done, *remarks, note))], backup


def _called(run: RecordedRun) -> str:
    """A run, and the number that was measured, for a person."""
    return f"{run.name or run.scenario}: {run.quantity} {spoken(run.measured, run.told_in)}"


def put(package: Package, plan: Plan, sheet: ComparisonSheet, run: RecordedRun) -> int:
    """Put a run into the package's table of runs; returns the number of its row."""
    row, contents, like = appended(sheet, run)
    edit(package, plan.book.parsed, sheet.name, contents, like)
    return row


def said(run: RecordedRun) -> str:
    """A run beside what was expected, for a person."""
    unit, line = run.told_in, _called(run)
    if run.expected is None or run.ratio is None:
        return f"{line}; nothing is expected of it, for the plan's number is N/A"
    line += f", {shown(run.ratio, '1', DIGITS)} times the expected {spoken(run.expected, unit, run.measured)}"
    if ABOVE_PEAK in run.flags:
        return f"{line}; it beats its bound of {spoken(run.bound, unit, run.measured)}: flagged {run.flags}"
    if run.low is not None and run.high is not None:
        where = "within" if run.low <= run.measured <= run.high else "outside of"
        line += (
            f", {where} its range of {spoken(run.low, unit, run.measured)} to {spoken(run.high, unit, run.measured)}"
        )
    return line


def snapshot(plan: Plan, scenario: str, told: ToldRun, measured: float) -> RecordedRun:
    """A run of this number, and what the plan expects of it now. Raises UserError as `record` does."""
    which = scenario_of(plan, scenario)
    plans = [each for each in planned(CellFigures(plan)) if each.means(which.key)]
    plans = [each for each in plans if each.is_whole] or plans
    own, row = _measured(plans, told, Place(plan.file), which)

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
        flags=ABOVE_PEAK if bound and _beats(measured, bound, told.unit) else "",
        method=RECORDED,
        id=f"{RECORDED} {datetime.now(UTC).isoformat(timespec='seconds')}",
        source="recorded by hand",
    )


def _beats(measured: float, bound: float, unit: str) -> bool:
    """Whether a number is better than its bound allows, by more than is tolerated of a measured one."""
    return measured * TOLERATED < bound if unit == TIME else measured > bound * TOLERATED


def _measured(plans: Sequence[Planned], told: ToldRun, place: Place, scenario: Scenario) -> tuple[Planned, Quantity]:
    """The row that was measured, and the plan that has it."""
    rows = [(each, _rows(each, told.unit)) for each in plans]
    for own, known in rows:
        wanted = told.row.strip().lower()
        if not wanted and (steps := [name for name in known if name in STEPS]):
            return own, known[steps[0]]
        leading = {each.row.name for each in own.headlines}
        for name, row in known.items():
            called = (name, name.removesuffix(EXPECTED), row.label.lower(), _label(own, row).lower())
            if wanted in called or name in meant(wanted, known) if wanted else name in leading:
                return own, row
    names = [name for _, known in rows for name in known]
    what = f"{scenario.id or scenario.key} plans no {told.row or told.said_in}"
    remedy = nearest(told.row, names) if told.row and names else "planner record --help lists what can be told"
    for unit in OPTIONS:
        if told.row and any(meant(told.row, _rows(each, unit)) for each in plans):
            what, remedy = f"{told.row} is no {told.said_in}", f"tell it with {OPTIONS[unit]}"
    remedy = remedy if plans else "planner update brings what is expected of a scenario"
    raise UserError(what, place=place, remedy=remedy)


def _rows(plan: Planned, unit: str) -> dict[str, Quantity]:
    """The rows that a run of a plan can be told in a unit, its headlines first: those that are expected."""
    leading = [each.row for each in plan.headlines]
    others = [row for name, row in plan.rows.items() if name.endswith(EXPECTED) and row.sheet == plan.sheet]
    found = {row.name: row for row in (*leading, *others)}
    return {name: row for name, row in found.items() if _kind(plan.template, row) == unit}


def _kind(template: str, row: Quantity) -> str:
    said = _unit(template, row)
    return SHARE if said == PERCENT else RATE if row.unit == "1/s" else TIME if row.unit == "s" else ""


def _unit(template: str, row: Quantity) -> str:
    """The unit that people say a row in."""
    known = library.load(template).by_name.get(row.name)
    return (known.said_in if known else "") or row.unit


def _label(plan: Planned, row: Quantity) -> str:
    return next((each.said for each in plan.headlines if each.row.name == row.name), row.title)


def _bound(plan: Planned, row: Quantity) -> str:
    """The name of the row that is a row's bound."""
    leads = (each.bound.name for each in plan.headlines if each.row.name == row.name and each.bound)
    return next(leads, row.name.removesuffix(EXPECTED) + BOUND)


def _inputs(plan: Plan, template: str, scenario: Scenario) -> dict[str, Value]:
    """What a scenario says of a template's inputs, and what it overrides."""
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
