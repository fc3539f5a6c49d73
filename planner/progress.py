"""What a long command is doing, on stderr: a line that comes and goes on a terminal, and lines that stay with -v."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_S = 0.5  # what is done sooner needs no word


class _State:
    verbose = False
    begun = time.perf_counter()
    shown = 0


def be_verbose() -> None:
    """Keep every step on the screen, with the seconds since the start."""
    _State.verbose = True


def step(text: str) -> None:
    """Say what begins now. Without -v it is said on a terminal alone, once the command has taken a while."""
    seconds = time.perf_counter() - _State.begun
    if _State.verbose:
        print(f"{seconds:6.2f} s  {text}", file=sys.stderr, flush=True)
    elif sys.stderr.isatty() and seconds > _PATIENCE_S:
        clear()
        print(f"{text} ...", end="", file=sys.stderr, flush=True)
        _State.shown = len(text) + 4


def clear() -> None:
    """Take the last step off the terminal."""
    if _State.shown:
        print("\r" + " " * _State.shown + "\r", end="", file=sys.stderr, flush=True)
        _State.shown = 0


@contextmanager
def cleared() -> Iterator[None]:
    """What the command prints stands on a clean line, however it ends."""
    try:
        yield
    finally:
        clear()
