"""Style, types and imports are part of the tests."""

from __future__ import annotations

import re
import subprocess
import sys
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
        "cases", "clock", "collectives", "interleaved", "sharded", "spread", "transformer", "workload",
    }  # fmt: skip
