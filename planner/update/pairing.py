"""The edited workbook beside a freshly built one: which sheet is which, and where every row and column goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from planner.align.keys import LOG, Keyed, keyed
from planner.align.tracks import Tracks, tracks
from planner.book.workbook import Book
from planner.errors import Place, UserError
from planner.update.history import digests
from planner.update.inserted import as_built
from planner.update.outcome import Updated
from planner.update.sides import Side, is_own
from planner.update.signatures import Signer
from planner.xlsx.address import column_letters
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.styles import Stylesheet

CALCULATION = "calculation "
HEADINGS = ("above ", "top ", "label ", "titles", "case ")  # how the keys of rows begin that are no quantities


@dataclass
class Pair:
    """Both workbooks. `names` are the sheets' names in the end by kind, `tracks` where their rows and columns go.

    What is found of a person's work is noted in `done`.
    """

    old: Side
    fresh: Side
    done: Updated
    names: Mapping[str, str] = field(default_factory=dict)
    tracks: Mapping[str, Tracks] = field(default_factory=dict)

    @property
    def package(self) -> Package:
        """The edited workbook, which becomes the new one."""
        return self.old.book.package

    @property
    def fresh_package(self) -> Package:
        """The freshly built one."""
        return self.fresh.book.package

    @property
    def kinds(self) -> list[str]:
        """The kinds of sheets that both have, but for the Log."""
        return [kind for kind in self.fresh.sheets if kind in self.old.sheets and kind != LOG]

    @property
    def new_kinds(self) -> list[str]:
        """The kinds of sheets that the edited workbook hasn't."""
        return [kind for kind in self.fresh.sheets if kind not in self.old.sheets]

    def homes(self, kind: str) -> dict[str, str]:
        """The rows that a calculation sheet has no more and another one has: name -> kind of sheet."""
        if not kind.startswith(CALCULATION):
            return {}
        own = self.fresh.sheets[kind].row_of
        return {key: other for other, each in reversed(list(self.fresh.sheets.items()))
                if other.startswith(CALCULATION) and other != kind and other in self.old.sheets
                for key in each.row_of if key not in own and not is_heading(key)}  # fmt: skip

    def column(self, kind: str, scenario: str) -> int:
        """The column of a scenario on a sheet in the end."""
        return self.tracks[kind].fresh_columns(self.fresh.sheets[kind].column_of[scenario])


def paired(book: Book, fresh_book: Book, done: Updated) -> Pair:
    """The two workbooks with all that moves in either. Raises UserError for one without formats."""
    fresh = _side(fresh_book)
    old = as_built(replace(_side(book), known=frozenset(digests(fresh))), fresh)
    pair = Pair(old, fresh, done)
    pair.names = dict(_names(pair))
    pair.tracks = {kind: _tracks(pair, kind) for kind in pair.kinds}
    moves, fresh_moves = Moves(_led(pair)), Moves(dict(_fresh_led(pair)))
    pair.old, pair.fresh = replace(old, moves=moves), replace(fresh, moves=fresh_moves)
    return pair


def is_heading(key: str) -> bool:
    """Whether a row's key is that of a heading, a title or a case, and not of a quantity."""
    return key.startswith(HEADINGS)


def _side(book: Book) -> Side:
    sheets = keyed(book)
    styles = Stylesheet.of(book.package)
    if styles is None:
        raise UserError("the workbook has no styles", place=Place(book.package.name), remedy="save it once more")
    return Side(book, sheets, styles[1].looks, Moves({}), Signer(sheets))


def _names(pair: Pair) -> Iterator[tuple[str, str]]:
    """The name of each kind of sheet in the end: the old one's, or a fresh one that no sheet has."""
    taken = {name.lower() for name in pair.old.book.sheets}
    for kind, each in pair.fresh.sheets.items():
        is_new = kind not in pair.old.sheets
        name = each.sheet.name if is_new else pair.old.sheets[kind].sheet.name
        number = 1
        while is_new and name.lower() in taken:
            number += 1
            name = f"{each.sheet.name}_{number}"
        taken.add(name.lower())
        yield kind, name


def _tracks(pair: Pair, kind: str) -> Tracks:
    old, fresh, done = pair.old.sheets[kind], pair.fresh.sheets[kind], pair.done
    found = tracks(old, fresh, lambda row, column: is_own(pair.old, old, (row, column)), pair.homes(kind))
    name = pair.names[kind]
    done.own_rows += [f"{name} row {found.old_rows(row)}" for row in found.own_rows]
    done.own_columns += [f"{name}!{column_letters(found.columns(column))}" for column in found.own_columns]
    if kind != "cover":
        done.new_rows += [f"{name}: {fresh.rows[row]}" for row in found.new_rows if not is_heading(fresh.rows[row])]
        done.gone_rows += [f"{name}: {old.rows.get(row, row)}" for row in found.gone_rows
                           if not is_heading(old.rows.get(row, ""))]  # fmt: skip
    return found


def _led(pair: Pair) -> dict[str, SheetMoves]:
    """Where every reference of the old workbook leads in the end."""
    led: dict[str, SheetMoves] = {name: SheetMoves(name) for name in pair.old.book.sheets}
    for kind, track in pair.tracks.items():
        sheet, elsewhere = pair.old.sheets[kind], {}
        homes = pair.homes(kind)
        for row in track.gone_rows:
            home = homes.get(sheet.rows.get(row, ""))
            if home is not None:
                target = pair.fresh.sheets[home].row_of[sheet.rows[row]]
                elsewhere[row] = (pair.names[home], pair.tracks[home].fresh_rows(target))
        there = {pair.names[home]: Track(_columns_there(pair, kind, home)) for home in set(homes.values())}
        tops = _tops(sheet, track.old_rows)
        led[sheet.sheet.name] = SheetMoves(pair.names[kind], track.old_rows, track.columns, elsewhere, there, tops)
    return led


def _tops(sheet: Keyed, rows: Track) -> dict[int, int]:
    """Where a range from the first row of a database begins in the end: below the titles, whatever row is first."""
    return {sheet.first_row: rows(sheet.first_row - 1) + 1} if sheet.first_row else {}


def _columns_there(pair: Pair, kind: str, home: str) -> dict[int, int]:
    """Where a sheet's scenarios stand on another one in the end."""
    own, there = pair.old.sheets[kind], pair.fresh.sheets[home].column_of
    return {column: pair.column(home, key) for column, key in own.columns.items() if key in there}


def _fresh_led(pair: Pair) -> Iterator[tuple[str, SheetMoves]]:
    """Where every reference of the fresh workbook leads in the end."""
    for kind, each in pair.fresh.sheets.items():
        found = pair.tracks.get(kind)
        rows, columns = (found.fresh_rows, found.fresh_columns) if found else (Track(), Track())
        yield each.sheet.name, SheetMoves(pair.names[kind], rows, columns, tops=_tops(each, rows))
