"""What a condition compares with a number, so that a search that it refuses can say how near the plans come."""

from __future__ import annotations

from typing import NamedTuple

from planner.formulas.template import Row, Template
from planner.formulas.text import Binary, Call, Name, Node, Number, Unary

AT_MOST, AT_LEAST = ("<=", "<"), (">=", ">")


class Limited(NamedTuple):
    """A row that a condition limits to a number: at most, so that less is nearer (`is_least`), or at least."""

    row: Row
    is_least: bool

    @property
    def end(self) -> str:
        """How the value nearest to the number is told: `least` if less is nearer."""
        return "least" if self.is_least else "most"


def limited(template: Template, condition: str) -> Limited | None:
    """The row that the condition of this name compares with a number; None for a condition of another kind."""
    root = template.row(condition).expression.root
    test = root.args[0] if isinstance(root, Call) and root.args else root
    if not isinstance(test, Binary) or test.op not in (*AT_MOST, *AT_LEAST):
        return None
    for side, other in ((test.left, test.right), (test.right, test.left)):
        row = template.row(side.name) if isinstance(side, Name) else None
        if row is not None and row.kind != "constant" and _is_number(template, other):
            return Limited(row, (test.op in AT_MOST) == (side is test.left))
    return None


def _is_number(template: Template, side: Node) -> bool:
    inner = side.operand if isinstance(side, Unary) else side
    return isinstance(inner, Number) or (isinstance(inner, Name) and template.row(inner.name).kind == "constant")
