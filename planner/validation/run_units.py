"""The unit that a run's time is written in, as a factor to the unit of the template's row: 0.001 of `ms` for `s`."""

from __future__ import annotations

import re

from planner.errors import UserError

SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "d": 86400.0, "day": 86400.0}
PREFIXES = {"n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3}
LARGER = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
COUNTED = ("1", "token", "tok", "query", "queries", "request", "req", "step", "sample", "sequence")
OTHERS = {"USD": "USD", "chip": "chip", "B": "byte", "byte": "byte", "FLOP": "FLOP"}
_SECOND = re.compile("([nu\u00b5\u03bcm])s")
_LARGE = re.compile("([kKMGTP])(B|byte|FLOP|USD|tok|token)")


def factor(text: str, unit: str) -> float:
    """What a number in the unit `text` is multiplied with to be in a template's `unit`; 1 where `text` is blank.

    Raises UserError for an unknown unit, and for one of another kind of quantity.
    """
    if not text:
        return 1.0
    given, powers = _parsed(text)
    wanted, others = _parsed(unit)
    if powers != others:
        raise UserError(f"the row is in {unit}, which {text!r} is no unit of")
    return given / wanted


def _parsed(text: str) -> tuple[float, dict[str, int]]:
    """A unit as its factor to seconds, bytes, FLOP and USD, and the power of each of those."""
    number, powers, sign = 1.0, dict[str, int](), 1
    for piece in re.split(r"([*/])", text.replace(" ", "")):
        if piece in ("*", "/"):
            sign = 1 if piece == "*" else -1
            continue
        size, symbol = _piece(piece)
        number *= size**sign
        if symbol:
            powers[symbol] = powers.get(symbol, 0) + sign
    return number, {symbol: power for symbol, power in powers.items() if power}


def _piece(piece: str) -> tuple[float, str]:
    """One symbol of a unit: its size, and what it is a unit of."""
    if piece == "%":
        return 0.01, ""
    singular = piece if len(piece) < 3 else piece.removesuffix("s")
    for name in (piece, singular):
        if name in COUNTED:
            return 1.0, ""
        if name in SECONDS:
            return SECONDS[name], "s"
        if name in OTHERS:
            return 1.0, OTHERS[name]
    if found := _SECOND.fullmatch(piece):
        return PREFIXES[found[1]], "s"
    if found := _LARGE.fullmatch(singular):
        symbol = OTHERS.get(found[2], "")
        return LARGER[found[1]], symbol
    raise UserError(f"unknown unit {piece!r}: write s, ms, us, h, tokens/s, % or USD")
