"""A number as a report shows it: scaled to its unit, with as many digits as a reader can use."""

from __future__ import annotations

from planner.xlsx.cellvalue import Value

DIGITS = 4  # significant ones of a number that is scaled or fractional
MOST = 15  # of those that a float holds for certain
EXACT = 1e15  # whole counts below it are shown to the digit
_STEPS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SMALL = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_SCALED = {"byte": "B", "byte/chip": "B/chip", "byte/s": "B/s", "byte/s/chip": "B/s/chip", "FLOP": "FLOP",
           "FLOP/s": "FLOP/s", "FLOP/s/chip": "FLOP/s/chip"}  # fmt: skip
_NAMES = {"1": "", "text": "", "chip": "chips", "1/s": "/s", "1/s/chip": "/s per chip", "1/chip": "per chip"}
PERCENT = "%"
LONG, SECONDS_OF_A_DAY = 1e5, 86400.0  # seconds from which days say more


def shown(value: Value, unit: str, figures: int = DIGITS) -> str:
    """A cell's value with its unit: `113.5 GB`, `8.581 ms`, `70,553,706,496`, `N/A`; a text as it is.

    `figures` are the significant digits of a number that is scaled or fractional.
    """
    if value is None or not isinstance(value, (int, float, str)):
        return "N/A"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    number, suffix = _parts(float(value), unit, figures)
    return f"{number}\N{NO-BREAK SPACE}{suffix}" if suffix and suffix != PERCENT else f"{number}{suffix}"


def apart(one: float, other: float, unit: str) -> tuple[str, str]:
    """Two numbers as `shown` has them, with as many digits as it takes to tell them apart where they differ."""
    for figures in range(DIGITS, MOST + 1):
        (first, suffix), (second, another) = (_parts(value, unit, figures) for value in (one, other))
        pair = (first.replace(",", ""), second.replace(",", ""))
        if suffix != another:  # 999.99 us and 1.0000 ms
            pair = (f"{one:.{figures - 1}e}", f"{other:.{figures - 1}e}")
        if float(pair[0]) != float(pair[1]):
            return shown(one, unit, figures), shown(other, unit, figures)
    return shown(one, unit), shown(other, unit)


def _parts(value: float, unit: str, figures: int) -> tuple[str, str]:
    if unit in _SCALED:
        return _scaled(value, _SCALED[unit], figures)
    if unit == "s":
        return _seconds(value, figures)
    if unit == PERCENT:
        return f"{value * 100:.{1 + figures - DIGITS}f}", PERCENT
    if unit.startswith("USD"):
        return (f"{value:,.{2 + figures - DIGITS}f}" if abs(value) >= 1000 else digits(value, figures)), unit
    suffix = "chip" if unit == "chip" and value == 1 else _NAMES.get(unit, unit)
    return digits(value, figures), suffix


def digits(value: float, figures: int = DIGITS) -> str:
    """A plain number: whole ones to the digit, others to some significant digits and never fewer than the units.

    Noughts at the end are left away only where the number has no further digits.
    """
    if value == int(value) and abs(value) < EXACT:
        return f"{int(value):,}"
    if abs(value) >= EXACT or abs(value) < 1e-4:
        return f"{value:.{figures - 1}e}"
    short = f"{value:.{figures}g}"
    exact = "e" not in short and float(short) == value and abs(value) < 10 ** (DIGITS - 1)
    return short if exact or abs(value) < 1 else significant(value, figures)


def _scaled(value: float, unit: str, figures: int) -> tuple[str, str]:
    for factor, prefix in _STEPS:
        if abs(value) >= factor:
            return significant(value / factor, figures), prefix + unit
    return digits(value, figures), unit


def _seconds(value: float, figures: int) -> tuple[str, str]:
    if value == 0:
        return "0", "s"
    if abs(value) >= LONG:
        return digits(value, figures), f"s ({significant(value / SECONDS_OF_A_DAY)} days)"
    factor, prefix = next(((factor, prefix) for factor, prefix in _SMALL if abs(value) >= factor), _SMALL[-1])
    return significant(value / factor, figures), f"{prefix}s"


def significant(value: float, figures: int = DIGITS) -> str:
    """Some significant digits without an exponent: `113.5`, `8.581`, `1,234`."""
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, figures - whole)}f}"
