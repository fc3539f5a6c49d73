"""Values for a workbook that has just been written: every formula plain, no saved value, each cell known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from planner.recalc.cells import Address
from planner.recalc.engine import Engine, EngineError, Unknown, understood
from planner.recalc.trust import ARRAY, BAD_NAME, UNKNOWN_NAME, with_dependents
from planner.xlsx.address import address, coordinates
from planner.xlsx.grid import Grid
from planner.xlsx.opc import Package


@dataclass
class Fresh:
    """Each sheet's values from A1 on, row by row, None where a formula has none; and why it has none."""

    values: dict[str, list[list[Any]]]
    doubts: dict[Address, str]


def values_of(package: Package, grids: Mapping[str, Grid]) -> Fresh:
    """The values of `package`, whose sheets were written from `grids`, by the rules of `planner.recalc.trust`."""
    try:
        return _values(Engine(package, {}), grids)
    except EngineError as refusal:
        return Fresh({}, {cell: str(refusal) for cell in _formulas(grids)})


def _values(engine: Engine, grids: Mapping[str, Grid]) -> Fresh:
    found = {name: engine.block(name, *grid.size) for name, grid in grids.items()}
    doubts: dict[Address, str] = {}
    for name, grid in grids.items():
        rows = found[name]
        for row, column in grid.formulas():
            value = rows[row - 1][column - 1]
            if type(value) is float and isfinite(value):
                continue
            value = rows[row - 1][column - 1] = understood(value)
            if isinstance(value, Unknown):
                doubts[name, address(row, column)] = value.reason
            elif value == BAD_NAME:
                doubts[name, address(row, column)] = UNKNOWN_NAME
    beside = [(name, address(*at)) for name, grid in grids.items() for at in grid.beside_room()]
    doubts |= dict.fromkeys(engine.spills(beside), ARRAY.reason)
    doubts = with_dependents(engine, list(_formulas(grids)), doubts, list(doubts)) if doubts else doubts
    for name, ref in doubts:
        row, column = coordinates(ref)
        found[name][row - 1][column - 1] = None
    return Fresh(found, doubts)


def _formulas(grids: Mapping[str, Grid]) -> Iterator[Address]:
    return ((name, address(*at)) for name, grid in grids.items() for at in grid.formulas())
