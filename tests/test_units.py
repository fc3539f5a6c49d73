"""Units are symbols: what a formula's unit is, and what each disagreement says."""

from __future__ import annotations

import pytest

from planner.formulas.text import FormulaError, parse
from planner.formulas.units import ONE, TEXT, parse_unit, unit_of

UNITS = {
    name: parse_unit(unit)
    for name, unit in {
        "work": "FLOP", "peak": "FLOP/s/chip", "weights": "byte", "bandwidth": "byte/s/chip", "chips": "chip",
        "time": "s", "price": "USD/h/chip", "per_hour": "s/h", "count": "1", "kind": "text",
    }.items()
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1", "1"), ("text", "text"), ("FLOP/s/chip", "FLOP/s/chip"), ("FLOP/chip/s", "FLOP/chip/s"),
        ("1/s", "1/s"), ("1/s/chip", "1/s/chip"), ("s*chip", "s*chip"), ("byte*byte", "byte*byte"),
        ("W*h", "W*h"), ("bit/s", "bit/s"), ("USD/h", "USD/h"), ("byte/byte", "1"), ("chip*byte/chip", "byte"),
    ],
)  # fmt: skip
def test_a_unit_is_read(text, shown):
    """Products and quotients of the closed list are units; what cancels is gone, and it reads back as itself."""
    unit = parse_unit(text)
    assert unit == parse_unit(shown)
    assert parse_unit(str(unit)) == unit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bytes", "unknown unit 'bytes'; did you mean byte?"),
        ("FLOPs/s", "unknown unit 'FLOPs'; did you mean FLOP?"),
        ("FLOP/S", "unknown unit 'S'; did you mean s?"),
        ("byte/chips", "unknown unit 'chips'; did you mean chip?"),
        ("txt", "unknown unit 'txt'; did you mean text?"),
        ("GB", "unknown unit 'GB'; no unit has a prefix: write byte, and the number in full, such as 80e9"),
        ("GiB/s", "unknown unit 'GiB'; no unit has a prefix: write byte, and the number in full, such as 80e9"),
        ("\u00b5s", "unknown unit '\u00b5s'; no unit has a prefix: write s, and the number in full, such as 80e9"),
        ("tokens/s", "unknown unit 'tokens'; what is counted has the unit 1"),
        ("(byte)", "unknown unit '(byte)'; write it without brackets: FLOP/s/chip"),
        ("FLOP/(s*chip)", "unknown unit 'FLOP/(s*chip)'; write it without brackets: FLOP/s/chip"),
        ("byte[s]", "unknown unit 'byte[s]'; write it without brackets: FLOP/s/chip"),
        ("FLOP/s^2", "unknown unit 'FLOP/s^2'; write a power as a product: s*s"),
        ("s\u00b2", "unknown unit 's\u00b2'; write a power as a product: s*s"),
        ("USD / h", "unknown unit 'USD / h'; write it without spaces: USD/h"),
        ("", "unknown unit ''; write one such as byte/s, or 1 for a plain number"),
        ("text/s", "unknown unit 'text'; known: 1, FLOP, USD, W, bit, byte, chip, h, ..."),
        ("byte/", "unknown unit 'byte/'; each * and / stands between two symbols: per second is 1/s"),
        ("byte^2", "unknown unit 'byte^2'; write a power as a product: s*s"),
    ],
)
def test_an_unknown_unit_is_named(text, message):
    """What is not on the list is named, with the nearest that is."""
    with pytest.raises(ValueError, match="unknown unit") as caught:
        parse_unit(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("work/(peak*chips)", "s"), ("work/weights", "FLOP/byte"), ("weights/bandwidth/chips", "s"),
        ("peak/bandwidth", "FLOP/byte"), ("price*chips*time/per_hour", "USD"), ("count*time", "s"),
        ("-time", "s"), ("+time", "s"), ("time%", "s"), ("((time))", "s"), ("time^2", "s*s"), ("time^0", "1"),
        ("count^count", "1"), ("2^count", "1"), ("SQRT(time^2)", "s"), ("SQRT(work*work)", "FLOP"),
        ("time+0", "s"), ("0+time", "s"), ("MAX(0,time)", "s"), ("MIN(time,time)", "s"), ("SUM(time,0,time)", "s"),
        ("ABS(-time)", "s"), ("ROUND(time,0)", "s"), ("ROUNDUP(time,count)", "s"), ("ROUNDDOWN(time,0)", "s"),
        ("LOG(count,2)", "1"), ("EXP(count)", "1"), ("IF(count>0,time,0)", "s"), ("IF(count,NA(),time)", "s"),
        ("IF(time>0,work,work)", "FLOP"), ('IF(kind="ring",1,0)', "1"), ("IF(kind<>kind,time,time)", "s"),
        ("IF(AND(time>0,NOT(count),OR(work<work,count)),1,0)", "1"), ("1-count", "1"),
        ("IF(count,kind,kind)", "text"), ("kind", "text"),
    ],
)  # fmt: skip
def test_the_unit_of_a_formula(text, unit):
    """A formula's unit follows from those of its names."""
    assert unit_of(parse(text), UNITS) == parse_unit(unit)


@pytest.mark.parametrize("text", ["0", "NA()", "-0", "IF(count,0,NA())", "0*time", "MAX(0,NA())"])
def test_zero_and_na_take_any_unit(text):
    """A literal 0 and N/A fit wherever a number does."""
    assert unit_of(parse(text), UNITS) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time+work", "units don't agree: time is s and work is FLOP at character 6"),
        ("time-1", "units don't agree: time is s and 1 is 1 at character 6"),
        ("1+work/weights", "units don't agree: 1 is 1 and work/weights is FLOP/byte at character 3"),
        ("MAX(0,time,peak)", "units don't agree: time is s and peak is FLOP/s/chip at character 12"),
        ("IF(count,time,count)", "units don't agree: time is s and count is 1 at character 15"),
        ("IF(time>count,1,0)", "units don't agree: time is s and count is 1 at character 9"),
        ("IF(kind=count,1,0)", "units don't agree: kind is text and count is 1 at character 9"),
        ('IF(time="s",1,0)', 'units don\'t agree: time is s and "s" is text at character 9'),
        ("IF(kind<kind,1,0)", "text is compared with = or <> alone, not < at character 4"),
        ("IF(kind,1,0)", "kind is text, not a number at character 4"),
        ("IF(time,1,0)", "the condition time must have unit 1, not s at character 4"),
        ("IF(AND(count,time),1,0)", "the condition time must have unit 1, not s at character 14"),
        ("IF(NOT(work),1,0)", "the condition work must have unit 1, not FLOP at character 8"),
        ("kind+kind", "kind is text, not a number at character 1"),
        ("-kind", "kind is text, not a number at character 2"),
        ("count*kind", "kind is text, not a number at character 7"),
        ("MIN(kind,kind)", "kind is text, not a number at character 5"),
        ("ABS(kind)", "kind is text, not a number at character 5"),
        ("ROUND(time,time)", "the number of digits time must have unit 1, not s at character 12"),
        ("LOG(work,2)", "LOG's argument work must have unit 1, not FLOP at character 5"),
        ("EXP(time)", "EXP's argument time must have unit 1, not s at character 5"),
        ("count^time", "the exponent time must have unit 1, not s at character 7"),
        ("time^count", "time is s: only a whole literal can be its exponent at character 6"),
        ("time^0.5", "time is s: only a whole literal can be its exponent at character 6"),
        ("SQRT(time)", "time is s, which has no square root at character 6"),
    ],
)
def test_units_that_do_not_agree(text, message):
    """Each disagreement names both sides, their units and the character."""
    with pytest.raises(FormulaError) as caught:
        unit_of(parse(text), UNITS)
    assert str(caught.value) == message


def test_bits_and_bytes_never_meet():
    """Nothing converts: bits, bytes, hours and seconds stay apart until a factor row joins them."""
    units = {"bits": parse_unit("bit"), "bytes_held": parse_unit("byte"), "bits_per_byte": parse_unit("bit/byte")}
    with pytest.raises(FormulaError, match="units don't agree"):
        unit_of(parse("bits+bytes_held"), units)
    assert unit_of(parse("bits+bytes_held*bits_per_byte"), units) == parse_unit("bit")


def test_one_and_text_are_units_apart():
    """A number without a unit is no text."""
    assert ONE != TEXT
    assert str(ONE) == "1"
