"""What operations lose against the roofline: their time x (1 - efficiency), where their FLOPs or bytes are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from planner.ingest.device import Chip
from planner.ingest.recognition import array_bytes
from planner.profiles.profile import Device, Operation, Profile

DTYPES = {"bf16": "bf16", "f16": "fp16", "f32": "fp32", "s8": "int8", "u8": "int8"}  # a peak's name, by HLO's


@dataclass(frozen=True)
class Peaks:
    """What a device can do at most, by the dtype of HLO where its table has one; `source` says where it is from.

    None is not known, and `why` says why.
    """

    flops: float | None
    bandwidth: float | None
    by_dtype: dict[str, float]
    source: str = ""
    why: str = ""

    def of(self, dtype: str) -> float | None:
        """The peak of a dtype."""
        return self.by_dtype.get(dtype, self.flops)


def peaks_of(device: Device | None, chip: Chip) -> Peaks:
    """Those that the file has of its device, else those of the chip's data sheet."""
    if device is not None and device.peak_flops and device.peak_bandwidth:
        return Peaks(device.peak_flops, device.peak_bandwidth, {}, "the profile's own")
    bandwidth = chip.number("hbm_bandwidth")
    known = {hlo: peak for hlo, name in DTYPES.items() if (peak := chip.number(f"peak_{name}"))}
    flops = known.get("bf16") or known.get("f32")
    if not chip.id or flops is None or bandwidth is None:
        return Peaks(None, None, {}, why=f"no peaks: {chip.why}" if not chip.id else f"{chip.id} has no peaks")
    return Peaks(flops, bandwidth, known, f"the data sheet of {chip.id}")


@dataclass(frozen=True)
class Roofline:
    """One run of an operation against the roofline: the least time that the peaks allow, and which of them it is."""

    seconds: float
    bound: str


def roofline(operation: Operation, peaks: Peaks) -> Roofline | None:
    """An operation's roofline; None where neither FLOPs nor bytes are known, or the peaks aren't."""
    flops, bandwidth = peaks.of(operation.dtype), peaks.bandwidth
    if operation.part != "compute" or not flops or not bandwidth:
        return None
    moved = operation.bytes
    if moved is None and operation.flops:  # at least its arrays, each once
        moved = array_bytes((*operation.operands, *operation.result))
    compute, memory = (operation.flops or 0.0) / flops, (moved or 0.0) / bandwidth
    if not max(compute, memory):
        return None
    return Roofline(max(compute, memory), "compute" if compute >= memory else "memory")


def efficiency(operation: Operation, peaks: Peaks) -> float | None:
    """The share of its roofline that an operation reaches, at most 1; None where it can't be told."""
    found = roofline(operation, peaks)
    own = operation.self_time / operation.count if operation.count else 0.0
    return min(1.0, found.seconds / own) if found and own > 0 else None


@dataclass(frozen=True)
class Wasted:
    """What an operation wastes in a step: seconds, the share of its roofline that it reaches, and what binds it."""

    name: str
    seconds: float
    efficiency: float
    bound: str


def wasted(profile: Profile, peaks: Peaks) -> Iterator[Wasted]:
    """What each operation wastes in a step, in the mean over devices."""
    times: dict[tuple[str, str], list[tuple[float, float, str]]] = defaultdict(list)
    for operation in profile.operations:
        share, found = efficiency(operation, peaks), roofline(operation, peaks)
        if share is not None and found is not None:
            times[operation.program, operation.name].append((operation.self_time, share, found.bound))
    n = max(1, sum(len(device.steps) for device in profile.devices) or len(profile.active))
    for (_, name), each in times.items():
        total = sum(time for time, _, _ in each)
        lost = sum(time * (1 - share) for time, share, _ in each)
        yield Wasted(name, lost / n, 1 - lost / total if total else 1.0, each[0][2])


def largest(profile: Profile, peaks: Peaks) -> Wasted | None:
    """The largest waste; None where no operation's can be told."""
    return max(wasted(profile, peaks), key=lambda each: each.seconds, default=None)
