"""`planner update`: workbooks of earlier versions, edited by people, brought to today's templates and databases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime, time
from functools import cache
from pathlib import Path

import openpyxl
import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.check.run import check
from planner.dates import made_now
from planner.errors import UserError
from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from tests import workbooks
from tests.commands import refusal, refused, run, untouched
from tests.short_data import of_few_cases, of_few_rows
from tests.workbooks import few_rows, sheet_of, write_comparison, write_small

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def _few_cases_everyday(request: pytest.FixtureRequest) -> Iterator[None]:
    """Slow tests hold golden workbooks against all cases."""
    with nullcontext() if request.node.get_closest_marker("slow") else of_few_cases():
        yield


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    """A golden workbook, to be edited."""

    def make(name: str = "default.xlsx") -> Path:
        path = tmp_path / "plan.xlsx"
        path.write_bytes((GOLDEN / name).read_bytes())
        return path

    return make


def updated(path: Path) -> tuple[Updated, Plan]:
    """A workbook brought up to date, and what is in it then."""
    done, _ = update_file(path)
    return done, read_plan(path)


def typed(plan: Plan) -> dict[tuple[str, str], object]:
    """What is typed on Inputs, by name and scenario."""
    rows = (*plan.inputs, *plan.overrides)
    return {(row.name, key): cell.value for row in rows for key, cell in row.cells.items() if cell.value is not None}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default.xlsx", "edited.xlsx"])
def test_the_golden_ones_keep_what_is_typed(edited: Callable[..., Path], name: str) -> None:
    """Inputs and overrides of both are all there, a person's names too, and the workbook is as clean as a fresh one."""
    path = edited(name=name)
    before = read_plan(path)
    done, after = updated(path)
    assert done.is_needed
    assert {key: value for key, value in typed(after).items() if key in typed(before)} == typed(before)
    assert [scenario.key for scenario in after.scenarios] == [scenario.key for scenario in before.scenarios]
    for old, new in zip(before.scenarios, after.scenarios, strict=True):  # a name that planner typed follows the chip
        assert new.name in (old.name, f"{new.model} on {new.hardware}")
    assert not after.stale
    assert not after.unknown
    faults = [found for found in check(Package.read(path)).of("fault") if found.rule != 32]
    assert faults == []


def of_a_template(own: Path, path: Path) -> None:
    """A workbook of a person's own template, which has one row more since."""
    own.write_text(
        "name,label,unit,kind,formula,source,note\nrows,Rows,1,input,4,test,\ntotal_rows,All,1,output,rows*rows,test,\n",
        encoding="utf-8",
    )
    assert run("build", "--template", own, "-o", path).exit_code == 0
    own.write_text(own.read_text(encoding="utf-8") + "total_more,More,1,output,rows+rows,test,\n", encoding="utf-8")


@pytest.mark.parametrize("is_golden", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_old_file_stays_beside_it_and_a_second_update_changes_nothing(
    edited: Callable[..., Path], tmp_path: Path, is_golden: bool
) -> None:
    """The bytes of before are kept under a name that was free; what is up to date keeps every byte, with no copy."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    if is_golden:
        edited()
    else:
        of_a_template(own, path)
    templates = [] if is_golden else [str(own)]
    before = path.read_bytes()
    path.with_name("plan.bak.xlsx").write_bytes(b"an earlier one")
    _, backup = update_file(path, templates)
    assert backup == path.with_name("plan.bak2.xlsx")
    assert backup.read_bytes() == before
    assert path.with_name("plan.bak.xlsx").read_bytes() == b"an earlier one"
    after = path.read_bytes()
    done, backup = update_file(path, templates)
    assert not done.is_needed
    assert backup is None
    assert path.read_bytes() == after


@pytest.mark.slow
def test_one_without_values_is_updated_as_one_with_them(edited: Callable[..., Path]) -> None:
    """A program that saves no value takes no text away by which rows are told: no formula is led astray."""
    path = edited()
    book = openpyxl.load_workbook(path)
    book.save(path)
    assert not updated(path)[1].unknown
    assert {found.kind for found in check(Package.read(path)).of("fault")}.isdisjoint(
        {"error_value", "broken_reference"}
    )


@pytest.mark.slow
def test_an_unedited_one_computes_what_a_fresh_one_does(edited: Callable[..., Path], tmp_path: Path) -> None:
    """Every quantity of every calculation sheet, headline and check is that of a workbook built today."""
    path, fresh = edited(), tmp_path / "fresh.xlsx"
    _, after = updated(path)
    templates = [word for name in ("transformer", "inference") for word in ("--template", name)]
    assert run("export-inputs", path, "-o", tmp_path / "s.csv").exit_code == 0
    words = ["build", "--scenarios", str(tmp_path / "s.csv"), "-o", str(fresh), *templates]
    assert run(*words).exit_code == 0
    built = read_plan(fresh)
    for mine, theirs in ((after.tables, built.tables), ({"": after.headlines}, {"": built.headlines}),
                         ({"": after.checks}, {"": built.checks})):  # fmt: skip
        assert {sheet: [(row.name, row.text, {k: c.value for k, c in row.cells.items()}) for row in rows]
                for sheet, rows in mine.items()} == \
               {sheet: [(row.name, row.text, {k: c.value for k, c in row.cells.items()}) for row in rows]
                for sheet, rows in theirs.items()}  # fmt: skip


def test_a_sheet_of_an_unknown_template_is_refused(tmp_path: Path) -> None:
    """A workbook of a person's own template needs its CSV; with it, it is brought up to date."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    of_a_template(own, path)
    with untouched(path):
        said = refusal(run("update", path))
        assert "the sheet Mine is of an unknown template 'mine'; name its file: --template mine.csv" in said
    done = run("update", path, "--template", own, "--all")
    assert "New rows: Dashboard total_more; Mine total_more" in done.output


@pytest.mark.parametrize("content", ["name,label,unit,kind,formula,source,note\n", "broken"])
def test_a_template_without_a_sheet_is_named(tmp_path: Path, content: str) -> None:
    """A file whose template the workbook lacks is no reason to say that all is up to date, whatever is in it."""
    own, other, path = tmp_path / "mine.csv", tmp_path / "other.csv", tmp_path / "plan.xlsx"
    of_a_template(own, path)
    with untouched(path):
        other.write_text(content)
        done = refused("update", path, "--template", own, "--template", other)
        assert done.startswith(f"Error: {other}: {path} has no sheet of a template 'other'; ")


@pytest.mark.parametrize("has_own", [True, False])
def test_a_template_that_isnt_there_is_named(tmp_path: Path, has_own: bool) -> None:
    """A mistyped file is said to be missing, as `planner build` says it, whether or not a sheet waits for one."""
    own, missing, path = tmp_path / "mine.csv", tmp_path / "missing.csv", tmp_path / "plan.xlsx"
    of_a_template(own, path) if has_own else write_comparison(path)
    assert refusal(run("update", path, "--template", missing)) == f"Error: {missing}: there is no such file\n"
    done = run("update", path, "--template", "missing")
    assert done.stderr.startswith("Error: no template 'missing'; ")


@pytest.mark.parametrize("sheet", ["Training", "Transformer"])
def test_a_deleted_calculation_sheet_is_named(tmp_path: Path, sheet: str) -> None:
    """Scenarios are meant for the workload of a sheet that is gone, or other sheets read it and have #REF! in place of
    it: one line says which, and nothing is changed.
    """
    path = tmp_path / "plan.xlsx"
    if sheet == "Training":
        path.write_bytes(both())
    else:
        write_small(path, ["llama3-70b"], ["h100-sxm"], ["transformer", "lora"])
    book = openpyxl.load_workbook(path)
    del book[sheet]
    for cell in (cell for row in book["Checks"].iter_rows() for cell in row if cell.data_type == "f"):
        cell.value = re.sub(rf"{sheet}![$A-Z0-9]+", "#REF!", cell.value)
    book.save(path)
    with untouched(path), pytest.raises(UserError, match=f"the sheet of the template {sheet.lower()} is missing"):
        update_file(path)


def test_a_sheet_whose_titles_were_typed_over_is_named_so(tmp_path: Path) -> None:
    """It isn't said to be missing, for it is there."""
    path = tmp_path / "plan.xlsx"
    for sheet, fourth in (("Dashboard", "From"), ("Matmul", "Formula in names")):
        write_comparison(path)
        workbooks.edit(path, lambda book, sheet=sheet: setattr(book[sheet]["A3"], "value", "hello"))  # type: ignore[misc]
        with pytest.raises(UserError, match=f"the sheet {sheet} has no row of titles any more.*Name, {fourth}$"):
            update_file(path)


def test_what_has_no_inputs_is_refused(tmp_path: Path) -> None:
    """A workbook without Checks can't be told apart; it is refused in one line and left as it was."""
    path = tmp_path / "plan.xlsx"
    write_comparison(path)
    book = openpyxl.load_workbook(path)
    del book["Checks"]
    book.save(path)
    with untouched(path), pytest.raises(UserError, match="Checks is missing"):
        update_file(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["plan.xlsx"]


@cache
def both() -> bytes:
    """A workbook of training and serving, small in every way."""
    few = few_rows(("llama3-8b",), ("h100-sxm",))
    with of_few_rows(), of_few_cases():
        return build(plan_of(["llama3-8b"], ["h100-sxm"], ["training", "inference"], None, ["n_chips=8"], few))


@of_few_rows()
def test_a_fresh_workbook_has_nothing_to_update(tmp_path: Path) -> None:
    """Of training and serving together: also the parts of a step, which follow the scenario shown, are known again."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(both())
    assert not update_file(path, databases=few_rows(("llama3-8b",), ("h100-sxm",)))[0].is_needed


def test_the_log_counts_as_the_workbook_does(tmp_path: Path) -> None:
    """A line of the Log has its date from 1904 where the workbook counts from there, below a person's own formula; so
    has Cover.
    """

    def edit(book: openpyxl.Workbook) -> None:
        book.epoch = CALENDAR_MAC_1904
        log = book["Log"]
        log.cell(log.max_row + 1, 1).value = '="v"&2'

    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    of_a_template(own, path)
    workbooks.edit(path, edit)
    n_rows = sheet_of(path, "Log").max_row
    update_file(path, [str(own)])
    book = openpyxl.load_workbook(path)
    assert book.epoch == CALENDAR_MAC_1904
    assert book["Log"].cell(n_rows, 1).value == '="v"&2'
    said = [book["Log"].cell(n_rows + 1, column).value for column in (2, 3)]
    today = datetime.combine(made_now().date(), time())
    assert said == [today, "Updated by planner"]
    assert [row[1].value for row in book["Cover"].iter_rows() if row[0].value == "Made on"] == [today]
