"""Formats numbers with their units for readers, and abbreviates long lists of names.

`spoken` uses three digits and everyday units: `8.61 ms`, `26.7 days`, `41.0 %`, `$22.0 million`. `shown` is for tables,
with four digits and whole numbers in full: `8.581 ms`, `113.5 GB`, `70,553,706,496`. A negligibly short time is `under
1 ns` in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

PERCENT = "%"
DIGITS = 3  # significant digits in sentences
_TIMES = (
    (1000 * 86400, 365.25 * 86400, "years"),
    (2 * 86400, 86400, "days"),
    (7200, 3600, "h"),
    (120, 60, "min"),
    (1, 1, "s"),
    (1e-3, 1e-3, "ms"),
    (1e-6, 1e-6, "us"),
    (1e-9, 1e-9, "ns"),
    (0, 1e-12, "ps"),
)
NO_TIME = 1e-9  # s: a shorter time, a clock cycle or less, is shown as below this
_MONEY = ((1e9, " billion"), (1e6, " million"))
LEAST_SHARED, MOST_SHARED = 0.1, 1e4  # of numbers in a unit that suits another one
MOST_PLAIN = 1e7  # the same without a word for thousands or millions
LEAST_PART = 0.5  # the same of times in units that aren't decimal
UNDECIMAL = ("min", "h", "days", "years")
_UNITS = {"1": "", "1/s": "", "1/s/chip": "", "chip": "chips", "chip*h": "chip hours"}
SHOWN = 4  # significant digits of a scaled or fractional number in tables
EXACT_DIGITS = 7  # significant digits that distinguish close numbers
MOST = 15  # significant digits that a float represents exactly
EXACT = 1e15  # whole numbers below this are shown in full
_STEPS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALED = {
    "byte": "B",
    "byte/chip": "B/chip",
    "byte/s": "B/s",
    "byte/s/chip": "B/s/chip",
    "FLOP": "FLOP",
    "FLOP/s": "FLOP/s",
    "FLOP/s/chip": "FLOP/s/chip",
}
_NAMES = {
    "1": "",
    "text": "",
    "chip": "chips",
    "chip*h": "chip hours",
    "1/s": "/s",
    "1/s/chip": "/s per chip",
    "1/chip": "per chip",
}


def few(names: Sequence[str], most: int = 4) -> str:
    """At most `most` names, and the number of further ones: `a, b and 3 more`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def wanted_number(unit: str) -> str:
    """The words for a number to type: `a number in s`, or `a number` for counts."""
    return "a number" if unit in ("", "1", "chip") else f"a number in {unit}"


def cut(text: str, most: int) -> str:
    """A text cut to at most `most` characters, ending in three dots if cut."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def within(label: str) -> str:
    """A label as used within a sentence: with a lower-case first letter, except for abbreviations."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def where_goes(label: str, what: str = "") -> str:
    """The title of a time's breakdown, `Where the time of a step goes`.

    `what` qualifies the time, such as `expected `.
    """
    of = within(label)
    return f"Where the {what}{of} goes" if of.startswith("time ") else f"Where the {what}time of a {of} goes"


def spoken(value: float | None, unit: str, like: float | None = None) -> str:
    """A number with its unit; N/A for None. A fraction is shown in percent if its `unit` is `%`, whole chips in full.

    `like` is a number whose scale it shares: if that is shown in days, so is this, unless it would be a small part of
    a day or thousands of days.
    """
    if value is None:
        return "N/A"
    if unit == "s":
        if value == 0:
            return "0 s"
        if abs(value) < NO_TIME:
            return _no_time(value)
        factor, word = _scale(value, like, _TIMES)
        return f"{rounded(value / factor)} {word}"
    if unit == PERCENT:
        return f"{rounded(100 * value)} %"
    if unit == "USD":
        factor, word = _scale(value, like, [(factor, factor, word) for factor, word in (*_MONEY, (1.0, ""))])
        return f"${_money(value / factor) if factor == 1 else rounded(value / factor)}{word}"
    if unit.startswith("byte"):
        steps = [(factor, factor, f"{word}B") for factor, word in _STEPS]
        factor, word = _scale(value, like, [*steps, (0.0, 1.0, "bytes")])
        return f"{rounded(value / factor)} {word}"
    if unit == "chip" and value == int(value):
        return printed(value, unit)
    return f"{rounded(value)} {_UNITS.get(unit, unit)}".rstrip()


def _scale(value: float, like: float | None, steps: Sequence[tuple[float, float, str]]) -> tuple[float, str]:
    """The unit of a number, as its size and its name: that of `like`, if the number reads well in it, else its own.

    `steps` have the least number that takes a unit, the unit's size and its name, from the largest unit down.
    """
    own, shared = (
        next((step[1:] for step in steps if abs(size) >= step[0]), steps[-1][1:]) for size in (value, like or value)
    )
    least = LEAST_PART if shared[1] in UNDECIMAL else LEAST_SHARED
    most = MOST_SHARED if shared[1] else MOST_PLAIN
    reads_well = value == 0 or least <= abs(value / shared[0]) < most
    return shared if reads_well else own


def between(low: float | None, high: float | None, unit: str, like: float | None = None) -> str:
    """A range: `7.5 s to 10.2 s`; N/A if an end is."""
    if low is None or high is None:
        return "N/A"
    return f"{spoken(low, unit, like)} to {spoken(high, unit, like)}"


def percent(share: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """A fraction in percent with `digits` decimals: `9.6 %`, or signed `-8 %`, `+1,340 %`; N/A for None."""
    return "N/A" if share is None else f"{100 * share:{'+' if signed else ''},.{digits}f} %"


def rounded(value: float) -> str:
    """Three significant digits without an exponent: `8.61`, `48,700`, `0.0123`; trailing zeros are kept."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    near = round(value, places)
    places = DIGITS - 1 - math.floor(math.log10(abs(near)))  # 9.999 becomes 10.0
    return f"{near:,.{max(0, places)}f}"


def _money(value: float) -> str:
    """An amount with cents if they matter: `0.0123`, `1.43`, `10.80`, `1,430`."""
    return rounded(value) if abs(value) < 1 or abs(value) >= 100 else f"{value:,.2f}"


def shown(value: object, unit: str, figures: int = SHOWN) -> str:
    """A cell's value with its unit: `113.5 GB`, `8.581 ms`, `70,553,706,496`, `N/A`; a text unchanged.

    `figures` are the significant digits of a scaled or fractional number.
    """
    if value is None or not isinstance(value, (int, float, str)):
        return "N/A"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "s" and 0 < abs(value) < NO_TIME:
        return _no_time(value).replace(" ", "\N{NO-BREAK SPACE}")
    return _joined(float(value), unit, figures)


def _joined(value: float, unit: str, figures: int) -> str:
    """A number with its unit, with this number of significant digits."""
    number, suffix = _parts(value, unit, figures)
    if unit.startswith("USD"):
        return f"${number}{suffix}"
    return f"{number}\N{NO-BREAK SPACE}{suffix}" if suffix else number


def in_seven_digits(value: object, unit: str) -> str:
    """Like `shown` with seven digits and plain spaces, without trailing zeros: `30 ms`, `29.38081 ms`."""
    text = shown(value, unit, EXACT_DIGITS).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub(r"(\.[0-9]*?)0+(?![0-9e])", lambda found: found[1].removesuffix("."), text)


def printed(value: object, unit: str) -> str:
    """Like `shown` with plain spaces, for a terminal or a cell."""
    return shown(value, unit).replace("\N{NO-BREAK SPACE}", " ")


def apart(one: float, other: float, unit: str) -> tuple[str, str]:
    """Two numbers formatted like `shown`, with enough digits to distinguish them if they differ."""
    for figures in range(SHOWN, MOST + 1):
        (first, suffix), (second, another) = (_parts(value, unit, figures) for value in (one, other))
        pair = (first.replace(",", ""), second.replace(",", ""))
        if suffix != another:  # such as 999.99 us and 1.0000 ms
            pair = (f"{one:.{figures - 1}e}", f"{other:.{figures - 1}e}")
        if float(pair[0]) != float(pair[1]):
            said = _joined if suffix == another else shown  # two times under 1 ns have different texts
            return said(one, unit, figures), said(other, unit, figures)
    return shown(one, unit), shown(other, unit)


def _parts(value: float, unit: str, figures: int) -> tuple[str, str]:
    if unit in _SCALED:
        return _scaled(value, _SCALED[unit], figures)
    if unit == "s":
        return _seconds(value, figures)
    if unit == PERCENT:
        return f"{value * 100:.{1 + figures - SHOWN}f}", PERCENT
    if unit == "USD/W/h":
        return _parts(1000 * value, "USD/kWh", figures)
    if unit.startswith("USD"):
        factor, word = next(((factor, word) for factor, word in _MONEY if abs(value) >= factor), (1.0, ""))
        cents = 2 + figures - SHOWN
        number = significant(value / factor, figures) if word else f"{value:,.{cents}f}" if abs(value) >= 1 else ""
        return number or _digits(value, figures), f"{word}{unit.removeprefix('USD')}"
    suffix = "chip" if unit == "chip" and value == 1 else _NAMES.get(unit, unit)
    return _digits(value, figures), suffix


def _digits(value: float, figures: int = SHOWN) -> str:
    """A plain number: whole ones in full, others with `figures` significant digits but no rounding before the point.

    Trailing zeros are dropped only if the number has no further digits.
    """
    if value == int(value) and abs(value) < EXACT:
        return f"{int(value):,}"
    if abs(value) >= EXACT or abs(value) < 1e-4:
        return f"{value:.{figures - 1}e}"
    short = f"{value:.{figures}g}"
    exact = "e" not in short and float(short) == value and abs(value) < 10 ** (SHOWN - 1)
    return short if exact or abs(value) < 1 else significant(value, figures)


def _scaled(value: float, unit: str, figures: int) -> tuple[str, str]:
    for factor, prefix in _STEPS:
        if abs(value) >= factor:
            return significant(value / factor, figures), prefix + unit
    return _digits(value, figures), unit


def _no_time(value: float) -> str:
    """The text for a negligible time or time difference."""
    return "under 1 ns" if value > 0 else "above -1 ns"


def _seconds(value: float, figures: int) -> tuple[str, str]:
    if value == 0:
        return "0", "s"
    _, factor, word = next(step for step in _TIMES if abs(value) >= step[0])
    return significant(value / factor, figures), word


def significant(value: float, figures: int) -> str:
    """`figures` significant digits, with an exponent only for very large numbers: `113.5`, `8.581`, `1,234`."""
    if abs(value) >= EXACT:
        return f"{value:.{figures - 1}e}"
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, figures - whole)}f}"
