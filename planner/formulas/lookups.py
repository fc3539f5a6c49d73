"""What a plan's lookups read: the chosen model's row, the chosen chip's row, and the dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner import catalog
from planner.catalog import Value
from planner.formulas.evaluation import Facts
from planner.formulas.template import Row, Template


def facts(
    template: Template, model: str | None, hardware: str | None,
    models_csv: Path | None = None, hardware_csv: Path | None = None,
) -> Facts:  # fmt: skip
    """The facts of one plan; a table that the template doesn't read is not even opened.

    Raises UserError for an id that the table hasn't (with the nearest), or a fault in a table's file.
    """
    chosen = (
        ("model", catalog.load_models, models_csv, model),
        ("hardware", catalog.load_hardware, hardware_csv, hardware),
    )
    rows: dict[str, Mapping[str, Value]] = {}
    origins: dict[tuple[str, str], str] = {}
    for kind, load, path, text in chosen:
        if text:
            table = load(path)
            identifier = table.identify(text)
            rows[kind] = row = table.rows[identifier]
            for column in table.columns:
                source = row.get(column.source) or table.sources[identifier]
                origins[kind, column.name] = f"{identifier} in {table.path.name}: {source}"
    dtypes = bytes_of_dtypes() if template.of_kind("dtype") else None
    return Facts(rows.get("model"), rows.get("hardware"), dtypes, origins)


def bytes_of_dtypes() -> dict[str, float]:
    """Bytes per element of each dtype."""
    rows = catalog.load_dtypes().rows
    return {name: float(row["bytes_per_element"] or "nan") for name, row in rows.items()}


def only_on(row: Row) -> str:
    """The topology that alone has the number that a lookup reads; blank where any chip may have it."""
    return catalog.only_on(row.column[0]) if row.kind == "hardware" else ""
