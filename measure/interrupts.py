"""Defers Ctrl-C to safe points: between two runs of a program, never inside JAX.

If interrupted while it loads, JAX's extension fails with an ImportError or a crash. In a callback from C, the
KeyboardInterrupt is swallowed and the program goes on, or the process crashes at exit. Ctrl-C is therefore only
recorded, and `check` raises it. A second Ctrl-C raises at once, for users who don't want to wait for a compiler.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CtrlC:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.pressed, self._is_writing = False, False

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        if self.pressed and not self._is_writing:
            raise KeyboardInterrupt
        self.pressed = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that Ctrl-C can't interrupt, however often it is pressed, such as writing the results."""
        self._is_writing = True
        try:
            yield
        finally:
            self._is_writing = False


_listening: list[CtrlC] = []


@contextmanager
def noted() -> Iterator[CtrlC]:
    """Record Ctrl-C until the end of the block. Nested blocks share one record.

    If another SIGINT handler is installed, or outside the main thread, nothing changes.
    """
    if _listening:
        yield _listening[-1]
        return
    ctrl_c, is_main = CtrlC(), threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield ctrl_c
        return
    _listening.append(ctrl_c)
    signal.signal(signal.SIGINT, ctrl_c.handle)
    try:
        yield ctrl_c
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _listening.pop()


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was recorded."""
    if _listening and _listening[-1].pressed:
        raise KeyboardInterrupt
