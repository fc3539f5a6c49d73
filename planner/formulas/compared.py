"""What a check compares: the two sides of the comparison that its `IF(condition,1,0)` turns on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.formulas.template import Row
from planner.formulas.text import COMPARISONS, Binary, Call, Node, Number, Text, Unary, parse
from planner.formulas.units import parse_unit, unit_of


def sides(row: Row, rows: Mapping[str, Row]) -> tuple[str, str, str] | None:
    """Both sides in names and their unit; None of a check that compares no two numbers.

    `rows` has the rows that the check reads. Of `ABS(one-other)<=tolerance` the sides are one and other. Of several
    comparisons the first counts that is more than a way out, such as `slice_x<1`, which says that no shape is given.
    """
    formula = row.expression
    for node in _comparisons(formula.root):
        match node:
            case Binary(left=Call(function="ABS", args=(Binary(op="-", left=one, right=other),))):
                found = one, other
            case Binary(right=Number() | Text()):
                continue
            case Binary(left=one, right=other):
                found = one, other
        texts = [formula.of(each) for each in found]
        first = parse(texts[0])
        unit = unit_of(first, {name: parse_unit(rows[name].unit) for name in first.names})
        return texts[0], texts[1], str(unit or "1")
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
