"""Runs compared with predictions: by the shipped calibrations, by fits without their source, and by a null model.

The null model multiplies a run's bound by the median ratio of measured time to bound of published runs on such chips.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from planner.catalog.calibrations import Stated, stated_calibrations
from planner.catalog.databases import Databases
from planner.compare import likely_unit
from planner.formulas import library
from planner.number_text import few
from planner.validation.expected_times import ExpectedRuns, predicted
from planner.validation.runs import Run, models_of, read, shipped

if TYPE_CHECKING:
    from planner.validation.left_out import LeftOut  # which loads scipy


@dataclass(frozen=True)
class Judged:
    """A run and its predictions, in the unit of the template's row; None if there is no such number."""

    run: Run
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    bound: float | None = None
    null: float | None = None  # prediction of the null model
    is_moe: bool | None = False  # None: its model is unknown, and so nothing is expected
    is_rate: bool = False
    calibration: str = ""
    fault: str = ""  # why there is no expected number
    is_fitted_to: bool = False  # whether the calibration was fitted to runs of the same source

    def over_measured(self, number: float | None) -> float | None:
        """A number over the measured one, as times: for rates the inverse."""
        if number is None or not number > 0:
            return None
        return self.run.measured / number if self.is_rate else number / self.run.measured

    def error(self, number: float | None) -> float | None:
        """The deviation of a number from the measured one, on time, as a fraction."""
        ratio = self.over_measured(number)
        return None if ratio is None else abs(ratio - 1)

    @property
    def is_in_range(self) -> bool:
        """Whether the measured number is in the range."""
        return self.low is not None and self.high is not None and self.low <= self.run.measured <= self.high

    @property
    def width(self) -> float | None:
        """The high end of the range over the low one, minus 1."""
        return None if not self.low or self.high is None else self.high / self.low - 1

    @property
    def mix(self) -> str:
        """Whether the model is dense or a mixture of experts, or unknown."""
        return "unknown" if self.is_moe is None else "moe" if self.is_moe else "dense"


def judged(runs: Sequence[Run], by_template: Iterable[ExpectedRuns]) -> list[Judged]:
    """Every run, in order, with what the templates' rows expect of it."""
    found: dict[str, Judged] = {run.id: Judged(run, is_moe=run.is_moe, fault=run.fault) for run in runs}
    for each in by_template:
        columns = [each.expected, each.low, each.high, each.bound]
        for at, run in enumerate(each.runs):
            numbers = (float(column[at]) for column in columns)
            expected, low, high, bound = (number if isfinite(number) else None for number in numbers)
            found[run.id] = Judged(
                run,
                expected,
                low,
                high,
                bound,
                None,
                bool(each.is_moe[at]),
                bool(each.is_rate[at]),
                each.calibration(at),
                "" if expected is not None else each.why_not(at),
            )
    return [found[run.id] for run in runs]


def without_own_source(rows: Sequence[Judged], groups: Iterable[LeftOut]) -> list[Judged]:
    """The rows with the expectations of fits without their source, and ranges from the other sources."""
    numbers = {(run.source, run.id): (group, at) for group in groups for at, run in enumerate(group.runs)}
    return [_without(row, numbers.get((row.run.source, row.run.id))) for row in rows]


def _without(row: Judged, found: tuple[LeftOut, int] | None) -> Judged:
    if row.expected is None:
        return row
    if found is None:
        return replace(row, expected=None, low=None, high=None, fault="no run of such a kind is fitted to")
    group, at = found
    expected, (least, most) = float(group.expected[at]), group.range_of(at, row.run.source)
    bound = row.bound if row.bound is not None else expected
    if row.is_rate:
        return replace(row, expected=expected, low=expected / most, high=max(expected, min(bound, expected / least)))
    return replace(row, expected=expected, low=min(expected, max(bound, expected * least)), high=expected * most)


def with_null(rows: Iterable[Judged], published: Sequence[Judged]) -> list[Judged]:
    """The rows with the prediction of the null model.

    It knows the published runs of the same kind and calibration, except those of the row's source; if there are none,
    all of that kind, and if these have a single source, all of that template.
    """
    of_template, of_kind = defaultdict[str, list[Judged]](list), defaultdict[tuple[str, str], list[Judged]](list)
    for row in published:
        if row.run.is_fitted and row.over_measured(row.bound):
            of_template[row.run.template].append(row)
            of_kind[row.run.template, row.run.judged_as].append(row)
    return [
        replace(row, null=_null(row, of_template[row.run.template], of_kind[row.run.template, row.run.judged_as]))
        for row in rows
    ]


def _null(row: Judged, of_template: Sequence[Judged], of_kind: Sequence[Judged]) -> float | None:
    others = [each for each in of_kind if each.run.source != row.run.source]
    of_kind = others or [each for each in of_template if each.run.source != row.run.source]
    of_chip = [each for each in of_kind if each.calibration == row.calibration] or of_kind
    over = [1 / share for each in of_chip if (share := each.over_measured(each.bound))]
    if row.bound is None or not over:
        return None
    times = median(over)
    return row.bound / times if row.is_rate else row.bound * times


def validated(path: Path | None, databases: Databases, *, leave_one_out: bool = False) -> list[Judged]:
    """The runs of a CSV, by default the published ones, each with what is expected of it.

    With `leave_one_out`, each source's runs are predicted by a fit to all other sources, of the file and published.
    Raises UserError for a fault in a file.
    """
    ours = Databases()
    models = models_of(databases)
    runs = read(path or shipped(), databases, models)
    by_template = predicted(runs, databases, models)
    rows = judged(runs, by_template)
    if path is None and databases == ours:
        published, known = runs, rows
    else:
        # The null model of a run uses only runs of its template.
        published, known = published_judged(None if leave_one_out else frozenset(run.template for run in runs))
    if leave_one_out:
        from planner.validation.left_out import fitted

        sources = {run.source for run in runs}
        unseen = [run for run in published if run.source not in sources] if runs is not published else []
        others = predicted(unseen, ours, models_of(ours))
        kinds = {run.judged_as for run in runs if not run.fault}
        rows = without_own_source(rows, fitted([*by_template, *others], databases.hardware, kinds).groups)
    else:
        rows = [
            replace(row, is_fitted_to=row.run.source.replace(" ", "_") in sources)
            for row, sources in zip(rows, _fitted_to(rows, databases), strict=True)
        ]
    return with_null(rows, known)


def published_judged(templates: frozenset[str] | None) -> tuple[list[Run], list[Judged]]:
    """The published runs of some templates (None: all), and what is expected of each with the shipped databases."""
    ours = Databases()
    published = read(shipped(), ours, models_of(ours), templates)
    return published, judged(published, predicted(published, ours, models_of(ours)))


def _fitted_to(rows: Sequence[Judged], databases: Databases) -> list[set[str]]:
    """For each row, the sources to whose runs its calibration was fitted."""
    stated = stated_calibrations(databases.calibrations_csv, only=databases.only)
    fitted = {identifier: _sources(lines.values()) for identifier, lines in stated.items()}
    return [fitted.get(row.calibration, set()) for row in rows]


def _sources(lines: Iterable[Stated]) -> set[str]:
    """The sources of the runs that these lines of a calibration were fitted to."""
    texts = (line.cells.get("sources", "") for line in lines if line.cells.get("rows"))
    return {source for text in texts for source in text.split()}


def doubted(rows: Sequence[Judged]) -> str:
    """Which runs are so far off that their number is likely in another unit, and in which; blank if none is."""
    found: list[str] = []
    for row in rows:
        ratio = row.over_measured(row.expected)
        if row.expected and ratio and likely_unit.is_far(ratio):
            of = library.load(row.run.template).row(row.run.output)
            meant = likely_unit.likely(row.run.measured / row.run.written, row.expected, of.unit)
            found.append(f"{row.run.id} (line {row.run.line}{f': {meant}?' if meant else ''})")
    if not found:
        return ""
    are, their = ("is", "its") if len(found) == 1 else ("are", "their")
    return f"{few(found)} {are} {likely_unit.far_off()}; look at {their} columns measured and unit"


def without_effect(rows: Sequence[Judged], databases: Databases) -> str:
    """Why no stack of the user's file of calibrations affects any row; blank if one does, or if there are no stacks.

    Also blank if the file replaces parameters of a shipped calibration that a row uses.
    """
    stacks = databases.own_ids.get("stacks", frozenset())
    fitted = {name: databases.stacks.rows[name]["fitted_for"] for name in sorted(stacks)}
    calibrations = {row.calibration for row in rows}
    stated = stated_calibrations(databases.calibrations_csv) if stacks else {}
    is_read = {
        line.file == databases.calibrations_csv for each in calibrations for line in stated.get(each, {}).values()
    }
    if not stacks or True in is_read:
        return ""
    named = {str(row.run.values.get("stack", "")) for row in rows} & stacks
    file = databases.calibrations_csv.name if databases.calibrations_csv else ""
    if not named:
        one = next(iter(fitted))
        return f"{file} changes nothing: no run names its stack; write stack={one} into the settings of your runs"
    chips = few(sorted({str(fitted[name]) for name in named}))
    return f"{file} changes nothing: {few(sorted(named))} is for chips of {chips}, and no run that names it is on one"
