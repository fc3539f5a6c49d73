"""Systematic faults put into a template's formulas, to see what the unit checker catches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.formulas.template import CALCULATED, Row, Template
from planner.formulas.text import Binary, Formula, FormulaError, Name, Node, parse, walk
from planner.formulas.units import ONE, TEXT, Unit, parse_unit, unit_of


@dataclass(frozen=True)
class Mutation:
    """A row with one fault: its kind, what was changed, and the faulty formula."""

    row: Row
    kind: str
    what: str
    formula: str

    def is_caught(self, units: Mapping[str, Unit]) -> bool:
        """Whether the unit checker refuses the faulty formula."""
        try:
            derived = unit_of(parse(self.formula, whole_text=True), units)
        except FormulaError:
            return True
        return derived is not None and derived != parse_unit(self.row.unit)


def scopes(template: Template) -> Iterator[tuple[Row, dict[str, Unit]]]:
    """Each calculated row with the units of the names above it."""
    units: dict[str, Unit] = {}
    for row in template.rows:
        if row.kind in CALCULATED:
            yield row, dict(units)
        units[row.name] = parse_unit(row.unit)


def wrong_names(row: Row, units: Mapping[str, Unit]) -> Iterator[Mutation]:
    """Every name replaced by the last name above it of each other unit."""
    formula = row.expression
    others = {unit: name for name, unit in units.items() if unit != TEXT}
    for node in walk(formula.root):
        if isinstance(node, Name) and units[node.name] != TEXT:
            for unit, name in others.items():
                if unit != units[node.name]:
                    yield _replaced(row, formula, node, name, "name")


def swapped_operators(row: Row, units: Mapping[str, Unit]) -> Iterator[Mutation]:
    """Every `*` made `/` and the reverse, where the right operand has a unit."""
    formula = row.expression
    for node in walk(formula.root):
        if isinstance(node, Binary) and node.op in "*/" and has_unit(formula, node.right, units):
            at = formula.text.rindex(node.op, node.left.end, node.right.start)
            other = "/" if node.op == "*" else "*"
            text = formula.text[:at] + other + formula.text[at + 1 :]
            yield Mutation(row, "operator", f"{formula.of(node)} with {other}", text)


def dropped(row: Row, units: Mapping[str, Unit], name: str) -> Iterator[Mutation]:
    """Every factor `name` left out of its product."""
    formula = row.expression
    for node in walk(formula.root):
        if not (isinstance(node, Binary) and node.op in "*/"):
            continue
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, Name) and side.name == name and not (node.op == "/" and side is node.left):
                yield _replaced(row, formula, node, formula.of(other), f"dropped {name}")


def has_unit(formula: Formula, node: Node, units: Mapping[str, Unit]) -> bool:
    """Whether a part of a formula has a unit other than 1."""
    return unit_of(Formula(formula.text, node), units) not in (None, ONE)


def _replaced(row: Row, formula: Formula, node: Node, by: str, kind: str) -> Mutation:
    text = formula.text[: node.start] + by + formula.text[node.end :]
    return Mutation(row, kind, f"{formula.of(node)} -> {by}", text)
