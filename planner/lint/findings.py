"""What a rule finds, and the register of all rules by their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from planner.xlsx.cellvalue import Value

if TYPE_CHECKING:
    from planner.lint.book import Book

Severity = Literal["fault", "override", "note"]
"""A breach, a number that an analyst typed over a formula, or what could not be told."""


class Fault(NamedTuple):
    """What is wrong in a cell and what to do about it, as a rule reports it."""

    sheet: str
    cell: str
    what: str
    remedy: str
    severity: Severity = "fault"


class Finding(NamedTuple):
    """A fault with the number of the rule that it breaks."""

    rule: int
    sheet: str
    cell: str
    what: str
    remedy: str
    severity: Severity

    @property
    def place(self) -> str:
        """Where it stands: `Inputs!F10`, or the sheet or nothing where it is not one cell's."""
        return "!".join(part for part in (self.sheet, self.cell) if part)


def shown(value: Value) -> str:
    """A cell's value to the last digit, a whole number without its `.0`."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


Check = Callable[["Book"], Iterable[Fault]]


class Rule(NamedTuple):
    """A rule of reference/workbook_rules.md: its number, its text and the function that checks it."""

    number: int
    text: str
    check: Check


RULES: dict[int, Rule] = {}


def rule(number: int, text: str) -> Callable[[Check], Check]:
    """Register the function below as the check of a rule."""

    def register(check: Check) -> Check:
        RULES[number] = Rule(number, text, check)
        return check

    return register
