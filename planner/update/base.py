"""The base of the three-way merge: what planner last wrote into the workbook, and at which built position each cell
was.

Rows and columns of the file are matched with the stored record by their keys. A formula counts as planner's if, with
its references translated back to the built positions, it has the digest of the formula that planner wrote there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain

from planner.align.keys import COMPARISON, SCENARIO, KeyedSheet
from planner.book.rowkeys import COVER, DATABASES, LOG, is_heading
from planner.update.fresh import FIRST_CASE, Fresh, FreshSheet
from planner.update.places import AsBuilt, Origins, is_filled
from planner.workbook.memory import (
    NOTHING,
    BuiltSheet,
    Memory,
    Remembered,
    of_formula,
    of_text,
    of_value,
)
from planner.workbook.remembering import is_by_scenario, of_rule
from planner.xlsx.address import Area, Position, folded
from planner.xlsx.pattern import Pattern, pattern, with_a_range
from planner.xlsx.sheet_rules import areas, first_cell, formulas
from planner.xlsx.styles import Look
from planner.xlsx.xmltree import Element


@dataclass
class Base:
    """The base of the merge, read from the record on Cover.

    `sheets` are the sheets of the file that the record covers, by kind.
    """

    memory: Memory
    sheets: Mapping[str, KeyedSheet]
    as_built: AsBuilt
    fresh: Fresh
    fresh_as_built: AsBuilt
    _digests: dict[tuple[object, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, memory: Memory, sheets: Mapping[str, KeyedSheet], fresh: Fresh) -> Base:
        """The base, with the sheets of the file and of the fresh workbook matched with the record's."""
        known = {kind: each for kind, each in sheets.items() if kind in memory.sheets}
        here = {folded(each.sheet.name): _matched(memory, each) for each in known.values()}
        back = {
            folded(each.name): _fresh_matched(memory, each)
            for kind, each in fresh.sheets.items()
            if kind in memory.sheets
        }
        return cls(memory, known, AsBuilt(here), fresh, AsBuilt(back))

    @cached_property
    def _by_kind(self) -> dict[str, tuple[BuiltSheet, Origins | None]]:
        return {
            kind: (self.memory.sheets[kind], self.as_built.of(each.sheet.name)) for kind, each in self.sheets.items()
        }

    @cached_property
    def _is_straight(self) -> bool:
        """Whether every column that planner built is still at its built position."""
        each = (origins for _, origins in self._by_kind.values() if origins is not None)
        return all(at == was for origins in each for at, was in origins.columns.items())

    def built_rows(self, keyed: KeyedSheet) -> Mapping[int, int]:
        """The built row of each row of a sheet of the file; a case's is its index.

        For a sheet without a record, the fresh row.
        """
        origins, fresh = self.as_built.of(keyed.sheet.name), self.fresh.sheets[keyed.kind]
        if origins is not None:
            return origins.rows
        return keyed.rows_on(fresh)

    def rekeyed(self, keyed: KeyedSheet) -> KeyedSheet:
        """The sheet with the keys under which its rows and columns were built.

        Rows and columns of the user's have no key.
        """
        built, origins = self.memory.sheets.get(keyed.kind), self.as_built.of(keyed.sheet.name)
        if built is None or origins is None or keyed.kind in (COMPARISON, COVER, LOG):
            return keyed
        rows = {row: built.rows[was] for row, was in origins.rows.items() if was in built.rows}
        rows = {**self._come_back(keyed, built), **rows}
        columns = {
            column: built.columns.get(was) or keyed.columns[column] if built.columns else str(was)
            for column, was in origins.columns.items()
        }
        return replace(keyed, rows=dict(sorted(rows.items())), columns=columns)

    def _come_back(self, keyed: KeyedSheet, built: BuiltSheet) -> Mapping[int, str]:
        """The keys of rows that planner writes now but not last time: the user or an earlier update kept them."""
        if keyed.kind in DATABASES:
            return keyed.rows
        fresh = self.fresh.sheets.get(keyed.kind)
        if keyed.line_table is None or fresh is None:
            return {}
        new = fresh.row_of.keys() - built.row_of.keys()
        return {row: key for row, key in keyed.rows.items() if key in new and not is_heading(key)}

    def is_same(self, kind: str, wrote: Remembered, at: Position) -> bool:
        """Whether planner would write into the fresh cell `at` what it last wrote (`wrote`)."""
        sheet = self.fresh.sheets[kind]
        row = sheet.built.row_of.get(f"case {sheet.groups[at[0]]}", at[0]) if at[0] in sheet.groups else at[0]
        now = sheet.built.cell(row, at[1])
        if now is None or sheet.cells[at].formula is None:
            return (NOTHING if now is None else now.digest) == wrote.digest
        key = "fresh", kind, now.first, wrote.first
        if key not in self._digests:
            cell, origins = sheet.cells[now.first], self.fresh_as_built.of(sheet.name)
            text = self.fresh_as_built.formula(cell.formula or "", sheet.name)
            built = now.first if origins is None else (origins.row(now.first[0]), origins.column(now.first[1]))
            self._digests[key] = _digest_at(text, built, wrote.first)
        return self._digests[key] == wrote.digest

    def built(self, keyed: KeyedSheet, at: Position) -> Position:
        """The built position of a cell of the file."""
        origins = self.as_built.of(keyed.sheet.name)
        return at if origins is None else (origins.row(at[0]), origins.column(at[1]))

    def wrote(self, keyed: KeyedSheet, at: Position) -> Remembered | None:
        """What planner wrote into a cell of the file; None for a cell of the user's, and where planner left a blank."""
        sheet, origins = self._by_kind.get(keyed.kind, (None, None))
        if sheet is None or origins is None or at[1] not in origins.columns:
            return None
        row, column = origins.rows.get(at[0]) or origins.row(at[0]), origins.columns[at[1]]
        if at[0] in keyed.groups:
            row = sheet.row_of.get(f"case {keyed.groups[at[0]]}", row)
        return sheet.cell(row, column)

    def is_row(self, keyed: KeyedSheet, row: int) -> bool:
        """Whether planner wrote a row of the file."""
        origins = self.as_built.of(keyed.sheet.name)
        return origins is not None and row in origins.rows

    def is_ours(self, keyed: KeyedSheet, at: Position) -> bool:
        """Whether a cell of the file holds what planner wrote there."""
        wrote, cell = self.wrote(keyed, at), keyed.sheet.cells.get(at)
        formula = None
        if cell is not None and cell.kind:
            # A table of lines was read whole; of other sheets few formulas come here: the rest needn't be read.
            is_alone = keyed.line_table is None and cell.kind == "normal" and cell.formula
            formula = pattern(cell.formula or "", *at) if is_alone else keyed.sheet.patterns.get(at)
        if formula is None:
            return of_value(keyed.sheet.value(*at)) == (NOTHING if wrote is None else wrote.digest)
        if wrote is None:
            return False
        spelt = (self._digest(keyed, at, each, wrote.first) for each in chain((formula,), with_a_range(formula)))
        return wrote.digest in spelt

    def left_behind(self, keyed: KeyedSheet, at: Position) -> set[str]:
        """The sheets whose cells moved while a formula that reads them stayed as planner wrote it, by name; else none.

        So programs leave formulas that insert rows and don't change what reads those below, such as openpyxl.
        """
        wrote, formula = self.wrote(keyed, at), keyed.sheet.patterns.get(at)
        if wrote is None or formula is None:
            return set()
        if _digest_at(formula.at(*at), self.built(keyed, at), wrote.first) != wrote.digest:
            return set()
        names = {keyed.sheet.name, *(each.sheet for each in formula.references if each.sheet)}
        return {name for name in names if (origins := self.as_built.of(name)) is not None and not origins.is_idle}

    def _digest(self, keyed: KeyedSheet, at: Position, formula: Pattern, first: Position) -> int:
        """The digest of a formula of the file as it would read in `first`, the anchor of its shared formula."""
        name = keyed.sheet.name
        is_idle = self._is_idle(name, formula)  # most formulas are those of many cells
        where = (at[0], 0) if self._is_straight else at  # in one row all cells translate a formula alike
        key = (name, formula, first) if is_idle else (name, formula, first, where)
        if key not in self._digests:
            if is_idle:
                self._digests[key] = of_formula(formula.at(*first))
            else:
                text = self.as_built.formula(formula.at(*at), name)
                self._digests[key] = _digest_at(text, self.built(keyed, at), first)
        return self._digests[key]

    @cached_property
    def _is_idle(self) -> Callable[[str, Pattern], bool]:
        return cache(self.as_built.is_idle)

    def is_our_rule(self, keyed: KeyedSheet, rule: Element) -> bool:
        """Whether planner wrote a data validation or a conditional format of the file."""
        sheet = self.memory.sheets.get(keyed.kind)
        if sheet is None:
            return False
        top, left = self.built(keyed, first_cell(areas(rule) or [Area(1, 1, 1, 1)]))
        texts = [self.as_built.formula(text, keyed.sheet.name) for text in formulas(rule)]
        kind_and_prompt = rule.get("type", ""), rule.get("promptTitle", "")
        return of_rule(kind_and_prompt, texts, Area(top, left, top, left)) in sheet.rules

    def is_our_look(self, keyed: KeyedSheet, at: Position, look: Look) -> bool:
        """Whether a cell of the file has the format that planner gave it."""
        wrote = self.wrote(keyed, at)
        return wrote is not None and self.memory.looks[wrote.look] == _digest_of_look(look)


@cache
def _digest_of_look(look: Look) -> int:
    return of_text(repr(look))


def _digest_at(formula: str, at: Position, first: Position) -> int:
    """The digest of the formula of the cell `at` as it reads in the cell `first`."""
    return of_formula(formula if at == first else pattern(formula, *at).at(*first))


def lacks_lines(memory: Memory, sheets: Mapping[str, KeyedSheet]) -> bool:
    """Whether the file has lost a row of a table of lines, or a column with a title, that planner wrote."""
    return any(_lacks_lines(memory, each) for kind, each in sheets.items() if kind in memory.sheets)


def _lacks_lines(memory: Memory, keyed: KeyedSheet) -> bool:
    built, there = memory.sheets[keyed.kind], _matched(memory, keyed)
    lost = {each for each, key in built.columns.items() if not key.startswith(SCENARIO)} - set(there.columns.values())
    return bool(lost or (keyed.line_table is not None and built.rows.keys() - set(there.rows.values())))


def _matched(memory: Memory, keyed: KeyedSheet) -> Origins:
    """The built positions of a file sheet's rows and columns."""
    built = memory.sheets[keyed.kind]
    columns = _columns(keyed, built)
    rows = keyed.rows_on(built)
    rows |= {row: FIRST_CASE + at for at, row in enumerate(keyed.groups)} if keyed.kind == COMPARISON else {}
    rows |= _between(keyed, built, rows, columns)
    filled = {row for row, column in keyed.sheet.cells if is_filled(keyed, row, column)}
    own = frozenset(filled - rows.keys()) if keyed.kind not in (COVER, LOG) else frozenset()
    own_columns = {column for row, column in keyed.sheet.cells if is_filled(keyed, row, column)} - columns.keys()
    first = (keyed.first_row, built.row_of.get("above 0", 0) + 1) if keyed.kind in DATABASES else (0, 0)
    reach = memory.last_scenario if keyed.line_table is not None else 0
    return Origins(built.name, rows, columns, own, frozenset(own_columns), first, built.end, reach)


def _fresh_matched(memory: Memory, fresh: FreshSheet) -> Origins:
    """The built positions, in the record, of a fresh sheet's rows and columns; new ones have none."""
    built = memory.sheets[fresh.kind]
    rows = fresh.rows_on(built)
    rows |= {row: row for row in fresh.groups}
    known = built.column_of if built.columns else {}
    columns = {column: known.get(key, column) for column, key in fresh.columns.items()}
    new = frozenset(
        column for column, key in fresh.columns.items() if known and key not in known and not key.startswith(SCENARIO)
    )
    first = (fresh.row_of["above 0"] + 1, built.row_of["above 0"] + 1) if fresh.kind in DATABASES else (0, 0)
    reach = memory.last_scenario if is_by_scenario(fresh.kind) else 0
    new_rows = frozenset(fresh.rows.keys() - rows.keys())
    kept = {column: at for column, at in columns.items() if column not in new}
    return Origins(built.name, rows, kept, new_rows, new, first, built.end, reach)


def _columns(keyed: KeyedSheet, built: BuiltSheet) -> dict[int, int]:
    if built.columns:
        scenarios = {column: int(key.split()[1]) for column, key in keyed.scenario_columns.items()}
        return keyed.columns_on(built) | scenarios
    return _plain_columns(keyed, built)


def _plain_columns(keyed: KeyedSheet, built: BuiltSheet) -> dict[int, int]:
    """The built column of each column of a sheet with several tables.

    A column counts as inserted by the user if none of its texts is what planner wrote in that column.
    """
    theirs: dict[int, set[tuple[str, int]]] = {}
    for (row, column), cell in built.cells():
        if row in built.rows and cell.digest != NOTHING:
            theirs.setdefault(column, set()).add((built.rows[row], cell.digest))
    ours: dict[int, set[tuple[str, int]]] = {}
    for row, column in keyed.sheet.cells:
        if row in keyed.rows and (text := keyed.sheet.text(row, column)) and not keyed.sheet.cells[row, column].kind:
            ours.setdefault(column, set()).add((keyed.rows[row], of_value(text)))
    found: dict[int, int] = {}
    shift = 0
    for column in sorted(keyed.columns):
        wanted = theirs.get(column - shift, set())
        if wanted and ours.get(column, set()).isdisjoint(wanted):
            later = [other for other in range(column + 1, column + 6) if not ours.get(other, set()).isdisjoint(wanted)]
            if later:
                shift += 1
                continue
        if column - shift in theirs or column <= max(theirs, default=0):
            found[column] = column - shift
    return {column: was for column, was in found.items() if was <= max(theirs, default=0)}


def _between(
    keyed: KeyedSheet, built: BuiltSheet, rows: Mapping[int, int], columns: Mapping[int, int]
) -> dict[int, int]:
    """The built rows of rows whose key the user changed.

    Such a row is between the same neighbours, and at least half of its values are what planner wrote there.
    """
    found: dict[int, int] = {}
    missing = sorted(built.rows.keys() - set(rows.values()))
    unknown = sorted(keyed.rows.keys() - rows.keys())
    if not missing or keyed.kind in (LOG, COMPARISON, *DATABASES):
        return found
    for row in unknown:
        above = max((other for other in rows if other < row), default=0)
        below = min((other for other in rows if other > row), default=0)
        gap = range(rows.get(above, 0) + 1, rows[below] if below else max(built.rows) + 1)
        best = next((was for was in missing if was in gap and _is_alike(keyed, built, row, was, columns)), None)
        if best is not None:
            found[row] = best
            missing.remove(best)
    return found


def _is_alike(keyed: KeyedSheet, built: BuiltSheet, row: int, was: int, columns: Mapping[int, int]) -> bool:
    same = of_all = 0
    for column, built_column in columns.items():
        cell = built.cell(was, built_column)
        mine = keyed.sheet.cells.get((row, column))
        if cell is not None and cell.digest != NOTHING and (mine is None or not mine.kind):
            of_all += 1
            same += of_value(keyed.sheet.value(row, column)) == cell.digest
    return of_all > 0 and 2 * same >= of_all
