"""Worked problems of the field's sources, each held against the template that expresses it.

`cases/<source>.csv` maps a problem to a template, its settings and a row; `computed_value` is the source's, and
`factor` brings the row to the source's unit. `cases/waiting.csv` says why a problem has no row.
`cases/formulas.csv` names the row that expresses each formula of the book, and `cases/by_hand.csv` holds the outputs
that neither asks for; both are arithmetic on small numbers, written out in `source`.
"""

from __future__ import annotations

import ast
import csv
import functools
import json
import math
import operator
import os
from pathlib import Path

import pytest

from planner.formulas import input_values, library
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared
from tests.commands import run

HERE = Path(__file__).parent
# Where the sources' own tables are, when they are at hand; each of their rows is mapped or waits.
SOURCES = Path(os.environ.get("PLANNER_CASES", HERE.parent.parent / "shared" / "cases"))
WORKS = ("scaling_book", "course_slides")
MOST_WAITING = 20
ARITHMETIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, "max": max, "min": min, "sqrt": math.sqrt, "ceil": math.ceil, "floor": math.floor,
    "log2": math.log2,
}  # fmt: skip


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


MAPPED = {source: read(HERE / "cases" / f"{source}.csv") for source in (*WORKS, "formulas", "by_hand")}
CASES = [pytest.param(case, id=case["case_id"]) for cases in MAPPED.values() for case in cases]
prepared_for = functools.cache(
    lambda name, model, hardware: Prepared(load(name), facts(load(name), model or None, hardware or None))
)


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
    plan = prepared_for(case["template"], case["model"], case["hardware"])
    results = plan.results(input_values.values(plan.template, settings_of(case)))
    assert results.value(case["output"]) == expected(case)


@pytest.mark.parametrize("case", CASES[::23])
def test_case_on_the_command_line(case):
    """`planner calc` prints the same value."""
    words = ["calc", case["template"], "--json", "--get", case["output"]]
    words += ["-m", case["model"]] if case["model"] else []
    words += ["-H", case["hardware"]] if case["hardware"] else []
    words += [word for setting in settings_of(case) for word in ("--set", setting)]
    done = run(*words)
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


def worked_out(text: str) -> float:
    """The value of written-out arithmetic, by Python and not by the product."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.BinOp(left=left, op=op, right=right):
                return ARITHMETIC[type(op)](value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.Call(func=ast.Name(id=name), args=args):
                return ARITHMETIC[name](*map(value, args))
        raise ValueError(text)

    return value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case_id"]) for case in MAPPED["formulas"]])
def test_a_formula_is_the_arithmetic_beside_it(case):
    """What a formula's case expects is what its source writes out, with the numbers of the input_values."""
    arithmetic = case["source"].rpartition(": ")[2]
    assert float(case["computed_value"]) == pytest.approx(worked_out(arithmetic), rel=1e-12)


def test_every_formula_has_a_row():
    """Each formula of the book's table is some template's row."""
    path = SOURCES.parent / "reference" / "formulas.csv"
    if not path.exists():
        pytest.skip("the table of formulas is not at hand")
    held = {"-".join(case["case_id"].split("-")[:3]) for case in MAPPED["formulas"]}
    assert held == {row["id"] for row in read(path)}


@pytest.mark.parametrize("source", WORKS)
def test_every_row_is_mapped_or_waits(source):
    """The mapped and the waiting rows are all the source's rows, each once, with its value."""
    path = SOURCES / f"{source}.csv"
    if not path.exists():
        pytest.skip("the sources' tables are not at hand: name their folder in PLANNER_CASES")
    rows = {row["id"]: row for row in read(path)}
    waiting = [row["case_id"] for row in read(HERE / "cases" / "waiting.csv") if row["source"] == source]
    mapped = {case["case_id"]: case["computed_value"] for case in MAPPED[source]}
    assert sorted([*mapped, *waiting]) == sorted(rows)
    assert mapped == {name: rows[name]["computed_value"] for name in mapped}


def test_what_waits_says_why():
    """A row that waits says why no template can express it; there are few, and none is the book's."""
    waiting = read(HERE / "cases" / "waiting.csv")
    assert len(waiting) <= MOST_WAITING
    for row in waiting:
        what, colon, why = row["reason"].partition(": ")
        assert what == "no row", row["case_id"]
        assert colon, row["case_id"]
        assert why, row["case_id"]
        assert row["source"] == "course_slides", row["case_id"]


def test_no_case_has_its_answer_in_its_settings():
    """No case overrides the row that it asks for."""
    for case in (case for cases in MAPPED.values() for case in cases):
        names = {setting.partition("=")[0] for setting in settings_of(case)}
        assert case["output"] not in names, case["case_id"]
