"""Which rows of a calculation sheet are closed because the plan makes no use of them."""

from __future__ import annotations

from pathlib import Path

from planner.workbook.calculation import unused
from planner.workbook.scenarios import plan_of
from tests.workbooks import sheet_of, write_small_plan

SERVING = ("transformer", "inference")


def closed(*settings: str, model: str = "llama3-70b") -> set[str]:
    """The unused rows of inference in a plan of one scenario."""
    plan = plan_of([model], ["h100-sxm"], list(SERVING), None, settings)
    return unused(plan, next(each for each in plan.templates if each.name == "inference"))


def test_a_layout_that_no_scenario_has_is_closed() -> None:
    """The data ways of a plan without them are closed, and open once a scenario has them."""
    assert {"serve_data", "prefill_chips", "prefix_hit_rate"} <= closed("n_chips=16", "batch=64")
    assert "serve_data" not in closed("n_chips=16", "batch=64", "serve_data=2")


def test_experts_of_a_dense_model_are_closed() -> None:
    """What only a mixture of experts has is closed where all models are dense, and open beside one that isn't."""
    assert "n_params_moe_layer" in closed("n_chips=16", "batch=64")
    assert "n_params_moe_layer" not in closed("n_chips=16", "batch=64", model="mixtral-8x7b")


def test_what_leads_and_what_was_typed_stays_open() -> None:
    """No headline is closed, nor a calculated row that a scenario overrides."""
    assert closed("n_chips=16", "batch=64").isdisjoint({"decode_step_time_expected", "max_batch", "kv_time", "n_chips"})
    assert "stage_chips" in closed("n_chips=16")
    assert "stage_chips" not in closed("n_chips=16", "stage_chips=16")


def test_closed_rows_are_a_group_of_the_sheet(tmp_path: Path) -> None:
    """They are computed as ever, in closed groups; nothing else of the sheet's rows is hidden."""
    path = tmp_path / "plan.xlsx"
    plan = write_small_plan(path, ["llama3-70b"], ["h100-sxm"], SERVING, n_chips=16, batch=64)
    sheet = sheet_of(path, "Inference", data_only=True)
    names = unused(plan, next(each for each in plan.templates if each.name == "inference"))
    for row in range(10, sheet.max_row + 1):
        name, group = sheet.cell(row, 3).value, sheet.row_dimensions[row]
        if name in names:
            assert (group.hidden, group.outlineLevel) == (True, 1), name
            assert sheet.cell(row, 6).value is not None, name
        elif name in plan.templates[-1].by_name:
            assert not group.hidden, name
