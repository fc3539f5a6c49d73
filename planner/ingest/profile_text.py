"""A profile's summary for a terminal: chip, headline numbers, the parts of a step, the largest operations."""

from __future__ import annotations

from collections.abc import Iterator

from planner import terminal_table
from planner.ingest import first_page
from planner.ingest.into_workbook import Ingested, about_lines, share_line
from planner.ingest.operation_rows import OperationRow, rows
from planner.ingest.profile_sheet import PARTS
from planner.number_text import percent, spoken

MOST, LONGEST = 12, 48  # most operations, and most characters of a name


def lines(found: Ingested) -> Iterator[str]:
    """The lines, section by section."""
    profile = found.profile
    yield from terminal_table.aligned(["", ""], [list(each) for each in about_lines(found, None, None)]).splitlines()[
        1:
    ]
    yield ""
    first = [*first_page.lines(profile, None, found.peaks, found.chips), share_line(found.cases)]
    said = [[line.label, line.said, line.note] for line in first]
    yield from terminal_table.aligned(["First lines", "measured", ""], said, right=("measured",)).splitlines()
    yield ""
    parts = profile.step_parts
    named = [(name, first_page.part(profile, name), when) for name, when in PARTS]
    body = [
        [
            name,
            spoken(seconds, "s"),
            percent(seconds / parts.span if seconds is not None and parts.span else None),
            when,
        ]
        for name, seconds, when in (*named, ("all of them", parts.span, ""))
    ]
    of = f"Parts {first_page.parts_of(profile)}"
    yield from terminal_table.aligned([of, "time", "share", ""], body, right=("time", "share")).splitlines()
    yield ""
    found_rows = rows(profile, found.peaks)
    body = [list(_operation(row)) for row in found_rows[:MOST]]
    heads = [f"Operations: {len(found_rows):,}", "self", "of all", "runs", "median", "category", "of roofline"]
    yield from terminal_table.aligned(
        heads, body, right=("self", "of all", "runs", "median", "of roofline")
    ).splitlines()


def _operation(row: OperationRow) -> Iterator[str]:
    """An operation's cells in the list."""
    yield first_page.short(row.name)[:LONGEST]
    yield spoken(row.one.self_time, "s")
    yield percent(row.share)
    yield f"{row.one.count:,}"
    yield spoken(row.one.median, "s")
    yield row.one.category or row.one.opcode or row.one.part
    yield percent(row.efficiency)
