"""Writes `history.txt`: the digests of all that a version of planner writes into a workbook.

`python -m planner.update.history WORKBOOK ...` adds those of workbooks as they were built, before a release changes
what they hold: `planner update` then tells them from what a person typed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from planner.align.keys import keyed
from planner.book.workbook import Book
from planner.update.sides import Side, looks_of
from planner.update.signatures import HISTORY, Signer, cells, history, rule_signature
from planner.xlsx.moves import Moves
from planner.xlsx.opc import Package
from planner.xlsx.sheet_rules import rules
from planner.xlsx.styles import Stylesheet
from planner.xlsx.worksheet import Worksheet


def digests(side: Side) -> Iterator[str]:
    """Those of a workbook as it is built: of its cells, their looks, and the rules on them."""
    yield from cells(side.sheets)
    yield from looks_of(side)
    for each in side.sheets.values():
        sheet_rules = rules(Worksheet(each.sheet.xml.xml).root)
        yield from (rule_signature(each, side.signer, rule) for rule in sheet_rules)


def built(path: Path) -> Side:
    """A workbook as it was built."""
    book = Book(Package.read(path))
    sheets, styles = keyed(book), Stylesheet.of(book.package)
    assert styles is not None, "a built workbook has styles"
    return Side(book, sheets, styles[1].looks, Moves({}), Signer(sheets))


def write(paths: Iterable[Path]) -> int:
    """Add the digests of some workbooks to the history; returns how many it has then."""
    found = set(history())
    for path in paths:
        found |= set(digests(built(path)))
    HISTORY.write_text("\n".join(sorted(found)) + "\n", encoding="ascii")
    return len(found)


if __name__ == "__main__":
    print(write(map(Path, sys.argv[1:])))
