"""Precedents and dependents of formulas: where an error begins, what it reaches, and circular references."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from planner.book.workbook import Book
from planner.xlsx.address import Area, Spot
from planner.xlsx.pattern import Pattern, RelativeReference

RowOf = tuple[str, int]
"""A row: sheet and number."""


class CellSet:
    """A set of cells that can be queried by area."""

    def __init__(self, cells: Iterable[Spot]) -> None:
        rows: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for sheet, row, column in cells:
            rows[sheet][column].append(row)
        self._rows = {
            sheet: {column: sorted(found) for column, found in columns.items()} for sheet, columns in rows.items()
        }

    def within(self, sheet: str, area: Area) -> Iterator[Spot]:
        """The cells of the set in an area of a sheet."""
        columns = self._rows.get(sheet)
        if not columns:
            return
        wide = area.right - area.left > len(columns)
        for column in columns if wide else range(area.left, area.right + 1):
            rows = columns.get(column)
            if rows and area.left <= column <= area.right:
                for row in rows[bisect_left(rows, area.top) : bisect_right(rows, area.bottom)]:
                    yield Spot(sheet, row, column)

    def read_by(self, book: Book, cell: Spot) -> Iterator[Spot]:
        """The cells of the set that are precedents of `cell`."""
        for sheet, area in book.areas(cell):
            yield from self.within(sheet, area)


def origins(book: Book, cells: Collection[Spot]) -> list[Spot]:
    """Those of `cells` that have none of the others as precedent: where an error that spreads along formulas begins."""
    among = CellSet(cells)
    return [cell for cell in cells if next(among.read_by(book, cell), cell) == cell]


class Readers:
    """The dependents of cells within a set of cells."""

    def __init__(self, book: Book, cells: Collection[Spot]) -> None:
        among = CellSet(cells)
        self._of: dict[Spot, list[Spot]] = defaultdict(list)
        for cell in cells:
            for read in among.read_by(book, cell):
                self._of[read].append(cell)

    def reached(self, *causes: Spot) -> set[Spot]:
        """The causes, and their direct and indirect dependents in the set."""
        waiting, seen = list(causes), set(causes)
        while waiting:
            ahead = [cell for cell in self._of.get(waiting.pop(), ()) if cell not in seen]
            seen.update(ahead)
            waiting += ahead
        return seen


def circles(book: Book) -> Iterator[list[Spot]]:
    """Disjoint circular references, each as the cells along it; an iterative depth-first search."""
    rows = _rows_in_circles(book)
    cells = [Spot(name, *at) for name, sheet in book.sheets.items() for at in sheet.patterns if (name, at[0]) in rows]
    among = CellSet(cells)
    done: set[Spot] = set()
    found: set[Spot] = set()
    for start in cells:
        if start in done:
            continue
        path: dict[Spot, Iterator[Spot]] = {start: among.read_by(book, start)}
        while path:
            cell, ahead = next(reversed(path.items()))
            following = next(ahead, None)
            if following is None:
                done.add(cell)
                del path[cell]
            elif following in path:
                steps = list(path)
                circle = steps[steps.index(following) :]
                if found.isdisjoint(circle):
                    yield circle
                found.update(circle)
            elif following not in done:
                path[following] = among.read_by(book, following)


def _rows_in_circles(book: Book) -> set[RowOf]:
    """The rows that a circular reference may pass through; they narrow the search, since most rows are in none."""
    formulas: dict[str, dict[int, dict[int, Pattern]]] = {}
    for name, sheet in book.sheets.items():
        rows = formulas.setdefault(name, {})
        for (row, column), formula in sheet.patterns.items():
            rows.setdefault(row, {})[column] = formula
    numbers = {name: sorted(rows) for name, rows in formulas.items()}
    reads: dict[RowOf, set[RowOf]] = {}
    ahead: set[RowOf] = set()  # rows in which a cell reads itself or one to its right
    for name, rows in formulas.items():
        prefixes: dict[str, str] = {}  # a reference's prefix -> the sheet that it names
        for row, cells in rows.items():
            spans: set[tuple[str, int, int]] = set()  # a set, since most formulas of a row read the same
            for formula in set(cells.values()):
                for reference in formula.references:
                    source = prefixes.get(reference.prefix)
                    if source is None:
                        source = prefixes[reference.prefix] = reference.sheet or name
                    spans.add((source, *rows_of(reference, row)))
            found: set[RowOf] = set()
            for source, top, bottom in spans:
                known = numbers.get(source, [])
                found.update((source, at) for at in known[bisect_left(known, top) : bisect_right(known, bottom)])
            if (name, row) in found:
                found.discard((name, row))
                if _reads_ahead(name, row, cells):
                    ahead.add((name, row))
            reads[name, row] = found
    return ahead | _without_leaves(_without_leaves(reads)).keys()


def _reads_ahead(sheet: str, row: int, cells: Mapping[int, Pattern]) -> bool:
    """Whether a formula reads its own cell or one to its right in its row; reading only leftwards is never circular."""
    for column, formula in cells.items():
        for reference in formula.references:
            top, bottom = rows_of(reference, row)
            if top <= row <= bottom and reference.sheet in ("", sheet):
                ends = reference.first.seen_from(row, column), reference.last.seen_from(row, column)
                if max(end for _, end in ends) >= column:
                    return True
    return False


def rows_of(reference: RelativeReference, row: int) -> tuple[int, int]:
    """The first and last row that a reference of a formula in `row` covers."""
    first, last = reference.first, reference.last
    one, other = first.row + row * (not first.row_fixed), last.row + row * (not last.row_fixed)
    return (one, other) if one <= other else (other, one)


def _without_leaves(reads: Mapping[RowOf, set[RowOf]]) -> dict[RowOf, set[RowOf]]:
    """Repeatedly removes rows that read no remaining row; returns the readers of each row that is left.

    Applied twice, it removes first along readers and then back, so that only circles, and what is between two, remain.
    """
    readers: dict[RowOf, set[RowOf]] = defaultdict(set)
    for row, others in reads.items():
        for other in others:
            readers[other].add(row)
    counts = {row: len(others) for row, others in reads.items()}
    waiting = [row for row, count in counts.items() if not count]
    while waiting:
        row = waiting.pop()
        del counts[row]
        for reader in readers[row]:
            counts[reader] -= 1
            if not counts[reader]:
                waiting.append(reader)
    return {row: readers[row] & counts.keys() for row in counts}
