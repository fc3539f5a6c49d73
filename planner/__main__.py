"""The program's entry, for the console script and `python -m planner`: it answers Ctrl-C before it loads anything.

What is left is Python's own start, in which Ctrl-C is Python's: 15 ms, or 45 ms of an editable install.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def stop(_signal: int, _frame: FrameType | None) -> None:
    """Answer Ctrl-C where no command is at work, so that nothing is left half-done: one line, and the process ends."""
    progress = sys.modules.get("planner.progress")
    said = getattr(progress, "outcome", None)  # there once it is loaded
    outcome = said() if said else "nothing was changed"
    os.write(2, f"Error: interrupted; {outcome}\n".encode(errors="replace"))
    os._exit(2)


def main() -> None:
    """Run the command line. A process that was told to ignore Ctrl-C, as one in the background is, goes on doing so."""
    before = signal.signal(signal.SIGINT, stop)
    if before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    from planner.cli import main as run

    run(stop)


if __name__ == "__main__":
    main()
