"""Temporary folders for what the tests of a process share; those of one test are pytest's `tmp_path`."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path


def shared_folder() -> Path:
    """A new, empty folder that lasts as long as the process."""
    folder = Path(tempfile.mkdtemp(prefix="planner-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
