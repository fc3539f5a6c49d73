"""Which measured operations are fitted to although a guard of theirs failed: noisy ones, where there are few others.

A guard that tells of noise says that a time is less certain; any other says that it may be the time of something else,
and such a run never counts. Of a template with fewer than `ENOUGH` sound runs on a chip those whose guards tell of
noise alone join them, and count half: else a kind that a busy machine never times steadily would stay as it is shipped.
Of collectives those of about one time are a kind: short ones tell the latency and long ones the bandwidth, and neither
stands for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.validation.runs import Run

OF_NOISE = {"noisy", "drift", "few_samples"}
ENOUGH = 3  # sound runs of a template: the middle of three is one that another stands for
BY_TIME = {"collective"}  # templates whose short runs tell another parameter than their long ones
ALIKE = 10  # times that differ by less are of one kind of these
COUNTS_HALF = "counts half"  # what is said of one that joined
COUNTS = 0.5  # of a sound run, that a noisy one counts
FLAGGED = "flagged: "  # how the fault of a run begins whose guards failed


def with_noisy(runs: Sequence[Run]) -> list[Run]:
    """The runs, those that are flagged for noise alone without their fault where their kind has few others."""
    sound = [run for run in runs if not run.fault]
    return [
        replace(run, fault="", weight=COUNTS, noted=f"{run.fault}; {COUNTS_HALF}")
        if _is_noisy(run) and sum(_are_alike(run, other) for other in sound) < ENOUGH
        else run
        for run in runs
    ]


def _are_alike(run: Run, other: Run) -> bool:
    if (run.hardware, run.template) != (other.hardware, other.template):
        return False
    return run.template not in BY_TIME or 1 / ALIKE < run.measured / other.measured < ALIKE


def _is_noisy(run: Run) -> bool:
    flags = {flag.strip() for flag in run.fault.removeprefix(FLAGGED).replace(",", ";").split(";")}
    return run.fault.startswith(FLAGGED) and flags <= OF_NOISE
