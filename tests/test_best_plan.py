"""Which scenario Dashboard calls the cheapest that passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.catalog.databases import Databases
from tests.workbooks import by_name, cached, few_rows, write_scenarios

HEAD = "id,model,hardware,n_chips,batch,request_rate,prompt_len,generate_len,target_first_token_time,target_token_time"
FEW = few_rows(("llama3-70b", "llama3-8b"), ("h100-sxm", "h200-sxm", "tpu-v6e", "h20"))
FLEET = {
    "h100": "llama3-70b,h100-sxm,8,64,100,2000,500,1,0.04",
    "h200": "llama3-70b,h200-sxm,4,64,100,2000,500,1,0.04",
    "v6e": "llama3-70b,tpu-v6e,16,16,100,2000,500,1,0.04",
}


def dashboard(tmp_path: Path, **others: str) -> dict[str, list[object]]:
    """The lines of Dashboard by name, each with its values, of the fleet and other scenarios in its place."""
    return lines_of(tmp_path, ["fleet"], HEAD, {**FLEET, **others})


def lines_of(
    tmp_path: Path, templates: list[str], head: str, rows: dict[str, str], databases: Databases = FEW
) -> dict[str, list[object]]:
    """The lines of Dashboard by name of some templates, each with its values in the scenarios of some rows."""
    path = tmp_path / "fleet.xlsx"
    write_scenarios(path, [head, *(f"{name},{cells}" for name, cells in rows.items())], templates, databases)
    grid = cached(path)
    values = grid["Dashboard"]
    found = {
        name: [value for column in "FGHI" if (value := values.get(f"{column}{row}")) is not None]
        for name, row in by_name(grid, "Dashboard").items()
    }
    said = {name: [value] for name, value in (("told", values["F1"]), ("purpose", values["A2"]))}
    label = next(value for ref, value in values.items() if str(value).startswith("Against ") and ref.startswith("A"))
    return {**found, **said, "label": [label]}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    """Those of the fleet and of a plan that costs less and is too slow."""
    return dashboard(tmp_path_factory.mktemp("fleet"), h20="llama3-70b,h20,4,64,100,2000,500,1,0.001")


def test_the_cheapest_that_passes_is_marked_and_said_on_top(lines: dict[str, list[object]]) -> None:
    """Of three chips for one demand one is the cheapest, the others say how much dearer they are."""
    assert lines["verdict"][:3] == ["Fits"] * 3
    costs = [float(str(cost)) for cost in lines["cost_per_month"][:3]]
    least = min(costs)
    said = [f"{cost / least:.2f}x the cheapest's cost" if cost > least else "Cheapest that passes" for cost in costs]
    assert lines["verdict.beside"][:3] == said
    assert str(lines["told"][0]).startswith("Cheapest that passes: llama3-70b on h200-sxm, ")
    assert all("; asked 1,000" in str(words) for words in lines["first_token_time_loaded.said"][:3])


def test_the_cheapest_is_said_to_be_of_one_model_and_demand(lines: dict[str, list[object]]) -> None:
    """The line of which scenario is the cheapest says among which, and so does the head of the sheet."""
    assert lines["label"] == ["Against the same model and demand"]
    assert str(lines["purpose"][0]).endswith(" Cheapest is among the scenarios of one model and demand.")


def test_what_misses_a_target_is_not_the_cheapest(lines: dict[str, list[object]]) -> None:
    """A cheaper plan that is too slow does not pass."""
    assert lines["verdict.beside"][3] == "Does not pass"
    assert lines["verdict.beside"][1] == "Cheapest that passes"


def test_what_has_no_cost_is_not_said_to_fail(tmp_path: Path) -> None:
    """A chip without a price fits and fails no check; of one without memory nothing can be told, nor what to change."""
    chips = tmp_path / "chips.csv"
    chips.write_text(
        "id,kind,peak_bf16,hbm_bytes,hbm_bandwidth,network,scaleup_bandwidth,max_chips,price_per_chip_hour\n"
        "priced,gpu,1e15,80e9,3e12,switch,450e9,8,4\nunpriced,gpu,1e15,80e9,3e12,switch,450e9,8,\n"
        "blank,gpu,1e15,,3e12,switch,450e9,8,4\nsmall,gpu,1e15,4e9,3e12,switch,450e9,8,4\n",
        encoding="utf-8",
    )
    rows = {name: f"llama3-8b,{name},2,8" for name in ("priced", "unpriced", "blank", "small")}
    databases = Databases(FEW.models_csv, chips, only=True)
    lines = lines_of(tmp_path, ["inference"], "id,model,hardware,n_chips,batch", rows, databases)
    assert lines["verdict"] == ["Fits", "Fits; numbers are missing", "Can't be told", "Does not fit"]
    assert lines["verdict.beside"] == ["Cheapest that passes", "No cost to compare", "Can't be told", "Does not pass"]
    assert lines["verdict.change"][2] == "Can't be told"


def test_another_demand_is_another_problem(tmp_path: Path) -> None:
    """Scenarios that are asked for something else, or of another model, are not compared."""
    lines = dashboard(
        tmp_path, h200="llama3-70b,h200-sxm,4,64,50,2000,500,1,0.04", v6e="llama3-8b,tpu-v6e,16,16,100,2000,500,1,0.04"
    )
    assert not any(lines["verdict.beside"])
    assert not lines["told"][0]


def test_two_problems_have_a_cheapest_each(tmp_path: Path) -> None:
    """The first screen points to them instead of naming the first, which may cost more than another problem's."""
    lines = dashboard(tmp_path, h20="llama3-70b,h20,8,64,50,2000,500,1,0.04", v6e=FLEET["v6e"].replace(",100,", ",50,"))
    assert sorted(lines["verdict.beside"]).count("Cheapest that passes") == 2
    assert lines["told"] == ["Cheapest that passes: marked below"]


def test_scenarios_of_another_workload_are_no_rivals(tmp_path: Path) -> None:
    """The only scenario of training is not called the cheapest beside one of serving with the same model."""
    lines = lines_of(tmp_path, ["training", "inference"], "id,model,hardware,workload,n_chips,batch_tokens", {
        "trained": "llama3-8b,h100-sxm,training,64,1048576",
        "served": "llama3-8b,h100-sxm,inference,8,",
    })  # fmt: skip
    assert lines["verdict"][0] == "Fits"
    assert not any(lines["verdict.beside"])
