"""A workbook of each shipped template, by itself: it is written, and has no fault but what its inputs leave open."""

from __future__ import annotations

import pytest

from planner.check.run import check
from planner.formulas import library
from planner.workbook.inputs_sheet import FURTHER, sections
from planner.workbook.scenarios import plan_of
from planner.workbook.workloads import DEFAULT_TEMPLATES
from planner.xlsx.opc import Package
from tests.workbooks import build_small, few_rows

FEW = few_rows(("llama3-8b",), ("tpu-v5p",))
OF_A_PLAN = {"failed_check", "missing_number"}  # what is typed is to change, and not the sheet


@pytest.mark.parametrize("name", library.names())
def test_a_workbook_of_each_template(name: str) -> None:
    """It has no broken or doubtful cell, no label twice, and no default that its list of choices lacks."""
    plan = plan_of(("llama3-8b",), ("tpu-v5p",), (name,), None, (), FEW)
    found = check(Package.from_bytes(build_small(plan), "plan.xlsx"))
    assert [f"{each.place} {each.what}" for each in found.of("fault") if each.kind not in OF_A_PLAN] == []


def test_each_input_of_the_default_workbook_has_its_section() -> None:
    """No input of an included part, such as the shards of an exchange, is left to the user for want of a binding."""
    inputs = [row for name in DEFAULT_TEMPLATES for row in library.load(name).of_kind("input")]
    assert [row.name for section in sections(inputs) if section.title == FURTHER for row in section.rows] == []
