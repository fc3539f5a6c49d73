"""Edits by LibreOffice itself, through UNO: run by the system's Python, which has its bindings, and not by the tests.

It reads a list of jobs as JSON from the standard input, each a workbook to open, what to do in it, and where to save.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import DisposedException


class CrashedError(Exception):
    """LibreOffice is gone: its own exceptions can't pass through a context manager, since they take no traceback."""


def main():
    """Carry out every job, all in one LibreOffice as long as it lives.

    One that crashes, as it does now and then with hundreds of edits behind it, is started again for the job that it
    left undone; a job that takes a second one down with it fails.
    """
    jobs = json.load(sys.stdin)
    while jobs:
        undone = len(jobs)
        with suppress(CrashedError), started() as (desktop, folder):
            while jobs:
                carry_out(desktop, jobs[0], folder)
                del jobs[0]
        if len(jobs) == undone:
            raise SystemExit(f"LibreOffice crashed twice: {jobs[0]}")


@contextmanager
def started():
    """The desktop of a LibreOffice of its own, and a folder for its files; nothing of them outlives the block."""
    with tempfile.TemporaryDirectory(prefix="libreoffice-edits-", ignore_cleanup_errors=True) as folder:
        pipe = f"edits{Path(folder).name.replace('-', '')}"
        office = subprocess.Popen([
            "soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--norestore", "--nologo",
            f"--accept=pipe,name={pipe};urp;",
        ], start_new_session=True)  # fmt: skip
        try:
            desktop = connected(pipe)
            yield desktop, Path(folder)
            with suppress(DisposedException):
                desktop.terminate()
            with suppress(subprocess.TimeoutExpired):
                office.wait(60)
        finally:
            # the program that was started is a shell around the office: all of its group, or it lives on
            with suppress(ProcessLookupError):
                os.killpg(office.pid, signal.SIGKILL)


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


def carry_out(desktop, job, folder):
    """Open a copy of a workbook, edit it, compute it and save it. Raises CrashedError where LibreOffice is gone.

    A copy: beside a workbook that is open lies a lock, which a crash leaves there.
    """
    source = shutil.copy(job["source"], folder)
    try:
        book = desktop.loadComponentFromURL(f"file://{source}", "_blank", 0, (setting("Hidden", True),))
        if book is None:  # how a call ends under which LibreOffice crashes
            raise CrashedError
        for step in job["steps"]:
            step = dict(step)
            STEPS[step.pop("do")](book, **step)
        book.calculateAll()
        book.storeToURL(f"file://{job['target']}", (setting("FilterName", "Calc MS Excel 2007 XML"),))
        book.close(True)
    except DisposedException:
        raise CrashedError from None


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
