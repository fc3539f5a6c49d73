"""The rows of Cover with verdicts: those of scenarios are open, those of scenarios to come a closed group."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from planner.book.verdict_rows import open_rows
from planner.update.update import update_file
from planner.workbook.wrapping import PER_WIDTH, height_of
from planner.xlsx.moved_cells import row_tags
from planner.xlsx.opc import Package
from tests.commands import command
from tests.workbooks import copy_scenario, edit, few_rows, of_scenarios, sheet_of, write_small

CHIPS = ("tpu-v5e", "tpu-v5p")
Groups = dict[int, tuple[bool, int, bool]]


def groups(path: Path) -> Groups:
    """Of each row of Cover that is in a group or ends one: whether it is hidden, its level, whether one is closed."""
    rows = sheet_of(path, "Cover").row_dimensions
    found = {row: (bool(each.hidden), each.outlineLevel or 0, bool(each.collapsed)) for row, each in rows.items()}
    return {row: each for row, each in found.items() if row < 22 and any(each)}


@pytest.fixture(scope="module")
def one_and_two(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Groups, Groups]:
    """A workbook of one scenario, its groups, and those of a workbook of two."""
    path = write_small(tmp_path_factory.mktemp("built") / "plan.xlsx", ["llama3-8b"], CHIPS, ["transformer"])
    two = groups(path)
    write_small(path, ["llama3-8b"], CHIPS[:1], ["transformer"])
    return path.read_bytes(), groups(path), two


def test_a_row_is_in_the_group_while_no_scenario_has_it(
    one_and_two: tuple[bytes, Groups, Groups], tmp_path: Path
) -> None:
    """After `scenario add` as in a build of two, after `remove` as in one of one: else LibreOffice hides it."""
    content, one, two = one_and_two
    path = tmp_path / "plan.xlsx"
    path.write_bytes(content)
    assert one[6] == (True, 1, False)
    assert 6 not in two
    command("scenario", "add", path, "mine")
    assert groups(path) == two
    command("scenario", "remove", path, "mine")
    assert groups(path) == one


def test_an_update_opens_the_row_of_a_scenario_added_by_hand(
    one_and_two: tuple[bytes, Groups, Groups], tmp_path: Path
) -> None:
    """A column copied as Cover says has its verdict in a closed row, which is something to update, once."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(one_and_two[0])
    copy_scenario(path, 6, 7, {"scenario_id": "mine"})
    databases = few_rows(("llama3-8b",), CHIPS[:1])
    assert update_file(path, databases=databases)[0].is_needed
    assert groups(path) == one_and_two[2]
    assert not update_file(path, databases=databases)[0].is_needed


def test_where_every_row_is_used_none_is_closed(one_and_two: tuple[bytes, Groups, Groups], tmp_path: Path) -> None:
    """And the row below closes none; once one is unused, it is in a closed group again."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(one_and_two[0])
    package = Package.read(path)
    open_rows(package, "Cover", range(5, 13), 8)
    part = package.sheets()["Cover"]
    assert not any(
        b"outlineLevel" in tag or b"collapsed" in tag for row, tag in row_tags(package.parts[part]) if row < 14
    )
    open_rows(package, "Cover", range(5, 13), 7)
    package.write(path)
    assert groups(path) == {12: (True, 1, False), 13: (False, 0, True)}


def test_a_scenario_without_a_row_is_said(one_and_two: tuple[bytes, Groups, Groups], tmp_path: Path) -> None:
    """Where Cover has no row left, adding names the command that gives it more."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(one_and_two[0])

    def use_up(book: openpyxl.Workbook) -> None:
        for row in range(6, 13):
            book["Cover"].cell(row, 1).value = None

    edit(path, use_up)
    said = "Cover has no row left for its verdict: planner update gives it more"
    assert said in command("scenario", "add", path, "mine")


WIDE = """id,model,hardware,n_chips,batch,serve_expert,serve_data,serve_tensor,context_len,prompt_len
fits,llama3-70b,h100-sxm,8,8,,,,,
copies,deepseek-v3,h200-sxm,64,512,64,,,,
grouped,llama3-70b,h100-sxm,4,64,,2,2,,
prompt,llama3-8b,h100-sxm,1,1,,,,4096,8192
"""


def test_no_verdict_is_cut(tmp_path: Path) -> None:
    """With the six headlines of serving, each open column of the verdicts has a width of its own, and each row is high
    enough for all of its texts in lines of that width: what to change first has all of its words.
    """
    models, chips = ("llama3-70b", "deepseek-v3", "llama3-8b"), ("h100-sxm", "h200-sxm")
    of_scenarios(tmp_path, WIDE, ["inference"], few_rows(models, chips))
    (path,) = tmp_path.glob("*.xlsx")
    sheet = sheet_of(path, "Cover", data_only=True)
    titles, *rows = sheet.iter_rows(min_row=4, max_row=4 + len(WIDE.splitlines()) - 1)
    shown = [
        cell.column_letter for cell in titles if cell.value and not sheet.column_dimensions[cell.column_letter].hidden
    ]
    assert len(shown) == 3 + 6 + 1
    assert titles[len(shown) - 1].value == "What to change first"
    for cell in (cell for row in (titles, *rows) for cell in row[: len(shown)]):
        assert cell.value, cell.coordinate
        assert cell.column_letter in sheet.column_dimensions
        width = sheet.column_dimensions[cell.column_letter].width
        needed = height_of(str(cell.value), width * PER_WIDTH)
        assert needed <= sheet.row_dimensions[cell.row].height, (cell.coordinate, cell.value)
