"""Profiles of made-up operations, and the chip that they ran on, for tests of what planner makes of a profile."""

from __future__ import annotations

from dataclasses import replace

from planner.compare.prediction import hardware
from planner.ingest.chips import Chip
from planner.profiles.profile import Device, Operation, Parts, Profile, Step

V5P = Chip("tpu-v5p", "TPU v5", row=dict(hardware().rows["tpu-v5p"]))


def operation(name: str = "fusion.1", **columns: object) -> Operation:
    """An operation that took a millisecond, ten times."""
    made = Operation(name, "jit_f", "convolution fusion", "fusion", "compute", 10, 0.01, 0.001, 0.01)
    return replace(made, **columns)  # type: ignore[arg-type]


def of(*operations: Operation, kind: str | None = "TPU v5", **columns: object) -> Profile:
    """A profile of one device and one step with these operations."""
    busy = sum(each.self_time for each in operations)
    parts = Parts(compute=busy)
    device = Device("/device:TPU:0", "host", kind, {}, 0.0, busy, busy, parts, (Step(0, 0.0, busy, "whole", parts),),
                    operations=operations)  # fmt: skip
    return replace(Profile(("p.xplane.pb",), "xplane", kind, ("host",), (device,)), **columns)  # type: ignore[arg-type]


def core(n: int, host: str = "host", **facts: str) -> Device:
    """A core with a step and an operation, as the profiler of a TPU has it."""
    one = operation()
    step = (Step(0, 0.0, 0.01, "whole", Parts(compute=0.01)),)
    return Device(f"/device:TPU:{n}", host, None, facts, 0.0, 0.01, 0.01, Parts(compute=0.01), step, operations=(one,))
