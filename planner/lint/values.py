"""Rules of cached values: present, without untraced errors, and what an independent recalculation gives (22, 23)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from planner.lint.book import Address, Book
from planner.lint.findings import Fault, rule, shown
from planner.lint.graph import Graph, origins
from planner.recalc.engine import EngineError
from planner.recalc.trust import computed
from planner.xlsx.address import address, coordinates
from planner.xlsx.cellvalue import NA, CellError, Value, same_value
from planner.xlsx.opc import Package

EXACT, ROUNDED = 1e-12, 1e-9
RECALCULATE = "run planner recalc on the file, or save it in a spreadsheet program"
_ROUNDED = re.compile(r"\^|\b(LOG|EXP)\(")
_CLOCK_OR_DICE = frozenset({"NOW", "TODAY", "RAND", "RANDBETWEEN", "RANDARRAY"})


@rule(22, "Every formula cell has a cached value. No error but #N/A, and each #N/A traces to a blank database cell or "
          "a formula's NA(), or stands in chart data.")  # fmt: skip
def cached_values(book: Book) -> Iterator[Fault]:
    """A formula without a value, and the first cell of every chain of errors that no missing number explains."""
    for sheet in book.sheets.values():
        blank = [at for at in sheet.patterns if sheet.value(*at) is None]
        if blank:
            rest = f", nor have {len(blank) - 1:,} others here" if len(blank) > 1 else ""
            what = f"the formula has no cached value{rest}"
            yield Fault(sheet.name, address(*blank[0]), what, RECALCULATE)
    errors = {(name, *at): value for name, sheet in book.sheets.items() for at in sheet.cells
              if isinstance(value := sheet.value(*at), CellError)}  # fmt: skip
    for name, row, column in origins(book, errors):
        formula, error = book.sheets[name].patterns.get((row, column)), errors[name, row, column]
        is_known = formula is not None and formula.is_broken  # rule 15 reports a broken reference
        if not is_known and not (error == NA and _is_missing(book, (name, row, column))):
            what = f"{error} comes from here: ={formula.at(row, column)}" if formula else f"{error} is typed"
            remedy = "is what it looks up there?" if error == NA else "correct the formula, or what it reads"
            yield Fault(name, address(row, column), what, remedy)


def _is_missing(book: Book, cell: Address) -> bool:
    """Whether #N/A says here that a number is missing: it is typed, called NA(), or looked up by a blank cell."""
    name, row, column = cell
    formula = book.sheets[name].patterns.get((row, column))
    if formula is None or "NA" in formula.functions:
        return True
    areas = ((reference.sheet or name, reference.area(row, column)) for reference in formula.references)
    return any(
        area.top == area.bottom and area.left == area.right and book.sheets[sheet].value(*area[:2]) in (None, "")
        for sheet, area in areas if sheet in book.sheets
    )  # fmt: skip


@rule(23, "Cached values equal an independent recalculation (1e-12 relative; any error equals any other; strip the "
          "cached values first, since LibreOffice trusts them).")  # fmt: skip
def recalculated(book: Book) -> Iterator[Fault]:
    """The first cells whose saved value is not what their formula gives, and how many could not be computed."""
    try:
        verdict = computed(_stripped(book), book.parsed)
    except EngineError as error:
        yield Fault("", "", f"nothing was recalculated: {error}", "recalculate in a spreadsheet program", "note")
        return
    fresh = {(name, *coordinates(ref)): value for (name, ref), value in verdict.values.items()}
    stale = {cell for cell, value in fresh.items() if not _is_current(book, cell, value)}
    stale -= _moving(book, stale)
    first = origins(book, stale)
    rest = Counter(name for name, *_ in stale) - Counter(name for name, *_ in first)
    for name, row, column in first:
        old, new = book.sheets[name].value(row, column), fresh[name, row, column]
        what = f"the saved value is {shown(old)}, the formula gives {shown(new)}"
        yield Fault(name, address(row, column), what, RECALCULATE)
    if rest:
        also = ", ".join(f"{count:,} on {name}" for name, count in rest.items())
        yield Fault("", "", f"further stale cells depend on these: {also}", "", "note")
    if verdict.doubts:
        (name, ref), reason = next(iter(verdict.doubts.items()))
        what = f"{len(verdict.doubts):,} cells were not recalculated, such as {name}!{ref}: {reason}"
        yield Fault("", "", what, "recalculate in a spreadsheet program", "note")


def _stripped(book: Book) -> Package:
    """The workbook without its cached values, which a program that calculates could take for true."""
    package = replace(book.package, parts=dict(book.package.parts))
    for name, part in package.sheets().items():
        sheet = book.parsed[name]
        formulas = (ref for ref, cell in sheet.cells.items() if cell.formula is not None)
        package.replace(
            part, sheet.with_cached({ref: None for formula in formulas for ref in sheet.filled_by(formula)})
        )
    return package


def _is_current(book: Book, cell: Address, new: Value) -> bool:
    """Whether a saved value is the recalculated one; one that is missing is rule 22's."""
    name, *at = cell
    sheet = book.sheets[name]
    old = sheet.value(*at)
    if old is None or (isinstance(old, CellError) and isinstance(new, CellError)):
        return True
    formula = sheet.patterns.get((at[0], at[1]))
    tolerance = ROUNDED if formula and _ROUNDED.search(formula.text) else EXACT
    return same_value(old, "" if new is None else new, tolerance)


def _moving(book: Book, stale: Collection[Address]) -> set[Address]:
    """Those of the stale cells that a clock or dice moves, themselves or through others."""
    graph = Graph(book, stale)
    moving: set[Address] = set()
    while more := {cell for cell in stale if cell not in moving
                   and (_has_clock(book, cell) or not moving.isdisjoint(graph.precedents(cell)))}:  # fmt: skip
        moving |= more
    return moving


def _has_clock(book: Book, cell: Address) -> bool:
    name, *at = cell
    formula = book.sheets[name].patterns.get((at[0], at[1]))
    return formula is not None and not formula.functions.isdisjoint(_CLOCK_OR_DICE)
