"""Recalculates a built or edited workbook and writes a cached value into every formula cell.

A value is written only where the engine can be trusted (`planner.recalc.evidence`). Elsewhere the cell is left without
a value, neither stale nor guessed, for the program that opens the workbook to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.recalc.alike_formulas import reads_columns
from planner.recalc.edits import Edits, NewRows, formula_cells
from planner.recalc.engine import EngineError, engine_name
from planner.recalc.evidence import EditReach, Judgement, computed, reach_of, recomputed
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.chart_caches import refresh
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content, NewRow, with_cached, with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import compute_on_load, parse_sheets


class Skip(NamedTuple):
    """A formula cell whose value the engine didn't determine, and why."""

    sheet: str
    ref: str
    reason: str


@dataclass
class Recalculated:
    """What `recalculate` did.

    `skipped` are the cells left without a value; `kept` are those whose saved value the engine doesn't reproduce but no
    edit reaches. Formulas that edits plainly don't reach (`planner.recalc.dependents`) aren't evaluated and keep their
    value. `n_changed` counts every rewritten cell, including the first values of a built workbook.
    """

    engine: str
    n_formulas: int = 0
    n_changed: int = 0
    skipped: list[Skip] = field(default_factory=list)
    kept: list[Skip] = field(default_factory=list)

    @property
    def note(self) -> str:
        """A line of text for the user."""
        line = f"{self.n_formulas:,} formulas, {self.n_changed:,} values written ({self.engine})"
        for cells, (*verbs, rest) in (
            (self.skipped, ("has", "have", "no value until a spreadsheet program opens the file")),
            (self.kept, ("keeps", "keep", "the value that the last program saved")),
        ):
            if cells:
                what = f"{verbs[len(cells) > 1]} {rest}"
                line += f"; {len(cells):,} {what}, such as {cells[0].sheet}!{cells[0].ref}: {cells[0].reason}"
        return line


def recalculate(package: Package, *, is_as_saved: bool = False) -> Recalculated:
    """Recalculate every formula of `package` and update its cached values in place; nothing else changes.

    If cells stay without a value, the workbook asks to be computed when it is opened. `is_as_saved` says that planner
    has not edited the file, so that its saved values may be evidence (`evidence.computed`). Raises UserError if a
    sheet's XML is malformed or the engine isn't installed.
    """
    sheets = parse_sheets(package)
    return put_values(package, sheets, _asked(lambda: computed(package, sheets, is_as_saved=is_as_saved), sheets))


def put_values(package: Package, sheets: Mapping[str, SheetXml], verdict: Judgement) -> Recalculated:
    """Write the values of a judgement into the formula cells of a package with these `sheets`."""
    result = Recalculated(engine_name())
    for name, new in _cached(sheets, verdict, result).items():
        package.replace(package.sheets()[name], with_cached(sheets[name], new))
    _conclude(package, sheets, verdict, result)
    return result


def edit(
    package: Package,
    sheets: Mapping[str, SheetXml],
    name: str,
    contents: Mapping[str, Content],
    like: Mapping[str, str] | None = None,
    rows: Sequence[NewRow] = (),
    before: Package | None = None,
    follow: Callable[[Callable[[str], Content]], Mapping[str, Value]] | None = None,
) -> Recalculated:
    """Put values, new formulas and new rows into a sheet of `package`, in place, and recalculate their dependents.

    Only dependents are rewritten, and only those whose saved value the engine reproduced before the edit. `sheets` are
    those of the package as saved; `before` is the package before its tables or names were extended, if they were.
    `follow` gets a function from an address to its new value, and returns further values to type, by address. Raises
    UserError as `recalculate` does.
    """

    old = before or package

    def edits_of(contents: Mapping[str, Content], rows: Sequence[NewRow]) -> Edits:
        return Edits.of(sheets, {name: contents}, NewRows.of(sheets[name], name, rows))

    def verdict_of(edits: Edits, reach: EditReach | None) -> Judgement:
        return _asked(lambda: recomputed(old, sheets, edits, package, reach), sheets)

    edits, reach = edits_of(contents, rows), None
    if follow:
        reach = reach_of(old, sheets, edits)
        known = reach.known.new
        if edits.new.formulas(known):  # some of the new rows' own are left to the engine
            known = known | verdict_of(edits, reach).values
        if more := follow(lambda ref: contents.get(ref, known.get((name, ref)))):
            rows = [row.with_typed(more) for row in rows]
            contents = {ref: more.get(ref, value) for ref, value in contents.items()}
            edits, columns = edits_of(contents, rows), {coordinates(ref)[1] for ref in more}
            alike = [*reach.reached.rows, *(copied for _, copied, _ in edits.new.alike())]
            if reads_columns(name, alike, columns):
                reach = reach_of(old, sheets, edits, reach.reached)
    return _put(package, sheets, {name: contents}, {name: like or {}}, edits, verdict_of(edits, reach))


def add_columns(
    package: Package,
    sheets: Mapping[str, SheetXml],
    contents: Mapping[str, Mapping[str, Content]],
    likes: Mapping[str, Mapping[str, str]],
) -> Recalculated:
    """Put values and formulas into blank cells of several sheets in place, and recalculate their dependents.

    `contents`, and `likes` (the cell whose style each takes), are by sheet and address.
    """
    edits = Edits.of(sheets, contents, NewRows())
    verdict = _asked(lambda: recomputed(package, sheets, edits), sheets)
    return _put(package, sheets, contents, likes, edits, verdict)


def _put(
    package: Package,
    sheets: Mapping[str, SheetXml],
    contents: Mapping[str, Mapping[str, Content]],
    likes: Mapping[str, Mapping[str, str]],
    edits: Edits,
    verdict: Judgement,
) -> Recalculated:
    """Write the edited cells and the recalculated ones, in place."""
    result = Recalculated(engine_name())
    caches = _cached(sheets, verdict, result)
    n_new = len(edits.added) + edits.new.n_formulas
    result.n_formulas, result.n_changed = result.n_formulas + n_new, result.n_changed + n_new
    parts = package.sheets()
    for name, new in contents.items():
        known, of_rows = (
            {ref: value for (on, ref), value in found.items() if on == name} for found in (verdict.values, verdict.new)
        )
        rows = edits.new.rows if name == edits.new.name else ()
        xml = with_values(sheets[name], new, likes[name], known | caches.pop(name, {}), rows, of_rows)
        package.replace(parts[name], xml)
    for name, values in caches.items():
        package.replace(parts[name], with_cached(sheets[name], values))
    _conclude(package, sheets, verdict, result)
    return result


def _asked(compute: Callable[[], Judgement], sheets: Mapping[str, SheetXml]) -> Judgement:
    """The judgement of `compute`; if the engine refuses the whole workbook, every formula is in doubt."""
    try:
        return compute()
    except EngineError as refusal:
        return Judgement({}, dict.fromkeys(formula_cells(sheets), str(refusal)))


def _conclude(package: Package, sheets: Mapping[str, SheetXml], verdict: Judgement, result: Recalculated) -> None:
    """Note which cells have no value, and update the caches of charts; `sheets` are those before the edit."""
    result.skipped = [Skip(*cell, reason) for cell, reason in verdict.doubts.items()]
    result.kept = [Skip(*cell, reason) for cell, reason in verdict.kept.items()]
    if verdict.doubts:
        compute_on_load(package)
    refresh(package, sheets)


def _cached(sheets: Mapping[str, SheetXml], verdict: Judgement, result: Recalculated) -> dict[str, dict[str, Value]]:
    """The values to write into each sheet's formula cells, None for those in doubt; `result` counts them."""
    caches: dict[str, dict[str, Value]] = {name: {} for name in sheets}
    for name, ref in verdict.doubts:
        caches[name] |= dict.fromkeys(sheets[name].filled_by(ref))
    for (name, ref), value in verdict.values.items():
        cell = sheets[name].cell(ref)
        if cell is not None and cell.kind and not same_value(cell.value, value):
            caches[name][ref] = value
    result.n_formulas += sum(sheet.n_formulas for sheet in sheets.values())
    result.n_changed += sum(len(new) for new in caches.values())
    return {name: new for name, new in caches.items() if new}
