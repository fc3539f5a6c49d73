"""Workbooks that real programs edited at random: check, diff, recalc and show say what was done, and harm no file."""

from __future__ import annotations

import contextlib
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planner.cli import group
from planner.diffing.compare import compare
from planner.diffing.show import as_object
from planner.diffing.text import lines
from planner.lint.run import check
from planner.lint.show import as_object as as_json
from planner.reading import Plan, read_plan
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package
from tests.edits import programs
from tests.edits.catalogue import (
    MOVED,
    TYPED,
    Desk,
    Edit,
    Expected,
    Maker,
    Step,
    a_note,
    a_value,
    another_formula,
    out_of_range,
    typed_over,
)
from tests.edits.programs import by_hand, by_office, by_openpyxl, needs_office
from tests.test_lint import fixture_built  # noqa: F401

A_FEW, ALL = 2, 40
"""How many edits each of the three programs makes: everyday (LibreOffice none), and where slow tests run."""

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


@pytest.fixture(name="base", scope="session")
def fixture_base(built: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook that every edit begins with."""
    path = tmp_path_factory.mktemp("edits") / "plan.xlsx"
    path.write_bytes(built)
    return path


@pytest.fixture(name="plan_before", scope="session")
def fixture_plan_before(base: Path) -> Plan:
    """What it says."""
    return read_plan(base)


def invoked(*arguments: object) -> tuple[int, str]:
    """Exit code and output of the command."""
    done = CliRunner().invoke(group, [str(argument) for argument in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done.exit_code, done.output


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
"""What is held of every edited workbook; a command that reads workbooks adds its own check here."""


def holds(edited: Edited, folder: Path) -> None:
    """Everything above, and that no file was touched."""
    files = (edited.base, edited.after)
    bytes_before = [path.read_bytes() for path in files]
    for each in CHECKS:
        each(edited)
    assert [path.read_bytes() for path in files] == bytes_before
    recalc_is_right(edited, folder)


def made(plan: Plan, program: str, makers: Sequence[Maker], number: int) -> Edit:
    """An edit by its number: the kinds in turn, the rest at random."""
    dice = random.Random(f"{program} {number}")
    return makers[number % len(makers)](Desk(plan, dice))


def uncomputed(edit: Edit) -> Edit:
    """The edit by a program that computes nothing: stale values follow."""
    expected: Expected = replace(edit.expected, may=edit.expected.may | {"stale_value"})
    return replace(edit, expected=expected)


def run_openpyxl(base: Path, plan: Plan, numbers: Sequence[int], folder: Path) -> None:
    """Edits by openpyxl, which saves no value."""
    with all_of_them() as hold:
        for number in numbers:
            edit = uncomputed(made(plan, "openpyxl", TYPED, number))
            edited = Edited(base, plan, folder / f"openpyxl_{number}.xlsx", edit)
            by_openpyxl(base, edit, edited.after)
            hold(edit, partial(holds, edited, folder))


def run_by_hand(base: Path, plan: Plan, numbers: Sequence[int], folder: Path) -> None:
    """Edits of the XML, each with something that only Excel writes."""
    makers = (a_value, typed_over, out_of_range, another_formula)
    with all_of_them() as hold:
        for number in numbers:
            edit = uncomputed(made(plan, "hand", makers, number))
            extra, expected = only_excel(plan, edit, number)
            edit = replace(edit, steps=[*extra, *edit.steps], expected=expected)
            edited = Edited(base, plan, folder / f"hand_{number}.xlsx", edit)
            by_hand(base, edit.steps, edited.after)
            hold(edit, partial(holds, edited, folder))


def only_excel(plan: Plan, edit: Edit, number: int) -> tuple[list[Step], Expected]:
    """Something that only Excel writes, put into the workbook before the edit."""
    (touched,) = {int("".join(filter(str.isdigit, step["cell"]))) for step in edit.steps}
    row = next(row for row in plan.tables["Inference"] if row.name == "decode_step_time" and row.row != touched)
    expected = edit.expected
    match number % 4:
        case 0:
            return [{"do": "sparklines", "sheet": "Inference", "cell": f"J{row.row}", "row": row.row}], expected
        case 1:
            return [{"do": "shared", "sheet": "Inference", "row": row.row, "columns": ["F", "G", "H"]}], expected
        case 2:
            step = {"do": "dynamic", "sheet": "Log", "cell": "A40", "formula": "_xlfn.SEQUENCE(1)"}
            return [step], replace(expected, structure={("row", "added", "")})
        case _:
            step = {"do": "threaded", "sheet": "Inference", "cell": f"F{row.row}", "text": "is this right?"}
            return [step], replace(expected, notes={f"Inference!F{row.row}"})


def run_office(base: Path, plan: Plan, numbers: Sequence[int], folder: Path) -> None:
    """Edits by LibreOffice, whose saved values judge the headlines."""
    makers = [maker for pair in zip(MOVED, TYPED, strict=False) for maker in pair] + list(TYPED[len(MOVED) :])
    edits = [(made(plan, "office", makers, number), folder / f"office_{number}.xlsx") for number in numbers]
    by_office(base, edits)
    with all_of_them() as hold:
        for edit, after in edits:
            edited = Edited(base, plan, after, edit)
            hold(edit, partial(holds, edited, folder))
            hold(edit, partial(headlines_are_those_of_the_program, edited))


@contextlib.contextmanager
def all_of_them() -> Iterator[Callable[[Edit, Callable[[], None]], None]]:
    """Hold every edit against what is expected, whichever fails; the failures are raised together, with their edits."""
    failures: list[Exception] = []

    def hold(edit: Edit, check_it: Callable[[], None]) -> None:
        try:
            check_it()
        except Exception as error:
            error.add_note(f"the edit was {edit}")
            failures.append(error)

    yield hold
    if failures:
        raise ExceptionGroup(f"{len(failures)} edits", failures)


def test_openpyxl(base: Path, plan_before: Plan, tmp_path: Path) -> None:
    """A few edits by a library that drops every cached value."""
    run_openpyxl(base, plan_before, range(A_FEW), tmp_path)


def test_xml_by_hand(base: Path, plan_before: Plan, tmp_path: Path) -> None:
    """A few edits of the XML, with sparklines, a shared formula, a dynamic array and a threaded comment."""
    run_by_hand(base, plan_before, range(A_FEW), tmp_path)


@pytest.mark.slow
@needs_office
def test_libreoffice(base: Path, plan_before: Plan, tmp_path: Path) -> None:
    """A few edits by LibreOffice."""
    run_office(base, plan_before, range(A_FEW), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_by_openpyxl(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """A hundred edits in all, a third of them by each program: here openpyxl's."""
    run_openpyxl(base, plan_before, range(A_FEW + part, ALL, 3), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_by_hand(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """Those of the XML."""
    run_by_hand(base, plan_before, range(A_FEW + part, ALL, 3), tmp_path)


@pytest.mark.slow
@needs_office
@pytest.mark.parametrize("part", range(3))
def test_many_by_libreoffice(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """Those of LibreOffice."""
    run_office(base, plan_before, range(A_FEW + part, ALL, 3), tmp_path)


@pytest.mark.slow
@needs_office
def test_libreoffice_saves_it_and_nothing_differs(base: Path, tmp_path: Path) -> None:
    """A workbook that LibreOffice has opened and saved is the same: no difference, and no finding."""
    after = tmp_path / "saved.xlsx"
    by_office(base, [(Edit("nothing", [], Expected()), after)])
    assert invoked("diff", base, after) == (0, f"{base} and {after}: no differences\n")
    assert invoked("check", after)[0] == 0


def test_the_catalogue_covers_every_program() -> None:
    """Each maker names a step that its program has."""
    assert programs.HAND.keys() >= {"type", "scale"}
    assert a_note in TYPED
    assert len(TYPED) + len(MOVED) >= 19


def test_a_package_is_only_read(base: Path) -> None:
    """Reading a plan changes no part of its package."""
    package = Package.read(base)
    parts = dict(package.parts)
    read_plan(package)
    assert package.parts == parts
