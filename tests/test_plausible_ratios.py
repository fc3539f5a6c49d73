"""Numbers of a chip that don't fit together: slips of 1,000 are found, and odd but real chips aren't doubted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner import progress
from planner.catalog import load_hardware
from planner.catalog.hardware_columns import HARDWARE_FIELDS
from planner.plausible import doubt
from planner.plausible_ratios import SCALED, doubts
from tests.catalogs import load_csv
from tests.commands import run

HEADER = "id,topology,peak_bf16,hbm_bytes,hbm_bandwidth,link_bandwidth,max_chips"
UNITS = {field.name: field.unit for field in HARDWARE_FIELDS if field.unit in SCALED}
SLIPS = [(name, slip) for name in UNITS for slip in (1e3, 1e-3)]
LEAST_FOUND = 0.95  # share of all slips of all shipped chips; SRAM chips hide some


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Nothing is left to say before or after a test."""
    with progress.cleared():
        yield
    progress._forget()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("989TFLOP/s,80GB,3.35GB/s,450GB/s", "column hbm_bandwidth: 3,350,000,000 byte/s/chip: 3.35TB/s, perhaps?"),
        ("989TFLOP/s,80MB,3.35TB/s,450GB/s", "column hbm_bytes: 80,000,000 byte/chip: 80GB, perhaps?"),
        ("989GFLOP/s,80GB,3.35TB/s,450GB/s", "column peak_bf16: 989,000,000,000 FLOP/s/chip: 989TFLOP/s, perhaps?"),
        ("197TFLOP/s,16GB,819GB/s,50MB/s", "column link_bandwidth: 50,000,000 byte/s: 50GB/s, perhaps?"),
        ("989PFLOP/s,80GB,3.35TB/s,450GB/s", "column peak_bf16: 9.89e+17 FLOP/s/chip: 989TFLOP/s, perhaps?"),
        ("989TFLOP/s,80GB,3.35PB/s,450GB/s", "column hbm_bandwidth: 3.35e+15 byte/s/chip: 3.35TB/s, perhaps?"),
    ],
)
def test_a_slip_of_a_thousand_is_told(tmp_path: Path, row: str, says: str) -> None:
    """One line with file, line and column, and what was perhaps meant; the number is used as it is."""
    load_csv(tmp_path, f"{HEADER}\nmine,switch,{row},8", "hardware")
    (warned,) = progress._State.warned
    assert warned.startswith(f"{tmp_path / 'mine.csv'}, line 2, ")
    assert says in warned


def test_two_slips_are_two_lines(tmp_path: Path) -> None:
    """Memory and links of one chip, both slipped."""
    load_csv(tmp_path, f"{HEADER}\nmine,torus,989TFLOP/s,80MB,3.35TB/s,100MB/s,8", "hardware")
    warned = " ".join(progress._State.warned)
    assert len(progress._State.warned) == 2
    assert "80GB, perhaps" in warned
    assert "100GB/s, perhaps" in warned


def test_a_slip_that_is_doubted_alone_is_told_once(tmp_path: Path) -> None:
    """80 bytes of memory are implausible by themselves; the ratios add nothing."""
    load_csv(tmp_path, f"{HEADER}\nmine,switch,989TFLOP/s,80,3.35TB/s,450GB/s,8", "hardware")
    (warned,) = progress._State.warned
    assert "write 80GB" in warned


def test_real_chips_are_not_doubted() -> None:
    """Shipped chips, and computers, phones, boards, SRAM chips and wafers with numbers of their makers."""
    load_hardware()
    load_hardware(Path(__file__).parent / "cases" / "odd_chips.csv")
    assert list(progress._State.warned) == []


def test_most_slips_of_shipped_chips_are_found() -> None:
    """Of every number of every shipped chip, scaled by 1,000 and by 1/1,000, nearly all are doubted."""
    found = [
        bool(doubt(name, UNITS[name], value * slip)) or any(doubts({**row, name: value * slip}, UNITS, dict))
        for row in load_hardware().rows.values()
        for name, slip in SLIPS
        if isinstance(value := row.get(name), float) and value
    ]
    assert len(found) > 1000
    assert sum(found) / len(found) > LEAST_FOUND


@pytest.mark.parametrize(("name", "slip"), [("hbm_bytes", 1e3), ("sram_bytes", 1e-3)])
def test_a_slip_of_a_chip_without_dram_is_told(name: str, slip: float) -> None:
    """Groq's chip has 230 MB of memory, all SRAM, at 80 TB/s (its data sheet): 230 GB, or 230 kB of SRAM, are told."""
    row = {"hbm_bytes": 230e6, "hbm_bandwidth": 80e12, "sram_bytes": 230e6, "peak_fp16": 188e12, "peak_int8": 750e12}
    assert list(doubts(row, UNITS, dict)) == []
    ((_, told),) = doubts({**row, name: row[name] * slip}, UNITS, dict)
    assert "memory of 40 TB/s is SRAM" in told


def test_an_override_of_a_chip_is_told(tmp_path: Path) -> None:
    """A bandwidth in GB/s for TB/s is told: one of --set, one of a scenario's cell, and in the workbook."""
    book, told = tmp_path / "plan.xlsx", "3,350,000,000 byte/s/chip: 3.35TB/s, perhaps?"
    words = ["build", "--template", "matmul", "-H", "h100-sxm", "-o", str(book), "--force"]
    done = run(*words, "--set", "hbm_bandwidth=3.35GB/s")
    assert f"Warning: hbm_bandwidth of h100_sxm = {told}" in done.stderr
    assert f"hbm_bandwidth of h100_sxm = {told}" in " ".join(run("check", str(book)).stdout.split())
    (tmp_path / "mine.csv").write_text("scenario,hardware,hbm_bandwidth\na,h100-sxm,3.35GB/s\nb,h100-sxm,\n")
    done = run("build", "--template", "matmul", "--scenarios", str(tmp_path / "mine.csv"), "-o", str(book), "--force")
    assert done.stderr.count(told) == 1
    assert f"Warning: hbm_bandwidth of a = {told}" in done.stderr
    assert "perhaps" not in run(*words, "--set", "hbm_bandwidth=3TB/s").stderr
    assert "perhaps" not in run("check", str(book)).stdout


@pytest.mark.parametrize("links", ["", "450GB/s"])
def test_numbers_that_may_be_wrong_together_are_named_together(tmp_path: Path, links: str) -> None:
    """Memory in MB and GB/s beside a usual peak: no unit is suggested for the peak, and all three are named."""
    load_csv(tmp_path, f"{HEADER}\nmine,{links and 'switch'},989e12,80e6,3.35e9,{links},8", "hardware")
    told = " ".join(progress._State.warned)
    assert "perhaps" not in told
    assert "column hbm_bytes: 80,000,000 byte/chip, hbm_bandwidth 3,350,000,000 byte/s/chip" in told
    assert "and peak_bf16 989,000,000,000,000 FLOP/s/chip don't fit together: " in told
