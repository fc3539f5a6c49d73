"""A workbook of each shipped template, by itself: it is written, and has no fault but what its inputs leave open."""

from __future__ import annotations

import pytest

from planner.check.run import check
from planner.formulas import library
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from tests.workbooks import few_rows, smaller

FEW = few_rows(("llama3-8b",), ("tpu-v5p",))
OF_A_PLAN = {"failed_check", "missing_number"}  # what is typed is to change, and not the sheet


@pytest.mark.parametrize("name", library.names())
def test_a_workbook_of_each_template(name: str) -> None:
    """It has no broken or doubtful cell, no label twice, and no default that its list of choices lacks."""
    plan = plan_of(("llama3-8b",), ("tpu-v5p",), (name,), None, (), FEW)
    found = check(Package.from_bytes(build(smaller(plan)), "plan.xlsx"))
    assert [f"{each.place} {each.what}" for each in found.of("fault") if each.kind not in OF_A_PLAN] == []
