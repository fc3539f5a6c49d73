"""`planner update` of a workbook built with a person's own tables: shipped rows and theirs are reached alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import openpyxl
import pytest
from openpyxl.utils import get_column_letter

from planner import catalog, data
from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.catalog import calibrations
from planner.catalog.columns import Column
from planner.catalog.databases import Databases
from planner.check.run import check
from planner.update.outcome import Updated, lines
from planner.update.update import update_file
from planner.xlsx.address import Area
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command, run
from tests.workbooks import by_name, cached, edit, few_rows, sheet_of, write_small

pytestmark = pytest.mark.usefixtures("short_data", "few_cases")
MODELS = """id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source
tiny,2,256,1024,4,2,64,32000,true,true,Our own sketch
"""
CHIPS = """id,name,kind,peak_bf16,hbm_bytes,hbm_bandwidth,price_per_chip_hour,source_flops,source_hbm,source_price
next,Next year's chip,gpu,4e15,288e9,12e12,6,Press release,Press release,A guess
"""

PLACES = "model_row", "hardware_row"  # where a row stands among the others, which may be another


@dataclass
class Brought:
    """A workbook of `tiny` on `next` that nobody has touched, and what its update says."""

    path: Path
    before: Plan
    done: Updated


def brought(folder: Path, models: str, chips: str, template: str = "inference") -> Brought:
    """The workbook of a template, built with these tables and updated without them."""
    models_csv, chips_csv, path = folder / "mine.csv", folder / "chips.csv", folder / "small.xlsx"
    models_csv.write_text(models)
    chips_csv.write_text(chips)
    words = ["build", "tiny", "-H", "next", "--models", str(models_csv), "--hardware-csv", str(chips_csv),
             "--template", template, "-o", str(path)]  # fmt: skip
    command(*words)
    before = read_plan(path)
    done, _ = update_file(path)
    return Brought(path, before, done)


def before_ours(own: str, shipped: Path) -> str:
    """A person's row of `own` above those of the shipped table, under its columns."""
    header, row = (line.split(",") for line in own.splitlines())
    titles, *rows = shipped.read_text(encoding="utf-8").splitlines()
    mine = dict(zip(header, row, strict=True))
    return "\n".join([titles, ",".join(mine.get(title, "") for title in titles.split(",")), *rows, ""])


@pytest.fixture(
    scope="module", params=["their rows alone", pytest.param("their row above ours", marks=pytest.mark.slow)]
)
def workbook(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, short_data: None, few_cases: None
) -> Brought:
    """One built with tables of a person's rows alone, or with theirs above a copy of ours."""
    folder = tmp_path_factory.mktemp("own")
    if request.param == "their rows alone":
        return brought(folder, MODELS, CHIPS)
    return brought(folder, before_ours(MODELS, data.folder("model_db") / "models.csv"),
                   before_ours(CHIPS, data.folder("hardware_db") / "accelerators.csv"))  # fmt: skip


def test_nothing_is_taken_for_a_persons_change(workbook: Brought) -> None:
    """No formula, text or rule of an untouched workbook is said to be a person's, and `check` finds nothing.

    The person's rows are named as such, and their cells not counted again.
    """
    kept = workbook.done
    assert kept.own_cells == 0
    assert (kept.formulas, kept.typed_over, kept.texts, workbook.done.rules) == ([], [], [], 0)
    assert check(Package.read(workbook.path)).of("fault") == []


def test_every_row_is_in_the_dropdowns(workbook: Brought) -> None:
    """The lists of models and chips on Inputs begin at the first id and end below the last."""
    package = Package.read(workbook.path)
    inputs, grid = package.parts[package.sheets()["Inputs"]].decode(), cached(workbook.path)
    lists = set(re.findall(r'<dataValidation [^>]*type="list"[^>]*>\s*<formula1>([^<]*)<', inputs))
    for sheet in ("Models", "Hardware"):
        areas = [Area.parse(text.partition("!")[2].replace("$", "")) for text in lists if text.startswith(f"{sheet}!")]
        ids = [row for row in range(6, 400) if grid[sheet].get(f"A{row}")]
        assert areas
        assert all(area.top == ids[0] and area.bottom > ids[-1] for area in areas), sheet


def test_a_shipped_model_and_chip_can_be_chosen(workbook: Brought, tmp_path: Path) -> None:
    """The person's own scenario computes as before; with shipped ids typed there is no error that a build hasn't."""
    after = read_plan(workbook.path)
    key = after.scenarios[0].key
    for sheet, rows in workbook.before.tables.items():
        now = {row.name: row.value(key) for row in after.tables[sheet] if row.name not in PLACES}
        assert {row.name: row.value(key) for row in rows if row.name not in PLACES} == now
    chosen, fresh = tmp_path / "chosen.xlsx", tmp_path / "fresh.xlsx"
    package = Package.read(workbook.path)
    inputs, rows = parse_sheets(package)["Inputs"], by_name(cached(workbook.path), "Inputs")
    ids = {f"F{rows['model_id']}": "llama3-8b", f"F{rows['hardware_id']}": "tpu-v5e"}
    package.replace(package.sheets()["Inputs"], with_values(inputs, ids))
    package.write(chosen)
    words = ["build", "llama3-8b", "-H", "tpu-v5e", "--template", "inference", "-o", str(fresh)]
    assert run(*words).exit_code == 0
    mine, theirs = read_plan(chosen), read_plan(fresh)
    other = theirs.scenarios[0].key
    for sheet, rows in theirs.tables.items():
        wanted = {row.name: str(row.value(other)) for row in rows if row.name not in PLACES}
        now = {row.name: str(row.value(key)) for row in mine.tables[sheet] if row.name not in PLACES}
        assert now == wanted
    read = set(mine.book.case_sheets) & {"Operations", "Roofline"}
    errors = {
        spot
        for spot, value in mine.book.fresh.items()
        if spot.sheet in read and "N/A" in str(value) and str(theirs.book.fresh.get(spot)) != str(value)
    }
    assert not errors


def test_a_number_for_a_blank_is_named(tmp_path: Path) -> None:
    """A cell that was blank and has a number in the tables of today is told with both, and is a reason to update."""
    path, chips = tmp_path / "small.xlsx", tmp_path / "chips.csv"
    chips.write_text(CHIPS)
    words = ["build", "-H", "next", "--hardware-csv", str(chips), "--template", "matmul", "-o", str(path)]
    assert run(*words).exit_code == 0
    assert not update_file(path, (), Databases(hardware_csv=chips))[0].is_needed
    chips.write_text(CHIPS.replace("kind,", "kind,tdp_watts,").replace(",gpu,", ",gpu,900,"))
    done, _ = update_file(path, (), Databases(hardware_csv=chips))
    assert done.is_needed
    assert done.numbers == ["Hardware: next tdp_watts blank is now 900"]


def test_a_column_that_planner_has_no_more_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter that a newer planner dropped is no column of a person's, whose own beside the table stays."""
    path, own = tmp_path / "small.xlsx", tmp_path / "own.csv"
    own.write_text("calibration,parameter,value\nh100,gemm_efficiency,0.8\n")
    with monkeypatch.context() as older:
        older.setattr(calibrations, "SHOWN", (Column("old_factor", "1", "A factor of old"), *calibrations.SHOWN))
        words = ["build", "-H", "h100-sxm", "--template", "matmul", "--calibrations", str(own), "-o", str(path)]
        assert run(*words).exit_code == 0
    sheet = sheet_of(path, "Calibration")
    (title,) = (cell for row in sheet.iter_rows() for cell in row if cell.value == "A factor of old")
    beside = sheet.max_column + 1

    def add(book: openpyxl.Workbook) -> None:
        for row, value in ((title.row, "Our factor"), (title.row + 3, 2)):
            book["Calibration"].cell(row, beside).value = value

    edit(path, add)
    done, _ = update_file(path)
    assert done.own_columns == [f"Calibration!{get_column_letter(beside - 1)}"]
    assert sheet_of(path, "Calibration").cell(title.row, beside - 1).value == "Our factor"
    titles = {cell.value for cell in sheet_of(path, "Calibration")[title.row]}
    assert "A factor of old" not in titles


def test_columns_that_a_stack_of_ones_own_lacks_are_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fitted stack and its calibration have what a CSV's blank means in the columns that a newer planner has more.

    Left blank, they made the expected times of their plans N/A.
    """
    path, own = tmp_path / "small.xlsx", tmp_path / "own.csv"
    lines_of = "mine,gemm_efficiency,0.8", "mine,train_matmul_factor,1.1", "tpu-own,gemm_efficiency,0.7"
    own.write_text("\n".join(("calibration,parameter,value", *lines_of)))

    def without(columns: Sequence[Column], name: str) -> tuple[Column, ...]:
        return tuple(each for each in columns if each.name != name)

    usual = catalog.load_stacks
    with monkeypatch.context() as older:
        older.setattr(calibrations, "SHOWN", without(calibrations.SHOWN, "hbm_efficiency"))
        older.setattr(catalog, "load_stacks", lambda *csv: replace(
            usual(*csv), columns=without(usual(*csv).columns, "train_range_factor")))  # fmt: skip
        words = ["build", "-H", "h100-sxm", "--template", "matmul", "--calibrations", str(own), "-o", str(path)]
        assert run(*words).exit_code == 0
    done, _ = update_file(path)
    shipped = calibrations.load_calibrations().rows
    assert [text for text in done.numbers if "Stacks: mine " in text] == [
        "Stacks: mine train_range_factor blank is now 1"
    ]
    for name, kind in (("mine", "gpu"), ("tpu-own", "tpu")):
        told = f"Calibration: {name} hbm_efficiency blank is now {shipped[kind]['hbm_efficiency']:g}"
        assert told in done.numbers
    assert not update_file(path)[0].is_needed


def test_a_file_that_is_given_again_counts(tmp_path: Path) -> None:
    """Rows of a CSV that an update without it kept are those of the CSV that is given now, as of a new fit.

    A row that a person typed, and which no CSV has, stays.
    """
    path, own = tmp_path / "small.xlsx", tmp_path / "own.csv"
    head, factor = "calibration,parameter,value\n", "mine,train_matmul_factor,1.1\n"
    own.write_text(f"{head}mine,gemm_efficiency,0.8\n{factor}")
    words = ["build", "-H", "h100-sxm", "--template", "matmul", "--calibrations", str(own), "-o", str(path)]
    assert run(*words).exit_code == 0
    assert "Calibration row 6" in update_file(path)[0].own_rows
    own.write_text(f"{head}mine,gemm_efficiency,0.7\n{factor.replace('1.1', '1.2')}")
    last = sheet_of(path, "Stacks").max_row + 1
    edit(path, lambda book: setattr(book["Stacks"].cell(last, 1), "value", "typed"))
    done, _ = update_file(path, databases=Databases(calibrations_csv=own))
    assert (done.typed_over, done.texts, done.own_rows) == ([], [], [f"Stacks row {last}"])
    assert not [text for text in done.typed if not text.startswith(("Inputs", "Comparison"))]
    assert "Calibration: mine gemm_efficiency 0.8 is now 0.7" in done.numbers
    assert "Stacks: mine train_matmul_factor 1.1 is now 1.2" in done.numbers
    assert not update_file(path, databases=Databases(calibrations_csv=own))[0].is_needed


def test_a_row_that_repeats_an_id_is_told(tmp_path: Path) -> None:
    """A copied row whose id was left, whatever its capitals, is kept and told with the row that counts, both where they
    are after the update.
    """
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    sheet = sheet_of(path, "Hardware")
    copied = [cell.value for cell in next(sheet.iter_rows(min_row=6, max_row=6))]
    copied[0] = str(copied[0]).upper()
    last = max(row for row in range(1, sheet.max_row + 1) if sheet.cell(row, 1).value)

    def copy(book: openpyxl.Workbook) -> None:
        for column, value in enumerate(copied, 1):
            book["Hardware"].cell(last + 1, column).value = value

    edit(path, copy)
    chips = [str(sheet.cell(row, 1).value) for row in range(6, last + 1)]
    done, _ = update_file(path, [], few_rows(("llama3-8b",), (*chips, "b200")))
    now = {str(cells[0].value): cells[0].row for cells in sheet_of(path, "Hardware").iter_rows(min_row=6)}
    first, second = (now[name] for name in (chips[0], copied[0]))
    assert f"Kept, but the row with the same id counts: Hardware row {second} ({copied[0]} of row {first})" in lines(
        done
    )


def test_numbers_of_a_database_are_counted_beyond_a_few() -> None:
    """An update after a new fit has hundreds: those of one sheet are told together, whatever stands in their texts."""
    numbers = [
        "Calibration: h100 source prior: 2 is now 3!",
        *(f"Calibration: h100 n{at} 1 is now 2" for at in range(9)),
    ]
    said = lines(Updated(numbers=numbers), 2)
    assert "Newer numbers: Calibration h100 source prior: 2 is now 3!, h100 n0 1 is now 2 and 8 more" in said


def test_the_cover_names_the_file_that_is_given_now(tmp_path: Path) -> None:
    """In place of the one of the same table that it was built with, which has no rows left; the other table's stays."""
    made = brought(tmp_path, MODELS, CHIPS, "transformer")
    newer = tmp_path / "newer.csv"
    newer.write_text(CHIPS.replace("next,", "later,"))
    done, _ = update_file(made.path, databases=Databases(hardware_csv=newer))
    cover = read_plan(made.path).book.designed["Cover"]
    names = [cover.text(row, 1) for row, column in sorted(cover.cells) if column == 1]
    assert {"mine.csv", "newer.csv", "chips.csv"} & set(names) == {"mine.csv", "newer.csv"}
    assert [text.partition(",")[0] for text in done.remarks if "made from" in text] == [
        "It was also made from mine.csv"
    ]


def test_a_file_with_a_shipped_name_stands_beside_the_shipped_one(tmp_path: Path) -> None:
    """A person's models.csv and the shipped one are two lines of the Cover, each with its digest, and an update without
    the person's says that it wasn't given. No text or formula is newer then: what is done of the model is as it was.
    """
    own, path = tmp_path / "models.csv", tmp_path / "plan.xlsx"
    own.write_text(MODELS, encoding="utf-8")
    command("build", "tiny", "-H", "tpu-v5e", "--models", own, "--template", "inference", "-o", path)
    cover = read_plan(path).book.designed["Cover"]
    made_from = {cover.text(row, 1): cover.text(row, 2) for row, column in cover.cells if column == 1}
    assert made_from["your models.csv"] == sha256(own.read_bytes()).hexdigest()
    assert made_from["models.csv"] == catalog.load_models().digests["models.csv"] != made_from["your models.csv"]
    done, _ = update_file(path)
    said = lines(done)
    assert any("It was also made from your models.csv, which you didn't give now" in line for line in said)
    assert not [line for line in said if line.startswith("Newer")]


def test_an_order_of_a_persons_is_told_where_it_is_undone(tmp_path: Path) -> None:
    """Rows of a database that a person sorted are in planner's order after an update, which says so; what reads one of
    them reads it still, and a range that has other rows then is named.
    """
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5p"], ["transformer"])
    book = openpyxl.load_workbook(path)
    sheet, own = book["Hardware"], book.create_sheet("Own")
    rows = [[cell.value for cell in cells] for cells in sheet.iter_rows(min_row=6) if cells[0].value]
    for at, values in enumerate(reversed(rows), start=6):
        for column, value in enumerate(values, start=1):
            sheet.cell(at, column).value = value
    own["A1"], own["A2"] = "=Hardware!A6", "=COUNTA(Hardware!A6:A8)"
    book.save(path)
    ids = [str(values[0]) for values in rows]
    done, _ = update_file(path, [], few_rows(("llama3-8b",), (*ids, "b200")))
    now = [cells[0].value for cells in sheet_of(path, "Hardware").iter_rows(min_row=6) if cells[0].value]
    assert [each for each in now if each in ids] == ids
    assert sheet_of(path, "Own")["A1"].value == f"=Hardware!A{6 + now.index(ids[-1])}"
    assert "the rows of Hardware are in planner's order again: yours was another" in done.remarks
    assert [remark for remark in done.remarks if remark.startswith("Own!A2 reads Hardware!A6:A8")]
    assert not [remark for remark in done.remarks if "the rows of Models" in remark]
