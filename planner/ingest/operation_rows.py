"""The operations of a profile over all devices, as listed on the sheet and the terminal, with the time they waste.

Waste is measured against the roofline, with the peaks of the profile's file or of the chip's data sheet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from planner.ingest.chips import WHOLE, Chip, Chips
from planner.ingest.profiled_cases import DTYPES, FAMILIES, dtype
from planner.profiles.hlo_text import size
from planner.profiles.profile import CORES, Device, Operation, Profile, pooled
from planner.profiles.recognition import matmul

MOST = 400  # most rows of operations
_NUMBER = re.compile(r"\.\d+$")
CLOSED = "custom-call"  # an opaque kernel, with unknown FLOPs
ESTIMATED = 1.05  # ratio to the peak above which such a kernel's stated FLOPs can't be true
FP32, TF32 = "fp32", "tf32"

Bound = Literal["compute", "memory"]


@dataclass(frozen=True)
class Peaks:
    """A device's peak rates: FLOP/s by the template's dtype (if the table has one), and byte/s.

    `source` says where they come from. An unknown one is None, and `why` gives the reason.
    """

    flops: float | None
    bandwidth: float | None
    by_dtype: dict[str, float] = field(default_factory=dict)
    source: str = ""
    why: str = ""


def peaks_of(device: Device | None, chip: Chip, chips: Chips = WHOLE) -> Peaks:
    """The device's peaks from the file, else those of the data sheet of the chip, of which it may be a part."""
    if device is not None and device.peak_flops and device.peak_bandwidth:
        return Peaks(device.peak_flops, device.peak_bandwidth, source="the profile's own")
    bandwidth = chip.number("hbm_bandwidth")
    names = (*DTYPES.values(), *FAMILIES.values(), TF32)
    known = {name: peak for name in names if (peak := chip.number(f"peak_{name}"))}
    flops = known.get("bf16") or known.get("fp32")
    if not chip.id or flops is None or bandwidth is None:
        return Peaks(None, None, why=f"no peaks: {chip.why}" if not chip.id else f"{chip.id} has no peaks")
    cores = chips.cores_each
    known = {name: peak / cores for name, peak in known.items()}
    part = f", of which a device is one of {cores} parts" if cores > 1 else ""
    if chips.count is None and cores < (chip.number("n_cores") or 1):
        part = f", of a whole chip: {chips.why}"
    return Peaks(flops / cores, bandwidth / cores, known, f"the data sheet of {chip.id}{part}")


@dataclass(frozen=True, slots=True)
class Waste:
    """An operation's time and the waste in it, in seconds.

    The waste is time x (1 - `efficiency`). The efficiency is FLOP rate over peak or bandwidth over peak, whichever is
    larger, and at most 1; `bound` says which one.
    """

    name: str
    seconds: float
    efficiency: float
    wasted: float
    bound: Bound


def lost_by(operation: Operation, peaks: Peaks) -> Waste | None:
    """The waste of an operation that computes. None if neither FLOPs nor bytes, or no peaks, are known.

    Communication, copies and waits may be hidden and have other bounds, so they have none. A custom call without FLOPs
    can't be assumed to only move its bytes, and one with more FLOPs than the chip can do has an estimate by its author.
    If FLOPs are known, missing bytes are taken as at least those of the arrays. A matmul's peak is that of its
    operands' dtype.
    """
    if operation.bytes is None and operation.flops:
        operation = replace(operation, bytes=sum(map(size, (*operation.operands, *operation.result))) or None)
    is_closed = operation.flops is None and CLOSED in (operation.category, operation.opcode)
    multiplied = (matmul(operation) if peaks.by_dtype else None) or operation
    name, seconds = dtype(multiplied.dtype), operation.self_time
    peak = peaks.by_dtype.get(name, peaks.flops)
    has_rates = operation.part == "compute" and not is_closed and (operation.flops or operation.bytes)
    if not has_rates or not seconds or not peak or not peaks.bandwidth:
        return None
    rate = (operation.flops or 0.0) * operation.count / seconds
    if name == FP32 and rate > peak:  # so it used TF32, which profiles don't record
        peak = peaks.by_dtype.get(TF32, peak)
    compute = rate / peak
    if CLOSED in (operation.category, operation.opcode) and compute > ESTIMATED:
        return None
    memory = (operation.bytes or 0.0) * operation.count / seconds / peaks.bandwidth
    efficiency = min(1.0, max(compute, memory))
    bound: Bound = "compute" if compute >= memory else "memory"
    return Waste(operation.name, seconds, efficiency, seconds * (1 - efficiency), bound)


def largest(profile: Profile, operations: Iterable[Operation], peaks: Peaks) -> Waste | None:
    """The operation with the most waste in a step, averaged over steps and devices.

    Operations of other programs than the one whose runs are the steps are excluded. None if no waste is known.
    """
    program = profile.stepping
    cores = int(profile.facts.get(CORES, 1))  # a tool sums operations over cores but reports one core's steps
    n = cores * max(1, sum(len(device.steps) for device in profile.devices) or len(profile.active))
    ours = [operation for operation in operations if program in ("", operation.program)]
    found = [_of_steps(lost, operation) for operation in ours if (lost := lost_by(operation, peaks))]
    most = max(found, key=lambda each: each.wasted, default=None)
    return most and replace(most, seconds=most.seconds / n, wasted=most.wasted / n)


def _of_steps(lost: Waste, operation: Operation) -> Waste:
    """The waste of an operation's runs within steps, if known which those are."""
    share = 1.0 if operation.step_time is None else operation.step_time / operation.self_time
    return replace(lost, seconds=lost.seconds * share, wasted=lost.wasted * share)


@dataclass(frozen=True)
class OperationRow:
    """An operation over all devices, or several that differ only in a number: `fusion (64 alike)`."""

    one: Operation
    name: str
    share: float | None  # share of the time of all operations, which may overlap
    efficiency: float | None
    bound: str
    lacking: str

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None if either is unknown."""
        return self.one.flops / self.one.bytes if self.one.flops and self.one.bytes else None

    @property
    def achieved(self) -> float | None:
        """FLOP/s of the median run of an operation that computes; None if its FLOPs are unknown."""
        is_drawn = self.one.part == "compute" and self.one.median > 0
        return self.one.flops / self.one.median if self.one.flops and is_drawn else None


def rows(profile: Profile, peaks: Peaks) -> list[OperationRow]:
    """The operations over all devices, by descending self time.

    If there are too many, those that differ only in a number, such as a model's layers, share a row.
    """
    everything = sum(operation.self_time for operation in profile.operations)
    found = pooled(profile.operations)
    names = {each.identity: [each.name] for each in found}
    if len(found) > MOST:
        names.clear()
        for each in found:
            names.setdefault(_unnumbered(each).identity, []).append(each.name)
        found = pooled(map(_unnumbered, found))
    return [_row(each, names[each.identity], peaks, everything, profile.lacks) for each in found]


def _unnumbered(one: Operation) -> Operation:
    return replace(one, name=_NUMBER.sub("", one.name), expression="")


def _row(
    one: Operation, names: Sequence[str], peaks: Peaks, everything: float, lacks: Mapping[str, str]
) -> OperationRow:
    lost = lost_by(one, peaks)
    return OperationRow(
        one=one,
        name=names[0] if len(names) == 1 else f"{one.name} ({len(names)} alike)",
        share=one.self_time / everything if everything else None,
        efficiency=lost.efficiency if lost else None,
        bound=lost.bound if lost else "",
        lacking="; ".join(_lacking(one, lost, peaks, lacks)),
    )


def _lacking(one: Operation, lost: Waste | None, peaks: Peaks, lacks: Mapping[str, str]) -> Iterator[str]:
    """The reasons for an operation's empty cells."""
    for fact, there in (("flops", one.flops), ("bytes", one.bytes), ("shapes", one.result or one.operands)):
        if not there and one.part == "compute":
            yield f"{fact}: {lacks.get(fact, 'the file has none for it')}"
    if one.part != "compute":
        yield "roofline: of what computes alone"
    elif peaks.why and (one.flops or one.bytes):
        yield f"roofline: {peaks.why}"
    elif lost is None and one.flops:
        yield "roofline: its FLOPs, an estimate, are more than the chip does"
