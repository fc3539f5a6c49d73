"""What binds: the parts that compete in a formula, and what a workbook and the command line say of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import formualizer
import pytest

from planner.formulas import library, thresholds
from planner.formulas.binding import Constraint, constraint, on_the_way, what_binds
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.headlines import bounds
from planner.formulas.lookups import facts
from planner.formulas.template import Template
from planner.workbook.constraints_sheet import LEVEL, Ranking
from planner.xlsx.cellvalue import CellError
from tests.commands import run
from tests.workbooks import by_name, cached, write_small_plan

Load = Callable[..., Template]
PARTS = ("alpha s input 1", "beta_2 s input 2", "gamma_2 s input 3", "share_2 1 input 1", "unit_2 s constant 1")


def found(load: Load, formula: str, unit: str = "s") -> Constraint | None:
    """The constraint of a row with this formula."""
    template = load(*PARTS, f"total_2 {unit} output {formula}")
    return constraint(template.row("total_2"), template.by_name)


@pytest.mark.parametrize(
    ("formula", "function", "texts"),
    [
        ("MAX(alpha,beta_2)", "MAX", ["alpha", "beta_2"]),
        ("MIN(alpha,beta_2,gamma_2)", "MIN", ["alpha", "beta_2", "gamma_2"]),
        ("alpha+MAX(beta_2,gamma_2)", "MAX", ["alpha", "beta_2", "gamma_2"]),
        ("MAX(alpha,MAX(beta_2,gamma_2))", "MAX", ["alpha", "beta_2", "gamma_2"]),
        ("MAX(alpha+beta_2,alpha+gamma_2)", "MAX", ["alpha+beta_2", "alpha+gamma_2"]),
        ("alpha/share_2+MAX(beta_2/share_2,gamma_2)", "MAX", ["alpha/share_2", "beta_2/share_2", "gamma_2"]),
        ("IF(share_2,MAX(alpha,beta_2),gamma_2)", "MAX", ["alpha", "beta_2"]),
        ("alpha+MIN(beta_2,gamma_2)", "MIN", ["beta_2", "gamma_2"]),
    ],
)
def test_the_parts_of_a_formula(load: Load, formula: str, function: str, texts: list[str]) -> None:
    """The parts are the arguments of a MAX or MIN, and beside a MAX the other addends of its sum."""
    each = found(load, formula)
    assert each is not None
    assert (each.function, [part.text for part in each.parts]) == (function, texts)


@pytest.mark.parametrize("formula", ["alpha+beta_2", "MAX(0,alpha)", "MIN(1,share_2)*alpha", "MAX(alpha)"])
def test_a_number_in_range_binds_nothing(load: Load, formula: str) -> None:
    """A sum, and a MAX or MIN against a number, have no parts that compete."""
    assert found(load, formula) is None


def test_a_sum_of_rows_takes_their_parts(load: Load) -> None:
    """A row that adds to a row with a MAX competes by that row's parts and its own addend."""
    template = load(*PARTS, "inner_2 s calc MAX(alpha,beta_2)", "total_2 s output inner_2+gamma_2")
    each = constraint(template.row("total_2"), template.by_name)
    assert each is not None
    assert [part.text for part in each.parts] == ["alpha", "beta_2", "gamma_2"]


@pytest.mark.parametrize(
    ("formula", "row_unit", "unit"),
    [
        ("MAX(alpha,beta_2)", "s", "s"),
        ("alpha*MAX(share_2,share_2+1)", "s", "1"),
        ("share_2/MIN(alpha,beta_2)", "1/s", "s"),
    ],
)
def test_parts_have_a_unit_of_their_own(load: Load, formula: str, row_unit: str, unit: str) -> None:
    """Parts that are a factor of the row are shown in their unit, not in the row's."""
    each = found(load, formula, row_unit)
    assert each is not None
    assert each.unit == unit


def test_labels_say_what_a_part_is(load: Load) -> None:
    """A part is called by its one name that is no constant, or by the one of the row's unit; else by its formula."""
    each = found(load, "MAX(alpha/share_2,share_2*unit_2,alpha+beta_2)")
    assert each is not None
    assert [part.label for part in each.parts] == ["alpha", "share_2", "alpha+beta_2"]


def test_the_headlines_of_inference() -> None:
    """On the way to the headlines of inference stand the decode step's three parts, with the labels of their rows."""
    template = library.load("inference")
    by_row = {each.row.name: each for each in on_the_way(template, bounds(template))}
    assert [part.label for part in by_row["decode_step_time"].parts] == [
        "Time to read the cache", "Time of the matmuls", "Time to read the weights",
    ]  # fmt: skip
    assert "decode_step_time_reordered" not in by_row  # only a check reads it


def test_told_in_numbers(load: Load) -> None:
    """The largest binds and the next is named with their ratio; what is N/A or nothing at all binds nothing."""
    each = found(load, "MAX(alpha,beta_2,gamma_2)")
    assert each is not None

    def told_of(*numbers: float | None) -> str | None:
        said = what_binds(each, dict(zip(("alpha", "beta_2", "gamma_2"), numbers, strict=True)).__getitem__)
        return said.words("above") if said else None

    assert told_of(1, 9, 5) == "beta_2, 1.80x above gamma_2"
    assert told_of(0, 0, 5) == "gamma_2, nothing else counts"
    assert told_of(3, 3, 1) == "alpha, level with beta_2"
    assert told_of(1, 99.996, 0) == "beta_2, 100.00x above alpha"
    assert told_of(1, 213.584, 0) == "beta_2, 214x above alpha"
    assert told_of(1, 213_584.38, 0) == "beta_2, more than 1000x above alpha"
    assert told_of(0, 0, 0) is None
    assert told_of(1, None, 5) is None


def test_why_says_what_binds() -> None:
    """planner calc --why names what binds a row and how far the next part is: 10.6 ms of weights, 6.56 of cache."""
    done = run("calc", "inference", "-m", "llama3-70b", "-H", "tpu-v5e", "--set", "batch=32", "--set", "n_chips=16",
               "--why", "decode_step_time")  # fmt: skip
    assert "bound by Time to read the weights, 1.62x above Time to read the cache\n" in done.output


@pytest.mark.parametrize("function", ["MAX", "MIN"])
def test_the_second_of_some_cells(function: str) -> None:
    """The formula for the second largest or smallest agrees with sorting, ties included, in a spreadsheet's engine."""
    rng, book = random.Random(5), formualizer.Workbook()
    book.add_sheet("S")
    wanted: list[float] = []
    for row in range(1, 61):
        count = 2 + row % 5
        numbers = [float(rng.choice((0, 1, 2, 3.5, 7))) for _ in range(count)]
        cells = [f"{'ABCDEF'[index]}{row}" for index in range(count)]
        for index, number in enumerate(numbers, start=1):
            book.set_value("S", row, index, number)
        ranking = Ranking(cells, "$A$99:$F$99", function, "$H$98", "$H$99")
        book.set_formula("S", row, 8, f"={ranking.following}")
        wanted.append(sorted(numbers, reverse=function == "MAX")[1])
    book.evaluate_all()
    assert [book.get_value("S", row, 8) for row in range(1, 61)] == wanted


def test_cells_say_how_far_as_python_does(load: Load) -> None:
    """The formula of the words gives the text of `told`, from level to far apart, for the largest and the smallest."""
    margins = (
        1.0,
        1.004,
        1.005,
        1.8,
        2.345,
        9.999,
        99.99,
        99.996,
        100.0,
        100.5,
        213.584,
        999.4,
        999.6,
        1000.0,
        213_584.38,
    )
    for function, over in (("MAX", "above"), ("MIN", "below")):
        each, book, wanted = found(load, f"{function}(alpha,beta_2)"), formualizer.Workbook(), []
        assert each is not None
        book.add_sheet("S")
        ranking = Ranking(["A2", "A3"], "B2:B3", function, "A8", "A9")
        for at, margin in enumerate(margins):
            sheet = f"S{at}"
            book.add_sheet(sheet)
            numbers = {"alpha": 3.0, "beta_2": 3.0 * margin}
            for row, (label, number) in enumerate(numbers.items(), start=2):
                book.set_value(sheet, row, 1, number)
                book.set_value(sheet, row, 2, label)
            for row, name in ((8, "far_margin"), (9, "large_margin")):
                book.set_value(sheet, row, 1, thresholds.number(name))
            for row, formula in enumerate(ranking.formulas("A10", "A11", "A12", "A13", "A14"), start=10):
                book.set_formula(sheet, row, 1, f"={formula}")
            said = what_binds(each, numbers.get)
            assert said is not None
            words = said.words(over)
            wanted.append(f"{said.binding.label}, {LEVEL}" if "level with" in words else words)
        book.evaluate_all()
        assert [book.get_value(f"S{at}", 15, 1) for at in range(len(margins))] == wanted


def results(name: str, model: str, chip: str, values: dict[str, object]) -> Results:
    """A template's array functions for one scenario."""
    template = library.load(name)
    return evaluate(
        template,
        facts(template, model, chip),
        {name: value for name, value in values.items() if name in template.by_name},
    )


def test_the_sheet_says_what_binds(tmp_path: Path) -> None:
    """For models and chips of several kinds, the words on Constraints are what the arrays' parts give."""
    path = tmp_path / "plan.xlsx"
    models, chips = ["llama3-70b", "deepseek-v3", "gemma3-27b"], ["tpu-v5p", "h100-sxm"]
    plan = write_small_plan(path, models, chips, ["inference"], n_chips=64, batch=128)
    grid = cached(path)
    rows, compared = by_name(grid, "Constraints"), 0
    for column, scenario in zip(plan.columns, plan.scenarios, strict=True):
        given = results("inference", str(scenario.model), str(scenario.hardware), dict(scenario.values))
        letter = "ABCDEFGHIJKLM"[column - 1]
        for each in on_the_way(given.template, bounds(given.template)):
            if f"{each.row.name}.words" not in rows:
                continue
            expected = what_binds(each, given.number)
            words = grid["Constraints"][f"{letter}{rows[f'{each.row.name}.words']}"]
            if expected is None:
                assert isinstance(words, CellError) or words == "nothing"
                continue
            over = "above" if each.is_largest else "below"
            level = f"{expected.binding.label}, {LEVEL}"
            assert words == (level if "level with" in expected.words(over) else expected.words(over))
            compared += 1
    assert compared >= 12
