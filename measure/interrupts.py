"""Ctrl-C taken where it can be: between two runs of a program, and never inside JAX.

Interrupted while it loads, JAX's extension fails with an ImportError or a crash; interrupted in a
callback from C, the KeyboardInterrupt is swallowed and the program goes on, or the process crashes
as it ends. So it is noted, and raised by `check`; pressed once more it is raised at once, for
someone who doesn't want to wait for a compiler.
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
        """What the system calls."""
        if self.pressed and not self._is_writing:
            raise KeyboardInterrupt
        self.pressed = True

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """A block that it doesn't end, however often it is pressed: what was measured is written."""
        self._is_writing = True
        try:
            yield
        finally:
            self._is_writing = False


_listening: list[CtrlC] = []


@contextmanager
def noted() -> Iterator[CtrlC]:
    """Ctrl-C is noted until the end of the block; a block inside has the same note.

    Where someone else handles it, or in another thread than the main one, everything stays as it
    is.
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
    """Raise KeyboardInterrupt where one was noted."""
    if _listening and _listening[-1].pressed:
        raise KeyboardInterrupt
