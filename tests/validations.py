"""Runs as lines of a CSV, and what `planner validate` says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from planner import progress
from tests.commands import run

HEADER = "id,kind,template,model,hardware,settings,output,measured,unit,source"
TRAINED = (
    "training,llama3-8b,h100-sxm,n_chips=8 mesh_fsdp=8 batch_tokens=131072 seq_len=4096 remat=block n_microbatches=2"
)
Planner = Callable[..., Result]


@pytest.fixture(name="planner")
def fixture_planner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planner:
    """Run `planner validate` in an empty folder, on a file of these runs unless they are none."""
    monkeypatch.chdir(tmp_path)

    def validated(*lines: str, options: tuple[str, ...] = (), header: str = HEADER) -> Result:
        if lines:
            Path("runs.csv").write_text("\n".join((header, *lines)), encoding="utf-8")
        progress.say_warnings()
        return run("validate", *(["runs.csv"] if lines else []), *options)

    return validated


def line(
    run: str = TRAINED, output: str = "step_time_expected", measured: str = "3", unit: str = "s", name: str = "a"
) -> str:
    """A line of runs.csv."""
    template, model, chip, settings = run.split(",")
    return f"{name},{template},{template},{model},{chip},{settings},{output},{measured},{unit},mine"


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows of what `--json` printed."""
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["rows"]
    return found
