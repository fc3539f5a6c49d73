"""The rows on which the results of a template depend, where some of its rows are known numbers, texts or other rows.

A formula is folded by what is known: the branch of an IF that is never taken is not read, nor what is multiplied by 0.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache

from planner.formulas.evaluation import number_of, over
from planner.formulas.template import CALCULATED, Template
from planner.formulas.text import Binary, Call, Name, Node, Number, Text, Unary, children, parse

RESULTS = ("output", "check")
KEEPS = {("*", "left", 1), ("*", "right", 1), ("/", "right", 1), ("+", "left", 0), ("+", "right", 0), ("-", "right", 0)}
"""Neutral operands: the operator, the side and the number."""


def reached(
    template: Template, known: Mapping[str, Number | Text | Name], typed: Container[str] = frozenset()
) -> set[str]:
    """The names of the rows on which a result of the template depends, if some rows are `known`.

    Calculated rows that are `typed` over count as unknown.
    """
    known = dict(known)
    live: dict[str, set[str]] = {}
    for row in template.rows:
        if row.kind in CALCULATED and row.name not in typed:
            given = tuple((name, known[name]) for name in row.expression.names if name in known)
            value, live[row.name] = _reduced(row.formula, given)
            if value is not None:
                known[row.name] = value
        elif row.name not in known:
            live[row.name] = {_meant(name, known) for name in row.reads}
    results = (row.name for row in template.of_kind(*RESULTS))
    waiting = [name for name in results if not isinstance(known.get(name), Number | Text)]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += live.get(name, ())
    return found


def names_read(formula: str, known: Mapping[str, Number | Text | Name]) -> set[str]:
    """The names that a row's formula reads, where those of its names that are `known` are."""
    return _reduced(formula, tuple(known.items()))[1]


def node(value: float | str) -> Number | Text:
    """A known number or text, as in a formula."""
    return Text(0, 0, value) if isinstance(value, str) else Number(0, 0, value)


def _meant(name: str, known: Mapping[str, Number | Text | Name]) -> str:
    """The row that a name repeats; itself if it repeats none."""
    value = known.get(name)
    return value.name if isinstance(value, Name) else name


@lru_cache(maxsize=1 << 13)  # templates include the same rows, and a draft asks for all of them anew
def _reduced(
    formula: str, known: tuple[tuple[str, Number | Text | Name], ...]
) -> tuple[Number | Text | Name | None, set[str]]:
    """To what a row's formula reduces, and the names that it reads, where those of its names that are `known` are."""
    return _folded(parse(formula, whole_text=True).root, dict(known))


def _folded(node: Node, known: Mapping[str, Number | Text | Name]) -> tuple[Number | Text | Name | None, set[str]]:
    """The number, text or row to which a formula's node reduces, or None; and the names that it reads."""
    match node:
        case Number() | Text():
            return node, set()
        case Name(name=name):
            value = known.get(name, node)
            return value, {value.name} if isinstance(value, Name) else set()
        case Unary(op="()", operand=operand):
            return _folded(operand, known)
        case Call(function="IF", args=(condition, then, other)):
            truth, names = _folded(condition, known)
            if isinstance(truth, Number):
                return _folded(then if truth.value else other, known)
            return None, names.union(*(_folded(each, known)[1] for each in (then, other)))
    parts = [_folded(each, known) for each in children(node)]
    names = set[str]().union(*(names for _, names in parts))
    if isinstance(node, Binary):
        (left, left_names), (right, right_names) = parts
        if node.op == "*" and any(isinstance(each, Number) and each.value == 0 for each in (left, right)):
            return Number(0, 0, 0.0), set()
        if isinstance(left, Number) and (node.op, "left", left.value) in KEEPS:
            return right, right_names
        if isinstance(right, Number) and (node.op, "right", right.value) in KEEPS:
            return left, left_names
    numbers = tuple(value for value, _ in parts if isinstance(value, Number | Text))
    if len(numbers) < len(parts):
        return None, names
    number = number_of(over(node, numbers), {})
    return (Number(0, 0, number), set()) if number == number else (None, set())
