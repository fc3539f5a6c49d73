"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made_field

from planner import plausible, progress
from planner.catalog.columns import BlankRule, Completion, Field, UnfitCellError, Value, is_own
from planner.catalog.columns import parse as parse
from planner.catalog.laws import Law, bound
from planner.csvfile import CsvFile
from planner.errors import Place, UserError, closest
from planner.typed_numbers import is_scaled, said

BATCH = 500  # rows that are checked together
REMEMBERED = 4096  # texts of a column whose values are kept
MOST_TOLD = 24  # numbers of a file that are told how they are read, or that they are doubtful
NEAR_MISS = 0.85  # similarity from which an unknown column counts as a misspelt one

OwnCells = tuple[Value, ...]  # what a row's own cells hold
Batch = Sequence[tuple[int, int, Sequence[str]]]  # rows with their lines and the bytes where they begin


class _Texts(dict[str, Value]):
    """The values of a column's texts. Most columns hold a few again and again: those are remembered.

    `telling` are the texts of which there is something to say: how they are read, or that they are doubtful.
    """

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field
        self.telling: set[str] = set()

    def __missing__(self, text: str) -> Value:
        value = parse(self.field, text)
        if len(self) < REMEMBERED:
            self[text] = value
        if isinstance(value, float) and self.field.kind != "flag" and (is_scaled(text) or self._doubt(value)):
            self.telling.add(text)
        return value

    def tell(self, text: str, place: Place) -> None:
        """Have the command say it once."""
        value = self[text]
        assert isinstance(value, float), "what is told is of a number"
        if is_scaled(text):
            progress.remark(f"{place}: {text.strip()}, read as {said(value, self.field.unit)}")
        if doubtful := self._doubt(value):
            progress.warn(f"{place}: {doubtful}")

    def _doubt(self, value: float) -> str:
        return plausible.doubt(self.field.name, self.field.unit, value)

    def learn(self, texts: Sequence[str]) -> None:
        """Read those of some texts that aren't remembered. Raises CellError."""
        if not all(map(self.__contains__, texts)):
            for text in set(texts).difference(self):
                self[text]


@dataclass
class _Judged:
    """Required fields and laws, the places among a reader's names of the columns that decide on them, and the rules.

    `lawful` are the texts of these columns together, of which some were found to be so.
    """

    places: tuple[int, ...]
    required: list[str] = made_field(default_factory=list)
    laws: list[Law] = made_field(default_factory=list)
    rules: list[tuple[str, BlankRule]] = made_field(default_factory=list)
    lawful: set[tuple[str, ...]] = made_field(default_factory=set)


class Reader:
    """The rows of one file: its own cells are read and checked at once, the rest is filled in on demand.

    `names` are the fields that the file has a column for; `unknown` are its other columns, which aren't read.
    `read` is cheap enough for a million rows. What it says of a number names its line where the file `has_lines`.
    """

    def __init__(
        self, sheet: CsvFile, fields: Sequence[Field], laws: Sequence[Law] = (), *, has_lines: bool = True
    ) -> None:
        self._sheet, self._has_lines = sheet, has_lines
        self._columns = _bind(sheet, fields)
        self.names = tuple(field.name for field in self._columns.values())
        self.unknown = tuple(name for name in sheet.header if name not in self._columns)
        self._completion = Completion(fields, self.names)
        self._required = [field.name for field in fields if field.required]
        self._laws = [*(bound(field) for field in fields if field.at_most), *laws]
        self._places = [sheet.header.index(name) for name in self._columns]
        self._texts = [_Texts(field) for field in self._columns.values()]
        self._told = 0  # numbers of which something was said
        self._judged = self._what_is_judged()

    def read(self) -> Iterator[tuple[int, int, str]]:
        """Each row as (line number, the byte where it begins, its id).

        Raises UserError for a cell that its column can't hold, a required one left blank, numbers that can't be
        together. Rows are checked many at a time, column by column: what a column has had needs no look.
        """
        named = self._places[self.names.index("id")]
        for batch in _batches(self._sheet.placed()):
            self._verify(batch, named)
            for line, start, cells in batch:
                yield line, start, cells[named].strip()

    def _verify(self, batch: Batch, named: int) -> None:
        columns = list(zip(*(cells for _, _, cells in batch), strict=True))
        try:
            for at, texts in zip(self._places, self._texts, strict=True):
                texts.learn(columns[at])
        except UnfitCellError:
            for line, _, cells in batch:
                self._check_cells(line, cells)
        for at, header, texts in zip(self._places, self._columns, self._texts, strict=True):
            if texts.telling:
                self._tell(batch, at, header, texts)
        if not all(map(str.strip, columns[named])) or not all(self._is_lawful(each, columns) for each in self._judged):
            for line, _, cells in batch:  # one of them is at fault: the first is told
                self._check(line, self._parsed(cells))

    def _is_lawful(self, judged: _Judged, columns: Sequence[Sequence[str]]) -> bool:
        """Whether nothing of what some columns decide on is at fault in a batch, of which these are all columns."""
        own = [self._places[at] for at in judged.places]
        keys = set(zip(*(columns[at] for at in own), strict=True)) if own else {()}
        fresh = keys - judged.lawful
        for key in fresh:
            given = {self.names[at]: self._texts[at][text] for at, text in zip(judged.places, key, strict=True)}
            if next(self._faults(given, self._completion.of(given, judged.rules), judged.required, judged.laws), None):
                return False
        if len(judged.lawful) < REMEMBERED:
            judged.lawful |= fresh
        return True

    def _tell(self, batch: Batch, at: int, header: str, texts: _Texts) -> None:
        """Say what there is to say of a column's texts, each at the first line that has it; of very many the first."""
        for line, _, cells in batch:
            if (text := cells[at]) in texts.telling:
                texts.telling.discard(text)
                if self._told < MOST_TOLD:
                    texts.tell(text, Place(self._sheet.path, line if self._has_lines else None, header))
                elif self._told == MOST_TOLD:
                    progress.warn(f"{self._sheet.path}: further numbers with a unit, or doubtful ones, are not listed")
                self._told += 1

    def row_at(self, start: int) -> OwnCells:
        """The row that begins at a byte which `read` gave."""
        return self._parsed(self._sheet.row_at(start))

    def line_at(self, start: int) -> int:
        """The line of the file in which the row stands that begins at a byte."""
        return self._sheet.line_at(start)

    def complete(self, given: OwnCells) -> dict[str, Value]:
        """The value of every field: the row's own, what stands for a blank, what follows from the others."""
        return self._completion.of(dict(zip(self.names, given, strict=True)))

    def _parsed(self, cells: Sequence[str]) -> OwnCells:
        return tuple(texts[cells[at]] for at, texts in zip(self._places, self._texts, strict=True))

    def _check_cells(self, line: int, cells: Sequence[str]) -> None:
        """Raise the fault of the first cell that its column can't hold."""
        for header, text in zip(self._sheet.header, cells, strict=True):
            try:
                parse(self._columns[header], text) if header in self._columns else None
            except UnfitCellError as error:
                raise self._fault(error.what, line, header, error.remedy) from None

    def _what_is_judged(self) -> list[_Judged]:
        """The required fields and the laws, by the columns of the file that decide on them: few each."""
        found: dict[tuple[int, ...], _Judged] = {}
        for required, law in (
            *((name, None) for name in self._required if name != "id"),
            *(("", law) for law in self._laws),
        ):
            wanted, rules = set((*law.reads, *law.said) if law else (required,)), list[tuple[str, BlankRule]]()
            for name, rule in reversed(self._completion.rules):
                if name in wanted:
                    wanted.update(rule.inputs)
                    rules.insert(0, (name, rule))
            places = tuple(at for at, name in enumerate(self.names) if name in wanted and name != "id")
            each = found.setdefault(places, _Judged(places))
            each.rules = [pair for pair in self._completion.rules if pair in rules or pair in each.rules]
            each.required += [required] if required else []
            each.laws += [law] if law else []
        return list(found.values())

    def _check(self, line: int, cells: OwnCells) -> None:
        """Raise the first fault of a row: of what is required, then of the laws."""
        given = dict(zip(self.names, cells, strict=True))
        row = self._completion.of(given)
        for what, column, remedy in self._faults(given, row, self._required, self._laws):
            raise self._fault(what, line, column, remedy)

    def _faults(
        self, given: Mapping[str, Value], row: Mapping[str, Value], required: Sequence[str], laws: Sequence[Law]
    ) -> Iterator[tuple[str, str, str]]:
        """What is wrong with a row that has these cells of its own, the column at fault, and what to do about it."""
        for name in required:
            if row[name] is None:
                yield f"{name} is blank", name, "every row needs it"
        for law in laws:
            if all(given.get(name) is not None for name in law.said):
                values = [row[name] for name in law.reads]
                if None not in values and (what := law.fault(*values)):
                    own = next((name for name in law.reads if given.get(name) is not None), law.reads[0])
                    yield what, self._header(own), law.remedy

    def _header(self, name: str) -> str:
        """A field under the name that the file has for it."""
        return next((header for header, field in self._columns.items() if field.name == name), name)

    def _fault(self, what: str, line: int, column: str, remedy: str) -> UserError:
        return UserError(what, place=Place(self._sheet.path, line, column), remedy=remedy)


def _batches(rows: Iterable[tuple[int, int, list[str]]]) -> Iterator[Batch]:
    """The rows, many at a time. Where one can't be read, those above it come first: theirs may be the first fault."""
    batch: list[tuple[int, int, list[str]]] = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except UserError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _bind(sheet: CsvFile, fields: Sequence[Field]) -> dict[str, Field]:
    """The field that each column of the file fills; columns that no field knows are left out.

    Raises UserError for a column without a name, a misspelt one, or one that is there under two names.
    """
    known = {name: field for field in fields for name in (field.name, *field.aliases)}
    columns: dict[str, Field] = {}
    names: dict[str, str] = {}
    for number, name in enumerate(sheet.header, 1):
        place = Place(sheet.path, 1, name or number)
        if not name:
            raise UserError("the column has no name", place=place, remedy="name it, or delete it")
        if name not in known:
            if not is_own(name):
                _refuse_near_miss(name, known, place)
            continue
        columns[name] = known[name]
        first = names.setdefault(known[name].name, name)
        if first != name:
            raise UserError(f"{first} and {name} are one column", place=place, remedy="keep one of the two")
    return columns


def _refuse_near_miss(name: str, known: Mapping[str, Field], place: Place) -> None:
    plain = re.sub("[^a-z0-9]+", "_", name.lower())
    alike = [other for other in known if _digits(other) == _digits(name)]  # fp64 is no fp4
    if meant := closest(plain, alike, 1, NEAR_MISS):
        remedy = f"did you mean {meant[0]}? If not, begin the name of a note with note_"
        raise UserError(f'unknown column "{name}"', place=place, remedy=remedy)


def _digits(name: str) -> str:
    return re.sub("[^0-9]", "", name)
