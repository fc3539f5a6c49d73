"""Whether a program fits: asked before its arrays are made, for a host out of memory says nothing and is killed."""

from __future__ import annotations

from typing import Any

from measure import devices, heap
from measure.cases import CaseSkipped

SHARE = 0.9  # of what is free: the allocator and the profiler take some


def check(device: Any, needed: float, what: str) -> None:
    """Raise CaseSkipped where `needed` bytes don't fit beside what the device holds; `what` needs them."""
    if device.platform == "cpu":
        heap.trim()
    free = devices.free_memory(device)
    if free is not None and needed > SHARE * free:
        raise CaseSkipped(f"{what} {needed / 1e9:.3g} GB; {free / 1e9:.3g} GB are free, {SHARE:.0%} of it to use")


def of_program(program: Any, *, are_arguments_there: bool) -> float:
    """Bytes that a compiled program takes: its results where no argument is reused, its scratch and its arguments.

    0 where its compiler doesn't say.
    """
    analysis = program.memory_analysis()
    if analysis is None:
        return 0.0
    made = analysis.output_size_in_bytes - analysis.alias_size_in_bytes + analysis.temp_size_in_bytes
    return float(made + (0 if are_arguments_there else analysis.argument_size_in_bytes))
