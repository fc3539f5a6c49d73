"""Edits by LibreOffice itself, through UNO: run by the system's Python, which has its bindings, and not by the tests.

It reads a list of jobs as JSON from the standard input, each a workbook to open, what to do in it, and where to save.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException


def main():
    """Carry out every job in one LibreOffice."""
    profile = tempfile.mkdtemp(prefix="libreoffice-edits-")
    pipe = f"edits{Path(profile).name.replace('-', '')}"
    office = subprocess.Popen([
        "soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--norestore", "--nologo",
        f"--accept=pipe,name={pipe};urp;",
    ])  # fmt: skip
    try:
        desktop = connected(pipe)
        for job in json.load(sys.stdin):
            carry_out(desktop, job)
        desktop.terminate()
        office.wait(60)
    finally:
        office.kill()


def connected(pipe):
    """The desktop, once LibreOffice answers."""
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    for _ in range(240):
        try:
            remote = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
            return remote.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", remote)
        except NoConnectException:
            time.sleep(0.25)
    raise SystemExit("LibreOffice doesn't answer")


def carry_out(desktop, job):
    """Open a workbook, edit it, compute it and save it."""
    book = desktop.loadComponentFromURL(f"file://{job['source']}", "_blank", 0, (setting("Hidden", True),))
    try:
        for step in job["steps"]:
            step = dict(step)
            STEPS[step.pop("do")](book, **step)
        book.calculateAll()
        book.storeToURL(f"file://{job['target']}", (setting("FilterName", "Calc MS Excel 2007 XML"),))
    finally:
        book.close(True)


def setting(name, value):
    """A named argument of a UNO call."""
    found = PropertyValue()
    found.Name, found.Value = name, value
    return found


def cell_of(book, sheet, cell):
    """The cell of a sheet."""
    return book.Sheets.getByName(sheet).getCellRangeByName(cell)


def type_in(book, sheet, cell, value):
    """A number or a text typed into a cell; a text stays one, whatever it spells."""
    target = cell_of(book, sheet, cell)
    if isinstance(value, str):
        target.String = value
    else:
        target.Value = value


def put_formula(book, sheet, cell, formula):
    """A formula, written as Excel does."""
    cell_of(book, sheet, cell).Formula = formula.replace("!", ".")


def scale(book, sheet, cell, factor):
    """A cell's own formula, times a factor."""
    target = cell_of(book, sheet, cell)
    target.Formula = f"=({target.Formula[1:]})*{factor}"


def insert_rows(book, sheet, at, count):
    """Rows inserted in front of row `at`."""
    book.Sheets.getByName(sheet).Rows.insertByIndex(at - 1, count)


def insert_columns(book, sheet, at, count):
    """Columns inserted in front of column `at`."""
    book.Sheets.getByName(sheet).Columns.insertByIndex(at - 1, count)


def delete_columns(book, sheet, at, count):
    """Columns deleted from `at` on."""
    book.Sheets.getByName(sheet).Columns.removeByIndex(at - 1, count)


def delete_rows(book, sheet, at, count):
    """Rows deleted from `at` on."""
    book.Sheets.getByName(sheet).Rows.removeByIndex(at - 1, count)


def move_column(book, sheet, source, target):
    """Cut a column out and insert it in front of another, as a person drags it."""
    found = book.Sheets.getByName(sheet)
    found.Columns.insertByIndex(target - 1, 1)
    source += source >= target
    area = found.Columns.getByIndex(source - 1).RangeAddress
    place = found.getCellByPosition(target - 1, 0).CellAddress
    found.moveRange(place, area)
    found.Columns.removeByIndex(source - 1, 1)


def rename_sheet(book, sheet, to):
    """Another name for a sheet."""
    book.Sheets.getByName(sheet).Name = to


def delete_sheet(book, sheet):
    """A sheet deleted."""
    book.Sheets.removeByName(sheet)


def add_sheet(book, sheet, at):
    """A blank sheet inserted at a place among the tabs."""
    book.Sheets.insertNewByName(sheet, at)


def put_note(book, sheet, cell, text):
    """A note on a cell."""
    found = book.Sheets.getByName(sheet)
    found.Annotations.insertNew(found.getCellRangeByName(cell).CellAddress, text)


def put_format(book, sheet, cell):
    """Bold and a fill of its own."""
    target = cell_of(book, sheet, cell)
    target.CharWeight, target.CellBackColor = 150.0, 0xFFD966


STEPS = {
    "type": type_in, "formula": put_formula, "scale": scale, "insert_rows": insert_rows, "note": put_note,
    "insert_columns": insert_columns, "delete_columns": delete_columns, "delete_rows": delete_rows,
    "move_column": move_column, "rename_sheet": rename_sheet, "delete_sheet": delete_sheet, "add_sheet": add_sheet,
    "format": put_format,
}  # fmt: skip

if __name__ == "__main__":
    main()
