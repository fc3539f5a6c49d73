"""A number as a report shows it: scaled to its unit, with as many digits as a reader can use."""

from __future__ import annotations

from planner.xlsx.cellvalue import Value

DIGITS = 4  # significant ones of a number that is scaled or fractional
EXACT = 1e15  # whole counts below it are shown to the digit
_STEPS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_SCALED = {"byte": "B", "byte/chip": "B/chip", "byte/s": "B/s", "byte/s/chip": "B/s/chip", "FLOP": "FLOP",
           "FLOP/s": "FLOP/s", "FLOP/s/chip": "FLOP/s/chip"}  # fmt: skip
_NAMES = {"1": "", "text": "", "chip": "chips", "1/s": "/s", "1/s/chip": "/s per chip", "1/chip": "per chip"}
PERCENT = "%"
LONG, SECONDS_OF_A_DAY = 1e5, 86400.0  # seconds from which days say more


def shown(value: Value, unit: str) -> str:
    """A cell's value with its unit: `113.5 GB`, `8.581 ms`, `70,553,706,496`, `N/A`; a text as it is."""
    if value is None or not isinstance(value, (int, float, str)):
        return "N/A"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    number, suffix = _parts(float(value), unit)
    return f"{number}\N{NO-BREAK SPACE}{suffix}" if suffix and suffix != PERCENT else f"{number}{suffix}"


def unit_name(unit: str) -> str:
    """A unit as a heading has it: blank for a count or a text."""
    return "" if unit in ("1", "text") else _NAMES.get(unit, unit)


def _parts(value: float, unit: str) -> tuple[str, str]:
    if unit in _SCALED:
        return _scaled(value, _SCALED[unit])
    if unit == "s":
        return _seconds(value)
    if unit == PERCENT:
        return f"{value * 100:.1f}", PERCENT
    if unit.startswith("USD"):
        return (f"{value:,.2f}" if abs(value) >= 1000 else digits(value)), unit
    suffix = "chip" if unit == "chip" and value == 1 else _NAMES.get(unit, unit)
    return digits(value), suffix


def digits(value: float) -> str:
    """A plain number: whole ones to the digit, others to four significant digits and never fewer than the units.

    Noughts at the end are left away only where the number has no further digits.
    """
    if value == int(value) and abs(value) < EXACT:
        return f"{int(value):,}"
    if abs(value) >= 10 ** (DIGITS - 1):
        return f"{value:,.0f}" if abs(value) < EXACT else f"{value:.{DIGITS - 1}e}"
    if abs(value) < 1e-4:
        return f"{value:.{DIGITS - 1}e}"
    short = f"{value:.{DIGITS}g}"
    return short if float(short) == value or abs(value) < 1 else significant(value)


def _scaled(value: float, unit: str) -> tuple[str, str]:
    for factor, prefix in _STEPS:
        if abs(value) >= factor:
            return significant(value / factor), prefix + unit
    return digits(value), unit


def _seconds(value: float) -> tuple[str, str]:
    if value == 0:
        return "0", "s"
    if abs(value) >= LONG:
        return digits(value), f"s ({significant(value / SECONDS_OF_A_DAY)} days)"
    factor, prefix = next(((factor, prefix) for factor, prefix in _SMALL if abs(value) >= factor), _SMALL[-1])
    return significant(value / factor), f"{prefix}s"


def significant(value: float) -> str:
    """Four significant digits without an exponent: `113.5`, `8.581`, `1,234`."""
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, DIGITS - whole)}f}"
