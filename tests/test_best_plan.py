"""Which scenario Dashboard calls the cheapest that passes."""

from __future__ import annotations

from pathlib import Path

import openpyxl

from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.workbooks import few_rows, smaller

HEAD = "id,model,hardware,n_chips,batch,request_rate,prompt_len,generate_len,target_first_token_time,target_token_time"
FEW = few_rows(("llama3-70b", "llama3-8b"), ("h100-sxm", "h200-sxm", "tpu-v6e", "h20"))
FLEET = {
    "h100": "llama3-70b,h100-sxm,8,64,100,2000,500,1,0.04",
    "h200": "llama3-70b,h200-sxm,4,64,100,2000,500,1,0.04",
    "v6e": "llama3-70b,tpu-v6e,16,16,100,2000,500,1,0.04",
}


def dashboard(tmp_path: Path, **others: str) -> dict[str, list[object]]:
    """The lines of Dashboard by name, each with its values, of the fleet and other scenarios in its place."""
    scenarios, path = tmp_path / "fleet.csv", tmp_path / "fleet.xlsx"
    lines = (f"{name},{cells}" for name, cells in {**FLEET, **others}.items())
    scenarios.write_text("\n".join([HEAD, *lines]), encoding="utf-8")
    path.write_bytes(build(smaller(plan_of((), (), ["fleet"], scenarios, (), FEW))))
    sheet = openpyxl.load_workbook(path, data_only=True)["Dashboard"]
    found = {
        str(row[2].value): [cell.value for cell in row[5:9] if cell.value is not None] for row in sheet.iter_rows()
    }
    return {**found, "told": [sheet["F1"].value]}


def test_the_cheapest_that_passes_is_marked_and_said_on_top(tmp_path: Path) -> None:
    """Of three chips for one demand one is the cheapest, the others say how much dearer they are."""
    lines = dashboard(tmp_path)
    assert lines["verdict"] == ["Fits"] * 3
    costs = [float(str(cost)) for cost in lines["cost_per_month"]]
    least = min(costs)
    said = [f"{cost / least:.2f}x the cheapest's cost" if cost > least else "Cheapest that passes" for cost in costs]
    assert lines["verdict.beside"] == said
    assert str(lines["told"][0]).startswith("Cheapest that passes: llama3-70b on h200-sxm, ")
    assert all("; asked 1,000" in str(words) for words in lines["first_token_time_loaded.said"])


def test_what_misses_a_target_is_not_the_cheapest(tmp_path: Path) -> None:
    """A cheaper plan that is too slow does not pass."""
    lines = dashboard(
        tmp_path, h200="llama3-70b,h200-sxm,4,64,100,2000,500,1,0.04", h20="llama3-70b,h20,4,64,100,2000,500,1,0.001"
    )
    assert lines["verdict.beside"][3] == "Does not pass"
    assert lines["verdict.beside"][1] == "Cheapest that passes"


def test_another_demand_is_another_problem(tmp_path: Path) -> None:
    """Scenarios that are asked for something else, or of another model, are not compared."""
    lines = dashboard(
        tmp_path, h200="llama3-70b,h200-sxm,4,64,50,2000,500,1,0.04", v6e="llama3-8b,tpu-v6e,16,16,100,2000,500,1,0.04"
    )
    assert not any(lines["verdict.beside"])
    assert not lines["told"][0]
