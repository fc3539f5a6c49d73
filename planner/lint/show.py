"""A report for a reader: findings grouped by rule, overrides apart; or the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from planner.lint.findings import RULES, Finding
from planner.lint.run import Report

SHOWN = 20
"""The findings of one rule that are listed; JSON has them all."""


def as_text(report: Report) -> str:
    """The report as lines of text, the verdict last."""
    faults, overrides = report.of("fault"), report.of("override")
    lines = [line for number, group in groupby(faults, key=lambda finding: finding.rule)
             for line in (f"Rule {number}: {RULES[number].text}", *_listed(list(group)), "")]  # fmt: skip
    if overrides:
        lines += ["Overrides: values typed where the template has a formula", *_listed(overrides), ""]
    lines += [f"Note: {note.what}" for note in report.of("note")]
    counts = f"{_count(len(faults), 'finding')} and {_count(len(overrides), 'override')}"
    verdict = "clean" if report.is_clean else counts
    return "\n".join([*lines, f"{report.file}: {verdict} by rules {', '.join(map(str, sorted(RULES)))}."])


def as_object(report: Report) -> str:
    """The report as one JSON object."""

    def records(findings: Sequence[Finding]) -> list[dict[str, object]]:
        return [finding._asdict() for finding in findings]

    return json.dumps({
        "file": report.file, "findings": records(report.of("fault")), "overrides": records(report.of("override")),
        "notes": records(report.of("note")), "rules_checked": sorted(RULES),
    }, indent=2)  # fmt: skip


def _listed(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings[:SHOWN]:
        text = f"{finding.place + ': ' if finding.place else ''}{finding.what}; {finding.remedy}"
        yield from wrap(text, width=110, initial_indent="  ", subsequent_indent="      ", break_long_words=False)
    if len(findings) > SHOWN:
        yield f"  and {len(findings) - SHOWN:,} more; --json lists them all"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
