"""Spreadsheet programs as independent judges of what a workbook computes to: LibreOffice, Gnumeric and IronCalc."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests import libreoffice
from tests.recalcs import stripped

TOLERANCE = 1e-9
ROUNDING = 1e-18  # of times of a second at most; no number of a plan is that small
Cells = Mapping[str, Mapping[str, Value]]
"""A workbook's values by sheet and address."""
Judge = Callable[[Sequence[Package], Path], Iterator[Cells]]
"""What a program makes of some workbooks; it may write into the folder."""


def by_libreoffice(packages: Sequence[Package], tmp: Path) -> Iterator[Cells]:
    """Each workbook's values as LibreOffice computes them."""
    return (_values(path) for path in libreoffice.converted(_bare(packages, tmp), tmp / "computed"))


def by_gnumeric(packages: Sequence[Package], tmp: Path) -> Iterator[Cells]:
    """Each workbook's values as Gnumeric computes them."""
    (tmp / "computed").mkdir()
    for source in _bare(packages, tmp):
        out = tmp / "computed" / source.name
        subprocess.run(["ssconvert", "--recalc", source, out], check=True, capture_output=True, timeout=180)
        yield _values(out)


def by_ironcalc(packages: Sequence[Package], tmp: Path) -> Iterator[Cells]:
    """Each workbook's values as IronCalc computes them, where there are formulas."""
    import ironcalc

    for package, source in zip(packages, _bare(packages, tmp), strict=True):
        model = ironcalc.load_from_xlsx(str(source), "en", "UTC", "en")
        model.evaluate()
        found: dict[str, dict[str, Value]] = {}
        for index, (name, sheet) in enumerate(parse_sheets(package).items()):
            cells = (ref for ref, cell in sheet.cells.items() if cell.formula is not None)
            found[name] = {ref: model.get_cell_value(index, *coordinates(ref)) for ref in cells}
        yield found


PROGRAMS = [
    pytest.param(by_libreoffice, id="LibreOffice", marks=libreoffice.needs_libreoffice),
    pytest.param(
        by_gnumeric,
        id="Gnumeric",
        marks=pytest.mark.skipif(shutil.which("ssconvert") is None, reason="Gnumeric is not installed"),
    ),
    pytest.param(
        by_ironcalc,
        id="IronCalc",
        marks=pytest.mark.skipif(importlib.util.find_spec("ironcalc") is None, reason="IronCalc is not installed"),
    ),
]


def _bare(packages: Sequence[Package], tmp: Path) -> list[Path]:
    """The workbooks as files without cached values, which a program might take for true."""
    (tmp / "bare").mkdir()
    paths = [tmp / "bare" / f"{index}.xlsx" for index, _ in enumerate(packages)]
    for package, path in zip(packages, paths, strict=True):
        stripped(package, parse_sheets(package)).write(path)
    return paths


def _values(path: Path) -> Cells:
    sheets = parse_sheets(Package.read(path))
    return {name: {ref: cell.value for ref, cell in sheet.cells.items()} for name, sheet in sheets.items()}


def deviations(package: Package, theirs: Cells) -> list[str]:
    """Where a program's values are not the cached values of a workbook's formulas."""
    return [
        f"{name}!{ref} ={cell.formula}: {cell.value!r}, not {other!r}"
        for name, sheet in parse_sheets(package).items()
        for ref, cell in sheet.cells.items()
        if cell.formula is not None and not alike(cell.value, other := theirs[name].get(ref))
    ]


def alike(one: Value, other: Value) -> bool:
    """Whether two values are one: numbers to 1e-9 of the larger; any error is any other, a blank an empty text.

    Where numbers of a plan cancel, programs that add them in another order leave a rounding error for 0.
    """
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= max(ROUNDING, TOLERANCE * max(abs(one), abs(other)))
    if is_error(one) or is_error(other):
        return is_error(one) and is_error(other)
    return (one or "") == (other or "")


def is_error(value: Value) -> bool:
    """Whether a value is an error; IronCalc tells one as its text."""
    return isinstance(value, CellError) or (isinstance(value, str) and value in ERRORS)


ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#ERROR!")
