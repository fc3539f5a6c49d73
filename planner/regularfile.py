"""Reads users' files whole, if they are regular files up to a given size, and checks output paths."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from planner.errors import Place, UserError

SMALL = 16 << 20  # bytes; ample for a template or config
LARGE = 1 << 30  # bytes; ample for a database or measurements
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
_PAGE = re.compile(rb"<!doctype html|<html|<head", re.I)


def not_fetched(head: bytes) -> tuple[str, str] | None:
    """What a failed download left in place of a file, judging by its first bytes, and the remedy.

    None for anything else.
    """
    head = head[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"version https://git-lfs"):
        return "this is a pointer of Git LFS, and not the file", "fetch it with git lfs pull"
    if head.startswith(b"<") and _PAGE.search(head):
        return "this is a web page, and not the file", "download the file itself, by its link «raw» or «download»"
    return None


def read_bytes(path: Path, kind: str = "a CSV file", largest: int = LARGE, hint: str = "") -> bytes:
    """The bytes of a file; `kind` names the expected type, `hint` is the remedy for a folder in its place.

    Raises UserError, before reading anything, for a missing file, folder, pipe, device, socket, loop of links, or more
    than `largest` bytes.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            what = f"this is {_name(found.st_mode)}, not {kind}"
            raise UserError(what, place=Place(path), remedy=hint if stat.S_ISDIR(found.st_mode) else "")
        if found.st_size > largest:
            raise _too_large(path, kind, largest)
        with path.open("rb") as stream:
            data = stream.read(largest + 1)  # it may have grown since
    except FileNotFoundError:
        raise UserError("there is no such file", place=Place(path)) from None
    except (OSError, ValueError) as error:  # ValueError for a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"can't be read: {reason}", place=Place(path)) from None
    if len(data) > largest:
        raise _too_large(path, kind, largest)
    return data


def _name(mode: int) -> str:
    """The type of a non-regular file in a word."""
    if stat.S_ISDIR(mode):
        return "a folder"
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def _too_large(path: Path, kind: str, largest: int) -> UserError:
    size = f"{largest >> 30} GiB" if largest >= 1 << 30 else f"{largest >> 20} MiB"
    return UserError(f"larger than {size}, the most that is read of {kind}", place=Place(path))


def refuse_existing(output: Path, *, force: bool, by: str = "--force", may_be_folder: bool = False) -> None:
    """Raise UserError if the output exists, unless it may be replaced, which the user requests with `by`.

    A folder is refused too, unless several processes write their parts into one.
    """
    if output.is_dir() and not may_be_folder:
        raise UserError("this is a folder, not a file", place=Place(output), remedy="name a file in it")
    if output.exists() and not force:
        remedy = f"choose another name, or replace it with {by}"
        raise UserError("the file exists", place=Place(output), remedy=remedy)


def refuse_other(output: Path, ending: str, kind: str) -> None:
    """Raise UserError if the name of an output of a kind (such as `a workbook`) lacks the proper suffix."""
    if output.suffix.lower() != ending:
        raise UserError(f"{kind}'s name ends in {ending}", place=Place(output), remedy="name the output so")
