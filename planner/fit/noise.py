"""Which measured operations are fitted to although a guard of theirs failed: noisy ones, where there are few others.

A guard that tells of noise says that a time is less certain; any other says that it may be the time of something else,
and such a run never counts. Of a template with fewer than `ENOUGH` sound runs on a chip those whose guards tell of
noise alone join them, and count half: else a kind that a busy machine never times steadily would stay as it is shipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from planner.validation.runs import Run

OF_NOISE = {"noisy", "drift", "few_samples"}
ENOUGH = 3  # sound runs of a template: the middle of three is one that another stands for
COUNTS_HALF = "counts half"  # what is said of one that joined
COUNTS = 0.5  # of a sound run, that a noisy one counts
FLAGGED = "flagged: "  # how the fault of a run begins whose guards failed


def with_noisy(runs: Sequence[Run]) -> list[Run]:
    """The runs, those that are flagged for noise alone without their fault where their template has few others."""
    sound = Counter((run.hardware, run.template) for run in runs if not run.fault)
    return [
        replace(run, fault="", weight=COUNTS, noted=f"{run.fault}; {COUNTS_HALF}")
        if _is_noisy(run) and sound[run.hardware, run.template] < ENOUGH
        else run
        for run in runs
    ]


def _is_noisy(run: Run) -> bool:
    flags = {flag.strip() for flag in run.fault.removeprefix(FLAGGED).replace(",", ";").split(";")}
    return run.fault.startswith(FLAGGED) and flags <= OF_NOISE
