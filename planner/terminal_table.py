"""Plain-text tables that fit the terminal, and numbers formatted for reading."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Sequence


def digits(value: float | str | None, name: str = "") -> str:
    """A number for reading: whole numbers in full, others with seven significant digits, N/A for None."""
    if value is None:
        return "N/A"
    if isinstance(value, str):
        return value
    if name == "year":
        return f"{value:.0f}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.7g}" if 1e-4 <= abs(value) < 1e7 else f"{value:.6e}"


def joined(*texts: str) -> str:
    """The non-empty texts joined: `note; source`."""
    return "; ".join(text for text in texts if text)


def counted(number: int, noun: str) -> str:
    """A count with its noun: `1 scenario`, `3,000 scenarios`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[str] = ()) -> str:
    """A table with aligned columns, cut at the terminal's width; the columns named in `right` are right-aligned."""
    table = [list(header), *[list(row) for row in rows]]
    widths = [max(len(row[index]) for row in table) for index in range(len(header))]
    limit = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 0
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if title in right else cell.ljust(width)
            for title, cell, width in zip(header, row, widths, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        lines.append(line if not limit or len(line) <= limit else line[: limit - 1] + "…")
    return "\n".join(lines)
