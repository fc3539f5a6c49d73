"""The findings of rules, and the registry of all rules by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from planner.xlsx.cellvalue import Value

if TYPE_CHECKING:
    from planner.book.workbook import Book

Severity = Literal["fault", "override", "note"]
"""Something wrong; a value typed in a formula's place; something worth knowing."""

Kind = Literal[
    "breach",
    "override",
    "broken_reference",
    "error_value",
    "stale_value",
    "out_of_range",
    "failed_check",
    "missing_number",
    "note",
]
"""The topic of a finding; a breach is of the form in which planner builds a workbook."""


class Fault(NamedTuple):
    """What is wrong in a cell, and the remedy.

    `before` and `after` are the saved and the recalculated value of a stale cell, or the usual formula and the content
    of an override. `cells` are all cells concerned if they are more than `cell`; `alike` is the text for many such
    findings together, if `what` has values or names of its own. `planner.check.run` fills in the number of the rule,
    and for a cell in a row `name` and `scenario`.
    """

    sheet: str
    cell: str
    what: str
    remedy: str
    severity: Severity = "fault"
    kind: Kind = "breach"
    name: str = ""
    scenario: str = ""
    before: Value = None
    after: Value = None
    cells: tuple[str, ...] = ()
    rule: int = 0
    alike: str = ""

    @property
    def place(self) -> str:
        """The place as `Inputs!F10`, or just the sheet, or blank."""
        return "!".join(part for part in (self.sheet, self.cell) if part)


Check = Callable[["Book"], Iterable[Fault]]


class Rule(NamedTuple):
    """A rule of `planner check` (listed in docs/checking.md): its number, its text and the function that checks it."""

    number: int
    text: str
    check: Check


RULES: dict[int, Rule] = {}


def rule(number: int, text: str) -> Callable[[Check], Check]:
    """A decorator that registers a function as the check of a rule."""

    def register(check: Check) -> Check:
        RULES[number] = Rule(number, text, check)
        return check

    return register
