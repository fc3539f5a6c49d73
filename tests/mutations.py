"""Systematic faults put into a template's formulas, to see what the unit checker catches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

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


def wrong_names(templates: Iterable[Template], every: int) -> Iterator[tuple[Mutation, Mapping[str, Unit]]]:
    """Every name replaced by the last name above it of each other unit, with the units above; one of so many."""
    found = ((*each, name) for template in templates for each in _names(template) for name in each[-1])
    for row, node, units, _, name in islice(found, 0, None, every):
        yield _replaced(row, row.expression, node, name, "name"), units


def _names(template: Template) -> Iterator[tuple[Row, Name, Mapping[str, Unit], list[str]]]:
    """Each name in a calculated row, with the units of the names above the row and the last of each other unit."""
    last: dict[Unit, str] = {}  # goes along, since units are slow to compare
    above: Collection[str] = ()
    for row, units in scopes(template):
        for name in list(units)[len(above) :]:
            if units[name] != TEXT:
                last[units[name]] = name
        above = units
        for node in walk(row.expression.root):
            if isinstance(node, Name) and units[node.name] != TEXT:
                others = dict(last)
                del others[units[node.name]]
                yield row, node, units, list(others.values())


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
