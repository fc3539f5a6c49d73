"""Whether several files are of one run: what can't be is refused, what may not be is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

from planner.errors import UserError
from planner.profiles.profile_files import Files
from planner.profiles.sources import Source

_APART = 60.0  # seconds between captures of one run, at most: hosts' clocks differ, and a person starts one by one
_TOP = 20  # operations that take the most time, of which hosts of one run share some
_REMEDY = "give the files of one run"


def refuse_strangers(parts: Sequence[Source]) -> None:
    """Raise UserError where files can't be of one run: other devices, one host twice, captured at other times."""
    for one, other in combinations([part for part in parts if part.devices], 2):
        if why := _stranger(one, other):
            raise UserError(why, remedy=_REMEDY)


def _stranger(one: Source, other: Source) -> str:
    both = f"{_name(one.path, other.path)} and {_name(other.path, one.path)}"
    kinds = [{device.kind for device in part.devices if device.kind} for part in (one, other)]
    if all(kinds) and not kinds[0] & kinds[1]:
        what = " and ".join(", ".join(sorted(each)) for each in kinds)
        return f"{both} are of different devices, {what}, so of no one run"
    hosts = [{device.host for device in part.devices} for part in (one, other)]
    if one.names_host and other.names_host and (twice := hosts[0] & hosts[1]):
        return f"{both} are both of {min(twice)}, so of no one run"
    if one.when and other.when:
        apart = max(one.when[0] - other.when[1], other.when[0] - one.when[1])
        if apart > _APART:
            return f"{both} were captured {apart / 60:,.0f} min apart, so they are of no one run"
    return ""


def notes(parts: Sequence[Source], files: Files) -> Iterator[str]:
    """What a reader should know: other runs beside this one, and hosts that have nothing in common."""
    if files.left:
        files_left = "1 file" if files.left == 1 else f"{files.left:,} files"
        yield f"{files_left} of other runs beside it not read: this is the newest, {files.run}"
    for one, other in combinations([part for part in parts if part.devices], 2):
        if not _work(one) & _work(other):
            yield f"{one.path.name} and {other.path.name} have no program or operation in common: are they of one run?"
            return


def _work(part: Source) -> set[str]:
    """The programs of a file, or the operations that take the most time where it has none."""
    if programs := {program.name for device in part.devices for program in device.programs if program.name}:
        return programs
    operations = [operation for device in part.devices for operation in device.operations]
    return {each.name for each in sorted(operations, key=lambda each: -each.self_time)[:_TOP]}


def _name(path: Path, beside: Path) -> str:
    """A file's name, with its folder where the other one's is the same."""
    return path.name if path.name != beside.name else f"{path.parent.name}/{path.name}"
