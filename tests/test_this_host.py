"""`planner hardware add --this-host`: this machine measured, and put into a hardware CSV as a row like any other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from planner.catalog import load_hardware
from planner.compare import this_host
from planner.measure import devices
from planner.measure.records import Measurement
from planner.measure.timed_cases import Case
from planner.measure.timing import Rules
from tests.commands import command, printed_by, refusal, run

QUICK = Rules(warmup_s=0.0, sample_s=0.0, contested_s=0.0, loop_s=0.001, profiled_calls=2)
Rate = Callable[[Case], Measurement]


def add(*words: str, to: str = "my.csv", name: str = "laptop") -> Result:
    """Run the command in the folder of the test."""
    return run("hardware", "add", "--this-host", name, "--to", to, *words)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything happens in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rate], list[str]]:
    """Let a function say what each case measures; what it returns lists the cases that were asked for."""

    def by(rate: Rate) -> list[str]:
        asked: list[str] = []

        def rows(cases: Sequence[Case], **_: Any) -> Iterator[Measurement]:
            for case in cases:
                asked.append(case.label)
                yield rate(case)

        monkeypatch.setattr(this_host, "measure_cases", rows)
        return asked

    return by


def at(seconds: float, case: Case, **columns: Any) -> Measurement:
    """A measured row of a case that takes so long."""
    rates = {"achieved_flops": case.flops / seconds, "achieved_bandwidth": case.memory_bytes / seconds}
    return Measurement(
        t_median=seconds, t_mad=seconds / 50, n_samples=9, method="loop", jax="0.10.2", **(rates | columns)
    )


def test_this_machine_becomes_a_row_that_plans_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured for real, if briefly: peaks, bandwidth and memory, how and when as their source; a plan reads it."""
    brief = {"RULES": QUICK, "CPU_SIZES": (256,), "CPU_COPY": (2.0**20, 2.0**20), "DTYPES": ("fp32",)}
    for name, value in brief.items():
        monkeypatch.setattr(this_host, name, value)
    printed_by(add())
    row = load_hardware(Path("my.csv")).row("laptop")
    assert row["jax_device_kind"] == "cpu"
    assert row["peak_bf16"] is None
    for name, least in {"peak_fp32": 1e8, "hbm_bandwidth": 1e8, "hbm_bytes": 1e8}.items():
        found = row[name]
        assert isinstance(found, float)
        assert found > least, name
    assert re.search("peak_fp32: 256 x 256 matmul, .* samples by .*, spread [0-9.]+%", str(row["source_flops"]))
    assert re.search("hbm_bandwidth: copy of .* samples by .*, spread [0-9.]+%", str(row["source_hbm"]))
    sizes = ["--set", "tokens=64", "d_in=64", "d_out=64", "compute_dtype=fp32", "weight_dtype=fp32"]
    command("calc", "matmul", "-H", "laptop", "--hardware-csv", "my.csv", *sizes)


def test_the_best_median_of_several_sizes_counts(timed: Callable[[Rate], list[str]]) -> None:
    """Of each dtype and of the copies, with how it was measured; a case that could not be is told."""

    def rate(case: Case) -> Measurement:
        if case.template == "elementwise":
            return at(case.memory_bytes / 2e10, case)
        dtype, size = case.inputs["compute_dtype"], case.inputs["tokens"]
        if dtype == "fp8":
            return Measurement(status="skipped", reason="fp8 is not implemented")
        return at(case.flops / {512: 1e11, 1024: 3.14159e11, 2048: 2e11}.get(size, 1e11), case)  # type: ignore[call-overload]

    timed(rate)
    said = printed_by(add())
    row = load_hardware(Path("my.csv")).row("laptop")
    assert (row["peak_bf16"], row["peak_int8"], row["hbm_bandwidth"]) == (3.142e11, 3.142e11, 2e10)
    assert row["peak_fp8"] is None
    assert row["calibration"] == "measured"
    assert "peak_bf16: 1024 x 1024 matmul, 9 samples by loop, spread 2.0%" in str(row["source_flops"])
    assert "Note: peak_fp8: fp8 is not implemented" in said


def test_the_id_of_a_shipped_chip_is_told(timed: Callable[[Rate], list[str]]) -> None:
    """A plan of it would silently be of this machine; a name of one's own needs no note."""
    timed(lambda case: at(case.memory_bytes / 2e10 if case.template == "elementwise" else case.flops / 1e11, case))
    note = "h100-sxm is the id of a shipped chip too: where my.csv is given, yours counts"
    assert note in add(name="h100-sxm").output
    assert "shipped" not in add().output


def test_a_row_that_is_there_is_refused_before_anything_is_measured(timed: Callable[[Rate], list[str]]) -> None:
    """One line with the place and exit code 2; with --force the row is replaced, and every other byte stays."""
    before = b"id,peak_bf16,hbm_bytes,hbm_bandwidth,note\nother,1e12,16GB,1e11,\xc3\xa9\nLaptop,2e12,8GB,5e10,\n"
    Path("my.csv").write_bytes(before)
    asked = timed(lambda case: at(1e-3, case))
    done = add()
    assert (done.exit_code, asked) == (2, [])
    assert 'my.csv, line 3: the id "laptop" is there already; choose another name, or replace it with --force' in (
        done.output
    )
    assert Path("my.csv").read_bytes() == before
    assert add("--force").exit_code == 0
    assert b"other,1e12,16GB,1e11,\xc3\xa9" in Path("my.csv").read_bytes()
    assert list(load_hardware(Path("my.csv")).rows) == ["other", "laptop"]


@pytest.mark.parametrize("name", ["=1+1", "../up", "a*", "<b>"])
def test_a_name_that_cannot_be_an_id_is_refused(timed: Callable[[Rate], list[str]], name: str) -> None:
    """As of a model's: no formula, path, wildcard or markup; nothing is measured or written."""
    asked = timed(lambda case: at(1e-3, case))
    done = add(name=name)
    assert (done.exit_code, asked) == (2, [])
    assert "can't be an id" in done.output
    assert not Path("my.csv").exists()


def test_ctrl_c_leaves_the_file_untouched(timed: Callable[[Rate], list[str]]) -> None:
    """Whatever was measured before it."""
    Path("my.csv").write_text("id,peak_bf16\nother,1e12\n", encoding="utf-8")
    timed(lambda case: at(1e-3, case) if "Copy" in case.label else Measurement(status="interrupted"))
    done = add()
    assert done.exit_code != 0
    assert Path("my.csv").read_text(encoding="utf-8") == "id,peak_bf16\nother,1e12\n"


def test_no_case_begins_after_the_budget(timed: Callable[[Rate], list[str]]) -> None:
    """But for a copy and a matmul, without which there is no row; the dtypes that were not reached are N/A."""
    asked = timed(lambda case: at(1e-3, case))
    done = add("--budget", "0")
    assert (done.exit_code, len(asked)) == (0, 2)
    row = load_hardware(Path("my.csv")).row("laptop")
    assert row["peak_bf16"] == 2.684e11
    assert row["peak_fp32"] is None


def test_a_case_that_cannot_end_within_the_budget_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose matmul of 1024 takes 0.5 s would need a minute for one of 2048: with 30 s it is not begun, nor is
    the next; quicker dtypes are, and a note says of the others why not."""
    now, asked = [0.0], []

    def rows(cases: Sequence[Case], *, late: Callable[[Case], str], **_: Any) -> Iterator[Measurement]:
        for case in cases:
            if why := late(case):
                yield Measurement(status="skipped", reason=why)
                continue
            asked.append(case.label)
            work = float(str(case.inputs["tokens"])) / 1024 if case.template == "matmul" else 0.0
            seconds = (0.5 if case.inputs.get("compute_dtype") == "bf16" else 1e-4) * work**3 or 0.1
            now[0] += max(2.0, 16 * seconds)
            yield at(seconds, case)

    monkeypatch.setattr(this_host, "measure_cases", rows)
    monkeypatch.setattr(this_host.time, "monotonic", lambda: now[0])
    said = printed_by(add("--budget", "50"))
    assert now[0] <= 50
    assert "Matmul 1024 bf16" in asked
    assert "Matmul 2048 bf16" not in asked
    assert "Matmul 2048 fp32" in asked
    assert "Note: peak_bf16: 2048 would take 64 s, and of the budget" in said


def test_a_machine_of_which_too_little_could_be_measured_is_no_row(timed: Callable[[Rate], list[str]]) -> None:
    """A peak without a bandwidth is no chip: one line says why, and the file isn't made."""
    skipped = Measurement(status="skipped", reason="its arrays take 2 GB; 1 GB are free")
    timed(lambda case: skipped if "Copy" in case.label else at(1e-3, case))
    assert "too little could be measured: its arrays take 2 GB; 1 GB are free; give it a longer" in refusal(add())
    assert not Path("my.csv").exists()


def test_what_the_database_knows_of_the_device_is_taken_from_there(
    timed: Callable[[Rate], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device kind of one chip: its links and power are the database's, its peaks are measured, and that is said."""
    described = devices.describe

    def as_v5e(found: Sequence[Any], kinds: Any) -> devices.TimedDevice:
        own = described(found, kinds)
        return replace(own, platform="tpu", device_kind="TPU v5 lite", hardware_ids=("tpu-v5e",))

    monkeypatch.setattr(devices, "describe", as_v5e)
    monkeypatch.setattr(devices, "memory", lambda _: 15.7e9)
    timed(lambda case: at(max(case.flops / 98.5e12, case.memory_bytes / 700e9), case))
    done = add()
    assert done.exit_code == 0, done.output
    shipped, row = load_hardware().row("tpu-v5e"), load_hardware(Path("my.csv")).row("laptop")
    assert [row[name] for name in ("link_bandwidth", "tdp_watts", "hbm_bytes", "kind")] == [
        shipped[name] for name in ("link_bandwidth", "tdp_watts", "hbm_bytes", "kind")
    ]
    assert row["peak_bf16"] == 9.85e13
    assert row["peak_int4"] is None
    assert "peak_bf16 is 50% of its data sheet" in done.output


@pytest.mark.slow
def test_links_are_measured_where_there_are_several_devices() -> None:
    """All-reduces over two forced devices, in a process of its own: the row is a switch of two with their egress."""
    code = (
        "import sys; from planner.cli import group; from planner.compare import this_host as host;"
        "from planner.measure.timing import Rules;"
        "host.RULES = Rules(warmup_s=0, sample_s=0, contested_s=0, loop_s=0.001, profiled_calls=2);"
        "host.CPU_SIZES, host.DTYPES, host.PAYLOADS = (256,), ('fp32',), (2.0**16, 2.0**20);"
        "host.CPU_COPY = 2.0**20, 2.0**20; group(sys.argv[1:], standalone_mode=False)"
    )
    words = ["hardware", "add", "--this-host", "two", "--to", "my.csv"]
    flags = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", code, *words], env=flags, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row = load_hardware(Path("my.csv")).row("two")
    egress = row["scaleup_bandwidth"]
    assert isinstance(egress, float)
    assert egress > 1e6
    assert (row["topology"], row["node_size"], row["link_bandwidth"]) == ("switch", 2, egress)
    assert "over 2 devices" in str(row["source_interconnect"])
    assert "devices that share a processor" in done.stdout
