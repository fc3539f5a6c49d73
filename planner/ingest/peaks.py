"""What a profile's operations lose against the roofline, by the peaks of its file or of its chip's data sheet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from planner.ingest.case_inputs import DTYPES
from planner.ingest.device import Chip
from planner.profiles import waste
from planner.profiles.hlo_text import size
from planner.profiles.profile import CORES, Device, Operation, Profile
from planner.profiles.waste import Waste

CLOSED = "custom-call"  # a kernel whose FLOPs nobody has told


@dataclass(frozen=True)
class Peaks:
    """What a device can do at most, in FLOP/s, by the dtype of HLO where its table has one, and byte/s.

    `source` says where they are from. None is not known, and `why` says why.
    """

    flops: float | None
    bandwidth: float | None
    by_dtype: dict[str, float] = field(default_factory=dict)
    source: str = ""
    why: str = ""


def peaks_of(device: Device | None, chip: Chip) -> Peaks:
    """Those that the file has of its device, else those of the chip's data sheet."""
    if device is not None and device.peak_flops and device.peak_bandwidth:
        return Peaks(device.peak_flops, device.peak_bandwidth, source="the profile's own")
    bandwidth = chip.number("hbm_bandwidth")
    known = {hlo: peak for hlo, name in DTYPES.items() if (peak := chip.number(f"peak_{name}"))}
    flops = known.get("bf16") or known.get("f32")
    if not chip.id or flops is None or bandwidth is None:
        return Peaks(None, None, why=f"no peaks: {chip.why}" if not chip.id else f"{chip.id} has no peaks")
    return Peaks(flops, bandwidth, known, f"the data sheet of {chip.id}")


def lost_by(operation: Operation, peaks: Peaks) -> Waste | None:
    """What an operation loses; None where neither FLOPs nor bytes are known, or the peaks aren't.

    A custom call without FLOPs is no operation that only moves its bytes. The bytes that a format lacks are at least
    those of its arrays where its FLOPs are known.
    """
    if operation.bytes is None and operation.flops:
        operation = replace(operation, bytes=sum(map(size, (*operation.operands, *operation.result))) or None)
    is_closed = operation.flops is None and CLOSED in (operation.category, operation.opcode)
    if not (operation.flops or operation.bytes) or peaks.bandwidth is None or is_closed:
        return None
    found = waste.by_operation([operation], peaks.by_dtype.get(operation.dtype, peaks.flops), peaks.bandwidth)
    return found[0] if found and found[0].efficiency is not None else None


def largest(profile: Profile, operations: Iterable[Operation], peaks: Peaks) -> Waste | None:
    """Of operations over all devices the one that loses most in a step, in the mean over steps and devices.

    None where none's can be told.
    """
    cores = int(profile.facts.get(CORES, 1))  # over which a tool adds its operations up, with steps of one of them
    n = cores * max(1, sum(len(device.steps) for device in profile.devices) or len(profile.active))
    found = [lost for operation in operations if (lost := lost_by(operation, peaks))]
    most = max(found, key=lambda each: each.wasted, default=None)
    return most and replace(most, seconds=most.seconds / n, wasted=most.wasted / n)
