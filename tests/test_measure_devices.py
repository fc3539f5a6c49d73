"""Which hardware this is, by exact name; facts that a platform doesn't give are left out."""

from __future__ import annotations

import ctypes
import os
from types import SimpleNamespace

import pytest

from planner.measure import devices

KINDS = {
    "tpu-v5e": "TPU v5 lite", "tpu-v5p": "TPU v5", "tpu-v6e": "TPU v6 lite",
    "h100-sxm": "NVIDIA H100 80GB HBM3", "cpu-generic": "cpu", "cpu-spr": "cpu", "gaudi2": None, "gaudi3": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("device_kind", "expected"),
    [
        ("TPU v5", ("tpu-v5p",)),
        ("TPU v5 lite", ("tpu-v5e",)),
        ("TPU v6 Lite", ("tpu-v6e",)),
        ("NVIDIA H100 80GB HBM3", ("h100-sxm",)),
        ("NVIDIA H100", ()),
        ("cpu", ("cpu-generic", "cpu-spr")),
        ("", ()),
    ],
)
def test_exact_match_ignoring_case(device_kind, expected):
    """A name that is a prefix of another is never taken for it; an unknown one matches nothing."""
    assert devices.matching(device_kind, KINDS) == expected


def test_describe_asks_with_defaults(monkeypatch):
    """A CPU device has no coordinates, cores or memory statistics."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    monkeypatch.delenv("LIBTPU_INIT_ARGS", raising=False)
    bare = SimpleNamespace(platform="cpu", device_kind="cpu")
    found = devices.describe([bare], KINDS)
    assert (found.n_devices, found.n_processes, found.cores_per_device, found.coords) == (1, 1, 1, "")
    assert (found.xla_flags, found.libtpu_init_args) == ("--xla_dump_to=x", "")
    assert found.jax


def test_describe_a_megacore_tpu():
    """Two cores behind one JAX device, a place in the torus, a runtime of several lines."""
    client = SimpleNamespace(platform_version="PJRT C API\nlibtpu 1")
    chip = SimpleNamespace(
        platform="tpu", device_kind="TPU v5", num_cores=2, coords=[0, 1, 2], process_index=1, client=client
    )  # fmt: skip
    found = devices.describe([chip] * 4, KINDS)
    assert (found.hardware_ids, found.cores_per_device, found.coords) == (("tpu-v5p",), 2, "0 1 2")
    assert (found.n_devices, found.n_processes, found.runtime_version) == (4, 2, "PJRT C API")


def test_free_memory_of_a_device_with_statistics():
    """The limit less what is in use."""
    stats = {"bytes_limit": 100, "bytes_in_use": 30}
    assert devices.free_memory(SimpleNamespace(platform="gpu", memory_stats=lambda: stats)) == 70
    assert devices.free_memory(SimpleNamespace(platform="gpu", memory_stats=lambda: None)) is None


def test_free_memory_of_a_host(tmp_path, monkeypatch):
    """MemAvailable in KiB; unknown where there is no such file."""
    meminfo = tmp_path / "meminfo"
    monkeypatch.setattr(devices, "MEMINFO", meminfo)
    monkeypatch.setattr(devices, "CGROUP", tmp_path / "none")
    cpu = SimpleNamespace(platform="cpu")
    assert devices.free_memory(cpu) is None
    meminfo.write_text("MemTotal:  8 kB\nMemAvailable:  3 kB\n")
    assert devices.free_memory(cpu) == 3072


@pytest.mark.parametrize(("limit", "free"), [("max", 3072), ("5000", 5000 - 4000 + 500), ("100", 0), ("900000", 3072)])
def test_a_container_has_what_its_limit_leaves(tmp_path, monkeypatch, limit, free):
    """The host's free memory or the group's, whichever is less; the group's page cache is free."""
    (tmp_path / "meminfo").write_text("MemAvailable:  3 kB\n")
    files = {"memory.max": f"{limit}\n", "memory.current": "4000\n", "memory.stat": "anon 1\ninactive_file 500\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(devices, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(devices, "CGROUP", tmp_path)
    assert devices.free_memory(SimpleNamespace(platform="cpu")) == free


def test_memory_of_a_windows_host(tmp_path, monkeypatch):
    """Where the system is asked through its own library, its 64-byte answer says what the host has and what is free."""

    def answer(status):
        assert status._obj.length == 64
        status._obj.total, status._obj.free = 16 << 30, 9 << 30
        return 1

    monkeypatch.setattr(devices, "MEMINFO", tmp_path / "none")
    monkeypatch.setattr(devices, "CGROUP", tmp_path)
    monkeypatch.delattr(os, "sysconf", raising=False)
    kernel = SimpleNamespace(GlobalMemoryStatusEx=answer)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    host = SimpleNamespace(platform="cpu")
    assert devices.memory(host) == 16 << 30
    assert devices.free_memory(host) == 9 << 30
