"""Reads a profile with its chip, peaks and cases, and writes it into an edited workbook.

Its step becomes a recorded run, its recognised operations become cases, and everything else goes on the sheet Profile.
All is written in one edit, atomically.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isclose
from pathlib import Path

from planner import garbage_collection, progress
from planner.book.added_sheets import added
from planner.book.plan import Plan, Scenario
from planner.book.read_plan import read_plan
from planner.compare import runs_table
from planner.compare.comparison_sheet import find
from planner.compare.landing import Landing, land_in, put_by_key
from planner.compare.prediction import hardware
from planner.compare.row_of_measurement import OTHER_HARDWARE
from planner.compare.runs_table import RecordedRun
from planner.errors import Place, UserError
from planner.ingest import first_page, profile_sheet
from planner.ingest.chips import Chip, Chips, chip_of, chips_of
from planner.ingest.decode_steps import no_decode_step
from planner.ingest.first_page import PageLine, PlannedStep
from planner.ingest.operation_rows import Peaks, peaks_of
from planner.ingest.profile_sheet import KIND
from planner.ingest.profiled_cases import UNKNOWN_DEVICE, Cases, cases_of
from planner.number_text import PERCENT, few, percent
from planner.profiles import reading
from planner.profiles.profile import ALL_CORES, CHIP_PLACE, CORES, RANKS, REPLICAS, Profile, spread, step_kinds
from planner.profiles.profile_files import named
from planner.profiles.step_kinds import DECODE, phase
from planner.report.expectation import planned
from planner.report.figures import CellFigures
from planner.scenario.record import DECODED, STEPS, TIME, TRAINED, StatedRun, put, said, snapshot
from planner.scenario.which import scenario_of
from planner.terminal_table import counted
from planner.workbook import added_sheet
from planner.xlsx.atomic import locked
from planner.xlsx.opc import Package

METHOD, OF_SCENARIO = "profile", "Scenario"
OTHER_COUNT = "other_chip_count"  # the flag of a run that isn't known to be on as many chips as the plan has
NO_STEPS = "no_steps"  # the flag of a run that is a whole profile, in which no step was found
NAMED = 40  # most files and hosts to name, since a cell can't hold thousands


@dataclass(frozen=True)
class Ingested:
    """A profile with its chip, how many of them it has, the chip's peaks, and the recognised cases."""

    profile: Profile
    chip: Chip
    chips: Chips
    peaks: Peaks
    cases: Cases


def ingested(
    paths: Sequence[Path], device: str, into: Path | None, scenario: str, steps: str = "", row: str = ""
) -> Ingested:
    """The profile in these files or folders, with its chip, peaks and cases; `device` is the user's id for the chip.

    `steps` is the requested kind of steps, blank for the main one; `row` the headline that one is. Reading a profile
    can take minutes, so what can be known before is checked first, the greater problem first: raises UserError for a
    file that is no profile, an unknown chip, a workbook that can't be used, an unknown row or scenario; and as reading.
    """
    reading.refuse_unsupported(paths)
    table = hardware()
    if device:
        table.identify(device)
    if into is not None:
        plan = read_plan(into)
        snapshot(plan, scenario, StatedRun("", TIME, row), 1.0) if row else scenario_of(plan, scenario)
    profile = reading.read(*paths, asked=steps)
    chip = chip_of(profile, device, table)
    chips = chips_of(profile, chip)
    peaks = peaks_of(next(iter(profile.active), None), chip, chips)
    return Ingested(profile, chip, chips, peaks, cases_of(profile, chip))


def land(path: Path, found: Ingested, scenario: str, row: str, note: str) -> list[str]:
    """Write a profile into the workbook at `path` as a run of a scenario.

    `row` is the headline that a step is a run of. Returns lines for the user on what was written. Raises UserError as
    reading and writing do, and for an unknown scenario or row.
    """
    with locked(path), garbage_collection.paused():
        progress.step(f"reading {path.name}")
        package = Package.read(path)
        plan = read_plan(package)
        which = scenario_of(plan, scenario)
        run, step = _run(plan, which, found, row, note)
        said_of_run, place = "the profile has no step: no run is recorded", None
        if found.profile.step_times:
            progress.step("recording the run")
            sheet = find(package, plan.book.parsed)
            known = next((row for row, old in runs_table.numbered(sheet) if _is_same(old, run)), 0)
            if known:
                place = sheet.run_rows.index(known)
            else:
                put(package, plan, sheet, run)
                place = -1
        progress.step("landing its operations")
        landing = land_in(package, lambda landing: _choose(landing, found))
        if place is not None:  # its current row, since runs may have moved for the operations
            said_of_run = f"{landing.sheet.name} row {landing.sheet.run_rows[place]}: {said(run)}"
        progress.step(f"writing the sheet {KIND}")
        lines = [*first_page.lines(found.profile, step, found.peaks, found.chips), share_line(found.cases)]
        about = about_lines(found, which, run)
        fill = partial(profile_sheet.write, profile=found.profile, lines=lines, peaks=found.peaks, about=about)
        name = added_sheet.put(package, _kind(plan, which), profile_sheet.PURPOSE, fill)
        package.write(path)
    if OTHER_COUNT in run.flags:
        its, plans = counted(found.chips.count or 0, "chip"), f"{step.chips or 0:,.0f}"
        doubtful = first_page.other_chips(found.chips, step)
        other = f"the profile is of {its} and {which.name} of {plans}: {doubtful}"
        progress.warn(f"{other}; {_flagged(OTHER_COUNT)} that run")
    if NO_STEPS in run.flags:
        all_of_it = f"nothing tells where a step begins: all of the profile is recorded as one {run.quantity.lower()}"
        progress.warn(f"{all_of_it}; {_flagged(NO_STEPS)} one step")
    is_flag_reported = place is None or f"flagged {run.flags}" in said_of_run  # without a run there is no flag
    marked = [f"flagged {run.flags}"] if run.flags and not is_flag_reported else []
    sheet_written = f"sheet {name}: {counted(len(lines), 'first line')}"
    between = filter(None, [first_page.between_steps(found.profile)])
    return [said_of_run, *marked, *between, *found.profile.notes, *_landed(landing, found), sheet_written]


def _flagged(flag: str) -> str:
    return f"flagged {flag}, so that planner fit leaves it out; delete the flag if it is"


def _kind(plan: Plan, which: Scenario) -> str:
    """The sheet kind of a scenario's profile: `Profile` for the first scenario with one, with an id for others."""
    there = {each.kind: each.sheet for each in added(plan.book.sheets.values()) if each.kind.startswith(KIND)}
    for kind, sheet in there.items():
        if any(sheet.text(row, 1) == OF_SCENARIO and f"({which.id}), " in sheet.text(row, 2) for row in sheet.filled):
            return kind
    return KIND if KIND not in there else f"{KIND}_{which.id}".translate(str.maketrans("[]", "()"))


def share_line(cases: Cases) -> PageLine:
    """The share of the operations' time that was recognised."""
    return PageLine("Recognised, of all operations' time", cases.share, PERCENT, note=cases.said)


def about_lines(found: Ingested, which: Scenario | None, run: RecordedRun | None) -> list[tuple[str, str]]:
    """What a profile is of, as (label, text) lines."""
    profile = found.profile
    facts = [*profile.facts.items(), *(profile.devices[0].facts.items() if profile.devices else ())]
    lines = [
        ("Files", few([named(Path(path)) for path in profile.paths], NAMED)),
        ("Format", profile.format),
        ("Device", found.chip.said),
        ("Hosts", f"{len(profile.hosts)}: {few(profile.hosts, NAMED)}" if profile.hosts else "not named in the file"),
        ("Devices", "; ".join(filter(None, [_devices(profile), found.chips.why if found.chips.count else ""]))),
        ("Peaks", found.peaks.source or found.peaks.why),
    ]
    lines += [("Note", note) for note in profile.notes]
    if not found.chip.id:
        identifying = {name: value for name, value in facts if name not in (CHIP_PLACE, RANKS, REPLICAS)}
        lines += [(f"What tells the device: {name}", str(value)) for name, value in identifying.items()]
    if which is not None and run is not None:
        lines.append((OF_SCENARIO, f"{which.name} ({which.id}), {_chips(run)} {which.hardware}"))
        if run.flags:
            lines.append(("Flags", run.flags))
    return lines


def _devices(profile: Profile) -> str:
    """The number of devices in a profile and of those that ran anything; a tool adds up all."""
    if CORES in profile.facts:
        return f"{profile.facts[CORES]}, added up"
    if any(device.name == ALL_CORES for device in profile.devices):
        return "all of them added up: the tool doesn't tell how many"
    return f"{len(profile.devices)}, {len(profile.active)} of them ran something"


def _chips(run: RecordedRun) -> str:
    chips = (run.inputs or {}).get("n_chips")
    return f"{chips:,.0f}" if isinstance(chips, float) else "?"


def _run(plan: Plan, which: Scenario, found: Ingested, row: str, note: str) -> tuple[RecordedRun, PlannedStep]:
    """The profile's step as a run, and the plan's numbers for such a step."""
    times, stated = found.profile.step_times, StatedRun("", TIME, row)
    seconds, deviation, n = spread(times) if times else (float("inf"), 0.0, 0)
    run = snapshot(plan, which.id or which.name, stated, seconds)
    if run.row in STEPS and (of_run := first_page.pace(found.profile)) and of_run[0] < seconds:
        seconds, deviation, n = of_run
        run = snapshot(plan, which.id or which.name, stated, seconds)
    if times and not row and run.row == DECODED and (why := no_decode_step(found.profile, run.inputs or {})):
        remedy = "say what one is, as --of prefill_time or --of time_to_first_token"
        if any(phase(kind.name) == DECODE for kind in step_kinds(found.profile.devices)):
            remedy = f"take those, --steps {DECODE}, or {remedy}"
        raise UserError(f"the steps of this profile are no decode steps: {why}", place=Place(plan.file), remedy=remedy)
    flags = [run.flags, *([UNKNOWN_DEVICE] if not found.chip.id else [])]
    is_other_chip = bool(found.chip.id) and found.chip.id != which.hardware
    flags += [OTHER_HARDWARE] if is_other_chip else []
    step = replace(_planned(plan, which, run), is_other_chip=is_other_chip)
    flags += [OTHER_COUNT] if step.chips and not found.chips.is_of(step.chips) else []
    flags += [NO_STEPS] if times and found.profile.found == "whole" else []
    names = ", ".join(named(Path(path)) for path in found.profile.paths[:3])
    run = replace(
        run,
        spread=deviation / seconds if n > 1 else None,
        samples=float(n),
        flags="; ".join(filter(None, flags)),
        device=found.chip.called,
        method=METHOD,
        id=run.id.replace("recorded", METHOD, 1),
        source=f"{found.profile.format}: {names}",
        note=note,
    )
    return run, step


def _is_same(old: RecordedRun, new: RecordedRun) -> bool:
    """Whether a recorded run comes from the same profile, written earlier."""
    alike = (old.scenario, old.row, old.source) == (new.scenario, new.row, new.source)
    return alike and isclose(old.measured, new.measured, rel_tol=1e-12)


def _planned(plan: Plan, which: Scenario, run: RecordedRun) -> PlannedStep:
    own = next(each for each in planned(CellFigures(plan)) if each.template == run.template and each.means(which.key))
    of_row = (part for each in own.headlines if each.row.name == run.row for part in each.parts)
    parts = {
        part.text: (part.label, seconds)
        for part in of_row
        if part.text in own.rows and (seconds := own.number(part.text, which.key)) is not None
    }
    mfu = None
    if run.row == TRAINED:
        mfu = own.number("mfu_expected", which.key)
    elif run.row == DECODED and run.expected:
        at_peak = own.number("matmul_time", which.key)
        mfu = at_peak / run.expected if at_peak else None
    chips = (run.inputs or {}).get("n_chips")
    return PlannedStep(
        run.quantity, run.expected, run.low, run.high, mfu, parts, chips if isinstance(chips, float) else None,
        is_paced=run.row in STEPS,
    )  # fmt: skip


def _choose(landing: Landing, found: Ingested) -> None:
    """Choose the recognised cases, if the chip is known.

    Otherwise they would be compared with another chip's prediction.
    """
    if found.chip.id:
        put_by_key(landing, found.cases.rows)


def _landed(landing: Landing, found: Ingested) -> Sequence[str]:
    if found.cases.share is None:
        return [f"no operation was recognised: {found.cases.said}"]
    share = f"{percent(found.cases.share)} of the operations' time was recognised: {found.cases.said}"
    if not found.cases.rows:
        return [share]
    if not found.chip.id:
        return [f"{share}; none is written: the device is unknown, so say it with --device"]
    counts = f"{len(landing.values)} updated, {len(landing.unplaced)} appended, {landing.unchanged} unchanged"
    return [f"{share}; {counts}", *landing.warnings()]
