"""Every workbook that planner builds has the form that its design asks for; each rule of it fails on a seeded fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.book.problem_book import open_book
from planner.catalog.databases import Databases
from planner.teaching.lesson import build as build_problems
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import address
from planner.xlsx.opc import Package
from tests.book_problems import BOOK, text
from tests.built_form import FORM
from tests.seeded import Seeded, fixture_built, fixture_plan, fixture_rows
from tests.test_cases import read
from tests.workbooks import build_small, built, few_rows, small

__all__ = ["fixture_built", "fixture_plan", "fixture_rows"]  # fixtures that pytest finds here

OWN = """name,label,unit,kind,formula,source,note
.,Training,,include,training(),,
budget,Money for the run,USD,input,25000000,The plan's owner,
reserve,Share that is kept back,1,input,0.1,The plan's owner,
run_cost,Cost with a reserve,USD,output,train_cost+budget*reserve,,
check_budget,The run is within the budget,1,check,"IF(run_cost<=budget,1,0)",,
"""


def problems(folder: Path) -> bytes:
    """The workbook of worked problems, with the first of each template."""
    rows = read(BOOK)
    first = {row["template"]: row for row in reversed(rows)}
    path = folder / "problems.csv"
    path.write_text(text([row for row in rows if row in first.values()]), encoding="utf-8")
    return build_problems(Databases(), path)[0]


def many_scenarios(folder: Path) -> bytes:
    """Eight scenarios."""
    models, chips = ("llama3-70b", "mixtral-8x7b"), ("tpu-v5e", "tpu-v5p", "tpu-v6e", "h100-sxm")
    return small(models, chips, (), ("inference",))[1]


def own_template(folder: Path) -> bytes:
    """A template of a person's own."""
    path = folder / "own.csv"
    path.write_text(OWN, encoding="utf-8")
    few = few_rows(("llama3-70b",), ("tpu-v5p",))
    return build_small(plan_of(["llama3-70b"], ["tpu-v5p"], [str(path)], None, ["n_chips=64"], few))


def default(folder: Path) -> bytes:
    """What `planner build` writes."""
    return built()[1]


@pytest.mark.parametrize("make", [default, problems, many_scenarios, own_template])
def test_a_built_workbook_has_its_form(make: object, tmp_path: Path) -> None:
    """None of the rules of form finds anything."""
    assert callable(make)
    book = open_book(Package.from_bytes(make(tmp_path), "plan.xlsx"))
    assert {number: list(rule(book)) for number, rule in FORM.items()} == {number: [] for number in FORM}


def test_a_number_in_a_cell(plan: Seeded) -> None:
    """A formula of any sheet has no number but 0, 1 and 2, and is not long."""
    plan.change(plan.part("Roofline"), r"<f>SUM\(", "<f>3+SUM(")
    (found,) = breaches(plan, 13)[13]
    assert found.startswith("Roofline!")
    assert ": 3 in 3+SUM(" in found


def breaches(plan: Seeded, *numbers: int) -> dict[int, list[str]]:
    """What the rules of form find, but for those that find nothing; of the numbers alone where some are given."""
    book = open_book(plan.package)
    found = {number: list(FORM[number](book)) for number in numbers or FORM}
    return {number: each for number, each in found.items() if each}


def styled(plan: Seeded, sheet: str, ref: str, like: str, at: str) -> None:
    """Give a cell the style of another sheet's cell."""
    xml = plan.package.parts[plan.part(like)].decode()
    (style,) = re.findall(rf'<c r="{at}" s="(\d+)"', xml)
    plan.change(plan.part(sheet), rf'<c r="{ref}" s="\d+"', f'<c r="{ref}" s="{style}"')


def test_a_cover_that_says_too_little(plan: Seeded) -> None:
    """2: Cover without its version."""
    values = open_book(plan.package).sheets["Cover"].values
    plan.type("Cover", address(*next(at for at, value in values.items() if value == "Version")), None)
    assert breaches(plan, 2) == {2: ["Cover doesn't say Version"]}


def test_a_link_that_is_gone(plan: Seeded) -> None:
    """3: a sheet whose A1 doesn't link back to Cover."""
    plan.change(plan.part("Hardware"), r'<hyperlink [^>]*ref="A1"[^>]*/>', '<hyperlink ref="A2" location="Cover!A1"/>')
    assert breaches(plan) == {3: ["Hardware!A1: no link back to Cover"]}


def test_a_name_that_needs_quotes(plan: Seeded) -> None:
    """5: a sheet whose name has a blank."""
    plan.change(plan.package.workbook_part(), 'name="Log"', 'name="The log"')
    assert breaches(plan, 5) == {5: ["The log needs quotes"]}


def test_panes_frozen_elsewhere(plan: Seeded) -> None:
    """7: a calculation sheet whose panes are frozen at another cell."""
    plan.change(plan.part("Inference"), 'topLeftCell="F8"', 'topLeftCell="B2"')
    assert breaches(plan) == {7: ["Inference!F8: panes are frozen at ['B2']"]}


def test_a_blank_column(plan: Seeded) -> None:
    """8: a database's column without a title."""
    plan.type("Hardware", "C5", None)
    assert breaches(plan, 8) == {8: ["Hardware!C5: a blank column"]}


@pytest.mark.parametrize("factor", ["1.1", "2", "(1/1)"])
def test_a_number_in_a_formula(plan: Seeded, factor: str) -> None:
    """13: a number that is no row, or an operator between two."""
    ref = plan.at("Inference", "decode_flops", "D")
    plan.type("Inference", ref, f"batch*forward_flops_per_token*{factor}")
    (found,) = breaches(plan)[13]
    assert found.startswith(f"Inference!{ref}: {factor} in ")


def test_a_formula_of_two_branches(plan: Seeded) -> None:
    """16: a formula with two IFs."""
    ref = plan.at("Inference", "decode_flops", "D")
    plan.type("Inference", ref, "IF(batch>0,IF(batch>1,batch,1),1)*forward_flops_per_token")
    assert breaches(plan).keys() == {16}


def test_a_style_that_says_something_else(plan: Seeded) -> None:
    """25: a formula in the style of an input, which is not locked either."""
    ref = plan.at("Inference", "decode_step_time")
    styled(plan, "Inference", ref, "Inputs", plan.at("Inputs", "batch"))
    assert breaches(plan, 25) == {25: [f"Inference!{ref}: a formula in the style plan_input"]}
    assert breaches(plan, 28) == {28: [f"Inference!{ref}: a formula that is not locked"]}


def test_one_unit_in_two_formats(plan: Seeded) -> None:
    """26: a scenario whose number has another format than its row's."""
    ref = plan.at("Inference", "kv_time", "G")
    styled(plan, "Inference", ref, "Inference", plan.at("Inference", "critical_batch", "G"))
    assert breaches(plan).keys() == {26}


def test_a_locked_input(plan: Seeded) -> None:
    """28: inputs that protection would lock."""
    xml = plan.package.parts["xl/styles.xml"].decode()
    plan.package.replace("xl/styles.xml", xml.replace('locked="0"', 'locked="1"').encode())
    assert breaches(plan).keys() == {28}


def test_a_page_on_its_side(plan: Seeded) -> None:
    """29: a sheet that prints upright."""
    plan.change(plan.part("Checks"), 'orientation="landscape"', 'orientation="portrait"')
    assert breaches(plan) == {29: ["Checks: not landscape"]}


def test_a_log_of_another_version(plan: Seeded) -> None:
    """30: the Log's last version is not the Cover's."""
    plan.type("Log", "A6", "0.0.1")
    assert breaches(plan).keys() == {30}
