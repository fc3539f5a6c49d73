"""`planner.sweep` and `planner.optimize`: many plans of a template as a table, a row for each plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.api import warned
from planner.api.calc import File, Setting, own_tables, texts
from planner.errors import UserError
from planner.regularfile import refuse_other
from planner.search import plans_as_scenarios
from planner.search.found import objectives_of
from planner.search.optimum import optimum
from planner.search.request import request, wanted
from planner.search.sweep import Part, SweepColumn, SweptPlans
from planner.search.table_files import plans_table

if TYPE_CHECKING:
    from pandas import DataFrame

Names = str | Sequence[str] | None  # one name or several
Over = Mapping[str, Setting | Iterable[Setting]]  # by input: values, a single one, or a text like `--over`'s, `1..64`


@warned
def sweep(
    template: str | Path, /, *, over: Over, model: Names = None, hardware: Names = None, get: Names = None,
    where: Names = None, models_csv: File = None, hardware_csv: File = None, calibrations_csv: File = None,
    only: bool = False, backend: str = "numpy", **settings: Setting,
) -> DataFrame:  # fmt: skip
    """Calculate every combination of the values of `over`, the last one varying fastest: a row for each plan.

    `get` names the rows of the template that become columns, by default the headlines. `where` takes conditions over
    any row that plans must meet. Several models and chips are all swept. `attrs` has the `units`, and how many of the
    plans fail each check (`failing`): they are in the table all the same.
    Raises UserError for the same reasons as `planner sweep`.
    """
    databases = own_tables(models_csv, hardware_csv, calibrations_csv, only=only).databases
    models, chips, wheres = map(_several, (model, hardware, where))
    asked = request(str(template), models, chips, texts(settings), _overs(over), wheres, databases, backend)
    checks = [row.name for row in asked.template.of_kind("check")]
    found = SweptPlans(asked, wanted(asked.template, _several(get)), checks)
    asked.warn_unread(found.wanted)
    frame = _frame(found.columns, list(found.parts()))
    frame.attrs["failing"] = dict(found.failing.of)
    return frame


@warned
def optimize(
    template: str | Path, /, *, minimize: Names = None, maximize: Names = None, over: Over | None = None,
    alone: bool = False, model: Names = None, hardware: Names = None, where: Names = None, top: int = 5,
    workbook: File = None, models_csv: File = None, hardware_csv: File = None, calibrations_csv: File = None,
    only: bool = False, backend: str = "numpy", **settings: Setting,
) -> DataFrame:  # fmt: skip
    """Search for the best plans, a row for each: the simplest of the ties first, then by the objective.

    Several objectives give their Pareto front. The search covers the layouts of `planner optimize` and the inputs that
    `over` names; with `alone`, only the latter. `workbook` adds the `top` plans to a workbook as scenarios, with a
    sheet Search. `attrs` has the `units`, how many plans were `tried` and `passed`, which checks `refused` the others,
    and how many are `ties` of the best.
    Raises UserError if no plan passes every check, and for the same reasons as `planner optimize`.
    """
    least, most = _several(minimize), _several(maximize)
    if not least and not most:
        raise UserError("no objective is given", remedy="name a row: minimize='step_time_expected'")
    if not isinstance(top, Integral) or top < 1:
        raise UserError(f"top={top!r} is no number of plans", remedy="write a whole number of at least 1")
    if workbook is not None:
        refuse_other(Path(workbook), ".xlsx", "a workbook")
    databases = own_tables(models_csv, hardware_csv, calibrations_csv, only=only).databases
    models, chips, wheres = map(_several, (model, hardware, where))
    asked = request(str(template), models, chips, texts(settings), _overs(over or {}), wheres, databases, backend)
    if workbook is not None:
        plans_as_scenarios.check_takes(Path(workbook), asked)
    objectives = objectives_of(asked.template, least, most)
    found = optimum(asked, objectives, top, alone=alone)
    columns, part = plans_table(asked, found)
    if workbook is not None:
        plans_as_scenarios.write(Path(workbook), asked, found, databases)
    frame = _frame(columns, [part])
    frame.attrs |= {"tried": found.tried, "passed": found.passed, "refused": dict(found.refused), "ties": found.ties}
    return frame


def _several(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _overs(over: Over) -> Iterator[str]:
    """The varied values as `--over` texts: `batch=1.0,2.0`. Raises UserError for values that can't be used so."""
    if not isinstance(over, Mapping):
        raise UserError(f"over={over!r} says no values of names", remedy='write over={"batch": [1, 8, 64]}')
    for name, values in over.items():
        spec = values if isinstance(values, str) else ",".join(text.partition("=")[2] for text in _each(name, values))
        yield f"{name}={spec}"


def _each(name: str, values: Setting | Iterable[Setting]) -> Iterator[str]:
    for value in values if isinstance(values, Iterable) else [values]:
        yield from texts({name: value})


def _frame(columns: Sequence[SweepColumn], parts: Sequence[Part]) -> DataFrame:
    import pandas

    made: dict[str, Any] = {}
    for column in columns:
        none = np.empty(0, object if column.unit == "text" else float)
        made[column.name] = np.concatenate([none, *(part[column.name] for part in parts)])
    frame = pandas.DataFrame(made)
    frame.attrs["units"] = {column.name: column.unit for column in columns}
    return frame
