"""Operations of a profile that are cases of a Comparison, as measurements: matmuls, attention, collectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from math import nan
from pathlib import Path

import numpy as np

from planner.compare.checked_measurements import row_faults
from planner.ingest.case_inputs import case_of
from planner.ingest.chips import Chips, chips_of
from planner.ingest.device import Chip
from planner.measure.records import Measurement, case_key
from planner.profiles.profile import Operation, Profile
from planner.profiles.recognition import Attention, Collective, Matmul, recognised
from planner.spoken import percent
from planner.table import counted

SOURCE, METHOD = "xplane", "profiler"
UNKNOWN_DEVICE, PART_OF_CHIP = "unknown_device", "part_of_chip"  # flags


@dataclass(frozen=True)
class Cases:
    """The cases of a profile as measurements; what share of its time was recognised, and of what, in words."""

    rows: tuple[Measurement, ...]
    share: float | None
    said: str


def cases_of(profile: Profile, chip: Chip) -> Cases:
    """The operations that are cases, each shape once: the median over its runs on all devices.

    What no backfill would take, as a kernel that ran for 0 s, is none.
    """
    told = recognised(profile.operations)
    kinds: dict[str, tuple[Matmul | Attention | Collective, ...]] = {
        "matmuls": told.matmuls,
        "attention": told.attention,
        "collectives": told.collectives,
    }
    found: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in chain(*kinds.values()):
        if case := case_of(each):
            template, inputs = case
            found[template, case_key(template, inputs)].append(each.operation)
    everything = sum(operation.self_time for operation in profile.operations)
    if not any(kinds.values()) or not everything:
        why = profile.lacks.get("shapes") or "no operation is a matmul, attention or a collective that can be told"
        return Cases((), 0.0 if everything else None, why)
    chips = chips_of(profile, chip)
    made = (_row(profile, chip, chips, template, key, same) for (template, key), same in found.items())
    rows = tuple(row for row in made if not any(row_faults(row)))  # not of an empty array, or of a kernel of 0 s
    shares = {kind: sum(each.operation.self_time for each in same) / everything for kind, same in kinds.items() if same}
    said = ", ".join(f"{kind} {percent(share)}" for kind, share in shares.items())
    return Cases(rows, told.share, f"{said}; {counted(len(rows), 'case')} of known sizes")


def _row(
    profile: Profile, chip: Chip, chips: Chips, template: str, key: str, same: Sequence[Operation]
) -> Measurement:  # fmt: skip
    middle, deviation = _times(same)
    name = Path(profile.paths[0]).name if profile.paths else "profile"
    return Measurement(
        run_id=f"profile {name}",
        timestamp=_written(profile),
        case_key=key,
        source=SOURCE,
        host=profile.hosts[0] if len(profile.hosts) == 1 else "",
        profile_path=profile.paths[0] if profile.paths else "",
        template=template,
        device_kind=chip.named,
        hardware_id=chip.id,
        n_devices=chips.count or len(profile.active),
        t_median=middle,
        t_mad=deviation,
        method=METHOD,
        n_samples=sum(each.count for each in same),
        flags="; ".join(_flags(chip, chips)),
    )


def _written(profile: Profile) -> str:
    """When the profile's file was written: as near to its capture as its formats tell."""
    written = max((Path(path).stat().st_mtime for path in profile.paths if Path(path).exists()), default=0.0)
    return datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds") if written else ""


def _flags(chip: Chip, chips: Chips) -> Iterator[str]:
    """What keeps the cases out of a fit: a chip that nobody has named, or a device that is a part of one."""
    if not chip.id:
        yield UNKNOWN_DEVICE
    if chips.cores_each > 1:
        yield PART_OF_CHIP


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
