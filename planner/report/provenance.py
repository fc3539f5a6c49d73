"""Where a workbook comes from: its Cover's facts and digests, and the pages that describe its models and chips."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from planner.book.plan import Plan
from planner.report.contents import Source

COVER, DIGESTS = "Cover", "Made from"
FACTS = ("Version", "Made on")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Cover:
    """What the Cover says; blank where an analyst has removed it."""

    title: str
    facts: Mapping[str, str]
    digests: tuple[Source, ...]


def cover(plan: Plan) -> Cover:
    """The Cover of a workbook."""
    sheet = plan.book.designed.get(COVER)
    if sheet is None:
        return Cover("", {}, ())
    facts: dict[str, str] = {}
    digests: list[Source] = []
    is_below = False
    for row in sorted({row for row, column in sheet.cells if column == 1}):
        label, value = plan.at(sheet.name, row, 1), plan.at(sheet.name, row, 2)
        if not isinstance(label, str):
            continue
        is_below = is_below or label.startswith(DIGESTS)
        if label in FACTS and value is not None:
            facts[label] = _day(value) if isinstance(value, float) else str(value)
        elif is_below and isinstance(value, str) and _SHA256.fullmatch(value):
            digests.append(Source(label, value))
    title = plan.at(sheet.name, 1, 1)
    return Cover(title if isinstance(title, str) else "", facts, tuple(digests))


def sources(plan: Plan, found: Cover) -> tuple[Source, ...]:
    """The digests of the files that the workbook was made from, then what describes each model and chip in use."""
    models = dict.fromkeys(scenario.model for scenario in plan.scenarios if scenario.model)
    chips = dict.fromkeys(scenario.hardware for scenario in plan.scenarios if scenario.hardware)
    described = (*_described(plan, "models", list(models)), *_described(plan, "hardware", list(chips)))
    return (*found.digests, *described)


def _described(plan: Plan, kind: str, ids: list[str]) -> Iterator[Source]:
    """The source columns of each id's row in a database sheet."""
    table = plan.book.databases.get(kind)
    if table is None:
        return
    rows = {table.sheet.value(row, 1): row for row in range(table.last_row, 5, -1)}
    columns = {name: at for name, at in table.columns.items() if name == "source" or name.startswith("source_")}
    for identity in ids:
        row = rows.get(identity)
        for name, column in columns.items() if row is not None else ():
            text = plan.at(table.sheet.name, row, column)  # type: ignore[arg-type]
            if isinstance(text, str) and text.strip():
                part = name.removeprefix("source").strip("_").replace("_", " ")
                yield Source(f"{identity}{f': {part}' if part else ''}", text.strip(), kind)


def _day(days: float) -> str:
    return (date(1899, 12, 30) + timedelta(days=int(days))).isoformat()
