"""One writer at a time: a lock beside the file, held by the system and so gone with the process that held it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from planner import progress
from planner.errors import Place, UserError

PATIENCE_S = 30.0
_PAUSE_S = 0.05


@contextlib.contextmanager
def locked(path: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the file at `path` for a read, an edit and a write; another planner waits for its turn.

    The lock is a file beside it, `.name.planner-lock`, that the operating system lets go of when its process ends,
    however it ends. Raises UserError where there is something else than a file, where the folder can't be written,
    or the other one takes too long.
    """
    lock = target_of(path).with_name(f".{path.name[:100]}.planner-lock")
    handle = _acquired(lock, path, time.monotonic() + patience_s)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows keeps the name of an open file: a left-over lock is free
            lock.unlink()
        os.close(handle)


def target_of(path: Path) -> Path:
    """The file that a path leads to through its links; it need not be there yet.

    Raises UserError for a loop of links, and for a folder, a device or a pipe.
    """
    with failures_named(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.stat()  # Path.exists takes a loop of links for no file
    if path.exists() and not path.is_file():
        raise UserError("there is something else than a file", place=Place(path), remedy="name another file")
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """Turn the system's refusals into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"the file can't be written: {reason}"
        raise UserError(what, place=Place(path), remedy=progress.outcome()) from error


def _acquired(lock: Path, path: Path, until: float) -> int:
    while True:
        with failures_named(path):
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        if is_taken(handle) and is_current(handle, lock):
            return handle
        os.close(handle)
        if time.monotonic() > until:
            remedy = f"run this again when it is done; {progress.outcome()}"
            raise UserError("another planner is writing this file", place=Place(path), remedy=remedy)
        time.sleep(_PAUSE_S)


def is_taken(handle: int) -> bool:
    """Take the lock of an open file, unless another process has it; returns whether it is ours now."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_current(handle: int, path: Path) -> bool:
    """Whether an open file is still the one of that name: another process may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
