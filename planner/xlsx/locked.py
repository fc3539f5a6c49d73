"""One writer at a time: a lock beside the file, held by the system and so gone with the process that held it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from planner.errors import Place, UserError

PATIENCE_S = 30.0
_PAUSE_S = 0.05


@contextlib.contextmanager
def locked(path: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the file at `path` for a read, an edit and a write; another planner waits for its turn.

    The lock is a file beside it, `.name.planner-lock`, that the operating system lets go of when its process ends,
    however it ends. Raises UserError where the folder can't be written, or the other one takes too long.
    """
    lock = path.resolve().with_name(f".{path.name[:100]}.planner-lock")
    handle = _acquired(lock, path, time.monotonic() + patience_s)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows keeps the name of an open file: a left-over lock is free
            lock.unlink()
        os.close(handle)


def _acquired(lock: Path, path: Path, until: float) -> int:
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            what = f"the file can't be written: {error.strerror}"
            raise UserError(what, place=Place(path), remedy="nothing was changed") from error
        if _taken(handle) and _is_current(handle, lock):
            return handle
        os.close(handle)
        if time.monotonic() > until:
            remedy = "run this again when it is done; nothing was changed"
            raise UserError("another planner is writing this file", place=Place(path), remedy=remedy)
        time.sleep(_PAUSE_S)


def _taken(handle: int) -> bool:
    """Whether the lock is ours now."""
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


def _is_current(handle: int, lock: Path) -> bool:
    """Whether the file that we hold is still the one of that name: its last owner may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except OSError:
        return False
