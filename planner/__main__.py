"""The entry point of the console script and of `python -m planner`. It handles Ctrl-C before anything else is loaded.

Before it runs, Ctrl-C is handled by Python's own start, for 15 ms, or 45 ms in an editable install.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def stop(_signal: int, _frame: FrameType | None) -> None:
    """The handler of Ctrl-C outside commands, where nothing can be left half-done: print one line and exit."""
    progress = sys.modules.get("planner.progress")
    said = getattr(progress, "outcome", None)  # defined once the module is loaded
    outcome = said() if said else "nothing was changed"
    os.write(2, f"Error: interrupted; {outcome}\n".encode(errors="replace"))
    os._exit(2)


def main() -> None:
    """Run the command line. A process started with Ctrl-C ignored, such as a background job, keeps ignoring it."""
    before = signal.signal(signal.SIGINT, stop)
    if before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    from planner.cli import main as run

    run(stop)


if __name__ == "__main__":
    main()
