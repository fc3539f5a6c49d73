"""The rules of structure, sources, looks and print set-up: each reports the fault that is seeded for it."""

from __future__ import annotations

import re

import pytest

from planner.check.findings import RULES
from tests.test_lint import Seeded, fixture_built, fixture_plan, fixture_rows, places, rules

__all__ = ["fixture_built", "fixture_plan", "fixture_rows"]  # fixtures that pytest finds here


def change(plan: Seeded, part: str, pattern: str, new: str) -> None:
    """Replace what a regular expression finds first in a part."""
    xml = plan.package.parts[part].decode()
    changed = re.sub(pattern, new, xml, count=1, flags=re.DOTALL)
    assert changed != xml, pattern
    plan.package.replace(part, changed.encode())


def styled(plan: Seeded, sheet: str, ref: str, like: str) -> None:
    """Give a cell the style of another on the same sheet."""
    xml = plan.package.parts[plan.part(sheet)].decode()
    (style,) = re.findall(rf'<c r="{like}" s="(\d+)"', xml)
    change(plan, plan.part(sheet), rf'<c r="{ref}" s="\d+"', f'<c r="{ref}" s="{style}"')


def test_all_rules_but_the_schemas_are_there() -> None:
    """Every rule of a workbook is checked but 31, the schemas, which the tests hold the parts against."""
    assert sorted(RULES) == [*range(1, 31), 32]


def test_sheets_in_another_order(plan: Seeded) -> None:
    """Rule 1: two of planner's sheets that changed places; references then point to a later sheet too."""
    part = plan.package.workbook_part()
    xml = plan.package.parts[part].decode()
    models, hardware = (re.findall(rf'<sheet [^>]*name="{name}"[^>]*/>', xml)[0] for name in ("Models", "Hardware"))
    swapped = xml.replace(models, "@").replace(hardware, models).replace("@", hardware)
    plan.package.replace(part, swapped.encode())
    assert rules(plan.found()) == {1}


@pytest.mark.parametrize("cell", ["A4", "A1"])
def test_cover_that_says_too_little(plan: Seeded, cell: str) -> None:
    """Rule 2: Cover without its version, or its title."""
    plan.type("Cover", cell, None)
    assert 2 in rules(plan.found()) <= {2, 30}


def test_a_link_that_is_gone(plan: Seeded) -> None:
    """Rule 3: a sheet whose A1 doesn't link back to Cover."""
    change(plan, plan.part("Hardware"), r'<hyperlink [^>]*ref="A1"[^>]*/>', '<hyperlink ref="A2" location="Cover!A1"/>')
    found = plan.found()
    assert rules(found) == {3}
    assert places(found) == {"Hardware!A1"}


def test_a_hidden_sheet_and_a_hidden_row(plan: Seeded) -> None:
    """Rule 4: a hidden sheet, and a hidden row; a collapsed group is fine."""
    change(plan, plan.package.workbook_part(), r'(<sheet [^>]*name="Models"[^>]*?)state="visible"', r'\1state="hidden"')
    row = plan.at("Inference", "batch", "")
    change(plan, plan.part("Inference"), rf'<row r="{row}"', f'<row hidden="1" r="{row}"')
    change(plan, plan.part("Inference"), r'<row r="60"', '<row hidden="1" outlineLevel="1" r="60"')
    found = plan.found()
    assert rules(found) == {4}
    assert places(found) == {"Models", f"Inference!A{row}"}


def test_panes_frozen_elsewhere(plan: Seeded) -> None:
    """Rule 7: a calculation sheet whose panes are frozen at another cell."""
    change(plan, plan.part("Inference"), 'topLeftCell="F8"', 'topLeftCell="B2"')
    found = plan.found()
    assert rules(found) == {7}
    assert places(found) == {"Inference!F8"}


def test_merged_cells(plan: Seeded) -> None:
    """Rule 8: two cells of a table merged into one."""
    change(
        plan,
        plan.part("Inference"),
        "</sheetData>",
        '</sheetData><mergeCells count="1"><mergeCell ref="A12:B12"/></mergeCells>',
    )
    found = plan.found()
    assert rules(found) == {8}
    assert places(found) == {"Inference!A12"}


def test_a_constant_without_a_source(plan: Seeded) -> None:
    """Rule 11: a constant that doesn't say where it comes from."""
    plan.type("Inputs", cell := plan.at("Inputs", "flop_per_mac", "E"), None)
    found = plan.found()
    assert rules(found) == {11}
    assert places(found) == {f"Inputs!{cell}"}


def test_a_measured_time_without_its_run(plan: Seeded) -> None:
    """Rule 11: a time typed among the measured ones, without run, device, date and samples."""
    from planner.compare.comparison_sheet import find
    from planner.xlsx.address import address

    sheet = find(plan.package)
    at = address(sheet.rows[0].number, sheet.columns["measured_time"])
    plan.type("Comparison", at, 0.001)
    plan.recalculated()
    assert rules(plan.found()) == {11}


def test_a_formula_of_two_branches(plan: Seeded) -> None:
    """Rule 16: a formula with two IFs, and its names text with them."""
    at = plan.at("Inference", "decode_flops", "D")
    plan.type("Inference", at, "IF(batch>0,IF(batch>1,batch,1),1)*forward_flops_per_token")
    plan.formulas(
        "Inference", "decode_flops",
        "IF({0}{batch}>0,IF({0}{batch}>1,{0}{batch},1),1)*{0}{forward_flops_per_token}",
    )  # fmt: skip
    assert 16 in rules(plan.recalculated()) <= {13, 16}


def test_a_style_that_says_something_else(plan: Seeded) -> None:
    """Rule 25: a formula in the style of an input."""
    xml = plan.package.parts[plan.part("Inputs")].decode()
    (style,) = re.findall(rf'<c r="{plan.at("Inputs", "batch")}" s="(\d+)"', xml)
    at = plan.at("Inference", "decode_step_time")
    change(plan, plan.part("Inference"), rf'<c r="{at}" s="\d+"', f'<c r="{at}" s="{style}"')
    found = plan.found()
    assert 25 in rules(found) <= {25, 28}
    assert places(found) == {f"Inference!{at}"}


def test_one_unit_in_two_formats(plan: Seeded) -> None:
    """Rule 26: a scenario whose number has another format than its row's is noted, and is no breach."""
    time, other = plan.at("Inference", "kv_time", "G"), plan.at("Inference", "critical_batch", "G")
    styled(plan, "Inference", time, other)
    assert rules(plan.found(), "note") == {26}


def test_a_locked_input(plan: Seeded) -> None:
    """Rule 28: inputs that protection would lock."""
    xml = plan.package.parts["xl/styles.xml"].decode()
    plan.package.replace("xl/styles.xml", xml.replace('locked="0"', 'locked="1"').encode())
    assert 28 in rules(plan.found())


def test_a_page_on_its_side(plan: Seeded) -> None:
    """Rule 29: a sheet that prints upright."""
    change(plan, plan.part("Checks"), 'orientation="landscape"', 'orientation="portrait"')
    assert rules(plan.found()) == {29}


def test_a_log_of_another_version(plan: Seeded) -> None:
    """Rule 30: the Log's last version is not the Cover's."""
    plan.type("Log", "A6", "0.0.1")
    found = plan.found()
    assert rules(found) == {30}
    assert places(found) == {"Log!A6"}
