"""The real profiles, which stay outside the repository: tests that read them carry the mark `real`."""

from __future__ import annotations

from pathlib import Path

import pytest

TRACES = Path(__file__).resolve().parents[2] / "shared" / "traces"
V6E = TRACES / "xprof_tpu_inference_2.xplane.pb"  # TPU v6e, openxla/xprof
MI300X = TRACES / "tracelens_jax08_gemm.xplane.pb"  # JAX 0.8 on a MI300X, AMD-AGI/TraceLens
ELEMENTWISE = TRACES / "tracelens_jax08_elementwise.xplane.pb"  # the same, of sums, sines and the like

real = pytest.mark.skipif(not TRACES.is_dir(), reason="the real traces are not beside this checkout")
