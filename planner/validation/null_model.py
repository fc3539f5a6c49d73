"""The null model: a run takes its bound times what published runs of such chips take over theirs, in the median."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from planner.validation.judged import Judged


def with_null(rows: Iterable[Judged], published: Sequence[Judged]) -> list[Judged]:
    """The rows with what the null model says of each.

    It knows the published runs of the same kind and calibration, but none of the row's own source; where there are no
    such runs all of that kind, and where it has one source alone, all of that template.
    """
    known = [row for row in published if row.run.is_fitted and row.over_measured(row.bound)]
    return [
        replace(row, null=_null(row, [each for each in known if each.run.source != row.run.source])) for row in rows
    ]


def _null(row: Judged, known: Sequence[Judged]) -> float | None:
    others = [each for each in known if each.run.source != row.run.source]
    of_template = [each for each in others if each.run.template == row.run.template]
    of_kind = [each for each in of_template if each.run.judged_as == row.run.judged_as] or of_template
    of_chip = [each for each in of_kind if each.calibration == row.calibration] or of_kind
    over = [1 / share for each in of_chip if (share := each.over_measured(each.bound))]
    if row.bound is None or not over:
        return None
    times = median(over)
    return row.bound / times if row.is_rate else row.bound * times
