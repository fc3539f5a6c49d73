"""LibreOffice as an independent judge of what a workbook computes to."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.folders import shared_folder
from tests.recalcs import stripped
from tests.workbooks import agree

_ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""

needs_libreoffice = pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")


def recalculated(path: Path, tmp: Path) -> dict[str, dict[str, Value]]:
    """Every cell's value by sheet and address, as LibreOffice computes the workbook at `path`.

    Its cached values are stripped first, since LibreOffice trusts them. Numbers come back with 15 digits.
    """
    source = tmp / "stripped" / path.name
    source.parent.mkdir(parents=True, exist_ok=True)
    package = Package.read(path)
    stripped(package, parse_sheets(package)).write(source)
    (computed,) = converted([source], tmp / "computed")
    sheets = parse_sheets(Package.read(computed))
    return {name: {ref: cell.value for ref, cell in sheet.cells.items()} for name, sheet in sheets.items()}


def disagreements(path: Path, tmp: Path) -> list[str]:
    """The cells with a formula whose cached value LibreOffice, made to recalculate, doesn't find within 1e-9."""
    computed = recalculated(path, tmp)
    return [
        f"{name}!{ref}: cached {cell.value}, LibreOffice {computed[name].get(ref)}"
        for name, sheet in parse_sheets(Package.read(path)).items()
        for ref, cell in sheet.cells.items()
        if cell.formula is not None
        and not agree(computed[name].get(ref), None if isinstance(cell.value, CellError) else cell.value)
        and not (cell.value == "" and computed[name].get(ref) in (None, ""))
    ]


def converted(paths: Sequence[Path], out: Path) -> list[Path]:
    """The workbooks computed by LibreOffice and saved into the folder `out` under their names."""
    subprocess.run(
        [
            "soffice",
            f"-env:UserInstallation={_profile().as_uri()}",
            "--headless",
            "--convert-to",
            "xlsx",
            "--outdir",
            str(out),
            *map(str, paths),
        ],
        check=True,
        capture_output=True,
        timeout=180 + 30 * len(paths),
    )
    return [out / path.with_suffix(".xlsx").name for path in paths]


def saved(path: Path, tmp: Path) -> None:
    """Let LibreOffice open the workbook at `path` and save it there, as a person with that program would."""
    (written,) = converted([path], tmp / "saved")
    shutil.move(written, path)


@functools.cache
def _profile() -> Path:
    """A profile of this process: two instances of LibreOffice can't share one."""
    profile = shared_folder()
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(_ALWAYS_RECALCULATE, encoding="utf-8")
    return profile
