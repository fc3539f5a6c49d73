"""The two sides that a check compares, and the failed comparison in words.

`Memory of a chip = 312.9 GB > 85.90 GB = HBM capacity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from planner.formulas.evaluation import number_of
from planner.formulas.template import Row
from planner.formulas.text import (
    COMPARISONS,
    Binary,
    Call,
    Formula,
    FormulaError,
    Name,
    Node,
    Number,
    Text,
    Unary,
    parse,
    walk,
)
from planner.formulas.units import parse_unit, unit_of
from planner.number_text import apart, shown

TURNED = {"<=": ">", "<": "≥", ">=": "<", ">": "≤", "=": "≠", "<>": "="}
"""The sign that holds if a comparison fails."""
TOLERANCE = "relative_tolerance"
SPOKEN = {"*": "·", "/": "/", "+": "+", "-": "-", "^": "^"}


class Compared(NamedTuple):
    """A quantity that a check reads: its label, its unit, and its number or text; None for N/A."""

    label: str
    unit: str
    value: float | str | None


def in_numbers(check: str, quantity: Callable[[str], Compared]) -> str:
    """The failed comparisons of a check in words; blank if they can't be determined.

    The check's formula is `IF(condition,1,0)`; of an AND only the parts that fail are given, of an OR all except those
    that say when it doesn't apply. `quantity` gives a name's quantity; it may raise LookupError.
    """
    try:
        formula = parse(check)
        sides, root = _Comparisons(formula, quantity), formula.root
        return "; ".join(sides.failing(root.args[0] if isinstance(root, Call) and root.function == "IF" else root))
    except (FormulaError, LookupError, TypeError, ValueError, ArithmeticError):
        return ""


@dataclass(frozen=True)
class _Comparisons:
    """The sides of a check's comparisons, in words and as numbers with units."""

    formula: Formula
    quantity: Callable[[str], Compared]

    def failing(self, node: Node) -> Iterator[str]:
        """Yields the failed comparisons of a condition."""
        match node:
            case Unary(op="()", operand=operand):
                yield from self.failing(operand)
            case Call(function="AND" | "OR" as function, args=args):
                spared = [each for each in args if not (function == "OR" and _is_way_out(each))]
                for each in spared or args:
                    yield from self.failing(each)
            case Binary(op=op) if op in COMPARISONS and not self.value(node):
                yield self.said(node)

    def said(self, node: Binary) -> str:
        """`left = 16 > 8 = right`; if the sides should be equal, `left = 16 ≠ 8 = right`."""
        match node:
            case Binary(op="<=" | "<", left=Call(function="ABS", args=(Binary(op="-", left=one, right=other),))):
                if isinstance(other, Call) and other.function == "ROUND":
                    numbers, _ = apart(self.value(one), float(round(self.value(one))), self.unit(one))
                    return f"{self.words(one)} = {numbers}, which is no whole number"
                return self.compared(one, "≠", other)
            case Binary(op="<=" | "<", right=Name(name=name)) if name == TOLERANCE:
                return f"{self.words(node.left)} = {self.shown(node.left)}, not 0"
            case Binary(op="<>", right=Text()):
                return f"{self.words(node.left)} is {self.text(node.left)}"
            case Binary(right=Text(value=wanted)):
                return f"{self.words(node.left)} is {self.text(node.left)}, not {wanted}"
        return self.compared(node.left, TURNED[node.op], node.right)

    def compared(self, left: Node, sign: str, right: Node) -> str:
        """Both sides with their numbers; a side that is just a number isn't repeated."""
        far = "" if isinstance(right, Number) else f" = {self.words(right)}"
        one, other = self.numbers(left, right)
        return f"{self.words(left)} = {one} {sign} {other}{far}"

    def words(self, node: Node) -> str:
        """A side in labels, without factors that allow for rounding."""
        match node:
            case Name(name=name):
                return self.quantity(name).label
            case Number(value=value):
                return f"{value:g}"
            case Unary(op="()", operand=operand):
                return self.words(operand) if _is_tolerance(operand) else f"({self.words(operand)})"
            case Unary(op=op, operand=operand):
                return f"{op}{self.words(operand)}"
            case Binary(op="*", left=left, right=right) if _is_tolerance(right):
                return self.words(left)
            case Binary(op=op, left=left, right=right):
                return f"{self.words(left)} {SPOKEN.get(op, op)} {self.words(right)}"
            case Call(function=function, args=args):
                return f"{function}({', '.join(self.words(each) for each in args)})"
        raise TypeError(node)

    def shown(self, node: Node) -> str:
        """A side's number with its unit."""
        return shown(self.value(node), self.unit(node))

    def numbers(self, left: Node, right: Node) -> tuple[str, str]:
        """The numbers of two sides, with enough digits to distinguish them."""
        if self.unit(left) != self.unit(right):
            return self.shown(left), self.shown(right)
        return apart(self.value(left), self.value(right), self.unit(left))

    def unit(self, node: Node) -> str:
        """A side's unit."""
        piece = self.piece(node)
        unit = unit_of(piece, {name: parse_unit(self.quantity(name).unit) for name in piece.names})
        return str(unit) if unit else "1"

    def value(self, node: Node) -> float:
        """A side's number; 1 or 0 for a comparison."""
        piece = self.piece(node)
        return number_of(piece.root, {name: self.known_value(name) for name in piece.names})

    def piece(self, node: Node) -> Formula:
        """A node of the check's formula as a formula of its own."""
        return Formula(self.formula.text, node)

    def text(self, node: Node) -> str:
        """The value of a text row."""
        return str(self.known_value(node.name)) if isinstance(node, Name) else ""

    def known_value(self, name: str) -> float | str:
        """A name's value. Raises LookupError if it is N/A."""
        value = self.quantity(name).value
        if value is None:
            raise LookupError(name)
        return value


def _is_way_out(node: Node) -> bool:
    """Whether a part of an OR only says when the check doesn't apply, such as `slice_x<1` for no shape given."""
    return isinstance(node, Binary) and isinstance(node.right, Number)


def _is_tolerance(node: Node) -> bool:
    """Whether a node is `1 + relative_tolerance`, with or without parentheses."""
    inner = node.operand if isinstance(node, Unary) and node.op == "()" else node
    sides = (inner.left, inner.right) if isinstance(inner, Binary) else ()
    return any(isinstance(side, Name) and side.name == TOLERANCE for side in sides)


class Sides(NamedTuple):
    """The two sides of a check as formulas in names, and their unit.

    `sign` is the one that holds if the comparison fails. `holds` is a formula that gives 1 if the comparison holds, 0
    if not, where the check may fail for another reason; else blank.
    """

    left: str
    right: str
    unit: str
    sign: str
    holds: str

    @property
    def is_of_numbers(self) -> bool:
        """Whether a reader learns from both sides: not if one is what rounding may leave over."""
        return self.right != TOLERANCE


def sides(row: Row, rows: Mapping[str, Row]) -> Sides | None:
    """The sides of a check; None if it doesn't compare two numbers.

    `rows` has the rows that the check reads. For `ABS(one-other)<=tolerance` the sides are one and other. Of several
    comparisons the first counts, except ones such as `slice_x<1` that only say when the check doesn't apply.
    """
    formula = row.expression
    joined = any(isinstance(node, Call) and node.function == "AND" for node in walk(formula.root))
    for node in _comparisons(formula.root):
        sign = TURNED[node.op]
        match node:
            case Binary(left=Call(function="ABS", args=(Binary(op="-", left=one, right=other),))):
                found, sign = (one, other), "≠"
            case Binary(right=Number() | Text()):
                continue
            case Binary(left=one, right=other):
                found = one, other
        left, right = (formula.of(each) for each in found)
        first = parse(left)
        unit = unit_of(first, {name: parse_unit(rows[name].unit) for name in first.names})
        holds = f"{left}={right}" if sign == "≠" else formula.of(node)
        return Sides(left, right, str(unit or "1"), sign, f"IF({holds},1,0)" if joined else "")
    return None


def _comparisons(node: Node) -> Iterator[Binary]:
    """The comparisons of a condition, from left to right."""
    match node:
        case Unary(op="()", operand=operand):
            yield from _comparisons(operand)
        case Call(function="IF", args=(condition, *_)):
            yield from _comparisons(condition)
        case Call(function="AND" | "OR", args=args):
            for each in args:
                yield from _comparisons(each)
        case Binary(op=op) if op in COMPARISONS:
            yield node
