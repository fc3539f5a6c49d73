"""Progress of a long command on stderr: transient lines, permanent lines with -v, and warnings.

Also keeps track of the files written, for a command that is interrupted, and of the files given to it.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import ClassVar

_PATIENCE_S = 0.5  # shorter steps aren't announced
MOST_REMARKS = 24  # most remarks to print; the rest are counted
MOST_OF_FILE, SAID_OF_FILE = 5, 3  # most remarks on one file to print all of; of more so many are, and a count


class _State:
    verbose = False
    silent = False
    begun = time.perf_counter()
    shown = 0
    warned: ClassVar[dict[str, None]] = {}
    remarked: ClassVar[dict[str, str]] = {}  # by text: the file that it is on, blank for none
    replaced: ClassVar[dict[Path, os.stat_result]] = {}  # by path: stat of the temporary file to be moved there


_given: ContextVar[list[Path]] = ContextVar("given", default=[])  # noqa: B039 # outside a command, for the process


def given_files() -> list[Path]:
    """The files that the running command or API call was given and that others of its values may name; to be added to.

    Each has its own list, so that none knows the files of another.
    """
    return _given.get()


def be_verbose() -> None:
    """Keep every step on the screen, with the seconds since the start."""
    _State.verbose = True


def be_silent() -> None:
    """Print nothing from here on, because another process of the same command does."""
    _State.silent = True


def step(text: str) -> None:
    """Announce a step that begins.

    Without -v it is shown only on a terminal, and only once the command has run for a while.
    """
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
    """Record a warning about a condition that doesn't stop the command; `say_warnings` prints it once."""
    _State.warned[text] = None


def remark(text: str, file: str = "") -> None:
    """Record information, such as how a typed number was read; printed before the warnings.

    Of many remarks on the numbers of one `file` only the first few are printed.
    """
    _State.remarked[text] = file


@contextmanager
def unsaid() -> Iterator[None]:
    """Discard warnings and remarks made within the block, because they repeat what was already reported."""
    warned, remarked = dict(_State.warned), dict(_State.remarked)
    try:
        yield
    finally:
        _State.warned, _State.remarked = warned, remarked


def warnings() -> list[str]:
    """The warnings recorded by `warn`, for callers that don't print them on stderr."""
    return list(_State.warned)


def say_warnings() -> None:
    """Print the remarks and warnings on stderr. Called at the end, so that a failing command prints only its error."""
    clear()
    if _State.silent:
        _forget()
    remarks = list(_few_of_each_file())
    for text in remarks[:MOST_REMARKS]:
        print(text, file=sys.stderr, flush=True)
    if len(remarks) > MOST_REMARKS:
        print(f"... and {len(remarks) - MOST_REMARKS:,} more", file=sys.stderr, flush=True)
    for text in _State.warned:
        print(f"Warning: {text}", file=sys.stderr, flush=True)
    _forget()


def _few_of_each_file() -> Iterator[str]:
    """The remarks in order; of many on one file the first few and, in place of the next, how many more there are."""
    counts = Counter(_State.remarked.values())
    told = Counter[str]()
    for text, file in _State.remarked.items():
        told[file] += 1
        if not file or counts[file] <= MOST_OF_FILE or told[file] <= SAID_OF_FILE:
            yield text
        elif told[file] == SAID_OF_FILE + 1:
            yield f"{file}: {counts[file] - SAID_OF_FILE:,} more numbers with a unit were read likewise"


def _forget() -> None:
    _State.warned.clear()
    _State.remarked.clear()


def replacing(path: Path, temporary: Path) -> None:
    """Record that a temporary file is about to be moved to `path`; `outcome` checks whether it was."""
    _State.replaced[path] = temporary.stat()


def put_back(path: Path) -> None:
    """Record that `path` has its original content again."""
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
    """Remove the last step from the terminal."""
    if _State.shown:
        print("\r" + " " * _State.shown + "\r", end="", file=sys.stderr, flush=True)
        _State.shown = 0


@contextmanager
def cleared() -> Iterator[None]:
    """Ensures that output after the block starts on a clean line, however it ends.

    Warnings, written and given files are reset.
    """
    _forget()
    _State.replaced.clear()
    outside = _given.set([])
    try:
        yield
    finally:
        _given.reset(outside)
        clear()
