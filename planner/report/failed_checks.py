"""The checks that fail, each with the numbers that it compares.

In words such as `Memory of a chip = 312.9 GB > 85.90 GB = HBM capacity`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.book.plan import CheckRow, Quantity
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
from planner.report.contents import CheckResult
from planner.report.figures import CellFigures
from planner.spoken import apart, shown
from planner.table import joined

TURNED = {"<=": ">", "<": "≥", ">=": "<", ">": "≤", "=": "≠", "<>": "="}
"""What holds of two sides where a comparison doesn't."""
TOLERANCE = "relative_tolerance"
SPOKEN = {"*": "·", "/": "/", "+": "+", "-": "-", "^": "^"}


def check_results(cells: CellFigures) -> tuple[tuple[CheckResult, ...], tuple[CheckResult, ...]]:
    """The checks of all scenarios that fail, and those that can't be told because a number is missing."""
    failed: list[CheckResult] = []
    untold: list[CheckResult] = []
    for scenario in cells.plan.scenarios:
        for row in cells.plan.checks:
            if not is_counted(row, scenario.key) or row.holds(scenario.key):
                continue
            fails = row.failed(scenario.key)
            (failed if fails else untold).append(_check(cells, row, scenario.key, fails))
    return tuple(failed), tuple(untold)


def is_counted(row: CheckRow, key: str) -> bool:
    """Whether a check is one of the scenario's; a text stands where it is not."""
    return key in row.cells and not isinstance(row.value(key), str)


def _check(cells: CellFigures, row: CheckRow, key: str, fails: bool) -> CheckResult:
    figure, scenario = cells.of(row, key), cells.plan.by_key[key]
    meaning = joined(row.text, row.source)
    numbers = in_numbers(cells, row, key) if fails else ""
    name = scenario.name or scenario.id
    return CheckResult(name, row.title, meaning, figure.cell, fails, "" if fails else figure.why, numbers)


def in_numbers(cells: CellFigures, check: CheckRow, key: str) -> str:
    """The comparisons of a failed check that don't hold in a scenario; blank where they can't be told.

    A check's formula is `IF(condition,1,0)`; of an AND only the parts that fail are said, of an OR all but those that
    say when it doesn't apply.
    """
    try:
        formula = parse(check.text)
    except FormulaError:
        return ""
    sides = _Comparisons(cells, check, key, formula)
    try:
        root = formula.root
        return "; ".join(sides.failing(root.args[0] if isinstance(root, Call) and root.function == "IF" else root))
    except (FormulaError, LookupError, TypeError, ValueError, ArithmeticError):
        return ""


class _Comparisons:
    """The two sides of a check's comparisons, in a scenario: in words and as numbers with their unit."""

    def __init__(self, cells: CellFigures, check: CheckRow, key: str, formula: Formula) -> None:
        self.formula, self.key = formula, key
        self.rows = {name: _row(cells, check, name) for name in formula.names}

    def failing(self, node: Node) -> Iterator[str]:
        """Each comparison of a condition that doesn't hold."""
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
        """`left = 16 > 8 = right`; of two that should agree, `left = 16 ≠ 8 = right`."""
        match node:
            case Binary(op="<=" | "<", left=Call(function="ABS", args=(Binary(op="-", left=one, right=other),))):
                if isinstance(other, Call) and other.function == "ROUND":
                    told, _ = apart(self.value(one), float(round(self.value(one))), self.unit(one))
                    return f"{self.words(one)} = {told}, which is no whole number"
                return self.compared(one, "≠", other)
            case Binary(op="<=" | "<", right=Name(name=name)) if name == TOLERANCE:
                return f"{self.words(node.left)} = {self.shown(node.left)}, not 0"
            case Binary(right=Text(value=wanted)):
                return f"{self.words(node.left)} is {self.text(node.left)}, not {wanted}"
        return self.compared(node.left, TURNED[node.op], node.right)

    def compared(self, left: Node, sign: str, right: Node) -> str:
        """Both sides with their numbers; a side that is a number alone isn't said twice."""
        far = "" if isinstance(right, Number) else f" = {self.words(right)}"
        one, other = self.told(left, right)
        return f"{self.words(left)} = {one} {sign} {other}{far}"

    def words(self, node: Node) -> str:
        """A side as labels: what allows for rounding is left out."""
        match node:
            case Name(name=name):
                return self.rows[name].title
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

    def told(self, left: Node, right: Node) -> tuple[str, str]:
        """The numbers of two sides, in digits that tell them apart."""
        if self.unit(left) != self.unit(right):
            return self.shown(left), self.shown(right)
        return apart(self.value(left), self.value(right), self.unit(left))

    def unit(self, node: Node) -> str:
        """A side's unit."""
        piece = self.piece(node)
        unit = unit_of(piece, {name: parse_unit(self.rows[name].unit) for name in piece.names})
        return str(unit) if unit else "1"

    def value(self, node: Node) -> float:
        """A side's number; 1 or 0 of a comparison."""
        from planner.formulas.evaluation import number_of

        piece = self.piece(node)
        return number_of(piece, {name: self.held(name) for name in piece.names})

    def piece(self, node: Node) -> Formula:
        """A part of the check's formula as one of its own."""
        names = dict.fromkeys(each.name for each in walk(node) if isinstance(each, Name))
        return Formula(self.formula.text, node, tuple(names))

    def text(self, node: Node) -> str:
        """What a text row says."""
        return str(self.held(node.name)) if isinstance(node, Name) else ""

    def held(self, name: str) -> float | str:
        """What the cell of a name holds. Raises LookupError where it is neither a number nor a text."""
        cells = self.rows[name].cells
        entry = cells.get(self.key, cells.get(""))  # a constant has one for all scenarios
        value = entry.value if entry else None
        if not isinstance(value, (int, float, str)):
            raise LookupError(name)
        return value


def _is_way_out(node: Node) -> bool:
    """Whether a part of an OR only says when the check doesn't apply: `slice_x<1`, no shape is given."""
    return isinstance(node, Binary) and isinstance(node.right, Number)


def _is_tolerance(node: Node) -> bool:
    """`1 + relative_tolerance`, with or without parentheses."""
    inner = node.operand if isinstance(node, Unary) and node.op == "()" else node
    sides = (inner.left, inner.right) if isinstance(inner, Binary) else ()
    return any(isinstance(side, Name) and side.name == TOLERANCE for side in sides)


def _row(cells: CellFigures, check: CheckRow, name: str) -> Quantity:
    """The row of a name on the sheet that calculates the check, else the first of the name.

    Raises LookupError where there is none.
    """
    template, _, own = check.name.rpartition(".")
    found = [table for table in cells.tables if own in table and name in table]
    first = next((table[name] for table in found if table[name].sheet.lower() == template), None)
    row = first or (found[0][name] if found else cells.row(name))
    if row is None:
        row = next((each for each in cells.plan.constants if each.name == name), None)
    if row is None:
        raise LookupError(name)
    return row
