"""Cells that Excel would mark with a green triangle although they are meant as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from planner.workbook.page import Live, Page
from planner.xlsx.address import Area, Position

_OF_FORMULAS = 'evalError="1" formula="1" formulaRange="1"'
"""N/A is a number that nobody knows; each row has a formula of its own, and a range may end before a total."""
_OF_TEXTS = 'numberStoredAsText="1"'


def ignored(page: Page) -> bytes:
    """The element `ignoredErrors` of a page's sheet.

    Of formulas it has all cells, as far as the page's rules reach; of texts those that planner wrote, such as the
    unit 1. A number that a person types as a text keeps its mark.
    """
    reach = [Area.parse(area) for areas, *_ in page.rules for area in areas.split()]
    bottom = max([page.grid.size[0], *(area.bottom for area in reach)])
    right = max([page.grid.size[1], *(area.right for area in reach)])
    told = {_OF_FORMULAS: str(Area(1, 1, bottom, right)), _OF_TEXTS: " ".join(map(str, _runs(_numbers(page))))}
    each = (f'<ignoredError sqref="{areas}" {errors}/>' for errors, areas in told.items() if areas)
    return f"<ignoredErrors>{''.join(each)}</ignoredErrors>".encode()


def _numbers(page: Page) -> Iterator[Position]:
    """The cells whose text is a number."""
    for at, (_, _, _, value) in page.filled.items():
        if isinstance(value, str) and not isinstance(value, Live):
            with suppress(ValueError):
                float(value.strip().removesuffix("%"))
                yield at


def _runs(cells: Iterable[Position]) -> list[Area]:
    """The same cells, those below one another as one area."""
    runs: list[Area] = []
    for column, row in sorted((column, row) for row, column in cells):
        if runs and (runs[-1].left, runs[-1].bottom) == (column, row - 1):
            runs[-1] = runs[-1]._replace(bottom=row)
        else:
            runs.append(Area(row, column, row, column))
    return runs
