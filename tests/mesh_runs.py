"""What the tests of a mesh run in a process of its own, on devices that a CPU stands for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

FORCED = "--xla_force_host_platform_device_count={}"


def environment(n_devices: int, **more: str) -> dict[str, str]:
    """The variables of a process with so many devices."""
    return os.environ | {"XLA_FLAGS": FORCED.format(n_devices), "JAX_PLATFORMS": "cpu"} | more


def command(what: str, *words: str) -> list[str]:
    """The words that start a function of this file in a process."""
    return [sys.executable, "-m", "tests.mesh_runs", what, *words]


def measure(words: Sequence[str]) -> None:
    """`planner measure` on hasty rules and small arrays: what is asked of the cases is the same."""
    from planner.cli import group
    from planner.compare import mesh_cases
    from planner.measure import timing

    hasty = timing.Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.001, min_samples=3, profiled_calls=3)
    timing.BRISK = timing.STANDARD = hasty  # type: ignore[misc]
    mesh_cases.MOST["cpu"] = 64 << 10
    mesh_cases.DIMENSIONS["cpu", "quick"] = (64,)
    mesh_cases.SMALL |= {"d_model": 64.0, "qk_nope_dim": 16.0, "d_ff": 128.0, "vocab": 64.0}
    group(list(words), prog_name="planner")


def numbers(words: Sequence[str]) -> None:
    """Hold each sharded case against the same arrays on one device, and say how far off it is at most."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from planner.compare import mesh_cases
    from planner.measure import cases, sharded
    from planner.measure.mesh import MeshSpec
    from planner.measure.workload import random_arrays

    mesh_cases.DIMENSIONS["cpu", "quick"] = (64,)
    mesh_cases.SMALL |= {"d_model": 64.0, "qk_nope_dim": 16.0, "d_ff": 128.0, "vocab": 64.0}
    wide = {f"{role}_dtype": "fp32" for role in ("weight", "activation", "output", "compute", "kv")}
    for text in words:
        spec, off = MeshSpec.parse(text), 0.0
        for case in mesh_cases.cases_of(spec, "quick", "cpu"):
            name = {"sharded_matmul": "matmul", "sharded_step": "step"}.get(case.template.name)
            if name is None:
                continue
            row = {**case.inputs, **{key: value for key, value in wide.items() if key in case.inputs}}
            work = sharded.workload(case.template.name, row, spec, case.axis)
            arrays = random_arrays(work.operands, work.mesh)
            alone = cases.workload(name, {**row, "n_chips": 1})
            found = jax.tree.leaves(jax.jit(work.whole)(*arrays))
            expected = jax.tree.leaves(jax.jit(alone.function)(*(jnp.asarray(np.asarray(each)) for each in arrays)))
            for one, other in zip(found, expected, strict=True):
                one, other = np.asarray(one), np.asarray(other)
                off = max(off, float(abs(one - other).max() / abs(other).max()))
        print(text, off)


if __name__ == "__main__":
    {"measure": measure, "numbers": numbers}[sys.argv[1]](sys.argv[2:])
