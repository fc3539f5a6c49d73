"""What a scenario is meant for: training or serving, and which checks count in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.check.run import check
from planner.errors import UserError
from planner.progress import say_warnings
from planner.workbook.book import build
from planner.workbook.build_plan import BuildPlan
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from planner.xlsx.xmltree import every
from tests.workbooks import Grid, by_name, cached, few_rows, resave, retype, write_scenarios, write_small

HEADING = re.compile("(Training|Inference): (over|cost) ")
BOTH = ("transformer", "training", "inference")


def plan(*settings: str) -> BuildPlan:
    """A workbook that trains and serves, with these settings."""
    return plan_of(["llama3-70b"], ["tpu-v5e"], BOTH, None, settings)


def value(grid: Grid, sheet: str, name: str) -> object:
    """A row's value in the first scenario."""
    return grid[sheet][f"F{by_name(grid, sheet)[name]}"]


@pytest.mark.parametrize(
    ("settings", "meant"),
    [
        (["n_chips=16"], "inference"),
        (["batch=32"], "inference"),
        (["mesh_tensor=4"], "training"),
        (["batch=32", "mesh_tensor=4"], "all"),
        (["batch=32", "workload=Training"], "training"),
    ],
)
def test_what_a_scenario_is_meant_for(settings: list[str], meant: str) -> None:
    """A scenario is meant for the workload whose own inputs it sets, for all where it sets both, else for serving."""
    assert plan(*settings).scenarios[0].values["workload"] == meant


def test_an_unknown_workload_is_refused() -> None:
    """A workload that the workbook hasn't is one line."""
    with pytest.raises(UserError, match="no such choice"):
        plan("workload=serving")


def test_a_workbook_of_one_workload_has_no_choice() -> None:
    """Without training there is nothing to choose, and no row for it."""
    alone = plan_of(["llama3-70b"], ["tpu-v5e"], ("transformer", "inference"), None, ["n_chips=16"])
    assert "workload" not in alone.inputs
    assert "workload" not in alone.scenarios[0].values


@pytest.mark.parametrize(
    ("settings", "sheets"),
    [
        (["n_chips=16"], ["Transformer", "Inference", "Collectives"]),
        (["mesh_tensor=4"], ["Transformer", "Training", "Collectives"]),
        (["workload=training"], ["Transformer", "Training", "Collectives"]),
        (["batch=32", "mesh_tensor=4"], ["Transformer", "Training", "Inference", "Collectives"]),
        (["workload=all"], ["Transformer", "Training", "Inference", "Collectives"]),
    ],
)
def test_a_plan_has_the_sheets_of_its_workloads(settings: list[str], sheets: list[str]) -> None:
    """Without `--template` a workbook has no sheet, and no input, of a workload that no scenario is meant for."""
    made = plan_of(["llama3-70b"], ["tpu-v5e"], (), None, settings)
    assert list(made.sheets.values()) == sheets
    assert ("seq_len" in made.inputs) == ("Training" in sheets)
    assert ("batch" in made.inputs) == ("Inference" in sheets)
    assert ("workload" in made.inputs) == ({"Training", "Inference"} <= set(sheets))
    made.check_values()


def test_without_arguments_a_workbook_trains_and_serves() -> None:
    """The default scenarios are of both workloads."""
    assert [*plan_of((), (), (), None, ()).sheets] == ["transformer", "training", "inference", "collectives"]


@pytest.mark.parametrize(
    ("templates", "workloads", "expected"),
    [
        ((), ("inference", ""), ["transformer", "inference", "collectives"]),
        ((), ("Training", "training"), ["transformer", "training", "collectives"]),
        ((), ("training", "inference"), ["transformer", "training", "inference", "collectives"]),
        (("inference",), ("inference", "inference"), ["inference"]),
        (("inference",), ("training", ""), ["training", "inference"]),
        (("transformer",), ("all", ""), ["transformer"]),
        (("matmul",), ("training", "training"), ["training", "matmul"]),
    ],
)
def test_the_workload_of_a_csv_decides(
    tmp_path: Path, templates: tuple[str, ...], workloads: tuple[str, str], expected: list[str]
) -> None:
    """Every set of templates takes the column `workload`, and has the workloads that it names."""
    path = tmp_path / "scenarios.csv"
    lines = (f"s{at},llama3-70b,tpu-v5e,{meant}" for at, meant in enumerate(workloads))
    path.write_text("\n".join(["scenario,model,hardware,workload", *lines]))
    made = plan_of((), (), templates, path, ())
    assert [template.name for template in made.templates] == expected
    made.check_values()


def test_what_is_typed_for_a_workload_that_is_left_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A column of training in a CSV of scenarios that all serve is left out with a warning that names it."""
    path = tmp_path / "scenarios.csv"
    path.write_text("scenario,model,hardware,workload,seq_len,batch\na,llama3-70b,tpu-v5e,inference,4096,8\n")
    made = plan_of((), (), (), path, ())
    say_warnings()
    assert "no scenario is meant for training, so seq_len is left out: workload=all keeps" in capsys.readouterr().err
    assert made.scenarios[0].values == {"batch": 8}


def test_the_mesh_follows_the_chips() -> None:
    """A scenario that names no FSDP ways has those that its chips and other ways leave, if it is a whole number."""
    assert plan("n_chips=64", "mesh_tensor=4").scenarios[0].values["mesh_fsdp"] == 16
    assert plan("n_chips=64", "mesh_fsdp=2").scenarios[0].values["mesh_fsdp"] == 2
    assert "mesh_fsdp" not in plan("n_chips=6", "mesh_tensor=4").scenarios[0].values


@pytest.mark.slow
def test_checks_of_another_workload_are_not_counted(tmp_path: Path) -> None:
    """A model that could not be trained on its chips fails no check of a scenario that serves, but of one that trains.

    Both are calculated; the choice is a cell of Inputs, and the workbook is clean either way.
    """
    path = tmp_path / "plan.xlsx"
    path.write_bytes(build(plan("n_chips=16", "batch=32", "context_len=4096", "weight_dtype=int8")))
    grid = cached(path)
    assert value(grid, "Training", "fits_memory") == 0
    assert value(grid, "Checks", "training.fits_memory") == "-"
    assert value(grid, "Checks", "inference.check_fits_memory") == 1
    assert value(grid, "Checks", "checks.failed") == 0
    assert not [found for found in check(Package.read(path)).found if found.rule in (12, 15, 21, 27)]
    retype(path, workload="training")
    resave(path)
    grid = cached(path)
    assert value(grid, "Checks", "training.fits_memory") == 0
    assert value(grid, "Checks", "inference.check_fits_memory") == "-"
    assert value(grid, "Training", "fits_memory_at_work") == 0
    assert value(grid, "Checks", "checks.failed") == 2


def test_a_blank_input_of_another_workload_is_not_noted(tmp_path: Path) -> None:
    """Requests a second are asked of a fleet, not of a training run beside it."""
    path, few = tmp_path / "plan.xlsx", few_rows(("llama3-8b",), ("h100-sxm",))
    lines = ["id,model,hardware,workload", "served,llama3-8b,h100-sxm,fleet", "run,llama3-8b,h100-sxm,goodput"]
    write_scenarios(path, lines, ["fleet", "goodput"], few)
    said = [found.what for found in check(Package.read(path)).found if "request_rate" in found.what]
    assert len(said) == 1
    assert said[0].startswith("request_rate of served is blank")


@pytest.fixture(scope="module", name="both")
def fixture_both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook that trains and serves."""
    path = tmp_path_factory.mktemp("both") / "plan.xlsx"
    write_small(path, ["llama3-70b"], ["tpu-v5e"], BOTH, n_chips=16, context_len=2048, seq_len=8192)
    return path


def test_a_typed_input_is_no_override_elsewhere(both: Path) -> None:
    """The context that serving types is not that of training, which binds it to its sequence length."""
    grid = cached(both)
    assert value(grid, "Inference", "context_len") == 2048
    assert value(grid, "Training", "context_len") == 8192


def test_what_a_scenario_is_not_meant_for_stands_back(both: Path) -> None:
    """On Dashboard the headlines of a workload are pale in the columns whose choice is another; no others are."""
    package, rows = Package.read(both), by_name(cached(both), "Dashboard")
    cells = parse_sheets(package)["Dashboard"].cells
    lines = {cell.value: ref[1:] for ref, cell in cells.items() if ref[0] == "A"}
    told = {workload: lines[workload.capitalize()] for workload in ("training", "inference")}
    for workload, line in told.items():
        meant = f'OR(F{rows["workload"]}="{workload}",F{rows["workload"]}="all")'
        assert cells[f"F{line}"].formula == f'IF({meant},"","not meant for it")'
    grey = {f'F${line}<>""' for line in told.values()}
    areas = [area for found in every(package.tree(package.sheets()["Dashboard"]), "conditionalFormatting")
             if grey & {rule.text for rule in every(found, "formula")}
             for area in found.get("sqref").split()]  # fmt: skip
    assert len(areas) == len(told)
    spans = [[int(row) for row in re.findall(r"\d+", area)] for area in areas]
    for name, is_grey in (("n_params_total", False), ("step_time_expected", True), ("decode_step_time_expected", True)):
        assert any(span[0] <= rows[name] <= span[-1] for span in spans) == is_grey


@pytest.mark.parametrize("workload", ["training", "inference", "all"])
def test_sheets_of_the_chosen_scenario_say_what_it_is_not_meant_for(both: Path, tmp_path: Path, workload: str) -> None:
    """Headings of Sweep and Sensitivity say it; the roofline is that of a step of its workload."""
    path = tmp_path / "meant.xlsx"
    path.write_bytes(both.read_bytes())
    retype(path, workload=workload)
    resave(path)
    grid = cached(path)
    says = f"not meant for it: {grid['Roofline']['B4']} is for {workload}"
    for name in ("Sweep", "Sensitivity"):
        found = {ref: HEADING.match(str(text)) for ref, text in grid[name].items()}
        headings = {ref[1:]: heading[1].lower() for ref, heading in found.items() if heading}
        assert set(headings.values()) == {"training", "inference"}
        for at, template in headings.items():
            told = [text for ref, text in grid[name].items() if re.fullmatch(rf"[B-Z]+{at}", ref) and text]
            assert told == ([says] if workload not in (template, "all") else [])
    assert grid["Roofline"]["B5"] == ("training" if workload == "training" else "decode")
    (total,) = [ref for ref, text in grid["Roofline"].items() if text == "Operations at their bounds"]
    spent = value(grid, "Training", "work_part_time")
    assert (grid["Roofline"][f"I{total[1:]}"] > 1000 * spent) == (workload == "training")  # type: ignore[operator]


@pytest.mark.parametrize("workload", ["training", "inference"])
def test_the_sweeps_of_the_first_scenario_lead(workload: str) -> None:
    """Of a workbook of both workloads the tables of the scenario that is shown at first stand above the others."""
    names = [sweep.template.name for sweep in plan(f"workload={workload}").sweeps]
    assert sorted(names) == ["inference", "training"]
    assert names[0] == workload
