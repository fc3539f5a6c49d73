"""A report for a reader: what fails first, overrides apart, breaches by their rule; or the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from planner.check.findings import RULES, Finding, Kind
from planner.check.run import Report
from planner.xlsx.cellvalue import CellError, Value

SHOWN = 20
"""The findings of one heading that are listed; JSON has them all."""

TITLES: dict[Kind, str] = {
    "failed_check": "Checks of the plan that fail",
    "missing_number": "Scenarios without a number",
    "out_of_range": "Inputs out of range",
    "broken_reference": "Broken references",
    "error_value": "Error values, each at the first cell that has it",
    "stale_value": "Stale values: saved before what they depend on was changed",
}
"""The headings of what is wrong in the plan itself, in the order of the report; a breach stands under its rule."""

OVERRIDES = "Overrides: values typed where the template has a formula"
FILLED = "Overrides in the cells of Inputs that are there for them"


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
    lines += [f"Note: {note.place + ': ' if note.place else ''}{note.what}" for note in notes if note.kind == "note"]
    counts = f"{_count(len(faults), 'finding')} and {_count(len(overrides), 'override')}"
    verdict = "clean" if report.is_clean else counts
    return "\n".join([*lines, f"{report.file}: {verdict} by rules {', '.join(map(str, sorted(RULES)))}."])


def as_object(report: Report) -> str:
    """The report as one JSON object.

    `findings` are faults, `overrides` what stands in a formula's place, those in their own cells with the severity
    `note`; `notes` the rest. `clean` is what exit code 0 says.
    """
    overrides = [finding for finding in report.found if finding.kind == "override"]
    return json.dumps({
        "file": report.file, "clean": report.is_clean, "findings": _records(report.of("fault")),
        "overrides": _records(overrides),
        "notes": _records([note for note in report.of("note") if note.kind != "override"]),
        "rules_checked": sorted(RULES),
    }, indent=2)  # fmt: skip


def _records(findings: Sequence[Finding]) -> list[dict[str, object]]:
    return [{**finding._asdict(), "before": _plain(finding.before), "after": _plain(finding.after),
             "cells": list(finding.cells or ([finding.cell] if finding.cell else []))}
            for finding in findings]  # fmt: skip


def _plain(value: Value) -> Value:
    """A value that JSON has; an error is its code."""
    return value.code if isinstance(value, CellError) else value


def _headed(title: str, findings: Sequence[Finding]) -> list[str]:
    return [title, *_listed(findings), ""] if findings else []


def _listed(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:SHOWN]:
        text = f"{finding.place + ': ' if finding.place else ''}{finding.what}; {finding.remedy}"
        yield from wrap(text, width=110, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
    if len(findings) > SHOWN:
        yield f"  and {len(findings) - SHOWN:,} more; --json lists them all"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
