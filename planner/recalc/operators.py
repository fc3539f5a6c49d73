"""Excel's operators and functions over the values of cells, where NaN is N/A and None a blank cell.

They give what every spreadsheet gives, or raise `UnsureError`: for a text in arithmetic, any error but N/A, numbers
that are so nearly equal that engines differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan, sqrt
from sys import float_info

from planner.formulas.arrays import EQUAL
from planner.xlsx.cellvalue import Value

LARGEST = float_info.max
WHOLE = 1e15  # whole numbers below it are written with all their digits
WILD = "*?~"  # MATCH reads these as patterns
Function = Callable[..., Value]


class UnsureError(Exception):
    """What a formula gives is left to the engine."""


def number(value: Value) -> float:
    """A value as a number in arithmetic: a blank is 0, TRUE is 1. Raises UnsureError for a text."""
    if type(value) is float:
        return value
    if value is None:
        return 0.0
    if isinstance(value, (bool, int)):
        return float(value)
    raise UnsureError


def _sound(result: float) -> float:
    """A result that is a number or N/A. Raises UnsureError for one that is too large."""
    if -LARGEST <= result <= LARGEST or result != result:
        return result
    raise UnsureError


def add(one: Value, other: Value) -> float:
    """The sum."""
    return _sound(number(one) + number(other))


def subtract(one: Value, other: Value) -> float:
    """The difference."""
    return _sound(number(one) - number(other))


def multiply(one: Value, other: Value) -> float:
    """The product."""
    return _sound(number(one) * number(other))


def divide(one: Value, other: Value) -> float:
    """The quotient. Raises UnsureError for a division by zero."""
    top, bottom = number(one), number(other)
    if bottom == 0:
        raise UnsureError
    return _sound(top / bottom)


def power(one: Value, other: Value) -> float:
    """The power. Raises UnsureError where it is no real number."""
    base, exponent = number(one), number(other)
    if base != base or exponent != exponent:
        return nan
    if base < 0 or (base == 0 and exponent <= 0):
        raise UnsureError
    try:
        return _sound(base**exponent)
    except OverflowError:
        raise UnsureError from None


def joined(one: Value, other: Value) -> Value:
    """Two texts, one behind the other."""
    left, right = _text(one), _text(other)
    return nan if left is None or right is None else left + right


def _text(value: Value) -> str | None:
    """A value as text; None for N/A. Raises UnsureError for a number that programs might write differently."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        if value != value:
            return None
        if value.is_integer() and abs(value) < WHOLE:
            return str(int(value))
    raise UnsureError


def equal(one: Value, other: Value) -> Value:
    """Whether two values are equal, texts whatever their case; NaN where one is N/A."""
    if _is_na(one) or _is_na(other):
        return nan
    if isinstance(one, str) or isinstance(other, str):
        one, other = ("" if each is None else each for each in (one, other))
        if isinstance(one, str) and isinstance(other, str):
            return one.lower() == other.lower()
        if isinstance(one, bool) or isinstance(other, bool):
            raise UnsureError
        return False
    return _compared(one, other) == 0


def _is_na(value: Value) -> bool:
    return type(value) is float and value != value


def _compared(one: Value, other: Value) -> int:
    """-1, 0 or 1 for two numbers. Raises UnsureError where they are all but equal, and for anything else."""
    if isinstance(one, (bool, str)) or isinstance(other, (bool, str)):
        raise UnsureError
    left, right = number(one), number(other)
    if left == right:
        return 0
    if abs(left - right) <= 2 * EQUAL * max(abs(left), abs(right)):
        raise UnsureError
    return -1 if left < right else 1


def _ordering(holds: Callable[[int], bool]) -> Callable[[Value, Value], Value]:
    return lambda one, other: nan if _is_na(one) or _is_na(other) else holds(_compared(one, other))


def _different(one: Value, other: Value) -> Value:
    same = equal(one, other)
    return not same if isinstance(same, bool) else same


OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "^": power, "&": joined, "=": equal, "<>": _different,
    "<": _ordering(lambda sign: sign < 0), ">": _ordering(lambda sign: sign > 0),
    "<=": _ordering(lambda sign: sign <= 0), ">=": _ordering(lambda sign: sign >= 0),
}  # fmt: skip


def _truth(value: Value) -> bool | None:
    """A condition; None where it is N/A. Raises UnsureError for a text."""
    if isinstance(value, bool):
        return value
    known = number(value)
    return None if known != known else known != 0


def _if(condition: Function, then: Function, other: Function) -> Function:
    def chosen(row: object) -> Value:
        truth = _truth(condition(row))
        if truth is None:
            return nan
        return then(row) if truth else other(row)

    return chosen


def _iferror(value: Function, instead: Function) -> Function:
    def tried(row: object) -> Value:
        found = value(row)
        return instead(row) if _is_na(found) else found

    return tried


def _of_numbers(fold: Callable[[list[float]], float], *arguments: Function) -> Function:
    """A function of numbers, N/A if one is. Raises UnsureError for blanks and texts, which a reference skips."""

    def folded(row: object) -> Value:
        found = [argument(row) for argument in arguments]
        if any(type(value) is not float for value in found):
            raise UnsureError
        numbers = [number(value) for value in found]
        return nan if any(value != value for value in numbers) else _sound(fold(numbers))

    return folded


def _of_truths(fold: Callable[[list[bool]], bool], *arguments: Function) -> Function:
    def folded(row: object) -> Value:
        found = [argument(row) for argument in arguments]
        if any(value is None for value in found):
            raise UnsureError
        truths = [_truth(value) for value in found]
        return nan if None in truths else fold([bool(truth) for truth in truths])

    return folded


def _root(numbers: list[float]) -> float:
    if numbers[0] < 0:
        raise UnsureError
    return sqrt(numbers[0])


_MAKERS: dict[str, tuple[tuple[int, ...], Callable[..., Function]]] = {  # how many arguments, 0 for any
    "IF": ((3,), _if),
    "IFERROR": ((2,), _iferror),
    "NA": ((0,), lambda: lambda _: nan),
    "ISNA": ((1,), lambda value: lambda row: _is_na(value(row))),
    "NOT": ((1,), lambda value: _of_truths(lambda truths: not truths[0], value)),
    "AND": (tuple(range(1, 256)), lambda *values: _of_truths(all, *values)),
    "OR": (tuple(range(1, 256)), lambda *values: _of_truths(any, *values)),
    "MIN": (tuple(range(1, 256)), lambda *values: _of_numbers(min, *values)),
    "MAX": (tuple(range(1, 256)), lambda *values: _of_numbers(max, *values)),
    "ABS": ((1,), lambda value: _of_numbers(lambda numbers: abs(numbers[0]), value)),
    "SQRT": ((1,), lambda value: _of_numbers(_root, value)),
}


def function(name: str, arguments: Sequence[Function]) -> Function:
    """A function of these arguments. Raises UnsureError for one that isn't known here."""
    counts, maker = _MAKERS.get(name, ((), None))
    if maker is None or len(arguments) not in counts:
        raise UnsureError
    return maker(*arguments)


def index(cells: Sequence[Sequence[Value]], places: Sequence[Function]) -> Function:
    """INDEX of cells by row and column, or by one number where they are a single row or column."""
    is_line = len(cells) == 1 and len(places) == 1

    def found(row: object) -> Value:
        at = [number(place(row)) for place in places]
        if any(value != value for value in at):
            return nan
        down, right = (1, int(at[0])) if is_line else (int(at[0]), int(at[1]) if len(at) > 1 else 1)
        if (len(at) == 1 and not is_line and len(cells[0]) > 1) or not (
            0 < down <= len(cells) and 0 < right <= len(cells[0])
        ):
            raise UnsureError
        return cells[down - 1][right - 1]

    return found


def match(cells: Sequence[Value], wanted: Function) -> Function:
    """MATCH of a text among cells, exactly but for its case; N/A where it isn't there."""
    places: dict[str, float] = {}
    for place, value in enumerate(cells, start=1):
        if isinstance(value, str):
            places.setdefault(value.lower(), float(place))

    def found(row: object) -> Value:
        key = wanted(row)
        if _is_na(key):
            return nan
        if not isinstance(key, str) or not key or any(character in key for character in WILD):
            raise UnsureError
        return places.get(key.lower(), nan)

    return found
