"""Workbooks edited at random by LibreOffice, as a person would: rows, columns, sheets and scenarios too."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.book.plan import Plan
from tests.edits.catalogue import Edit, Expected
from tests.edits.holding import invoked
from tests.edits.programs import by_office, needs_office
from tests.edits.running import ALL, fixture_base, fixture_plan_before, run_office  # noqa: F401 a fixture is found by its name
from tests.seeded import fixture_built  # noqa: F401 likewise


@pytest.mark.slow
@needs_office
@pytest.mark.parametrize("part", range(3))
def test_many_by_libreoffice(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """Those of LibreOffice."""
    run_office(base, plan_before, range(part, ALL, 3), tmp_path)


@pytest.mark.slow
@needs_office
def test_libreoffice_saves_it_and_nothing_differs(base: Path, tmp_path: Path) -> None:
    """A workbook that LibreOffice has opened and saved is the same: no difference, and no finding."""
    after = tmp_path / "saved.xlsx"
    by_office(base, [(Edit("nothing", [], Expected()), after)])
    assert invoked("diff", base, after) == (0, f"{base} and {after}: no differences\n")
    assert invoked("check", after)[0] == 0
