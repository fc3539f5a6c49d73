"""The published runs nearest to a plan."""

from __future__ import annotations

import csv
import math

import pytest

from planner.catalog import load_models
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.validation.nearest import FEW, nearest
from planner.validation.runs import shipped

with shipped().open(encoding="utf-8", newline="") as stream:
    ROWS = {row["id"]: row for row in csv.DictReader(stream)}


def values(text: str) -> dict[str, float | str]:
    """Settings as a run's row has them."""
    pairs = (word.split("=") for word in text.split())
    return {name: float(value) if value[0].isdigit() else value for name, value in pairs}


@pytest.mark.parametrize("identifier", ["dgxc-068", "aic-042", "vidur-012"])
def test_a_run_is_nearest_to_itself(identifier: str) -> None:
    """A plan that is a published run: the first is at no distance, with the reported number of the file."""
    row = ROWS[identifier]
    template = library.load(row["template"])
    plan = evaluate(template, facts(template, row["model"], row["hardware"]), values(row["settings"]))
    found = nearest(template, plan.value, row["hardware"])
    assert found is not None
    assert len(found.runs) == FEW
    assert found.runs[0].distance == 0
    assert found.runs[0].run.measured == float(ROWS[found.runs[0].run.id]["measured"])
    same = next(run for run in found.runs if run.run.id == identifier)
    assert (same.run.measured, same.run.source) == (float(row["measured"]), row["source"])
    assert same.expected == pytest.approx(plan.value(row["output"]), rel=1e-12)
    assert [run.distance for run in found.runs] == sorted(run.distance for run in found.runs)


def test_what_counts_as_near() -> None:
    """A plan of a mixture of experts gets such runs, one on TPUs runs on TPUs, a larger model larger models."""
    template = library.load("training")

    def near(model: str, chip: str, **more: float) -> list[dict[str, str]]:
        given = {"n_chips": 256.0, "mesh_fsdp": 256.0, **more}
        found = nearest(template, evaluate(template, facts(template, model, chip), given).value, chip)
        assert found is not None
        return [ROWS[run.run.id] for run in found.runs]

    assert {row["hardware"][:3] for row in near("llama3-70b", "tpu-v5p")} == {"tpu"}
    assert {row["hardware"][:4] for row in near("llama3-70b", "h100-sxm")} == {"h100"}
    experts = load_models().rows
    assert all(experts[row["model"]]["n_experts"] > 1 for row in near("mixtral-8x7b", "h100-sxm"))
    assert {row["id"] for row in near("llama3-70b", "h100-sxm")}.isdisjoint(
        {row["id"] for row in near("gpt2", "h100-sxm")}
    )


def test_runs_with_inferred_dimensions_are_none() -> None:
    """Only runs that a fit may use are named, whatever the plan."""
    template = library.load("training")
    found = nearest(template, lambda _: None, "")
    assert found is not None
    assert all(ROWS[run.run.id]["fit"] == "1" for run in found.runs)
    assert all(math.isfinite(run.expected) for run in found.runs)


def test_a_template_without_runs_has_none() -> None:
    """Nothing is near to what nobody measured."""
    assert nearest(library.load("transformer"), lambda _: None) is None
