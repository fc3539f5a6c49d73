"""LibreOffice as an independent judge of what a workbook computes to."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from planner.recalc.inmemory import stripped
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets

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
    source, out = tmp / "stripped" / path.name, tmp / "computed"
    source.parent.mkdir(parents=True, exist_ok=True)
    package = Package.read(path)
    stripped(package, parse_sheets(package)).write(source)
    _convert(source, out)
    sheets = parse_sheets(Package.read(out / path.with_suffix(".xlsx").name))
    return {name: {ref: cell.value for ref, cell in sheet.cells.items()} for name, sheet in sheets.items()}


def saved(path: Path, tmp: Path) -> None:
    """Let LibreOffice open the workbook at `path` and save it there, as a person with that program would."""
    _convert(path, tmp / "saved")
    shutil.move(tmp / "saved" / path.name, path)


def _convert(source: Path, out: Path) -> None:
    """Let LibreOffice write the workbook `source` as .xlsx into the folder `out`."""
    profile = f"-env:UserInstallation={_profile().as_uri()}"
    words = ["soffice", profile, "--headless", "--convert-to", "xlsx", "--outdir", str(out), str(source)]
    subprocess.run(words, check=True, capture_output=True, timeout=180)


@functools.cache
def _profile() -> Path:
    """A profile of this process: two instances of LibreOffice can't share one."""
    profile = Path(tempfile.mkdtemp(prefix="libreoffice-"))
    atexit.register(shutil.rmtree, profile, ignore_errors=True)
    (profile / "user").mkdir()
    (profile / "user" / "registrymodifications.xcu").write_text(_ALWAYS_RECALCULATE, encoding="utf-8")
    return profile
