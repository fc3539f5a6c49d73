"""Runs every rule on a workbook, and formats the findings as text or JSON.

In the text, findings that are equal for many cells take one line.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap

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
from planner.terminal_table import counted
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
"""The headings for faults of the plan itself, in the order of the report; a breach is listed under its rule."""

OVERRIDES = "Overrides: values typed where the template has a formula"
FILLED = "Overrides in the cells of Inputs that are there for them"
SHOWN = 20
"""The most lines under a heading; JSON has every finding."""
CELLS = 3
"""The most cells that a line names; others are counted. So many findings with one text share a line."""
MANY = 12
"""More findings than this that differ only in values or names also share a line."""


@dataclass(frozen=True)
class Report:
    """All findings in a workbook, in the order of the rules."""

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
    """A finding with the row and the scenario of its cell filled in, and the kind "note" for a mere note."""
    if finding.severity == "note" and finding.kind == "breach":
        finding = finding._replace(kind="note")
    if not finding.cell or finding.name or finding.sheet not in book.sheets:
        return finding
    name, scenario = book.owner(finding.sheet, *coordinates(finding.cell))
    return finding._replace(name=name, scenario=scenario)


def as_text(report: Report) -> str:
    """The report as text, with the verdict at the end."""
    faults, overrides, notes = report.of("fault"), report.of("override"), report.of("note")
    lines: list[str] = []
    for kind, title in TITLES.items():
        lines += _headed(title, [finding for finding in faults if finding.kind == kind])
    breaches = [finding for finding in faults if finding.kind not in TITLES]
    for number, group in groupby(breaches, key=lambda finding: finding.rule):
        lines += _headed(f"Rule {number}: {RULES[number].text}", list(group))
    lines += _headed(OVERRIDES, overrides)
    filled = [note for note in notes if note.kind == "override"]
    lines += _headed(FILLED, filled)
    lines += _listed([note._replace(remedy="") for note in notes if note.kind == "note"], "Note: ", "  ")
    counts = f"{counted(len(faults), 'finding')} and {counted(len(overrides), 'override')}"
    verdict = "clean" if report.is_clean else counts
    if filled:
        cells = "its own cell" if len(filled) == 1 else "their own cells"
        verdict += f" (and {counted(len(filled), 'override')} in {cells})"
    return "\n".join([*lines, f"{report.file}: {verdict} by rules {', '.join(map(str, sorted(RULES)))}."])


def as_object(report: Report) -> str:
    """The report as one JSON object.

    `findings` are faults; `overrides` values in place of formulas, those in override cells with the severity `note`;
    `notes` all else. `clean` corresponds to exit code 0.
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
    return [title, *_listed(findings), ""] if findings else []


def _listed(findings: Sequence[Fault], first: str = "  ", following: str = "      ") -> Iterator[str]:
    """Findings as wrapped lines with place, text and remedy; only the first SHOWN groups.

    `first` is the indent of each finding's first line, `following` that of the others.
    """
    groups = _together(findings)
    for group in groups[:SHOWN]:
        one = group[0]
        what = one.what if all(each.what == one.what for each in group) else one.alike
        text = "; ".join(part for part in (f"{_where(group)}{what}", one.remedy) if part)
        yield from wrap(text, width=110, initial_indent=first, subsequent_indent=following, break_long_words=False)
    if rest := sum(map(len, groups[SHOWN:])):
        yield f"{first}and {rest:,} more; --json lists them all"


def _together(findings: Sequence[Fault]) -> list[list[Fault]]:
    """The findings in groups, each of which is one line of text, in the order of their first findings."""
    same = Counter((each.what, each.remedy) for each in findings)
    alike = Counter((each.alike, each.remedy) for each in findings if each.alike)
    groups: dict[tuple[str, str] | int, list[Fault]] = defaultdict(list)
    for number, each in enumerate(findings):
        key: tuple[str, str] | int = number
        if alike[each.alike, each.remedy] > MANY:
            key = (each.alike, each.remedy)
        elif same[each.what, each.remedy] >= CELLS:
            key = (each.what, each.remedy)
        groups[key].append(each)
    return list(groups.values())


def _where(group: Sequence[Fault]) -> str:
    """The places of a group, such as `Inputs!F4, G4, Models!C1 and 12 more cells on 3 sheets: `.

    Blank if there are none.
    """
    places = [(each.sheet, cell) for each in group for cell in each.cells or (each.cell,) if each.sheet]
    named, sheet = [], ""
    for place in places[:CELLS]:
        named.append(place[1] if place[0] == sheet and place[1] else "!".join(part for part in place if part))
        sheet = place[0]
    text = ", ".join(named)
    if rest := len(places) - len(named):
        sheets = len({sheet for sheet, _ in places})
        text += f" and {rest:,} more" + (f" on {sheets} sheets" if sheets > 1 else "")
    return f"{text}: " if text else ""
