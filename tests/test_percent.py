"""Shares typed as per cent: `35` and `3500 %` for 35 % give one line that says what to write, wherever typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from planner.errors import UserError
from planner.formulas import library
from planner.formulas.input_values import meant
from planner.plausible import doubt, share_meant
from tests.commands import refusal

TRAINING = ("training", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=64")
RUNS = "id,kind,source,template,model,hardware,settings,output,measured\n"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (35, "35% or 0.35"),
        (3500, "35% or 0.35"),
        (100, "100% or 1"),
        (0.35, ""),
        (1, ""),
        (1.2, ""),
        (2, ""),
        (1e6, ""),
    ],
)
def test_what_a_share_above_1_means(value: float, says: str) -> None:
    """Per cent, once or twice; nothing for a share, or for what isn't even per cent."""
    assert share_meant(value) == says


@pytest.mark.parametrize("number", ["35", "3500 %", "3500"])
@pytest.mark.parametrize(
    "args",
    [
        ("calc", *TRAINING, "--set", "compute_efficiency={}"),
        ("calc", "compute_budget", "--set", "assumed_mfu={}"),
        ("calc", *TRAINING, "--set", "train_matmul_efficiency={}"),
        ("calc", "collectives", "-H", "mi300x", "--set", "peer_share={}"),
        ("calc", *TRAINING, "--solve", "batch_tokens", "--for", "mfu_expected>={}"),
        ("optimize", *TRAINING, "--minimize", "step_time_expected", "--where", "mfu_expected>={}"),
        ("sweep", *TRAINING, "--over", "compute_efficiency={}"),
    ],
    ids=lambda args: args[-1],
)
def test_a_share_typed_as_per_cent(planner: Callable[..., Result], args: Sequence[str], number: str) -> None:
    """An input, an assumption, numbers of a calibration and of a chip, a target, a condition and an axis."""
    said = refusal(planner(*(arg.format(number) for arg in args)))
    assert "a number of at most 1 is wanted; write 35% or 0.35" in said


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        ("150%", "; type 100% or less"),
        ("600 %", "; type 100% or less"),
        ("1.2", ""),
        ("2", ""),
        ("40", "; write 40% or 0.4"),
    ],
)
def test_a_share_that_is_too_large(typed: str, remedy: str) -> None:
    """Whoever typed a percent sign isn't told to, and a number just above 1 was hardly meant in per cent."""
    row = library.load("training").row("compute_efficiency")
    with pytest.raises(UserError) as refused:
        meant(row, typed)
    assert str(refused.value) == f"compute_efficiency={typed}: a number of at most 1 is wanted{remedy}"


@pytest.mark.parametrize("measured", ["35", "3500 %", "3500%"])
@pytest.mark.parametrize("command", ["validate", "fit"])
def test_a_measured_mfu(planner: Callable[..., Result], tmp_path: Path, command: str, measured: str) -> None:
    """A file of runs, with line and column."""
    path = tmp_path / "runs.csv"
    path.write_text(f"{RUNS}a,training,me,training,llama3-8b,h100-sxm,n_chips=64,mfu,{measured}\n")
    err = planner(command, str(path)).stderr
    assert "line 2, column measured: " in err
    assert "mfu_expected=35: a number of at most 1 is wanted; write 35% or 0.35" in err


def test_a_calibration_of_per_cent(planner: Callable[..., Result], tmp_path: Path) -> None:
    """A parameter beyond its bounds that would be within them as per cent."""
    path = tmp_path / "mine.csv"
    path.write_text("calibration,parameter,value,unit\nmine,train_matmul_efficiency,75,1\n")
    err = planner("calc", *TRAINING, "--calibrations", str(path)).stderr
    assert "it is from 0.3 to 1; write 75% or 0.75" in err


@pytest.mark.parametrize("name", ["load_factor", "spare_share", "power_share"])
def test_shares_that_may_exceed_1_are_doubted(name: str) -> None:
    """Inputs without a limit of 1 get a warning instead."""
    assert doubt(name, "1", 70.0) == "70: 70 %, perhaps? write 70%"
    assert doubt(name, "1", 0.7) == ""
