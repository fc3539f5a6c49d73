"""Reads a profile from a file of any supported format, or a folder of them, identified by their content.

Several files are joined as one run: the devices of all hosts, or the tables of all tools. Files that can't belong to
one run are refused; doubtful combinations are noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from shlex import quote

from planner import progress
from planner.errors import Place, UserError
from planner.number_text import few
from planner.profiles import profile_source, replicas, tools
from planner.profiles.lacking import lacking
from planner.profiles.profile import ALL_CORES, CORES, RANKS, Device, Profile, Step, StepKind, step_kinds, whole_steps
from planner.profiles.profile_files import Files, host, host_of_tool, profile_files
from planner.profiles.profile_source import ProfileSource
from planner.profiles.step_kinds import phase
from planner.profiles.tool_table import ToolTable
from planner.terminal_table import counted

_APART = 60.0  # most seconds between captures of one run: clocks differ, and hosts are started one by one
_TOP = 20  # longest operations compared between hosts, of which those of one run share some
_NAMED = 4  # most step kinds or files to name
_MINOR = 0.05  # least time of another kind to mention, relative to the chosen steps
_REMEDY = "give the files of one capture"
_CUSTOM = "custom calls (Pallas kernels, libraries) carry none"


def read(*paths: Path, asked: str = "") -> Profile:
    """The profile in the files or folders of one run, with several hosts joined.

    Of a folder with several runs, the newest is read. Steps are of the kind that is `asked` for: prefill, decode,
    mixed, or a part of the name of their marks or program; blank for the main kind. Raises UserError if a file can't be
    read as a profile, a folder contains none, nothing ran on any device, or no step is of that kind.
    """
    found = profile_files(paths)
    by_name = _of_phase(found.files, asked)
    if by_name != found.files:  # file names indicate the requested phase
        found, asked = replace(found, files=by_name), ""
    parts = []
    others = set()  # JSON of something else beside the profile
    for file in found.files:
        progress.step(f"reading {file.name}")
        try:
            parts.append(profile_source.read_file(file, asked))
        except profile_source.UnknownJsonError:
            if file in paths or (file == found.files[-1] and not parts):
                raise
            others.add(file)
    found = replace(found, files=tuple(file for file in found.files if file not in others))
    profile = _joined(parts, found)
    if not profile.devices:
        what = "no device ran anything in this profile"
        raise UserError(what, place=Place(found.files[0]), remedy=profile_source.TRACE)
    if asked and not any(_is_of_kind(step) for device in profile.devices for step in device.steps):
        there = _in_words(step_kinds(profile.devices))
        what = f"no step of this profile is one of {asked!r}: " + (
            f"it has {there}" if there else "none tells its kind"
        )
        raise UserError(what, place=Place(found.files[0]), remedy="leave --steps away, or say a part of such a name")
    return profile


def refuse_unsupported(paths: Sequence[Path]) -> None:
    """Raise UserError, in less than a second, for files that are no profiles, or folders without one."""
    profile_files(paths)
    for path in paths:
        if not path.is_dir():
            profile_source.refuse_unsupported(path)


def _of_phase(files: tuple[Path, ...], asked: str) -> tuple[Path, ...]:
    """The files whose names indicate the requested phase, if others indicate another one, as SGLang's do.

    Raises UserError if files indicate different phases and none was requested.
    """
    by_file = {file: phase(host(file)) for file in files}
    phases = sorted({each for each in by_file.values() if each})
    if len(phases) < 2:
        return files
    if (wanted := asked.strip().lower()) in phases:
        return tuple(file for file in files if by_file[file] in ("", wanted))
    what = f"by their names these files are of {' and '.join(phases)}, whose steps are no one run's"
    raise UserError(what, place=Place(files[0].parent), remedy=f"say which you mean, as --steps {phases[0]}")


def _joined(parts: Sequence[ProfileSource], files: Files) -> Profile:
    """One profile from several sources. A profile without devices is left to the caller to report.

    Raises UserError if the files can't be of one run.
    """
    parts = replicas.distinguished(parts)
    _refuse_other_runs(parts)
    tables = [part.table for part in parts if part.table]
    devices = [device for part in parts for device in part.devices]
    formats = sorted({part.format for part in parts})
    facts: dict[str, str] = {}
    table = tools.joined(tables) if tables and not devices else None
    if table and (table.operations or table.steps):
        formats = table.format.split("+")
        devices = [_of_table(table, host_of_tool(parts[0].path))]
        facts = dict(table.facts)
        if table.cores:
            facts[CORES] = str(table.cores)
    if any(map(_has_steps, devices)):
        # a device that only copied has no steps if others do
        devices = [each if _has_steps(each) else replace(each, steps=()) for each in devices]
    _refuse_mixed_kinds(parts)
    notes = [*_notes(parts, files), *_note_of_kinds(devices)]
    devices, of_cut = _without_cut_steps(devices)
    notes += of_cut
    names = {device.kind for device in devices}
    device = names.pop() if len(names) == 1 else None
    for each in devices[:1]:
        facts = each.facts | facts
    for part in parts:
        facts = part.facts | facts
    hosts = tuple(dict.fromkeys(each.host for each in devices if each.host))
    lacks = _lacks(formats, devices, device, table) | {key: text for part in parts for key, text in part.lacks.items()}
    return Profile(
        tuple(map(str, files.files)), "+".join(formats), device, hosts, tuple(devices), facts, lacks, tuple(notes)
    )


def _without_cut_steps(devices: list[Device]) -> tuple[list[Device], list[str]]:
    """The devices without first and last steps that the capture truncated, and a note if there are any."""
    whole = [replace(each, steps=whole_steps(each.steps)) if _are_runs(each) else each for each in devices]
    cut = sum(len(each.steps) for each in devices) - sum(len(each.steps) for each in whole)
    if not cut:
        return devices, []
    steps, are = ("1 step", "is cut off, and doesn't") if cut == 1 else (f"{cut} steps", "are cut off, and don't")
    return whole, [f"{steps} at an end of the capture {are} count"]


def _is_of_kind(step: Step) -> bool:
    """Whether a step has a name; a tool's table only numbers its steps."""
    return step.found in ("marker", "module")


def _has_steps(device: Device) -> bool:
    """Whether a device has steps besides the one of the whole profile."""
    return any(step.found != "whole" for step in device.steps)


def _are_runs(device: Device) -> bool:
    """Whether a device's steps are program runs or uniformly numbered marks, whose first or last may be partial."""
    return all(step.found in ("module", "line") or (step.found == "marker" and not step.name) for step in device.steps)


def _of_table(table: ToolTable, name: str) -> Device:
    """All cores of a capture as one device, since the tools add them up."""
    parts = tools.parts_of(table.operations, table.idle)
    if not table.operations and table.steps:
        parts = table.steps[0].parts
    return Device(
        ALL_CORES, name, table.device, dict(table.facts), 0.0, parts.span, parts.busy, parts, tuple(table.steps),
        tuple(table.programs), tuple(sorted(table.operations, key=lambda each: -each.self_time)), (), table.peak_flops,
        table.peak_bandwidth,
    )  # fmt: skip


def _lacks(
    formats: Sequence[str], devices: Sequence[Device], device: str | None, table: ToolTable | None
) -> dict[str, str]:
    """The reason for each missing fact, by field name. Facts that are present are left out."""
    operations = [each for one in devices for each in one.operations]
    computing = [each for each in operations if each.part == "compute"]
    apart = not set(formats) <= {"framework_op_stats", "overview_page"}  # communication is separate from compute
    has_communication = table is not None and table.tells_communication
    there = {
        "device": device is not None,
        "steps": any(map(_has_steps, devices)),
        "programs": any(one.programs for one in devices),
        "shapes": any(each.result or each.operands for each in operations),
        "gap": all(one.parts.gap is not None for one in devices),
        "flops": all(each.flops is not None for each in computing),
        "bytes": all(each.bytes is not None for each in computing),
        "operations": len(formats) > 1 and bool(operations),
        "communication": (bool(operations) and apart) or has_communication,
        "compute": apart or has_communication,
    }
    reasons = {
        "device": "the files don't name the device",
        "steps": "no marker, and no program that repeats for much of the time: all of it counts as one step (n = 1)",
        "programs": "no operation names its program",
        "shapes": "the operations come without their HLO text",
        "flops": _CUSTOM
        if any(each.flops_from == "file" for each in computing)
        else "the events have none: counted from the programs' HLO for matmuls and convolutions",
        "bytes": _CUSTOM if any(each.flops_from == "file" for each in computing) else "the events have none",
    } | lacking(formats)
    return {key: reason for key, reason in reasons.items() if not there.get(key, False)}


def _refuse_other_runs(parts: Sequence[ProfileSource]) -> None:
    """Raise UserError if files can't be of one run: other devices, a host or trace twice, other sizes or times."""
    for one, other in combinations([part for part in parts if part.devices], 2):
        if why := _mismatch(one, other):
            raise UserError(why, remedy=_REMEDY)


def _refuse_mixed_kinds(parts: Sequence[ProfileSource]) -> None:
    """Raise UserError if one device's steps are a server's prefill steps and another's are decode steps."""
    devices = (device for part in parts for device in part.devices if device.steps)
    phases = {one: device for device in devices if (one := phase(device.steps[0].name))}
    if len(phases) > 1:
        found = " and ".join(f"{which} on {device.name} of {device.host}" for which, device in sorted(phases.items()))
        what = f"the steps that take most time are of several kinds: {found}"
        raise UserError(what, remedy=f"say which you mean, as --steps {min(phases)}")


def _in_words(kinds: Sequence[StepKind]) -> str:
    """The kinds with the most time in words, each with its phase (if its name indicates one), name and number."""
    said = []
    for kind in kinds:
        which = phase(kind.name)
        name = kind.name if which in ("", kind.name) else f"{which} {kind.name}"
        said.append(f"{name} x {kind.count:,}")
    return few(said, _NAMED)


def _note_of_kinds(devices: Sequence[Device]) -> Iterator[str]:
    """A note on the kinds of steps and the one chosen, if others take a comparable time."""
    taken = next((step.name for device in devices for step in device.steps if step.name), "")
    kinds = step_kinds(devices)
    mine = next((kind for kind in kinds if kind.name == taken), None)
    others = [kind for kind in kinds if mine and kind is not mine and kind.seconds >= _MINOR * mine.seconds]
    if mine and others:
        other = quote(phase(others[0].name) or others[0].name)
        yield f"steps of several kinds: {_in_words([mine])} is taken, not {_in_words(others)}: --steps {other}"


def _mismatch(one: ProfileSource, other: ProfileSource) -> str:
    both = f"{_name(one.path, other.path)} and {_name(other.path, one.path)}"
    kinds = [{device.kind for device in part.devices if device.kind} for part in (one, other)]
    if all(kinds) and not kinds[0] & kinds[1]:
        what = " and ".join(", ".join(sorted(each)) for each in kinds)
        return f"{both} are of different devices, {what}, so of no one run"
    hosts = [{device.host for device in part.devices} for part in (one, other)]
    if one.names_host and other.names_host and (twice := hosts[0] & hosts[1]):
        return f"{both} are both of {min(twice)}, so of no one run"
    sizes = one.facts.get(RANKS), other.facts.get(RANKS)
    if all(sizes) and sizes[0] != sizes[1]:
        return f"{both} are of runs of {sizes[0]} and of {sizes[1]} ranks, so of no one run"
    if one.when and other.when:
        apart = max(one.when[0] - other.when[1], other.when[0] - one.when[1])
        if apart > 0 and _is_one_process(one, other):
            return f"{both} are of one process, captured one after the other, so of no two ranks"
        if apart > _APART:
            return f"{both} were captured {apart / 60:,.0f} min apart, so they are of no one run"
    if one.when == other.when and _recorded(one) == _recorded(other):
        return f"{both} are the same trace, so of no two hosts"
    return ""


def _is_one_process(one: ProfileSource, other: ProfileSource) -> bool:
    """Whether two files that don't tell their ranks are of a process of one number, and of one of its devices."""
    devices = [{device.name for device in part.devices} for part in (one, other)]
    if one.names_host and other.names_host:
        return False
    return one.process == other.process != "" and not devices[0].isdisjoint(devices[1])


def _recorded(part: ProfileSource) -> list[tuple[object, ...]]:
    """All begins and durations to the picosecond, which two files share only if one is a copy of the other."""
    return [(device.begin, device.end, device.busy, device.steps, device.operations) for device in part.devices]


def _notes(parts: Sequence[ProfileSource], files: Files) -> Iterator[str]:
    """Remarks for the reader: other runs next to this one, and hosts with no programs in common."""
    if files.left:
        yield f"{counted(files.left, 'file')} of other runs beside it not read: this is the newest, {files.run}"
    yield from (note for part in parts for note in part.notes)
    if any(part.devices for part in parts):
        idle = [part.path.name for part in parts if not part.devices and part.table is None]
        if idle:
            are = "it is" if len(idle) == 1 else "they are"
            yield f"{few(idle, _NAMED)}: no device ran anything there, so {are} in no number"
    for one, other in combinations([part for part in parts if part.devices], 2):
        if not _work(one) & _work(other):
            yield f"{one.path.name} and {other.path.name} have no program or operation in common: are they of one run?"
            return


def _work(part: ProfileSource) -> set[str]:
    """The programs of a file, or its longest operations if it has no programs."""
    if programs := {program.name for device in part.devices for program in device.programs if program.name}:
        return programs
    operations = [operation for device in part.devices for operation in device.operations]
    return {each.name for each in sorted(operations, key=lambda each: -each.self_time)[:_TOP]}


def _name(path: Path, another: Path) -> str:
    """A file's name, with its folder if the other file has the same name."""
    return path.name if path.name != another.name else f"{path.parent.name}/{path.name}"
