"""Units as people say them, each a factor of a template's unit: `ms` and `days` of s, `GB/s` of byte/s, `%` of 1.

A scaled unit is written as a template's unit is, and each symbol may bear a prefix: k, M, G, T, P, E (thousands), Ki to
Ei (1,024 times; of bytes, bits and plain numbers), m, u, n and p of s, W and USD. `b` is a bit, `B` a byte.
"""

from __future__ import annotations

import re
from functools import lru_cache

from planner.errors import nearest

_SYMBOLS: dict[str, tuple[str, float]] = {
    "byte": ("byte", 1), "bytes": ("byte", 1), "B": ("byte", 1), "bit": ("byte", 0.125), "bits": ("byte", 0.125),
    "b": ("byte", 0.125), "FLOP": ("FLOP", 1), "FLOPs": ("FLOP", 1), "USD": ("USD", 1), "$": ("USD", 1),
    "W": ("W", 1), "chip": ("chip", 1), "chips": ("chip", 1), "1": ("", 1), "%": ("", 0.01),
    "token": ("", 1), "tokens": ("", 1), "s": ("s", 1), "min": ("s", 60), "h": ("s", 3600), "hour": ("s", 3600),
    "hours": ("s", 3600), "day": ("s", 86400), "days": ("s", 86400), "week": ("s", 7 * 86400),
    "weeks": ("s", 7 * 86400), "year": ("s", 365.25 * 86400), "years": ("s", 365.25 * 86400),
}  # fmt: skip
_LARGE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_SMALL = {"m": 1e-3, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "n": 1e-9, "p": 1e-12}
_WORDS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_PREFIXED = ("B", "bytes", "byte", "b", "bits", "bit", "FLOPs", "FLOP", "s", "W", "USD", "$")


def factor(scaled: str, unit: str) -> float:
    """How many of a template's `unit` one of a `scaled` unit is: 1e-3 for `ms` and `s`, 3600 for `h` and `s`.

    What is of one chip may leave /chip away: `GB` for byte/chip. Raises ValueError for a unit that isn't known, or that
    is of something else than `unit`.
    """
    number, powers = _parsed(scaled)
    wanted, known = _parsed(unit)
    if "chip" not in dict(powers):
        known = tuple(pair for pair in known if pair[0] != "chip")
    if powers != known:
        raise ValueError(f"{scaled} is no unit of what is counted in {unit}")
    return number / wanted


def is_unit(text: str) -> bool:
    """Whether a text is a unit that people say."""
    try:
        _parsed(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=512)
def _parsed(text: str) -> tuple[float, tuple[tuple[str, int], ...]]:
    """A unit as its factor of SI, and the sorted powers of its symbols."""
    number, powers, sign = 1.0, dict[str, int](), 1
    for index, piece in enumerate(re.split(r"([*/])", text.strip())):
        if index % 2:
            sign = 1 if piece == "*" else -1
            continue
        scale, symbol = _piece(piece.strip(), text)
        number *= scale**sign
        if symbol:
            powers[symbol] = powers.get(symbol, 0) + sign
    return number, tuple(sorted((symbol, power) for symbol, power in powers.items() if power))


def _piece(piece: str, text: str) -> tuple[float, str]:
    """One symbol with its prefix, as a factor and the symbol of SI."""
    word, _, rest = piece.partition(" ")
    if word in _WORDS:  # million USD
        scale, symbol = _piece(rest.strip() or "1", text)
        return _WORDS[word] * scale, symbol
    if piece in _SYMBOLS:
        symbol, scale = _SYMBOLS[piece]
        return scale, symbol
    if piece in _LARGE or piece in _BINARY:  # a plain number: 8k, 8Ki
        return float((_LARGE | _BINARY)[piece]), ""
    for base in _PREFIXED:
        prefix = piece.removesuffix(base)
        prefixes = _LARGE | (
            _BINARY if _SYMBOLS[base][0] == "byte" else _SMALL if base in ("s", "W", "USD", "$") else {}
        )
        if prefix != piece and prefix in prefixes:
            symbol, scale = _SYMBOLS[base]
            return prefixes[prefix] * scale, symbol
    raise ValueError(f"unknown unit {piece!r} in {text!r}; {nearest(piece, _SYMBOLS)}")
