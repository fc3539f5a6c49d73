"""A workbook is written with the ending with which Excel opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import UserError
from planner.xlsx.opc import Package
from tests.workbooks import write_comparison


def test_an_ending_with_which_excel_opens_no_such_file_is_refused(tmp_path: Path) -> None:
    """A workbook with macros is no .xlsx, and one without is no .xlsm; nothing is written, and its own file may be."""
    write_comparison(book := tmp_path / "plan.xlsx")
    package = Package.read(book)
    package.write(book)
    wrong = book.with_name("other.xlsm")
    with pytest.raises(UserError, match="has no macros"):
        package.write(wrong)
    types = package.parts["[Content_Types].xml"]
    macros = types.replace(
        b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
        b"application/vnd.ms-excel.sheet.macroEnabled.main+xml",
    )
    assert macros != types
    package.replace("[Content_Types].xml", macros)
    with pytest.raises(UserError, match="has macros"):
        package.write(book.with_name("other.xlsx"))
    package.write(wrong)
    assert not book.with_name("other.xlsx").exists()
