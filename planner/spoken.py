"""Numbers with their units as people read them, and the first of a long list of names.

`spoken` says them in three digits and in the words of speech: `8.61 ms`, `26.7 days`, `41.0 %`, `$22.0 million`.
`shown` is for tables, with four digits and whole numbers to the last: `8.581 ms`, `113.5 GB`, `70,553,706,496`.
A time so short that nobody waits for it is `under 1 ns` in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

PERCENT = "%"
DIGITS = 3  # of a number that is said
_TIMES = (
    (1000 * 86400, 365.25 * 86400, "years"), (2 * 86400, 86400, "days"), (7200, 3600, "h"), (120, 60, "min"),
    (1, 1, "s"), (1e-3, 1e-3, "ms"), (1e-6, 1e-6, "us"), (1e-9, 1e-9, "ns"), (0, 1e-12, "ps"),
)  # fmt: skip
NO_TIME = 1e-9  # s: a shorter one is said to be under it, a clock cycle or less
_MONEY = ((1e9, " billion"), (1e6, " million"))
_UNITS = {"1": "", "1/s": "", "1/s/chip": "", "chip": "chips"}
SHOWN = 4  # significant digits of a number that is shown scaled or fractional
TOLD = 7  # significant digits of a number that is told from one beside it
MOST = 15  # significant digits that a float holds for certain
EXACT = 1e15  # whole counts below it are shown to the digit
_STEPS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALED = {"byte": "B", "byte/chip": "B/chip", "byte/s": "B/s", "byte/s/chip": "B/s/chip", "FLOP": "FLOP",
           "FLOP/s": "FLOP/s", "FLOP/s/chip": "FLOP/s/chip"}  # fmt: skip
_NAMES = {"1": "", "text": "", "chip": "chips", "1/s": "/s", "1/s/chip": "/s per chip", "1/chip": "per chip"}


def few(names: Sequence[str], most: int = 4) -> str:
    """The first names, at most `most`, and how many more there are: `a, b and 3 more`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def wanted_number(unit: str) -> str:
    """What is wanted of a person: `a number in s`, or `a number` of what is counted."""
    return "a number" if unit in ("", "1", "chip") else f"a number in {unit}"


def cut(text: str, most: int) -> str:
    """A text of at most so many characters: of a longer one its beginning, and three dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def within(label: str) -> str:
    """A label within a sentence: a small first letter, but for an abbreviation."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def where_goes(label: str, what: str = "") -> str:
    """The title of the parts of a time: `Where the time of a step goes`; `what` is said of the time, as `expected `."""
    of = within(label)
    return f"Where the {what}{of} goes" if of.startswith("time ") else f"Where the {what}time of a {of} goes"


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
        if abs(value) < NO_TIME:
            return _no_time(value)
        _, factor, word = next(step for step in _TIMES if size >= step[0])
        return f"{rounded(value / factor)} {word}"
    if unit == PERCENT:
        return f"{rounded(100 * value)} %"
    if unit == "USD":
        factor, word = next(((factor, word) for factor, word in _MONEY if size >= factor), (1.0, ""))
        return f"${_money(value / factor) if factor == 1 else rounded(value / factor)}{word}"
    if unit.startswith("byte"):
        factor, word = next(((factor, f"{word}B") for factor, word in _STEPS if size >= factor), (1.0, "bytes"))
        return f"{rounded(value / factor)} {word}"
    return f"{rounded(value)} {_UNITS.get(unit, unit)}".rstrip()


def between(low: float | None, high: float | None, unit: str, like: float | None = None) -> str:
    """A range: `7.5 s to 10.2 s`; N/A where an end is."""
    if low is None or high is None:
        return "N/A"
    return f"{spoken(low, unit, like)} to {spoken(high, unit, like)}"


def percent(share: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """A share, or what a number is off by, with so many digits behind the point: `9.6 %`, `-8 %`; N/A for None."""
    return "N/A" if share is None else f"{100 * share:{'+' if signed else ''}.{digits}f} %"


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


def shown(value: object, unit: str, figures: int = SHOWN) -> str:
    """A cell's value with its unit: `113.5 GB`, `8.581 ms`, `70,553,706,496`, `N/A`; a text as it is.

    `figures` are the significant digits of a number that is scaled or fractional.
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
    """A number with its unit, in so many digits."""
    number, suffix = _parts(value, unit, figures)
    if unit.startswith("USD"):
        return f"${number}{suffix}"
    return f"{number}\N{NO-BREAK SPACE}{suffix}" if suffix else number


def told(value: object, unit: str) -> str:
    """As `shown`, in seven digits with plain blanks, and no noughts at the end of a number: `30 ms`, `29.38081 ms`."""
    text = shown(value, unit, TOLD).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub(r"(\.[0-9]*?)0+(?![0-9e])", lambda found: found[1].removesuffix("."), text)


def printed(value: object, unit: str) -> str:
    """The same for a terminal or a cell: with plain blanks."""
    return shown(value, unit).replace("\N{NO-BREAK SPACE}", " ")


def apart(one: float, other: float, unit: str) -> tuple[str, str]:
    """Two numbers as `shown` has them, with as many digits as it takes to tell them apart where they differ."""
    for figures in range(SHOWN, MOST + 1):
        (first, suffix), (second, another) = (_parts(value, unit, figures) for value in (one, other))
        pair = (first.replace(",", ""), second.replace(",", ""))
        if suffix != another:  # 999.99 us and 1.0000 ms
            pair = (f"{one:.{figures - 1}e}", f"{other:.{figures - 1}e}")
        if float(pair[0]) != float(pair[1]):
            said = _joined if suffix == another else shown  # of two times under 1 ns each has its own
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
        return number or digits(value, figures), f"{word}{unit.removeprefix('USD')}"
    suffix = "chip" if unit == "chip" and value == 1 else _NAMES.get(unit, unit)
    return digits(value, figures), suffix


def digits(value: float, figures: int = SHOWN) -> str:
    """A plain number: whole ones to the digit, others to some significant digits and never fewer than the units.

    Noughts at the end are left away only where the number has no further digits.
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
    return digits(value, figures), unit


def _no_time(value: float) -> str:
    """A time, or a difference of two, that is as good as none."""
    return "under 1 ns" if value > 0 else "above -1 ns"


def _seconds(value: float, figures: int) -> tuple[str, str]:
    if value == 0:
        return "0", "s"
    _, factor, word = next(step for step in _TIMES if abs(value) >= step[0])
    return significant(value / factor, figures), word


def significant(value: float, figures: int = SHOWN) -> str:
    """Some significant digits, without an exponent unless they end far before the units: `113.5`, `8.581`, `1,234`."""
    if abs(value) >= EXACT:
        return f"{value:.{figures - 1}e}"
    whole = len(str(int(abs(value))))
    return f"{value:,.{max(0, figures - whole)}f}"
