"""The rows of a database file, checked and completed by the dictionary of its columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from planner.catalog.cells import CellError, parse
from planner.catalog.columns import Field, Rule, Value
from planner.csvfile import Sheet
from planner.errors import Place, UserError

REMEMBERED = 4096  # texts of a column whose values are kept
NEAR_MISS = 0.85  # similarity from which an unknown column counts as a misspelt one

Given = tuple[Value, ...]  # what a row's own cells hold


class Reader:
    """The rows of one file: its own cells are read and checked at once, the rest is filled in on demand.

    `names` are the fields that the file has a column for. `read` is cheap enough for a million rows.
    """

    def __init__(self, sheet: Sheet, fields: Sequence[Field]) -> None:
        self._sheet = sheet
        self._columns = _bind(sheet, fields)
        self.names = tuple(field.name for field in self._columns.values())
        self._shared, self._rules = _completion(fields, self.names)
        self._required = [field.name for field in fields if field.required]
        self._bounds = [(field.name, field.at_most) for field in self._columns.values() if field.at_most]
        self._ways: dict[str, tuple[set[str], list[tuple[str, Rule]]]] = {}  # what a field follows from
        self._at = {name: at for at, name in enumerate(self.names)}
        # Where each column stands, and the values of its texts: most columns hold a few again and again.
        self._cells: list[tuple[int, str, Field, dict[str, Value]]] = [
            (sheet.header.index(header), header, field, {}) for header, field in self._columns.items()
        ]

    def read(self) -> Iterator[tuple[int, Given]]:
        """Each row as (line number, values of `names`).

        Raises UserError for a cell that its column can't hold, a required one left blank, a number above the
        one that bounds it.
        """
        for line, cells in self._sheet.rows():
            given = self._parsed(line, cells)
            self._check(line, given)
            yield line, given

    def complete(self, given: Given) -> dict[str, Value]:
        """The value of every field: the row's own, what stands for a blank, what follows from the others."""
        row = self._known(given)
        for name, rule in self._rules:
            if row[name] is None:
                row[name] = rule(row)
        return row

    def _known(self, given: Given) -> dict[str, Value]:
        own = zip(self.names, given, strict=True)
        return self._shared | {name: value for name, value in own if value is not None}

    def _parsed(self, line: int, cells: Sequence[str]) -> Given:
        values = []
        for at, header, field, known in self._cells:
            text = cells[at]
            if text in known:
                values.append(known[text])
                continue
            try:
                value = parse(field, text)
            except CellError as error:
                raise self._fault(error.what, line, header, error.remedy) from None
            if len(known) < REMEMBERED:
                known[text] = value
            values.append(value)
        return tuple(values)

    def _check(self, line: int, given: Given) -> None:
        for name in self._required:
            if self._value(given, name) is None and self.complete(given)[name] is None:
                raise self._fault(f"{name} is blank", line, name, "every row needs it")
        for name, bound in self._bounds:
            value = self._value(given, name)
            if not isinstance(value, float):
                continue
            most = self._value(given, bound)
            if most is None:
                most = self._completed(given, bound)
            if isinstance(most, float) and value > most:
                what = f"{name} {value:g} is more than {bound} {most:g}"
                raise self._fault(what, line, name, "correct one of the two")

    def _completed(self, given: Given, name: str) -> Value:
        """The value of one field, as `complete` has it."""
        if name not in self._ways:
            wanted: set[str] = {name}
            rules: list[tuple[str, Rule]] = []
            for at, rule in reversed(self._rules):
                if at in wanted:
                    wanted.update(rule.inputs)
                    rules.insert(0, (at, rule))
            self._ways[name] = wanted, rules
        wanted, rules = self._ways[name]
        row = {at: self._value(given, at) for at in wanted}
        for at, rule in rules:
            if row[at] is None:
                row[at] = rule(row)
        return row[name]

    def _value(self, given: Given, name: str) -> Value:
        """What a row has for a field before any rule: its own, or what all rows share."""
        at = self._at.get(name)
        own = None if at is None else given[at]
        return self._shared[name] if own is None else own

    def _fault(self, what: str, line: int, column: str, remedy: str) -> UserError:
        return UserError(what, place=Place(self._sheet.path, line, column), remedy=remedy)


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
        remedy = f"did you mean {alike[match[0]]}? If not, give it another name"
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
