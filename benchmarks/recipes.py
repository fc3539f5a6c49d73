"""How the published training recipes stand beside the best plans of a search on the same chips, batch and length.

For each run: what is expected of its recipe over what is expected of the best plan, whether the best plan's range holds
it, and whether it is a tie: within what published runs tell two plans of one model and chip apart by. Of the recipe
only model, chips, slices, batch, length and dtypes are given to the search.
"""

from __future__ import annotations

import argparse
import statistics
import time

from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import Results, evaluate
from planner.formulas.lookups import facts
from planner.search.found import objective
from planner.search.optimum import optimum
from planner.search.request import Request, Subject
from planner.validation.runs import models_of, read, shipped

STAY = ("n_chips", "n_slices", "seq_len", "batch_tokens", "compute_dtype", "weight_dtype", "optimizer", "is_causal",
        "stack", "hbm_bytes", "hbm_bandwidth", "peak_flops", "price_per_chip_hour")  # fmt: skip
STEP = "step_time_expected"


def step_of(results: Results) -> float:
    """The expected step of a plan, in seconds."""
    value = results.value(STEP)
    assert isinstance(value, float)
    return value


def main() -> None:
    """Search for every published training run, and print how its recipe does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", action="store_true", help="a line for each run")
    each = parser.parse_args().each
    databases = Databases()
    template, models = library.load("training"), models_of(databases)
    aim = [objective(template, STEP, is_least=True)]
    ratios, inside, ties, seconds, fits, without = [], 0, 0, [], 0, 0
    for run in read(shipped(), databases, models):
        if run.template != "training" or run.output != STEP or run.fault:
            continue
        known = facts(template, None, run.hardware, databases)
        known = type(known)(models.rows[run.model], known.hardware, known.by_id)
        own = evaluate(template, known, run.values)
        fits += own.value("fits_memory") == 1
        given = {name: value for name, value in run.values.items() if name in STAY}
        given["max_context"] = own.value("seq_len")  # some runs train a model on longer sequences than it is meant for
        asked = Request(template, [Subject(run.model, run.hardware, known)], given, [], [])
        begun = time.perf_counter()
        try:
            found = optimum(asked, aim, 2)
        except UserError as error:
            without += 1
            if each:
                print(f"{run.id:14} {error.what[:90]}")
            continue
        seconds.append(time.perf_counter() - begun)
        recipe = step_of(own)
        ratios.append(recipe / found.best)
        inside += recipe <= found.end
        ties += recipe <= found.bar
        if each:
            best = min(found.plans, key=lambda plan: step_of(plan.results))
            ways = {name: int(value) for name, value in best.moved.items() if isinstance(value, float) and value > 1}
            place = "tie" if recipe <= found.bar else "in" if recipe <= found.end else "out"
            print(f"{run.id:14} {run.model:24} {run.hardware:10} {ratios[-1]:5.2f} {place:3} {ways}")
    print(f"{len(ratios)} recipes, {fits} fit by their own check; {without} more have no plan")
    print(f"within the range of the best plan: {inside} ({100 * inside / len(ratios):.0f} %)")
    print(f"a tie of it: {ties} ({100 * ties / len(ratios):.0f} %)")
    most = sorted(ratios)[int(0.9 * len(ratios))]
    print(f"expected of a recipe over the best plan: median {statistics.median(ratios):.2f}, 90 % below {most:.2f}")
    print(f"a search: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")


if __name__ == "__main__":
    main()
