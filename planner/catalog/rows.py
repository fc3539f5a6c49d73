"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planner import plausible, plausible_ratios, progress
from planner.catalog.columns import BlankRule, Completion, Field, Value, is_own, parse
from planner.catalog.laws import Law, at_most
from planner.csvfile import CsvFile
from planner.errors import Place, UserError, closest
from planner.typed_numbers import is_scaled, said

REMEMBERED = 4096  # most distinct texts of a column to cache
MOST_REMARKS = 24  # most remarks on a file's scaled or implausible numbers
NEAR_MISS = 0.85  # similarity above which an unknown column counts as misspelt


class OwnRow(NamedTuple):
    """A row of the file: its id, its line number, and the values of its own cells in the order of `Reader.names`."""

    id: str
    line: int
    values: tuple[Value, ...]


class _Column(dict[str, Value]):
    """A column of the file, with a cache of the values of its texts, since most columns repeat a few."""

    def __init__(self, header: str, at: int, field: Field) -> None:
        super().__init__()
        self.header, self.at, self.field = header, at, field

    def __missing__(self, text: str) -> Value:
        value = parse(self.field, text)
        if len(self) < REMEMBERED:
            self[text] = value
        return value

    def remarks(self, text: str) -> tuple[str, str]:
        """How a text was read if it is a scaled number, and why it is implausible; blank if neither is so."""
        value = self[text]
        if not isinstance(value, float) or self.field.kind == "flag":
            return "", ""
        read = f"{text.strip()}, read as {said(value, self.field.unit)}" if is_scaled(text) else ""
        return read, plausible.doubt(self.field.name, self.field.unit, value)


class Reader:
    """Reads the rows of one file: a row's own cells are parsed and checked at once, other fields filled in on demand.

    `names` are the fields that the file has a column for; `unknown` are its other columns, which are ignored. Remarks
    on numbers name the line if `has_lines`. With `has_ratios` the rows are chips, of which numbers that don't fit
    together are doubted.
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
        bound_to = _bind(sheet, fields)
        self._columns = [_Column(header, sheet.header.index(header), field) for header, field in bound_to.items()]
        self.names = tuple(column.field.name for column in self._columns)
        self.unknown = tuple(name for name in sheet.header if name not in bound_to)
        self._completion = Completion(fields, self.names)
        self._required = [field.name for field in fields if field.required]
        known = [*(at_most(field.name, field.at_most) for field in fields if field.at_most), *laws]
        self._laws = [law for law in known if set(law.said) <= set(self.names)]
        self._n_remarks = 0  # numbers remarked on so far
        self._scaled = {
            field.name: field.unit for field in fields if has_ratios and field.unit in plausible_ratios.SCALED
        }
        self._inputs = {field.name: field.blank.inputs for field in fields if isinstance(field.blank, BlankRule)}

    def read(self) -> Iterator[OwnRow]:
        """Each row.

        Raises UserError for a cell that its column can't hold, a blank required cell, or numbers that contradict each
        other.
        """
        for line, cells in self._sheet.rows():
            new = [column for column in self._columns if cells[column.at] not in column]
            given = self._checked(line, cells)
            for column in new:
                self._remark(line, column, cells[column.at])
            self._compare(line, given)
            yield OwnRow(str(given["id"]), line, tuple(given.values()))

    def _checked(self, line: int, cells: Sequence[str]) -> dict[str, Value]:
        """The own cells of a row, by field. Raises its first fault: an unfit cell, a missing value, a violated law."""
        given: dict[str, Value] = {}
        for column in self._columns:
            try:
                given[column.field.name] = column[cells[column.at]]
            except UserError as error:
                raise error.at(Place(self._sheet.path, line, column.header)) from None
        row = self._completion.of(given)
        for name in self._required:
            if row[name] is None:
                raise self._fault(f"{name} is blank", line, name, "every row needs it")
        for law in self._laws:
            values = [row[name] for name in law.reads]
            is_meant = None not in values and all(given.get(name) is not None for name in law.said)
            if is_meant and (what := law.fault(*values)):
                own = next((name for name in law.reads if given.get(name) is not None), law.reads[0])
                raise self._fault(what, line, self._header(own), law.remedy)
        return given

    def _remark(self, line: int, column: _Column, text: str) -> None:
        """Report how a scaled number was read, and whether a number is implausible; only the first if very many."""
        read, doubtful = column.remarks(text)
        if not read and not doubtful:
            return
        if self._n_remarks < MOST_REMARKS:
            place = self._place(line, column.header)
            if read:
                progress.remark(f"{place}: {read}", str(place.path))
            if doubtful:
                progress.warn(f"{place}: {doubtful}")
        elif self._n_remarks == MOST_REMARKS:
            progress.warn(f"{self._sheet.path}: further numbers with a unit, or doubtful ones, are not listed")
        self._n_remarks += 1

    def _compare(self, line: int, given: Mapping[str, Value]) -> None:
        """Warn about numbers of a row that don't fit together; only the first if very many."""
        if self._scaled and self._n_remarks <= MOST_REMARKS:
            for name, doubtful in plausible_ratios.doubts(given, self._scaled, self._completion.of):
                progress.warn(f"{self._place(line, self._header(name))}: {doubtful}")
                self._n_remarks += 1

    def complete(self, row: OwnRow) -> dict[str, Value]:
        """The value of every field of a row: its own, its default, or derived from others."""
        return self._completion.of(dict(zip(self.names, row.values, strict=True)))

    def filled(self, row: OwnRow) -> dict[str, list[str]]:
        """The blank fields that are filled in of a row, each with the fields it follows from; a default from none."""
        own, whole = dict(zip(self.names, row.values, strict=True)), self.complete(row)
        blanks = (name for name in whole if own.get(name) is None and whole[name] is not None)
        return {name: [each for each in self._inputs.get(name, ()) if whole[each] is not None] for name in blanks}

    def _header(self, name: str) -> str:
        """The file's name of a field's column."""
        return next((column.header for column in self._columns if column.field.name == name), name)

    def _place(self, line: int, column: str) -> Place:
        """The place of a remark on a number."""
        return Place(self._sheet.path, line if self._has_lines else None, column)

    def _fault(self, what: str, line: int, column: str, remedy: str) -> UserError:
        return UserError(what, place=Place(self._sheet.path, line, column), remedy=remedy)


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
