"""Model, hardware and dtype CSVs as checked tables of the columns that templates read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from planner import csvfile, data
from planner.catalog.columns import Column, Field, Value
from planner.catalog.hardware_columns import DTYPE_FIELDS, HARDWARE_FIELDS
from planner.catalog.model_columns import MODEL_FIELDS
from planner.catalog.rows import Given, Reader
from planner.errors import Place, UserError, nearest

__all__ = ["Column", "Rows", "Table", "Value", "load_dtypes", "load_hardware", "load_models"]

_NOUNS = {"models": "model", "hardware": "accelerator", "dtypes": "dtype"}


class Rows(Mapping[str, dict[str, Value]]):
    """Rows by id, in the file's order. A row is completed when it is asked for."""

    def __init__(self, reader: Reader, given: Mapping[str, Given], shown: Sequence[str]) -> None:
        self._reader, self._given, self._shown = reader, given, shown

    def __getitem__(self, identifier: str) -> dict[str, Value]:
        row = self._reader.complete(self._given[identifier])
        return {name: row[name] for name in self._shown}

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


@dataclass(frozen=True)
class Table:
    """A database file: a row of values for each id, in the file's order. None is a number not known (N/A).

    `sources` says where each row comes from; `digest` is the SHA-256 of the file.
    """

    kind: str
    path: Path
    columns: tuple[Column, ...]
    rows: Rows
    sources: dict[str, str]
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
        return self._ids.get(text.strip().lower()) or self._ids.get(_letters(text))

    def row(self, identifier: str) -> Mapping[str, Value]:
        """The row of an id, as `identify` finds it. Raises UserError as it does."""
        return self.rows[self.identify(identifier)]

    def ids(self) -> list[str]:
        """The ids in the file's order."""
        return list(self.rows)

    @cached_property
    def _ids(self) -> dict[str, str]:
        """Each id by its lower case, and by its letters and digits alone where they are one id's."""
        loose: dict[str, list[str]] = {}
        for identifier in self.rows:
            loose.setdefault(_letters(identifier), []).append(identifier)
        unique = {letters: found[0] for letters, found in loose.items() if len(found) == 1}
        return unique | {identifier.lower(): identifier for identifier in self.rows}


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def load_models(path: Path | None = None) -> Table:
    """The models of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("models", path or data.folder("model_db") / "models.csv", MODEL_FIELDS)


def load_hardware(path: Path | None = None) -> Table:
    """The accelerators of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("hardware", path or data.folder("hardware_db") / "accelerators.csv", HARDWARE_FIELDS)


def load_dtypes(path: Path | None = None) -> Table:
    """The dtypes of a CSV, by default the shipped ones. Raises UserError for any fault in the file."""
    return _load("dtypes", path or data.folder("hardware_db") / "dtypes.csv", DTYPE_FIELDS)


def _load(kind: str, path: Path, fields: Sequence[Field]) -> Table:
    required = [field.name for field in fields if field.required]
    known = [name for field in fields for name in (field.name, *field.aliases)]
    sheet = csvfile.read(path, required=required, known=known)
    columns = tuple(field.column for field in fields if field.shown)
    reader = Reader(sheet, fields)
    given: dict[str, Given] = {}
    sources: dict[str, str] = {}
    citing = [at for at, name in enumerate(reader.names) if name.startswith("source")]
    seen: set[str] = set()
    named = reader.names.index("id")
    for line, cells in reader.read():
        identifier = str(cells[named])
        if identifier.lower() in seen:
            what = f'the id "{identifier}" is there already'
            raise UserError(what, place=Place(path, line, "id"), remedy="give each row an id of its own")
        seen.add(identifier.lower())
        given[identifier] = cells
        cited = dict.fromkeys(str(cells[at]) for at in citing if cells[at])
        sources[identifier] = "; ".join(cited) or f"{path.name}, line {line}"
    if not given:
        remedy = f"add a row for each {_NOUNS[kind]}"
        raise UserError("there are no rows below the header", place=Place(path), remedy=remedy)
    rows = Rows(reader, given, [column.name for column in columns])
    return Table(kind, path, columns, rows, sources, sheet.digest)
