"""The data of a plan's lookups: the chosen model's row, the chosen chip's row, and tables looked up by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner import catalog
from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.formulas.evaluation import Facts
from planner.formulas.template import BY_ID, Row, Template
from planner.number_text import few


def facts(template: Template, model: str | None, hardware: str | None, databases: Databases | None = None) -> Facts:
    """The facts of one plan, by default from the shipped databases; tables that aren't used aren't even opened.

    Raises UserError for an unknown id (with the nearest), or a fault in a table's file.
    """
    databases = databases or Databases()
    rows: dict[str, Mapping[str, Value]] = {}
    origins: dict[tuple[str, str], str] = {}
    for kind, text in (("model", model), ("hardware", hardware)):
        if text:
            table = databases.models if kind == "model" else databases.hardware
            identifier = table.identify(text)
            rows[kind] = row = table.rows[identifier]
            filled = table.filled.get(identifier, {})
            for column in table.columns:
                source = str(row.get(column.source) or table.sources[identifier])
                said = _said(source, filled.get(column.name))
                origins[kind, column.name] = f"{identifier} in {table.path.name}: {said}"
    return Facts(rows.get("model"), rows.get("hardware"), by_id(template, databases), origins)


def _said(source: str, follows: Sequence[str] | None) -> str:
    """The source of a cell; of a blank one that is filled in, what it follows from, or that it is a default."""
    if follows is None:
        return source
    return f"not given, follows from {few(follows)}; {source}" if follows else "not given, planner's default"


def by_id(template: Template, databases: Databases) -> dict[str, Mapping[str, Mapping[str, Value]]]:
    """The rows of each table that a template looks up by id, by the kind of lookup.

    Raises UserError as loading tables does.
    """
    return {kind: databases.of_kinds([kind])[0].rows for kind in BY_ID if template.of_kind(kind)}


def only_on(row: Row) -> tuple[str, str]:
    """The text row and its value for which alone a lookup's number is needed; blank if it always is."""
    setting, _, text = (catalog.only_on(row.column[0]) if row.kind == "hardware" else "").partition("=")
    return setting, text
