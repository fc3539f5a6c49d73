"""Workbooks edited at random by LibreOffice, as a person would: rows, columns, sheets and scenarios too."""

from __future__ import annotations

from pathlib import Path

import openpyxl
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


@pytest.mark.slow
@needs_office
def test_a_scenario_moved_in_front_is_followed(base: Path, plan_before: Plan, tmp_path: Path) -> None:
    """On every sheet or on Inputs alone: what shows one scenario, or all, has each one's numbers beside its name."""
    first, last = plan_before.scenarios[0], plan_before.scenarios[-1]
    columned = ["Inputs", "Dashboard", "Constraints", "Checks", *plan_before.tables]
    files = {"all": (columned, tmp_path / "all.xlsx"), "inputs": (["Inputs"], tmp_path / "inputs.xlsx")}
    by_office(base, [
        (Edit(name, [{"do": "move_column", "sheet": sheet, "source": last.column, "target": first.column}
                     for sheet in sheets], Expected()), path) for name, (sheets, path) in files.items()
    ])  # fmt: skip
    before = shown(base)
    for _, path in files.values():
        assert shown(path) == before
        assert invoked("check", path)[0] == 0


def shown(path: Path) -> dict[str, object]:
    """What Cover tells of each scenario, by its name, and the numbers of the sheets that show one scenario."""
    book = openpyxl.load_workbook(path, data_only=True)
    told = {row[0]: row[1:8] for row in book["Cover"].iter_rows(min_row=5, max_row=12, values_only=True) if row[0]}
    one = {
        f"{name}!{cell.coordinate}": float(f"{cell.value:.9g}")
        for name in ("Operations", "Sweep", "Sensitivity")
        for row in book[name].iter_rows()
        for cell in row
        if isinstance(cell.value, int | float) and not isinstance(cell.value, bool)
    }
    return {**told, **one}
