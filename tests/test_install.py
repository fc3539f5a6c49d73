"""Installed from a wheel, or in a checkout that isn't installed, every part is found and the main jobs run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from planner.xlsx.opc import Package

ROOT = Path(__file__).parent.parent


OUTSIDE = ("measure", "templates", "hardware_db", "model_db")
"""Folders of the repository that are parts of the package."""


FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE")


def copied(folder: Path) -> Path:
    """A copy of the checkout's code and data: a build leaves no files in ours, and finds none of an older build."""
    for name in ("planner", *OUTSIDE):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


def run(site: Path, code: str, *arguments: str, cwd: Path) -> str:
    """What code prints whose libraries come from this environment, and `planner` from the folder `site` alone.

    Without `site` (-S) an editable installation of this environment leads nowhere.
    """
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *libraries])}
    command = [sys.executable, "-S", "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout


@pytest.mark.slow
def test_the_wheel_does_the_main_jobs(tmp_path: Path) -> None:
    """The wheel holds code and data, leaves `planner` alone at the top, builds a workbook and measures a case."""
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    source, wheels, site, work = (tmp_path / name for name in ("source", "wheels", "site", "work"))
    work.mkdir()
    build = ["wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(copied(source))]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = wheels.glob("*.whl")
    top = {name.partition("/")[0] for name in ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"planner"}
    assert "planner/py.typed" in ZipFile(wheel).namelist()
    assert len(top) == 2
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    located = f"import planner.measure.timed_cases as m; assert m.__file__.startswith({str(site)!r}); "
    command = located + "from planner.cli import main; main()"
    run(site, command, "build", cwd=work)
    assert "Inference" in Package.read(work / "plan.xlsx").sheets()
    run(site, command, "measure", "--suite", "quick", "--case", "fp32", "--budget", "0", "--csv", "m.csv", cwd=work)
    assert "matmul" in (work / "m.csv").read_text(encoding="utf-8")


def test_a_checkout_needs_no_installation(tmp_path: Path) -> None:
    """In a checkout without symbolic links `measure` and the data are found beside `planner`, and nothing else is."""
    link = copied(tmp_path) / "planner/measure"
    link.unlink()
    link.write_text("../measure", encoding="utf-8")  # as git leaves a link on Windows
    names = ", ".join(f"planner.{name}" for name in OUTSIDE)
    code = f"import {names}; print(*(module.__path__[0] for module in ({names},)), sep=chr(10))"
    assert run(tmp_path, code, cwd=tmp_path).splitlines() == [str(tmp_path / name) for name in OUTSIDE]


def test_every_package_is_installed() -> None:
    """setup.cfg names every folder of code, so that the wheel lacks none."""
    named = (ROOT / "setup.cfg").read_text(encoding="utf-8").split("\n")
    for folder in [*(ROOT / "planner").iterdir(), *(ROOT / name for name in OUTSIDE)]:
        if (folder / "__init__.py").exists():
            assert f"    planner.{folder.name}" in named
