"""The Sweep sheet: live tables over an input of the chosen scenario, held against the array functions."""

from __future__ import annotations

import csv
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner import data
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.following import followed
from planner.formulas.lookups import facts
from planner.formulas.sweeps import Axis, Sweep, sweeps
from planner.formulas.template import Row
from planner.recalc import recalculate
from planner.scaled_units import factor
from planner.workbook.book import build
from planner.workbook.build_plan import BuildPlan, BuildScenario
from planner.workbook.scenarios import plan_of
from planner.workbook.sweep_table import swept
from planner.xlsx.cellvalue import CellError
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.libreoffice import needs_libreoffice, recalculated
from tests.workbooks import Grid, agree, by_name, cached, few_rows, resave, retype, sheet_of, smaller, type_in

TEMPLATES = ("transformer", "training", "inference")
AXES = {"inference": ("batch", "context_len", "n_chips"), "training": ("batch_tokens", "seq_len", "n_chips")}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildPlan]:
    """A workbook that serves and trains, on a torus and on a switch, with one calculated row overridden in one."""
    folder = tmp_path_factory.mktemp("sweep")
    scenarios = folder / "scenarios.csv"
    scenarios.write_text(
        "scenario,model,hardware,n_chips,batch,mesh_tensor,batch_tokens,read_bytes\n"
        "torus,gemma3-27b,tpu-v5p,64,128,4,2097152,\n"
        "switch,llama3-70b,h100-sxm,16,32,8,1048576,\n"
        "typed,mixtral-8x7b,tpu-v5e,16,32,1,1048576,7e10\n"
    )
    few = few_rows(("gemma3-27b", "llama3-70b", "mixtral-8x7b"), ("tpu-v5p", "h100-sxm", "tpu-v5e"))
    plan = plan_of([], [], TEMPLATES, scenarios, [], few)
    plan = replace(plan, comparison=plan.comparison[:6])
    path = folder / "plan.xlsx"
    path.write_bytes(build(plan))
    return path, plan


def tables(grid: Grid) -> Iterator[tuple[str, dict[str, str], list[int]]]:
    """Each table of Sweep: its axis, the column of each name (what is shown where it stands twice), and its rows."""
    sheet = grid["Sweep"]
    last = max(int(re.sub(r"\D", "", ref)) for ref in sheet)
    for row in range(1, last):
        axis = sheet.get(f"A{row}")
        if isinstance(axis, str) and f"{axis}.ratio" in (sheet.get(f"{column}{row}") for column in "BCDE"):
            columns = {str(value): ref.rstrip("0123456789") for ref, value in sheet.items()
                       if value and re.fullmatch(rf"[A-Z]+{row}", ref)}  # fmt: skip
            rows = []
            while isinstance(sheet.get(f"A{row + 1 + len(rows)}"), (int, float)):
                rows.append(row + 1 + len(rows))
            yield axis, columns, rows


def said_by(row: Row, shown: Container[str]) -> float:
    """How many of its unit one of the unit is in which the table shows a row."""
    is_scaled = row.name in shown and row.display not in ("", "%")
    return factor(row.display, row.unit) if is_scaled else 1.0


def differences(grid: Grid, plan: BuildPlan, chosen: BuildScenario) -> Iterator[str]:
    """Where a table differs from the array functions at the chosen scenario's values with the axis's in their place."""
    wanted = iter((sweep, axis) for sweep in plan.sweeps for axis in sweep.axes)
    for name, columns, rows in tables(grid):
        sweep, axis = next(wanted)
        assert axis.row.name == name
        assert rows
        template = sweep.template
        found = facts(template, chosen.model, chosen.hardware)
        own = {key: value for key, value in chosen.values.items() if key in template.by_name}
        given: dict[str, object] = {**own, name: np.array([grid["Sweep"][f"A{row}"] for row in rows])}
        for follower, formula in axis.follows.items():
            cells = [grid["Sweep"][f"{columns[follower]}{row}"] for row in rows]
            followers = [None if isinstance(cell, CellError) else cell for cell in cells]
            given[follower] = followers
            for row, number in zip(rows, followers, strict=True):
                value = followed(formula, template, {**own, name: grid["Sweep"][f"A{row}"]})
                assert value in (None, number)
        results = evaluate(template, found, given)
        for shown in columns.keys() & template.by_name.keys() - {name}:
            expected = np.broadcast_to(results[shown] / said_by(sweep.rows[shown], sweep.shown), len(rows))
            for row, number in zip(rows, expected.tolist(), strict=True):
                found = grid["Sweep"].get(f"{columns[shown]}{row}")
                if found is None and shown not in sweep.depends(axis):
                    continue  # the scenario's own, which the formulas read where it stands
                if not agree(found, None if number != number else number):
                    yield f"{template.name} over {name} in row {row}: {shown} is {found}, not {number}"


def chosen(path: Path, scenario: str, folder: Path, swept: Mapping[str, float]) -> Path:
    """The workbook with another scenario chosen on Dashboard, and cells typed on Sweep, recalculated."""
    package = Package.read(path)
    row = by_name(cached(path), "Dashboard")["shown_scenario"]
    type_in(package, "Dashboard", {f"D{row}": scenario})
    type_in(package, "Sweep", swept)
    recalculate(package)
    package.write(folder / "chosen.xlsx")
    return folder / "chosen.xlsx"


def test_the_tables(both: tuple[Path, BuildPlan]) -> None:
    """A table over batch, over context and over chips for serving, and over tokens, sequence and chips for training."""
    found = [axis for axis, _, _ in tables(cached(both[0]))]
    assert sorted(found) == sorted(axis for axes in AXES.values() for axis in axes)


@pytest.mark.parametrize("index", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_each_case_is_the_arrays(both: tuple[Path, BuildPlan], tmp_path: Path, index: int) -> None:
    """Every quantity of every case is what the array functions give, for whichever scenario is chosen."""
    path, plan = both
    scenario = plan.scenarios[index]
    grid = cached(path if index == 0 else chosen(path, scenario.id, tmp_path, {}))
    assert list(differences(grid, plan, scenario)) == []


@pytest.fixture(scope="module")
def typed(both: tuple[Path, BuildPlan], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It with the third scenario chosen, and two other batches swept."""
    path, plan = both
    _, _, rows = next(tables(cached(path)))
    swept = {f"A{rows[0]}": 3, f"A{rows[1]}": 5}
    return chosen(path, plan.scenarios[2].id, tmp_path_factory.mktemp("typed"), swept)


def test_an_analyst_sweeps_other_values(both: tuple[Path, BuildPlan], typed: Path) -> None:
    """Swept values are cells to type into: other ones give other cases, each what the array functions give.

    So they do for the third scenario, which overrides a calculated row: no table calculates that otherwise.
    """
    grid, (_, plan) = cached(typed), both
    axis, _, rows = next(tables(grid))
    assert (axis, grid["Sweep"][f"A{rows[0]}"]) == ("batch", 3)
    assert list(differences(grid, plan, plan.scenarios[2])) == []


def failing(sweep: Sweep, axis: Axis, chosen: BuildScenario, values: Sequence[float]) -> Iterator[list[str]]:
    """The checks of a plan that fail at each value of an axis, by the arrays; those that an axis moves come first."""
    template = sweep.template
    own = {name: value for name, value in chosen.values.items() if name in template.by_name}
    for value in values:
        given = {**own, axis.row.name: value}
        follows = {name: followed(formula, template, given) for name, formula in axis.follows.items()}
        found = evaluate(template, facts(template, chosen.model, chosen.hardware), {**given, **follows})
        yield [name for name in (*sweep.checks, *sweep.fixed_checks) if found.value(name) == 0]


@pytest.mark.parametrize("index", [0, 2])
def test_a_row_names_the_checks_that_fail_in_it(both: tuple[Path, BuildPlan], typed: Path, index: int) -> None:
    """A row of a plan that fails is red over its whole width, and says the first check that fails and how many more."""
    path, plan = both
    scenario = plan.scenarios[index]
    path = path if index == 0 else typed
    whole, sheet = cached(path), sheet_of(path, "Sweep")
    grid = whole["Sweep"]
    swept_along = iter((sweep, axis) for sweep in plan.sweeps for axis in sweep.axes)
    said, fine = set(), 0
    for _, columns, rows in tables(whole):
        sweep, axis = next(swept_along)
        told, count = columns["failed_checks.words"], columns["failed_checks.count"]
        words = columns[f"{sweep.bounds[0]}.words"]
        for row, names in zip(rows, failing(sweep, axis, scenario, [grid[f"A{row}"] for row in rows]), strict=True):
            text = str(grid.get(f"{told}{row}") or "")
            assert grid[f"{count}{row}"] == len(names)
            first = sweep.rows[names[0]].label if names else ""
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            assert text.removeprefix("Inference: ").removeprefix("Training: ") == first + more
            said.add(text)
            fine += not names
        reds = [str(area.sqref) for area in sheet.conditional_formatting
                if any(f"${count}{rows[0]}>0" in rule.formula[0] for rule in area.rules)]  # fmt: skip
        assert reds == [f"{words}{rows[0]}:{told}{rows[-1]}"]
    assert fine
    assert len(said) >= 4, said


def test_what_does_not_depend_on_an_axis_is_read_above(both: tuple[Path, BuildPlan]) -> None:
    """In the table over chips, what batch alone moves has no cell of its own: formulas read the scenario's value."""
    cells = parse_sheets(Package.read(both[0]))["Sweep"].cells
    looked = 0
    for axis, columns, rows in tables(cached(both[0])):
        if axis == "n_chips" and "read_bytes" in columns:
            read = cells.get(f"{columns['read_bytes']}{rows[0]}")
            assert read is None or read.formula is read.value is None
            one, other = r"\$?D\$\d+", r"[A-Z]+\d+"
            shared = f"\\({one}-{one}\\)/{other}\\+{one}/{other}"
            assert re.fullmatch(shared, cells[f"{columns['param_time']}{rows[0]}"].formula or "")
            assert "*" in (cells[f"{columns['group_bandwidth']}{rows[0]}"].formula or "")
            looked += 1
    assert looked == 1


def test_a_context_is_swept_with_its_prompts(both: tuple[Path, BuildPlan]) -> None:
    """Over the context the prompts are as long, so that a token takes longer; each expected number has its bound."""
    grid = cached(both[0])["Sweep"]
    for axis, columns, rows in tables(cached(both[0])):
        if axis == "context_len":
            assert [grid[f"{columns['prompt_len']}{row}"] for row in rows] == [grid[f"A{row}"] for row in rows]
        for name in ("time_per_output_token", "decode_step_time", "cost_per_million_tokens"):
            if f"{name}_expected" in columns:
                expected, bound = (
                    [grid[f"{columns[name + end]}{row}"] for row in rows] for end in ("_expected", "_bound")
                )
                assert all(
                    isinstance(one, float) and one >= least * (1 - 1e-9)
                    for one, least in zip(expected, bound, strict=True)
                )
                assert axis != "context_len" or sorted(expected) == expected


@pytest.mark.slow
@needs_libreoffice
def test_libreoffice_agrees_on_serving_and_training(both: tuple[Path, BuildPlan], tmp_path: Path) -> None:
    """LibreOffice computes every number and text of Sweep, Constraints, Training and Dashboard to the cached one."""
    grid, computed = cached(both[0]), recalculated(both[0], tmp_path)
    sheets = parse_sheets(Package.read(both[0]))
    compared = 0
    for name in ("Sweep", "Constraints", "Training", "Dashboard", "Checks"):
        for ref, cell in sheets[name].cells.items():
            if cell.formula is not None:
                value, theirs = grid[name][ref], computed[name].get(ref)
                assert agree(theirs, value if isinstance(value, (int, float, str)) else None), f"{name}!{ref}: {theirs}"
                compared += 1
    assert compared > 5000


def axis_row(unit: str, default: str = "1") -> Row:
    """An input to sweep."""
    return Row("some_input", "Some input", unit, "input", default)


def test_the_first_values_of_a_table() -> None:
    """Powers of two: chips from a quarter of the fewest to four times the most, else about the first value."""
    assert swept(axis_row("chip"), [{"some_input": 16}]) == [4, 8, 16, 32, 64]
    assert swept(axis_row("chip"), [{"some_input": 2}, {"some_input": 8192}]) == [2**power for power in range(16)]
    assert swept(axis_row("1"), [{"some_input": 8192}]) == [2**power for power in range(8, 19)]
    assert swept(axis_row("1"), [{"some_input": 3}]) == [2**power for power in range(11)]
    assert swept(axis_row("1"), [{"some_input": 1e308}]) == [2**power for power in range(11)]  # no plan can have it
    assert swept(axis_row("chip"), [{"some_input": 16}, {"some_input": 1e308}]) == [4, 8, 16, 32, 64]
    assert swept(axis_row("1", ""), [{}]) == [2**power for power in range(11)]


def test_every_name_of_the_data_is_a_row() -> None:
    """Each name in templates/sweep.csv is a row of its template or has a formula over such rows."""
    loaded = {name: library.load(name) for name in AXES}
    by_template = {sweep.template.name: sweep for sweep in sweeps(list(loaded.values()))}
    with (data.folder("templates") / "sweep.csv").open() as stream:
        for cells in csv.DictReader(stream):
            sweep = by_template[cells["template"]]
            assert cells["name"] in sweep.rows, cells["name"]
            if cells["kind"] == "axis":
                axis = next(axis for axis in sweep.axes if axis.row.name == cells["name"])
                assert bool(axis.follows) == bool(cells["formula"])


def test_a_template_that_includes_serving_is_swept(tmp_path: Path) -> None:
    """An analyst's own template that includes inference has the tables, with no Python written."""
    mine = tmp_path / "mine.csv"
    mine.write_text(
        "name,label,unit,kind,formula,source,note\n.,Serving,,include,inference(),,\n"
        "half_batch,Half of the batch,1,output,batch/doubling,mine,\n"
    )
    plan = plan_of(
        ["llama3-70b"], ["tpu-v5e"], [str(mine)], None, ["n_chips=16"], few_rows(("llama3-70b",), ("tpu-v5e",))
    )
    plan = smaller(plan)
    path = tmp_path / "plan.xlsx"
    path.write_bytes(build(plan))
    assert [sweep.template.name for sweep in plan.sweeps] == ["mine"]
    assert list(differences(cached(path), plan, plan.scenarios[0])) == []


@pytest.mark.parametrize(("workload", "drawn"), [("inference", {"inference"}), ("all", {"inference", "training"})])
def test_charts_are_of_the_workload_that_the_scenario_is_meant_for(
    both: tuple[Path, BuildPlan], tmp_path: Path, workload: str, drawn: set[str]
) -> None:
    """The chart data of training are N/A for a scenario that serves, its limits too; the shown columns are as ever."""
    path = tmp_path / "meant.xlsx"
    path.write_bytes(both[0].read_bytes())
    retype(path, workload=workload)
    resave(path)
    grid, before = cached(path), cached(both[0])
    found = set()
    for axis, columns, rows in tables(grid):
        (template,) = (
            name for name in AXES if axis in AXES[name] and ("batch_tokens" in columns) == (name == "training")
        )
        charts = [column for name, column in columns.items() if name.startswith("chart.")]
        numbers = [grid["Sweep"].get(f"{column}{row}") for column in charts for row in rows]
        if any(isinstance(number, float) for number in numbers):
            found.add(template)
        shown = [column for name, column in columns.items() if not name.startswith(("chart.", "drawn."))]
        assert all(
            grid["Sweep"].get(f"{column}{row}") == before["Sweep"].get(f"{column}{row}")
            for column in shown
            for row in rows
        )
    assert found == drawn
