"""Why runs move no parameter, and over which stacks they were made: each in one line of `planner fit`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import command, refused
from tests.test_fit_told import runs

STEP = "train,training,llama3-70b,h100-sxm,n_chips={} batch_tokens=4M seq_len=8192 stack={},step_time_expected,{},s,us"
MEMORY_BOUND = "matmul,matmul,,h100-sxm,tokens={} d_in=16384 d_out=16384,expected_time,0.19,ms,us"


def said(folder: Path, *lines: str) -> str:
    """What `planner fit` prints of these runs."""
    return command("fit", runs(folder / "runs.csv", *lines), "-o", folder / "mine.csv", "--force")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([STEP.format(512, "default", 12)], r"one run, of which the expected time is -1\d\.\d % off, confirms none"),
        ([STEP.format(512, "default", 9.6)], r"off, within what published runs are off by"),
        ([STEP.format(n, "default", s) for n, s in ((512, 14), (512, 6.5), (256, 26), (256, 13))],
         r"the runs contradict each other: expected times are -2\d\.\d % to \+5\d\.\d % off"),
        ([STEP.format(n, "default", s) for n, s in ((512, 9.6), (512, 9.4), (512, 10), (512, 60))],
         r"off, within what published runs are off by"),
        ([MEMORY_BOUND.format(tokens) for tokens in (1, 2, 4)],
         "of gemm_efficiency they say nothing: other limits set their times"),
    ],
    ids=["one run", "as expected", "contradicting", "as expected but one", "memory-bound"],
)  # fmt: skip
def test_why_no_parameter_moves(tmp_path: Path, lines: list[str], why: str) -> None:
    """One line with the reason: a lone run, runs as expected, runs that contradict, all but one that isn't used as
    expected, matmuls that memory bounds.

    Some 10 s are expected of the step; how far off that is moves with the shipped calibrations, so one digit is asked.
    """
    (line,) = [line for line in said(tmp_path, *lines).splitlines() if "no parameter is moved: " in line]
    assert re.search(why, line)


def test_runs_that_are_not_used_move_nothing(tmp_path: Path) -> None:
    """Two matmuls eight times slower than expected are too far off to be used, and the read that took twice as long is
    alone: no stack, and a question whether they are of that chip."""
    lines = [
        "matmul,matmul,,h100-sxm,tokens=4096 d_in=4096 d_out=4096,expected_time,1.6,ms,us",
        "matmul,matmul,,h100-sxm,tokens=8192 d_in=8192 d_out=8192,expected_time,13,ms,us",
        "matmul,elementwise,,h100-sxm,n_elements=1G n_operands=1 n_ops=1 element_bytes=2,expected_time,3,ms,us",
    ]
    told = refused("fit", runs(tmp_path / "runs.csv", *lines), "-o", tmp_path / "mine.csv")
    assert "none of 3 runs can be fitted to: a: far off what is expected" in told
    assert "are they of that chip?" in told
    assert not (tmp_path / "mine.csv").exists()


def test_each_stack_of_the_runs_is_named(tmp_path: Path) -> None:
    """Runs of two stacks: both with their counts, and whose factors the fitted stack has."""
    made = ((512, "default", 12), (256, "tuned", 18), (128, "tuned", 36), (1024, "default", 6.2))
    text = said(tmp_path, *(STEP.format(*each) for each in made))
    assert "over stacks default (2 runs) and tuned (2 runs); it has the factors of default" in text
    assert "over stack default\n" in said(tmp_path, *(STEP.format(n, "default", s) for n, _, s in made))
