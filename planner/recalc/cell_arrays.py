"""Evaluates a cell's formula as a function of columns, with the formula core's array functions, for all rows at once.

`computed` gives values only where every spreadsheet program gives the same. Whatever may differ, or is an error other
than N/A, is `UNSURE`: text in arithmetic, a division by zero, nearly equal numbers, or a text that MATCH would read as
a pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from planner.formulas.arrays import EQUAL, Arithmetic, Array
from planner.formulas.text import Binary, Call, FormulaError, Name, Node, Number, Text, Unary, parse
from planner.recalc.alike_formulas import RowFormula
from planner.xlsx.address import Area
from planner.xlsx.cellvalue import NA, CellError, Value

NUMBER, TRUTH, BLANK, TEXT, UNSURE = range(5)
WHOLE = 1e15  # whole numbers below it are written with all their digits
_WILD = frozenset("*?~")  # MATCH reads these as patterns
_TEXTS: list[str] = []  # a text's code is its index here; case-sensitive
_CODES: dict[str, int] = {}
_LOWER: list[int] = []  # by code: a number shared by texts that differ only in case
_FOLDED: dict[str, int] = {}


class ColumnCells(NamedTuple):
    """The cells of some rows, or one cell for all: numbers (N/A is NaN, a text its code) and the kind of each."""

    numbers: Array
    kinds: Array

    @classmethod
    def of(cls, values: Sequence[Value]) -> ColumnCells:
        """The cells with these values."""
        pairs = [(value, NUMBER) if type(value) is float else _coded(value) for value in values]
        return cls(np.array([number for number, _ in pairs]), np.array([kind for _, kind in pairs], np.int8))

    def values(self) -> list[Value]:
        """The value of each cell; that of an UNSURE one is meaningless."""
        pairs = zip(self.numbers.tolist(), self.kinds.tolist(), strict=True)
        return [number if kind == NUMBER and number == number else _decoded(number, kind) for number, kind in pairs]


Fixed = Callable[[str, Area], ColumnCells | None]  # the cells of an area, row by row; None where they may change


class UnknownError(Exception):
    """Raised for a formula that can't be computed here."""


def computed(formula: RowFormula, columns: Mapping[int, ColumnCells], fixed: Fixed) -> ColumnCells | None:
    """The values of a formula in rows with the cells `columns`; None if it can't be computed here at all."""
    if not formula.is_alike:
        return None
    cells = {f"c{number}": columns[number] for number in formula.columns}
    ranges: dict[str, tuple[Area, ColumnCells]] = {}
    for at, (sheet, area) in enumerate(formula.areas):
        found = fixed(sheet, area)
        if found is None:
            return None
        ranges[f"x{at}"] = area, found
    try:
        with np.errstate(all="ignore"):
            result = _Formula(cells, ranges).value(parse(formula.text, cells=True).root)
    except (FormulaError, UnknownError):
        return None
    return ColumnCells(result.numbers, np.where(result.kinds == BLANK, NUMBER, result.kinds))


class _Formula:
    """Evaluates a formula's nodes. `cells` are the rows' cells by name, `areas` fixed cells elsewhere."""

    def __init__(self, cells: Mapping[str, ColumnCells], areas: Mapping[str, tuple[Area, ColumnCells]]) -> None:
        self._cells, self._areas = cells, areas

    def value(self, node: Node) -> ColumnCells:
        """The value of a node. Raises UnknownError if it can't be computed here."""
        match node:
            case Number(value=value):
                return _one(value, NUMBER)
            case Text(value=text):
                return _one(*_coded(text))
            case Name(name="TRUE" | "FALSE" as name):
                return _one(float(name == "TRUE"), TRUTH)
            case Name(name=name) if name in self._cells:
                return self._cells[name]
            case Unary(op="()", operand=operand):
                return self.value(operand)
            case Unary(op=op, operand=operand):
                column = self.value(operand)
                return column if op == "+" else _applied(_SIGNS[op], BLANK, NUMBER, column)
            case Binary(op=op, left=left, right=right):
                return _OPERATORS[op](self.value(left), self.value(right))
            case Call(function="INDEX", args=args):
                return _index(*self.area(args[0]), [self.value(arg) for arg in args[1:]])
            case Call(function="MATCH", args=(wanted, where, Number(value=0.0))):
                return _match(*self.area(where), self.value(wanted))
            case Call(function=function, args=args) if function in _FUNCTIONS:
                return _FUNCTIONS[function](*(self.value(arg) for arg in args))
        area, column = self.area(node)
        if not area.is_cell:
            raise UnknownError
        return ColumnCells(column.numbers[0], column.kinds[0])

    def area(self, node: Node) -> tuple[Area, ColumnCells]:
        """The fixed cells of a range, row by row."""
        if not isinstance(node, Name) or node.name not in self._areas:
            raise UnknownError
        return self._areas[node.name]


def _one(number: float, kind: int) -> ColumnCells:
    return ColumnCells(np.float64(number), np.int8(kind))


def _coded(value: Value) -> tuple[float, int]:
    """A cell's value as (number, kind)."""
    if value is None:
        return 0.0, BLANK
    if isinstance(value, bool):
        return float(value), TRUTH
    if isinstance(value, str):
        if value not in _CODES:
            _CODES[value] = len(_TEXTS)
            _TEXTS.append(value)
            _LOWER.append(_FOLDED.setdefault(value.lower(), len(_FOLDED)))
        return float(_CODES[value]), TEXT
    if isinstance(value, CellError):
        return np.nan, NUMBER if value == NA else UNSURE
    return float(value), NUMBER


def _decoded(number: float, kind: int) -> Value:
    if kind == TEXT:
        return _TEXTS[int(number)]
    if kind == BLANK:
        return None
    return bool(number) if kind == TRUTH else NA if number != number else number


def _applied(function: Callable[..., Array], most: int, kind: int, *operands: ColumnCells) -> ColumnCells:
    """A function of numbers whose kinds are at most `most`: N/A if an operand is; UNSURE if the result isn't finite."""
    result = function(*(operand.numbers for operand in operands)) * 1.0
    missing = reduce(np.logical_or, [np.isnan(operand.numbers) for operand in operands])
    bad = reduce(np.logical_or, [operand.kinds > most for operand in operands])
    known = np.where(missing, NUMBER, np.where(np.isnan(result), UNSURE, kind))
    return ColumnCells(np.where(missing, np.nan, result), np.where(bad, UNSURE, known))


def _lower(column: ColumnCells) -> Array:
    """A number for each text regardless of case, also for a blank cell; -1 for anything else."""
    blank = _LOWER[int(_coded("")[0])]
    pairs = zip(np.ravel(column.numbers).tolist(), np.ravel(column.kinds).tolist(), strict=True)
    found = [_LOWER[int(number)] if kind == TEXT else blank if kind == BLANK else -1 for number, kind in pairs]
    return np.array(found).reshape(np.shape(column.numbers))


def _compared(op: str) -> Callable[[ColumnCells, ColumnCells], ColumnCells]:
    """A comparison of numbers, or for = and <> of texts; UNSURE for nearly equal numbers and truth values."""

    def compare(one: ColumnCells, other: ColumnCells) -> ColumnCells:
        a, b, kinds = one.numbers, other.numbers, (one.kinds, other.kinds)
        texts = (kinds[0] == TEXT) | (kinds[1] == TEXT)
        missing = np.isnan(a) | np.isnan(b)
        bad = (kinds[0] == UNSURE) | (kinds[1] == UNSURE)
        near = (a != b) & (np.abs(a - b) <= 2 * EQUAL * np.maximum(np.abs(a), np.abs(b)))
        odd = (kinds[0] == TRUTH) | (kinds[1] == TRUTH) | (~texts & near)
        result = _CORE.operators[op](a, b)
        if op in ("=", "<>") and texts.any():
            result = np.where(texts, (_lower(one) == _lower(other)) == (op == "="), result)
        elif op not in ("=", "<>"):
            odd = odd | texts
        known = np.where(missing, NUMBER, np.where(odd, UNSURE, TRUTH))
        return ColumnCells(np.where(missing, np.nan, result), np.where(bad, UNSURE, known))

    return compare


def _joined(one: ColumnCells, other: ColumnCells) -> ColumnCells:
    """Two texts concatenated."""
    kinds = np.broadcast_arrays(one.numbers, one.kinds, other.numbers, other.kinds)
    rows = zip(*(np.ravel(each).tolist() for each in kinds), strict=True)
    return ColumnCells.of([_together(_as_text(a, kind), _as_text(b, of)) for a, kind, b, of in rows])


def _as_text(number: float, kind: int) -> str | CellError:
    """A value as text; an error, and so UNSURE, where programs may format the number differently."""
    if kind in (TEXT, BLANK):
        return _TEXTS[int(number)] if kind == TEXT else ""
    if kind == NUMBER and number != number:
        return NA
    return str(int(number)) if kind == NUMBER and number.is_integer() and abs(number) < WHOLE else _VAGUE


def _together(one: str | CellError, other: str | CellError) -> str | CellError:
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    return _VAGUE if _VAGUE in (one, other) else NA


def _if(condition: ColumnCells, then: ColumnCells, other: ColumnCells) -> ColumnCells:
    truth, missing = condition.numbers != 0, np.isnan(condition.numbers)
    kinds = np.where(missing, NUMBER, np.where(truth, then.kinds, other.kinds))
    numbers = _CORE.choose(condition.numbers, then.numbers, other.numbers)
    return ColumnCells(numbers, np.where(condition.kinds > BLANK, UNSURE, kinds))


def _iferror(value: ColumnCells, instead: ColumnCells) -> ColumnCells:
    missing = np.isnan(value.numbers) & (value.kinds == NUMBER)
    return ColumnCells(np.where(missing, instead.numbers, value.numbers), np.where(missing, instead.kinds, value.kinds))


def _isna(value: ColumnCells) -> ColumnCells:
    return ColumnCells(np.isnan(value.numbers) * 1.0, np.where(value.kinds == UNSURE, UNSURE, TRUTH))


def _index(area: Area, cells: ColumnCells, places: Sequence[ColumnCells]) -> ColumnCells:
    """INDEX of cells by row and column, or by one number for a single row or column."""
    height, width = len(area.rows), len(area.columns)
    if len(places) == 1:
        if 1 not in (height, width):
            raise UnknownError
        places = [_one(1.0, NUMBER), places[0]] if height == 1 else [places[0], _one(1.0, NUMBER)]
    down, right = (np.trunc(place.numbers) for place in places)
    missing, bad = np.isnan(down) | np.isnan(right), (places[0].kinds > BLANK) | (places[1].kinds > BLANK)
    inside = (down >= 1) & (down <= height) & (right >= 1) & (right <= width)
    at = np.where(inside, (down - 1) * width + right - 1, 0).astype(int)
    kinds = np.where(missing, NUMBER, np.where(inside, cells.kinds[at], UNSURE))
    return ColumnCells(np.where(missing, np.nan, cells.numbers[at]), np.where(bad, UNSURE, kinds))


def _match(area: Area, cells: ColumnCells, wanted: ColumnCells) -> ColumnCells:
    """Exact MATCH of a text among cells, ignoring case; N/A if it isn't there."""
    if (area.top != area.bottom and area.left != area.right) or (cells.kinds == UNSURE).any():
        raise UnknownError
    places: dict[int, float] = {}
    for place, (key, kind) in enumerate(zip(_lower(cells).tolist(), cells.kinds.tolist(), strict=True), start=1):
        if kind == TEXT:
            places.setdefault(key, float(place))
    numbers, kinds = np.ravel(wanted.numbers), np.ravel(wanted.kinds)
    texts = [
        _TEXTS[int(number)] if kind == TEXT else ""
        for number, kind in zip(numbers.tolist(), kinds.tolist(), strict=True)
    ]
    found = [places.get(_FOLDED[text.lower()], np.nan) if text and _WILD.isdisjoint(text) else 0.0 for text in texts]
    missing = (kinds == NUMBER) & np.isnan(numbers)
    result = np.where(missing, np.nan, np.array(found))
    return ColumnCells(result, np.where(missing | (result != 0), NUMBER, UNSURE))


_CORE = Arithmetic(np)
_OF_NUMBERS = ("MIN", "MAX", "ABS", "SQRT")  # blanks and truth values among them are left to the engine
_OF_TRUTHS = ("AND", "OR", "NOT")
_VAGUE = CellError("#VALUE!")
_SIGNS: dict[str, Callable[[Array], Array]] = {"-": lambda a: -a, "%": lambda a: a / 100}
_OPERATORS: dict[str, Callable[[ColumnCells, ColumnCells], ColumnCells]] = {
    **{op: partial(_applied, _CORE.operators[op], BLANK, NUMBER) for op in "+-*/^"},
    **{op: _compared(op) for op in ("=", "<>", "<", ">", "<=", ">=")},
    "&": _joined,
}
_FUNCTIONS: dict[str, Callable[..., ColumnCells]] = {
    **{name: partial(_applied, _CORE.functions[name], NUMBER, NUMBER) for name in _OF_NUMBERS},
    **{name: partial(_applied, _CORE.functions[name], TRUTH, TRUTH) for name in _OF_TRUTHS},
    "IF": _if,
    "IFERROR": _iferror,
    "ISNA": _isna,
    "NA": lambda: _one(np.nan, NUMBER),
}
