"""A fleet on Dashboard and in its report: whole chips, what is asked for, and what binds what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.report.contents import Section
from planner.report.report_data import report_data
from tests.workbooks import Grid, by_name, cached, few_rows, of_scenarios, sheet_of

FLEET = "id,model,hardware,n_chips,batch,request_rate,prompt_len,generate_len,context_len\n"
FLEET += "one,llama3-8b,h100-sxm,1,64,40,2000,500,2500\n"
BOUND_BY = ": bound by"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook of one fleet."""
    folder = tmp_path_factory.mktemp("fleet")
    of_scenarios(folder, FLEET, ["fleet"], few_rows(("llama3-8b",), ("h100-sxm",)))
    return folder / "plan.xlsx"


@pytest.fixture(scope="module")
def built(path: Path) -> tuple[Grid, Section]:
    """Its cached values, and the section of its report with the fleet's numbers."""
    return cached(path), report_data(path).headlines[0]


def test_the_chips_of_a_fleet_are_whole(built: tuple[Grid, Section]) -> None:
    """A range of chips on Dashboard has no decimals, nor has the report's, whatever the number of digits."""
    grid, section = built
    at = by_name(grid, "Dashboard")
    said = str(grid["Dashboard"][f"F{at['fleet_chips.said']}"])
    low, high, bound = (int(grid["Dashboard"][f"F{at[f'fleet_chips_{end}']}"]) for end in ("low", "high", "bound"))
    assert said == f"{low} to {high}; bound {bound}"
    assert re.fullmatch(r"\d+ chips", section.expected[0][0].expected.text)


def test_what_binds_is_told_of_the_bound_and_not_of_what_is_asked_for(built: tuple[Grid, Section]) -> None:
    """The line with what binds is that of the least time; a limit that was typed is no bound."""
    grid, section = built
    at = by_name(grid, "Dashboard")
    assert [row.label for row in section.lines if row.label.endswith(BOUND_BY)] == [
        f"Least time of an output token{BOUND_BY}"
    ]
    notes = {grid["Dashboard"][f"E{at[name]}"] for name in ("target_first_token_time", "target_token_time")}
    assert notes == {"what is asked for"}


def test_the_waterfall_is_named_after_the_time_that_it_draws(path: Path) -> None:
    """A fleet's is that to the first token, which is no step."""
    titles = [each.title.tx.rich.p[0].r[0].t for each in sheet_of(path, "Dashboard")._charts]
    assert "From bound to expected: where the time to first token under load goes" in titles
