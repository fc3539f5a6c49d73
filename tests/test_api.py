"""`import planner`: plans calculated, read and built from Python."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import planner
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.following import with_followers
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared
from tests.commands import refused
from tests.pages import run
from tests.short_data import of_few_rows
from tests.workbooks import write_small

PLAN = {"model": "llama3.1-405b", "hardware": "h100-sxm"}


def test_importing_planner_imports_nothing_heavy() -> None:
    """`import planner` imports no third party's module, and `planner.calc` no pandas."""
    code = (
        "import sys, planner; heavy = {'pandas', 'numpy', 'click', 'jax', 'openpyxl'}; "
        "assert not heavy & sys.modules.keys(); planner.calc('transformer', model='gpt2')['n_params_total']; "
        "assert not {'pandas', 'click', 'jax', 'openpyxl'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", planner.__all__)
def test_public_names(name: str) -> None:
    """Each public name is there, has its docstring, and is listed by dir; another name is an AttributeError."""
    assert getattr(planner, name).__doc__
    assert name in dir(planner)
    with pytest.raises(AttributeError, match="calculate"):
        planner.calculate  # type: ignore[attr-defined]  # noqa: B018


def test_calc_is_the_commands(tmp_path: Path) -> None:
    """`planner.calc` has the numbers, the failed checks and the words of `planner calc`."""
    plan = planner.calc("training", **PLAN, n_chips=16384, mesh_tensor=8)
    line = "planner calc training -m llama3.1-405b -H h100-sxm --set n_chips=16384 mesh_tensor=8"
    assert f"{plan}\n" == run(line, tmp_path)
    printed = run(f"{line} --get step_time_expected --json", tmp_path)
    assert printed.startswith(f'{{\n  "step_time_expected": {plan["step_time_expected"]!r}\n}}')
    why = run(f"{line} --why step_time_expected --depth 1", tmp_path)
    assert why == "\n".join([plan.why("step_time_expected", depth=1), *plan.failures, ""])
    small = planner.calc("training", **PLAN, n_chips=64)
    assert list(small.failed_checks) == ["fits_memory_at_work", "fits_memory"]
    assert "TB/chip >" in small.failed_checks["fits_memory"] or "GB/chip >" in small.failed_checks["fits_memory"]


def test_a_calculation_is_a_mapping() -> None:
    """`get` returns a row's value or the default; brackets name the row that is nearest."""
    plan = planner.calc("training", **PLAN, n_chips=64)
    assert plan.get("n_chips") == 64
    assert (plan.get("foo"), plan.get("foo", 3)) == (None, 3)
    with pytest.raises(planner.UserError, match="did you mean n_chips"):
        plan["n_chip"]


def test_calc_takes_what_the_command_line_takes() -> None:
    """Texts with units, N/A as None, a yes as True, and ids however they are written mean what they do there."""
    one = planner.calc("inference", model="Llama3.1 405B", hardware="H100-SXM", hop_latency="2us", n_chips="2^4")
    other = planner.calc("inference", **PLAN, hop_latency=2e-6, n_chips=16, has_2d_weights=False)
    assert one["time_per_output_token_expected"] == other["time_per_output_token_expected"]
    unknown = planner.calc("inference", **PLAN, n_chips=16, price_per_chip_hour=None)
    assert unknown["cost_per_million_tokens_expected"] is None
    assert "price_per_chip_hour is given as N/A" in unknown.missing["cost_per_million_tokens_expected"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_chip": 4}, "training has no row 'n_chip'; did you mean n_chips"),
        ({"n_chips": "3 apples"}, "unknown unit 'apples'"),
        ({"n_chips": [1, 2]}, "no number and no text; planner.sweep takes several"),
        ({"n_chips": object}, "no number and no text"),
        ({"n_chips": -1}, "a number above 0 is wanted"),
        ({"topology": "8k"}, "no such choice; choose one of torus, switch"),
        ({"n_chips": 10**400}, "n_chips is too large: not a finite number"),
        ({"hbm_reserve_bytes": "90GB"}, "nothing is left of hbm_bytes"),
        ({"model": "llama3.1-405"}, "did you mean llama3.1-405b"),
        ({"model": None}, "name one with -m MODEL"),
        ({"model": ["gpt2", "llama3-8b"]}, "model=['gpt2', 'llama3-8b'] is not one name; planner.sweep takes several"),
    ],
)
def test_calc_refuses_in_one_line(settings: dict[str, Any], said: str) -> None:
    """What can't be is a UserError of one line, as the command prints it."""
    with pytest.raises(planner.UserError) as caught:
        planner.calc("training", **PLAN | settings)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_input_is_none_where_none_of_it_means_something() -> None:
    """No spares are the replicas at work; requests all alike wait half as long; free electricity leaves the capital."""
    asked = {"model": "llama3-8b", "hardware": "h100-sxm", "batch": 64, "request_rate": 100}
    fleet = planner.calc("fleet", **asked, spare_share=0, service_variation=0)
    assert fleet["n_replicas"] == fleet["busy_replicas"]
    varied = planner.calc("fleet", **asked, spare_share=0)
    assert fleet["slot_wait"] == pytest.approx(varied["slot_wait"] / 2)
    free = {"price_basis": "owned", "capital_per_chip": 30_000, "electricity_price": 0}
    assert planner.calc("fleet", **asked, **free)["chip_price"] == pytest.approx(30_000 / (48 * 730.5), rel=1e-3)
    kept = planner.calc("training", **PLAN, n_chips=16384, remat_layers_fraction=0)
    assert kept["repeated_part_time"] == 0
    fused = planner.calc("training", **PLAN, n_chips=16384, logit_copies=0)
    assert fused["logits_bytes"] == 2 * 128_256 * fused["microbatch_tokens"]


def test_calc_warns() -> None:
    """What is implausible, and what nothing reads, comes as a warning at the caller's line."""
    with pytest.warns(UserWarning, match="peak_flops") as caught:
        planner.calc("training", **PLAN, n_chips=512, peak_flops=600)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="takes no model"):
        planner.calc("matmul", model="gpt2", hardware="tpu-v5e", tokens=1, d_in=8, d_out=8)


def test_results_asked_again_are_bit_equal() -> None:
    """A prepared plan gives every row as `evaluate` does, whatever was asked before: inputs, dtypes, overrides."""
    template = library.load("training")
    found = facts(template, "llama3.1-405b", "h100-sxm")
    prepared = Prepared(template, found)
    for values in (
        {"n_chips": 64.0},
        {"n_chips": 128.0, "weight_dtype": "fp8"},
        {"n_chips": 128.0, "step_time_expected": 3.0, "stack": "Tuned"},
        {"n_chips": 128.0, "hbm_bytes": None},
        {"n_chips": 128.0, "mesh_fsdp": 32.0, "mesh_tensor": 4.0},
        {},
    ):
        asked, whole = prepared.results(values), evaluate(template, found, with_followers(template, values))
        assert asked["mfu_expected"] is not None
        assert {name: asked.value(name) for name in asked} == {name: whole.value(name) for name in whole}


@pytest.mark.quiet
@pytest.mark.parametrize("name", ["training", "inference"])
def test_a_second_call_is_quick(name: str) -> None:
    """The headlines of a plan that was asked before take at most 5 ms with other settings."""
    planner.calc(name, **PLAN, n_chips=512).headlines  # noqa: B018
    times = []
    for chips in range(8, 168, 8):
        begin = time.perf_counter()
        planner.calc(name, **PLAN, n_chips=chips).headlines  # noqa: B018
        times.append(time.perf_counter() - begin)
    assert sorted(times)[len(times) // 2] < 0.005


def test_headlines_and_frame() -> None:
    """Headlines have value, range and bound; the frame a row for each quantity, with unit, formula and source."""
    plan = planner.calc("training", **PLAN, n_chips=16384, mesh_tensor=8)
    step = plan.headlines["step_time_expected"]
    assert step.value == plan["step_time_expected"]
    assert step.low == plan["step_time_expected_low"]
    assert step.high == plan["step_time_expected_high"]
    assert step.bound == plan["step_time_lower_bound"]
    frame = plan.to_frame()
    assert list(frame.columns) == ["label", "value", "unit", "formula", "source"]
    assert list(frame.index) == [row.name for row in library.load("training").rows]
    assert frame.value["step_time_expected"] == step.value
    assert frame.unit["step_time_expected"] == frame.attrs["units"]["step_time_expected"] == "s"
    assert "step_time_lower_bound" in frame.formula["step_time_expected"]
    assert "accelerators.csv" in frame.source["hbm_bytes"]
    assert frame.source["n_chips"] == "given"


def test_own_tables_are_read_again_when_they_change(tmp_path: Path) -> None:
    """A chip of one's own is found by its CSV's path, and its number is the new one when the file has changed."""
    mine = tmp_path / "mine.csv"
    header = "id,name,peak_bf16,hbm_bytes,hbm_bandwidth\n"
    mine.write_text(f"{header}mychip,Mine,600e12,96e9,3e12\n", encoding="utf-8")
    assert planner.calc("inference", model="gpt2", hardware="mychip", hardware_csv=mine)["hbm_bytes"] == 96e9
    assert planner.hardware(mine).index[0] == "mychip"
    mine.write_text(f"{header}mychip,Mine,600e12,128e9,3e12\n", encoding="utf-8")
    assert planner.calc("inference", model="gpt2", hardware="mychip", hardware_csv=mine)["hbm_bytes"] == 128e9


def test_a_sweep_is_its_plans() -> None:
    """Each row of a sweep has the numbers of that plan alone, models and chips among what moves; units stand beside."""
    name = "time_per_output_token_expected"
    over: dict[str, Any] = {"n_chips": [8, 16], "weight_dtype": ["bf16", "fp8"], "batch": "1..2"}
    chips = ["h100-sxm", "tpu-v5e"]
    frame = planner.sweep("inference", model="llama3-8b", hardware=chips, over=over, get=[name], where="batch>1")
    assert list(frame.columns) == ["hardware", *over, name]
    assert len(frame) == 8
    assert frame.attrs["units"][name] == "s"
    for row in frame.to_dict("records"):
        assert (
            planner.calc("inference", model="llama3-8b", **{key: row[key] for key in row if key != name})[name]
            == row[name]
        )
    assert (
        len(planner.sweep("inference", model="llama3-8b", hardware="tpu-v5e", over={"n_chips": 8, "batch": [1, 2]}))
        == 2
    )
    with pytest.raises(planner.UserError, match="nothing is varied"):
        planner.sweep("inference", model="llama3-8b", hardware="tpu-v5e", over={})
    with pytest.raises(planner.UserError, match="says no values of names"):
        planner.sweep("matmul", hardware="h100-sxm", over=["tokens"])


def test_the_best_plan_passes_and_is_none_worse(tmp_path: Path) -> None:
    """The plans of a search are the template's, pass its checks, and stand in the workbook; something must be best."""
    asked = {"model": "llama3-8b", "hardware": "h100-sxm", "n_chips": 64}
    path = tmp_path / "best.xlsx"
    with of_few_rows():
        best = planner.optimize("training", minimize="step_time_expected", top=2, workbook=path, **asked)
    moved = list(best.columns[list(best.columns).index("is_tie") + 1 : list(best.columns).index("step_time_expected")])
    for _, row in best.iterrows():
        plan = planner.calc("training", **asked | {name: row[name] for name in moved})
        assert plan["step_time_expected"] == row.step_time_expected
        assert not plan.failed_checks
    assert best.attrs["tried"] >= best.attrs["passed"] >= best.attrs["ties"] >= 1
    told = planner.read(path).headlines.step_time_expected
    assert list(told) == pytest.approx(list(best.step_time_expected))
    for none in (0, -1, 2.5):
        with pytest.raises(planner.UserError, match=f"top={none} is no number of plans; write a whole number"):
            planner.optimize("training", minimize="step_time_expected", top=none, **PLAN)
    with pytest.raises(planner.UserError, match="no objective is given"):
        planner.optimize("training", **asked)


def test_databases_as_frames() -> None:
    """Models and chips come as frames by their ids, with units and sources."""
    models, chips = planner.models(), planner.hardware()
    assert models.n_layers["llama3.1-405b"] == 126
    assert chips.hbm_bytes["h100-sxm"] == planner.calc("chip", hardware="h100-sxm")["hbm_bytes"]
    assert chips.attrs["units"]["hbm_bytes"] == "byte/chip"
    assert chips.source.notna().all()


def test_a_workbook_there_and_back(tmp_path: Path) -> None:
    """The scenarios that are read of a workbook build one with the same headlines; checks and cases are read too."""
    import pandas as pd  # here, since each process that collects tests would load it

    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e", "h100-sxm"], ["inference"], batch=16)
    book = planner.read(path)
    assert list(book.scenarios.hardware) == ["tpu-v5e", "h100-sxm"]
    assert list(book.scenarios.batch) == [16, 16]
    assert book.scenarios.attrs["units"]["context_len"] == "1"
    with of_few_rows():
        again = planner.build(book.scenarios, tmp_path / "again.xlsx", templates=["inference"])
    pd.testing.assert_frame_equal(planner.read(again).headlines, book.headlines)
    assert book.headlines.attrs["units"]["time_per_output_token_expected"] == "s"
    assert {"scenario", "check", "label", "holds", "compared"} == set(book.checks.columns)
    assert set(book.checks.scenario) == set(book.scenarios.index)
    assert book.measured.predicted_time.gt(0).any()
    assert book.measured.attrs["units"]["predicted_time"] == "s"
    with pytest.raises(planner.UserError, match=r"the file exists.*replace it with force=True"):
        planner.build(book.scenarios, again)


def test_build_names_the_place_of_a_fault(tmp_path: Path) -> None:
    """A column that no template has, and a value that can't be, are refused with their place; nothing is written."""
    import pandas as pd  # here, since each process that collects tests would load it

    frame = pd.DataFrame({"model": ["gpt2"], "hardware": ["tpu-v5e"], "batch": [2]})
    for wrong, said in (
        (frame.assign(batches=3), "the frame, line 1: unknown column 'batches'; did you mean"),
        (frame.assign(batch="many"), "the frame, line 2, column batch: batch=many: 'many' is no number"),
    ):
        with pytest.raises(planner.UserError) as caught:
            planner.build(wrong, tmp_path / "plan.xlsx")
        assert said in str(caught.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(planner.UserError, match="name ends in"):
        planner.build(frame, tmp_path / "plan.csv")


def test_a_call_knows_only_the_calibrations_that_it_is_given(tmp_path: Path) -> None:
    """A stack, and a calibration that a chip names, are known where their file is given, each time, and unknown in a
    call and in a command after it; the chips are listed without it, as on the command line.
    """
    mine, chips = tmp_path / "mine.csv", tmp_path / "chips.csv"
    mine.write_text("calibration,parameter,value,unit\nmine,train_matmul_factor,1.1,1\nmine,hbm_efficiency,0.8,1\n")
    chips.write_text("id,peak_bf16,calibration\na,1e15,mine\n")
    sizes = {"tokens": 8, "d_in": 8, "d_out": 8}
    own = {"hardware_csv": chips, "calibrations_csv": mine}
    for _ in range(2):
        planner.calc("training", **PLAN, calibrations_csv=mine, stack="mine")
        assert planner.calc("matmul", hardware="a", **own, **sizes)["chip_calibration"] == "mine"
    with pytest.raises(planner.UserError, match='no stack "mine"'):
        planner.calc("training", **PLAN, stack="mine")
    with pytest.raises(planner.UserError, match="there is no calibration 'mine'"):
        planner.calc("matmul", hardware="a", hardware_csv=chips, **sizes)
    assert planner.hardware(chips).loc["a", "calibration"] == "mine"
    assert 'no stack "mine"' in refused("calc", "training", "-m", "gpt2", "-H", "h100-sxm", "--set", "stack=mine")


def test_the_plans_of_a_search_are_no_frame_of_scenarios(tmp_path: Path) -> None:
    """Its frame has results beside inputs: the error names what makes scenarios of them, and nothing is written."""
    found = planner.optimize("matmul", hardware="h100-sxm", over={"d_out": [1024, 2048]}, tokens=64, d_in=1024,
                             minimize="expected_time")  # fmt: skip
    with pytest.raises(planner.UserError, match=r"planner\.optimize\(\.\.\., workbook="):
        planner.build(found, tmp_path / "plan.xlsx")
    assert not list(tmp_path.iterdir())
