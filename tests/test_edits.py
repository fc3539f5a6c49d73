"""Workbooks edited at random, here by a library: every command says what was done, and harms no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.xlsx.opc import Package
from tests.edits import programs
from tests.edits.catalogue import MOVED, TYPED, a_note
from tests.edits.running import ALL, fixture_base, fixture_plan_before, run_by_hand, run_openpyxl  # noqa: F401 a fixture is found by its name
from tests.seeded import (
    SERVE,
    fixture_built,  # noqa: F401 likewise
    three_scenarios,
)


@pytest.fixture(name="few_rows", scope="module")
def fixture_few_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook of a few rows of serving, which each program edits once every day."""
    folder = tmp_path_factory.mktemp("few_rows")
    own, path = folder / "serve.csv", folder / "plan.xlsx"
    own.write_text(SERVE, encoding="utf-8")
    path.write_bytes(three_scenarios(str(own)))
    return path


def test_openpyxl(few_rows: Path, tmp_path: Path) -> None:
    """An edit by a library that drops every cached value."""
    run_openpyxl(few_rows, read_plan(few_rows), [0], tmp_path)


def test_xml_by_hand(few_rows: Path, tmp_path: Path) -> None:
    """A number typed over a formula in the XML, with a shared formula beside it."""
    run_by_hand(few_rows, read_plan(few_rows), [1], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_many_by_openpyxl(base: Path, plan_before: Plan, tmp_path: Path, part: int) -> None:
    """A hundred edits in all, a third of them by each program: here openpyxl's."""
    run_openpyxl(base, plan_before, range(part, ALL, 3), tmp_path, judges=programs.has_office())


def test_the_catalogue_covers_every_program() -> None:
    """Each maker names a step that its program has."""
    assert programs.HAND.keys() >= {"type", "scale"}
    assert a_note in TYPED
    assert len(TYPED) + len(MOVED) >= 19


def test_a_package_is_only_read(few_rows: Path) -> None:
    """Reading a plan changes no part of its package."""
    package = Package.read(few_rows)
    parts = dict(package.parts)
    read_plan(package)
    assert package.parts == parts
