"""Excel's arithmetic over arrays of float64, where NaN is N/A and text is a code.

What spreadsheets do and plain floating point does not: N/A propagates through comparisons, IF, MIN, AND and OR;
no other error value exists (a division by zero or an overflow is N/A); numbers that differ by less than
`EQUAL`, relative, compare equal; rounding takes a number within `SNAP` of a whole one for that, so that
ROUNDUP(LOG(2^29,2),0) is 29.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # a numpy or a JAX array: neither types the other
EQUAL = 2.0**-48  # as LibreOffice compares
SNAP = 5e-15  # spreadsheets round to 15 significant digits before they cut
LARGE = 256  # array size from which it is checked before being copied
WHOLE = 2.0**52  # float64 has no fractions from here on


class Arithmetic:
    """The operators and functions of the grammar over one array library (`numpy` or `jax.numpy`)."""

    def __init__(self, xp: ModuleType) -> None:
        self.xp = xp
        self.functions: dict[str, Callable[..., Array]] = {
            "MIN": functools.partial(self._fold, xp.minimum), "MAX": functools.partial(self._fold, xp.maximum),
            "SUM": functools.partial(self._fold, self.add), "IF": self.choose, "AND": self.every, "OR": self.some,
            "NOT": lambda a: self._known(1.0 - self._truth(a), a), "ROUND": self.round,
            "ROUNDUP": self.round_up, "ROUNDDOWN": self.round_down, "SQRT": lambda a: self._finite(xp.sqrt(a)),
            "LOG": self.log, "EXP": lambda a: self._finite(xp.exp(a)), "ABS": xp.abs, "NA": lambda: xp.nan,
        }  # fmt: skip
        self.operators: dict[str, Callable[[Array, Array], Array]] = {
            "+": self.add,
            "-": lambda a, b: self._finite(a - b),
            "*": lambda a, b: self._finite(a * b),
            "/": self.divide,
            "^": self.power,
            "=": lambda a, b: self._known(self._equal(a, b), a, b),
            "<>": lambda a, b: self._known(~self._equal(a, b), a, b),
            "<": lambda a, b: self._known((a < b) & ~self._equal(a, b), a, b),
            ">": lambda a, b: self._known((a > b) & ~self._equal(a, b), a, b),
            "<=": lambda a, b: self._known((a < b) | self._equal(a, b), a, b),
            ">=": lambda a, b: self._known((a > b) | self._equal(a, b), a, b),
        }

    def add(self, a: Array, b: Array) -> Array:
        return self._finite(a + b)

    def divide(self, a: Array, b: Array) -> Array:
        return self._finite(a / b)

    def power(self, a: Array, b: Array) -> Array:
        """a^b; N/A if either is (numpy's 1**nan is 1), and for 0^0 and a root of a negative number."""
        result = self._finite(self.xp.power(a + 0.0, b + 0.0))
        return self._known(self.xp.where((a == 0) & (b <= 0), self.xp.nan, result), a, b)

    def log(self, a: Array, base: Array) -> Array:
        """The logarithm; exact for powers of 2 and 10 in those bases, as in spreadsheets."""
        xp = self.xp
        a, base = xp.where(a > 0, a, xp.nan), xp.where(base > 0, base, xp.nan)
        general = xp.log(a) / xp.where(base == 1, xp.nan, xp.log(base))
        return self._finite(xp.where(base == 2, xp.log2(a), xp.where(base == 10, xp.log10(a), general)))

    def choose(self, condition: Array, then: Array, other: Array) -> Array:
        """IF: the branch not taken may be N/A; if the condition is N/A, so is the result."""
        return self._known(self.xp.where(condition != 0, then, other), condition)

    def every(self, *conditions: Array) -> Array:
        return self._known(functools.reduce(lambda a, b: a * b, map(self._truth, conditions)), *conditions)

    def some(self, *conditions: Array) -> Array:
        return self._known(functools.reduce(self.xp.maximum, map(self._truth, conditions)), *conditions)

    def round(self, a: Array, digits: Array) -> Array:
        """Round half away from zero."""
        return self._rounded(a, digits, lambda scaled: self.xp.floor(self._snapped(scaled + 0.5)))

    def round_up(self, a: Array, digits: Array) -> Array:
        """Round away from zero."""
        return self._rounded(a, digits, lambda scaled: self.xp.ceil(self._snapped(scaled)))

    def round_down(self, a: Array, digits: Array) -> Array:
        """Round towards zero."""
        return self._rounded(a, digits, lambda scaled: self.xp.floor(self._snapped(scaled)))

    def _rounded(self, a: Array, digits: Array, whole: Callable[[Array], Array]) -> Array:
        xp = self.xp
        digits = xp.trunc(digits + 0.0)
        scale = xp.power(10.0, xp.abs(digits))
        magnitude = xp.abs(a)
        scaled = xp.where(digits < 0, magnitude / scale, magnitude * scale)
        rounded = whole(scaled)
        back = xp.sign(a) * xp.where(digits < 0, rounded * scale, rounded / scale)
        return self._known(self._finite(xp.where(scaled >= WHOLE, a, back)), digits)

    def _snapped(self, a: Array) -> Array:
        near = self.xp.rint(a)
        return self.xp.where(self.xp.abs(a - near) <= SNAP * a, near, a)

    def _fold(self, operator: Callable[[Array, Array], Array], *values: Array) -> Array:
        return functools.reduce(operator, values)

    def _equal(self, a: Array, b: Array) -> Array:
        apart = abs(a - b)
        return (apart <= EQUAL * abs(a)) | (apart <= EQUAL * abs(b))

    def _truth(self, a: Array) -> Array:
        return self.xp.where(a != 0, 1.0, 0.0)

    def _finite(self, a: Array) -> Array:
        """The numbers with infinities replaced by NaN; 0 times an infinity is NaN."""
        return a if self._large(a) and np.isfinite(a).all() else a + 0.0 * a

    def _large(self, a: Array) -> bool:
        """Whether an array is so large that finding out first whether an operation changes it saves time."""
        return self.xp is np and getattr(a, "size", 0) > LARGE

    def _known(self, result: Array, *operands: Array) -> Array:
        """The result as float, N/A wherever an operand is."""
        for operand in operands:
            result = result + 0.0 * operand  # of single numbers, which most plans have, a fifth of the time of `where`
        return result
