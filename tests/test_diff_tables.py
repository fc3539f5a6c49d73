"""`planner diff` of sheets with several tables, each with columns of its own: Operations and Sweep."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.commands import invoked
from tests.swept_serving import SWEPT
from tests.workbooks import few_rows


@pytest.mark.usefixtures("swept_serve")
def test_a_column_that_came_is_told_once_and_moves_no_other(tmp_path: Path) -> None:
    """A row of the template that the tables of Sweep work with stands in a column of each, before others: it is told in
    one line, and only the formulas that read it were edited. They are named by case and column.
    """
    own, old, new = tmp_path / "serve.csv", tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    row = next(line for line in SWEPT.splitlines() if line.startswith("kv_time,"))
    formula = row.split(",")[4]
    first = f"cache_time,Time of the cache,s,calc,{formula},test,"
    for path, now in ((old, row), (new, f"{first}\n{row.replace(formula, 'cache_time+cache_time-cache_time')}")):
        own.write_text(SWEPT.replace(row, now), encoding="utf-8")
        databases = few_rows(("llama3-8b",), ("tpu-v5e",))
        plan = plan_of(("llama3-8b",), ("tpu-v5e",), (str(own),), None, (), databases)
        path.write_bytes(build(replace(plan, comparison=plan.comparison[:3])))
    found = json.loads(invoked("diff", "--json", old, new)[1])
    names = {change["name"].partition("].")[2] or change["name"] for change in found["formulas"]}
    assert names == {"kv_time"}
    assert {change["name"].partition(" ")[0] for change in found["formulas"]} == {
        "kv_time", "Sweep[batch", "Sweep[context_len", "Sweep[n_chips",
    }  # fmt: skip
    (column,) = (change for change in found["structure"] if change["what"] == "column")
    assert (column["sheet"], column["name"]) == ("Sweep", "Time of the cache (s)")
    assert column["at"].endswith(" more tables")
    assert not [change for change in found["cells"] if change["cell"].startswith("Sweep")]
    assert "  written anew by planner: Sweep " in invoked("diff", old, new)[1]
    edited = [line for line in invoked("diff", "--all", old, new)[1].splitlines() if ", edited: " in line]
    assert len(edited) < len(found["formulas"]) / 3
    assert any("; so in " in line for line in edited)
