"""A workbook held against every rule, and what was found as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from planner.book.problem_book import open_book
from planner.book.workbook import Book
from planner.check import (  # noqa: F401 (each registers its rules)
    description_rules,
    file_rules,
    formula_rules,
    input_rules,
    plan_rules,
    reference_rules,
    value_rules,
)
from planner.check.findings import RULES, Fault, Kind, Severity
from planner.check.repeated import listed
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import plain
from planner.xlsx.opc import Package

TITLES: dict[Kind, str] = {
    "failed_check": "Checks of the plan that fail",
    "missing_number": "Scenarios without a number",
    "out_of_range": "Inputs out of range",
    "broken_reference": "Broken references",
    "error_value": "Error values, each at the first cell that has it",
    "stale_value": "Stale values: not saved, or saved before what they depend on was changed",
}
"""The headings of what is wrong in the plan itself, in the order of the report; a breach stands under its rule."""

OVERRIDES = "Overrides: values typed where the template has a formula"
FILLED = "Overrides in the cells of Inputs that are there for them"


@dataclass(frozen=True)
class Report:
    """All findings of a workbook, in the order of the rules."""

    file: str
    found: tuple[Fault, ...]

    def of(self, severity: Severity) -> list[Fault]:
        """The findings of one severity."""
        return [finding for finding in self.found if finding.severity == severity]

    @property
    def is_clean(self) -> bool:
        """Whether there is neither a fault nor an override."""
        return not (self.of("fault") or self.of("override"))


def check(package: Package) -> Report:
    """Every rule's findings. Raises UserError for a workbook that planner did not build, or that can't be read."""
    book = open_book(package)
    found = [
        _placed(book, fault._replace(rule=number)) for number in sorted(RULES) for fault in RULES[number].check(book)
    ]
    return Report(package.name, tuple(found))


def _placed(book: Book, finding: Fault) -> Fault:
    """A finding with the row and the scenario of its cell, and its kind where it is but a note."""
    if finding.severity == "note" and finding.kind == "breach":
        finding = finding._replace(kind="note")
    if not finding.cell or finding.name or finding.sheet not in book.sheets:
        return finding
    name, scenario = book.owner(finding.sheet, *coordinates(finding.cell))
    return finding._replace(name=name, scenario=scenario)


def as_text(report: Report) -> str:
    """The report as lines of text, the verdict last."""
    faults, overrides, notes = report.of("fault"), report.of("override"), report.of("note")
    lines: list[str] = []
    for kind, title in TITLES.items():
        lines += _headed(title, [finding for finding in faults if finding.kind == kind])
    breaches = [finding for finding in faults if finding.kind not in TITLES]
    for number, group in groupby(breaches, key=lambda finding: finding.rule):
        lines += _headed(f"Rule {number}: {RULES[number].text}", list(group))
    lines += _headed(OVERRIDES, overrides)
    lines += _headed(FILLED, [note for note in notes if note.kind == "override"])
    lines += listed([note._replace(remedy="") for note in notes if note.kind == "note"], "Note: ", "  ")
    counts = f"{_count(len(faults), 'finding')} and {_count(len(overrides), 'override')}"
    verdict = "clean" if report.is_clean else counts
    return "\n".join([*lines, f"{report.file}: {verdict} by rules {', '.join(map(str, sorted(RULES)))}."])


def as_object(report: Report) -> str:
    """The report as one JSON object.

    `findings` are faults, `overrides` what stands in a formula's place, those in their own cells with the severity
    `note`; `notes` the rest. `clean` is what exit code 0 says.
    """
    overrides = [finding for finding in report.found if finding.kind == "override"]
    return json.dumps(
        {
            "file": report.file,
            "clean": report.is_clean,
            "findings": _records(report.of("fault")),
            "overrides": _records(overrides),
            "notes": _records([note for note in report.of("note") if note.kind != "override"]),
            "rules_checked": sorted(RULES),
        },
        indent=2,
    )


def _records(findings: Sequence[Fault]) -> list[dict[str, object]]:
    return [
        {
            "rule": finding.rule,  # comes first
            **{name: value for name, value in finding._asdict().items() if name != "alike"},
            "before": plain(finding.before),
            "after": plain(finding.after),
            "cells": list(finding.cells or ([finding.cell] if finding.cell else [])),
        }
        for finding in findings
    ]


def _headed(title: str, findings: Sequence[Fault]) -> list[str]:
    return [title, *listed(findings), ""] if findings else []


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
