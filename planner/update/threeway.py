"""The three workbooks of a merge, and where the rows and columns of each go."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.align.keys import CALCULATION, MEMORY, KeyedSheet, keyed
from planner.book.lost_precedents import Reader
from planner.book.rowkeys import COVER, DATABASES, LOG, is_heading
from planner.book.workbook import Book
from planner.catalog.databases import Databases
from planner.errors import Place, UserError
from planner.update.base import Base
from planner.update.changed_inputs import redirections
from planner.update.fresh import Fresh
from planner.update.outcome import Updated
from planner.update.places import FinalPlaces, final_places, is_filled
from planner.update.sweep_rows import SWEEP, chart_moves, keyed_by_value
from planner.update.table_columns import columns_of_tables, longer_tables
from planner.update.unremembered import Unremembered
from planner.update.what_if_rows import keyed_by_heading
from planner.workbook.memory import Memory
from planner.xlsx.address import Position, column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.styles import Look, Stylesheet


@dataclass
class Ours:
    """The edited file: planner's sheets by kind, the looks of its styles, and where its cells move in the merge."""

    book: Book
    sheets: Mapping[str, KeyedSheet]
    looks: list[Look]
    moves: Moves

    def style(self, sheet: KeyedSheet, at: Position) -> int:
        """The style number of a cell."""
        return sheet.sheet.cells[at].style or 0

    def look_of(self, number: int) -> Look:
        """The look of a style number."""
        return self.looks[number] if number < len(self.looks) else Look()

    def formula(self, sheet: KeyedSheet, at: Position, to: str) -> str | None:
        """A cell's formula, without =, as it reads on the sheet `to` of the merged workbook; None for a typed value."""
        cell = sheet.sheet.cells.get(at)
        if cell is None or cell.formula is None:
            return None
        return self.moves.formula(sheet.sheet.xml.formula_of(cell) or "", sheet.sheet.name, to=to)


@dataclass
class ThreeWay:
    """The merge of the file (`ours`) and the workbook built now (`fresh`) over what planner wrote last (`base`).

    By kind of sheet, `names` has the final names and `places` the final positions of rows and columns. `given` are the
    kinds of tables for which the user gives CSVs now, `read_again` their ids by kind. Findings about the user's work go
    into `done`, and the user's formulas on planner's sheets into `kept`.
    """

    ours: Ours
    base: Base
    fresh: Fresh
    done: Updated
    given: Container[str] = ()
    read_again: Mapping[str, Container[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, FinalPlaces] = field(default_factory=dict)
    kept: list[Reader] = field(default_factory=list)

    @property
    def package(self) -> Package:
        """The package of the edited file, which becomes the merged workbook."""
        return self.ours.book.package

    @property
    def kinds(self) -> list[str]:
        """The kinds of sheets that both workbooks have, except the Log."""
        return [kind for kind in self.fresh.sheets if kind in self.ours.sheets and kind != LOG]

    @property
    def new_kinds(self) -> list[str]:
        """The kinds of sheets that the file lacks."""
        return [kind for kind in self.fresh.sheets if kind not in self.ours.sheets]

    @cached_property
    def busy(self) -> frozenset[str]:
        """The names, in the file and as built, of sheets that are renamed or whose cells move."""
        found: set[str] = set()
        for kind in self.kinds:
            mine, theirs = self.ours.sheets[kind].sheet.name, self.fresh.sheets[kind].name
            moves = self.ours.moves.of(mine), self.fresh.moves.of(theirs)
            if mine != theirs or not all(found.is_idle for found in moves):
                found |= {mine, theirs}
        return frozenset(found)

    @cached_property
    def names_busy(self) -> Callable[[str], object]:
        """Whether a formula mentions a sheet of `busy`."""
        return re.compile("|".join(map(re.escape, self.busy)) or r"(?!)").search

    def homes(self, kind: str) -> dict[str, str]:
        """Rows that left a calculation sheet for another one: name -> kind of the sheet that has it now."""
        if not kind.startswith(CALCULATION):
            return {}
        own = self.fresh.sheets[kind].row_of
        return {
            key: other
            for other, each in reversed(list(self.fresh.sheets.items()))
            if other.startswith(CALCULATION) and other != kind and other in self.ours.sheets
            for key in each.row_of
            if key not in own and not is_heading(key)
        }

    @cached_property
    def drawn_moves(self) -> Moves:
        """Where the references of the file's charts go in the merged workbook."""
        moves = self.ours.moves
        for kind, places in self.places.items():
            old, now = self.ours.sheets[kind], self.fresh.sheets[kind]
            name = old.sheet.name
            if kind == SWEEP:
                charts = chart_moves(moves.of(name), self.base.memory.axes, old.rows, now.rows, places.fresh_rows)
                moves = moves.changed(name, charts)
            elif whole_ranges := longer_tables(old, now, places):
                moves = moves.changed(name, replace(moves.of(name), whole_ranges=whole_ranges))
        return moves

    def gone_names(self, kind: str) -> frozenset[str]:
        """The names of rows that a sheet no longer has."""
        rows = self.ours.sheets[kind].rows
        names = (rows.get(row, "") for row in self.places[kind].gone_rows)
        return frozenset(name for name in names if name and not is_heading(name))

    def column(self, kind: str, scenario: str) -> int:
        """The final column of a scenario on a sheet."""
        return self.places[kind].fresh_columns(self.fresh.sheets[kind].column_of[scenario])

    def is_own(self, sheet: KeyedSheet, at: Position) -> bool:
        """Whether the user filled a cell: it holds something other than what planner wrote there."""
        if sheet.kind == COVER and sheet.rows.get(at[0], "").startswith(MEMORY):
            return False
        return is_filled(sheet, *at) and not self.base.is_ours(sheet, at)


def merge_of(book: Book, memory: Memory | None, fresh: Fresh, done: Updated, databases: Databases) -> ThreeWay:
    """The merge with the final position of every row and column. Raises UserError for a file without styles.

    Rows that the fresh databases lack stay, unless the user gives a CSV for that table in `databases`.
    """
    styles = Stylesheet.of(book.package)
    if styles is None:
        raise UserError("the workbook has no styles", place=Place(book.package.name), remedy="save it once more")
    sheets, looks = keyed(book), styles[1].looks
    ours = Ours(book, sheets, looks, Moves({}))
    memory, sheets, fresh = keyed_by_heading(memory, sheets, fresh)
    if memory is not None:
        memory, sheets, fresh = keyed_by_value(memory, sheets, fresh)
        base = Base.of(memory, sheets, fresh)
    else:
        counted = Counter(ours.look_of(ours.style(each, at)) for each in sheets.values() for at in each.sheet.cells)
        base = Unremembered.of_fresh(sheets, fresh, counted)
    ours.sheets = {kind: base.rekeyed(each) for kind, each in sheets.items()}
    merge = ThreeWay(ours, base, fresh, done, databases.own, databases.own_ids)
    merge.names = dict(_names(merge))
    merge.places = {kind: _final_places(merge, kind) for kind in merge.kinds}
    ours.moves = Moves(_file_moves(merge))
    merge.fresh = replace(fresh, moves=Moves(dict(_fresh_moves(merge))))
    return merge


def _names(merge: ThreeWay) -> Iterator[tuple[str, str]]:
    """Yields each kind of sheet with its final name: the file's, or for a new sheet one that isn't taken."""
    taken = {name.lower() for name in merge.ours.book.sheets}
    for kind, each in merge.fresh.sheets.items():
        is_new = kind not in merge.ours.sheets
        name = each.name if is_new else merge.ours.sheets[kind].sheet.name
        number = 1
        while is_new and name.lower() in taken:
            number += 1
            name = f"{each.name}_{number}"
        taken.add(name.lower())
        yield kind, name


def _final_places(merge: ThreeWay, kind: str) -> FinalPlaces:
    old, fresh, done = merge.ours.sheets[kind], merge.fresh.sheets[kind], merge.done
    stays = kind in DATABASES and kind not in merge.given

    def is_own(row: int, column: int) -> bool:
        return merge.is_own(old, (row, column))

    built = merge.base.built_rows(old)
    found = final_places(old, fresh, built, is_own, merge.homes(kind), keeps_rows=stays)
    columns = columns_of_tables(old, fresh, found, lambda at: merge.base.is_ours(old, at))
    found = replace(found, columns_at=columns)
    name = merge.names[kind]
    if kind in DATABASES and _is_reordered(old, built, found):
        done.remarks.append(f"the rows of {name} are in planner's order again: yours was another")
    kept = [row for row in found.own_rows if merge.base.is_row(old, row) and not stays]
    done.kept_rows += [f"{name}: {old.rows.get(row, row)}" for row in kept]
    done.own_rows += [f"{name} row {found.old_rows(row)}" for row in found.own_rows if row not in kept]
    if database := merge.ours.book.databases.get(kind):
        repeated = database.repeated(found.old_rows)
        done.repeated += [f"{name} row {row} ({identifier} of row {first})" for row, first, identifier in repeated]
    done.own_columns += [f"{name}!{column_letters(found.columns(column))}" for column in found.own_columns]
    if kind != COVER:
        live = old.sheet.patterns
        done.new_rows += _named(name, fresh.rows, found.new_rows, lambda row: fresh.value(row, 1))
        done.gone_rows += _named(
            name, old.rows, found.gone_rows, lambda row: None if (row, 1) in live else old.sheet.value(row, 1)
        )
    return found


def _named(sheet: str, keys: Mapping[int, str], rows: Iterable[int], first: Callable[[int], Value]) -> Iterator[str]:
    """Yields rows as `Sheet: name` for the outcome, without headings and rows that only their position names.

    `first` gives the typed value of a row's first column.
    """
    for row in rows:
        key = keys.get(row, "")
        is_place = re.search(r" [0-9]+( \([0-9]+\))?$", key) is not None and first(row) in (None, "")
        if not is_heading(key) and not is_place:
            yield f"{sheet}: {key.rpartition(' | ')[2] or row}"


def _is_reordered(old: KeyedSheet, built: Mapping[int, int], found: FinalPlaces) -> bool:
    """Whether the user reordered planner's rows and the update puts them back into its order."""
    stays = [row for row in sorted(built) if row in old.rows and row not in found.gone_rows]
    ways = [built[row] for row in stays], [found.old_rows(row) for row in stays]
    return all(places != sorted(places) for places in ways)


def _file_moves(merge: ThreeWay) -> dict[str, SheetMoves]:
    """The moves of every sheet of the file, by name."""
    moves: dict[str, SheetMoves] = {name: SheetMoves(name) for name in merge.ours.book.sheets}
    for kind, places in merge.places.items():
        sheet, elsewhere = merge.ours.sheets[kind], {}
        homes = merge.homes(kind)
        for row in places.gone_rows:
            home = homes.get(sheet.rows.get(row, ""))
            if home is not None:
                target = merge.fresh.sheets[home].row_of[sheet.rows[row]]
                elsewhere[row] = (merge.names[home], merge.places[home].fresh_rows(target))
        there = {merge.names[home]: Track(_columns_there(merge, kind, home)) for home in set(homes.values())}
        range_tops = {sheet.first_row: places.old_rows(sheet.first_row - 1) + 1} if sheet.first_row else {}
        redirected = redirections(sheet, merge.fresh.sheets[kind], places)
        name = merge.names[kind]
        moves[sheet.sheet.name] = SheetMoves(
            name, places.old_rows, places.columns, elsewhere, there, range_tops, redirected, places.columns_at
        )
    return moves


def _columns_there(merge: ThreeWay, kind: str, home: str) -> dict[int, int]:
    """The final columns, on the sheet `home`, of the scenarios of the sheet `kind`."""
    own, there = merge.ours.sheets[kind], merge.fresh.sheets[home].column_of
    return {column: merge.column(home, key) for column, key in own.columns.items() if key in there}


def _fresh_moves(merge: ThreeWay) -> Iterator[tuple[str, SheetMoves]]:
    """The moves of every sheet of the fresh workbook, with its name."""
    for kind, each in merge.fresh.sheets.items():
        found = merge.places.get(kind)
        rows, columns = (found.fresh_rows, found.fresh_columns) if found else (Track(), Track())
        first = each.row_of.get("above 0", 0) + 1 if kind in DATABASES else 0
        range_tops = {first: rows(first - 1) + 1} if first else {}
        yield each.name, SheetMoves(merge.names[kind], rows, columns, range_tops=range_tops)
