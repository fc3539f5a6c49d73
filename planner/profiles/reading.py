"""A profile read from whatever a user has: a file of any format, or a folder of them, told apart by their content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner import progress as telling
from planner.errors import Place, UserError
from planner.profiles import sources
from planner.profiles.joining import joined
from planner.profiles.profile import Profile
from planner.profiles.profile_files import profile_files

Told = Callable[[str], None]


def read(*paths: Path, progress: Told = telling.step) -> Profile:
    """The profile in files or folders of one run, one of several hosts joined; `progress` is told what is being read.

    Of a folder with several runs the newest is read. Raises UserError where a file can't be read as a profile, a folder
    holds none, or nothing ran on any device.
    """
    found = profile_files(paths)
    parts = []
    for file in found.files:
        progress(f"reading {file.name}")
        try:
            parts.append(sources.read_file(file, progress))
        except sources.UnknownJsonError:
            if file in paths or (file == found.files[-1] and not parts):
                raise
    profile = joined(parts, found)
    if not profile.devices:
        remedy = "capture it with the device's tracer on, while the program runs"
        raise UserError("no device ran anything in this profile", place=Place(found.files[0]), remedy=remedy)
    return profile
