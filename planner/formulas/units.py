"""The unit of a parse tree. Units are symbols and nothing is converted: a factor row relates two units.

The closed list: bit, byte, FLOP, s, h, USD, chip, W, 1, text, their products and quotients. The literal 0 takes any
unit, and so does NA().
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from planner.errors import nearest
from planner.formulas.text import (
    COMPARISONS,
    LOGICAL,
    Binary,
    Call,
    Formula,
    FormulaError,
    Name,
    Node,
    Number,
    Text,
    Unary,
)
from planner.scaled_units import Powers, combined

SYMBOLS = ("bit", "byte", "FLOP", "s", "h", "USD", "chip", "W")
COUNTED = ("token", "parameter", "param", "layer", "sequence", "head", "step", "element")  # these have the unit 1
_PREFIXED = re.compile("[kKMGTPE]i?(B|bytes?|b|bits?|FLOPs?|W)|[mun\u00b5\u03bc](s)|m(W)")
_IN_FULL = {"B": "byte", "bytes": "byte", "b": "bit", "bits": "bit", "FLOPs": "FLOP"}


@dataclass(frozen=True)
class Unit:
    """A product of powers of symbols, as sorted (symbol, exponent) pairs; `text` is a unit of its own."""

    powers: Powers = ()
    is_text: bool = False

    def __mul__(self, other: Unit) -> Unit:
        return self._combined(other, 1)

    def __truediv__(self, other: Unit) -> Unit:
        return self._combined(other, -1)

    def __pow__(self, exponent: int) -> Unit:
        return Unit(tuple((symbol, power * exponent) for symbol, power in self.powers if exponent))

    def _combined(self, other: Unit, sign: int) -> Unit:
        return Unit(combined(self.powers, other.powers, sign))

    def __str__(self) -> str:
        if self.is_text:
            return "text"
        order = {symbol: index for index, symbol in enumerate(SYMBOLS)}
        above = [symbol for symbol, power in self._ordered(order) for _ in range(power)]
        below = [symbol for symbol, power in self._ordered(order) for _ in range(-power)]
        return "/".join(["*".join(above) or "1", *below])

    def _ordered(self, order: Mapping[str, int]) -> list[tuple[str, int]]:
        return sorted(self.powers, key=lambda pair: (pair[0] in ("chip", "s", "h"), order[pair[0]]))


ONE = Unit()
TEXT = Unit(is_text=True)


@lru_cache(maxsize=256)
def parse_unit(text: str) -> Unit:
    """The unit in a template's `unit` column, such as `FLOP/s/chip`, `1/s` or `text`.

    Raises ValueError with the symbol at fault and the nearest known one.
    """
    if text == "text":
        return TEXT
    unit, op = ONE, "*"
    for index, piece in enumerate(re.split(r"([*/])", text)):
        if index % 2:
            op = piece
            continue
        if piece not in (*SYMBOLS, "1"):
            raise ValueError(_unknown(text, piece))
        factor = ONE if piece == "1" else Unit(((piece, 1),))
        unit = unit * factor if op == "*" else unit / factor
    return unit


def _unknown(text: str, piece: str) -> str:
    """What is wrong with a unit and what to write, given the part at fault."""
    remedy = ""
    if not text.strip():
        remedy = "write one such as byte/s, or 1 for a plain number"
    elif any(mark in text for mark in "()[]{}"):
        remedy = "write it without brackets: FLOP/s/chip"
    elif any(mark in text for mark in "^\u00b2\u00b3"):
        remedy = "write a power as a product: s*s"
    elif not piece.strip():
        remedy = "each * and / stands between two symbols: per second is 1/s"
    elif any(mark.isspace() for mark in text):
        remedy = "write it without spaces: USD/h"
    if remedy:
        return f"unknown unit {text!r}; {remedy}"
    found = _PREFIXED.fullmatch(piece)
    if found:
        symbol = found[found.lastindex or 0]
        remedy = f"no unit has a prefix: write {_IN_FULL.get(symbol, symbol)}, and the number in full, such as 80e9"
    elif piece.lower().removesuffix("s") in COUNTED:
        remedy = "what is counted has the unit 1"
    else:
        remedy = nearest(
            piece, [*SYMBOLS, "1", *(["text"] if piece == text else [])]
        )  # text can't be part of a product
    return f"unknown unit {piece!r}; {remedy}"


def unit_of(formula: Formula, units: Mapping[str, Unit]) -> Unit | None:
    """The unit of a formula, given the unit of each name; None if any unit fits (0, NA()).

    Raises FormulaError if units don't agree, naming both sides and their units.
    """
    return _Checker(formula, units).visit(formula.root)


class _Checker:
    def __init__(self, formula: Formula, units: Mapping[str, Unit]) -> None:
        self.formula, self.units = formula, units

    def visit(self, node: Node) -> Unit | None:
        match node:
            case Number(value=value):
                return None if value == 0 else ONE
            case Text():
                return TEXT
            case Name(name=name):
                return self.units[name]
            case Unary(op="()", operand=operand):
                return self.visit(operand)
            case Unary(operand=operand):
                return self.number(operand)
            case Binary(op=op, left=left, right=right) if op in COMPARISONS:
                return self.comparison(op, left, right)
            case Binary(op="^", left=left, right=right):
                return self.power(left, right)
            case Binary(op=op, left=left, right=right) if op in "*/":
                return self.product(op, left, right)
            case Binary(left=left, right=right):
                return self.sum([left, right])
            case Call():
                return self.call(node)
        raise TypeError(node)

    def number(self, node: Node) -> Unit | None:
        unit = self.visit(node)
        if unit == TEXT:
            raise FormulaError(f"{self.formula.of(node)} is text, not a number", node.start)
        return unit

    def one(self, node: Node, what: str) -> None:
        unit = self.number(node)
        if unit not in (None, ONE):
            raise FormulaError(f"{what} {self.formula.of(node)} must have unit 1, not {unit}", node.start)

    def same(self, nodes: list[Node]) -> Unit | None:
        units = [(node, unit) for node in nodes if (unit := self.visit(node)) is not None]
        for node, unit in units[1:]:
            first, expected = units[0]
            if unit != expected:
                pieces = f"{self.formula.of(first)} is {expected} and {self.formula.of(node)} is {unit}"
                raise FormulaError(f"units don't agree: {pieces}", node.start)
        number = next((node for node in nodes if isinstance(node, Number)), None)
        if number is not None and any(unit == TEXT for _, unit in units):
            raise FormulaError(f"{self.formula.of(number)} is a number where text is wanted", number.start)
        return units[0][1] if units else None

    def sum(self, nodes: list[Node]) -> Unit | None:
        """The common unit of numbers that are added, or of which one is chosen."""
        for node in nodes:
            self.number(node)
        return self.same(nodes)

    def comparison(self, op: str, left: Node, right: Node) -> Unit:
        unit = self.same([left, right])
        if unit == TEXT and op not in ("=", "<>"):
            raise FormulaError(f"text is compared with = or <> alone, not {op}", left.start)
        return ONE

    def product(self, op: str, left: Node, right: Node) -> Unit | None:
        above, below = self.number(left), self.number(right)
        if above is None or below is None:
            return None if above is None else above
        return above * below if op == "*" else above / below

    def power(self, base: Node, exponent: Node) -> Unit | None:
        unit = self.number(base)
        self.one(exponent, "the exponent")
        if unit in (None, ONE):
            return unit
        if isinstance(exponent, Number) and exponent.value == int(exponent.value):
            return unit ** int(exponent.value)
        raise FormulaError(
            f"{self.formula.of(base)} is {unit}: only a whole literal can be its exponent", exponent.start
        )

    def call(self, call: Call) -> Unit | None:
        function, args = call.function, list(call.args)
        if function == "NA":
            return None
        if function in LOGICAL:
            for arg in args:
                self.one(arg, "the condition")
            return ONE
        if function == "IF":
            self.one(args[0], "the condition")
            return self.same(args[1:])
        if function in ("MIN", "MAX", "SUM"):
            return self.sum(args)
        if function == "SQRT":
            return self.root(args[0])
        if function in ("LOG", "EXP"):
            for arg in args:
                self.one(arg, f"{function}'s argument")
            return ONE
        if function != "ABS":
            self.one(args[1], "the number of digits")
        return self.number(args[0])

    def root(self, node: Node) -> Unit | None:
        unit = self.number(node)
        if unit is None:
            return None
        if any(power % 2 for _, power in unit.powers):
            raise FormulaError(f"{self.formula.of(node)} is {unit}, which has no square root", node.start)
        return Unit(tuple((symbol, power // 2) for symbol, power in unit.powers))
