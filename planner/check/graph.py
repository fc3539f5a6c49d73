"""Which formula reads which: precedents, where a trouble begins, and circles."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from planner.book.workbook import Book
from planner.xlsx.address import Area, Spot


class Cells:
    """A set of cells that is asked for those within an area."""

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


class Graph:
    """The formulas of a workbook, or some cells of it, and which of them each formula reads."""

    def __init__(self, book: Book, cells: Iterable[Spot]) -> None:
        self._book, self._cells = book, Cells(cells)

    def precedents(self, cell: Spot) -> Iterator[Spot]:
        """The cells of the graph that a cell's formula reads."""
        sheet, row, column = cell
        formula = self._book.sheets[sheet].patterns.get((row, column))
        for reference in formula.references if formula else ():
            yield from self._cells.within(reference.sheet or sheet, reference.area(row, column))


def origins(book: Book, cells: Collection[Spot]) -> list[Spot]:
    """Those of `cells` that read none of the others: where a trouble that spreads along formulas begins."""
    graph = Graph(book, cells)
    return [cell for cell in cells if next(graph.precedents(cell), cell) == cell]


def spread(graph: Graph, cells: Iterable[Spot], causes: Iterable[Spot]) -> dict[Spot, set[Spot]]:
    """The cells of the graph that each cause reaches along formulas, the cause among them."""
    readers: dict[Spot, list[Spot]] = defaultdict(list)
    for cell in cells:
        for read in graph.precedents(cell):
            readers[read].append(cell)
    reached: dict[Spot, set[Spot]] = {}
    for cause in causes:
        waiting, seen = [cause], {cause}
        while waiting:
            ahead = [cell for cell in readers[waiting.pop()] if cell not in seen]
            seen.update(ahead)
            waiting += ahead
        reached[cause] = seen
    return reached


def circles(book: Book) -> Iterator[list[Spot]]:
    """Circles of formulas that share no cell, each as the cells along it; a depth-first search without recursion."""
    cells = [Spot(name, *at) for name, sheet in book.sheets.items() for at in sheet.patterns]
    graph = Graph(book, cells)
    done: set[Spot] = set()
    found: set[Spot] = set()
    for start in cells:
        if start in done:
            continue
        path: dict[Spot, Iterator[Spot]] = {start: graph.precedents(start)}
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
                path[following] = graph.precedents(following)
