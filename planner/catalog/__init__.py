"""Model, hardware and dtype CSVs as checked tables of the columns that templates read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Generic, TypeVar

from planner import csvfile, data
from planner.catalog.columns import Column, Field, Value, warn_of_unknown
from planner.catalog.hardware_columns import DTYPE_FIELDS, HARDWARE_FIELDS
from planner.catalog.laws import HARDWARE_LAWS, MODEL_LAWS, Law
from planner.catalog.model_columns import MODEL_FIELDS, MODEL_NOTES
from planner.catalog.rows import Reader
from planner.errors import Place, UserError, nearest

__all__ = ["Column", "Table", "Value", "load_dtypes", "load_hardware", "load_models"]

T = TypeVar("T")
_NOUNS = {"models": "model", "hardware": "accelerator", "dtypes": "dtype"}
_AN = {"models": "a model", "hardware": "an accelerator", "dtypes": "a dtype"}
_SUCH_AS = {"models": "n_layers", "hardware": "peak_bf16", "dtypes": "bytes_per_element"}
_SHARED = frozenset({"id", "name", "year", "source", "note"})  # what a file of another kind may say as well


class ById(Mapping[str, T], Generic[T]):
    """What a file says of each id, in its order: read from the place where the id's row begins when it is asked for."""

    def __init__(self, begins: Mapping[str, int], read: Callable[[int], T]) -> None:
        self._begins, self._read = begins, read

    def __getitem__(self, identifier: str) -> T:
        return self._read(self._begins[identifier])

    def __iter__(self) -> Iterator[str]:
        return iter(self._begins)

    def __len__(self) -> int:
        return len(self._begins)


@dataclass(frozen=True)
class Table:
    """A database file: a row of values for each id, in the file's order. None is a number not known (N/A).

    `sources` says where each row comes from; `digest` is the SHA-256 of the file.
    """

    kind: str
    path: Path
    columns: tuple[Column, ...]
    rows: Mapping[str, dict[str, Value]]
    sources: Mapping[str, str]
    digest: str

    def identify(self, text: str) -> str:
        """The id that a text means: case and punctuation don't count, so Llama-3-70B is llama3-70b.

        Raises UserError naming the nearest id.
        """
        found = self._find(text)
        if found is None:
            raise UserError(f'no {_NOUNS[self.kind]} "{text}"', remedy=nearest(text, self.rows))
        return found

    def has(self, text: str) -> bool:
        """Whether a text means one of the ids, as `identify` reads it."""
        return self._find(text) is not None

    def _find(self, text: str) -> str | None:
        text = text.strip()
        if text in self.rows:
            return text
        return self._lowered.get(text.lower()) or self._lettered.get(_letters(text))

    def row(self, identifier: str) -> Mapping[str, Value]:
        """The row of an id, as `identify` finds it. Raises UserError as it does."""
        return self.rows[self.identify(identifier)]

    def ids(self) -> list[str]:
        """The ids in the file's order."""
        return list(self.rows)

    @cached_property
    def _lowered(self) -> dict[str, str]:
        """Each id by its lower case."""
        return {identifier.lower(): identifier for identifier in self.rows}

    @cached_property
    def _lettered(self) -> dict[str, str]:
        """Each id by its letters and digits alone, where they are one id's."""
        found: dict[str, str] = {}
        for identifier in self.rows:
            letters = _letters(identifier)
            found[letters] = "" if letters in found else identifier
        return found


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def load_models(path: Path | None = None) -> Table:
    """The models of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("models", path or data.folder("model_db") / "models.csv", MODEL_FIELDS, MODEL_LAWS, MODEL_NOTES)


def load_hardware(path: Path | None = None) -> Table:
    """The accelerators of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("hardware", path or data.folder("hardware_db") / "accelerators.csv", HARDWARE_FIELDS, HARDWARE_LAWS)


def only_on(column: str) -> str:
    """The topology that alone has the number of a column of the accelerators; blank where any chip may have it."""
    return next((field.only_on for field in HARDWARE_FIELDS if field.name == column), "")


def load_dtypes(path: Path | None = None) -> Table:
    """The dtypes of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("dtypes", path or data.folder("hardware_db") / "dtypes.csv", DTYPE_FIELDS)


def _load(kind: str, path: Path, fields: Sequence[Field], laws: Sequence[Law] = (), notes: Sequence[str] = ()) -> Table:
    required = [field.name for field in fields if field.required]
    known = [name for field in fields for name in (field.name, *field.aliases)]
    sheet = csvfile.read(path, required=required, known=known)
    reader = Reader(sheet, fields, laws)
    if _SHARED.issuperset(reader.names):
        remedy = f"give the CSV of {_NOUNS[kind]}s, or add a column such as {_SUCH_AS[kind]}"
        raise UserError(f"no column says anything of {_AN[kind]}", place=Place(path, 1), remedy=remedy)
    warn_of_unknown(path, reader.unknown, known, notes)
    begins: dict[str, int] = {}
    seen: set[str] = set()
    for line, begin, identifier in reader.read():
        lowered = identifier.lower()
        if lowered in seen:
            what = f'the id "{identifier}" is there already'
            raise UserError(what, place=Place(path, line, "id"), remedy="give each row an id of its own")
        seen.add(identifier if lowered == identifier else lowered)
        begins[identifier] = begin
    if not begins:
        remedy = f"add a row for each {_NOUNS[kind]}"
        raise UserError("there are no rows below the header", place=Place(path), remedy=remedy)
    columns = tuple(field.column for field in fields if field.shown)

    def row(begin: int) -> dict[str, Value]:
        cells = reader.complete(reader.row_at(begin))
        return {column.name: cells[column.name] for column in columns}

    return Table(kind, path, columns, ById(begins, row), ById(begins, partial(_source, reader, path)), sheet.digest)


def _source(reader: Reader, path: Path, begin: int) -> str:
    """Where the row that begins at a byte is from: what its source columns say, else its file and line."""
    cells = zip(reader.names, reader.row_at(begin), strict=True)
    cited = dict.fromkeys(str(value) for name, value in cells if name.startswith("source") and value)
    return "; ".join(cited) or f"{path.name}, line {reader.line_at(begin)}"
