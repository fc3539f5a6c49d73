"""Workbooks edited at random in their XML, with what only Excel writes beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.book.plan import Plan
from tests.edits import programs
from tests.edits.running import ALL, fixture_base, fixture_plan_before, run_by_hand  # noqa: F401 a fixture is found by its name
from tests.seeded import fixture_built  # noqa: F401 likewise


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_by_hand(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """Those of the XML, with sparklines, shared formulas, dynamic arrays and threaded comments."""
    run_by_hand(base, plan_before, range(part, ALL, 3), tmp_path, judges=programs.has_office())
