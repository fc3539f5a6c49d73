"""A report as one HTML file: style, script and drawings within it, nothing asked of a network."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from planner.report import svg
from planner.report.data import Check, Figure, ReportData, Table
from planner.report.jinja import page, rendered
from planner.report.svg import Drawing

_URL = re.compile(r"(https?://[^\s<>\"'();,]+[^\s<>\"'();,.])")
_CODE = re.compile(r"`([^`]+)`")


def html(report: ReportData, template: Path | None = None) -> str:
    """The page. Raises UserError as `rendered` does."""
    from markupsafe import Markup, escape

    script = page("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    ids = [scenario.id for scenario in report.scenarios]

    def scenario_of(table: Table, row: tuple[Figure, ...]) -> int | None:
        """The scenario that a row is of, in a table that has one for each."""
        own = row[0].value
        return (
            ids.index(own) if table.columns[0].name == "scenario" and ids.count(str(own)) == 1 and own in ids else None
        )

    def linked(text: str) -> Markup:
        parts = _URL.split(text)
        return Markup("").join(
            Markup('<a href="{0}" rel="noopener noreferrer">{0}</a>').format(part) if at % 2 else escape(part)
            for at, part in enumerate(parts)
        )

    def code(text: str) -> Markup:
        parts = _CODE.split(text)
        return Markup("").join(
            Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
        )

    values = {
        "report": report,
        "sections": _sections(report),
        "untold": grouped(report.untold),
        "swatches": [Markup(swatch(index)) for index in range(len(report.scenarios))],
        "scenario_of": scenario_of,
        "css": Markup(page("report.css")),
        "script": Markup(script),
        "script_digest": f"sha256-{digest}",
    }
    return rendered("report.html", template, values, {"linked": linked, "code": code, "drawing": Markup}, escapes=True)


def grouped(checks: tuple[Check, ...]) -> list[tuple[str, str, list[str]]]:
    """Checks that can't be told for the same reason, with the scenarios that they are of."""
    found: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        found.setdefault((check.label, check.why), []).append(check.scenario)
    return [(label, why, names) for (label, why), names in found.items()]


def swatch(index: int) -> str:
    """A scenario's mark, as its points have it."""
    drawing = Drawing(14)
    svg.mark(drawing, index, 7, 7, 4.6, class_=f"f{index % len(svg.PALETTE)}")
    return f'<svg class="swatch" viewBox="0 0 14 14" aria-hidden="true">{"".join(drawing.parts)}</svg>'


def _sections(report: ReportData) -> list[tuple[str, str]]:
    """The links of the page's navigation, to the sections that it has."""
    found = [
        ("checks", "Checks", True), ("summary", "Summary", True), ("pictures", "Pictures", bool(report.pictures)),
        ("headlines", "Numbers", bool(report.headlines)), ("sweep", "Sweep", bool(report.sweeps)),
        ("comparison", "Measured", report.comparison is not None), ("assumptions", "Assumptions", True),
        ("provenance", "Provenance", True),
    ]  # fmt: skip
    return [(id, title) for id, title, there in found if there]
