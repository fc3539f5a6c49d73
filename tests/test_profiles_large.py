"""Large profiles take little memory, and the reader says how far it is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[1] / "benchmarks" / "profiles.py"
MEGABYTES = 60
MOST = 180  # MB of the whole process: some 60 are Python's and numpy's


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark's module, which makes the files and reads them in a process of their own."""
    spec = importlib.util.spec_from_file_location("profiles_benchmark", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is counted as Linux does")
@pytest.mark.parametrize(("kind", "name"), [("trace", "a.trace.json.gz"), ("planes", "a.xplane.pb")])
def test_memory_does_not_grow_with_the_file(benchmark, tmp_path, kind, name):
    """Every event is counted, within a memory that a file of any size is read with, and with words of progress."""
    path = tmp_path / name
    getattr(benchmark, kind)(path, MEGABYTES)
    runs, steps, told, _, megabytes = benchmark.measured(path)
    assert runs > 50_000
    assert steps == -(-runs // benchmark.PER_STEP)
    assert told >= 2
    assert megabytes < MOST
