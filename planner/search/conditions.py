"""The conditions that plans must meet, as formulas of the templates' grammar: `step_time_expected<4s`, `n_chips<=64`.

A number alone on one side of a comparison is read as by `--set`: in the other side's unit, or with its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from planner import progress, typed_numbers
from planner.errors import UserError
from planner.formulas.input_values import COUNTED, share_fault
from planner.formulas.template import Row, Template
from planner.formulas.text import (
    COMPARISONS,
    Binary,
    Call,
    Formula,
    FormulaError,
    Name,
    Node,
    Number,
    Unary,
    parse,
    walk,
)
from planner.formulas.units import ONE, parse_unit, unit_of
from planner.plausible import PER_CENT

_LITERAL = re.compile(
    r"(?<![\w.])\$?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"(?:\s*(?!(?:and|or)\b)[A-Za-z$\u00b5\u03bc]+(?:/[A-Za-z]+(?!\w))*(?![\w(]))?"
)
_TEXT = re.compile(r'"[^"]*"')
AT_MOST, AT_LEAST = ("<=", "<"), (">=", ">")


def with_conditions(template: Template, wheres: Sequence[str]) -> tuple[Template, list[str]]:
    """The template with a row for each condition, 1 if it holds, and the names of these rows.

    Raises UserError for a syntax error, an unknown name, and mismatched units.
    """
    rows, names = list(template.rows), []
    for number, text in enumerate(wheres, 1):
        made = _Condition(template, text, f"where_{number}").rows()
        rows += made
        names.append(made[-1].name)
    return replace(template, rows=tuple(rows)), names


class _Condition:
    def __init__(self, template: Template, text: str, name: str) -> None:
        self.template, self.text, self.name = template, text, name
        self.literals: dict[str, str] = {}
        self.read_as: list[str] = []  # how each number without a unit was read, for quantities that have one
        self.units = {row.name: parse_unit(row.unit) for row in template.rows}

    def rows(self) -> list[Row]:
        """A constant for each number with a unit, and the condition itself."""
        try:
            marked = self._marked()
            parse(marked, cells=True)  # so that a fault refers to the text as typed, not to the IF around it
            formula = self._parsed(marked)
            constants = {
                name: row
                for each in walk(formula.root)
                if isinstance(each, Binary)
                for name, row in self._compared(formula, each)
            }
            kept = {name: name if name in constants else text for name, text in self.literals.items()}
            if loose := next((text for name, text in kept.items() if name != text and not _is_plain(text)), None):
                raise UserError(f"--where {self.text!r}: {loose} stands alone on no side of a comparison")
            final = self._parsed(formula.substitute(lambda name: kept.get(name, name)))
            self.units |= {name: parse_unit(row.unit) for name, row in constants.items()}
            unit_of(final, self.units)
        except FormulaError as error:
            raise UserError(f"--where {self.text!r}: {error.what}", remedy=error.remedy) from None
        return [*constants.values(), Row(self.name, self.text, "1", "calc", final.text, note=", ".join(self.read_as))]

    def _marked(self) -> str:
        """The text with a name in place of each number outside quotes."""

        def mark(match: re.Match[str]) -> str:
            name = f"{self.name}_number_{len(self.literals) + 1}"
            self.literals[name] = match[0]
            return name

        pieces, at = [], 0
        for quoted in _TEXT.finditer(self.text):
            pieces += [_LITERAL.sub(mark, self.text[at : quoted.start()]), quoted[0]]
            at = quoted.end()
        return "".join([*pieces, _LITERAL.sub(mark, self.text[at:])])

    def _parsed(self, text: str) -> Formula:
        formula = parse(text if text.startswith("IF(") and text.endswith(",1,0)") else f"IF({text},1,0)")
        for name in formula.names:
            if name not in self.literals:
                self.template.row(name)
        return formula

    def _compared(self, formula: Formula, node: Binary) -> list[tuple[str, Row]]:
        """The constant for a number alone on one side of a comparison."""
        if node.op not in COMPARISONS:
            return []
        found = []
        for one, other in ((node.left, node.right), (node.right, node.left)):
            one = one.operand if isinstance(one, Unary) and one.op == "()" else one
            if isinstance(one, Unary) and one.op == "%" and isinstance(one.operand, Name):
                text = self.literals.get(one.operand.name, "")
                self._check_share(other, float(text) / PER_CENT if _is_plain(text) else 0.0)
            if isinstance(one, Name) and one.name in self.literals:
                side = parse(formula.of(other))
                plain = {name: ONE for name in side.names if _is_plain(self.literals.get(name, ""))}
                if (self.literals.keys() & set(side.names)) - plain.keys():
                    continue
                unit = str(unit_of(side, self.units | plain) or "1")
                text = self.literals[one.name]
                try:
                    value = typed_numbers.read(text, unit)
                except UserError as error:
                    raise UserError(f"--where {self.text!r}: {error.what}", remedy=error.remedy) from None
                if _is_plain(text) and value and unit not in COUNTED:
                    self.read_as.append(f"{text} is read as {typed_numbers.said(value, unit)}")
                    progress.remark(f"--where {self.text}: {self.read_as[-1]}")
                self._check_share(other, value)
                found.append((one.name, Row(one.name, text, unit, "constant", repr(value))))
        return found

    def _check_share(self, side: Node, value: float) -> None:
        """Raise UserError if the other side of a comparison is a share that can't have this value."""
        if isinstance(side, Name) and (wrong := share_fault(self.template.row(side.name), value)):
            raise UserError(f"--where {self.text!r}: {wrong}")


def _is_plain(text: str) -> bool:
    return typed_numbers.PLAIN.fullmatch(text) is not None


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
