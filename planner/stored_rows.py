"""Adds a row to a user's own CSV, or replaces one, leaving all other bytes unchanged as far as possible."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from planner import csvfile, progress
from planner.catalog import Table, Value, load_hardware, load_models
from planner.catalog.columns import Field
from planner.catalog.hardware_columns import HARDWARE_FIELDS
from planner.catalog.laws import HARDWARE_LAWS, MODEL_LAWS, Law
from planner.catalog.model_columns import MODEL_FIELDS
from planner.catalog.rows import Reader
from planner.errors import Place, UserError
from planner.xlsx.atomic import locked, refuse_if_unwritable, write_atomically


@dataclass(frozen=True)
class Kind:
    """The type of rows that a CSV holds.

    `first` are the columns of a new file, limited to those that its row has; others are added when a row needs them.
    `descriptive` columns are filled if the file has them but never added. `rename` is the remedy for choosing another
    id.
    """

    fields: Sequence[Field]
    laws: Sequence[Law]
    load: Callable[[Path], Table]
    first: Sequence[str]
    descriptive: Sequence[str]
    rename: str

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The fields by names and aliases."""
        return {name: field for field in self.fields for name in (field.name, *field.aliases)}

    def column_in(self, columns: Iterable[str], name: str) -> str:
        """A field's column among those of a file, under its name or an alias."""
        known = self.by_name
        return next((column for column in columns if known.get(column) is known[name]), name)


MODELS = Kind(
    MODEL_FIELDS, MODEL_LAWS, load_models,
    first=(
        "id", "name", "n_layers", "d_model", "d_ff", "n_heads", "n_kv_heads", "head_dim", "vocab", "tied_embeddings",
        "mlp_gated", "max_context", "mtp_layers", "source",
    ),
    descriptive=("mtp_layers", "source"), rename="choose another with --id",
)  # fmt: skip
HARDWARE = Kind(
    HARDWARE_FIELDS,
    HARDWARE_LAWS,
    load_hardware,
    first=[field.name for field in HARDWARE_FIELDS],
    descriptive=(),
    rename="choose another name",
)


@dataclass(frozen=True)
class Record:
    """The lines of one row in a file: 0-based, from `start` to before `end`."""

    start: int
    end: int
    cells: Sequence[str]

    @property
    def is_blank(self) -> bool:
        """Whether it is a blank line or one of only commas."""
        return not any(cell.strip() for cell in self.cells)


def completed(kind: Kind, cells: Mapping[str, str], path: Path) -> dict[str, Value]:
    """The complete row of a file that has only these cells. Raises UserError for an impossible row."""
    text = csvfile.written([cells, cells.values()])
    sheet = csvfile.CsvFile(path, tuple(cells), text.encode(), "")
    reader = Reader(sheet, kind.fields, kind.laws, has_lines=False)  # its lines aren't the file's
    try:
        (row,) = reader.read()
    except UserError as error:
        raise error.at(Place(path, column=error.place.column if error.place else None)) from None
    return reader.complete(row)


def put(kind: Kind, path: Path, cells: Mapping[str, str], *, force: bool = False) -> None:
    """Add a row to a CSV, creating the file if necessary; `force` replaces the row with the same id.

    A missing column is added if the row would mean something else without it. The file is written atomically, by one
    process at a time. Raises UserError if the file isn't such a CSV, is open, or already has the id.
    """
    with locked(path):
        _put(kind, path, cells, force=force)


def _put(kind: Kind, path: Path, cells: Mapping[str, str], *, force: bool) -> None:
    old = readable(kind, path, cells["id"], force=force)
    new = [name for name in kind.first if name in cells or name == "name" or kind.by_name[name].required]
    header = new if old is None else old.header
    placed = {kind.column_in(header, name): text for name, text in cells.items()}
    order = {name: at for at, name in enumerate(kind.by_name)}
    with progress.unsaid():
        added = sorted(_needed(kind, placed, header), key=lambda name: order[name])
    row = _line([placed.get(name, "") for name in [*header, *added]])
    if old is None:
        data = f"{_line([*header, *added])}\n{row}\n".encode()
    else:
        mark = csvfile.BOM if path.read_bytes().startswith(csvfile.BOM) else b""
        data = mark + _edited(old.text, added, row, cells["id"]).encode()
    write_atomically(path, data, check=lambda written: _check(kind, written, cells["id"]))


def readable(kind: Kind, path: Path, identifier: str, *, force: bool) -> csvfile.CsvFile | None:
    """The file that a row with this id can be added to. None if it doesn't exist. Raises UserError as `put` does."""
    refuse_if_unwritable(path)
    if not path.exists():
        return None
    sheet = csvfile.read(path, required=["id"], known=list(kind.by_name))
    lines = {row.id.lower(): row.line for row in Reader(sheet, kind.fields).read()}
    if lines:
        kind.load(path)  # raises for any other error in it
    if identifier.lower() in lines and not force:
        what, remedy = f'the id "{identifier}" is there already', f"{kind.rename}, or replace it with --force"
        raise UserError(what, place=Place(path, lines[identifier.lower()]), remedy=remedy)
    return sheet


def _needed(kind: Kind, placed: Mapping[str, str], header: Sequence[str]) -> list[str]:
    """The columns that a file lacks and without which the row would have another meaning."""
    kept = {name: text for name, text in placed.items() if name in header or name not in kind.descriptive}
    whole = completed(kind, kept, Path())
    for name in [name for name in kept if name not in header]:
        without = {other: text for other, text in kept.items() if other != name}
        try:
            same = completed(kind, without, Path()) == whole
        except UserError:
            same = False
        kept = without if same else kept
    return [name for name in kept if name not in header]


def _edited(text: str, added: Sequence[str], row: str, identifier: str) -> str:
    """A file's text with columns added at the right, and a row appended or replacing the one with its id."""
    lines = io.StringIO(text, newline="").readlines()
    header, *records = _records(lines)
    ending = lines[header.end - 1][len(lines[header.end - 1].rstrip("\r\n")) :] or "\n"
    at = [name.strip() for name in header.cells].index("id")
    for record in (header, *records):
        if not record.is_blank:
            last = lines[record.end - 1]
            body = last.rstrip("\r\n")
            more = "," + _line(added) if record is header else "," * len(added)
            lines[record.end - 1] = body + (more if added else "") + last[len(body) :]
    for record in records:
        if not record.is_blank and record.cells[at].strip().lower() == identifier.lower():
            lines[record.start : record.end] = [row + ending]
            return "".join(lines)
    lines[-1] = lines[-1] if lines[-1].endswith(("\r", "\n")) else lines[-1] + ending
    return "".join([*lines, row + ending])


def _records(lines: Sequence[str]) -> list[Record]:
    reader, records, start = csv.reader(lines, strict=True), [], 0
    for cells in reader:
        records.append(Record(start, reader.line_num, cells))
        start = reader.line_num
    return records


def _line(cells: Iterable[str]) -> str:
    return csvfile.written([cells]).removesuffix("\n")


def _check(kind: Kind, written: Path, identifier: str) -> None:
    with progress.unsaid():
        kind.load(written).row(identifier)
