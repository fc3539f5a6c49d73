"""Each rule of a workbook reports a fault that is seeded into a built one, alone or with the companions named."""

from __future__ import annotations

from functools import cache

import pytest

from planner.book.workbook import Book
from planner.check.findings import RULES, Fault
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from tests.folders import shared_folder
from tests.seeded import (  # noqa: F401 # the fixtures are used by name
    ALL,
    SERVE,
    Seeded,
    fixture_plan,
    fixture_rows,
    rows_of,
    serving,
    three_scenarios,
)
from tests.workbooks import type_in


@cache
def serve() -> bytes:
    """The workbook of that template, in which most faults are seeded."""
    path = shared_folder() / "serve.csv"
    path.write_text(SERVE, encoding="utf-8")
    return three_scenarios(str(path))


@pytest.fixture(name="built", scope="session")
def fixture_built() -> bytes:
    """That workbook, of which `rows` and `plan` are then."""
    return serve()


@pytest.fixture(name="whole")
def fixture_whole() -> Seeded:
    """A workbook of serving, with all its sheets, to break."""
    return Seeded(Package.from_bytes(serving(), "plan.xlsx"), rows_of(serving()))


def rules(findings: list[Fault], severity: str = "fault") -> set[int]:
    """The numbers of the rules that found something of that severity."""
    return {finding.rule for finding in findings if finding.severity == severity}


def places(findings: list[Fault]) -> set[str]:
    """Where the faults and overrides stand."""
    return {finding.place for finding in findings if finding.severity != "note"}


def faults(findings: list[Fault]) -> tuple[set[int], set[str]]:
    """The rules that found a fault, and where faults and overrides stand."""
    return rules(findings), places(findings)


def test_a_built_workbook_is_clean(plan: Seeded, whole: Seeded) -> None:
    """A freshly built workbook has no finding, no override and no note, by any of the rules."""
    assert plan.found() == whole.found() == []
    assert set(RULES) >= {6, 9, 10, 12, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 27}


def test_a_header_that_is_gone(plan: Seeded) -> None:
    """A calculation sheet whose titles were changed is missed, and not passed over."""
    plan.type("Serve", "D3", "Formulas")
    found = plan.found()
    assert 6 in rules(found) <= {6, 21}  # Operations reads names of the sheet
    assert "Serve!A3" in places(found)


def test_a_scenario_that_a_sheet_lacks(plan: Seeded) -> None:
    """A scenario on Inputs that nobody has copied to the other sheets; it has no inputs either."""
    for row in range(4, 8):
        plan.type("Inputs", f"I{row}", "h100-sxm" if row == 7 else "llama3-70b")
    assert faults(plan.recalculated()) == ({6}, {"Inputs!I4"})  # Cover counts it


def test_a_header_of_another_column(plan: Seeded) -> None:
    """Scenarios that don't keep their columns."""
    for column, next_column in zip(ALL, "GHI", strict=True):
        plan.formula("Serve", f"{column}5", f'IF(Inputs!{next_column}5="","",Inputs!{next_column}5)')
    assert rules(plan.recalculated()) == {6}


@pytest.mark.parametrize("label", [None, "Weights"])
def test_labels(plan: Seeded, label: str | None) -> None:
    """A label that is missing, or that is another row's."""
    ref = plan.at("Serve", "n_layers", "A")
    plan.type("Serve", ref, label)
    found = plan.found()
    assert rules(found) == {9}
    assert f"Serve!{ref}" in places(found) or label is not None


def test_units_of_rows(plan: Seeded) -> None:
    """A row's unit that is missing, or that is none of the closed list."""
    wrong = {"weight_bytes": "GB", "total_peak": "FLOPs/s", "decode_flops": None}
    for name, unit in wrong.items():
        plan.type("Serve", plan.at("Serve", name, "B"), unit)
    assert faults(plan.found()) == ({10}, {f"Serve!{plan.at('Serve', name, 'B')}" for name in wrong})


def test_units_of_columns(plan: Seeded) -> None:
    """A database's column in a unit that is not SI."""
    plan.type("Hardware", "C4", "TFLOP/s")
    assert places(plan.found()) == {"Hardware!C4"}


@pytest.mark.parametrize("kind", ["models", "hardware"])
def test_an_id_of_two_rows(plan: Seeded, kind: str) -> None:
    """A copied row whose id was left, whatever its capitals: both rows are named, with the one that counts."""
    base = Book(plan.package).databases[kind]
    sheet, first, new = base.sheet, base.first_row, base.last_row + 1
    copied = {address(new, column): sheet.value(first, column) for column in base.columns.values()}
    copied[address(new, base.id_column)] = str(sheet.value(first, base.id_column)).upper()
    type_in(plan.package, sheet.name, copied)
    found = plan.found()
    assert rules(found) == {38}
    (said,) = [each for each in found if each.rule == 38]
    assert said.place == f"{sheet.name}!{address(new, base.id_column)}"
    assert f"stands in row {first} already: row {first} counts, row {new} never does" in said.what
    assert said.remedy == f"give row {new} an id of its own, or delete one of the two rows"


def test_a_formula_that_is_not_its_rows(plan: Seeded) -> None:
    """One scenario's formula edited: the odd one out is named, the first column too."""
    for column in "GF":
        seeded = Seeded(Package.from_bytes(plan.package.to_bytes(), "plan.xlsx"), plan._rows)
        ref = seeded.at("Serve", "decode_flops", column)
        seeded.formula("Serve", ref, f"{seeded.at('Serve', 'batch', column)}*7")
        found = seeded.recalculated()
        assert (rules(found) - {32}, rules(found, "override")) == (set(), {12})
        assert f"Serve!{ref}" in places(found)


def test_a_blank_that_is_its_rows_formula(plan: Seeded) -> None:
    """A formula deleted in one scenario."""
    ref = plan.at("Serve", "step_activation_bytes", "H")
    plan.type("Serve", ref, None)
    assert faults(plan.recalculated()) == ({12}, {f"Serve!{ref}"})


def test_a_formula_that_is_not_its_columns(whole: Seeded) -> None:
    """One case's formula edited, on Comparison and on Operations."""
    cases = {table.sheet.name: table for table in Book(whole.package).cases if len(table.rows) > 5}
    edited = set()
    for sheet, title in (("Comparison", "flops"), ("Operations", "flops")):
        table = cases[sheet]
        column = next(column for column, name in table.columns.items() if name == title)
        row = table.groups[0][2]
        ref = address(row, column)
        whole.formula(sheet, ref, f"{table.sheet.patterns[row, column].at(row, column)}*1")
        edited.add(f"{sheet}!{ref}")
    found = whole.recalculated()
    assert (rules(found), rules(found, "override")) == (set(), {12})
    assert edited <= places(found)


def test_a_formula_among_the_inputs(plan: Seeded) -> None:
    """An input that is calculated."""
    ref = plan.at("Inputs", "batch")
    plan.formula("Inputs", ref, "2*16")
    assert faults(plan.recalculated()) == ({14}, {f"Inputs!{ref}"})


@pytest.mark.parametrize("columns", ["G", ALL])
def test_an_override_is_told_from_a_fault(plan: Seeded, columns: str) -> None:
    """A number typed over a formula is listed apart, in one scenario or in all."""
    refs = [plan.at("Serve", "decode_flops", column) for column in columns]
    for ref in refs:
        plan.type("Serve", ref, 1e12)
    found = plan.recalculated()
    assert (rules(found), rules(found, "override")) == (set(), {14})
    assert places(found) == {f"Serve!{ref}" for ref in refs}


def test_an_override_in_a_table_of_cases(whole: Seeded) -> None:
    """A number typed over a case's formula, on each sheet of cases."""
    cases, typed = [table for table in Book(whole.package).cases if len(table.rows) > 5], set()
    for sheet in ("Comparison", "Operations", "Roofline"):
        table = next(table for table in cases if table.sheet.name == sheet)
        ref = table.sheet.cells[table.groups[0][1], 5].ref
        whole.type(sheet, ref, 3)
        typed.add(f"{sheet}!{ref}")
    found = whole.recalculated()
    assert (rules(found), rules(found, "override")) == (set(), {14})
    assert places(found) == typed
