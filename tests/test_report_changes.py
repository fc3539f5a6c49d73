"""What to change of a scenario: told only where it is so, in the direction in which the templates say it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.formulas import library
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.following import with_followers
from planner.formulas.lookups import facts
from planner.report.contents import ScenarioSummary
from planner.report.documents import markdown
from planner.report.report_data import report_data
from tests.commands import run
from tests.test_report import overwritten
from tests.workbooks import by_name, cached, few_rows, scenario_lines, write_scenarios, write_small

SERVED = {
    "batch": "llama3-70b h100-sxm n_chips=8 batch=2048",
    "weights": "deepseek-v3 h100-sxm n_chips=8",
    "fits": "llama3-70b h100-sxm n_chips=8 batch=1",
    "no_price": "llama3-70b gb300 n_chips=8",
    "owned": "llama3-8b h100-sxm n_chips=8 batch=8 price_basis=owned electricity_price=1e-7 capital_per_chip=30000",
    "no_capital": "llama3-8b h100-sxm n_chips=8 batch=8 price_basis=owned electricity_price=1e-7 capital_per_chip=N/A",
    "small": "llama3-8b h100-sxm n_chips=8 batch=16",
    "three_cubes": "llama3-8b tpu-v5p n_chips=192 batch=64",
    "four_cubes": "llama3-8b tpu-v5p n_chips=256 batch=64",
}
"""Plans by id: two that fail, one that fits, and more that do: without a price, owned, small, on slices."""
MOVED = re.compile(r"([^→]+) \((?:\w+)\) ([\d,]+) → ([\d,]+)(?:, with .+)?: (.+)")


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook of plans that serve."""
    few = few_rows(("llama3-70b", "deepseek-v3", "llama3-8b"), ("h100-sxm", "gb300", "tpu-v5p"))
    path: Path = tmp_path_factory.mktemp("serving") / "plan.xlsx"
    return write_scenarios(path, scenario_lines(SERVED), ["inference"], few)


@pytest.fixture(scope="module")
def served(serving: Path) -> dict[str, ScenarioSummary]:
    """What its report says of each."""
    return dict(zip(SERVED, report_data(serving).scenarios, strict=True))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> ScenarioSummary:
    """What a report says of a plan that trains."""
    path: Path = tmp_path_factory.mktemp("training") / "plan.xlsx"
    write_small(path, ["llama3-70b"], ["h100-sxm"], ["training"], n_chips=2048)
    return report_data(path).scenarios[0]


def computed(model: str, template: str, **inputs: float) -> Results:
    """The same plan as the array functions compute it."""
    known = library.load(template)
    return evaluate(known, facts(known, model, "h100-sxm"), with_followers(known, inputs))


def failed(model: str, template: str, **inputs: float) -> list[str]:
    """The checks of a plan that fail."""
    found = computed(model, template, **inputs)
    return [row.name for row in library.load(template).of_kind("check") if found.value(row.name) == 0]


@pytest.mark.parametrize(
    ("told", "template", "first", "names", "inputs"),
    [
        ("batch", "inference", "n_chips", {"Sequences decoded together": "batch"}, {"n_chips": 8, "batch": 2048}),
        ("weights", "inference", "n_chips", {}, {"n_chips": 8}),
        ("trained", "training", "batch_tokens", {"Chips": "n_chips"}, {"n_chips": 2048}),
    ],
)
def test_the_change_makes_the_checks_hold(
    told: str,
    template: str,
    first: str,
    names: dict[str, str],
    inputs: dict[str, int],
    served: dict[str, ScenarioSummary],
    trained: ScenarioSummary,
) -> None:
    """A plan that fails gets, below what Dashboard says, a change of each other lever that helps, and built with it no
    check fails. What Dashboard says isn't said again: it names the value of a lever that is also the nearest doubling.
    """
    before = {**served, "trained": trained}[told]
    model = str(before.model)
    assert before.failed
    assert failed(model, template, **inputs)
    value = before.changes[0].removeprefix(f"{first} ").split()[0].rstrip(",").replace(",", "")
    assert not failed(model, template, **{**inputs, first: int(value)})
    found = [MOVED.fullmatch(change) for change in before.changes[1:]]
    assert {match[1] for match in found if match} == names.keys()
    for match in found:
        assert match is not None
        assert match[4] == "every check holds"
        changed = {**inputs, names[match[1]]: int(match[3].replace(",", ""))}
        assert not failed(model, template, **changed)


def test_what_moves_with_a_change_is_said(trained: ScenarioSummary, served: dict[str, ScenarioSummary]) -> None:
    """Where no tensor or pipeline ways share the chips, FSDP's ways are the chips, and are said to move with them; of
    tokens, and of the chips that serve, nothing follows.
    """
    (chips,) = (change for change in trained.changes if change.startswith("Chips"))
    moved = re.fullmatch(
        r"Chips \(n_chips\) ([\d,]+ → [\d,]+), with FSDP ways \(mesh_fsdp\) ([\d,]+ → [\d,]+): .+", chips
    )
    assert moved is not None
    assert moved[1] == moved[2]
    others = [change for each in (*served.values(), trained) for change in each.changes]
    assert [change for change in others if MOVED.fullmatch(change) and ", with" in change.partition(":")[0]] == [chips]


def test_what_fits_is_said_alike_everywhere(serving: Path, served: dict[str, ScenarioSummary]) -> None:
    """Of a plan that doesn't fit, report, Dashboard and calc say the same first, and of one that fits none of it."""
    grid = cached(serving)
    at = by_name(grid, "Dashboard")["verdict.change"]
    for column, plan in zip("FG", ("batch", "weights"), strict=True):
        said, (model, _, *inputs) = served[plan].changes[0], SERVED[plan].split()
        assert said == grid["Dashboard"][f"{column}{at}"]
        assert re.match(r"n_chips \d+", said)
        told = run("calc", "inference", "-m", model, "-H", "h100-sxm", "--set", *inputs).output
        assert f"What to change first: {said}\n" in told
    assert not re.match(r"n_chips \d+", served["fits"].changes[0])
    assert (
        "change first"
        not in run("calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8").output
    )


def test_what_mends_a_target_was_tried(tmp_path: Path) -> None:
    """Of a fleet that misses its targets, the report says first what calc says, values that were tried or that none
    mends it; Dashboard, which tries none, names the inputs and that the report tries them.
    """
    columns = "n_chips,batch,request_rate,prompt_len,generate_len,context_len,target_first_token_time,target_token_time"
    plans = ("8,256,10,4000,500,4500,0.2,0.05", "8,256,10,4000,500,4500,0.3,0.2")
    path, few = tmp_path / "plan.xlsx", few_rows(("llama3-70b",), ("h100-sxm",))
    rows = (f"{name},llama3-70b,h100-sxm,{values}" for name, values in zip("ab", plans, strict=True))
    write_scenarios(path, [f"id,model,hardware,{columns}", *rows], ["fleet"], few)
    grid = cached(path)
    at = by_name(grid, "Dashboard")["verdict.change"]
    for column, scenario, values in zip("FG", report_data(path).scenarios, plans, strict=True):
        settings = [f"{name}={value}" for name, value in zip(columns.split(","), values.split(","), strict=True)]
        told = run("calc", "fleet", "-m", "llama3-70b", "-H", "h100-sxm", "--set", *settings).output
        assert f"What to change first: {scenario.changes[0]}\n" in told
        assert " for check_" in scenario.changes[0]
        assert grid["Dashboard"][f"{column}{at}"] == "planner report tries values of n_chips or load_factor"


def test_the_change_saves_what_it_says(served: dict[str, ScenarioSummary]) -> None:
    """A plan that fits is told what makes it cheaper: built with it, it costs so much less and takes so much longer."""
    before = served["fits"]
    one, two = (computed("llama3-70b", "inference", n_chips=8, batch=batch) for batch in (1, 2))
    ratio = {each.label.lower(): two.value(each.name) / one.value(each.name) for each in before.expected}
    match = MOVED.fullmatch(before.changes[0])
    assert match is not None
    assert match.groups()[:3] == ("Sequences decoded together", "1", "2")
    told = re.findall(r"(\D+) ([+-]\d+)\s%(?:, )?", match[4])
    assert told
    for label, percent in told:
        assert ratio[label] == pytest.approx(1 + int(percent) / 100, abs=0.006)


def test_a_chip_without_a_price_is_told_what_it_saves(served: dict[str, ScenarioSummary]) -> None:
    """The share of a cost that is saved doesn't need the price, and is said to be one of any price."""
    scenario = served["no_price"]
    assert scenario.expected[-1].expected.is_missing
    assert re.search(r"cost per million output tokens -\d+\s% at any price", scenario.changes[0])
    assert "at any price" not in " ".join(served["fits"].changes)


def test_what_part_of_a_cost_is_unknown_matters(served: dict[str, ScenarioSummary]) -> None:
    """Of an owned chip with an unknown price the power is paid too: what is saved depends on that price, and no
    saving is said.
    """
    assert served["owned"].changes
    assert not served["no_capital"].changes


def test_an_edited_formula_is_not_told_a_change(
    serving: Path, served: dict[str, ScenarioSummary], tmp_path: Path
) -> None:
    """Where the workbook isn't what its template says, nothing is said of what the template would give."""
    before = served["fits"]
    assert before.changes
    sheet, _, ref = before.expected[0].expected.cell.partition("!")
    report = report_data(overwritten(tmp_path, ref, "<v>0.5</v>", sheet, serving))
    assert [each.cell for each in report.typed] == [f"{sheet}!{ref}"]
    assert report.scenarios[2].changes == ()
    assert report.scenarios[0].changes


def test_nothing_is_said_of_a_cost_that_is_not_known(tmp_path: Path) -> None:
    """A chip without a peak has no step and no cost: no lever saves any of it, and none is said not to."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["v100-sxm2-32"], ["inference"], n_chips=8)
    report = report_data(path)
    (scenario,) = report.scenarios
    assert scenario.fits
    assert scenario.changes == ()
    assert "| its bound; N/A: Hardware has no peak for bf16" in markdown(report).replace("\\", "")


def test_the_time_that_suffers_most_is_said(served: dict[str, ScenarioSummary]) -> None:
    """A change that saves cost says which time pays for it: the one that grows most, beside the step itself."""
    scenario = served["small"]
    names, inputs = {"Chips": "n_chips", "Sequences decoded together": "batch"}, {"n_chips": 8.0, "batch": 16.0}
    times = [each for each in scenario.expected[1:] if each.unit == "s"]
    for change in scenario.changes:
        match = MOVED.fullmatch(change)
        assert match is not None
        moved = {**inputs, names[match[1]]: float(match[3])}
        one, two = (computed("llama3-8b", "inference", **each) for each in (inputs, moved))
        ratio = {each.label.lower(): two.value(each.name) / one.value(each.name) for each in times}
        assert match[4].split(", ", 1)[1].rpartition(" +")[0] == max(ratio, key=lambda label: ratio[label])
    assert {change.split(" ")[0] for change in scenario.changes} == {"Chips", "Sequences"}


def test_chips_of_a_slice_stay_a_slice(served: dict[str, ScenarioSummary]) -> None:
    """Three cubes of v5p are not halved: no slice has 96 chips. Four are."""
    told = [served[plan].changes for plan in ("three_cubes", "four_cubes")]
    assert [any(each.startswith("Chips") for each in changes) for changes in told] == [False, True], told
