"""What the chosen scenario costs if its price or its efficiency moves, on its sheet and in a report."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase

import pytest

from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.formulas.sweeps import what_ifs
from tests.commands import command
from tests.libreoffice import needs_libreoffice, recalculated
from tests.workbooks import cached, write_small

SETTINGS = {"n_chips": 8.0, "batch": 64.0, "request_rate": 100.0, "prompt_len": 2000.0, "generate_len": 500.0}
TITLE = "Efficiency times"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of one scenario."""
    path = tmp_path_factory.mktemp("sensitivity") / "fleet.xlsx"
    write_small(path, ["llama3-70b"], ["h100-sxm"], ["fleet"], **SETTINGS)
    return path


def table(path: Path) -> tuple[list[float], dict[float, dict[str | float, float]]]:
    """The price factors, and by efficiency factor each number: by its title, or by factor of the price."""
    cells = cached(path)["Sensitivity"]
    top = next(int(ref[1:]) for ref, value in cells.items() if ref[0] == "A" and value == TITLE)
    columns = [
        ref.rstrip("0123456789") for ref, value in cells.items() if ref.lstrip(ascii_uppercase) == str(top) and value
    ]
    heads = [cells.get(f"{column}{top + 1}") or cells[f"{column}{top}"] for column in columns]
    last = max(int(ref.lstrip(ascii_uppercase)) for ref in cells)
    rows = ([cells.get(f"{column}{row}") for column in columns] for row in range(top + 2, last + 1))
    found = {row[0]: dict(zip(heads[1:], row[1:], strict=True)) for row in rows if row[0]}
    return [head for head in heads if isinstance(head, (int, float))], found


def test_where_both_factors_are_1_it_is_the_plan(fleet: Path) -> None:
    """The cell of the plan is the month's cost that the template gives, in million USD."""
    template = library.load("fleet")
    results = evaluate(template, facts(template, "llama3-70b", "h100-sxm"), SETTINGS)
    cost = results.number("cost_per_month")
    assert cost is not None
    assert table(fleet)[1][1][1] == pytest.approx(cost / 1e6, rel=1e-12)


def test_a_cost_moves_with_its_price_and_by_whole_replicas(fleet: Path) -> None:
    """Twice the price is twice the cost; chips are whole replicas of 8."""
    prices, rows = table(fleet)
    for row in rows.values():
        assert all(row[price] == pytest.approx(price * row[1], rel=1e-12) for price in prices)
        assert row["Chips of the fleet (chips)"] % 8 == 0


def test_no_efficiency_is_below_the_bound(tmp_path: Path) -> None:
    """An efficiency of 2 would be below the bound of a run: time and cost stay at the bound, and the table says so."""
    path = write_small(tmp_path / "run.xlsx", ["llama3-70b"], ["h100-sxm"], ["training"], n_chips=512, stack="ideal")
    rows = table(path)[1]
    days = [row["Time of the run (days)"] for row in rows.values()]
    assert [row["At the bound"] for row in rows.values()] == [factor >= 1 for factor in rows]
    assert min(days) == pytest.approx(rows[1]["Time of the run (days)"], rel=1e-12)


@needs_libreoffice
@pytest.mark.slow
def test_libreoffice_agrees(fleet: Path, tmp_path: Path) -> None:
    """Every number of the sheet is the same in LibreOffice."""
    theirs = recalculated(fleet, tmp_path)["Sensitivity"]
    for cell, value in cached(fleet)["Sensitivity"].items():
        if isinstance(value, float):
            assert theirs[cell] == pytest.approx(value, rel=1e-12), cell


def test_every_what_if_is_of_a_template() -> None:
    """Each workload and what includes one has a cost that both factors move."""
    templates = [library.load(name) for name in ("inference", "training", "fleet", "goodput")]
    found = {each.template.name: each for each in what_ifs(templates)}
    for template in templates:
        cost = found[template.name].rows["what_if_cost"]
        assert "price_factor" in cost.reads
        assert cost.unit == "USD"


def test_a_report_has_the_table(fleet: Path, tmp_path: Path) -> None:
    """A Markdown report has a row for each factor of the efficiency, and a column for each of the price."""
    page = tmp_path / "fleet.md"
    command("report", fleet, "-o", page)
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = next(line for line in lines if line.startswith(f"| {TITLE} |"))
    assert "| Price times 0.5 | Price times 0.75 |" in titles
    assert sum(line.count("|") == titles.count("|") for line in lines[lines.index(titles) :]) >= 10
