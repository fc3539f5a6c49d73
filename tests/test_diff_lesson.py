"""`planner diff` and `planner show` of the workbook of worked problems, which has no scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.book.read_plan import read_workbook
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import invoked
from tests.test_teaching import few  # noqa: F401


def typed(path: Path, sheet: str, **cells: float) -> None:
    """Values typed into a workbook by a program that computes nothing."""
    package = Package.read(path)
    package.replace(package.sheets()[sheet], with_values(parse_sheets(package)[sheet], cells))
    package.write(path)


@pytest.fixture(name="pair")
def fixture_pair(few: Path, tmp_path: Path) -> tuple[Path, Path]:  # noqa: F811
    """The workbook of a few problems, and a copy to be edited."""
    copy = tmp_path / "new.xlsx"
    copy.write_bytes(few.read_bytes())
    return few, copy


def test_it_and_itself(pair: tuple[Path, Path]) -> None:
    """Nothing differs."""
    assert invoked("diff", *pair) == (0, f"{pair[0]} and {pair[1]}: no differences\n")


def test_one_value(pair: tuple[Path, Path]) -> None:
    """A changed value is named with its problem; of all answers that of its problem moved, and no longer agrees."""
    plan = read_workbook(pair[0])
    row = next(row for row in plan.inputs if row.name == "roof-01.peak_flops")
    spot = row.cells[""].spot
    old = row.value("")
    assert isinstance(old, float)
    typed(pair[1], spot.sheet, **{spot.ref: 2 * old})
    code, output = invoked("diff", "--json", *pair)
    told = json.loads(output)
    assert code == 1
    assert [(one["name"], one["old"], one["new"]) for one in told["inputs"]] == [("roof-01.peak_flops", old, 2 * old)]
    assert [(one["name"], one["relative"]) for one in told["headlines"]] == [("roof-01", pytest.approx(-0.5))]
    assert [(one["name"], one["old"], one["new"]) for one in told["checks"]] == [("roof-01", 1, 0)]
    assert [kind for kind in ("structure", "formulas", "cells", "notes", "formats") if told[kind]] == []


def test_a_constant_moves_every_answer_that_reads_it(pair: tuple[Path, Path]) -> None:
    """A constant is one input; the answers that moved are those whose value is another, the largest share first."""
    plan = read_workbook(pair[0])
    row = next(row for row in plan.constants if row.name == "flop_per_mac")
    spot = row.cells[""].spot
    typed(pair[1], spot.sheet, **{spot.ref: 3.0})
    told = json.loads(invoked("diff", "--json", *pair)[1])
    assert [one["name"] for one in told["inputs"]] == ["flop_per_mac"]
    before, after = ({row.name: row.value("") for row in each.headlines} for each in (plan, read_workbook(pair[1])))
    assert {one["name"] for one in told["headlines"]} == {name for name in before if before[name] != after[name]}
    assert len(told["headlines"]) > 5


def test_show_names_problems(pair: tuple[Path, Path]) -> None:
    """Rows are called by their problem, so that a changed value changes the lines of that problem alone."""
    assert "roof-01.peak_flops  " in invoked("show", pair[0])[1]


@pytest.mark.parametrize("words", [("report", "-o", "r.html"), ("update",), ("export-inputs",)])
def test_what_needs_scenarios_says_so(words: tuple[str, ...], pair: tuple[Path, Path]) -> None:
    """One line that says why, and exit code 2; the file stays."""
    before = pair[1].read_bytes()
    code, output = invoked(words[0], pair[1], *words[1:])
    assert (code, len(output.splitlines())) == (2, 1)
    assert "the workbook of worked problems has no scenarios" in output
    assert pair[1].read_bytes() == before
