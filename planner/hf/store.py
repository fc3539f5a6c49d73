"""A config added to a models CSV, with what the transformer template makes of it.

The row is appended or takes the place of one, and every other byte is left where it can be.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner import csvfile
from planner.catalog import Value, load_models
from planner.catalog.columns import UnfitCellError, refuse_new_id
from planner.catalog.databases import Databases
from planner.catalog.laws import MODEL_LAWS
from planner.catalog.model_columns import MODEL_FIELDS
from planner.catalog.rows import Reader
from planner.errors import Place, UserError
from planner.formulas import explanation as trace
from planner.formulas import library
from planner.formulas.evaluation import Facts, Results, evaluate
from planner.formulas.lookups import by_id
from planner.formulas.template import Row
from planner.hf.understand import FIELDS, column_in, suggested_id, understand
from planner.xlsx.atomic import write_atomically

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

    Raises UserError as planner.hf.understand.understand and `put` do; nothing is written then.
    """
    understood = understand(config, settings)
    cells = {"id": _new_id(identifier, config), **understood.cells}
    if name:
        cells["name"] = name
    row = completed(cells, config)
    template = library.load("transformer")
    results = evaluate(template, Facts(model=row, by_id=by_id(template, Databases())))
    if unknown := trace.missing(results, SHOWN):
        what = f"N/A because {', '.join(unknown)}"
        raise UserError(what, place=Place(config), remedy="type it with --set column=value")
    put(to, cells, force=force)
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


# A new file has these columns; further ones come as a row needs them.
_FIRST = (
    "id", "name", "n_layers", "d_model", "d_ff", "n_heads", "n_kv_heads", "head_dim", "vocab", "tied_embeddings",
    "mlp_gated", "max_context", "mtp_layers", "source",
)  # fmt: skip
_DESCRIPTIVE = ("mtp_layers", "source")  # filled where a file has the column, which isn't added for them
_ORDER = {name: at for at, name in enumerate(FIELDS)}
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Record:
    """Lines of a file that hold one row: from `start` to before `end`, counted from 0."""

    start: int
    end: int
    cells: Sequence[str]

    @property
    def is_blank(self) -> bool:
        """Whether it is a blank line, or one of commas alone."""
        return not any(cell.strip() for cell in self.cells)


def completed(cells: Mapping[str, str], path: Path) -> dict[str, Value]:
    """The row of a file that has these cells alone, complete. Raises UserError for a row that can't be."""
    text = _line(cells) + "\n" + _line(cells.values()) + "\n"
    reader = Reader(csvfile.Sheet(path, tuple(cells), text.encode(), ""), MODEL_FIELDS, MODEL_LAWS)
    try:
        ((_, start, _),) = reader.read()
    except UserError as error:
        raise error.at(Place(path, column=error.place.column if error.place else None)) from None
    return reader.complete(reader.row_at(start))


def put(path: Path, cells: Mapping[str, str], *, force: bool = False) -> None:
    """Add a row to a models CSV, which is made where there is none; `force` replaces the row of the same id.

    A column that the file hasn't is added where the row means something else without it. The file is written
    whole or not at all. Raises UserError: the file is no models CSV, or open, or has the id already.
    """
    old = _read(path, cells["id"], force=force) if path.exists() else None
    new = [name for name in _FIRST if name in cells or name == "name" or FIELDS[name].required]
    header = new if old is None else old.header
    placed = {column_in(header, name): text for name, text in cells.items()}
    added = sorted(_needed(placed, header), key=lambda name: _ORDER[name])
    row = _line([placed.get(name, "") for name in [*header, *added]])
    if old is None:
        data = f"{_line([*header, *added])}\n{row}\n".encode()
    else:
        mark = _BOM if path.read_bytes().startswith(_BOM) else b""
        data = mark + _edited(old.text, added, row, cells["id"]).encode()
    write_atomically(path, data, check=lambda written: _check(written, cells["id"]))


def _read(path: Path, identifier: str, *, force: bool) -> csvfile.Sheet:
    sheet = csvfile.read(path, required=["id"], known=list(FIELDS))
    reader = Reader(sheet, MODEL_FIELDS)
    lines = {known.lower(): line for line, _, known in reader.read()}
    if lines:
        load_models(path)  # raises what else may be wrong with it
    if identifier.lower() in lines and not force:
        what, remedy = f'the id "{identifier}" is there already', "choose another with --id, or replace it with --force"
        raise UserError(what, place=Place(path, lines[identifier.lower()]), remedy=remedy)
    return sheet


def _needed(placed: Mapping[str, str], header: Sequence[str]) -> list[str]:
    """The columns that a file lacks and without which the row would mean something else."""
    kept = {name: text for name, text in placed.items() if name in header or name not in _DESCRIPTIVE}
    whole = completed(kept, Path())
    for name in [name for name in kept if name not in header]:
        without = {other: text for other, text in kept.items() if other != name}
        try:
            same = completed(without, Path()) == whole
        except UserError:
            same = False
        kept = without if same else kept
    return [name for name in kept if name not in header]


def _edited(text: str, added: Sequence[str], row: str, identifier: str) -> str:
    """A file's text with columns added at the right, and a row appended or in the place of the one of its id."""
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
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(list(cells))
    return stream.getvalue()


def _check(written: Path, identifier: str) -> None:
    load_models(written).row(identifier)
