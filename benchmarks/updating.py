"""What `planner update` takes as a whole process, over what `planner build` of the default workbook takes.

    python benchmarks/updating.py

Goals: with nothing to do 1.5 times as much; after a template's row came, and 50 edits of a person's, 2.5 times.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import openpyxl
from commands import ratio, user_seconds

from planner import data
from planner.recalc import recalculate
from planner.xlsx.opc import Package

EDITS = 50


def edited(path: Path) -> None:
    """Type numbers, formulas and texts into rows of Training, and add a sheet."""
    book, choose = openpyxl.load_workbook(path), random.Random(1)
    sheet = book["Training"]
    rows = [row for row in range(40, sheet.max_row) if sheet.cell(row, 3).value]
    for at, row in enumerate(choose.sample(rows, EDITS)):
        column, content = ((6, at), (7, f"=G{row - 1}*2"), (5, f"note {at}"), (12, "beside"), (8, "=1+1"))[at % 5]
        sheet.cell(row, column).value = content
    book.create_sheet("Mine")["A1"] = "=Training!F50*2"
    book.save(path)
    package = Package.read(path)
    recalculate(package)
    package.write(path)


def main() -> None:
    """Print both ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan, mine, new, template = (folder / name for name in ("plan.xlsx", "mine.xlsx", "new.xlsx", "inference.csv"))
        user_seconds("build", "-o", str(plan))
        shutil.copy(plan, mine)
        edited(mine)
        lines = (data.folder("templates") / "inference.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        at = next(at for at, line in enumerate(lines) if line.startswith("batch,"))
        blank = "," * (lines[0].count(",") - 5)
        lines.insert(at + 1, f"spare_batch,Spare sequences,1,input,1,test{blank}\n")
        template.write_text("".join(lines), encoding="utf-8")

        def build() -> float:
            return user_seconds("build", "--force", "-o", str(folder / "fresh.xlsx"))

        def update() -> float:
            new.unlink(missing_ok=True)
            return user_seconds("update", str(mine), "--template", str(template), "-o", str(new))

        ratio("update with nothing to do", lambda: user_seconds("update", str(plan)), build, 1.5)
        ratio(f"update: a new row, {EDITS} edits", update, build, 2.5)


if __name__ == "__main__":
    main()
