"""How the tests of edits run: by which program, how many, and all failures told together with their edits."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from tests.edits.catalogue import (
    MOVED,
    TYPED,
    Desk,
    Edit,
    Expected,
    Maker,
    Step,
    a_value,
    another_formula,
    out_of_range,
    typed_over,
)
from tests.edits.holding import Edited, headlines_are_those_of_the_program, holds
from tests.edits.programs import by_hand, by_office, by_openpyxl, computed

ALL = 34
"""How many edits each of the three programs makes where slow tests run; everyday two of them make one each."""

EVERY = 3
"""Of so many edits one is judged by LibreOffice where another program made it, and reported as a page."""

HAND = (a_value, typed_over, out_of_range, another_formula)
MIXED = [maker for pair in zip(MOVED, TYPED, strict=False) for maker in pair] + list(TYPED[len(MOVED) :])


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


def made(plan: Plan, program: str, makers: Sequence[Maker], number: int) -> Edit:
    """An edit by its number: the kinds in turn, the rest at random."""
    dice = random.Random(f"{program} {number}")
    return makers[number % len(makers)](Desk(plan, dice))


def uncomputed(edit: Edit) -> Edit:
    """The edit by a program that computes nothing: stale values follow."""
    expected: Expected = replace(edit.expected, may=edit.expected.may | {"stale_value"})
    return replace(edit, expected=expected)


def run_openpyxl(base: Path, plan: Plan, numbers: Sequence[int], folder: Path, *, judges: bool = False) -> None:
    """Edits by openpyxl, which saves no value."""
    edits = []
    for number in numbers:
        edit = uncomputed(made(plan, "openpyxl", TYPED, number))
        edits.append(Edited(base, plan, folder / f"openpyxl_{number}.xlsx", edit))
        by_openpyxl(base, edit, edits[-1].after)
    hold_all(edits, numbers, folder, judges=judges)


def run_by_hand(base: Path, plan: Plan, numbers: Sequence[int], folder: Path, *, judges: bool = False) -> None:
    """Edits of the XML, each with something that only Excel writes."""
    edits = []
    for number in numbers:
        edit = uncomputed(made(plan, "hand", HAND, number))
        extra, expected = only_excel(plan, edit, number)
        edit = replace(edit, steps=[*extra, *edit.steps], expected=expected)
        edits.append(Edited(base, plan, folder / f"hand_{number}.xlsx", edit))
        by_hand(base, edit.steps, edits[-1].after)
    hold_all(edits, numbers, folder, judges=judges)


def hold_all(edits: Sequence[Edited], numbers: Sequence[int], folder: Path, *, judges: bool) -> None:
    """Hold every edit against what is expected of it, some of them with LibreOffice for a judge."""
    chosen = [edited for edited, number in zip(edits, numbers, strict=True) if number % EVERY == 0]
    if judges:
        for edited in chosen:
            edited.judged = folder / f"judged_{edited.after.name}"
        computed([(edited.after, edited.judged) for edited in chosen if edited.judged is not None])
    with all_of_them() as hold:
        for edited in edits:
            hold(edited.edit, partial(holds, edited, folder, has_page=judges and edited in chosen))


def only_excel(plan: Plan, edit: Edit, number: int) -> tuple[list[Step], Expected]:
    """Something that only Excel writes, put into the workbook before the edit."""
    (touched,) = {int("".join(filter(str.isdigit, step["cell"]))) for step in edit.steps}
    sheet, row = next((sheet, row) for sheet, rows in plan.tables.items() for row in rows
                      if row.name == "decode_step_time" and row.row != touched)  # fmt: skip
    expected = edit.expected
    match number % 4:
        case 0:
            return [{"do": "sparklines", "sheet": sheet, "cell": f"J{row.row}", "row": row.row}], expected
        case 1:
            return [{"do": "shared", "sheet": sheet, "row": row.row, "columns": ["F", "G", "H"]}], expected
        case 2:
            step = {"do": "dynamic", "sheet": "Log", "cell": "A40", "formula": "_xlfn.SEQUENCE(1)"}
            return [step], replace(expected, structure={("row", "added", "")})
        case _:
            step = {"do": "threaded", "sheet": sheet, "cell": f"F{row.row}", "text": "is this right?"}
            return [step], replace(expected, notes={f"{sheet}!F{row.row}"})


def run_office(base: Path, plan: Plan, numbers: Sequence[int], folder: Path) -> None:
    """Edits by LibreOffice, whose saved values judge the headlines and the report."""
    edits = [(made(plan, "office", MIXED, number), folder / f"office_{number}.xlsx") for number in numbers]
    by_office(base, edits)
    with all_of_them() as hold:
        for number, (edit, after) in zip(numbers, edits, strict=True):
            edited = Edited(base, plan, after, edit, after)
            hold(edit, partial(holds, edited, folder, has_page=number % EVERY == 0))
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
