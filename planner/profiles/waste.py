"""What time is lost against the roofline: time x (1 - roofline efficiency), an operation's or a category's.

The efficiency is the larger of the FLOP rate over its peak and the bandwidth over its peak, and at most 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from planner.profiles.profile import Operation

Bound = Literal["compute", "memory", ""]


@dataclass(frozen=True, slots=True)
class Waste:
    """An operation's or a category's time and what of it is lost, in seconds; `share` is of all time.

    `efficiency` is None where neither FLOPs nor bytes are known: then nothing is said to be lost. `bound` is what the
    roofline says it is bound by.
    """

    name: str
    program: str
    seconds: float
    share: float
    efficiency: float | None
    wasted: float
    bound: Bound

    @property
    def wasted_share(self) -> float:
        """What is lost as a share of all time."""
        return self.wasted / self.seconds * self.share if self.seconds else 0.0


def wasted(share: float, flops_share: float, bandwidth_share: float) -> float:
    """What of a share of time is lost, by the shares of peak FLOP/s and of peak bandwidth that it reaches."""
    return share * (1 - efficiency(flops_share, bandwidth_share))


def efficiency(flops_share: float, bandwidth_share: float) -> float:
    """The roofline efficiency; a rate beyond its peak counts as the peak."""
    return min(1.0, max(flops_share, bandwidth_share, 0.0))


def by_operation(
    operations: Iterable[Operation], peak_flops: float | None, peak_bandwidth: float | None
) -> list[Waste]:  # fmt: skip
    """What each operation loses, the largest first. Peaks are in FLOP/s and byte/s."""
    listed = list(operations)
    return _wastes([((each.program, each.name), [each]) for each in listed], listed, peak_flops, peak_bandwidth)


def by_category(
    operations: Iterable[Operation], peak_flops: float | None, peak_bandwidth: float | None
) -> list[Waste]:  # fmt: skip
    """What each category of each program loses, the largest first: FLOPs and bytes over the time of all of it."""
    listed = list(operations)
    groups: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for each in listed:
        groups[each.program, each.category].append(each)
    return _wastes(list(groups.items()), listed, peak_flops, peak_bandwidth)


def _wastes(
    groups: list[tuple[tuple[str, str], list[Operation]]], everything: list[Operation],
    peak_flops: float | None, peak_bandwidth: float | None,
) -> list[Waste]:  # fmt: skip
    total = sum(each.self_time for each in everything)
    found = []
    for (program, name), members in groups:
        seconds = sum(each.self_time for each in members)
        if not seconds or not total:
            continue
        flops = _share((each.flops for each in members), members, seconds, peak_flops)
        memory = _share((each.bytes for each in members), members, seconds, peak_bandwidth)
        known = flops is not None or memory is not None
        reached = efficiency(flops or 0.0, memory or 0.0) if known else None
        bound: Bound = "" if not known else "compute" if (flops or 0.0) >= (memory or 0.0) else "memory"
        lost = seconds * (1 - reached) if reached is not None else 0.0
        found.append(Waste(name, program, seconds, seconds / total, reached, lost, bound))
    return sorted(found, key=lambda each: -each.wasted)


def _share(
    values: Iterable[float | None], members: list[Operation], seconds: float, peak: float | None
) -> float | None:  # fmt: skip
    """The share of a peak that the members' work is over their time; None where none of it is known."""
    work = [value * each.count for value, each in zip(values, members, strict=True) if value is not None]
    return sum(work) / seconds / peak if work and peak else None
