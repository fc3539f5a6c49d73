"""Detects formulas that apply a scalar function to several cells, such as `SUMPRODUCT(LEN(A1:A9))`.

The engine computes operators over ranges as other programs do, but with most functions it uses only the first cell, or
fails, and it takes a criterion that is a range for one value. Only the formula shows that such a value is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from planner.xlsx.references import Piece, pieces

_TAKE_RANGES = re.compile(
    "SUM|AVERAGE|MIN|MAX|COUNT|COUNTA|COUNTBLANK|PRODUCT|MEDIAN|MODE|STDEV|STDEVP|VAR|VARP|SMALL|LARGE|RANK|PERCENTILE|"
    "QUARTILE|AND|OR|XOR|SUBTOTAL|AGGREGATE|SUMSQ|GEOMEAN|HARMEAN|NPV|IRR|CORREL|SLOPE|INTERCEPT|FORECAST|CONCAT|"
    "CONCATENATE|TEXTJOIN|INDEX|MATCH|VLOOKUP|HLOOKUP|LOOKUP|XLOOKUP|XMATCH|OFFSET|INDIRECT|ROWS|COLUMNS|ISREF|AREAS|CELL|"
    "(?:SUM|COUNT|AVERAGE|MAX|MIN)IFS?|AVERAGEA|MINA|MAXA"
)
"""Functions from a range to one value; of names with a dot, such as `STDEV.S`, the part before it."""
_MAY_HAVE_SEVERAL = re.compile(r"[:{\[]|SUMPRODUCT", re.IGNORECASE)
_ONE_VALUE = re.compile(
    r"""(?:(?:\w+!)?\$?[A-W]?[A-Z]{1,2}\$?[1-9][0-9]{0,5}(?![\w.?\\(!])  # a cell, and no name that is like an address
        | [-+*/^&=<>(),%]
        | (?:ABS|AND|EXP|FIXED|IF|IFERROR|LOG|MAX|MIN|NA|NOT|OR|ROUND|ROUNDDOWN|ROUNDUP|SQRT|SUM)\(
        | "[^"]*"
        | [0-9.]+(?![\w.])
        )++""",
    re.ASCII | re.VERBOSE,
)
"""Formulas over single cells with functions that make no array of them: nearly all of a plan's."""
_ADDS_ARRAYS = "SUMPRODUCT"
_PASS_ARRAYS = "IFERROR"
_ONE = (
    dict.fromkeys(("MATCH", "XMATCH", "VLOOKUP", "HLOOKUP", "LOOKUP", "XLOOKUP", "RANK"), slice(0, 1))
    | dict.fromkeys(("SMALL", "LARGE", "PERCENTILE", "QUARTILE", "SUMIF", "COUNTIF", "AVERAGEIF"), slice(1, 2))
    | {"INDEX": slice(1, None), "COUNTIFS": slice(1, None, 2)}
    | dict.fromkeys(("SUMIFS", "AVERAGEIFS", "MAXIFS", "MINIFS"), slice(2, None, 2))
)
"""The arguments of functions over ranges that are scalars: what is looked up or counted, or a rank."""


@dataclass
class _Argument:
    """Whether an argument has several cells, and whether something is computed from them."""

    is_several: bool = False
    is_computed: bool = False


@dataclass
class _Call:
    """A function call, or an opened bracket, with its arguments so far."""

    name: str
    arguments: list[_Argument] = field(default_factory=lambda: [_Argument()])


@lru_cache(maxsize=1 << 16)
def may_be_array(formula: str | None) -> bool:
    """Whether the result of a formula, without its =, may be an array; also if its text is blank or not known."""
    return not formula or _ONE_VALUE.fullmatch(formula) is None


def is_array_idiom(formula: str) -> bool:
    """Whether a formula, without its =, applies something to several cells that the engine applies to one."""
    return _MAY_HAVE_SEVERAL.search(formula) is not None and _applies_to_several(formula)


@lru_cache(maxsize=1 << 14)
def _applies_to_several(formula: str) -> bool:
    stack = [_Call("(")]
    for piece in pieces(formula):
        last = stack[-1].arguments[-1]
        if piece.kind == "function" or piece.text in ("(", "{"):
            stack.append(_Call(piece.text.rstrip("(").upper() or "("))
        elif piece.text in (")", "}") and len(stack) > 1:
            call = stack.pop()
            if _is_misread(call):
                return True
            outer = stack[-1].arguments[-1]
            if call.name == "{":
                outer.is_several = True
            elif call.name in ("(", _PASS_ARRAYS) and any(argument.is_several for argument in call.arguments):
                outer.is_several = True
                outer.is_computed |= call.name != "(" or call.arguments[-1].is_computed
        elif piece.text == "," and stack[-1].name != "{":
            stack[-1].arguments.append(_Argument())
        elif _is_several(piece) or (piece.kind == "name" and any(call.name == _ADDS_ARRAYS for call in stack)):
            last.is_several = True
        elif piece.kind == "operator":
            last.is_computed = True
    return False


def _is_several(piece: Piece) -> bool:
    """Whether a token of a formula is a range of several cells."""
    found = piece.reference
    if found is None:
        return piece.kind == "table" and "#This Row" not in piece.text
    return found.is_range and (found.first.row, found.first.column) != (found.last.row, found.last.column)


def _is_misread(call: _Call) -> bool:
    """Whether a function has several cells where the engine uses one."""
    several = [argument for argument in call.arguments if argument.is_several]
    if call.name in ("(", "{", _ADDS_ARRAYS, _PASS_ARRAYS) or not several:
        return False
    name = call.name.partition(".")[0]
    if not _TAKE_RANGES.fullmatch(name) or any(argument.is_computed for argument in several):
        return True
    return any(argument.is_several for argument in call.arguments[_ONE.get(name, slice(0, 0))])
