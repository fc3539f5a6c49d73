"""A report as JSON: the plain data that every other format is made of, raw numbers with null for N/A."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from planner.report.data import Figure, ReportData

SCHEMA = 1  # raised when a field is renamed or taken away


def as_json(report: ReportData) -> str:
    """The text. A picture is its title, words and table; the drawing itself is left to HTML and PDF."""
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Data classes as objects, what is empty in a figure left out."""
    if isinstance(value, Figure):
        kept = {"value": value.value, "unit": value.unit, "text": value.text, "cell": value.cell}
        return kept | ({"why": value.why} if value.why else {}) | ({"derived": True} if value.is_derived else {})
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.name != "svg"
        }
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
