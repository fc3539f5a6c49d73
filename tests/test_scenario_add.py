"""`planner scenario add`: a scenario more in a workbook that a person may have edited."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from click.testing import Result

from planner import catalog
from planner.book.read_plan import read_plan
from planner.book.workbook import Book
from planner.check.run import check
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.scenario.add import NewScenario, add_to_file, comparing
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import coordinates
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.worksheet import as_wide
from tests.commands import refusal, refused, run, untouched
from tests.libreoffice import needs_libreoffice, recalculated
from tests.seeded import SERVE
from tests.workbooks import (
    CHIPS,
    MODELS,
    agree,
    build_small,
    by_name,
    cached,
    edit,
    few_rows,
    retype,
    row_of,
    write_small,
)

NEW = 7  # the column of the new scenario, right of the one that was built


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook of one scenario and one template, of a few rows of serving."""
    own = tmp_path_factory.mktemp("built") / "serve.csv"
    own.write_text(SERVE, encoding="utf-8")
    typed, few = ["batch=8", "n_chips=4", "hbm_bandwidth=7e11"], few_rows(MODELS, CHIPS)
    return build_small(plan_of(["llama3-8b"], ["tpu-v5e"], [str(own)], None, typed, few))


def add(path: Path, *words: str) -> Result:
    """Run the command."""
    return run("scenario", "add", path, *words)


def test_it_computes_what_its_template_does(plan: Path) -> None:
    """Every quantity of the new column is that of the array functions for its model, chip and inputs."""
    done = add(
        plan, "Mine, on v5p", "-m", "Llama3-70B", "-H", "tpu-v5p", "--set", "batch=16", "n_chips=8", "kv_dtype=int8"
    )
    assert done.exit_code == 0, done.output
    typed = {"batch": 16.0, "n_chips": 8.0, "kv_dtype": "int8"}
    after = read_plan(plan)
    assert [(each.id, each.name) for each in after.scenarios][1] == ("mine_on_v5p", "Mine, on v5p")
    assert not after.stale
    for name, value in typed.items():
        assert after.value(name, "mine_on_v5p") == value
    assert (after.scenarios[1].model, after.scenarios[1].hardware) == ("llama3-70b", "tpu-v5p")
    assert [found for found in check(Package.read(plan)).found if found.kind != "override"] == []


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_new_column_agrees_with_the_array_functions(plan: Path, tmp_path: Path, has_all: bool) -> None:
    """So do all rows of every calculation sheet: of one, and of those that `planner build` makes."""
    if has_all:
        write_small(plan, ["llama3-8b"], ["tpu-v5e"], [], batch=8, n_chips=4, hbm_bandwidth=7e11)
    own = tmp_path / "serve.csv"
    own.write_text(SERVE, encoding="utf-8")
    add(plan, "mine", "-m", "llama3-70b", "--set", "batch=16")
    after = read_plan(plan)
    typed = {row.name: row.value("mine") for row in after.inputs}
    assert typed["batch"] == 16
    for sheet, rows in after.tables.items():
        template = library.load(sheet.lower() if has_all else own)
        typeable = {row.name for row in template.of_kind("input")}
        results = evaluate(
            template,
            facts(template, "llama3-70b", "tpu-v5e"),
            {name: value for name, value in typed.items() if name in typeable},
        )
        for row in rows:
            if row.name in template.by_name:
                assert agree(row.value("mine"), results.value(row.name)), f"{sheet} {row.name}"


def test_a_text_in_the_place_of_a_number_is_named(plan: Path) -> None:
    """The cell that would be copied, in the file, as `planner check` names it; what is set instead is not copied."""
    retype(plan, batch="sixteen")
    before, cell = plan.read_bytes(), f"Inputs!F{by_name(cached(plan), 'Inputs')['batch']}"
    assert f"{plan}: {cell} (batch): the text 'sixteen' is no number; type a number" in refused("scenario", "add", plan)
    assert plan.read_bytes() == before
    assert add(plan, "mine", "--set", "batch=8").exit_code == 0


def test_a_column_pasted_as_values_is_refused(plan: Path) -> None:
    """A new column like one whose formulas are gone would show the old one's numbers: it says which it is."""
    package = Package.read(plan)
    sheet = Book(package).calculations[0].sheet.name
    part = package.sheets()[sheet]
    package.replace(part, re.sub(rb"<f[ >].*?</f>|<f [^>]*/>", b"", package.parts[part]))
    package.write(plan)
    said = refused("scenario", "add", plan, "another")
    assert re.search(f"sheet {sheet}: column [A-Z]+ shows .* as a value, not by a formula; undo what pasted", said)


def test_a_workbook_without_a_sheet_that_its_checks_read_is_refused(tmp_path: Path) -> None:
    """As by `planner update`: the new scenario would have no numbers."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["transformer"])
    book = openpyxl.load_workbook(path)
    del book["Transformer"]
    book.save(path)
    said = "the sheet of the template transformer is missing"
    assert said in refused("scenario", "add", path, "mine")
    assert said in refused("update", path)


def test_a_workbook_without_its_dashboard_takes_one(tmp_path: Path) -> None:
    """The other sheets get its column where an analyst deleted Dashboard."""
    path = tmp_path / "plan.xlsx"
    write_small(path, MODELS[:1], CHIPS[:1], ["transformer"])
    book = openpyxl.load_workbook(path)
    del book["Dashboard"]
    book.save(path)
    added, _ = add_to_file(path, NewScenario("Another"))
    assert set(added.columns) == {"Inputs", "Transformer", "Constraints", "Checks"}


def test_it_says_what_a_chip_lacks(tmp_path: Path) -> None:
    """As `planner build` does of a chip whose data sheet has no peak; and nothing of one that has all."""
    path, chips = tmp_path / "plan.xlsx", tmp_path / "chips.csv"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["inference"], batch=8, n_chips=4)
    assert add_to_file(path, NewScenario("known"))[0].unanswered == []
    few = few_rows(("llama3-8b",), ("tpu-v5e",))
    assert few.hardware_csv is not None
    with few.hardware_csv.open(encoding="utf-8") as stream:
        (chip,) = csv.DictReader(stream)
    bare = {title: "" if title.startswith("peak_") else cell for title, cell in chip.items()}
    with chips.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([bare.keys(), bare.values()])
    few = replace(few, hardware_csv=chips)
    path.write_bytes(build_small(plan_of(["llama3-8b"], ["tpu-v5e"], ["inference"], None, ["n_chips=4"], few)))
    (said,) = add_to_file(path, NewScenario("mine"))[0].unanswered
    assert "the expected decode step of mine is N/A" in said
    assert "the chip has no peak_bf16 in the hardware table" in said


def test_what_is_said_of_all_scenarios_is_said_once(tmp_path: Path) -> None:
    """Which is the cheapest stands above the first scenario's column, and not above that of one made like it too."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e"], ["inference"], batch=8, n_chips=4)
    assert add(path, "mine").exit_code == 0
    top = [text for (row, _), text in read_plan(path).book.sheets["Dashboard"].values.items() if row == 1]
    assert [text for text in top if str(text).startswith("Cheapest that passes")] == [top[-1]]


def test_only_the_new_column_is_other(plan: Path) -> None:
    """No part but sheets and the charts that compare scenarios changes, and on sheets no cell that was there."""
    before, old = Package.read(plan), parse_sheets(Package.read(plan))
    add(plan, "mine")
    after, new = Package.read(plan), parse_sheets(Package.read(plan))
    assert list(before.parts) == list(after.parts)
    parts = set(after.sheets().values()) | set(comparing(Book(before)))
    assert {name for name in after.parts if after.parts[name] != before.parts[name]} <= parts
    for sheet, xml in old.items():
        for ref, cell in xml.cells.items():
            twin = new[sheet].cells[ref]
            is_new = coordinates(ref)[1] == NEW
            assert is_new or twin.formula == cell.formula
            assert is_new or cell.kind or twin.value == cell.value


def test_what_is_typed_over_is_not_copied(plan: Path) -> None:
    """Overrides stay behind, a formula that was overtyped or changed comes as its row says, and each is named."""

    def change(book: openpyxl.Workbook) -> None:
        sheet = book["Serve"]
        sheet.cell(row_of(book, "Serve", "kv_time"), 6).value = 9.5
        sheet.cell(row_of(book, "Serve", "param_time"), 6).value = "=1/4"

    edit(plan, change)
    done = add(plan, "mine")
    assert "hbm_bandwidth is not overridden as it is in llama3_8b_on_tpu_v5e" in done.output
    after = read_plan(plan)
    assert after.value("kv_time", "llama3_8b_on_tpu_v5e") == 9.5
    assert after.value("hbm_bandwidth", "mine") == catalog.load_hardware().row("tpu-v5e")["hbm_bandwidth"]
    for name in ("kv_time", "param_time"):
        row = next(row for row in after.tables["Serve"] if row.name == name)
        assert row.cells["mine"].formula not in (None, "1/4")
        assert isinstance(row.value("mine"), float)
        assert row.value("mine") != row.value("llama3_8b_on_tpu_v5e")


def test_without_a_name_it_is_called_after_its_model_and_chip(plan: Path) -> None:
    """So is its id; a sheet isn't added for it, and no copy of the file is kept."""
    done = add(plan, "-H", "tpu-v6e")
    assert "like llama3_8b_on_tpu_v5e" in done.output
    new = read_plan(plan).scenarios[-1]
    assert (new.id, new.name) == ("llama3_8b_on_tpu_v6e", "llama3-8b on tpu-v6e")
    assert [file.name for file in plan.parent.iterdir()] == ["plan.xlsx"]


def test_overrides_come_along_where_that_is_asked(plan: Path) -> None:
    """--keep-overrides copies them."""
    add(plan, "mine", "--keep-overrides")
    assert read_plan(plan).value("hbm_bandwidth", "mine") == 7e11


@pytest.mark.slow
def test_it_is_chosen_like_any_other(plan: Path) -> None:
    """Roofline follows the selector to the new scenario."""
    write_small(plan, ["llama3-8b"], ["tpu-v5e"], ["inference"])
    add(plan, "mine", "-m", "llama3-70b")

    def change(book: openpyxl.Workbook) -> None:
        sheet = book["Dashboard"]
        row = row_of(book, "Dashboard", "shown_scenario")
        sheet.cell(row, 4).value = "mine"

    before = read_plan(plan).at("Roofline", 4, 2)
    edit(plan, change)
    after = read_plan(plan).at("Roofline", 4, 2)
    assert (before, after) == ("llama3_8b_on_tpu_v5e", "mine")


def test_a_model_is_meant_however_its_id_is_written(plan: Path) -> None:
    """Case and punctuation of a model's and a chip's id don't count, as in every other command."""
    done = add(plan, "mine", "-m", "Llama3 8B", "-H", "TPU v5e", "--set", "kv_dtype=BF16")
    assert done.exit_code == 0, done.stderr
    assert [(each.model, each.hardware) for each in read_plan(plan).scenarios] == [("llama3-8b", "tpu-v5e")] * 2


@pytest.mark.slow
def test_a_second_one_is_like_the_scenario_that_is_named(plan: Path) -> None:
    """--like takes an id or a name, whatever its capitals."""
    add(plan, "First one", "--set", "batch=64")
    done = add(plan, "second", "--like", "LLAMA3_8B_on_tpu_v5e")
    assert "like llama3_8b_on_tpu_v5e" in done.output
    after = read_plan(plan)
    assert [after.value("batch", each.key) for each in after.scenarios] == [8, 64, 8]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mine", "-m", "llama3-80b"], "no 'llama3-80b' on the sheet Models of this workbook; did you mean"),
        (["mine", "-m", "DeepSeek V3"], "planner has deepseek-v3: planner update "),
        (["mine", "-H", "tpu-v5x"], "no 'tpu-v5x' on the sheet Hardware of this workbook; did you mean"),
        (["mine", "--set", "bacth=4"], "Inputs has no row 'bacth' to type into; did you mean batch?"),
        (["mine", "--set", "batch=-4"], "batch=-4: a number above 0 is wanted"),
        (["mine", "--set", "batch=four"], "batch=four: 'four' is no number"),
        (["mine", "--set", "kv_dtype=int9"], "no 'int9' on the sheet Dtypes"),
        (["mine", "--set", "kv_time=1"], "kv_time is calculated: build with --set kv_time=..."),
        (["mine", "--like", "yours"], "no scenario 'yours'; known: llama3_8b_on_tpu_v5e"),
        (["LLAMA3-8B on TPU-v5e"], "there is a scenario 'llama3_8b_on_tpu_v5e' already; give another name"),
        (["?!"], "'?!' is no name for a scenario"),
        (["two\nlines"], r"'two\nlines' is no name for a scenario: it holds control characters; delete them"),
    ],
)
def test_wrong_words(plan: Path, built: bytes, words: list[str], says: str) -> None:
    """What can't be is one line, exit code 2, and the file as it was."""
    assert says in refusal(add(plan, *words))
    assert plan.read_bytes() == built
    assert [file.name for file in plan.parent.iterdir()] == ["plan.xlsx"]


def test_memory_kept_free_beyond_the_chips_is_refused(tmp_path: Path) -> None:
    """In the words of calc, whichever chip of the workbook is meant; what leaves something is taken."""
    own, path = tmp_path / "serve.csv", tmp_path / "plan.xlsx"
    template = SERVE.replace("per_chip<=hbm_bytes,", "per_chip<=hbm_bytes-hbm_reserve_bytes,")
    own.write_text(template.replace("batch,", "hbm_reserve_bytes,Kept free,byte/chip,input,0,,\nbatch,", 1))
    few = few_rows(MODELS, CHIPS)
    path.write_bytes(build_small(plan_of(["llama3-8b"], ["tpu-v5e"], [str(own)], None, ["n_chips=4"], few)))
    with untouched(path):
        done = add(path, "mine", "--set", "hbm_reserve_bytes=200e9")
        says = "nothing is left of hbm_bytes, which is 17,179,869,184; type less"
        assert (done.exit_code, done.stderr.count(says)) == (2, 1)
    assert add(path, "mine", "--set", "hbm_reserve_bytes=2e9").exit_code == 0


def test_a_column_that_is_taken_is_refused(plan: Path) -> None:
    """A person's column right of the scenarios is not written over: the cell in the way is named."""

    def change(book: openpyxl.Workbook) -> None:
        book["Checks"].cell(20, NEW).value = "my remark"

    edit(plan, change)
    before = plan.read_bytes()
    done = add(plan, "mine")
    assert "Checks!G20 stands where the next scenario would; insert a column before G on Checks" in done.stderr
    assert plan.read_bytes() == before


def test_no_spare_column_is_said(plan: Path) -> None:
    """Where the ranges over all scenarios end, no scenario is added that they would leave out."""
    package = Package.read(plan)
    for part in package.sheets().values():
        package.parts[part] = package.parts[part].replace(b"$AD$", b"$G$")
    package.write(plan)
    assert add(plan, "the last that fits").exit_code == 0
    with untouched(plan):
        done = add(plan, "one too many")
        assert "no spare column is left: the ranges over all scenarios end at Inputs!G" in done.stderr


@needs_libreoffice
@pytest.mark.slow
def test_another_engine_computes_the_same(plan: Path, tmp_path: Path) -> None:
    """LibreOffice computes the new column to what the file says."""
    add(plan, "mine", "-m", "llama3-70b", "-H", "tpu-v6e", "--set", "batch=3")
    theirs = recalculated(plan, tmp_path)
    wrong = [
        f"{name}!{ref}" for name, sheet in parse_sheets(Package.read(plan)).items() for ref, cell in sheet.cells.items()
        if cell.kind and isinstance(cell.value, float) and not agree(theirs[name].get(ref), cell.value)
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize(
    ("columns", "then"),
    [
        (b'<col min="6" max="6" width="24"/>', b'<col min="6" max="6" width="24"/><col min="7" max="7" width="24"/>'),
        (
            b'<col min="6" max="6" width="24" collapsed="1"/>',
            b'<col min="6" max="6" width="24" collapsed="1"/><col min="7" max="7" width="24"/>',
        ),
        (b'<col min="5" max="9" width="24"/>', b'<col min="5" max="9" width="24"/>'),
        (
            b'<col min="6" max="6" width="24"/><col min="7" max="64" width="9"/>',
            b'<col min="6" max="6" width="24"/><col min="7" max="7" width="24"/><col min="8" max="64" width="9"/>',
        ),
        (b'<col min="6" max="6" width="24"/><col min="7" max="7" width="9"/>',) * 2,
        (b'<col min="1" max="1" width="24"/>',) * 2,
    ],
)
def test_widths(columns: bytes, then: bytes) -> None:
    """A column without a width of its own is as wide as the other; a run of columns is split. A group ends once."""
    sheet = b"<worksheet><cols>%b</cols><sheetData/></worksheet>"
    assert sheet % then in as_wide(sheet % columns, 6, 7)
