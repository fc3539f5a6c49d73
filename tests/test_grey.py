"""Numbers that nobody knows are grey on Comparison, and not bold, whatever the style of their cells."""

from __future__ import annotations

from pathlib import Path

from openpyxl.formatting.rule import Rule
from openpyxl.worksheet.worksheet import Worksheet

from planner.compare import comparison_sheet as comparison
from planner.workbook.cell_styles import GREY
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from tests.workbooks import sheet_of


def rules_over(sheet: Worksheet, cell: str) -> list[Rule]:
    """The conditional formats of a cell, the one that wins first."""
    over = [rule for area in sheet.conditional_formatting if cell in area.sqref for rule in area.rules]
    return sorted(over, key=lambda rule: rule.priority)


def test_every_missing_number_is_grey(plan: Path) -> None:
    """Each column has a rule for N/A, of grey ink that takes bold away; no other rule takes in an N/A."""
    sheet, looks = comparison.find(Package.read(plan)), sheet_of(plan, "Comparison")
    for name, column in sheet.columns.items():
        rules = rules_over(looks, address(sheet.rows[0].number, column))
        (missing,) = [rule for rule in rules if rule.formula[0].startswith("ISNA(")]
        assert missing.dxf.font.color.rgb == GREY, name
        assert all(rule.formula[0].startswith("IFERROR(") for rule in rules if rule is not missing), name


def test_the_grey_is_not_bold(plan: Path) -> None:
    """In the file itself, since a style without the mark leaves a bold cell bold."""
    styles = Package.read(plan).parts["xl/styles.xml"].decode()
    assert f'<dxf><font><b val="0"/><color rgb="{GREY}"/></font></dxf>' in styles
    assert f'<dxf><font><color rgb="{GREY}"/>' not in styles
