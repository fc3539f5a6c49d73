"""Each rule of a workbook reports a fault that is seeded into a built one, alone or with the companions named."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from planner.book.workbook import Book
from planner.check.findings import RULES, Fault
from planner.check.run import check
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from tests.read_once import recalculate_once
from tests.workbooks import few_rows, smaller

ROOT = Path(__file__).parent.parent
ALL = "FGH"  # the columns of the three scenarios


class Seeded:
    """A built workbook in which a test breaks something, cell by cell and without losing the cached values."""

    def __init__(self, package: Package, rows: dict[str, dict[str, int]]) -> None:
        self.package, self._rows = package, rows

    def at(self, sheet: str, name: str, column: str = "F") -> str:
        """The cell of a machine name in a column."""
        return f"{column}{self._rows[sheet][name]}"

    def formula(self, sheet: str, ref: str, text: str, cached: str = "0") -> None:
        """Put a formula into a cell."""
        self._put(sheet, ref, "", f"<f>{escape(text)}</f><v>{cached}</v>")

    def formulas(self, sheet: str, name: str, text: str) -> None:
        """Put a formula into all scenarios of a row; `{0}` is the column, `{name}` the row of another name."""
        for column in ALL:
            self.formula(sheet, self.at(sheet, name, column), text.format(column, **self._rows[sheet]))

    def type(self, sheet: str, ref: str, value: str | float | None) -> None:
        """Type a value into a cell, over a formula too; None empties it."""
        if isinstance(value, str):
            kind = "e" if value.startswith("#") else "inlineStr"
            text = escape(value)
            self._put(sheet, ref, f' t="{kind}"', f"<v>{text}</v>" if kind == "e" else f"<is><t>{text}</t></is>")
        else:
            self._put(sheet, ref, "", "" if value is None else f"<v>{value}</v>")

    def edit(self, part: str, old: str, new: str) -> None:
        """Replace a piece of a part's XML, once."""
        xml = self.package.parts[part].decode()
        assert old in xml
        self.package.replace(part, xml.replace(old, new, 1).encode())

    def part(self, sheet: str) -> str:
        """The part that holds a sheet."""
        return self.package.sheets()[sheet]

    def _put(self, sheet: str, ref: str, kind: str, content: str) -> None:
        part = self.part(sheet)
        cell = re.compile(rf'<c r="{ref}"( s="\d+")?[^>]*?(?:/>|>.*?</c>)')
        xml = self.package.parts[part]
        if not cell.search(xml.decode()):
            xml = with_values(SheetXml(xml), {ref: 0})
        new = cell.sub(lambda match: f'<c r="{ref}"{match[1] or ""}{kind}>{content}</c>', xml.decode(), count=1)
        self.package.replace(part, new.encode())

    def found(self) -> list[Fault]:
        """What check says of the workbook as it is."""
        return list(check(self.package).found)

    def recalculated(self) -> list[Fault]:
        """What check says when a program has recalculated the workbook."""
        recalculate_once(self.package)
        return self.found()


@cache
def small_workbook() -> bytes:
    """The file of a small workbook: one template, three scenarios, short databases, one sweep, and a few cases."""
    models, chips = ("llama3-70b", "mixtral-8x7b"), ("tpu-v5e", "h100-sxm")
    plan = plan_of(models[:1], chips, ["inference"], None, ["n_chips=16"], few_rows(models, chips))
    third = replace(plan.scenarios[0], id="mixtral", model=models[1], values={"n_chips": 16.0})
    return build(smaller(replace(plan, scenarios=[*plan.scenarios, third])))


@pytest.fixture(name="built", scope="session")
def fixture_built() -> bytes:
    """That file, which is built once for all files of tests that have this fixture."""
    return small_workbook()


@pytest.fixture(name="rows", scope="session")
def fixture_rows(built: bytes) -> dict[str, dict[str, int]]:
    """The row of each machine name on each sheet of line items."""
    tables = Book(Package.from_bytes(built, "plan.xlsx")).tables
    return {table.sheet.name: {name: line.row for name, line in table.by_name.items()} for table in tables}


@pytest.fixture(name="plan")
def fixture_plan(built: bytes, rows: dict[str, dict[str, int]]) -> Seeded:
    """A built workbook of one's own to break."""
    return Seeded(Package.from_bytes(built, "plan.xlsx"), rows)


def rules(findings: list[Fault], severity: str = "fault") -> set[int]:
    """The numbers of the rules that found something of that severity."""
    return {finding.rule for finding in findings if finding.severity == severity}


def places(findings: list[Fault]) -> set[str]:
    """Where the faults and overrides stand."""
    return {finding.place for finding in findings if finding.severity != "note"}


def test_a_built_workbook_is_clean(plan: Seeded) -> None:
    """A freshly built workbook has no finding, no override and no note, by any of the rules."""
    assert plan.found() == []
    assert set(RULES) >= {6, 9, 10, 12, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 27}


def test_a_header_that_is_gone(plan: Seeded) -> None:
    """A calculation sheet whose titles were changed is missed, and not passed over."""
    plan.type("Inference", "D3", "Formulas")
    found = plan.found()
    assert 6 in rules(found) <= {6, 21}  # Operations reads names of the sheet
    assert "Inference!A3" in places(found)


def test_a_scenario_that_a_sheet_lacks(plan: Seeded) -> None:
    """A scenario on Inputs that nobody has copied to the other sheets; it has no inputs either."""
    for row in range(4, 8):
        plan.type("Inputs", f"I{row}", "h100-sxm" if row == 7 else "llama3-70b")
    found = plan.recalculated()  # Cover counts it
    assert rules(found) == {6}
    assert places(found) == {"Inputs!I4"}


def test_a_header_of_another_column(plan: Seeded) -> None:
    """Scenarios that don't keep their columns."""
    for column, next_column in zip(ALL, "GHI", strict=True):
        plan.formula("Inference", f"{column}5", f'IF(Inputs!{next_column}5="","",Inputs!{next_column}5)')
    assert rules(plan.recalculated()) == {6}


@pytest.mark.parametrize("label", [None, "Weights"])
def test_labels(plan: Seeded, label: str | None) -> None:
    """A label that is missing, or that is another row's."""
    ref = plan.at("Inference", "n_layers", "A")
    plan.type("Inference", ref, label)
    found = plan.found()
    assert rules(found) == {9}
    assert f"Inference!{ref}" in places(found) or label is not None


def test_units_of_rows(plan: Seeded) -> None:
    """A row's unit that is missing, or that is none of the closed list."""
    wrong = {"weight_bytes": "GB", "total_peak": "FLOPs/s", "decode_flops": None}
    for name, unit in wrong.items():
        plan.type("Inference", plan.at("Inference", name, "B"), unit)
    found = plan.found()
    assert rules(found) == {10}
    assert places(found) == {f"Inference!{plan.at('Inference', name, 'B')}" for name in wrong}


def test_units_of_columns(plan: Seeded) -> None:
    """A database's column in a unit that is not SI."""
    plan.type("Hardware", "C4", "TFLOP/s")
    assert places(plan.found()) == {"Hardware!C4"}


def test_a_formula_that_is_not_its_rows(plan: Seeded) -> None:
    """One scenario's formula edited: the odd one out is named, the first column too."""
    for column in "GF":
        seeded = Seeded(Package.from_bytes(plan.package.to_bytes(), "plan.xlsx"), plan._rows)
        ref = seeded.at("Inference", "decode_flops", column)
        seeded.formula("Inference", ref, f"{seeded.at('Inference', 'batch', column)}*7")
        found = seeded.recalculated()
        assert (rules(found) - {32}, rules(found, "override")) == (set(), {12})
        assert f"Inference!{ref}" in places(found)


def test_a_blank_that_is_its_rows_formula(plan: Seeded) -> None:
    """A formula deleted in one scenario."""
    ref = plan.at("Inference", "step_activation_bytes", "H")
    plan.type("Inference", ref, None)
    found = plan.recalculated()
    assert rules(found) == {12}
    assert places(found) == {f"Inference!{ref}"}


def test_a_formula_that_is_not_its_columns(plan: Seeded) -> None:
    """One case's formula edited, on Comparison and on Operations."""
    cases = {table.sheet.name: table for table in Book(plan.package).cases if len(table.rows) > 5}
    for sheet, title in (("Comparison", "flops"), ("Operations", "flops")):
        table = cases[sheet]
        column = next(column for column, name in table.columns.items() if name == title)
        row = table.groups[0][2]
        ref = address(row, column)
        plan.formula(sheet, ref, f"{table.sheet.patterns[row, column].at(row, column)}*1")
        found = plan.recalculated()
        assert (rules(found), rules(found, "override")) == (set(), {12})
        assert f"{sheet}!{ref}" in places(found)


def test_a_formula_among_the_inputs(plan: Seeded) -> None:
    """An input that is calculated."""
    ref = plan.at("Inputs", "batch")
    plan.formula("Inputs", ref, "2*16")
    found = plan.recalculated()
    assert rules(found) == {14}
    assert places(found) == {f"Inputs!{ref}"}


@pytest.mark.parametrize("columns", ["G", ALL])
def test_an_override_is_told_from_a_fault(plan: Seeded, columns: str) -> None:
    """A number typed over a formula is listed apart, in one scenario or in all."""
    refs = [plan.at("Inference", "decode_flops", column) for column in columns]
    for ref in refs:
        plan.type("Inference", ref, 1e12)
    found = plan.recalculated()
    assert (rules(found), rules(found, "override")) == (set(), {14})
    assert places(found) == {f"Inference!{ref}" for ref in refs}


@pytest.mark.parametrize("sheet", ["Comparison", "Operations", "Roofline"])
def test_an_override_in_a_table_of_cases(plan: Seeded, sheet: str) -> None:
    """A number typed over a case's formula."""
    table = next(table for table in Book(plan.package).cases if table.sheet.name == sheet and len(table.rows) > 5)
    row, column = table.groups[0][1], 5
    ref = table.sheet.cells[row, column].ref
    plan.type(sheet, ref, 3)
    found = plan.recalculated()
    assert (rules(found), rules(found, "override")) == (set(), {14})
    assert places(found) == {f"{sheet}!{ref}"}
