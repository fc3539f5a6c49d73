"""The rows that most of a row's number is made of in one plan.

Of an IF the branch that is taken counts, of a MAX or MIN what binds, of a sum its largest addend, and of a product with
0 nothing. Conditions don't count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.formulas.evaluation import Results, number_of
from planner.formulas.template import CALCULATED
from planner.formulas.text import Binary, Call, Name, Node, children, names_of

CHOICES: dict[str, Callable[[Sequence[float]], float]] = {"MAX": max, "MIN": min}


def in_use(results: Results, name: str) -> set[str]:
    """The names of the rows that contribute most to a row's number, itself among them; a typed row has no others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        row = results.template.row(waiting.pop())
        if row.name in found:
            continue
        found.add(row.name)
        if row.kind in CALCULATED and row.name not in results.given:
            waiting += _names(row.expression.root, results)
    return found


def _names(node: Node, results: Results) -> Iterator[str]:
    if isinstance(node, Name):
        yield node.name
    for part in _counting(node, results):
        yield from _names(part, results)


def _counting(node: Node, results: Results) -> tuple[Node, ...]:
    """The direct children of a node that contribute most to its number; all of them if one is N/A."""

    def number(part: Node) -> float:
        return number_of(part, {name: float(results[name]) for name in names_of(part)})

    match node:
        case Call(function="IF", args=(condition, then, other)):
            return (then,) if number(condition) else (other,)
        case Call(function="MAX" | "MIN" as function, args=args):
            numbers = [number(arg) for arg in args]
            binding = CHOICES[function](numbers)
            return tuple(arg for arg, each in zip(args, numbers, strict=True) if each == binding) or args
        case Binary(op="+", left=left, right=right):
            first, second = abs(number(left)), abs(number(right))
            return (left,) if first > second else (right,) if second > first else (left, right)
        case Binary(op="*", left=left, right=right) if 0 in (number(left), number(right)):
            return ()
    return children(node)
