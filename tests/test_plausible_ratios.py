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
