"""What planner itself wrote into a workbook, in this version or an earlier one: told from what a person did there.

A cell's content is written without addresses, every reference by the keys of its row and column, so that it reads the
same wherever the cell stands. `history.txt` holds a digest of every cell that earlier versions wrote.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from planner.align.keys import COVER, SCENARIO, Keyed
from planner.xlsx.address import Area, Position
from planner.xlsx.cellvalue import Value
from planner.xlsx.pattern import Pattern, RelativeReference, pattern
from planner.xlsx.sheet_rules import areas
from planner.xlsx.xmltree import Element, every

HISTORY = Path(__file__).parent / "history.txt"
FIRST = {"models": "gpt2", "hardware": "tpu-v2"}
"""How a range from the first row of a database is written, whatever row is the first: as history has it."""
DIGITS = 9  # of a digest: 60,000 of them take a person's text for ours once in a million
_END = r"R(?:\[-?[0-9]+\]|[0-9]+)C(?:\[-?[0-9]+\]|[0-9]+)"
_REFERENCE = re.compile(rf"(?:'(?:[^']|'')*'!|[^\W\d][\w.]*!)?{_END}(?::{_END})?")


class Signer:
    """Writes the cells of a workbook's sheets without addresses."""

    def __init__(self, sheets: Mapping[str, Keyed]) -> None:
        self._sheets = {each.sheet.name: each for each in sheets.values()}

    def cell(self, keyed: Keyed, at: Position) -> str:
        """A cell's digest; blank for an empty one."""
        formula, value = keyed.sheet.patterns.get(at), keyed.sheet.value(*at)
        if formula is None and value in (None, ""):
            return ""
        content = f"={self.formula(keyed, at, formula)}" if formula is not None else written(value)
        return digest(*self.place(keyed, at), content)

    def place(self, keyed: Keyed, at: Position) -> tuple[str, str, str]:
        """Kind of sheet, row and column; all cases of a template count as one row, and all scenarios as one column."""
        row = keyed.groups.get(at[0]) or keyed.rows.get(at[0], f"row {at[0]}")
        column = keyed.columns.get(at[1], f"column {at[1]}")
        if at[1] in keyed.scenario_columns():
            column = "scenario"
        return keyed.kind, row, column

    def formula(self, keyed: Keyed, at: Position, formula: Pattern) -> str:
        """A formula whose references say what they lead to."""
        references = iter(formula.references)
        if len(_REFERENCE.findall(formula.text)) != len(formula.references):
            return formula.text  # what looks like a reference is none, as in a text: ours have none such
        return _REFERENCE.sub(lambda _: self._named(keyed, at, next(references)), formula.text)

    def _named(self, keyed: Keyed, at: Position, reference: RelativeReference) -> str:
        other = self._sheets.get(reference.sheet) if reference.sheet else keyed
        if other is None:
            return f"{reference.sheet}!{reference.first}:{reference.last}"
        area = reference.area(*at)
        corners = [(area.top, area.left)]
        if (area.bottom, area.right) != corners[0]:
            corners.append((area.bottom, area.right))
        said = [self._corner(keyed, at, other, corner) for corner in corners]
        if other.kind in FIRST and area.bottom > area.top == other.first_row:
            said[0] = f"{FIRST[other.kind]},{said[0].partition(',')[2]}"
        return f"{other.kind}[{':'.join(said)}]"

    def _corner(self, keyed: Keyed, at: Position, other: Keyed, corner: Position) -> str:
        row, column = other.rows.get(corner[0], ""), other.columns.get(corner[1], "")
        if corner[0] > max(other.rows, default=0):
            row = "end"
        elif other is keyed and corner[0] == at[0]:
            row = "own"
        elif corner[0] in other.groups:
            row = "case"
        if corner[1] > max(other.columns, default=0):
            column = "end"
        elif corner[1] in other.scenario_columns():
            column = "own" if other.columns[corner[1]] == _scenario(keyed, at[1]) else "scenario"
        return f"{row or corner[0]},{column or corner[1]}"


def _scenario(keyed: Keyed, column: int) -> str:
    """The key of the scenario that stands in a column, as built, on the sheets of scenarios."""
    own = keyed.columns.get(column, "")
    return own if own.startswith(SCENARIO) else f"{SCENARIO}{own if own.isdigit() else column}"


def written(value: Value) -> str:
    """A typed value as text: numbers to the last digit."""
    return repr(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def digest(*parts: str) -> str:
    """A short digest of some texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


@cache
def history() -> frozenset[str]:
    """The digests of what earlier versions wrote."""
    return frozenset(HISTORY.read_text(encoding="ascii").split()) if HISTORY.exists() else frozenset()


def cells(sheets: Mapping[str, Keyed]) -> Iterator[str]:
    """The digest of every cell of a workbook's sheets, of Cover but for its dates and digests."""
    signer = Signer(sheets)
    for each in sheets.values():
        for at in each.sheet.cells:
            if (each.kind != COVER or at[1] == 1) and (signed := signer.cell(each, at)):
                yield signed


RULE = "rule"


def rule_signature(keyed: Keyed, signer: Signer, rule: Element) -> str:
    """The digest of a conditional format or a validation, its formulas without addresses."""
    first = next(iter(areas(rule)), Area(1, 1, 1, 1))
    at, kind = (first.top, first.left), rule.get("type", "")
    is_between = rule.get("operator", "between") in ("between", "notBetween") and kind != "list"
    read = ("formula", "formula1", *(["formula2"] if is_between else []))  # some write a second one all the same
    said = [signer.formula(keyed, at, pattern(one.text, *at)) for one in every(rule, *read) if one.text]
    return digest(RULE, keyed.kind, kind, rule.get("promptTitle", ""), *said)


def is_known_rule(keyed: Keyed, signer: Signer, fresh: set[str]) -> Callable[[Element], bool]:
    """Whether planner wrote a rule, in this version or an earlier one."""

    def known(rule: Element) -> bool:
        signed = rule_signature(keyed, signer, rule)
        return signed in fresh or signed in history()

    return known
