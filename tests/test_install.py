"""From a wheel, in an environment that has only what it requires, in another folder, the main job runs."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from planner.xlsx.opc import Package

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_wheel_does_the_main_job(tmp_path: Path) -> None:
    """The wheel holds code and data, leaves only planner and measure at the top, and builds a workbook."""
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    wheels, site, work = tmp_path / "wheels", tmp_path / "site", tmp_path / "work"
    work.mkdir()
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(ROOT)], check=True)
    wheel = next(wheels.glob("*.whl"))
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)
    top = {path.name for path in site.iterdir() if path.is_dir() and not path.name.endswith(".dist-info")}
    assert top - {"bin"} == {"planner", "measure"}
    # The libraries come from this environment, the project from the wheel alone: isolated from the checkout.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), sysconfig.get_path("purelib")])}
    code = (
        "import planner, sys; assert planner.__file__.startswith(sys.argv.pop(1)); from planner.cli import main; main()"
    )
    subprocess.run([sys.executable, "-S", "-c", code, str(site), "build"], cwd=work, env=environment, check=True)
    assert "Inference" in Package.read(work / "plan.xlsx").sheets()


def test_every_package_is_installed() -> None:
    """setup.cfg names every folder of code, so that the wheel lacks none."""
    named = (ROOT / "setup.cfg").read_text(encoding="utf-8").split("\n")
    for folder in (ROOT / "planner").iterdir():
        if (folder / "__init__.py").exists():
            assert f"    planner.{folder.name}" in named
