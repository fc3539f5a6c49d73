"""What a rule finds, and the register of all rules by their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from planner.xlsx.cellvalue import Value

if TYPE_CHECKING:
    from planner.book.workbook import Book

Severity = Literal["fault", "override", "note"]
"""What is wrong; what an analyst put in a formula's place; and what is only worth knowing."""

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
"""What a finding is about; a breach is of the form that planner gave the workbook."""


class Fault(NamedTuple):
    """What is wrong in a cell and what to do about it.

    `before` and `after` are the saved and the recalculated value of a stale one, the usual formula
    and what stands there of an override. `cells` are all that it stands for, where it is more than
    `cell`; `alike` is what is said of many such findings together, where `what` has values or names
    of its own. The number of the rule and, where it is a row's cell, `name` and `scenario` are put
    in by `planner.check.run`.
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
        """Where it stands: `Inputs!F10`, or the sheet or nothing where it is not one cell's."""
        return "!".join(part for part in (self.sheet, self.cell) if part)


Check = Callable[["Book"], Iterable[Fault]]


class Rule(NamedTuple):
    """A rule of `planner check` (listed in docs/checking.md): its number, its text and the function that checks it."""

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
