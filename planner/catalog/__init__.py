"""Model, hardware, dtype, calibration and stack CSVs as checked tables of the columns that templates read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from planner import csvfile, data
from planner.catalog.calibrations import SHIPPED, ids_in, known_files, load_calibrations
from planner.catalog.checked_table import NOUNS, ById, Table, called, own_rows_first
from planner.catalog.columns import BlankRule, Column, Field, Value, warn_of_unknown
from planner.catalog.hardware_columns import DTYPE_FIELDS, HARDWARE_FIELDS, STACK_FIELDS
from planner.catalog.laws import HARDWARE_LAWS, MODEL_LAWS, Law, of_calibrations
from planner.catalog.model_columns import MODEL_FIELDS, MODEL_NOTES
from planner.catalog.own_stacks import own_stacks
from planner.catalog.rows import OwnRow, Reader
from planner.csvfile import looks_like
from planner.errors import Place, UserError

__all__ = [
    "FIELDS",
    "Column",
    "Table",
    "Value",
    "identified_stack",
    "load_calibrations",
    "load_dtypes",
    "load_hardware",
    "load_models",
    "load_stacks",
]

FIELDS = {"models": MODEL_FIELDS, "hardware": HARDWARE_FIELDS, "dtypes": DTYPE_FIELDS, "stacks": STACK_FIELDS}
"""The columns of each database."""
_AN = {"models": "a model", "hardware": "an accelerator", "dtypes": "a dtype", "stacks": "a stack"}
_SUCH_AS = {
    "models": "n_layers",
    "hardware": "peak_bf16",
    "dtypes": "bytes_per_element",
    "stacks": "train_matmul_factor",
}
_SHARED = frozenset({"id", "name", "year", "source", "note"})  # columns that several kinds of files share


def load_models(path: Path | None = None, *, only: bool = True) -> Table:
    """The models of a CSV, by default the shipped ones. Unless `only`, the shipped ones follow those of the CSV.

    Raises UserError for any fault in the file.
    """
    load = partial(_load, "models", fields=MODEL_FIELDS, laws=MODEL_LAWS, notes=MODEL_NOTES)
    return _own_first(load, path, data.folder("model_db") / "models.csv", only=only)


def load_hardware(path: Path | None = None, *, only: bool = True, is_calibrated: bool = False) -> Table:
    """The accelerators of a CSV, by default the shipped ones. Unless `only`, the shipped ones follow those of the CSV.

    With `is_calibrated` the calibrations that the CSV names must be known. Raises UserError for any fault in the file.
    """
    laws = (*HARDWARE_LAWS, of_calibrations(_calibration_ids)) if path and is_calibrated else HARDWARE_LAWS
    load = partial(_load, "hardware", fields=HARDWARE_FIELDS, laws=laws)
    return _own_first(load, path, data.folder("hardware_db") / "accelerators.csv", only=only)


def _own_first(load: Callable[[Path], Table], path: Path | None, ours: Path, *, only: bool) -> Table:
    """The user's table followed by the shipped one, or alone with `only`."""
    if path is None or only:
        return load(path or ours)
    own = load(path)
    return own_rows_first(replace(own, digests={called(path): digest for digest in own.digests.values()}), load(ours))


def only_on(column: str) -> str:
    """The choice for which alone a number of accelerators is needed, such as `topology=torus`; blank: always."""
    return next((field.only_on for field in HARDWARE_FIELDS if field.name == column), "")


def choices(column: str) -> tuple[str, ...]:
    """The texts that a column of accelerators may have; none if it may have any, or isn't one."""
    return next((field.choices for field in HARDWARE_FIELDS if field.name == column), ())


def given_by(column: str) -> tuple[str, ...]:
    """The columns of models or accelerators that give a blank number of another, if they are not blank themselves."""
    rule = next((field.blank for field in (*MODEL_FIELDS, *HARDWARE_FIELDS) if field.name == column), None)
    return rule.needed if isinstance(rule, BlankRule) else ()


@cache
def load_dtypes() -> Table:
    """The shipped dtypes."""
    return _load("dtypes", data.folder("hardware_db") / "dtypes.csv", DTYPE_FIELDS)


def load_stacks(path: Path | None = None) -> Table:
    """The shipped software stacks, preceded by those of a CSV of calibrations.

    Raises UserError for any fault in a file.
    """
    ours = _shipped_stacks()
    return ours if path is None else own_rows_first(ours, own_stacks(path, ours))


@cache
def _shipped_stacks() -> Table:
    return _load("stacks", data.folder("hardware_db") / "stacks.csv", STACK_FIELDS)


def identified_stack(text: str) -> str:
    """The id of a stack, shipped or in a loaded file of calibrations. Raises UserError with the nearest."""
    found = load_stacks()
    for path in reversed(known_files()):
        if not found.has(text) and path.is_file():
            found = load_stacks(path)
    return found.identify(text)


def _calibration_ids() -> set[str]:
    """The ids of the shipped calibrations, and of those in the files that were loaded.

    A fault of such a file is for the one who reads its numbers to tell.
    """
    found = ids_in(data.folder("hardware_db") / SHIPPED)
    for path in known_files():
        with suppress(UserError):
            found |= ids_in(path) if path.is_file() else set()
    return found


def _load(kind: str, path: Path, fields: Sequence[Field], laws: Sequence[Law] = (), notes: Sequence[str] = ()) -> Table:
    required = [field.name for field in fields if field.required]
    known = [name for field in fields for name in (field.name, *field.aliases)]
    sheet = csvfile.read(path, required=required, known=known)
    reader = Reader(sheet, fields, laws, has_ratios=kind == "hardware")
    if _SHARED.issuperset(reader.names):
        usual = f"give the CSV of {NOUNS[kind]}s, or add a column such as {_SUCH_AS[kind]}"
        remedy = looks_like(sheet.header, known) or usual
        raise UserError(f"no column says anything of {_AN[kind]}", place=Place(path, 1), remedy=remedy)
    warn_of_unknown(path, reader.unknown, known, notes)
    rows: dict[str, OwnRow] = {}
    seen: set[str] = set()
    for row in reader.read():
        if row.id.lower() in seen:
            what = f'the id "{row.id}" is there already'
            raise UserError(what, place=Place(path, row.line, "id"), remedy="give each row an id of its own")
        seen.add(row.id.lower())
        rows[row.id] = row
    if not rows:
        remedy = f"add a row for each {NOUNS[kind]}"
        raise UserError("there are no rows below the header", place=Place(path), remedy=remedy)
    columns = tuple(field.column for field in fields if field.shown)

    def shown(row: OwnRow) -> dict[str, Value]:
        cells = reader.complete(row)
        return {column.name: cells[column.name] for column in columns}

    def source(row: OwnRow) -> str:
        """The source columns of a row, else its file and line."""
        cells = zip(reader.names, row.values, strict=True)
        cited = dict.fromkeys(str(value) for name, value in cells if name.startswith("source") and value)
        return "; ".join(cited) or f"{path.name}, line {row.line}"

    of_file = {path.name: sheet.digest}
    return Table(kind, path, columns, ById(rows, shown), ById(rows, source), of_file, ById(rows, reader.filled))
