"""Adds a config to a models CSV, and calculates the transformer template for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner import progress
from planner.catalog.columns import Value, parse, refuse_new_id
from planner.catalog.databases import Databases
from planner.errors import Place, UserError, nearest
from planner.formulas import explanation as trace
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import by_id
from planner.formulas.template import Row
from planner.hf.config import Config, read
from planner.hf.contradictions import refuse_other_class, refuse_unread
from planner.hf.families import FAMILIES, language_model, of_architecture
from planner.hf.rules import ColumnValue, ModelRow
from planner.stored_rows import MODELS, completed, put
from planner.terminal_table import counted
from planner.typed_numbers import echo, is_scaled

SHOWN = ("n_params_total", "n_params_active", "kv_bytes_per_token")


@dataclass(frozen=True)
class AddedModel:
    """The added model: its id, headline numbers, and notes on what was assumed or left out."""

    identifier: str
    quantities: Sequence[tuple[str, Value, str, str]]  # (name, value, unit, label) of template rows
    notes: Sequence[str]


def add(
    config: Path, to: Path, settings: Mapping[str, str], *, identifier: str = "", name: str = "", force: bool = False
) -> AddedModel:
    """Add the model of a Hugging Face config.json to a models CSV. `settings` are columns that override the config.

    Raises UserError as `understand` and planner.stored_rows.put do; nothing is written then.
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
    return AddedModel(cells["id"], quantities, understood.notes)


def _new_id(typed: str, config: Path) -> str:
    """The typed id, or else the one suggested by the config. Raises UserError for an invalid one."""
    identifier = typed.strip(" ") or suggested_id(config)
    try:
        refuse_new_id(identifier)
    except UserError as error:
        place = Place(config, column="id")
        raise UserError(error.what, place=place, remedy=f"{error.remedy}, as in --id my-model") from None
    return identifier


def _quantity(row: Row, results: Results) -> tuple[str, Value, str, str]:
    label = f"{row.label}, {results.value('kv_dtype')}" if row.unit == "byte" else row.label
    return row.name, results.value(row.name), row.unit, label


FIELDS = MODELS.by_name
_HEADS = ("CausalLM", "LMHead", "ConditionalGeneration")


@dataclass(frozen=True)
class Understood:
    """A model's columns as cell texts, and notes for the user."""

    cells: Mapping[str, str]
    notes: Sequence[str]


def understand(path: Path, settings: Mapping[str, str]) -> Understood:
    """The row for a config; `settings` are columns typed by the user, which override the config.

    Raises UserError for: no config (see planner.hf.config.read), an unknown model_type, a field of a wrong type, a
    required field neither present nor typed, a setting that isn't a column or doesn't fit it, a draft head,
    contradictory fields.
    """
    typed = {name: _typed(name, text) for name, text in settings.items()}
    fields = read(path)
    config = language_model(path, fields)
    family = FAMILIES[config.model_type.lower()]
    renamed = {MODELS.column_in(family, name): name for name in settings}
    refuse_unread(config, {*family, *settings})
    row = _row(config, typed)
    cells = {column: _text(cell) for column, cell in row.cells().items()}
    other = of_architecture(config.fields)
    if FAMILIES.get(other, family) is not family:
        refuse_other_class(config, _completed(config, typed), lambda: _completed(_read_as(config, other), typed))
    cells |= {column: _written(name, settings[name], typed[name]) for column, name in renamed.items()}
    cells.setdefault("source", _source(path, fields))
    _note(config, fields, row)
    return Understood({column: text for column, text in cells.items() if text}, list(config.notes))


def _row(config: Config, typed: Mapping[str, Value]) -> ModelRow:
    """The row of a config's family; typed columns override the config."""
    family = FAMILIES[config.model_type.lower()]
    return ModelRow(config, family, {MODELS.column_in(family, name): _cell(value) for name, value in typed.items()})


def _read_as(config: Config, model_type: str) -> Config:
    """The config read as another model_type, with its own notes."""
    return Config(config.path, {**config.fields, "model_type": model_type}, config.defaults, config.prefix)


def _completed(config: Config, typed: Mapping[str, Value]) -> Mapping[str, Value]:
    """The complete row, so that a missing column equals one written with its default."""
    cells = {column: _text(cell) for column, cell in _row(config, typed).cells().items()}
    with progress.unsaid():
        return completed(MODELS, {"id": "model", **cells}, config.path)


def suggested_id(path: Path) -> str:
    """An id for a config: the file's name unless it is config.json, else the checkpoint's name, else the folder's."""
    if path.stem.lower() != "config":
        return path.stem
    checkpoint = str(read(path).get("_name_or_path") or "")
    owner, slash, name = checkpoint.partition("/")
    return name if slash and owner.strip(".") and name and "/" not in name else path.resolve().parent.name


def _typed(name: str, text: str) -> Value:
    if name not in FIELDS:
        raise UserError(f"--set {name}={text}: no column {name}", remedy=nearest(name, FIELDS))
    if name == "id":
        raise UserError(f"--set id={text}: the id has an option of its own", remedy=f"write --id {text}")
    try:
        return parse(FIELDS[name], text)
    except UserError as error:
        raise UserError(f"--set {name}={text}: {error.what}", remedy=error.remedy) from None


def _written(name: str, text: str, value: Value) -> str:
    """A setting as written to the CSV: as typed, but a number with a unit or arithmetic in plain digits."""
    if FIELDS[name].kind != "count" or not isinstance(value, float) or not is_scaled(text):
        return text
    echo(name, text, FIELDS[name].unit, value)
    return str(_cell(value))


def _cell(value: Value) -> ColumnValue:
    return int(value) if isinstance(value, float) else value


def _text(cell: ColumnValue) -> str:
    return "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)


def _source(path: Path, fields: Mapping[str, Any]) -> str:
    checkpoint = fields.get("_name_or_path")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    whose = f" of {checkpoint[:100]}" if isinstance(checkpoint, str) and checkpoint else ""
    text = f"HF {path.name}{whose}, SHA-256 {digest}"
    return "".join(character if character.isprintable() else "?" for character in text)


def _note(config: Config, fields: Mapping[str, Any], row: ModelRow) -> None:
    mtp = row.count("mtp_layers")
    if mtp:
        config.note(f"{counted(mtp, 'layer')} of multi-token prediction (MTP) not counted")
    if row.count("n_layers") == 1:
        config.note("it has 1 layer: if it is a draft head (EAGLE), add the model that it drafts for")
    architectures = fields.get("architectures")
    for name in architectures if isinstance(architectures, list) else []:
        if not any(head in str(name) for head in _HEADS):
            config.note(f"architectures says {name}: counted with the head of a language model")
