"""A workbook held against every rule."""

from __future__ import annotations

from dataclasses import dataclass

from planner.book.problem_book import open_book
from planner.book.workbook import Book
from planner.check import (  # noqa: F401 (each registers its rules)
    agreement,
    checks,
    contents,
    lines,
    looks,
    overrides,
    provenance,
    references,
    shape,
    structure,
    use,
    validation,
    values,
)
from planner.check.findings import RULES, Finding, Severity
from planner.xlsx.address import coordinates
from planner.xlsx.opc import Package


@dataclass(frozen=True)
class Report:
    """All findings of a workbook, in the order of the rules."""

    file: str
    found: tuple[Finding, ...]

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity."""
        return [finding for finding in self.found if finding.severity == severity]

    @property
    def is_clean(self) -> bool:
        """Whether there is neither a fault nor an override."""
        return not (self.of("fault") or self.of("override"))


def check(package: Package) -> Report:
    """Every rule's findings. Raises UserError for a workbook that planner did not build, or that can't be read."""
    book = open_book(package)
    found = [_placed(book, Finding(number, *fault)) for number in sorted(RULES) for fault in RULES[number].check(book)]
    return Report(package.name, tuple(found))


def _placed(book: Book, finding: Finding) -> Finding:
    """A finding with the row and the scenario of its cell, and its kind where it is but a note."""
    if finding.severity == "note" and finding.kind == "breach":
        finding = finding._replace(kind="note")
    if not finding.cell or finding.name or finding.sheet not in book.sheets:
        return finding
    name, scenario = book.owner(finding.sheet, *coordinates(finding.cell))
    return finding._replace(name=name, scenario=scenario)
