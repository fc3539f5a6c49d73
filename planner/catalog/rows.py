"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner import plausible, progress
from planner.catalog.columns import Field, Rule, UnfitCellError, Value, is_own
from planner.catalog.columns import parse as parse
from planner.catalog.laws import Law, bound
from planner.csvfile import Sheet
from planner.errors import Place, UserError
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


class Reader:
    """The rows of one file: its own cells are read and checked at once, the rest is filled in on demand.

    `names` are the fields that the file has a column for; `unknown` are its other columns, which aren't read.
    `read` is cheap enough for a million rows.
    """

    def __init__(self, sheet: Sheet, fields: Sequence[Field], laws: Sequence[Law] = ()) -> None:
        self._sheet = sheet
        self._columns = _bind(sheet, fields)
        self.names = tuple(field.name for field in self._columns.values())
        self.unknown = tuple(name for name in sheet.header if name not in self._columns)
        self._shared, self._rules = _completion(fields, self.names)
        self._required = [field.name for field in fields if field.required]
        self._laws = [*(bound(field) for field in fields if field.at_most), *laws]
        self._at = {name: at for at, name in enumerate(self.names)}
        self._places = [sheet.header.index(name) for name in self._columns]
        self._texts = [_Texts(field) for field in self._columns.values()]
        self._judged = self._what_is_judged()
        self._told = 0  # numbers of which something was said
        self._lawful: set[tuple[str, ...]] = set()  # texts of the judged columns that were found to be lawful

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
        judged: list[tuple[str, ...]] = list(zip(*(columns[self._places[at]] for at in self._judged), strict=True))
        judged = judged or [()] * len(batch)
        if self._lawful.issuperset(judged) and all(map(str.strip, columns[named])):
            return
        for (line, _, cells), key in zip(batch, judged, strict=True):
            if key not in self._lawful or not cells[named].strip():
                self._check(line, self._parsed(cells))
                if len(self._lawful) < REMEMBERED:
                    self._lawful.add(key)

    def _tell(self, batch: Batch, at: int, header: str, texts: _Texts) -> None:
        """Say what there is to say of a column's texts, each at the first line that has it; of very many the first."""
        for line, _, cells in batch:
            if (text := cells[at]) in texts.telling:
                texts.telling.discard(text)
                if self._told < MOST_TOLD:
                    texts.tell(text, Place(self._sheet.path, line, header))
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
        own = zip(self.names, given, strict=True)
        row = self._shared | {name: value for name, value in own if value is not None}
        for name, rule in self._rules:
            if row[name] is None:
                row[name] = rule(row)
        return row

    def _parsed(self, cells: Sequence[str]) -> OwnCells:
        return tuple(texts[cells[at]] for at, texts in zip(self._places, self._texts, strict=True))

    def _check_cells(self, line: int, cells: Sequence[str]) -> None:
        """Raise the fault of the first cell that its column can't hold."""
        for header, text in zip(self._sheet.header, cells, strict=True):
            try:
                parse(self._columns[header], text) if header in self._columns else None
            except UnfitCellError as error:
                raise self._fault(error.what, line, header, error.remedy) from None

    def _what_is_judged(self) -> list[int]:
        """Where the columns stand that decide whether a row may be: required ones and what laws speak of."""
        wanted = set(self._required) | {name for law in self._laws for name in law.reads}
        for name, rule in reversed(self._rules):
            if name in wanted:
                wanted.update(rule.inputs)
        return [at for at, name in enumerate(self.names) if name in wanted and name != "id"]

    def _check(self, line: int, given: OwnCells) -> None:
        row = self.complete(given)
        for name in self._required:
            if row[name] is None:
                raise self._fault(f"{name} is blank", line, name, "every row needs it")
        for law in self._laws:
            if not all(self._typed(given, name) for name in law.said):
                continue
            values = [row[name] for name in law.reads]
            if None not in values and (what := law.fault(*values)):
                typed = next((name for name in law.reads if self._typed(given, name)), law.reads[0])
                raise self._fault(what, line, self._header(typed), law.remedy)

    def _typed(self, given: OwnCells, name: str) -> bool:
        """Whether a row's own cell holds a field."""
        at = self._at.get(name)
        return at is not None and given[at] is not None

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


def _bind(sheet: Sheet, fields: Sequence[Field]) -> dict[str, Field]:
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
    alike = {other.lower(): other for other in known if _digits(other) == _digits(name)}  # fp64 is no fp4
    match = difflib.get_close_matches(plain, alike, n=1, cutoff=NEAR_MISS)
    if match:
        remedy = f"did you mean {alike[match[0]]}? If not, begin the name of a note with note_"
        raise UserError(f'unknown column "{name}"', place=place, remedy=remedy)


def _digits(name: str) -> str:
    return re.sub("[^0-9]", "", name)


def _completion(fields: Sequence[Field], names: Sequence[str]) -> tuple[dict[str, Value], list[tuple[str, Rule]]]:
    """What all rows of a file with columns `names` share, and the rules to run on each row, in order."""
    shared: dict[str, Value] = dict.fromkeys(field.name for field in fields)
    fixed: set[str] = set()
    rules: list[tuple[str, Rule]] = []
    for field in fields:
        if isinstance(field.blank, Rule):
            if field.name in names or not fixed.issuperset(field.blank.inputs):
                rules.append((field.name, field.blank))
                continue
            shared[field.name] = field.blank(shared)
        else:
            shared[field.name] = field.blank
        if field.name not in names:
            fixed.add(field.name)
    return shared, rules
