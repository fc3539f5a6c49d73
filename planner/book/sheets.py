"""Which template each calculation sheet is of, whatever an analyst calls the sheet."""

from __future__ import annotations

from collections import Counter, defaultdict

from planner.book.book import Book

_MISSING = "missing."


def templates_of(book: Book) -> dict[str, str]:
    """Sheet -> template. The Checks sheet names its rows after templates, and each reads a row of the template's sheet.

    A sheet that no row of Checks reads is of the template that its title names.
    """
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for line in book.checks.lines:
        template, dot, _ = line.name.removeprefix(_MISSING).partition(".")
        if not dot or template in ("inputs", "checks"):
            continue
        formulas = (book.checks.sheet.patterns.get((line.row, column)) for column in book.checks.columns)
        formula = next((found for found in formulas if found is not None), None)
        for sheet in {reference.sheet for reference in formula.references} if formula else ():
            votes[sheet][template] += 1
    found: dict[str, str] = {}
    for table in book.calculations:
        name = table.sheet.name
        best = votes[name].most_common(1)
        found[name] = best[0][0] if best else (table.sheet.title or name).lower().replace(" ", "_")
    return found
