"""Worked problems of the field's sources, each held against the template that expresses it.

`cases/<source>.csv` maps a problem to a template, its settings and a row; `computed_value` is the source's, and
`factor` brings the row to the source's unit. `cases/waiting.csv` says why a problem has no row yet;
`cases/by_hand.csv` holds the outputs that no problem asks for against arithmetic on small numbers.
"""

from __future__ import annotations

import csv
import functools
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner import cli, library, settings
from planner.evaluate import evaluate
from planner.facts import facts

HERE = Path(__file__).parent
# Where the sources' own tables are, when they are at hand; each row of these chapters is mapped or waits.
SOURCES = Path(os.environ.get("PLANNER_CASES", HERE.parent.parent / "shared" / "cases"))
CHAPTERS = {"scaling_book": {"1", "4", "7", "8"}, "course_slides": {"s02", "s05", "s07", "hw"}}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


MAPPED = {source: read(HERE / "cases" / f"{source}.csv") for source in (*CHAPTERS, "by_hand")}
CASES = [pytest.param(case, id=case["case_id"]) for cases in MAPPED.values() for case in cases]
load = functools.cache(library.load)


def settings_of(case: dict[str, str]) -> list[str]:
    """The case's `name=value` texts."""
    return [setting for setting in case["settings"].split(";") if setting]


def expected(case: dict[str, str]) -> object:
    """The source's value, in the row's unit."""
    value = float(case["computed_value"]) / float(case["factor"] or 1)
    return pytest.approx(value, rel=float(case["tolerance"]), abs=0)


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    """The template's row is the source's value."""
    template = load(case["template"])
    found = facts(template, case["model"] or None, case["hardware"] or None)
    results = evaluate(template, found, settings.values(template, settings_of(case)))
    assert results.value(case["output"]) == expected(case)


@pytest.mark.parametrize("case", CASES[::9])
def test_case_on_the_command_line(case):
    """`planner calc` prints the same value."""
    words = ["calc", case["template"], "--json", "--get", case["output"]]
    words += ["-m", case["model"]] if case["model"] else []
    words += ["-H", case["hardware"]] if case["hardware"] else []
    words += [word for setting in settings_of(case) for word in ("--set", setting)]
    done = CliRunner().invoke(cli.group, words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {case["output"]: expected(case)}


def test_a_factor_is_explained():
    """Where the source's unit is another, a note says so; every case has its source and a tight tolerance."""
    for case in (case for cases in MAPPED.values() for case in cases):
        assert case["note"] or not case["factor"], case["case_id"]
        assert case["source"], case["case_id"]
        assert float(case["tolerance"]) <= 1e-7, case["case_id"]


@pytest.mark.parametrize("name", library.names())
def test_every_output_is_held_to_an_outside_number(name):
    """Each output of each shipped template is some case's row."""
    held = {case["output"] for cases in MAPPED.values() for case in cases if case["template"] == name}
    assert {row.name for row in load(name).of_kind("output")} - held == set()


@pytest.mark.parametrize("source", CHAPTERS)
def test_every_row_is_mapped_or_waits(source):
    """The mapped and the waiting rows are all the source's rows of these chapters, each once, with its value."""
    path = SOURCES / f"{source}.csv"
    if not path.exists():
        pytest.skip("the sources' tables are not at hand: name their folder in PLANNER_CASES")
    chapter = {
        "scaling_book": lambda row: row["chapter"].split()[0],
        "course_slides": lambda row: row["id"].split(".")[0],
    }
    rows = {row["id"]: row for row in read(path) if chapter[source](row) in CHAPTERS[source]}
    waiting = [row["case_id"] for row in read(HERE / "cases" / "waiting.csv") if row["source"] == source]
    mapped = {case["case_id"]: case["computed_value"] for case in MAPPED[source]}
    assert sorted([*mapped, *waiting]) == sorted(rows)
    assert mapped == {name: rows[name]["computed_value"] for name in mapped}


def test_what_waits_says_why():
    """A waiting row names the template that will express it, or says that none will."""
    for row in read(HERE / "cases" / "waiting.csv"):
        what, colon, why = row["reason"].partition(": ")
        assert colon, row["case_id"]
        assert why, row["case_id"]
        assert what in {"no row", "chip", "collective", "sharded_matmul", "training"}, row["case_id"]
        assert what not in library.names(), f"{row['case_id']} may be mapped: {what} exists"
