"""Units as people say them: their factors, and what is of another kind."""

from __future__ import annotations

import pytest

from planner.scaled_units import factor


@pytest.mark.parametrize(
    ("scaled", "unit", "wanted"),
    [
        ("ms", "s", 1e-3), ("us", "s", 1e-6), ("\u00b5s", "s", 1e-6), ("days", "s", 86400), ("h", "s", 3600),
        ("h", "h", 1), ("min", "h", 1 / 60), ("s", "h", 1 / 3600), ("GB", "byte/chip", 1e9),
        ("GiB", "byte", 2**30), ("GB/s", "byte/s/chip", 1e9), ("Gb/s", "byte/s", 1.25e8),
        ("TFLOP/s", "FLOP/s/chip", 1e12), ("PFLOP/s/chip", "FLOP/s/chip", 1e15), ("%", "1", 0.01), ("k", "1", 1000),
        ("Ki", "1", 1024), ("million USD", "USD", 1e6), ("$/h", "USD/h/chip", 1), ("kW", "W/chip", 1e3),
        ("1/s", "1/s", 1), ("tokens/s", "1/s", 1), ("tokens/day", "1/s", 1 / 86400), ("chips", "chip", 1),
        ("million", "1", 1e6), ("GPUs", "chip", 1), ("tpus", "chip", 1), ("months", "s", 2_629_800),
    ],
)  # fmt: skip
def test_a_factor_of_a_unit(scaled: str, unit: str, wanted: float) -> None:
    """By hand."""
    assert factor(scaled, unit) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize(
    ("scaled", "unit", "wrong"),
    [
        ("GB", "s", "GB is no unit of what is counted in s"),
        ("GB/s", "byte", "GB/s is no unit of"),
        ("ms/chip", "s", "no unit of"),
        ("GX", "byte", "unknown unit 'GX'"),
        ("kdays", "s", "unknown unit 'kdays'"),
        ("", "s", "unknown unit"),
        ("mB", "byte", "unknown unit 'mB'"),
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_refused(scaled: str, unit: str, wrong: str) -> None:
    """A unit of another quantity, and one that nobody writes."""
    with pytest.raises(ValueError, match=wrong.replace("(", "\\(")):
        factor(scaled, unit)
