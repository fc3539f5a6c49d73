"""What to change in how a served plan's chips are grouped: what trying each plan finds, and nothing doubtful."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import planner
from planner.formulas.advice import STEP, TOKEN
from planner.number_text import spoken
from planner.report.report_data import report_data
from tests.commands import run
from tests.workbooks import write_small

FIRST = "What to change first: "
TYPED = re.compile(r"\((serve_\w+)\) (\d+)")


def told(model: str, chip: str, **settings: float | str) -> str:
    """What calc says to change first; blank if nothing."""
    typed = [f"{name}={value}" for name, value in settings.items()]
    lines = run("calc", "inference", "-m", model, "-H", chip, "--set", *typed).output.splitlines()
    return next((line.removeprefix(FIRST) for line in lines if line.startswith(FIRST)), "")


@pytest.mark.parametrize(
    ("model", "chip", "settings", "experts"),
    [
        ("deepseek-v3", "h200-sxm", {"n_chips": 64, "batch": 1024}, (1, 64)),
        ("llama3-70b", "h100-sxm", {"n_chips": 64, "batch": 64}, (1,)),
        ("llama3-70b", "h100-sxm", {"n_chips": 64, "batch": 64, "serve_tensor": 64}, (1,)),
    ],
)
def test_the_groups_are_the_best_that_single_plans_find(
    model: str, chip: str, settings: dict[str, float], experts: tuple[int, ...]
) -> None:
    """Of all groups that divide the chips, those with the quickest token of the plans that pass and whose step is below
    its range; typed, they pass and give the numbers that are said.
    """
    before, passing = planner.calc("inference", model=model, hardware=chip, **settings), {}
    for data in (1, 2, 4, 8, 16, 32, 64):
        for expert in experts:
            ways = {"serve_tensor": 64 // data} if "serve_tensor" in settings else {}
            layout = {"serve_data": data, **ways, "serve_expert": expert}
            plan = planner.calc("inference", model=model, hardware=chip, **{**settings, **layout})
            if not plan.failed_checks and all(plan[name] < before[f"{name}_low"] for name in (STEP, TOKEN)):
                passing[plan[TOKEN]] = plan, layout
    best, layout = passing[min(passing)]
    said = told(model, chip, **settings)
    words, _, numbers = said.partition(": ")
    typed = {name: float(number) for name, number in TYPED.findall(words)}
    assert typed == {name: value for name, value in layout.items() if value != before[name]}
    for label, name in (("decode step", STEP), ("time per output token, with prefills", TOKEN)):
        now = before[name]
        assert f"{label} {spoken(now, 's')} → {spoken(best[name], 's', now)}" in numbers.split("; ")


@pytest.mark.parametrize(
    ("model", "chip", "settings"),
    [
        ("llama3-70b", "h100-sxm", {"n_chips": 8, "batch": 64}),  # a quicker token, of slower steps
        ("llama3-70b", "h100-sxm", {"n_chips": 1, "batch": 1, "weight_dtype": "int4"}),
        ("deepseek-v3", "h200-sxm", {"n_chips": 64, "batch": 1024, "stack": "ideal"}),
        ("deepseek-v3", "h200-sxm", {"n_chips": 64, "batch": 1024, "serve_data": 8, "serve_expert": 64}),
    ],
)
def test_nothing_is_said_of_groups_that_gain_less_than_is_known(model, chip, settings) -> None:
    """Not of what lies within the range of the plan, of bounds, of one chip, nor of the groups that it says itself."""
    assert told(model, chip, **settings) == ""


def test_the_report_says_what_calc_says(tmp_path: Path) -> None:
    """Groups come first, before twice or half of chips and batch, also on a chip without a price."""
    path, settings = tmp_path / "plan.xlsx", {"n_chips": 64, "batch": 64}
    for chip in ("h100-sxm", "gb300"):
        write_small(path, ["llama3-70b"], [chip], ["inference"], **settings)
        (scenario,) = report_data(path).scenarios
        said = told("llama3-70b", chip, **settings)
        assert said.startswith("Data ways of serving (serve_data) ")
        assert scenario.changes[0] == said
        assert len(scenario.changes) > 1
