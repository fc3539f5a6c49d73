"""Writing a file so that, whatever happens, either the old one or the new one is whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from planner.errors import Place, UserError


def write_atomically(path: Path, data: bytes, *, check: Callable[[Path], None] | None = None) -> None:
    """Put `data` at `path`: a temporary file beside it, forced to disk, checked, then moved over it.

    `check` sees the temporary file and raises if it is not what it should be. A link stays a link, and an
    existing file keeps its mode. On any failure the old file is whole and nothing else is left.

    Raises UserError when the file is open in a spreadsheet, is read-only, or can't be written.
    """
    target = path.resolve()
    refuse_if_unwritable(path)
    with _failures_named(path):
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
        try:
            _write_through(temporary, data)
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            if check is not None:
                check(temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)


def refuse_if_unwritable(path: Path) -> None:
    """Raise UserError where a file at `path` is open in a spreadsheet, is no file or read-only: before any work."""
    target = path.resolve()
    refuse_if_open(target)
    if target.exists() and not target.is_file():
        raise UserError("there is something else than a file", place=Place(path), remedy="name another file")
    with _failures_named(path):
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError("the file is read-only")


def refuse_if_open(path: Path) -> None:
    """Raise UserError when Excel's or LibreOffice's lock file says that `path` is open in one of them."""
    for program, lock in (("Excel", f"~${path.name}"), ("LibreOffice", f".~lock.{path.name}#")):
        if path.with_name(lock).exists():
            raise UserError(
                f"the file is open in {program}",
                place=Place(path),
                remedy=f"close it there (or delete the left-over {lock}) and run this again",
            )


def _write_through(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the move itself durable where a folder can be opened and flushed, as on Linux and macOS."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    """Turn the system's refusals into one line that names the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"the file can't be written: {reason}", place=Place(path), remedy="nothing was changed"
        ) from error
