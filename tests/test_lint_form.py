"""The rules of the file, its sheets and of sources: each reports the fault that is seeded for it."""

from __future__ import annotations

import re

import pytest

from planner.check.findings import RULES
from tests.built_form import FORM
from tests.seeded import Seeded
from tests.test_lint import faults, fixture_built, fixture_plan, fixture_rows, rules

__all__ = ["fixture_built", "fixture_plan", "fixture_rows"]  # fixtures that pytest finds here


def test_every_rule_of_a_workbook_is_held() -> None:
    """A rule is checked, or proves the builder (tests/built_form.py), or is 31, the schemas of the parts; 8 is both."""
    held = [1, 4, 6, 8, 9, 10, 11, 12, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 27, 32, 33, 34, 35, 36, 37, 38]
    assert sorted(RULES) == held
    assert set(RULES) | set(FORM) | {31} == set(range(1, 39))
    assert set(RULES) & set(FORM) == {8}


def test_sheets_in_another_order(plan: Seeded) -> None:
    """Rule 1: two of planner's sheets that changed places; references then point to a later sheet too."""
    part = plan.package.workbook_part()
    xml = plan.package.parts[part].decode()
    models, hardware = (re.findall(rf'<sheet [^>]*name="{name}"[^>]*/>', xml)[0] for name in ("Models", "Hardware"))
    swapped = xml.replace(models, "@").replace(hardware, models).replace("@", hardware)
    plan.package.replace(part, swapped.encode())
    assert rules(plan.found()) == {1}


def test_a_sheet_whose_titles_were_typed_over(plan: Seeded) -> None:
    """Rule 1: it is said to have lost them, and no sheet to stand elsewhere."""
    plan.type("Dashboard", "A3", "hello")
    found = [each.what for each in plan.found() if each.rule == 1]
    assert found == ["the sheet Dashboard has no row of titles any more"]


def test_a_hidden_sheet_and_a_hidden_row(plan: Seeded) -> None:
    """Rule 4: a hidden sheet, and a hidden row; a collapsed group is fine."""
    plan.change(plan.package.workbook_part(), r'(<sheet [^>]*name="Models"[^>]*?)state="visible"', r'\1state="hidden"')
    row = plan.at("Serve", "kv_time", "")
    plan.change(plan.part("Serve"), rf'<row r="{row}"', f'<row hidden="1" r="{row}"')
    grouped = plan.at("Serve", "decode_step_time", "")
    plan.change(plan.part("Serve"), rf'<row r="{grouped}"', f'<row hidden="1" outlineLevel="1" r="{grouped}"')
    assert faults(plan.found()) == ({4}, {"Models", f"Serve!A{row}"})


def test_rows_that_a_filter_hides_are_one_finding(plan: Seeded) -> None:
    """Rule 4: two rows that a filter leaves out are told together, with what clears it."""
    rows = [plan.at("Serve", name, "") for name in ("kv_time", "decode_step_time")]
    for row in rows:
        plan.change(plan.part("Serve"), rf'<row r="{row}"', f'<row hidden="1" r="{row}"')
    kept = '<filterColumn colId="0"><filters><filter val="x"/></filters></filterColumn>'
    filtered = f'</sheetData><autoFilter ref="A3:D{max(rows)}">{kept}</autoFilter>'
    plan.change(plan.part("Serve"), "</sheetData>", filtered)
    (found,) = plan.found()
    assert (found.rule, found.what) == (4, "a filter hides 2 rows")
    assert found.remedy.startswith("clear it: ")


def test_merged_cells(plan: Seeded) -> None:
    """Rule 8: two cells of a table merged into one."""
    plan.change(
        plan.part("Serve"),
        "</sheetData>",
        '</sheetData><mergeCells count="1"><mergeCell ref="A12:B12"/></mergeCells>',
    )
    assert faults(plan.found()) == ({8}, {"Serve!A12"})


def test_a_constant_without_a_source(plan: Seeded) -> None:
    """Rule 11: a constant that doesn't say where it comes from."""
    plan.type("Inputs", cell := plan.at("Inputs", "flop_per_mac", "E"), None)
    assert faults(plan.found()) == ({11}, {f"Inputs!{cell}"})


def test_a_measured_time_without_its_run(plan: Seeded) -> None:
    """Rule 11: a time typed among the measured ones, without run, device, date and samples."""
    from planner.compare.comparison_sheet import find
    from planner.xlsx.address import address

    sheet = find(plan.package)
    at = address(sheet.rows[0].number, sheet.columns["measured_time"])
    plan.type("Comparison", at, 0.001)
    plan.recalculated()
    assert rules(plan.found()) == {11}


def test_a_part_without_a_content_type(plan: Seeded) -> None:
    """Rule 33: a sheet's part that has only the type of its extension, and a part that has none."""
    part = plan.part("Hardware")
    plan.change("[Content_Types].xml", rf'<Override [^>]*PartName="/{part}"[^>]*/>', "")
    plan.package.add("xl/loose.bin", b"?")
    found = [each for each in plan.found() if each.rule == 33]
    assert {(each.sheet, each.what.split(" in [")[0]) for each in found} == {
        ("Hardware", f"{part} has the content type application/xml"),
        ("", "xl/loose.bin has no content type"),
    }


@pytest.mark.parametrize("kind", ["styles", "sheet1", "workbook", "chart1", "drawing1"])
def test_a_part_of_another_content_type(plan: Seeded, kind: str) -> None:
    """Rule 33: a part that [Content_Types].xml calls something else; alone, with what it ought to be."""
    plan.change("[Content_Types].xml", rf'(PartName="/[^"]*/{kind}\.xml" ContentType=")[^"]*"', r'\1text/plain"')
    (found,) = plan.found()
    assert found.rule == 33
    assert f"/{kind}.xml has the content type text/plain" in found.what
    assert "not application/vnd.openxmlformats-officedocument." in found.what


def test_a_workbook_with_macros_has_a_content_type_of_its_own(plan: Seeded) -> None:
    """Rule 33: what Excel writes for an .xlsm is no fault; that it has macros is rule 18's."""
    main = r'(PartName="/xl/workbook\.xml" ContentType=")[^"]*"'
    plan.change("[Content_Types].xml", main, r'\1application/vnd.ms-excel.sheet.macroEnabled.main+xml"')
    assert plan.found() == []


def test_a_relationship_to_nowhere(plan: Seeded) -> None:
    """Rule 33: a sheet whose drawing is gone; a shape's link to a cell is no part."""
    owner = plan.part("Comparison")
    (drawing,) = (link.target for link in plan.package.relationships(owner) if link.kind == "drawing")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    rels = owner.replace("worksheets/", "worksheets/_rels/") + ".rels"
    plan.change(rels, "</Relationships>", f'<Relationship Id="x" Type="{kind}" Target="#Inputs!A1"/></Relationships>')
    assert plan.found() == []
    plan.package.remove(drawing)
    found = plan.found()
    assert rules(found) == {33}
    assert f"{owner} has a relationship (drawing) to {drawing}, which is missing" in [each.what for each in found]
