"""Computes the values of a workbook just written from its grids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from planner.recalc.engine import Address, Engine, EngineError, Unknown, understood
from planner.recalc.evidence import ARRAY, BAD_NAME, UNKNOWN_NAME, with_dependents
from planner.xlsx.address import address, coordinates
from planner.xlsx.grid import Grid
from planner.xlsx.opc import Package


@dataclass
class FreshValues:
    """Each sheet's values from A1 on, row by row, None for a formula without one; and the reasons for these."""

    values: dict[str, list[list[Any]]]
    doubts: dict[Address, str]


def values_of(package: Package, grids: Mapping[str, Grid]) -> FreshValues:
    """The values of a workbook just written from `grids`, with only plain formulas and no cached values.

    The rules of `planner.recalc.evidence` apply.
    """
    try:
        return _values(Engine(package, {}), grids)
    except EngineError as refusal:
        return FreshValues({}, {cell: str(refusal) for cell in _formulas(grids)})


def _values(engine: Engine, grids: Mapping[str, Grid]) -> FreshValues:
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
    candidates = [(name, address(*at)) for name, grid in grids.items() for at in grid.may_spill()]
    doubts |= dict.fromkeys(engine.spills(candidates), ARRAY.reason)
    doubts = with_dependents(engine, list(_formulas(grids)), doubts, list(doubts)) if doubts else doubts
    for name, ref in doubts:
        row, column = coordinates(ref)
        found[name][row - 1][column - 1] = None
    return FreshValues(found, doubts)


def _formulas(grids: Mapping[str, Grid]) -> Iterator[Address]:
    return ((name, address(*at)) for name, grid in grids.items() for at in grid.formulas())
