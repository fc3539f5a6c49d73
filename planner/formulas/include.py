"""Includes: the rows of one template inside another, under a prefix.

An input that the include sets becomes a calc row. Any other input, lookup or constant whose name exists above is that
row. Lookups, constants and texts chosen by a formula are shared without prefix; other inputs take the prefix. Outputs
become calc rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from planner.errors import UserError, nearest
from planner.formulas.template import CALCULATED, LOOKUPS, Row, Template, check_literals, name_fault
from planner.formulas.text import Formula, FormulaError, Name, parse
from planner.formulas.units import Unit, parse_unit, unit_of
from planner.number_text import within


@dataclass
class Scope:
    """The rows laid out so far, in order, and the unit of each."""

    rows: dict[str, Row] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)

    def add(self, row: Row, include: Row | None = None) -> None:
        """Append a row. Raises UserError if its name exists already."""
        if row.name in self.rows:
            first = self.rows[row.name].place
            raise (include or row).fault(f"{row.name} exists already, from {first}", "give the include another prefix")
        self.rows[row.name] = row
        self.units[row.name] = parse_unit(row.unit)


def include(row: Row, scope: Scope, fetch: Callable[[str], Template]) -> Mapping[str, str]:
    """Lay the included template's rows out in `scope`; returns the digests of the files read.

    Raises UserError at the include row for an unknown template or input, mismatched units, or a name collision.
    """
    name, bindings = parse_include(row, scope)
    try:
        template = fetch(name)
    except UserError as error:
        if error.place is None:
            raise row.fault(error.what, error.remedy) from None
        raise
    bound_inputs(row, template, bindings)
    _Instance(row, template, bindings, scope).lay_out()
    return template.digests


def bound_inputs(row: Row, template: Template, bindings: Mapping[str, Formula]) -> dict[str, Row]:
    """The inputs of an included template by name.

    Raises UserError at the include row for a binding of an unknown one.
    """
    known = {inner.name: inner for inner in template.of_kind("input")}
    for bound in bindings:
        if bound not in known:
            raise row.fault(f"{template.name} has no input {bound}", nearest(bound, known))
    return known


def parse_include(row: Row, scope: Scope) -> tuple[str, dict[str, Formula]]:
    """The template's name and the bound inputs of `template(input=expression, ...)`."""
    text = row.formula.strip()
    name, bracket, rest = text.partition("(")
    if not bracket or not rest.endswith(")") or name_fault(name.strip()):
        raise row.fault(f"{text!r} is no include", "write template(input=expression, ...)")
    bindings: dict[str, Formula] = {}
    at = len(name) + 1
    for piece in arguments(rest[:-1]):
        bound, equals, expression = (part.strip() for part in piece.partition("="))
        if piece.strip():
            if not equals:
                raise row.fault(f"{piece.strip()!r} binds no input", "write input=expression", at)
            if bound in bindings:
                raise row.fault(f"{bound} is bound twice", "keep one of the two", at)
            start = at + len(piece.rstrip()) - len(expression)
            bindings[bound] = _bound(row, expression, scope, start)
        at += len(piece) + 1
    return name.strip(), bindings


def _bound(row: Row, expression: str, scope: Scope, at: int) -> Formula:
    try:
        formula = parse(expression, whole_text=True)
    except FormulaError as error:
        raise row.fault(error.what, error.remedy, at + error.start) from None
    for node in formula.spans:
        if node.name not in scope.rows:
            raise row.fault(f"unknown name {node.name}", nearest(node.name, scope.rows), at + node.start)
    return formula


def arguments(text: str) -> list[str]:
    """An include's arguments: the text in its parentheses split at commas outside parentheses and quotes."""
    pieces, depth, quoted, start = [], 0, False, 0
    for index, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
            if character == "," and depth == 0:
                pieces.append(text[start:index])
                start = index + 1
    return [*pieces, text[start:]]


class _Instance:
    """One include: the inner names, and the outer name of each."""

    def __init__(self, row: Row, template: Template, bindings: Mapping[str, Formula], scope: Scope) -> None:
        self.row, self.template, self.bindings, self.scope = row, template, bindings, scope
        self.prefix = "" if row.name == "." else f"{row.name}_"
        self.outer: dict[str, str] = {}

    def lay_out(self) -> None:
        for inner in self.template.rows:
            if inner.name in self.bindings:
                self.bind(inner, self.bindings[inner.name])
            elif inner.kind in CALCULATED and inner.unit == "text":
                self.share_text(inner)
            elif inner.kind in CALCULATED:
                kind = "calc" if inner.kind == "output" else inner.kind
                formula = inner.expression.substitute(self.outer)
                self.add(inner, self.prefix + inner.name, kind=kind, formula=formula)
            else:
                self.share(inner)

    def bind(self, inner: Row, formula: Formula) -> None:
        name = self.prefix + inner.name
        if name in self.scope.rows and isinstance(formula.root, Name) and formula.root.name == name:
            self.outer[inner.name] = name  # context_len=context_len without a prefix is the existing row itself
            return
        try:
            check_literals(formula)
            unit = unit_of(formula, self.scope.units)
        except FormulaError as error:
            raise self.row.fault(error.what, error.remedy) from None
        if unit not in (None, parse_unit(inner.unit)):
            raise self.row.fault(f"{inner.name} of {self.template.name} is {inner.unit}, but {formula.text} is {unit}")
        self.add(inner, name, kind="calc", formula=formula.text)

    def share(self, inner: Row) -> None:
        """Lay out an unbound input, lookup or constant: the existing row if there is one, else a new one."""
        formula = inner.formula
        if inner.kind in LOOKUPS and inner.reads:
            formula = formula.replace(inner.reads[0], self.outer[inner.reads[0]])
        own = self.prefix + inner.name if inner.kind == "input" or formula != inner.formula else inner.name
        for name in dict.fromkeys((inner.name, own)):
            if name in self.scope.rows and (formula == inner.formula or name == own):
                self.agree(inner, self.scope.rows[name])
                self.outer[inner.name] = name
                return
        self.add(inner, own, kind=inner.kind, formula=formula)

    def share_text(self, inner: Row) -> None:
        """Lay out a text chosen by a formula: the existing row if there is one, else one shared by all includes."""
        if inner.name in self.scope.rows:
            self.agree(inner, self.scope.rows[inner.name])
            self.outer[inner.name] = inner.name
        else:
            self.add(inner, inner.name, kind=inner.kind, formula=inner.expression.substitute(self.outer))

    def agree(self, inner: Row, existing: Row) -> None:
        if parse_unit(existing.unit) != parse_unit(inner.unit):
            raise self.row.fault(f"{inner.name} is {existing.unit} above and {inner.unit} in {self.template.name}")
        if inner.kind == existing.kind == "constant" and inner.default != existing.default:
            raise self.row.fault(
                f"{inner.name} is {existing.formula} above and {inner.formula} in {self.template.name}"
            )

    def add(self, inner: Row, name: str, *, kind: str, formula: str) -> None:
        label = inner.label
        if self.prefix and name.startswith(self.prefix):
            label = f"{self.row.label or self.row.name}: {within(label)}"
        self.outer[inner.name] = name
        self.scope.add(replace(inner, name=name, label=label, kind=kind, formula=formula), self.row)
