"""Rows that backfill appends: what an analyst's formulas over them say then, and times that can't be true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.compare import comparison_sheet as comparison
from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets, printed
from tests.backfills import backfill, keys, measurement, rows
from tests.test_backfill_reach import more, put, with_table

AT = 60


def with_formulas(parts: dict[str, bytes], texts: list[str], values: list[float]) -> dict[str, bytes]:
    """The workbook with formulas and saved values below its Log."""
    log = "xl/worksheets/" + next(
        name for name in (f"sheet{number}.xml" for number in range(30, 0, -1)) if f"xl/worksheets/{name}" in parts
    )
    rows = "".join(
        f'<row r="{at}"><c r="A{at}"><f>{text}</f><v>{value:g}</v></c></row>'
        for at, (text, value) in enumerate(zip(texts, values, strict=True), start=AT)
    )
    return parts | {log: parts[log].replace(b"</sheetData>", f"{rows}</sheetData>".encode())}


def values_of(path: Path, count: int) -> list[Value]:
    """What the formulas below Log have."""
    cells = list(parse_sheets(Package.read(path)).values())[-1].cells
    return [cells[f"A{at}"].value for at in range(AT, AT + count)]


@pytest.mark.parametrize("new", [1, 3])
def test_a_table_that_grows(built: bytes, tmp_path: Path, new: int) -> None:
    """Its rows, its blank and its filled cells are those of all cases, the new ones included."""
    path = tmp_path / "plan.xlsx"
    texts = ["ROWS(Cases[measured_time])", "COUNTBLANK(Cases[measured_time])", "COUNT(Cases[measured_time])",
             "ROWS(Cases[measured_time])*10+1"]  # fmt: skip
    put(path, with_table(built))
    cases = len(comparison.find(Package.read(path)).rows)
    put(path, with_formulas(with_table(built), texts, [cases, cases, 0, cases * 10 + 1]))
    backfill(path, *(measurement(key) for key in more(path, new)))
    fresh = [cases + new, cases, new, (cases + new) * 10 + 1]
    assert [value in (None, right) for value, right in zip(values_of(path, 4), fresh, strict=True)] == [True] * 4
    assert values_of(path, 4)[2] == new


def test_our_names_that_grow(built: bytes, tmp_path: Path) -> None:
    """A sheet with room for one more case, and three come: its names reach them, and so does what reads the names."""
    path, package = tmp_path / "plan.xlsx", Package.from_bytes(built, "plan.xlsx")
    last = comparison.find(package).rows[-1].number
    parts = dict(package.parts)
    names = re.compile(rb"(<definedName name=\"comparison_[^>]*>[^<]*)\$124<")
    parts["xl/workbook.xml"] = names.sub(rb"\g<1>$%d<" % (last + 1), parts["xl/workbook.xml"])
    texts, size = ["ROWS(comparison_keys)", "COUNTA(comparison_keys)"], last - 4
    put(path, with_formulas(parts, texts, [size, size - 1]))
    backfill(path, *(measurement(key) for key in more(path, 3)))
    assert comparison.find(Package.read(path)).sized_to == last + 3
    assert [value in (None, size + 2) for value in values_of(path, 2)] == [True, True]


def test_new_rows_are_printed(built: bytes, tmp_path: Path) -> None:
    """The cases that come are on the pages of those that were there."""
    path, package = tmp_path / "plan.xlsx", Package.from_bytes(built, "plan.xlsx")
    put(path, dict(package.parts))
    (before,) = printed(package, "Comparison")
    backfill(path, *(measurement(key) for key in more(path, 3)))
    assert printed(Package.read(path), "Comparison") == [before._replace(bottom=before.bottom + 3)]


def test_ranges_over_free_rows(built: bytes, tmp_path: Path) -> None:
    """A range that reaches below the cases, and a whole column, count the new rows."""
    path, package = tmp_path / "plan.xlsx", Package.from_bytes(built, "plan.xlsx")
    found = comparison.find(package)
    time, key, cases = (column_letters(found.columns[name]) for name in ("measured_time", "case_key", "case_key"))
    n_cases = len(found.rows)
    texts = [f"COUNTBLANK(Comparison!{time}6:{time}65)", f"COUNTA(Comparison!{key}6:{key}65)",
             f"ROWS(Comparison!{time}6:{time}65)", f"COUNTA(Comparison!{cases}:{cases})"]  # fmt: skip
    heads = sum(found.xml.cells[f"A{row}"].value is not None for row in range(1, 6) if f"A{row}" in found.xml.cells)
    put(path, with_formulas(dict(package.parts), texts, [60, n_cases, 60, n_cases + heads]))
    backfill(path, *(measurement(key) for key in more(path, 2)))
    assert values_of(path, 4) == [58, n_cases + 2, 60, n_cases + heads + 2]


def test_times_in_another_unit_are_asked_about(plan: Path) -> None:
    """12 us written as 12 lands, in a row that is there and in a new one, and a line asks for its unit; of 0.1 ms not.

    As in check, 100 times what is expected is far enough, and a time whose flags say why it is long isn't asked about.
    """
    old, new = keys(plan)[0], more(plan, 2)
    done = backfill(plan, measurement(old, 12.0), measurement(new[0], 12.0), measurement(new[1], 1e-4))
    assert "2 rows take 100 times what is expected or more, such as " in done.output
    assert "in seconds, of one run?" not in backfill(plan, measurement(old, 1e-4)).output
    assert "in seconds, of one run?" in backfill(plan, measurement(old, 1e-3)).output
    assert "in seconds, of one run?" not in backfill(plan, measurement(old, 1e-3, flags="dispatch_bound")).output


def test_new_rows_above_the_peak_are_flagged(plan: Path) -> None:
    """A time that no chip can reach, in a row that is there and in new ones: flagged, said once, and idempotent."""
    old, new = keys(plan)[0], more(plan, 3)
    measured = [measurement(old, 1e-12), measurement(new[0], 1e-12), measurement(new[1], 1.0),
                measurement(new[2], 1e-12, flags="noisy")]  # fmt: skip
    done = backfill(plan, *measured)
    assert done.output.count("flagged above_peak") == 1
    assert "3 rows are faster than the chip's peak FLOP/s and bandwidth allow" in done.output
    flags = [row.text("flags") for row in rows(plan)]
    assert (flags[0], flags[-3:]) == ("above_peak", ["above_peak", "", "noisy; above_peak"])
    assert "nothing to write" in backfill(plan, *measured).output
