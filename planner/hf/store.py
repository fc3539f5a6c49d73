"""A config added to a models CSV, with what the transformer template makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.catalog import Value
from planner.catalog.columns import UnfitCellError, refuse_new_id
from planner.catalog.databases import Databases
from planner.errors import Place, UserError
from planner.formulas import explanation as trace
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import by_id
from planner.formulas.template import Row
from planner.hf.understand import suggested_id, understand
from planner.stored_rows import MODELS, completed, put

SHOWN = ("n_params_total", "n_params_active", "kv_bytes_per_token")


@dataclass(frozen=True)
class Added:
    """What was added: the id, its headline numbers, and notes on what was assumed or left out."""

    identifier: str
    quantities: Sequence[tuple[str, Value, str, str]]  # name, value, unit and label of rows of the template
    notes: Sequence[str]


def add(
    config: Path, to: Path, settings: Mapping[str, str], *, identifier: str = "", name: str = "", force: bool = False
) -> Added:
    """Add the model of a Hugging Face config.json to a models CSV. `settings` are columns that go before the config.

    Raises UserError as planner.hf.understand.understand and planner.stored_rows.put do; nothing is written then.
    """
    understood = understand(config, settings)
    cells = {"id": _new_id(identifier, config), **understood.cells}
    if name:
        cells["name"] = name
    row = completed(MODELS, cells, config)
    template = library.load("transformer")
    results = evaluate(template, Facts(model=row, by_id=by_id(template, Databases())))
    if unknown := trace.missing(results, SHOWN):
        what = f"N/A because {', '.join(unknown)}"
        raise UserError(what, place=Place(config), remedy="type it with --set column=value")
    put(MODELS, to, cells, force=force)
    quantities = [_quantity(template.row(shown), results) for shown in SHOWN]
    return Added(cells["id"], quantities, understood.notes)


def _new_id(typed: str, config: Path) -> str:
    """The id that was typed, or else the one that the config suggests. Raises UserError for one that can't be."""
    identifier = typed.strip(" ") or suggested_id(config)
    try:
        refuse_new_id(identifier)
    except UnfitCellError as error:
        place = Place(config, column="id")
        raise UserError(error.what, place=place, remedy=f"{error.remedy}, as in --id my-model") from None
    return identifier


def _quantity(row: Row, results: Results) -> tuple[str, Value, str, str]:
    label = f"{row.label}, {results.value('kv_dtype')}" if row.unit == "byte" else row.label
    return row.name, results.value(row.name), row.unit, label
