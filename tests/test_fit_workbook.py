"""`planner fit` of a workbook: the stack that it gets, its sheet Fit, and what a person sets there."""

from __future__ import annotations

from pathlib import Path

import pytest
from openpyxl import load_workbook

from planner.book.read_plan import read_plan
from planner.catalog.databases import Databases
from planner.compare.comparison_sheet import find
from planner.compare.runs_table import read
from planner.errors import UserError
from planner.fit.fit import FittedFile
from planner.fit.fit_output import Provenance
from planner.fit.stack import OwnCalibration
from planner.xlsx.opc import Package
from tests.commands import command, untouched
from tests.own_runs import CHIP
from tests.recorded_runs import SIZES
from tests.workbooks import write_small


@pytest.mark.slow
def test_a_workbook_gets_the_stack_and_says_what_was_used(tmp_path: Path) -> None:
    """Its recorded runs become a row of Stacks and of Calibration, which its dropdown offers; a sheet Fit says of each
    run whether it was used. A flagged one isn't; what the plan expected of default is as before."""
    path = tmp_path / "plan.xlsx"
    sizes = ["--set", "n_chips=64", "--set", "batch_tokens=1048576", "--template", "training"]
    command("build", "llama3-8b", "-H", CHIP, *sizes, "-o", path)
    before = read_plan(path)
    (scenario,) = before.scenarios
    for time in ("2.9s", "2.95s", "2.8s", "0.1s"):
        command("record", path, "--scenario", scenario.name, "--time", time)
    said = command("fit", path)
    assert "3 runs used" in said
    assert "flagged" in said
    after = read_plan(path)
    assert "mine" in set(_column(after, "Stacks"))
    assert "mine" in set(_column(after, "Calibration"))
    page = after.book.sheets["Fit"]
    heads = next(row for row in range(1, 60) if page.value(row, 6) == "used")
    assert sorted(page.value(heads + at, 6) for at in range(1, 5)) == [0, 1, 1, 1]  # type: ignore[type-var]
    assert command("check", path)
    package = Package.read(path)
    assert len(find(package).run_rows) == 4


def test_what_became_of_the_workbook_is_said(tmp_path: Path) -> None:
    """What is new as update says it, the sheet Fit, and where the file as it was is kept."""
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    for time in ("12ms", "12.1ms", "12.2ms"):
        command("record", path, "--time", time)
    before = path.read_bytes()
    said = command("fit", path).splitlines()
    head = next(at for at, line in enumerate(said) if line.startswith(f"{path}: updated; "))
    *listed, page, was, wrote = said[head + 1 :]
    of_rows = listed[next(at for at, line in enumerate(listed) if line.startswith("  New rows:")) :]
    assert any("Stacks mine" in line for line in of_rows)
    told = "what was fitted, and which runs were used; choose the stack mine on Inputs to expect by it"
    assert page == f"  Sheet Fit: {told}"
    assert was == f"  The file as it was: {path.with_name('plan.bak.xlsx')}"
    assert path.with_name("plan.bak.xlsx").read_bytes() == before
    assert wrote.startswith(f"Wrote {path.with_name('plan-calibrations.csv')}")


def test_cases_are_said_to_have_stacks_of_their_own(tmp_path: Path) -> None:
    """The stack of Inputs isn't that of Comparison's cases: of those that were fitted, fit says so."""
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    for row in [row for row in find(Package.read(path)).rows if row.text("template") == "matmul"][:3]:
        expected = row.number_in("expected_time")
        command("record", path, "--case", row.number, "--time", f"{1.5 * expected}s")
    assert (
        "choose the stack mine on Inputs to expect by it, and as the software stack of cases on Comparison"
        in command("fit", path)
    )


def test_a_case_whose_time_is_no_number_is_told(tmp_path: Path) -> None:
    """A time with a decimal comma, typed into its cell, is a text: it is named among the runs that aren't used."""
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    command("record", path, "--time", "12ms")
    sheet = find(Package.read(path))
    book = load_workbook(path)
    for row, text in zip(sheet.rows, ("0,012", " "), strict=False):
        book["Comparison"].cell(row.number, sheet.columns["measured_time"]).value = text
    book.save(path)
    said = command("fit", path, "-o", tmp_path / "mine.csv")
    assert f"1 run, measured_time is the text '0,012', not a number: row {sheet.rows[0].number}: " in said


def test_a_workbook_of_whose_runs_nothing_moves_stays_as_it_was(tmp_path: Path) -> None:
    """A run as expected moves no parameter: the workbook keeps its bytes, without a copy beside it, and that is said. A
    stack that other runs brought is written anew all the same.
    """
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    command("record", path, "--time", "9.1ms")
    expected = read(find(Package.read(path)))[0].expected
    command("record", path, "--remove", find(Package.read(path)).run_rows[0])
    path.with_name("plan.bak.xlsx").unlink()
    command("record", path, "--time", f"{expected}s")
    with untouched(path):
        said = command("fit", path)
        assert f"{path}: as it was, for no parameter moved; planner update {path} --calibrations " in said
        assert "Sheet Fit" not in said
    assert not path.with_name("plan.bak.xlsx").exists()
    command("update", path, "--calibrations", path.with_name("plan-calibrations.csv"))
    assert "Sheet Fit" in command("fit", path, "--force")


def test_a_workbook_of_ones_own_template_is_left_to_update(tmp_path: Path) -> None:
    """Fit has no --template: it writes the CSV, and says the command that brings the stack into such a workbook."""
    mine, path, target = tmp_path / "mine.csv", tmp_path / "plan.xlsx", tmp_path / "stack.csv"
    mine.write_text("name,label,unit,kind,formula,source,note\nrows,Rows,1,input,4,test,\n", encoding="utf-8")
    command("build", "--template", mine, "-o", path)
    own = OwnCalibration("mine", "h100", "default", (), ())
    found = FittedFile([own], [], Provenance("plan.xlsx", "", ""), Databases(), is_workbook=True, known=["mine"])
    with pytest.raises(UserError) as error:
        found.write(target, into=path)
    remedy = f"planner update {path} --template FILE --calibrations {target}"
    assert f"only {target} is written: the sheet Mine is of an unknown template 'mine'; {remedy}" in str(error.value)
    assert target.exists()


def _column(plan: object, name: str) -> list[object]:
    """The ids of a database of a workbook."""
    table = plan.book.databases[name.lower()]  # type: ignore[attr-defined]
    return [table.sheet.value(row, table.id_column) for row in table.rows]


@pytest.mark.slow
def test_a_run_that_a_person_sets_to_0_stays_so(tmp_path: Path) -> None:
    """A 0 typed into the column `used` holds when the workbook is fitted again, and again; a 1 takes it back. The sheet
    stays one, and a person's note on it is kept beside a new one."""
    path = write_small(tmp_path / "plan.xlsx", [], ["tpu-v5e"], ["matmul"], **SIZES)
    for time in ("12ms", "12.1ms", "12.2ms"):
        command("record", path, "--time", time)
    assert "3 runs used" in command("fit", path)
    for typed, said in ((0, "2 runs used"), (None, "2 runs used"), (1, "3 runs used")):
        if typed is not None:
            page = read_plan(path).book.sheets["Fit"]
            head = next(row for row in range(1, 60) if page.value(row, 6) == "used")
            at = next(row for row in range(head + 1, head + 4) if page.value(row, 6) == 1 - typed)
            _type(path, "Fit", f"F{at}", typed)
        output = command("fit", path, "--force")
        assert said in output
        assert ("you set used to 0" in output) == (typed != 1)
        assert [name for name in read_plan(path).book.sheets if name.startswith("Fit")] == ["Fit"]
    _type(path, "Fit", "J30", "mine")
    command("fit", path, "--force")
    assert [name for name in read_plan(path).book.sheets if name.startswith("Fit")] == ["Fit", "Fit 2"]


def _type(path: Path, name: str, cell: str, value: object) -> None:
    """Type into a cell of a workbook, as a person does."""
    book = load_workbook(path)
    book[name][cell] = value
    book.save(path)
