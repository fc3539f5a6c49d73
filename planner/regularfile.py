"""A user's file: a regular one of at most so many bytes, whatever a path leads to, read whole; or one yet to come."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from planner.errors import Place, UserError

SMALL = 16 << 20  # bytes of a template or a config, which have a few thousand
LARGE = 1 << 30  # bytes of a database, of measurements
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
_PAGE = re.compile(rb"<!doctype html|<html|<head", re.I)


def not_fetched(head: bytes) -> tuple[str, str] | None:
    """What a download left in a file's place, by its first bytes, and the remedy; None where it may be the file."""
    head = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"version https://git-lfs"):
        return "this is a pointer of Git LFS, and not the file", "fetch it with git lfs pull"
    if head.startswith(b"<") and _PAGE.search(head):
        return "this is a web page, and not the file", "download the file itself, by its link «raw» or «download»"
    return None


def read_bytes(path: Path, kind: str = "a CSV file", largest: int = LARGE, hint: str = "") -> bytes:
    """The bytes of a file; `kind` is what it should be, `hint` what to do about a folder in its place.

    Raises UserError, before anything is read, for no file, a folder, a pipe, a device or a socket, a loop of links
    and more than `largest` bytes.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            what = f"this is {_name(found.st_mode)}, not {kind}"
            raise UserError(what, place=Place(path), remedy=hint if stat.S_ISDIR(found.st_mode) else "")
        if found.st_size > largest:
            raise _too_large(path, kind, largest)
        with path.open("rb") as stream:
            data = stream.read(largest + 1)  # it may have grown meanwhile
    except FileNotFoundError:
        raise UserError("there is no such file", place=Place(path)) from None
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"can't be read: {reason}", place=Place(path)) from None
    if len(data) > largest:
        raise _too_large(path, kind, largest)
    return data


def _name(mode: int) -> str:
    """What is no regular file, in a word."""
    if stat.S_ISDIR(mode):
        return "a folder"
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def _too_large(path: Path, kind: str, largest: int) -> UserError:
    size = f"{largest >> 30} GiB" if largest >= 1 << 30 else f"{largest >> 20} MiB"
    return UserError(f"larger than {size}, the most that is read of {kind}", place=Place(path))


def refuse_existing(output: Path, *, force: bool, by: str = "--force", may_be_folder: bool = False) -> None:
    """Raise UserError for an output that exists, unless it is to be replaced, which one says by `by`.

    A folder is none, but where several processes write the parts of one.
    """
    if output.is_dir() and not may_be_folder:
        raise UserError("this is a folder, not a file", place=Place(output), remedy="name a file in it")
    if output.exists() and not force:
        remedy = f"choose another name, or replace it with {by}"
        raise UserError("the file exists", place=Place(output), remedy=remedy)


def refuse_other(output: Path, ending: str, kind: str) -> None:
    """Raise UserError for the name of an output of some kind (`a workbook`) that doesn't end as it should."""
    if output.suffix.lower() != ending:
        raise UserError(f"{kind}'s name ends in {ending}", place=Place(output), remedy="name the output so")
