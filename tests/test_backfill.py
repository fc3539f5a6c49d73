"""`planner backfill`: rows found by key, columns by header; updated or appended; nothing else; twice is once."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

from planner.compare import comparison_sheet as comparison
from planner.compare.prediction import judge, predict
from planner.xlsx.address import address
from planner.xlsx.cellvalue import CellError
from planner.xlsx.opc import Package
from tests.backfills import backfill, changed, keys, measurement, rows, typed_into
from tests.commands import refusal, run, untouched
from tests.workbooks import sheet_of

MATMUL = "matmul|activation_dtype=bf16,compute_dtype=bf16,output_dtype=bf16,weight_dtype=bf16|d_in={0},d_out={0},epilogue_passes=0,n_chips=1,n_matmuls=1,tokens={0}"  # noqa: E501


def test_known_rows_are_updated_and_nothing_else(plan: Path, built: bytes) -> None:
    """The median stands in its row, its ratio follows, and one part of the file has changed."""
    done = backfill(plan, measurement(keys(plan)[2], 2e-3))
    assert "1 updated, 0 appended" in done.output
    row = rows(plan)[2]
    assert row.number_in("measured_time") == 2e-3
    assert row.number_in("time_ratio") == pytest.approx(2e-3 / row.number_in("predicted_time"), rel=1e-12)  # type: ignore[operator]
    assert changed(built, plan) == {Package.read(plan).sheets()["Comparison"]}


def test_a_key_without_a_newer_input_is_found(plan: Path) -> None:
    """An input that the key lacks has its usual value: a CSV of an earlier planner updates its row, and appends none.

    Another value than the usual one is another case.
    """
    template, dtypes, sizes = keys(plan)[0].split("|")
    fewer = [piece for piece in sizes.split(",") if not piece.startswith("n_chips=")]
    done = backfill(plan, measurement(f"{template}|{dtypes}|{','.join(fewer)}", 2e-3))
    assert "1 updated, 0 appended" in done.output, done.output
    assert rows(plan)[0].number_in("measured_time") == 2e-3
    done = backfill(
        plan, measurement(f"{template}|{dtypes}|{','.join(fewer).replace('n_matmuls=1', 'n_matmuls=3')}", 2e-3)
    )
    assert "0 updated, 1 appended" in done.output, done.output


def test_a_case_under_an_older_key_and_under_its_own_is_one(plan: Path) -> None:
    """Of both in one CSV the later time counts: no row is appended for the other."""
    key = keys(plan)[0]
    done = backfill(plan, measurement(key.replace(",n_chips=1", ""), 3e-3), measurement(key, 2e-3))
    assert "1 updated, 0 appended, 0 unchanged, 1 skipped" in done.output, done.output
    assert rows(plan)[0].number_in("measured_time") == 2e-3


def test_a_key_is_found_in_another_order(plan: Path) -> None:
    """Inputs in another order, and numbers typed otherwise, are the same case: its row is updated, none appended."""
    template, dtypes, sizes = keys(plan)[0].split("|")
    turned = ",".join([f"{piece}.0" for piece in reversed(sizes.split(","))] + list(reversed(dtypes.split(","))))
    done = backfill(plan, measurement(f"{template}|{turned}", 2e-3))
    assert "1 updated, 0 appended" in done.output, done.output
    assert rows(plan)[0].number_in("measured_time") == 2e-3


def test_a_second_run_changes_no_byte(plan: Path) -> None:
    """Rows that were updated and rows that were appended are found again."""
    measured = [measurement(keys(plan)[0]), measurement(MATMUL.format(768))]
    backfill(plan, *measured)
    before, modified = plan.read_bytes(), plan.stat().st_mtime_ns
    assert "2 unchanged, 0 skipped; nothing to write" in backfill(plan, *measured).output
    assert (plan.read_bytes(), plan.stat().st_mtime_ns) == (before, modified)


def test_a_csv_of_times_alone_erases_nothing(plan: Path) -> None:
    """The same time again, without its run, device and date, leaves what the row says of them; another time doesn't."""
    full = measurement(keys(plan)[0])
    alone = dict.fromkeys(("run_id", "timestamp", "hardware_id", "device_kind", "jax"), "")
    assert backfill(plan, full).exit_code == 0
    with untouched(plan):
        done = backfill(plan, measurement(full.case_key, **alone))
        assert "1 unchanged" in done.output
    assert backfill(plan, measurement(full.case_key, 2e-3, **{**alone, "hardware_id": full.hardware_id})).exit_code == 0
    assert rows(plan)[0].text("run_id") == ""


def test_an_unknown_case_is_appended_with_moved_formulas(plan: Path) -> None:
    """The new row predicts as the array functions do, in the format of the row it was copied from."""
    key, count = MATMUL.format(768), len(rows(plan))
    said = backfill(plan, measurement(key, 5e-5)).output
    assert "appended Matmul 1 x 768 x 768 x 768 bf16 (matmul|activation_dtype=bf16,compute_...)" in said
    *_, row = rows(plan)
    assert row.number == rows(plan)[count - 1].number + 1
    results = predict("matmul", row.inputs, "tpu-v5e")
    for name in ("flops", "memory_bytes", "lower_bound_time", "critical_tokens"):
        assert row.number_in(name) == pytest.approx(results.value(name), rel=1e-12)
    assert row.number_in("mfu") == pytest.approx(judge(results, 5e-5)["mfu"], rel=1e-12)
    book = sheet_of(plan, "Comparison")
    column = comparison.find(Package.read(plan)).columns["measured_time"]
    assert book.cell(row.number, column).number_format == book.cell(6, column).number_format


def test_a_new_row_is_below_an_array_of_a_person(plan: Path) -> None:
    """The rows that an array formula fills are no room for a case, also where the file has none of their cells."""
    package = Package.read(plan)
    part, below = package.sheets()["Comparison"], max(row.number for row in rows(plan)) + 1
    array = f'<row r="{below}"><c r="B{below}"><f t="array" ref="B{below}:B{below + 2}">B6:B8</f></c></row>'
    package.replace(part, package.parts[part].replace(b"</sheetData>", f"{array}</sheetData>".encode()))
    package.write(plan)
    assert "1 appended" in backfill(plan, measurement(MATMUL.format(768))).output
    assert rows(plan)[-1].number == below + 3


def test_a_template_without_a_row_is_appended_as_values(plan: Path) -> None:
    """There is no formula to copy: the prediction is typed, and the note says so."""
    package = Package.read(plan)
    sheet = comparison.find(package)
    mlp = next(row for row in sheet.rows if row.text("template") == "mlp")
    package.replace(sheet.part, typed_into(sheet, mlp.number, template="matmul"))
    package.write(plan)
    backfill(plan, measurement("mlp|activation_dtype=bf16|d_ff=64,d_model=32,tokens=16", 1e-6))
    *_, row = rows(plan)
    assert row.text("note").startswith("values only")
    assert row.number_in("flops") == 2 * 16 * 32 * 3 * 64
    assert row.number_in("measured_time") == 1e-6


def test_another_chip_and_other_flags_are_other_rows(plan: Path) -> None:
    """A case of this workbook measured on a chip that no row has, and under flags: side by side."""
    key = keys(plan)[1]
    backfill(plan, measurement(key), measurement(key, hardware_id="tpu-v6e"), measurement(key, xla_flags="--a=1"))
    found = [row for row in rows(plan) if key in row.keys]
    assert [row.text("hardware_id") for row in found] == ["tpu-v5e", "tpu-v6e", "tpu-v5e"]
    assert [row.text("compiler_flags") for row in found] == ["", "", "--a=1"]


def test_the_later_of_two_counts(plan: Path) -> None:
    """The earlier one is reported."""
    key = keys(plan)[0]
    late = measurement(key, 3e-3, timestamp="2026-05-02T00:00:00+00:00")
    done = backfill(plan, late, measurement(key, 1e-3))
    assert "measured again at 2026-05-02" in done.output
    assert rows(plan)[0].number_in("measured_time") == 3e-3


def test_the_later_of_two_time_zones_counts(plan: Path) -> None:
    """10:00 in Berlin is before 09:30 in London."""
    key = keys(plan)[0]
    early = measurement(key, 1e-3, timestamp="2026-05-02T10:00:00+02:00")
    backfill(plan, early, measurement(key, 3e-3, timestamp="2026-05-02T09:30:00+00:00"))
    assert rows(plan)[0].number_in("measured_time") == 3e-3


def test_a_group_that_no_number_says(plan: Path) -> None:
    """A key whose group is too large for any number is told, and nothing is lost."""
    key = keys(plan)[0]
    for sizes in ("axis_size=1000,n_axes=200", "axis_size=-2,n_axes=0.5", "axis_size=0,n_axes=-1"):
        done = backfill(plan, measurement(f"collective|collective=all_gather|array_bytes=4096,{sizes}", 1e-3))
        assert "Traceback" not in done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
    backfill(plan, measurement(key, 3e-3))
    assert rows(plan)[0].number_in("measured_time") == 3e-3


def test_what_was_not_measured_is_reported(plan: Path) -> None:
    """Its row says why, and where it has no row none is made."""
    skipped = {"status": "skipped", "reason": "too large"}
    done = backfill(plan, *(measurement(key, float("nan"), **skipped) for key in (keys(plan)[0], MATMUL.format(9))))
    assert done.output.count("skipped: too large") == 2
    assert "0 updated, 0 appended, 0 unchanged, 2 skipped; " in done.output
    assert rows(plan)[0].text("flags") == "skipped: too large"
    assert len(rows(plan)) == len(keys(plan))
    again = backfill(plan, measurement(keys(plan)[0], float("nan"), **skipped))
    assert "0 updated, 0 appended, 0 unchanged, 1 skipped; nothing to write" in again.output


def test_moved_and_renamed_columns_and_rows_are_found(plan: Path) -> None:
    """Heads overwritten, in one row or in both, a row put above them, and the sheet renamed without its marker."""
    book = openpyxl.load_workbook(plan)
    sheet = book["Comparison"]
    columns = comparison.find(Package.read(plan)).columns
    key = keys(plan)[0]
    sheet.cell(5, columns["measured_time"]).value = "Our best"
    sheet.cell(5, columns["n_samples"]).value = "count"
    sheet.cell(4, columns["n_samples"]).value = "how many"
    book.save(plan)
    assert comparison.find(Package.read(plan)).columns["n_samples"] == columns["n_samples"]
    sheet.insert_rows(3)
    sheet.title = "Vergleich"
    book.save(plan)
    assert "1 updated" in backfill(plan, measurement(key, 4e-3)).output
    found = next(row for row in rows(plan) if key in row.keys)
    assert found.number == 7
    assert found.number_in("measured_time") == 4e-3


def test_a_copied_row_is_found_by_its_inputs(plan: Path) -> None:
    """An analyst copied a row, changed its inputs and left the key: the inputs count."""
    package = Package.read(plan)
    sheet = comparison.find(package)
    row = sheet.rows[1]
    package.replace(sheet.part, typed_into(sheet, row.number, tokens=640, d_in=640, d_out=640))
    package.write(plan)
    assert "1 updated" in backfill(plan, measurement(MATMUL.format(640))).output
    assert rows(plan)[1].number_in("measured_time") == 1e-3


def test_a_text_for_a_number_is_told_by_its_cell(plan: Path) -> None:
    """`1,024` among a row's inputs and `1 ms` as its time: its key finds the row, check and fit name the cells."""
    package = Package.read(plan)
    sheet = comparison.find(package)
    first, second = (row.number for row in sheet.rows[:2])
    package.replace(sheet.part, typed_into(sheet, first, tokens="1,024"))
    package.write(plan)
    sheet = comparison.find(package)
    package.replace(sheet.part, typed_into(sheet, second, measured_time="1 ms "))
    package.write(plan)
    assert "1 updated, 0 appended" in backfill(plan, measurement(keys(plan)[0])).output
    said = " ".join(run("check", plan).output.split())
    for name, number, text in (("tokens", first, "'1,024'"), ("measured_time", second, "'1 ms', with a blank")):
        assert f"Comparison!{address(number, sheet.columns[name])}: the text {text}" in said
    refused = run("fit", plan).output
    assert "none of 2 runs can be fitted to" in refused
    assert "tokens is the text '1,024', not a number" in refused


def test_a_formula_is_not_overwritten(plan: Path) -> None:
    """A measured time that an analyst computes stays, and the report says so."""
    book = openpyxl.load_workbook(plan)
    book["Comparison"].cell(6, comparison.find(Package.read(plan)).columns["measured_time"]).value = "=1/1000"
    book.save(plan)
    done = backfill(plan, measurement(keys(plan)[0]))
    assert "row 6 of Comparison holds a formula" in done.output
    assert "nothing to write" in done.output


CONSISTENT = {"flops": 1e6, "achieved_flops": 1e9, "t_min": 0.9e-3, "t_p90": 1.1e-3, "t_device": 1e-3}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t_median": 1e3, **CONSISTENT}, "is not the time by profiler, 0.001"),
        ({"t_median": 1e3, "t_p90": 1.1e-3}, "is not between t_min and t_p90"),
        ({"t_median": 1.0, "flops": 1e6, "achieved_flops": 1e9}, "column achieved_flops: 1e+09 is not the work over"),
        ({"t_median": -1.0}, "it needs a time above 0"),
        ({"case_key": ""}, "the key is empty"),
        ({"case_key": "matmull|tokens=8"}, "did you mean matmul"),
        ({"case_key": "matmul|toknes=8"}, "did you mean tokens"),
        ({"case_key": "whatever"}, "has the key 'whatever'"),
        ({"case_key": "matmul|tokens=5"}, "has the key 'matmul|tokens=5', which lacks d_in, d_out; write the"),
        ({"template": "matmul", "inputs": '{"tokens": 8}'}, "it would be matmul|tokens=8"),
    ],
)
def test_wrong_units_and_keys_are_refused(plan: Path, built: bytes, columns: dict[str, object], message: str) -> None:
    """One line that says what is wrong, and the workbook as it was."""
    given = {"case_key": keys(plan)[0], "t_median": 1e-3} | columns
    said = refusal(backfill(plan, measurement(str(given.pop("case_key")), float(given.pop("t_median")), **given)))  # type: ignore[arg-type]
    assert message in re.sub(r"\s+", " ", said)
    assert plan.read_bytes() == built


def test_consistent_numbers_pass(plan: Path) -> None:
    """The guards on units let a row of measure's own through."""
    assert "1 updated" in backfill(plan, measurement(keys(plan)[0], **CONSISTENT)).output  # type: ignore[arg-type]


def test_dependents_elsewhere_follow(plan: Path) -> None:
    """A sheet of the analyst's that reads the ratio has a fresh value."""
    book = openpyxl.load_workbook(plan)
    ratio = comparison.find(Package.read(plan)).columns["time_ratio"]
    letter = openpyxl.utils.get_column_letter(ratio)
    book.create_sheet("Mine")["A1"] = f"=2*Comparison!{letter}6"
    book.save(plan)
    backfill(plan, measurement(keys(plan)[0]))
    package = Package.read(plan)
    from planner.xlsx.workbook_part import parse_sheets

    value = parse_sheets(package)["Mine"].cells["A1"].value
    assert not isinstance(value, CellError)
    assert value == pytest.approx(2 * rows(plan)[0].number_in("time_ratio"), rel=1e-12)  # type: ignore[operator]


def test_rows_of_values_are_predicted_each_and_again_with_a_new_time(plan: Path) -> None:
    """A second case of a template without formulas is predicted too, and a new time has its own ratio and bandwidth."""
    key = "collective|array_bytes={0},axis_size=4,collective=all_gather"
    backfill(plan, measurement(key.format(4096), 2e-5))
    backfill(plan, measurement(key.format(8192), 3e-5), measurement(key.format(4096), 4e-5))
    *_, first, second = rows(plan)
    for row, size, seconds in ((first, 4096, 4e-5), (second, 8192, 3e-5)):
        assert row.text("note").startswith("values only")
        assert row.number_in("measured_time") == seconds
        assert row.number_in("time_ratio") == pytest.approx(seconds / (row.number_in("predicted_time") or 0.0))
        assert row.number_in("achieved_bus_bandwidth") == pytest.approx(size * 3 / 4 / seconds)
    with untouched(plan):
        backfill(plan, measurement(key.format(4096), 4e-5))
