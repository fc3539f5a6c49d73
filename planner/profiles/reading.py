"""A profile read from whatever a user has: a file of any format, or a folder of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner import progress as telling
from planner.profiles.profile import Profile


def read(*paths: Path, progress: Callable[[str], None] = telling.step) -> Profile:
    """The profile in files or folders of one run, one of several hosts joined; `progress` is told what is being read.

    Raises UserError where a file can't be read as a profile, or a folder holds none.
    """
    raise NotImplementedError
