"""`planner update` of an edited workbook of an earlier version: everything that a person did is there afterwards."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from planner.book.plan import Entry, Plan
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.diff.formats import Formats
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import Value, same_value
from planner.xlsx.opc import Package
from tests.commands import run
from tests.edits.catalogue import Edit

DIGITS = 1e-14
BROKEN = ("broken_reference", "error_value")


def update_is_right(path: Path, edit: Edit, folder: Path) -> None:
    """The new workbook has what was typed, typed over, noted, formatted and added; the old file keeps every byte.

    A workbook that the edit has broken may be refused instead, in one line, with nothing written.
    """
    expected, new, before = edit.expected, folder / f"new_{path.name}", path.read_bytes()
    done = run("update", path, "-o", new, "--all")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert path.read_bytes() == before
    if done.exit_code:
        assert not expected.compares, done.output
        assert (done.exit_code, len(done.output.splitlines()), new.exists()) == (2, 1, False), done.output
        return
    old, plan = read_plan(path), read_plan(new)
    assert "updated" in done.output
    assert plan.stale == ()
    assert set(old.sheets) <= set(plan.sheets)
    assert list(plan.by_key) == list(old.by_key)
    if not expected.compares:
        return
    assert lost(typed(old), typed(plan)) == []
    for _, cell in expected.formulas:
        stays(cell, old, plan, done.output)
    assert Counter(note.text for note in plan.notes) == Counter(note.text for note in old.notes)
    for cell in expected.notes:
        assert noted(cell, old) == noted(cell_of(cell, old, plan), plan), cell
    assert Counter(own_texts(old)) - Counter(own_texts(plan)) == Counter()
    for sheet in expected.formats:
        looks_the_same(edit, sheet, old, plan)
    follows = {"error_value"} if "out_of_range" in expected.faults else set()  # a newer formula may read it too
    worse = faults(new) - faults(path) - expected.faults.keys() - follows
    assert not worse, worse


def typed(plan: Plan) -> dict[tuple[str, str], Entry]:
    """What is typed on Inputs, by name and scenario."""
    rows = (*plan.inputs, *plan.overrides)
    return {(row.name, key): entry for row in rows for key, entry in row.cells.items() if not entry.is_blank}


def lost(before: dict[tuple[str, str], Entry], after: dict[tuple[str, str], Entry]) -> list[object]:
    """What was typed and is not there any more."""
    return [key for key, entry in before.items() if key not in after
            or not same_value(value(entry), value(after[key]), DIGITS)]  # fmt: skip


def value(entry: Entry) -> Value:
    """A typed value, blank for an empty cell."""
    return "" if entry.value is None else entry.value


def found(cell: str, plan: Plan) -> tuple[str, str]:
    """The name of a calculated cell's row, and its scenario."""
    sheet, _, ref = cell.partition("!")
    row, column = coordinates(ref)
    table = (*plan.tables.get(sheet, ()), *(plan.inputs if sheet == "Inputs" else ()))
    return next((line.name, key) for line in table for key, entry in line.cells.items()
                if (line.row, entry.spot.column) == (row, column))  # fmt: skip


def entry_of(cell: str, old: Plan, plan: Plan) -> Entry:
    """The cell of the same quantity and scenario: on the sheet of that name where it is there, else on any."""
    name, key = found(cell, old)
    sheet = cell.partition("!")[0]
    own = plan.inputs if sheet == "Inputs" else plan.tables.get(sheet, ())
    rows = [*own, *(row for table in plan.tables.values() for row in table), *plan.inputs]
    return next(row.cells[key] for row in rows if row.name == name)


def cell_of(cell: str, old: Plan, plan: Plan) -> str:
    """Its address."""
    return str(entry_of(cell, old, plan).spot)


def stays(cell: str, old: Plan, plan: Plan, said: str) -> None:
    """A number typed over a formula is still there; a formula that was scaled is still scaled by the same, or is told.

    A workbook of an earlier version remembers nothing of what planner wrote: its formulas are those of the new build,
    and each that differed is listed.
    """
    before, after = entry_of(cell, old, old), entry_of(cell, old, plan)
    if before.formula is None:
        assert (after.formula, after.value) == (None, before.value), cell
    else:
        assert after.formula is not None, cell
        is_kept = after.formula.rpartition("*")[2] == before.formula.rpartition("*")[2]
        name, was_on = found(cell, old)[0], cell.partition("!")[0]
        told = [*renewed(said, after.spot.sheet), *(renewed(said, was_on, "Rows that are no more:"))]
        assert is_kept or after.spot.ref in told or name in told, (cell, name, after, said)


def renewed(said: str, sheet: str, head: str = "Newer formulas and texts:") -> list[str]:
    """The cells of a sheet that an update says it wrote anew, or what it lists of the sheet under another heading.

    A long list has lines of its own below its heading, further in.
    """
    found = re.search(rf"^  {head}((?:.*)(?:\n    .*)*)", said, re.MULTILINE)
    parts = re.split(r"; |\n", found[1].strip()) if found else []
    listed = dict(part.strip().split(" ", 1) for part in parts)
    return listed.get(sheet, "").split(", ")


def noted(cell: str, plan: Plan) -> list[str]:
    """The notes on a cell."""
    return [note.text for note in plan.notes if f"{note.sheet}!{note.ref}" == cell]


def own_texts(plan: Plan) -> list[tuple[str, Value]]:
    """What the edits type into rows, columns and sheets of a person's own."""
    texts = ("My margin", "look here", "Twice")
    return [(name, sheet.value(*at)) for name, sheet in plan.book.sheets.items()
            for at in sheet.cells if sheet.value(*at) in texts]  # fmt: skip


def looks_the_same(edit: Edit, sheet: str, old: Plan, plan: Plan) -> None:
    """A cell that was made bold and yellow is so where its quantity stands now."""
    (step,) = (step for step in edit.steps if step["do"] == "format")
    entry = entry_of(f"{sheet}!{step['cell']}", old, plan)
    look = Formats(plan.book.package).of(plan.book.sheets[entry.spot.sheet], (entry.spot.row, entry.spot.column))
    assert look.bold
    assert look.fill == "FFD966"


def faults(path: Path) -> set[str]:
    """The kinds of faults of the file that no update may bring."""
    return {finding.kind for finding in check(Package.read(path)).of("fault")} & set(BROKEN)
