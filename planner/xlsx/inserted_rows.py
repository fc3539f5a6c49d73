"""Blank rows put into a sheet, as a spreadsheet program does: what stands below moves down, and references follow."""

from __future__ import annotations

from planner.xlsx.moved_cells import with_moved_cells
from planner.xlsx.moved_parts import move, move_around_rows
from planner.xlsx.moves import Moves, SheetMoves, Track
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import drop_calculation_chain, parse_sheets
from planner.xlsx.worksheet import Worksheet


def insert_rows(package: Package, sheet: str, at: int, count: int) -> None:
    """Put `count` blank rows above row `at` of a sheet, in place; cached values stay as they were.

    Raises UserError for XML that is not sound.
    """
    moves = Moves({sheet: SheetMoves(sheet, rows=Track({at: at + count}))})
    xml, _ = with_moved_cells(parse_sheets(package)[sheet], sheet, moves)
    moved = Worksheet(xml)
    move_around_rows(moved.root, sheet, moves)
    package.replace(package.sheets()[sheet], moved.xml())
    move(package, moves, [sheet])
    drop_calculation_chain(package)
