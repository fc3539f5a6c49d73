"""`planner update` of sheets with several tables, each with columns of its own: Operations and Sweep."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.update.outcome import Updated
from planner.update.update import update_file
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from tests.swept_serving import SWEPT
from tests.workbooks import few_rows, sheet_of

pytestmark = pytest.mark.usefixtures("few_cases", "swept_serve")
FEW = few_rows(("llama3-8b",), ("tpu-v5e",))
ROW = next(line for line in SWEPT.splitlines() if line.startswith("kv_time,"))
FORMULA = ROW.split(",")[4]
LATER = (
    f"cache_time,Time of the cache,s,calc,{FORMULA},test,\n{ROW.replace(FORMULA, 'cache_time+cache_time-cache_time')}"
)


def built(path: Path, own: Path, text: str) -> None:
    """The workbook of serving as the template has this text."""
    own.write_text(text, encoding="utf-8")
    path.write_bytes(build(plan_of(("llama3-8b",), ("tpu-v5e",), (str(own),), None, (), FEW)))


def columns(sheet: Worksheet, axis: str) -> tuple[int, dict[str, str]]:
    """The row below the machine names of an axis's table, and the letters of its columns by machine name."""
    head = next(row for row in range(1, sheet.max_row) if sheet.cell(row, 1).value == axis)
    return head + 1, {str(cell.value): get_column_letter(cell.column) for cell in sheet[head] if cell.value}


def drawn(path: Path) -> list[str]:
    """What the charts draw of Sweep."""
    package = Package.read(path)
    found = (
        re.findall(r"f>([^<]*Sweep[^<]*)<", part.decode()) for name, part in package.parts.items() if "charts/" in name
    )
    return sorted(each for some in found for each in some)


@pytest.fixture(name="updated", scope="module")
def fixture_updated(
    tmp_path_factory: pytest.TempPathFactory, few_cases: None, swept_serve: None
) -> tuple[Path, Path, Updated]:
    """A workbook that was worked in when Sweep's tables had a column less, updated, and one built anew."""
    folder = tmp_path_factory.mktemp("tables")
    own, path, fresh = folder / "serve.csv", folder / "plan.xlsx", folder / "fresh.xlsx"
    built(path, own, SWEPT)
    book = openpyxl.load_workbook(path)
    row, names = columns(book["Sweep"], "batch")
    mine = book.create_sheet("Mine")
    mine["A1"], mine["A2"] = (
        f"=Sweep!{names['kv_time']}{row}",
        f"=SUM(Sweep!{names['matmul_time']}{row}:{names['matmul_time']}{row + 3})",
    )
    book["Sweep"][f"{names['matmul_time']}{row}"] = 0.125
    book.save(path)
    built(fresh, own, SWEPT.replace(ROW, LATER))
    done, _ = update_file(path, [str(own)], FEW)
    return path, fresh, done


def test_references_follow_the_columns_of_their_table(updated: tuple[Path, Path, Updated]) -> None:
    """A cell and a range that a person reads are the same quantities, and nothing is said to have moved."""
    path, _, done = updated
    row, names = columns(sheet_of(path, "Sweep"), "batch")
    assert "cache_time" in names
    mine = sheet_of(path, "Mine")
    assert mine["A1"].value == f"=Sweep!{names['kv_time']}{row}"
    assert mine["A2"].value == f"=SUM(Sweep!{names['matmul_time']}{row}:{names['matmul_time']}{row + 3})"
    assert done.remarks == []


def test_what_is_typed_over_a_column_stays_in_it(updated: tuple[Path, Path, Updated]) -> None:
    """A number over a case's formula stands over the formula of the same quantity."""
    path, fresh, done = updated
    sheet, other = sheet_of(path, "Sweep"), sheet_of(fresh, "Sweep")
    row, names = columns(sheet, "batch")
    assert [text.partition(" ")[0] for text in done.typed_over] == [f"Sweep!{names['matmul_time']}{row}"]
    changed = [cell.coordinate for cells in other.iter_rows() for cell in cells
               if sheet[cell.coordinate].value != cell.value]  # fmt: skip
    assert changed == [f"{names['matmul_time']}{row}"]


def test_charts_draw_the_same_quantities(updated: tuple[Path, Path, Updated]) -> None:
    """Those of Dashboard and Sweep draw the columns that a new workbook's draw."""
    path, fresh, _ = updated
    assert drawn(path) == drawn(fresh)
    assert drawn(path)
