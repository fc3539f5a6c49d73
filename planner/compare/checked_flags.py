"""The words in `flags` of a measurements.csv: those of guards, and those that were meant to be one.

Any other word is a person's own, and a flag like the others: its row is shown, and not used in a fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.compare.checked_places import Fault
from planner.errors import closest
from planner.measure.records import Measurement

FLAGS = (
    "above_peak", "loop_elided", "noisy", "dispatch_bound", "drift", "few_samples", "collective_elided", "no_loop_time",
    "no_device_time", "unknown_device", "part_of_chip", "other_hardware",
)  # fmt: skip
DISAGREEING = re.compile(r"(loop/(?:wall|device))(=-?\d+(\.\d+)?)?")  # two times that should be alike, with their ratio
LIKE = 0.8  # how alike a word is to a flag that was meant


def flag_faults(row: Measurement) -> Iterator[Fault]:
    """Words in `flags` that are nearly those of a guard: as it stands no command would know such a one."""
    for word in filter(None, (each.strip() for each in row.flags.split(";"))):
        first = re.split("[=,]", word)[0].strip()
        meant = closest(first, [*FLAGS, "loop/wall", "loop/device"], 1, LIKE)
        if meant and word not in FLAGS and not DISAGREEING.fullmatch(word):
            remedy = f"did you mean {meant[0]}? several are joined by a semicolon"
            yield Fault("flags", f"unknown flag {word!r}", remedy)
