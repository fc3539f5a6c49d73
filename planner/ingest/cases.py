"""Operations of a profile that are cases of a Comparison, as measurements: matmuls, attention, collectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from pathlib import Path

import numpy as np

from planner.ingest.device import Chip
from planner.ingest.recognition import case_of
from planner.measure.records import Measurement, case_key
from planner.profiles.profile import Operation, Profile

SOURCE, METHOD, UNKNOWN_DEVICE = "xplane", "profiler", "unknown_device"


@dataclass(frozen=True)
class Recognised:
    """The cases of a profile as measurements, the share of the busy time that they take, and what is said of both."""

    rows: tuple[Measurement, ...]
    share: float | None
    said: str


def recognised(profile: Profile, chip: Chip) -> Recognised:
    """The operations that a template describes, each shape once: the median over its runs on all devices."""
    found: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for operation in profile.operations:
        if case := case_of(operation):
            template, inputs = case
            found[template, case_key(template, inputs)].append(operation)
    busy = sum(device.busy for device in profile.devices)
    if not found:
        why = profile.lacks.get("shapes") or profile.lacks.get("operations") or "no operation has a shape that is known"
        return Recognised((), 0.0 if busy else None, f"no operation was recognised as a case: {why}")
    seconds = sum(each.self_time for same in found.values() for each in same)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    rows = tuple(_row(profile, chip, template, key, same, now) for (template, key), same in found.items())
    said = ", ".join(f"{count} of {template}" for template, count in _counts(found).items())
    return Recognised(rows, seconds / busy if busy else None, said)


def _counts(found: Mapping[tuple[str, str], object]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for template, _ in found:
        counts[template] = counts.get(template, 0) + 1
    return counts


def _row(
    profile: Profile, chip: Chip, template: str, key: str, same: Sequence[Operation], now: str
) -> Measurement:  # fmt: skip
    middle, deviation = _times(same)
    name = Path(profile.paths[0]).name if profile.paths else "profile"
    return Measurement(
        run_id=f"profile {name}",
        timestamp=now,
        case_key=key,
        source=SOURCE,
        host=profile.hosts[0] if len(profile.hosts) == 1 else "",
        profile_path=profile.paths[0] if profile.paths else "",
        template=template,
        device_kind=chip.called,
        hardware_id=chip.id,
        n_devices=len(profile.active),
        t_median=middle,
        t_mad=deviation,
        method=METHOD,
        n_samples=sum(each.count for each in same),
        flags="" if chip.id else UNKNOWN_DEVICE,
    )


def _times(same: Sequence[Operation]) -> tuple[float, float]:
    """The median of several operations' runs and their median absolute deviation, NaN where a tool added them up."""
    known = [each.times for each in same if each.times is not None]
    if len(known) < len(same):
        return _median(same), nan
    times = np.concatenate(known)
    middle = float(np.median(times))
    return middle, float(np.median(np.abs(times - middle)))


def _median(same: Sequence[Operation]) -> float:
    """The median of several operations' runs, taken from each one's own median and count."""
    ordered = sorted(same, key=lambda each: each.median)
    half, before = sum(each.count for each in ordered) / 2, 0
    for each in ordered:
        before += each.count
        if before >= half:
            return each.median
    return ordered[-1].median
