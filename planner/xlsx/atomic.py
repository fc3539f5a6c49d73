"""Writes files atomically, so that after any failure either the old file or the new one is intact; one writer at a
time.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from planner import progress
from planner.errors import Place, UserError

PATIENCE_S = 30.0
_PAUSE_S = 0.05
_ABANDONED_S = 3600.0  # age from which a temporary file counts as abandoned, where locks don't tell
NAME_BYTES = 200  # of a file's name in the names of its temporary files
WINDOWS = os.name == "nt"  # where an open file can be neither removed nor replaced
_SCANNED_S = 2.0  # within which virus scanners and indexers close a new file


def write_atomically(
    path: Path, data: bytes, *, check: Callable[[Path], None] | None = None, like: Path | None = None
) -> None:
    """Replace the file at `path` by `data`: write a temporary file, flush it to disk, check it, and move it.

    `check` gets the temporary file and raises if it isn't right. A symbolic link stays one. An existing file keeps its
    mode, and a new one gets that of the file `like`. Hard links keep the old content, and a warning says so. On any
    failure the old file is intact and nothing else is left; leftovers of killed processes are removed.

    Raises UserError if the file is open in a spreadsheet program, read-only, or can't be written.
    """
    with written_atomically(path, check=check, like=like) as temporary:
        temporary.write_bytes(data)


@contextlib.contextmanager
def written_atomically(
    path: Path, *, check: Callable[[Path], None] | None = None, like: Path | None = None
) -> Iterator[Path]:
    """A context with a temporary file to write, which then replaces `path` as in `write_atomically`."""
    target = target_of(path)
    refuse_if_unwritable(path)
    with failures_named(path):
        _clear(target.parent, re.escape(_short(target)))
        with _temporary(target) as temporary:
            yield temporary
            _flush(temporary)
            if like is not None:
                temporary.chmod(like.stat().st_mode & 0o7777)
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
                _warn_of_other_names(path, target.stat().st_nlink - 1)
            if check is not None:
                check(temporary)
            progress.replacing(path, temporary)
            _move(temporary, target, path)
        _flush_folder(target.parent)


def _move(temporary: Path, target: Path, path: Path) -> None:
    """Move the temporary file to the target. Windows refuses this while any program has the target open."""
    until = time.monotonic() + _SCANNED_S
    while True:
        try:
            temporary.replace(target)
            return
        except PermissionError:
            if not WINDOWS:
                raise
        if time.monotonic() > until:
            remedy = "close it there, in Excel or a preview, and run this again; nothing was changed"
            raise UserError("another program has the file open", place=Place(path), remedy=remedy)
        time.sleep(_PAUSE_S)


def kept_beside(path: Path) -> Path:
    """Copy the file at `path` to a free name beside it, `plan.bak.xlsx` or `plan.bak2.xlsx`, and return that path.

    Raises UserError as `write_atomically` does.
    """
    number = 1
    while True:
        backup = path.with_name(f"{path.stem}.bak{number if number > 1 else ''}{path.suffix}")
        if not backup.exists():
            write_atomically(backup, path.read_bytes(), like=path)
            return backup
        number += 1


def refuse_if_unwritable(path: Path) -> None:
    """Raise UserError, before any work, if `path` is open in a spreadsheet, no regular file or read-only."""
    target = target_of(path)
    refuse_if_open(target)
    with failures_named(path):
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError("the file is read-only")


def refuse_if_open(path: Path) -> None:
    """Raise UserError if a lock file of Excel or LibreOffice says that `path` is open there."""
    for program, lock in (("Excel", f"~${path.name}"), ("LibreOffice", f".~lock.{path.name}#")):
        if path.with_name(lock).exists():
            remedy = f"close it there (or delete the left-over {lock}) and run this again"
            raise UserError(f"the file is open in {program}", place=Place(path), remedy=remedy)


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A context with a new temporary file beside the target, removed on failure.

    It holds a lock, released with the process, as a sign that its writer is alive; except on Windows, which can't move
    an open file.
    """
    temporary = target.with_name(f".{_short(target)}.{secrets.token_hex(6)}.tmp")
    handle = -1
    try:
        handle = _created(temporary)
        while not is_current(handle, temporary):  # another writer removed it before it was locked
            os.close(handle)
            handle = _created(temporary)
        if WINDOWS:
            os.close(handle)
            handle = -1
        yield temporary
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        if handle >= 0:
            os.close(handle)


def _short(path: Path) -> str:
    """The beginning of a file's name that leaves room for a suffix: file systems limit the bytes, often to 255."""
    return os.fsencode(path.name)[:NAME_BYTES].decode(errors="ignore")


def _created(temporary: Path) -> int:
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    is_taken(handle)
    return handle


def clear_left_over(path: Path) -> None:
    """Remove temporary files that killed writers left beside the file at `path`, or in the folder at `path`."""
    if path.is_dir():
        _clear(path, ".*")
    else:
        _clear(path.parent, re.escape(_short(path)))


def _clear(folder: Path, target: str) -> None:
    """Remove a target's temporary files whose writers were killed; `target` is a pattern of its name."""
    name = re.compile(rf"\.{target}\.[0-9a-f]{{12}}\.tmp")
    with contextlib.suppress(OSError):  # a folder that can't be listed keeps them
        for entry in os.scandir(folder):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(temporary: Path) -> None:
    if WINDOWS:
        if time.time() - temporary.stat().st_mtime > _ABANDONED_S:
            temporary.unlink()
        return
    handle = os.open(temporary, os.O_RDONLY)
    try:
        if is_taken(handle):
            temporary.unlink()
    finally:
        os.close(handle)


def _warn_of_other_names(path: Path, others: int) -> None:
    if others > 0:
        names = "another name" if others == 1 else f"{others} other names"
        progress.warn(f"{path} has {names} (hard links): there the old content stays")


def _flush(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the move itself durable, where folders can be opened and flushed, as on Linux and macOS."""
    if WINDOWS:
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def locked(path: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """A context that locks the file at `path` for reading, editing and writing; other planner processes wait.

    The lock is a file beside it, `.name.planner-lock`, which the operating system releases when the process ends.
    Raises UserError if `path` is no regular file, its folder can't be written, or the other process takes too long.
    """
    target = target_of(path)  # one lock, by whatever link the file is reached
    lock = target.with_name(f".{_short(target)}.planner-lock")
    handle = _acquired(lock, path, time.monotonic() + patience_s)
    try:
        yield
    finally:
        if WINDOWS:  # it doesn't remove open files, such as one that another process opened
            os.close(handle)
        with contextlib.suppress(OSError):  # a left-over lock file is unlocked
            lock.unlink()
        if not WINDOWS:
            os.close(handle)


def target_of(path: Path) -> Path:
    """The file that a path leads to through symbolic links; it need not exist.

    Raises UserError for a loop of links, and for a folder, a device or a pipe.
    """
    with failures_named(path), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.stat()  # raises for a loop of links, which Path.exists takes for a missing file
    if path.exists() and not path.is_file():
        raise UserError("there is something else than a file", place=Place(path), remedy="name another file")
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """A context that turns the system's errors into a UserError that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if isinstance(error, FileNotFoundError) and not path.parent.exists():
            reason = f"there is no folder {path.parent}"
        elif isinstance(error, PermissionError) and path.parent.exists() and not os.access(path.parent, os.W_OK):
            reason = f"you may not write in the folder {path.parent}"
        what = f"the file can't be written: {reason}"
        raise UserError(what, place=Place(path), remedy=progress.outcome()) from error


def _acquired(lock: Path, path: Path, until: float) -> int:
    removed = time.monotonic() + _SCANNED_S
    while True:
        with failures_named(path):
            try:
                handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
            except PermissionError:  # on Windows also while another planner removes it
                if not WINDOWS or time.monotonic() > removed:
                    raise
                time.sleep(_PAUSE_S)
                continue
        if is_taken(handle) and is_current(handle, lock):
            return handle
        os.close(handle)
        if time.monotonic() > until:
            remedy = f"run this again when it is done; {progress.outcome()}"
            raise UserError("another planner is writing this file", place=Place(path), remedy=remedy)
        time.sleep(_PAUSE_S)


def is_taken(handle: int) -> bool:
    """Lock an open file unless another process has locked it; returns whether it is ours now."""
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_current(handle: int, path: Path) -> bool:
    """Whether an open file still has this name: another process may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
