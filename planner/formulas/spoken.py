"""Numbers as people say them, three digits long: `8.6 ms`, `26.7 days`, `41 %`, `$22 million`, `45.2 GB`."""

from __future__ import annotations

import math

PERCENT = "%"
DIGITS = 3
_TIMES = (
    (1000 * 86400, 365.25 * 86400, "years"), (2 * 86400, 86400, "days"), (7200, 3600, "h"), (120, 60, "min"),
    (1, 1, "s"), (1e-3, 1e-3, "ms"), (1e-6, 1e-6, "us"),
)  # fmt: skip
_MONEY = ((1e9, " billion"), (1e6, " million"))
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_UNITS = {"1": "", "1/s": "", "chip": "chips"}


def spoken(value: float | None, unit: str, like: float | None = None) -> str:
    """A number with its unit; N/A for None. A share is said in percent where its `unit` is `%`.

    `like` is a number beside which it stands: it is said in days where that is said in days.
    """
    if value is None:
        return "N/A"
    size = abs(like) if like else abs(value)
    if unit == "s":
        if value == 0:
            return "0 s"
        _, factor, word = next((step for step in _TIMES if size >= step[0]), (0, 1e-9, "ns"))
        return f"{rounded(value / factor)} {word}"
    if unit == PERCENT:
        return f"{rounded(100 * value)} %"
    if unit == "USD":
        factor, word = next(((factor, word) for factor, word in _MONEY if size >= factor), (1.0, ""))
        return f"${_money(value / factor) if factor == 1 else rounded(value / factor)}{word}"
    if unit.startswith("byte"):
        factor, word = next(((factor, word) for factor, word in _BYTES if size >= factor), (1.0, "bytes"))
        return f"{rounded(value / factor)} {word}"
    return f"{rounded(value)} {_UNITS.get(unit, unit)}".rstrip()


def between(low: float | None, high: float | None, unit: str, like: float | None = None) -> str:
    """A range: `7.5 s to 10.2 s`; N/A where an end is."""
    if low is None or high is None:
        return "N/A"
    return f"{spoken(low, unit, like)} to {spoken(high, unit, like)}"


def rounded(value: float) -> str:
    """Three significant digits and no exponent: `8.61`, `48,700`, `0.0123`; noughts at the end are kept."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    near = round(value, places)
    places = DIGITS - 1 - math.floor(math.log10(abs(near)))  # 9.999 is 10.0
    return f"{near:,.{max(0, places)}f}"


def _money(value: float) -> str:
    """Cents where they count: `0.0123`, `1.43`, `10.80`, `1,430`."""
    return rounded(value) if abs(value) < 1 or abs(value) >= 100 else f"{value:,.2f}"
