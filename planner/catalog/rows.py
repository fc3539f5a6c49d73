"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made_field

from planner import plausible, plausible_ratios, progress
from planner.catalog.columns import BlankRule, Completion, Field, UnfitCellError, Value, is_own
from planner.catalog.columns import parse as parse
from planner.catalog.laws import Law, bound
from planner.csvfile import CsvFile
from planner.errors import Place, UserError, closest
from planner.typed_numbers import is_scaled, said

BATCH = 500  # rows checked at once
REMEMBERED = 4096  # most distinct texts of a column to cache
MOST_REMARKS = 24  # most remarks on a file's scaled or implausible numbers
NEAR_MISS = 0.85  # similarity above which an unknown column counts as misspelt

OwnCells = tuple[Value, ...]  # the values of a row's own cells
Batch = Sequence[tuple[int, int, Sequence[str]]]  # (line number, byte offset, cells) of each row


class _Texts(dict[str, Value]):
    """A cache of the parsed values of a column's texts, since most columns repeat a few.

    `to_report` are the texts to report: numbers read with a unit or arithmetic, or implausible ones.
    """

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field
        self.to_report: set[str] = set()

    def __missing__(self, text: str) -> Value:
        value = parse(self.field, text)
        if len(self) < REMEMBERED:
            self[text] = value
        if isinstance(value, float) and self.field.kind != "flag" and (is_scaled(text) or self._doubt(value)):
            self.to_report.add(text)
        return value

    def report_on(self, text: str, place: Place) -> None:
        """Report how a text was read, and whether it is implausible."""
        value = self[text]
        assert isinstance(value, float), "what is told is of a number"
        if is_scaled(text):
            progress.remark(f"{place}: {text.strip()}, read as {said(value, self.field.unit)}", str(place.path))
        if doubtful := self._doubt(value):
            progress.warn(f"{place}: {doubtful}")

    def _doubt(self, value: float) -> str:
        return plausible.doubt(self.field.name, self.field.unit, value)

    def learn(self, texts: Sequence[str]) -> None:
        """Parse those of the texts that aren't cached yet. Raises CellError."""
        if not all(map(self.__contains__, texts)):
            for text in set(texts).difference(self):
                self[text]


@dataclass
class _Rules:
    """Required fields and laws that depend on the same columns, with those columns' positions and their fill-in rules.

    `lawful` caches combinations of these columns' texts that were found to violate nothing.
    """

    places: tuple[int, ...]
    required: list[str] = made_field(default_factory=list)
    laws: list[Law] = made_field(default_factory=list)
    rules: list[tuple[str, BlankRule]] = made_field(default_factory=list)
    lawful: set[tuple[str, ...]] = made_field(default_factory=set)


class Reader:
    """Reads the rows of one file: a row's own cells are parsed and checked at once, other fields filled in on demand.

    `names` are the fields that the file has a column for; `unknown` are its other columns, which are ignored. `read` is
    fast enough for a million rows. Remarks on numbers name the line if `has_lines`. With `has_ratios` the rows are
    chips, of which numbers that don't fit together are doubted.
    """

    def __init__(
        self,
        sheet: CsvFile,
        fields: Sequence[Field],
        laws: Sequence[Law] = (),
        *,
        has_lines: bool = True,
        has_ratios: bool = False,
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
        self._n_remarks = 0  # numbers remarked on so far
        self._scaled = {
            field.name: field.unit for field in fields if has_ratios and field.unit in plausible_ratios.SCALED
        }
        self._rules = self._grouped_rules()
        self._inputs = {field.name: field.blank.inputs for field in fields if isinstance(field.blank, BlankRule)}

    def read(self) -> Iterator[tuple[int, int, str]]:
        """Each row as (line number, byte offset, id).

        Raises UserError for a cell that its column can't hold, a blank required cell, or numbers that contradict each
        other. Rows are checked in batches, column by column; a text already seen in its column isn't checked again.
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
            if texts.to_report:
                self._remark(batch, at, header, texts)
        if not all(map(str.strip, columns[named])) or not all(self._is_lawful(each, columns) for each in self._rules):
            for line, _, cells in batch:  # at least one row is at fault: raise for the first
                self._check(line, self._parsed(cells))
        self._compare(batch)

    def _compare(self, batch: Batch) -> None:
        """Warn about numbers of a row that don't fit together; only the first if very many."""
        for line, _, cells in batch if self._scaled else ():
            if self._n_remarks > MOST_REMARKS:
                return
            given = dict(zip(self.names, self._parsed(cells), strict=True))
            for name, doubtful in plausible_ratios.doubts(given, self._scaled, self._completion.of):
                place = Place(self._sheet.path, line if self._has_lines else None, self._header(name))
                progress.warn(f"{place}: {doubtful}")
                self._n_remarks += 1

    def _is_lawful(self, group: _Rules, columns: Sequence[Sequence[str]]) -> bool:
        """Whether a batch, given by all its columns, violates none of the rules decided by some columns."""
        own = [self._places[at] for at in group.places]
        keys = set(zip(*(columns[at] for at in own), strict=True)) if own else {()}
        fresh = keys - group.lawful
        for key in fresh:
            given = {self.names[at]: self._texts[at][text] for at, text in zip(group.places, key, strict=True)}
            if next(self._faults(given, self._completion.of(given, group.rules), group.required, group.laws), None):
                return False
        if len(group.lawful) < REMEMBERED:
            group.lawful |= fresh
        return True

    def _remark(self, batch: Batch, at: int, header: str, texts: _Texts) -> None:
        """Report about a column's texts, each at the first line with it; only the first if very many."""
        for line, _, cells in batch:
            if (text := cells[at]) in texts.to_report:
                texts.to_report.discard(text)
                if self._n_remarks < MOST_REMARKS:
                    texts.report_on(text, Place(self._sheet.path, line if self._has_lines else None, header))
                elif self._n_remarks == MOST_REMARKS:
                    progress.warn(f"{self._sheet.path}: further numbers with a unit, or doubtful ones, are not listed")
                self._n_remarks += 1

    def row_at(self, start: int) -> OwnCells:
        """The row that begins at a byte given by `read`."""
        return self._parsed(self._sheet.row_at(start))

    def line_at(self, start: int) -> int:
        """The line number of the row that begins at a byte."""
        return self._sheet.line_at(start)

    def complete(self, given: OwnCells) -> dict[str, Value]:
        """The value of every field: the row's own, its default, or derived from others."""
        return self._completion.of(dict(zip(self.names, given, strict=True)))

    def filled(self, start: int) -> dict[str, list[str]]:
        """The blank fields that are filled in of the row that begins at a byte, each with the fields it follows from.

        A default follows from none.
        """
        given = dict(zip(self.names, self.row_at(start), strict=True))
        row = self._completion.of(given)
        blanks = (name for name in row if given.get(name) is None and row[name] is not None)
        return {name: [each for each in self._inputs.get(name, ()) if row[each] is not None] for name in blanks}

    def _parsed(self, cells: Sequence[str]) -> OwnCells:
        return tuple(texts[cells[at]] for at, texts in zip(self._places, self._texts, strict=True))

    def _check_cells(self, line: int, cells: Sequence[str]) -> None:
        """Raise the fault of the first cell that its column can't hold."""
        for header, text in zip(self._sheet.header, cells, strict=True):
            try:
                parse(self._columns[header], text) if header in self._columns else None
            except UnfitCellError as error:
                raise self._fault(error.what, line, header, error.remedy) from None

    def _grouped_rules(self) -> list[_Rules]:
        """The required fields and the laws, grouped by the file's columns that decide them."""
        found: dict[tuple[int, ...], _Rules] = {}
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
            each = found.setdefault(places, _Rules(places))
            each.rules = [pair for pair in self._completion.rules if pair in rules or pair in each.rules]
            each.required += [required] if required else []
            each.laws += [law] if law else []
        return list(found.values())

    def _check(self, line: int, cells: OwnCells) -> None:
        """Raise the first fault of a row: a missing required value, else a violated law."""
        given = dict(zip(self.names, cells, strict=True))
        row = self._completion.of(given)
        for what, column, remedy in self._faults(given, row, self._required, self._laws):
            raise self._fault(what, line, column, remedy)

    def _faults(
        self, given: Mapping[str, Value], row: Mapping[str, Value], required: Sequence[str], laws: Sequence[Law]
    ) -> Iterator[tuple[str, str, str]]:
        """The faults of a row with these own cells: what is wrong, the column, and the remedy."""
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
        """The file's name of a field's column."""
        return next((header for header, field in self._columns.items() if field.name == name), name)

    def _fault(self, what: str, line: int, column: str, remedy: str) -> UserError:
        return UserError(what, place=Place(self._sheet.path, line, column), remedy=remedy)


def _batches(rows: Iterable[tuple[int, int, list[str]]]) -> Iterator[Batch]:
    """The rows in batches. If one can't be read, those above it come first, since they may have the first fault."""
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
    """The field of each column of the file; unknown columns are left out.

    Raises UserError for an unnamed column, a misspelt one, or a field with two columns.
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
