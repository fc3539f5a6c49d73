"""Rows that several templates of a workbook have in common: computed once, called up where they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planner.check.run import check
from planner.formulas import library
from planner.formulas.template import Template
from planner.workbook.book import build
from planner.workbook.build_plan import BuildPlan
from planner.workbook.scenarios import plan_of
from planner.workbook.template_rows import included_first, same_rows, shares
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets
from tests.workbooks import build_small, by_name, cached, few_rows

FEW = few_rows(("llama3-70b",), ("tpu-v5p",))

Write = Callable[..., Path]
BASE = ("size_2 1 input 2", "rate_2 1 constant 3", "area_2 1 output size_2*size_2*rate_2", "ring_2 1 calc area_2+1")


def loaded(write: Write, *mine: str, **others: list[str]) -> tuple[Template, Template]:
    """A base template and one that includes it."""
    write(*BASE, name="base")
    for name, rows in others.items():
        write(*rows, name=name)
    path = write(*mine, name="mine")
    return library.load(path.with_name("base.csv")), library.load(path)


def test_what_is_the_same_is_shared(write: Write) -> None:
    """An included row is the base's, an output too; the sheet shows its own rows and those that they read."""
    base, mine = loaded(write, ". . include base()", "more_2 1 output area_2*rate_2")
    found = shares([base, mine])["mine"]
    assert {name for name, owner in found.owners.items() if owner == "base"} == set(base.by_name)
    assert [row.name for row in found.shown] == ["rate_2", "area_2", "more_2"]
    assert shares([base, mine])["base"].owners == {}


def test_what_follows_a_bound_input_is_computed_again(write: Write) -> None:
    """A row that is made of an input bound otherwise means something else, and stays on the including sheet."""
    base, mine = loaded(write, "side_2 1 input 5", ". . include base(size_2=side_2)", "more_2 1 output area_2")
    assert same_rows(mine, base) == {"rate_2"}
    assert {"size_2", "area_2", "ring_2"} <= {row.name for row in shares([base, mine])["mine"].shown}


def test_a_template_alone_shows_everything(write: Write) -> None:
    """Without the included template's sheet, all rows are on the template's own."""
    _, mine = loaded(write, ". . include base()", "more_2 1 output area_2*rate_2")
    assert shares([mine])["mine"].shown == mine.rows


def test_a_template_of_nothing_but_an_include(write: Write) -> None:
    """A template that adds nothing still has a sheet, of rows called up."""
    base, mine = loaded(write, ". . include base()")
    assert shares([base, mine])["mine"].shown == mine.rows


def test_each_row_is_computed_by_the_first_that_has_it(write: Write) -> None:
    """Of three templates in a row, the third calls the first's rows up from the first, the second's from the second."""
    base, mine = loaded(write, ". . include base()", "more_2 1 output area_2*rate_2")
    third = library.load(write(". . include mine()", "most_2 1 output more_2+ring_2", name="third"))
    owners = shares([base, mine, third])["third"].owners
    assert (owners["more_2"], owners["ring_2"]) == ("mine", "base")


def test_the_included_comes_first(write: Write) -> None:
    """Templates in whatever order: each stands behind what it contains, so that references point backward."""
    base, mine = loaded(write, ". . include base()", "more_2 1 output area_2")
    assert [template.name for template in included_first([mine, base])] == ["base", "mine"]
    assert [template.name for template in included_first([base, mine])] == ["base", "mine"]
    third = library.load(write(". . include mine()", "most_2 1 output more_2", name="third"))
    for given in ([third, mine, base], [third, base, mine], [mine, third, base]):
        assert [template.name for template in included_first(given)] == ["base", "mine", "third"]


@pytest.fixture(name="of_three", scope="module")
def fixture_of_three(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuildPlan, Path]:
    """A plan of three templates, of which one is included in the others, and its workbook."""
    path: Path = tmp_path_factory.mktemp("three") / "plan.xlsx"
    plan = plan_of(["llama3-70b"], ["tpu-v5p"], ["inference", "training", "transformer"], None,
                   ["n_chips=16", "n_moe_layers=100", "n_experts=8", "workload=inference"], FEW)  # fmt: skip
    path.write_bytes(build_small(plan))
    return plan, path


def test_every_row_of_every_template_is_in_the_workbook(of_three: tuple[BuildPlan, Path]) -> None:
    """Each row of a template stands on its sheet or on that of a template it includes, and is computed on one."""
    plan, path = of_three
    sheets = {template.name: by_name(cached(path), plan.sheets[template.name]) for template in plan.templates}
    live = parse_sheets(Package.read(path))
    assert [template.name for template in plan.templates] == ["transformer", "inference", "training"]
    for template in plan.templates:
        owners = plan.shares[template.name].owners
        for row in template.rows:
            assert row.name in sheets[template.name] or row.name in sheets[owners[row.name]]
            if row.name in sheets[template.name] and row.name in owners and row.kind not in ("input", "constant"):
                cell = live[plan.sheets[template.name]].cells[f"F{sheets[template.name][row.name]}"]
                home = plan.sheets[owners[row.name]]
                assert cell.formula == f"{home}!F{sheets[owners[row.name]][row.name]}"


def test_a_failed_check_counts_once(of_three: tuple[BuildPlan, Path]) -> None:
    """A failed check of the model is one failed check, although serving and training include the model."""
    grid = cached(of_three[1])
    rows = by_name(grid, "Checks")
    checks = [
        (name, row)
        for name, row in rows.items()
        if row < rows["checks.failed"] and not name.startswith(("missing.", "checks."))
    ]
    failing = [name for name, row in checks if grid["Checks"].get(f"F{row}") == 0]
    assert sum(name.endswith("check_moe_layers") for name in failing) == 1
    assert grid["Checks"][f"F{rows['checks.failed']}"] == len(failing)


@pytest.mark.slow
def test_an_override_is_honoured_where_it_is_called_up(tmp_path: Path) -> None:
    """A number typed over a shared row moves the sheets that call it up, and the workbook stays clean."""
    path = tmp_path / "plan.xlsx"
    plan = plan_of(["llama3-70b"], ["tpu-v5p"], [], None, ["n_chips=16", "weight_bytes=1e9"])
    path.write_bytes(build(plan))
    grid = cached(path)
    for sheet in ("Transformer", "Inference"):
        assert grid[sheet][f"F{by_name(grid, sheet)['weight_bytes']}"] == 1e9
    assert not [found for found in check(Package.read(path)).found if found.rule == 21]
