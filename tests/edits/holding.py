"""What is held of every edited workbook: check, diff, show, recalc and report say what was done, and harm no file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.check.run import as_object as as_json
from planner.check.run import check
from planner.diff.as_text import as_object
from planner.diff.two_workbooks import compare
from planner.diff.workbook_as_text import lines
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import invoked
from tests.edits.catalogue import Edit
from tests.edits.reporting import ValueOf, page_is_right, report_is_right

MOVED_ENOUGH = 1e-12
"""The relative change from which LibreOffice's own values say that a headline moved."""


@dataclass
class Edited:
    """A workbook after an edit, beside the one before it, which is read once for all edits."""

    base: Path
    before: Plan
    after: Path
    edit: Edit

    @cached_property
    def plan(self) -> Plan:
        """What the edited workbook says."""
        return read_plan(self.after)

    @cached_property
    def difference(self) -> dict[str, Any]:
        """What `planner diff --json` tells."""
        told: dict[str, Any] = json.loads(as_object(compare(self.before, self.plan)))
        return told

    judged: Path | None = None
    """The same workbook as LibreOffice computed and saved it; None where our own engine has to do."""

    @cached_property
    def value_of(self) -> ValueOf:
        """A cell's value as the judge has it."""
        if self.judged is None:
            return lambda sheet, ref: self.plan.at(sheet, *coordinates(ref))
        sheets = parse_sheets(Package.read(self.judged))
        return lambda sheet, ref: found.value if (found := sheets[sheet].cells.get(ref)) else None


def check_is_right(edited: Edited) -> None:
    """`planner check` finds what was expected: every place, and no kind of finding beyond what may follow."""
    expected = edited.edit.expected
    report = check(Package.read(edited.after))
    told = json.loads(as_json(report))
    kinds: dict[str, set[str]] = {}
    for finding in told["findings"]:
        cells = finding["cells"] or [finding["cell"]]
        places = {"!".join(part for part in (finding["sheet"], cell) if part) for cell in cells}
        kinds.setdefault(finding["kind"], set()).update(places)
    for kind, places in expected.faults.items():
        assert places <= kinds.get(kind, set()), f"{kind}: {kinds}"
        assert kind in kinds, f"no {kind} among {kinds}"
    beyond = kinds.keys() - expected.faults.keys() - expected.may
    assert not beyond, {kind: [f for f in told["findings"] if f["kind"] == kind][:3] for kind in beyond}
    if expected.compares:
        assert {f"{found['sheet']}!{found['cell']}" for found in told["overrides"]} == expected.overrides
    faulty = told["findings"] or any(found["severity"] == "override" for found in told["overrides"])
    assert report.is_clean == told["clean"] == (not faulty)


def diff_is_right(edited: Edited) -> None:
    """`planner diff` names what was done and nothing else; the headlines that moved are those that moved."""
    expected = edited.edit.expected
    told = edited.difference
    if not expected.compares:
        return
    assert {(one["scenario"], one["name"]) for one in told["inputs"]} == expected.inputs
    assert {(one["how"], one["cell"]) for one in told["formulas"]} == expected.formulas
    assert {(one["what"], one["how"], one["name"]) for one in told["structure"]} == expected.structure
    assert {one["cell"] for one in told["notes"]} == expected.notes
    assert {one["cell"] for one in told["cells"]} == expected.cells
    assert expected.formats <= {one["sheet"] for one in told["formats"]} <= expected.formats | expected.may_formats
    if expected.is_still:
        assert told["headlines"] == []
        assert told["checks"] == []
    sizes = [math.inf if one["relative"] is None else abs(one["relative"]) for one in told["headlines"]
             if one["unit"] != "text"]  # fmt: skip
    assert sizes == sorted(sizes, reverse=True)


def headlines_are_those_of_the_program(edited: Edited) -> None:
    """The headlines that `diff` says moved are those whose values the program that edited has saved as others."""
    if not edited.edit.expected.compares:
        return
    told = edited.difference
    moved = {(one["scenario"], one["name"]) for one in told["headlines"] if one["unit"] != "text"}
    before, after = (dict(saved_headlines(plan)) for plan in (edited.before, edited.plan))
    both = before.keys() & after.keys()
    assert moved == {key for key in both if not near(before[key], after[key])}


def saved_headlines(plan: Plan) -> Iterator[tuple[tuple[str, str], Value]]:
    """Dashboard's numbers as the file has them saved."""
    for row in plan.headlines:
        for key, entry in row.cells.items():
            yield (key, row.name), plan.book.sheets[entry.spot.sheet].value(entry.spot.row, entry.spot.column)


def near(one: Value, other: Value) -> bool:
    """Whether two saved values are the same but for rounding; an error is the same as another."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=MOVED_ENOUGH)
    return one == other or (isinstance(one, CellError) and isinstance(other, CellError))


def recalc_is_right(edited: Edited, folder: Path) -> None:
    """`planner recalc` of a copy leaves no stale value, and changes nothing else."""
    copy = folder / "recalculated.xlsx"
    copy.write_bytes(edited.after.read_bytes())
    code, output = invoked("recalc", copy)
    assert code == 0, output
    plan = read_plan(copy)
    assert plan.stale == ()
    assert compare(edited.plan, plan).is_empty


def show_is_right(edited: Edited) -> None:
    """`planner show` prints the edited workbook: every input by its name, each scenario's value."""
    text = "\n".join(lines(edited.plan, edited.plan.sheets, "both"))
    for row in edited.plan.inputs:
        assert f"\n{row.name}  {row.label} ({row.unit})\n" in text


CHECKS: tuple[Callable[[Edited], None], ...] = (check_is_right, diff_is_right, show_is_right)
"""What only reads the workbook; a command that reads workbooks adds its own check here."""


def holds(edited: Edited, folder: Path, *, has_page: bool) -> None:
    """Everything above, what a report says, and that no file was touched. `has_page`: its Markdown too."""
    files = (edited.base, edited.after)
    bytes_before = [path.read_bytes() for path in files]
    for each in CHECKS:
        each(edited)
    report_is_right(edited.after, edited.plan, edited.edit.expected, edited.value_of)
    if has_page and edited.edit.expected.compares:
        page_is_right(edited.after, folder)
    assert [path.read_bytes() for path in files] == bytes_before
    recalc_is_right(edited, folder)
