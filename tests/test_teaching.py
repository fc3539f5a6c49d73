"""The workbook that teaches: every mapped problem a live formula, exact, and true when an input is changed."""

from __future__ import annotations

import functools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

from planner import catalog
from planner.catalog.databases import Databases
from planner.check.run import check
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import Facts, evaluate
from planner.formulas.lookups import facts
from planner.recalc import recalculate
from planner.teaching import problems
from planner.teaching.chapter import FORMULA, GIVEN, NAME, UNIT, VALUE
from planner.teaching.lesson import (
    AGREES,
    FIRST_ROW,
    HEADER_ROW,
    INDEX,
    KNOWN,
    PRINTED,
    PROBLEM,
    RESULT,
    VERDICT,
    build,
)
from planner.teaching.problems import Answer, Problem, rounding
from planner.xlsx.address import address, column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests.book_problems import BOOK, synced, text
from tests.commands import refused, run
from tests.libreoffice import disagreements, needs_libreoffice
from tests.test_cases import MAPPED, read
from tests.test_schema import SCHEMAS, invalid_parts
from tests.workbooks import agree, cached, type_in

TABLES = functools.cache(lambda: (catalog.load_models(), catalog.load_hardware()))
PROBLEMS = functools.cache(lambda: problems.load(*TABLES())[0])


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook, built once; tests that edit it take a copy."""
    path = tmp_path_factory.mktemp("teaching") / "book.xlsx"
    path.write_bytes(build(Databases())[0])
    return path


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a few problems: one of each template, one of none, and those that the tests edit."""
    rows = read(BOOK)
    wanted = {"roof-01", "roof-14", "inf-tA16-step", "inf-28", "trf-14"}
    wanted |= set({row["template"]: row["id"] for row in reversed(rows)}.values())
    lines = [row for row in rows if row["id"] in wanted]
    path = tmp_path_factory.mktemp("few") / "book.xlsx"
    path.with_suffix(".csv").write_text(text(lines), encoding="utf-8")
    path.write_bytes(build(Databases(), path.with_suffix(".csv"))[0])
    return path


def answered() -> list[tuple[Problem, Answer]]:
    """The problems that a template answers."""
    return [(problem, problem.answer) for problem in PROBLEMS() if problem.answer]


@functools.cache
def found_for(template: str, model: str | None, hardware: str | None) -> Facts:
    """What a problem's lookups read."""
    return facts(library.load(template), model, hardware)


def by_array(answer: Answer, **changed: Value) -> float:
    """A problem's answer by the array functions, in the source's unit."""
    value = evaluate(
        answer.template, found_for(answer.template.name, answer.model, answer.hardware), dict(answer.given) | changed
    ).value(answer.output.name)
    assert isinstance(value, float)
    return value * (answer.factor or 1)


def rows_of(sheet: dict[str, Value]) -> dict[str, int]:
    """The row of each problem on Book."""
    column = column_letters(PROBLEM)
    ids = {problem.id for problem, _ in answered()}
    return {str(value): int(ref[len(column) :]) for ref, value in sheet.items()
            if ref.rstrip("0123456789") == column and value in ids}  # fmt: skip


def test_the_problems_are_those_of_the_cases() -> None:
    """templates/book.csv holds every mapped case as the tests map it, and every other with its reason."""
    found = read(BOOK)
    assert synced(found) == found, "run `python -m tests.book_problems`"
    mapped = {case["case_id"] for source in ("scaling_book", "course_slides") for case in MAPPED[source]}
    assert {problem.id for problem, _ in answered()} == mapped
    assert [problem.id for problem in PROBLEMS() if not problem.answer and not problem.mapping] == []


def test_every_problem_says_what_it_is() -> None:
    """A problem has a question and its place; where rounding doesn't explain what is printed, a sentence does."""
    for problem in PROBLEMS():
        assert problem.question, problem.id
        assert problem.place, problem.id
        if problem.printed is not None and problem.exact is not None:
            assert problem.rounding is not None
            off = abs(problem.exact - problem.printed) > problem.rounding + 1e-7 * abs(problem.printed)
            assert problem.explanation or not off, f"{problem.id}: {problem.printed} is printed for {problem.exact}"


@pytest.mark.parametrize(
    ("printed", "half"),
    [("240", 5), ("0.00101", 5e-6), ("1.3e12", 5e10), ("2e14", 5e13), ("295.5", 0.05), ("0", 0), ("1024", 0.5)],
)
def test_rounding_is_half_the_last_digit(printed: str, half: float) -> None:
    """What rounding alone may move: half a unit of the last digit that is not a trailing zero."""
    assert rounding(printed) == pytest.approx(half, rel=1e-12)
    assert rounding("") is None


@pytest.mark.parametrize("which", ["few", pytest.param("book", marks=pytest.mark.slow)])
def test_every_answer_is_the_exact_one(which: str, request: pytest.FixtureRequest) -> None:
    """Each problem's cell on Book is the array function's value, agrees with the exact answer, and says so."""
    sheet = cached(request.getfixturevalue(which))[INDEX]
    rows = rows_of(sheet)
    wanted = [(problem, answer) for problem, answer in answered() if which == "book" or problem.id in rows]
    assert rows.keys() == {problem.id for problem, _ in wanted}
    assert {answer.template.name for _, answer in wanted} == {answer.template.name for _, answer in answered()}
    for problem, answer in wanted:
        at, expected = rows[problem.id], by_array(answer)
        assert agree(sheet[address(at, RESULT)], expected), problem.id
        assert sheet[address(at, AGREES)] == 1, problem.id
        assert problem.exact is not None
        assert math.isclose(expected, problem.exact, rel_tol=1e-7), problem.id
        printed = sheet.get(address(at, PRINTED))
        assert printed == problem.printed, problem.id
        if sheet[address(at, VERDICT)] == "off":
            assert problem.explanation in str(sheet[address(at, KNOWN)]), problem.id
    assert sheet["C1"] == 0


@pytest.mark.slow
def test_unanswered_problems_say_why(book: Path) -> None:
    """Below the table each problem without a template stands with its reason."""
    sheet = cached(book)[INDEX]
    below = max(rows_of(sheet).values())
    told = {str(value) for ref, value in sheet.items() if int(re.sub(r"\D", "", ref)) > below}
    for problem in (problem for problem in PROBLEMS() if not problem.answer):
        assert {problem.id, problem.mapping} <= told, problem.id


def test_check_is_clean(few: Path) -> None:
    """`planner check` finds nothing: every formula in names is its cells', no number is typed among formulas."""
    assert [(finding.place, finding.what) for finding in check(Package.read(few)).found] == []


@pytest.mark.slow
def test_check_is_clean_on_all(book: Path) -> None:
    """`planner check` finds nothing in the whole book."""
    assert [(finding.place, finding.what) for finding in check(Package.read(book)).found] == []


def test_recalc_leaves_the_values(few: Path, tmp_path: Path) -> None:
    """`planner recalc` computes what is cached already."""
    path = tmp_path / "book.xlsx"
    path.write_bytes(few.read_bytes())
    done = run("recalc", path)
    assert done.exit_code == 0, done.output
    assert cached(path) == cached(few)


def test_a_changed_input_changes_the_answer(few: Path) -> None:
    """A number typed over a given one gives the array function's answer, and the problem no longer agrees."""
    package = Package.read(few)
    sheets = parse_sheets(package)
    rows = rows_of({ref: each.value for ref, each in sheets[INDEX].cells.items()})
    changes = {"roof-01": ("peak_flops", 2e14), "inf-tA16-step": ("n_chips", 4.0), "trf-14": ("n_heads", 16.0)}
    for name, (row, value) in changes.items():
        chapter, _, ref = str(sheets[INDEX].cells[address(rows[name], RESULT)].formula).partition("!")
        typed = {address(line_above(sheets[chapter], int(re.sub(r"\D", "", ref)), row), GIVEN): value}
        type_in(package, chapter, typed)
    recalculate(package)
    after = parse_sheets(package)[INDEX].cells
    for name, answer in ((problem.id, answer) for problem, answer in answered() if problem.id in changes):
        assert agree(after[address(rows[name], RESULT)].value, by_array(answer, **dict([changes[name]]))), name
        assert after[address(rows[name], AGREES)].value == 0, name


def line_above(sheet: SheetXml, row: int, name: str) -> int:
    """The row of a machine name, the next one from a row upward."""
    while (found := sheet.cells.get(address(row, NAME))) is None or found.value != name:
        row -= 1
    return row


def test_check_reports_what_is_broken(few: Path) -> None:
    """A number over a formula or out of range, other names, a number in them, an unknown unit are each reported."""
    package = Package.read(few)
    part, sheet = package.sheets()["Chapter_1"], parse_sheets(package)["Chapter_1"]
    rows = {str(each.value): int(ref[1:]) for ref, each in sheet.cells.items() if ref[0] == column_letters(NAME)}
    wrong = {
        address(rows["d_in"], GIVEN): -1.0,
        address(rows["row_bytes"], FORMULA): "activation_element_bytes*d_in",
        address(rows["token_surplus"], FORMULA): "flop_per_mac*d_in*d_out-ridge_intensity*row_bytes*2",
        address(rows["compute_time"], UNIT): "seconds",
    }
    package.replace(part, with_values(sheet, wrong))
    typed = re.compile(rf'(<c r="{address(rows["critical_tokens"], VALUE)}"[^>]*>)<f>.*?</c>'.encode())
    package.replace(part, typed.sub(rb"\g<1><v>7</v></c>", package.parts[part], count=1))
    found = {(finding.rule, finding.cell) for finding in check(package).found}
    expected = {
        (27, address(rows["d_in"], GIVEN)), (21, address(rows["row_bytes"], VALUE)),
        (21, address(rows["token_surplus"], VALUE)), (10, address(rows["compute_time"], UNIT)),
        (14, address(rows["critical_tokens"], VALUE)),
    }  # fmt: skip
    assert expected <= found


@pytest.mark.parametrize("command", [["report", "-o", "out.md"], ["export-inputs"], ["measure"]])
def test_it_is_no_plan(few: Path, command: list[str]) -> None:
    """What asks for scenarios refuses it in one line."""
    done = refused(command[0], few, *command[1:])
    assert done.startswith("Error: ")
    assert done.count("\n") == 1


def test_a_student_finds_the_way(few: Path) -> None:
    """Book can be filtered; each id links to its problem's title, and the title back to its row."""
    workbook = openpyxl.load_workbook(few)
    index = workbook[INDEX]
    assert index.auto_filter.ref.startswith(f"A{HEADER_ROW}:")
    last = int(re.sub(r".*\D", "", index.auto_filter.ref))
    for row in range(FIRST_ROW, last + 1):
        source = index.cell(row=row, column=PROBLEM)
        sheet, _, ref = source.hyperlink.location.partition("!")
        title = workbook[sheet][ref]
        assert title.value.startswith(f"{source.value}: ")
        assert title.hyperlink.location == f"{INDEX}!{source.coordinate}"


@pytest.mark.slow
def test_two_builds_are_byte_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two builds with one SOURCE_DATE_EPOCH are equal to the byte under another folder and hash seed."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    built = []
    for seed in ("7", "8"):
        path = tmp_path / seed / "book.xlsx"
        path.parent.mkdir()
        command = [sys.executable, "-m", "planner", "build", "--template", "book", "-o", str(path)]
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(BOOK.parent.parent)}
        subprocess.run(command, env=environment, check=True, cwd=path.parent)
        built.append(path.read_bytes())
    assert built[0] == built[1]


def test_the_book_is_built_alone(tmp_path: Path) -> None:
    """Other templates, models or values beside the book are refused in one line, and nothing is written."""
    for extra in (["--template", "matmul"], ["llama3-70b"], ["--set", "batch=1"], ["-H", "tpu-v5e"]):
        path = tmp_path / "book.xlsx"
        done = refused("build", *extra, "--template", "book", "-o", path)
        assert "build it alone" in done
        assert not path.exists()


@pytest.mark.parametrize(
    ("column", "typed", "what"),
    [("template", "matmull", "did you mean matmul"), ("output", "compute_tim", "did you mean compute_time"),
     ("settings", "flops=1;peak_flop=2", "did you mean peak_flops"), ("exact", "1,5", "is no number"),
     ("exact", "", "no exact answer"), ("settings", "flops=1", "names no chapter"), ("id", "roof-12", "stands twice")],
)  # fmt: skip
def test_a_fault_names_its_line(tmp_path: Path, column: str, typed: str, what: str) -> None:
    """What is wrong with a problem is one line with the file and the line."""
    lines = read(BOOK)[:3]
    lines[0][column] = typed
    if what == "names no chapter":
        lines[0]["chapter"] = ": x"
    if what == "stands twice":
        lines[1]["id"] = typed
    path = tmp_path / "book.csv"
    path.write_text(text(lines), encoding="utf-8")
    with pytest.raises(UserError, match=what) as caught:
        problems.load(*TABLES(), path)
    assert re.search(r"book\.csv:? ?,? ?(line )?[23]", str(caught.value)), str(caught.value)


def test_no_template_is_called_book() -> None:
    """`book` is the problems' name on the command line and no template's."""
    assert problems.NAME not in library.names()


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the ISO schemas are not beside the checkout (PLANNER_SCHEMAS)")
@pytest.mark.parametrize("which", ["few", pytest.param("book", marks=pytest.mark.slow)])
def test_every_part_is_valid(which: str, request: pytest.FixtureRequest) -> None:
    """Each part of the file is valid by ISO/IEC 29500."""
    assert list(invalid_parts(Package.read(request.getfixturevalue(which)))) == []


@pytest.mark.slow
@needs_libreoffice
def test_libreoffice_agrees_on_every_cell(book: Path, tmp_path: Path) -> None:
    """LibreOffice, made to recalculate, computes every formula to the cached value within 1e-9."""
    assert disagreements(book, tmp_path) == []
