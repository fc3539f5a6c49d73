"""Style, types and imports are part of the tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
TYPES = pytest.mark.skipif(NUMPY < (2, 2), reason="an older numpy has other types, and computes the same")


@pytest.mark.parametrize(
    "command", [["ruff", "check", "."], ["ruff", "format", "--check", "."], pytest.param(["mypy"], marks=TYPES)]
)
def test_clean(command: list[str]) -> None:
    """ruff finds no fault, the formatting is ruff's, and the types are right."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def imported(path: Path, files: Collection[str]) -> Iterator[str]:
    """Those of some files, by their modules' names, that a file imports, at its top or later."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            each = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in files else node.module for name in each)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_no_files_import_each_other() -> None:
    """The files can be laid in an order in which each imports only those before it, imports within functions too."""
    folders = {"planner": "planner", "measure": "planner.measure"}
    files = {
        ".".join((package, *path.relative_to(ROOT / folder).with_suffix("").parts)).removesuffix(".__init__"): path
        for folder, package in folders.items()
        for path in (ROOT / folder).rglob("*.py")
        if (ROOT / "planner" / "measure") not in path.parents
    }
    face = {"planner"}  # it loads what it hands on when that is asked for, and every file has it loaded already
    whole = {name: {*imported(path, files)} & files.keys() - {name} - face for name, path in files.items()}
    order = [*TopologicalSorter(whole).static_order()]  # raises CycleError with the files of a circle
    assert len(order) == len(files) > 300


def test_data_folders_hold_data() -> None:
    """The data folders hold CSVs and a loader of a few lines that imports nothing of ours."""
    for folder in ("templates", "hardware_db", "model_db"):
        for path in (ROOT / folder).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert len(text.splitlines()) < 20
            assert "import planner" not in text
            assert "from planner" not in text


def test_only_what_runs_on_the_device_imports_jax() -> None:
    """Of measure only the cases, their workloads and the clock with its turns import JAX; records and ingest don't."""
    importing = {
        path.stem
        for path in (ROOT / "measure").glob("*.py")
        if re.search(r"^(import|from) jax\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert importing == {
        "cases", "clock", "interleaved", "sharded", "spread", "transformer", "workload",
    }  # fmt: skip
