"""Copies between a host and its device, timed per call: no program runs, so there is no loop and no module."""

from __future__ import annotations

import time

import jax
import numpy as np

from measure import interrupts
from measure.cases import Operand, Workload, random_arrays


class HostCopy:
    """An array on the host and the same on the device; calling it copies one way and returns the seconds."""

    def __init__(self, operand: Operand, *, is_to_device: bool) -> None:
        (self._there,) = random_arrays((operand,))
        self._here = np.array(self._there)
        self._is_to_device = is_to_device

    def __call__(self) -> float:
        interrupts.check()
        if self._is_to_device:
            begin = time.perf_counter()
            jax.block_until_ready(jax.device_put(self._here, self._there.device))
            return time.perf_counter() - begin
        fresh = jax.block_until_ready(self._there.copy())  # an array keeps what was fetched of it once
        begin = time.perf_counter()
        np.asarray(fresh)
        return time.perf_counter() - begin


def call_of(workload: Workload) -> HostCopy:
    """The copy that a workload means."""
    return HostCopy(workload.operands[0], is_to_device=workload.transfer == "to device")
