"""A report as Markdown that code hosts render: tables, drawings from files beside it, every text escaped.

Without those files the memory is drawn as bars of characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from planner.report.data import Picture, ReportData
from planner.report.html import grouped
from planner.report.jinja import rendered

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$@&])")
_BEGINS = re.compile(r"^(\s*)([-+=]|\d+[.)])")
_SCHEME = re.compile(r"\b(https?|ftp)(?=://)|\b(www)(?=\.)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_TICKS = re.compile(r"`{3,}")
BAR = 40  # characters
SHARES = {"memory-serving": "█▓▒░▞▚", "step-time-decode": "", "memory-training": "█▓▒░▞▚"}


def markdown(report: ReportData, template: Path | None = None, links: Mapping[str, str] | None = None) -> str:
    """The text; `links` are those to the drawings, by the pictures' ids. Raises UserError as `rendered` does."""
    sketches = {} if links else _sketches(report)
    values = {"report": report, "untold": grouped(report.untold), "sketches": sketches, "links": links or {}}
    filters = {
        "md": escaped,
        "mdcode": lambda text: text.replace("`", "'"),
        "mdfence": lambda text: _TICKS.sub("'''", text),
    }
    text = rendered("report.md", template, values, filters, escapes=False)
    return re.sub(r"\n{3,}", "\n\n", text).lstrip("\n")


def escaped(text: str) -> str:
    """A text that shows as it is, in a cell of a table or elsewhere: one line, nothing in it is markup or a link."""
    line = _CONTROL.sub(" ", str(text)).strip()
    line = _SPECIAL.sub(r"\\\1", line).replace("\\&", "&amp;").replace("\\<", "&lt;").replace("\\>", "&gt;")
    line = line.replace("\\@", "@\N{WORD JOINER}") if "@" in line else line
    line = _BEGINS.sub(r"\1\\\2", line) if not re.match(r"\d", line) else re.sub(r"^(\d+)([.)])(\s)", r"\1\\\2\3", line)
    return _SCHEME.sub(lambda match: f"{match[0]}\N{WORD JOINER}", line)


def _sketches(report: ReportData) -> dict[str, str]:
    """The memory as bars of characters, where there is a capacity to fill."""
    return {picture.id: _bars(picture) for picture in report.pictures if SHARES.get(picture.id)}


def _bars(picture: Picture) -> str:
    """A bar for each scenario: each part in its own character, up to the capacity, which the last column holds."""
    columns, marks = picture.table.columns, SHARES[picture.id]
    sums = ("memory_bytes_total", "memory_bytes_per_chip")
    parts = [at for at, column in enumerate(columns) if 0 < at < len(columns) - 1 and column.name not in sums]
    wide = min(36, max(len(row[0].text) for row in picture.table.rows))
    lines = ["  ".join(f"{marks[at % len(marks)]} {columns[part].label}" for at, part in enumerate(parts))]
    for row in picture.table.rows:
        room = row[-1].value
        name = " ".join(row[0].text.split())[:wide].ljust(wide)
        if not isinstance(room, float) or room <= 0:
            lines.append(f"{name} N/A")
            continue
        bar, sum_of = "", 0.0
        for at, part in enumerate(parts):
            value = row[part].value
            sum_of += value if isinstance(value, float) else 0.0
            bar += marks[at % len(marks)] * (min(2 * BAR, round(BAR * sum_of / room)) - len(bar))
        lines.append(f"{name} {bar.ljust(BAR)[:BAR]}|{bar[BAR:]}")
    return "\n".join(lines)
