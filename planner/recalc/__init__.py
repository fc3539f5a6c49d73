"""The one path that puts a cached value into every formula cell of a workbook, built or edited.

A value is written only where the engine can be trusted with it (`planner.recalc.trust`). Where it can't, neither a
stale nor a guessed one stays: the cell is left without, and the program that opens the workbook computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.recalc.engine import EngineError, engine_name
from planner.recalc.trust import Verdict, computed, formula_cells, recomputed
from planner.xlsx.cellvalue import CellError, Value, same_value
from planner.xlsx.opc import Package
from planner.xlsx.parts import compute_on_load, parse_sheets
from planner.xlsx.sheetxml import SheetXml


class Change(NamedTuple):
    """A cached value that was there and is another now."""

    sheet: str
    ref: str
    old: Value
    new: Value


class Skip(NamedTuple):
    """A formula cell in which the engine has no part, and why."""

    sheet: str
    ref: str
    reason: str


@dataclass
class Recalculated:
    """What `recalculate` did.

    `changed` are the cells that had a value and have another, `skipped` those left without one, `kept` those
    whose saved value the engine doesn't reproduce and the edits don't reach. `n_changed` counts every cell
    that was rewritten, the first values of a built workbook included.
    """

    engine: str
    n_formulas: int = 0
    n_changed: int = 0
    changed: list[Change] = field(default_factory=list)
    skipped: list[Skip] = field(default_factory=list)
    kept: list[Skip] = field(default_factory=list)

    @property
    def new_errors(self) -> list[Change]:
        """The cells that had a value and have an error now."""
        return [
            change
            for change in self.changed
            if isinstance(change.new, CellError) and not isinstance(change.old, CellError)
        ]

    @property
    def note(self) -> str:
        """One line for a person."""
        line = f"{self.n_formulas:,} formulas, {self.n_changed:,} rewritten ({self.engine})"
        for cells, what in (
            (self.skipped, "have no value until a spreadsheet program opens the file"),
            (self.kept, "keep the value that the last program saved"),
        ):
            if cells:
                line += f"; {len(cells):,} {what}, such as {cells[0].sheet}!{cells[0].ref}: {cells[0].reason}"
        return line


def recalculate(package: Package, *, before: Package | None = None) -> Recalculated:
    """Bring the cached values of `package` up to date, in place; nothing else in it changes.

    Without `before` every formula is computed anew. With `before`, the same workbook as its program saved it,
    only the formulas that the edits reach are rewritten, and of those only the ones whose saved value the
    engine reproduced. Where cells stay without a value, the workbook asks to be computed when it is opened.

    Raises UserError when a sheet's XML is not sound or the engine is not installed.
    """
    result = Recalculated(engine_name())
    sheets = parse_sheets(package)
    try:
        verdict = computed(package, sheets) if before is None else recomputed(before, sheets)
    except EngineError as refusal:
        verdict = Verdict({}, dict.fromkeys(formula_cells(sheets), str(refusal)))
    _write(package, sheets, verdict, result)
    result.skipped = [Skip(*cell, reason) for cell, reason in verdict.doubts.items()]
    result.kept = [Skip(*cell, reason) for cell, reason in verdict.kept.items()]
    if verdict.doubts:
        compute_on_load(package)
    return result


def strip_cached(package: Package) -> None:
    """Remove every cached value, so that the program which opens the workbook must compute it."""
    sheets = parse_sheets(package)
    _write(package, sheets, Verdict({}, dict.fromkeys(formula_cells(sheets), "")), Recalculated(""))


def _write(package: Package, sheets: Mapping[str, SheetXml], verdict: Verdict, result: Recalculated) -> None:
    """Put the values in, and take those in doubt out, of each sheet's part."""
    parts = package.sheets()
    for name, sheet in sheets.items():
        new: dict[str, Value] = {}
        for ref, cell in sheet.cells.items():
            if cell.formula is None:
                continue
            result.n_formulas += 1
            if (name, ref) in verdict.doubts:
                new |= dict.fromkeys(sheet.filled_by(ref))
            elif (name, ref) in verdict.values:
                old, value = cell.value, verdict.values[name, ref]
                if same_value(old, value):
                    continue
                new[ref] = value
                if old is not None:
                    result.changed.append(Change(name, ref, old, value))
        result.n_changed += len(new)
        package.replace(parts[name], sheet.with_cached(new))
