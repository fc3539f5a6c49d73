"""What a long command is doing, on stderr: a line that comes and goes, lines that stay with -v, and warnings.

And what it has written, for one that is ended on its way.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

_PATIENCE_S = 0.5  # what is done sooner needs no word
MOST_REMARKS = 24  # that are said; the rest are counted


class _State:
    verbose = False
    silent = False
    begun = time.perf_counter()
    shown = 0
    warned: ClassVar[dict[str, None]] = {}
    remarked: ClassVar[dict[str, None]] = {}
    replaced: ClassVar[dict[Path, os.stat_result]] = {}  # by path: the file that was to be moved there


def be_verbose() -> None:
    """Keep every step on the screen, with the seconds since the start."""
    _State.verbose = True


def be_silent() -> None:
    """Say nothing from here on: another process of the same command does."""
    _State.silent = True


def step(text: str) -> None:
    """Say what begins now. Without -v it is said on a terminal alone, once the command has taken a while."""
    seconds = time.perf_counter() - _State.begun
    if _State.silent:
        return
    if _State.verbose:
        print(f"{seconds:6.2f} s  {text}", file=sys.stderr, flush=True)
    elif sys.stderr.isatty() and seconds > _PATIENCE_S:
        clear()
        print(f"{text} ...", end="", file=sys.stderr, flush=True)
        _State.shown = len(text) + 4


def warn(text: str) -> None:
    """Keep what a user would want to know though the command goes on; `say_warnings` says it, once."""
    _State.warned[text] = None


def remark(text: str) -> None:
    """Keep what is only worth knowing, as what a typed number was read as; said with the warnings, and before them."""
    _State.remarked[text] = None


@contextmanager
def unsaid() -> Iterator[None]:
    """Keep nothing of what is warned or remarked within: it is of what was read, and told, before."""
    warned, remarked = dict(_State.warned), dict(_State.remarked)
    try:
        yield
    finally:
        _State.warned, _State.remarked = warned, remarked


def warnings() -> list[str]:
    """What `warn` kept, for who says it otherwise than on stderr."""
    return list(_State.warned)


def say_warnings() -> None:
    """Say on stderr what `remark` and `warn` kept: at a command's end, so that one which fails says its fault alone."""
    clear()
    if _State.silent:
        _forget()
    for text in list(_State.remarked)[:MOST_REMARKS]:
        print(text, file=sys.stderr, flush=True)
    if len(_State.remarked) > MOST_REMARKS:
        print(f"... and {len(_State.remarked) - MOST_REMARKS:,} more", file=sys.stderr, flush=True)
    for text in _State.warned:
        print(f"Warning: {text}", file=sys.stderr, flush=True)
    _forget()


def _forget() -> None:
    _State.warned.clear()
    _State.remarked.clear()


def replacing(path: Path, temporary: Path) -> None:
    """Say that a temporary file is about to be moved to `path`: whether it was is seen when `outcome` is asked."""
    _State.replaced[path] = temporary.stat()


def put_back(path: Path) -> None:
    """Say that `path` holds again what it held before this command."""
    _State.replaced.pop(path, None)


def outcome() -> str:
    """What this command has written so far: `plan.xlsx was written`, or `nothing was changed`."""
    written = []
    for path, moved in _State.replaced.items():
        with suppress(OSError):
            if os.path.samestat(path.stat(), moved):
                written.append(str(path))
    if not written:
        return "nothing was changed"
    *first, last = written
    return f"{', '.join(first)} and {last} were written" if first else f"{last} was written"


def clear() -> None:
    """Take the last step off the terminal."""
    if _State.shown:
        print("\r" + " " * _State.shown + "\r", end="", file=sys.stderr, flush=True)
        _State.shown = 0


@contextmanager
def cleared() -> Iterator[None]:
    """What the command prints stands on a clean line, however it ends; its warnings and what it wrote are its own."""
    _forget()
    _State.replaced.clear()
    try:
        yield
    finally:
        clear()
