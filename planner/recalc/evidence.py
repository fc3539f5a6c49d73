"""Decides which of the engine's values can be trusted.

The engine is young and supports fewer constructs than Excel. Two rules guard against wrong values: what the engine
can't compute is never guessed, nor are its dependents; and in a workbook saved by another program, the saved values are
evidence, so that a formula whose saved value the engine doesn't reproduce is left to that program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from planner.recalc.array_idioms import is_array_idiom, may_be_array
from planner.recalc.dependents import Dependents, dependents
from planner.recalc.edits import Edits, formula_cells, typed_value
from planner.recalc.engine import AGREEMENT, Address, Engine, Sheets, Unknown
from planner.recalc.engine_cells import cells_read, in_columns, only_read
from planner.recalc.formula_reads import may_read_further
from planner.xlsx.cell import Cell
from planner.xlsx.cellvalue import CellError, Value, same_value
from planner.xlsx.opc import Package
from planner.xlsx.references import pieces

if TYPE_CHECKING:
    from planner.recalc.alike_rows import RowValues

BAD_NAME = CellError("#NAME?")
ARRAY = Unknown("its result is an array")
UNKNOWN_NAME = "it has a name or function that the engine doesn't know"
BAD_REFERENCE = CellError("#REF!")
MADE_RANGE = "it computes with a range that an operator makes, which the engine may not know"
LONG_NUMBER = "it writes a number into a text, of which the engine has more digits than other programs"
ARRAY_IDIOM = "it applies a function to several cells at once, of which the engine may see one"
TAINTED = "it is volatile or depends on a cell without a value"
CLOCK_OR_DICE = frozenset({"NOW", "TODAY", "RAND", "RANDBETWEEN", "RANDARRAY"})
"""Functions whose value changes with every calculation."""
_CLOCK_OR_DICE = re.compile(rf"\b({'|'.join(CLOCK_OR_DICE)})\(", re.IGNORECASE)
_LONG = re.compile(r"[1-9](?:\.?[0-9]){15}|0\.[0-9]{16}")
_WRITES = re.compile(r"&|\b(?:CONCAT|TEXT)\w*\(", re.IGNORECASE)

Formulas = Mapping[Address, Cell]
Values = dict[Address, Value | Unknown]
Reasons = dict[Address, str]


@dataclass
class Judgement:
    """The values to write, the cells to leave without one (`doubts`), and those that keep theirs, each with the reason.

    `new` are the values of formulas in new rows.
    """

    values: dict[Address, Value]
    doubts: Reasons
    kept: Reasons = field(default_factory=dict)
    new: dict[Address, Value] = field(default_factory=dict)


def computed(package: Package, sheets: Sheets, *, is_as_saved: bool = False) -> Judgement:
    """Every formula's value. Raises EngineError if the engine can't compute the workbook at all.

    `is_as_saved` says that planner hasn't edited the file: if all other formulas reproduce their saved value, nobody
    has edited it since it was computed, and a formula in doubt keeps its saved value.
    """
    formulas = formula_cells(sheets)
    engine = Engine(package, sheets)
    values = _values(engine, sheets, formulas)
    # Asking the engine takes four times as long as seeing in a formula's text that it has a single value.
    values |= dict.fromkeys(engine.spills(cell for cell, at in formulas.items() if may_be_array(at.formula)), ARRAY)
    unknown = _unknown(values, sheets, formulas)
    wrong = _disagreements(engine, values, formulas) if unknown and is_as_saved else {}
    doubts = _with_dependents(engine, sheets, formulas, unknown)
    sound = _sound(values, doubts)
    if is_as_saved and wrong.keys() <= doubts.keys():
        kept = {cell: reason for cell, reason in doubts.items() if formulas[cell].value is not None}
        return Judgement(sound, {cell: reason for cell, reason in doubts.items() if cell not in kept}, kept)
    return Judgement(sound, doubts)


class EditReach(NamedTuple):
    """The dependents of edits, and those values, also of new rows, that were computed without the engine."""

    reached: Dependents
    known: RowValues


def reach_of(before: Package, sheets: Sheets, edits: Edits, reached: Dependents | None = None) -> EditReach:
    """The dependents of edits of a workbook, and which values can be computed without the engine.

    Pass `reached` if it is known: other values in the same cells reach the same formulas.
    """
    from planner.recalc.alike_rows import row_values  # here, for it loads numpy

    reached = reached or dependents(before, sheets, [*edits.typed, *edits.added], edits.new.places)
    return EditReach(reached, row_values(sheets, reached, edits))


def recomputed(
    before: Package, sheets: Sheets, edits: Edits, after: Package | None = None, reach: EditReach | None = None
) -> Judgement:
    """The values of the formulas that depend on edits of `before`, which has these `sheets`.

    `after` is the workbook with extended tables and names, if these change. `reach` is that of the edits if it was
    computed already. Raises EngineError as `computed` does.
    """
    reached, known = reach or reach_of(before, sheets, edits)
    reached = reached.without(known.known)
    formulas = {(name, ref): at for name, ref in reached.formulas(sheets) if (at := sheets[name].cell(ref))}
    added = edits.added | edits.new.formulas(known.new)
    if not formulas and not added:
        return Judgement(known.changed, {}, new=known.new)
    typed = edits.typed | edits.new.typed() | known.changed | known.new
    texts = {cell: sheets[cell[0]].formula_of(at) or "" for cell, at in formulas.items()} | added
    read = cells_read(texts)
    typed = typed if read is None else in_columns(read, typed)

    def engine_of(package: Package) -> Engine:
        values: dict[Address, Value] = {}
        if read is not None:
            package, values = only_read(package, sheets, {name for name, _ in texts}, read)
        return Engine(reached.reduced(package), sheets, values)

    engine = engine_of(before)
    base, doubts, kept = _weighed(engine, sheets, formulas, [*typed, *added])
    if after is not None and after.parts != before.parts:
        engine = engine_of(after)
    engine.put_all(typed)
    _put_again(engine, sheets, formulas)
    for cell, text in sorted(added.items()):
        engine.put_formula(cell, text)
    engine.put_all({cell: formulas[cell].value for cell in kept})
    idioms = engine.stale(cell for cell in formulas if cell not in kept and is_array_idiom(texts[cell]))
    engine.evaluate()
    found = _values(engine, sheets, [*base, *added])
    values = {
        cell: value
        for cell, value in found.items()
        if cell not in base or not _equal(value, base[cell]) or formulas[cell].value is None
    }
    doubts = dict.fromkeys(idioms, ARRAY_IDIOM) | _unknown(found, sheets, formulas, added) | doubts
    doubts = _with_dependents(engine, sheets, formulas, doubts)
    return Judgement(_sound(values, doubts) | known.changed, doubts, kept, known.new)


def _put_again(engine: Engine, sheets: Sheets, formulas: Formulas) -> None:
    """Re-enter formulas that may read cells which they don't name, since the engine doesn't notice changes of these."""
    for cell, at in formulas.items():
        text = sheets[cell[0]].formula_of(at) if at.kind in ("normal", "shared") else None
        if text and may_read_further(text):
            engine.put_formula(cell, text)


def _weighed(
    engine: Engine, sheets: Sheets, formulas: Formulas, edits: Iterable[Address]
) -> tuple[Values, Reasons, Reasons]:
    """The engine's values before the edits, and the formulas it gets wrong: those the edits reach, and others.

    The others are given their saved value, so that their dependents use it.
    """
    values = _values(engine, sheets, formulas)
    wrong = _disagreements(engine, values, formulas)
    if not wrong:
        return values, {}, {}
    engine.put_all({cell: typed_value(sheets, cell) for cell in edits})
    _put_again(engine, sheets, formulas)
    reached = engine.stale(formulas)
    engine.evaluate()
    kept = {cell: reason for cell, reason in wrong.items() if cell not in reached}
    engine.put_all({cell: formulas[cell].value for cell in kept})
    engine.evaluate()
    left = {cell: formulas[cell] for cell in formulas if cell not in kept}
    values = _values(engine, sheets, left)
    wrong = {cell: why for cell, why in _disagreements(engine, values, left).items() if cell in reached}
    return values, wrong, kept


def _disagreements(engine: Engine, values: Values, formulas: Formulas) -> Reasons:
    """The formulas whose saved value the engine doesn't reproduce, except those of clocks and random numbers."""
    wrong = {
        cell: _difference(formulas[cell].value, value)
        for cell, value in values.items()
        if not _agree(formulas[cell].value, value)
    }
    if wrong and any(_CLOCK_OR_DICE.search(cell.formula or "") for cell in formulas.values()):
        moving = engine.stale(wrong)
        return {
            cell: reason for cell, reason in wrong.items() if cell not in moving or isinstance(values[cell], Unknown)
        }
    return wrong


def _equal(one: Value | Unknown, other: Value | Unknown) -> bool:
    return one is other or same_value(one, other, 0.0)


def _agree(saved: Value, value: Value | Unknown) -> bool:
    """Whether the engine's value equals the saved one; without a saved value there is nothing to contradict."""
    if saved is None:
        return True
    if isinstance(saved, CellError) and isinstance(value, CellError):
        return BAD_NAME not in (saved, value) or saved == value
    return same_value(saved, value, AGREEMENT)


def _difference(saved: Value, value: Value | Unknown) -> str:
    return value.reason if isinstance(value, Unknown) else f"the engine has {value!s}, not {saved!s}"


def _values(engine: Engine, sheets: Sheets, cells: Iterable[Address]) -> Values:
    """The engine's value of each formula cell; one for a formula that fills several cells isn't sound."""
    arrays: Values = {(name, ref): ARRAY for name, sheet in sheets.items() for ref in sheet.arrays}
    found = engine.values(cells)
    return found | {cell: arrays[cell] for cell in arrays.keys() & found.keys()} if arrays else found


def _sound(values: Values, doubts: Reasons) -> dict[Address, Value]:
    return {cell: value for cell, value in values.items() if cell not in doubts and not isinstance(value, Unknown)}


def _unknown(
    values: Values, sheets: Sheets, formulas: Formulas, added: Mapping[Address, str] = MappingProxyType({})
) -> Reasons:
    """The cells, with reasons, that the engine can't compute, or whose value other programs wouldn't give or save."""

    def text(cell: Address) -> str:
        return added[cell] if cell in added else sheets[cell[0]].formula_of(formulas[cell]) or ""

    doubts = {cell: value.reason for cell, value in values.items() if isinstance(value, Unknown)}
    unsaved = (
        cell
        for cell, value in values.items()
        if cell not in formulas or not _agree(formulas[cell].value, value) or formulas[cell].value is None
    )
    return doubts | {
        cell: why for cell in unsaved if cell not in doubts and (why := _untrusted(values[cell], partial(text, cell)))
    }


def _untrusted(value: Value | Unknown, formula: Callable[[], str]) -> str:
    """Why another program may give another value; blank if none does."""
    if is_array_idiom(formula()):
        return ARRAY_IDIOM
    if type(value) is float:
        return ""
    if value == BAD_NAME:
        return UNKNOWN_NAME
    if value == BAD_REFERENCE and any((each.kind, each.text) == ("operator", ":") for each in pieces(formula())):
        return MADE_RANGE
    is_long = isinstance(value, str) and _LONG.search(value)
    return LONG_NUMBER if is_long and _WRITES.search(formula()) else ""


def _with_dependents(engine: Engine, sheets: Sheets, formulas: Formulas, doubts: Reasons) -> Reasons:
    """`doubts` and all their dependents, including volatile formulas. The engine can't be used afterwards."""
    filled = ((name, cell) for name, ref in doubts for cell in sheets[name].filled_by(ref))
    return with_dependents(engine, formulas, doubts, filled)


def with_dependents(
    engine: Engine, formulas: Collection[Address], doubts: Reasons, filled: Iterable[Address]
) -> Reasons:
    """`doubts`, whose formulas fill the cells `filled`, and all their dependents, including volatile formulas.

    The engine can't be used afterwards, since the cells in doubt are overwritten.
    """
    if not doubts:
        return doubts
    for cell in filled:
        engine.put(cell, None)
    tainted = sorted(engine.stale(formulas) - doubts.keys())
    return doubts | dict.fromkeys(tainted, TAINTED)
