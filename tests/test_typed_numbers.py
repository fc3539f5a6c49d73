"""Numbers as people type them: units, arithmetic, what is refused, and the same bits for a plain number."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import UserError
from planner.scaled_units import factor
from planner.typed_numbers import read, said

UNITS = ("1", "s", "byte/chip", "byte/s/chip", "FLOP/s/chip", "USD/h/chip", "1/s", "chip", "bit/s", "W/chip")


@pytest.mark.parametrize(
    ("text", "unit", "wanted"),
    [
        ("10ms", "s", 0.01), ("3ms", "s", 0.003), ("8k", "1", 8000), ("8Ki", "1", 8192), ("80GB", "byte/chip", 80e9),
        ("96GiB", "byte/chip", 96 * 2**30), ("600TFLOP/s", "FLOP/s/chip", 600e12), ("600 TFLOPS", "FLOP/s/chip", 6e14),
        ("8*128*8192", "1", 8 * 128 * 8192), ("8*80GB", "byte", 640e9), ("2^20", "1", 2**20), ("3/4", "1", 0.75),
        ("3/4 GB", "byte", 0.75e9), ("1/10ms", "1/s", 100), ("(1+2)*4k", "1", 12000), ("40%", "1", 0.4),
        ("35%", "1", 0.35), ("10ms+5us", "s", 0.010005), ("(10+5)ms", "s", 0.015), ("$2.85/h", "USD/h/chip", 2.85),
        ("400Gbps", "bit/s", 4e11), ("400Gb/s", "byte/s", 5e10), ("1.75GHz", "1/s", 1.75e9), ("15T", "1", 15e12),
        ("2 million USD", "USD", 2e6), ("1e3GB", "byte", 1e12), ("-2^2", "1", 4), ("2^3^2", "1", 64),
        ("8k", "chip", 8000), ("30k", "USD/chip", 30e3), ("2*3", "s", 6), ("2 million", "USD", 2e6),
        (" 10 ms ", "s", 0.01), ("5/s", "1/s", 5), ("2E", "1", 2e18), ("12 days", "s", 12 * 86400),
        ("200B", "1", 2e11), ("0.2T", "1", 2e11), ("1.5 B tokens", "1", 1.5e9), ("3*70B", "1", 2.1e11),
        ("16GB/2B", "1", 8e9), ("200B", "byte", 200), ("$2 million", "USD", 2e6), ("$2.5k", "USD/chip", 2500),
    ],
)  # fmt: skip
def test_what_a_text_writes(text: str, unit: str, wanted: float) -> None:
    """By hand, to the bit: decimals are rounded once."""
    assert read(text, unit) == wanted


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        ("10ms", "1", "ms is no unit of what is a plain number; write a number in plain digits"),
        ("8GB", "1", "GB is no unit of what is a plain number; write a number in plain digits, such as 0.5, 8k, 70B"),
        ("8Bs", "1", "unknown unit 'Bs'"),
        ("8GB", "s", "GB is no unit of what is counted in s; write a number in s, such as 80ms"),
        ("$2.85", "USD/h/chip", "$ is no unit of what is counted in USD/h/chip; write $2.85/h"),
        ("2.5USD", "USD/h/chip", "USD is no unit of what is counted in USD/h/chip; write 2.5USD/h"),
        ("40%", "USD/chip", "% is no unit of what is counted in USD/chip; write a number in USD/chip, such as 2$"),
        ("0,5", "1", "'0,5' is no number; write a point for decimals and no thousands separators"),
        ("1 000", "1", "no thousands separators"),
        ("10m", "s", "unknown unit 'm'; did you mean"),
        ("8gb", "byte", "unknown unit 'gb'; did you mean GB"),
        ("10ms+5", "s", "'10ms+5' adds what is of different units; give each number its unit"),
        ("ten", "s", "'ten' is no number; write a number in s, such as 80ms"),
        ("nan", "1", "'nan' is no number"),
        ("5/0", "1", "'5/0' divides by 0"),
        ("9^9^9^9", "1", "is too large"),
        ("1e999999999k", "1", "is too large"),
        ("1e400", "s", "'1e400' is too large"),
        ("1e300B", "1", "B is no unit of what is a plain number"),
        ("(2", "1", "'(2' lacks a closing bracket"),
        ("8*", "1", "a number is wanted before the end in '8*'"),
        ("2)", "1", "')' is unexpected in '2)'"),
        ("8;9", "byte/s", "';' has no place in a number; write a number in byte/s, such as 80GB/s"),
        ("2^0.5", "1", "a power is of plain numbers, to a whole one"),
        ("1" * 121 + "k", "1", "is too long for a number"),
        ("(" * 99 + "1" + ")" * 99, "1", "is too long for a number"),
    ],
)
def test_what_is_no_number_is_told(text: str, unit: str, says: str) -> None:
    """The message names the piece at fault, and what to write."""
    with pytest.raises(UserError) as refused:
        read(text, unit)
    assert says in str(refused.value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(UNITS))
@settings(max_examples=3 * settings().max_examples)
def test_a_plain_number_keeps_its_bits(number: float, unit: str) -> None:
    """What Python writes for a float is read as that float, bit for bit and without a look at the unit."""
    assert struct.pack("d", read(repr(number), unit)) == struct.pack("d", number)


@given(
    st.decimals(0, 10**6, places=3),
    st.sampled_from([("ms", "s"), ("GiB", "byte"), ("TFLOP/s", "FLOP/s/chip"), ("%", "1"), ("Ki", "1"), ("h", "s")]),
)
def test_a_unit_is_its_factor(number: Fraction, units: tuple[str, str]) -> None:
    """A number with a unit is the number times the unit's factor, in one rounding."""
    scaled, unit = units
    assert math.isclose(read(f"{number}{scaled}", unit), float(number) * factor(scaled, unit), rel_tol=4e-16)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from("+-*/"))
def test_arithmetic_is_exact(one: int, other: int, op: str) -> None:
    """Of two whole numbers the sum, difference, product and quotient are Python's own."""
    wanted = {"+": one + other, "-": one - other, "*": one * other, "/": one / other}[op]
    assert read(f"{one}{op}{other}", "1") == wanted


@given(st.text("0123456789.eE+-*/^()% kMGBmsFLOPb$,_\u00b5\u0664;", max_size=24), st.sampled_from(UNITS))
@settings(max_examples=15 * settings().max_examples, deadline=None)
def test_no_text_crashes(text: str, unit: str) -> None:
    """Whatever is typed, it is a number or a fault in words."""
    with suppress(UserError):
        assert isinstance(read(text, unit), float)


def test_a_number_is_said_to_the_last_digit() -> None:
    """Whole numbers in full with separators, others with fifteen digits, the unit behind."""
    assert said(96 * 2**30, "byte/chip") == "103,079,215,104 byte/chip"
    assert said(0.002, "s") == "0.002 s"
    assert said(8000.0, "1") == "8,000"
