"""Which of a plan's numbers `planner diff` leads with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planner.book.read_plan import read_plan
from planner.diff.as_html import as_html
from planner.diff.differences import OutcomeChange
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
    assert "memory_bytes_per_chip " in above
    for name in ("decode_step_time_expected_low", "decode_step_time_bound", "step_time_expected ", "mfu_expected"):
        assert f" {name}" not in above
        assert f" {name}" in below
    page = as_html(compare(*map(read_plan, pair)))
    assert page.index("Headlines that moved") < page.index("Inputs that") < page.index("Ranges, bounds and")


def test_workloads_that_a_scenario_isnt_meant_for_are_counted(pair: tuple[Path, Path]) -> None:
    """Numbers of training of a plan that serves are a count in the text and on the page; JSON has them, marked so."""
    said, page = invoked("diff", *pair)[1], as_html(compare(*map(read_plan, pair)))
    found = json.loads(invoked("diff", "--json", *pair)[1])["headlines"]
    unmeant = [one["name"] for one in found if not one["meant"]]
    assert {"step_time_expected", "mfu_expected"} <= set(unmeant)
    assert " step_time_expected " not in said
    assert f"{len(unmeant)} other numbers moved, of workloads that the scenarios aren't meant for; --all" in said
    assert f"{len(unmeant)} other numbers moved, of workloads" in page
    assert "mfu_expected" not in page


def test_json_says_which_lead(pair: tuple[Path, Path]) -> None:
    """Its list is of one order, the largest first, whatever leads."""
    found = json.loads(invoked("diff", "--json", *pair)[1])["headlines"]
    leads = {one["name"]: one["leads"] for one in found}
    assert (leads["decode_step_time_expected"], leads["decode_step_time_bound"], leads["mfu_expected"]) == (
        True,
        False,
        False,
    )


def test_parts_of_a_plan_lead_only_by_themselves(tmp_path: Path) -> None:
    """More chips move each collective from nothing, most of all; beside a plan that serves they stand below its own."""
    for templates, is_alone in ((["inference", "collectives"], False), (["collectives"], True)):
        old, new = tmp_path / f"old{is_alone}.xlsx", tmp_path / f"new{is_alone}.xlsx"
        write_small(old, ["llama3-8b"], ["tpu-v5p"], templates, n_chips=1)
        new.write_bytes(old.read_bytes())
        retype(new, n_chips=8)
        said = invoked("diff", old, new)[1]
        above, _, below = said.partition("Inputs that changed")
        assert ("all_reduce_time_expected " in above, "all_reduce_time_expected " in below) == (is_alone, not is_alone)
        if not is_alone:
            assert " decode_step_time_expected " in above


def test_the_page_colours_what_is_better(tmp_path: Path) -> None:
    """A rising cost and a rising time are red and a rising rate is green; the caption says what the colours mean."""
    old, new = tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    write_small(old, ["llama3-8b"], ["tpu-v5p"], ["inference"])
    new.write_bytes(old.read_bytes())
    retype(new, batch=1024, price_per_chip_hour=90)
    page = as_html(compare(*map(read_plan, (old, new))))
    cells = re.findall(r'<td class="([^"]*)">([^<]*)</td><td class="label">([^<(]*)', page)
    ways = {label.strip(): (moved[0], kind) for kind, moved, label in cells}
    assert ways["Output tokens a second"] == ("+", "n better")
    assert ways["Decode step"] in (("+", "n worse"), ("x", "n worse"))
    assert ways["Cost per million output tokens"] in (("+", "n worse"), ("x", "n worse"))
    assert "green is better, red is worse" in page


@pytest.mark.parametrize(
    ("better", "old", "new", "verdict"),
    [
        ("less", 1, 2, "worse"),
        ("less", 2, 1, "better"),
        ("more", 1, 2, "better"),
        ("more", 2, 1, "worse"),
        ("", 1, 2, ""),
        ("less", "N/A", 1, ""),
    ],
)
def test_a_change_is_judged_by_its_direction(better: str, old: float | str, new: float, verdict: str) -> None:
    """A number of which less is better is worse when it rises; without a direction or a ratio there is no judgement."""
    assert OutcomeChange("one", "name", "Label", "s", old, new, better=better).verdict == verdict
