"""Workbooks of the first version that real programs edited at random, and their update: nothing of it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from tests.edits.catalogue import MOVED, TYPED, Edit
from tests.edits.programs import by_hand, by_office, by_openpyxl, needs_office
from tests.edits.running import HAND, all_of_them, made
from tests.edits.updating import update_is_right
from tests.test_update import GOLDEN

OFFICE = (*MOVED, *TYPED)


@pytest.fixture(name="golden", scope="module")
def fixture_golden() -> tuple[Path, Plan]:
    """The workbook of version 0.1.0 that a person had edited already, and what it says."""
    path = GOLDEN / "edited.xlsx"
    return path, read_plan(path)


def held(edits: Sequence[tuple[Edit, Path]], folder: Path) -> None:
    """Update each edited workbook, and look for what was done."""
    with all_of_them() as hold:
        for edit, path in edits:
            hold(edit, partial(update_is_right, path, edit, folder))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_edits_by_openpyxl(golden: tuple[Path, Plan], tmp_path: Path, part: int) -> None:
    """Values, overrides, formulas, notes, formats and sheets that a library without any values put in."""
    edits = [(made(golden[1], "openpyxl update", TYPED, number), tmp_path / f"openpyxl_{number}.xlsx")
             for number in range(part, len(TYPED), 2)]  # fmt: skip
    for edit, path in edits:
        by_openpyxl(golden[0], edit, path)
    held(edits, tmp_path)


@pytest.mark.slow
def test_edits_by_hand(golden: tuple[Path, Plan], tmp_path: Path) -> None:
    """The same in the XML, where every other byte is as planner wrote it."""
    edits = [(made(golden[1], "hand update", HAND, number), tmp_path / f"hand_{number}.xlsx")
             for number in range(len(HAND))]  # fmt: skip
    for edit, path in edits:
        by_hand(golden[0], edit.steps, path)
    held(edits, tmp_path)


@pytest.mark.slow
@needs_office
@pytest.mark.parametrize("part", range(4))
def test_edits_by_libreoffice(golden: tuple[Path, Plan], tmp_path: Path, part: int) -> None:
    """Rows, columns, sheets and scenarios put in, moved, renamed and deleted too."""
    edits = [(made(golden[1], "office update", OFFICE, number), tmp_path / f"office_{number}.xlsx")
             for number in range(part, len(OFFICE), 4)]  # fmt: skip
    by_office(golden[0], edits)
    held(edits, tmp_path)
