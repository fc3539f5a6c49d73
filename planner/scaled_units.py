"""Units as people write them, converted to a template's unit: `ms` and `days` to s, `GB/s` to byte/s, `%` to 1.

A scaled unit is written like a template's unit, and each symbol may have a prefix: k, M, G, T, P, E (powers of 1,000),
Ki to Ei (powers of 1,024; for bytes, bits, tokens and plain numbers), m, u, n and p for s, W and USD. `b` is a bit, `B`
a byte, `FLOPS` and `OPS` are FLOP/s. Counted things such as tokens, requests and steps have the unit 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from planner.errors import nearest

Powers = tuple[tuple[str, int], ...]  # (SI symbol, power) sorted; () is a plain number
_DAY = 86400
_SYMBOLS: dict[str, tuple[dict[str, int], Fraction]] = {
    name: (powers, Fraction(size))
    for names, powers, size in (
        ("1 token tokens tok query queries request requests req step steps sample samples sequence sequences"
         " param params parameter parameters", {}, 1),
        ("%", {}, Fraction(1, 100)),
        ("byte bytes B", {"byte": 1}, 1), ("bit bits b", {"byte": 1}, Fraction(1, 8)),
        ("Bps", {"byte": 1, "s": -1}, 1), ("bps", {"byte": 1, "s": -1}, Fraction(1, 8)),
        ("FLOP FLOPs", {"FLOP": 1}, 1), ("FLOPS OPS", {"FLOP": 1, "s": -1}, 1), ("USD $", {"USD": 1}, 1),
        ("W", {"W": 1}, 1), ("J", {"W": 1, "s": 1}, 1), ("Wh", {"W": 1, "s": 1}, 3600),
        ("chip chips GPU GPUs gpu gpus TPU TPUs tpu tpus", {"chip": 1}, 1), ("Hz", {"s": -1}, 1),
        ("s sec second seconds", {"s": 1}, 1), ("min minute minutes", {"s": 1}, 60), ("h hour hours", {"s": 1}, 3600),
        ("d day days", {"s": 1}, _DAY), ("week weeks", {"s": 1}, 7 * _DAY),
        ("month months", {"s": 1}, Fraction("365.25") * _DAY / 12), ("year years", {"s": 1}, Fraction("365.25") * _DAY),
    )
    for name in names.split()
}  # fmt: skip
_Scales = dict[str, int | Fraction]
_LARGE: _Scales = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_SMALL: _Scales = {
    prefix: Fraction(1, size)
    for prefixes, size in (("m", 10**3), ("u\u00b5\u03bc", 10**6), ("n", 10**9), ("p", 10**12))
    for prefix in prefixes
}
_BINARY: _Scales = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_WORDS: _Scales = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES = _LARGE | _BINARY | _WORDS  # these may be used alone: 8k, 8Ki, 2 million
_BEARERS = (  # the symbols that may have each prefix
    ("B bytes byte Bps b bits bit bps tokens token tok", _LARGE | _BINARY),
    ("FLOPs FLOP FLOPS OPS Hz", _LARGE),
    ("s W J Wh USD $", _LARGE | _SMALL),
)
_KNOWN: dict[str, tuple[dict[str, int], Fraction]] = (
    _SYMBOLS
    | {scale: ({}, Fraction(size)) for scale, size in _SCALES.items()}
    | {
        prefix + name: (_SYMBOLS[name][0], _SYMBOLS[name][1] * scale)
        for names, prefixes in _BEARERS
        for name in names.split()
        for prefix, scale in prefixes.items()
    }
)


@lru_cache(maxsize=512)
def factor(scaled: str, unit: str) -> float:
    """The factor from a `scaled` unit to a template's `unit`: 1e-3 for `ms` and `s`, 3600 for `h` and `s`.

    A quantity per chip may omit /chip: `GB` for byte/chip. Raises ValueError for an unknown unit, or one of another
    quantity than `unit`.
    """
    number, powers = parsed(scaled)
    return float(number * converted(powers, unit, scaled))


def is_unit(text: str) -> bool:
    """Whether a text is a known unit."""
    return all(_is_known(piece.strip()) for piece in re.split(r"[*/]", text.strip()))


def _is_known(piece: str) -> bool:
    """Whether one symbol, with its prefix or number word, is known. Its error has no remedy."""
    word, _, rest = piece.partition(" ")
    return _is_known(rest.strip()) if rest and word in _SCALES else piece in _KNOWN


def is_scale(text: str) -> bool:
    """Whether a text is a mere multiplier for things counted: `k`, `million`."""
    return text in _SCALES


def converted(powers: Powers, unit: str, said: str) -> Fraction:
    """The factor from an SI unit with these `powers` to a template's `unit`.

    `said` is its original spelling, for errors. Raises ValueError if it is of another quantity.
    """
    size, wanted = parsed(unit)
    if "chip" not in dict(powers):
        wanted = tuple(pair for pair in wanted if pair[0] != "chip")
    if powers != wanted:
        what = "a plain number" if unit == "1" else f"counted in {unit}"
        raise ValueError(f"{said} is no unit of what is {what}")
    return 1 / size


@lru_cache(maxsize=512)
def parsed(text: str) -> tuple[Fraction, Powers]:
    """A unit as its factor to SI and the powers of its symbols. Raises ValueError for an unknown one."""
    number, sign = Fraction(1), 1
    powers: Powers = ()
    for index, piece in enumerate(re.split(r"([*/])", text.strip())):
        if index % 2:
            sign = 1 if piece == "*" else -1
            continue
        scale, symbols = _piece(piece.strip(), text)
        number *= scale**sign
        powers = combined(powers, symbols.items(), sign)
    return number, powers


def combined(left: Powers, right: Iterable[tuple[str, int]], sign: int) -> Powers:
    """The powers of a product, or of a quotient if `sign` is -1."""
    powers = dict(left)
    for symbol, power in right:
        powers[symbol] = powers.get(symbol, 0) + sign * power
    return tuple(sorted((symbol, power) for symbol, power in powers.items() if power))


def _piece(piece: str, text: str) -> tuple[Fraction, dict[str, int]]:
    """One symbol with its prefix or number word, as a factor to SI and the powers."""
    word, _, rest = piece.partition(" ")
    if rest and word in _SCALES:  # million USD, k tokens
        scale, symbols = _piece(rest.strip(), text)
        return _SCALES[word] * scale, symbols
    if piece not in _KNOWN:
        within = "" if piece == text.strip() else f" in {text!r}"
        offered = [name for name in _KNOWN if not (name.endswith("b") or name.startswith("K"))]  # gb means GB, not Gb
        raise ValueError(f"unknown unit {piece!r}{within}; {nearest(piece, offered)}")
    symbols, scale = _KNOWN[piece]
    return scale, symbols
