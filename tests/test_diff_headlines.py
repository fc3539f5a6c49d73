"""Which of a plan's numbers `planner diff` leads with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.book.read_plan import read_plan
from planner.diff.as_html import as_html
from planner.diff.two_workbooks import compare
from tests.commands import invoked
from tests.workbooks import retype, write_small

pytestmark = pytest.mark.usefixtures("few_cases")


@pytest.fixture(name="pair", scope="module")
def fixture_pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A plan that serves, in a workbook with a sheet for training too, and the same with another batch of each."""
    old, new = (tmp_path_factory.mktemp("leading") / name for name in ("old.xlsx", "new.xlsx"))
    write_small(old, ["llama3-8b"], ["tpu-v5p"], ["transformer", "training", "inference"], workload="inference")
    new.write_bytes(old.read_bytes())
    retype(new, batch=8, batch_tokens=65536)
    return old, new


def test_what_the_plan_leads_with_comes_first(pair: tuple[Path, Path]) -> None:
    """Expected numbers of what the scenario is meant for stand above what was edited; their ranges and bounds, and all
    that is of training, stand below it.
    """
    said = invoked("diff", "--all", *pair)[1]
    first, edited, last = (
        said.index("Headlines that moved"),
        said.index("Inputs that"),
        said.index("Ranges, bounds and"),
    )
    assert first < edited < last
    above, below = said[first:edited], said[last:]
    assert "decode_step_time_expected " in above
    assert "output_tokens_per_second_expected " in above
    for name in ("decode_step_time_expected_low", "decode_step_time_bound", "step_time_expected ", "mfu_expected"):
        assert f" {name}" not in above
        assert f" {name}" in below
    page = as_html(compare(*map(read_plan, pair)))
    assert page.index("Headlines that moved") < page.index("Inputs that") < page.index("Ranges, bounds and")


def test_json_says_which_lead(pair: tuple[Path, Path]) -> None:
    """Its list is of one order, the largest first, whatever leads."""
    found = json.loads(invoked("diff", "--json", *pair)[1])["headlines"]
    leads = {one["name"]: one["leads"] for one in found}
    assert (leads["decode_step_time_expected"], leads["decode_step_time_bound"], leads["mfu_expected"]) == (
        True,
        False,
        False,
    )
