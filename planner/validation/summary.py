"""How far expected times are from measured ones, over many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.validation.judged import Judged

ROUNDING = 0.01


@dataclass(frozen=True)
class Summary:
    """Errors of some runs on time, as fractions; None where no run has such a number.

    `n` counts all runs and `n_na` those of which nothing can be expected. `bias` is the median of expected over
    measured, `in_range` the share of the runs within their range, `range_width` the median of high/low - 1.
    """

    n: int
    n_na: int
    median_error: float | None
    p90_error: float | None
    median_error_bound: float | None
    p90_error_bound: float | None
    median_error_null: float | None
    p90_error_null: float | None
    bias: float | None
    in_range: float | None
    range_width: float | None

    def as_object(self) -> dict[str, float | int | None]:
        """By name, as JSON has it."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def summary(rows: Sequence[Judged]) -> Summary:
    """The errors of some rows."""
    answered = [row for row in rows if row.expected is not None]
    own, bound, null = (
        _known(row.error(number) for row, number in zip(answered, numbers, strict=True))
        for numbers in (
            [row.expected for row in answered], [row.bound for row in answered], [row.null for row in answered],
        )
    )  # fmt: skip
    ranged = [row for row in answered if row.low is not None]
    return Summary(
        len(rows), len(rows) - len(answered),
        _quantile(own, 0.5), _quantile(own, 0.9), _quantile(bound, 0.5), _quantile(bound, 0.9),
        _quantile(null, 0.5), _quantile(null, 0.9),
        _quantile(_known(row.over_measured(row.expected) for row in answered), 0.5),
        sum(row.is_in_range for row in ranged) / len(ranged) if ranged else None,
        _quantile(_known(row.width for row in ranged), 0.5),
    )  # fmt: skip


def by(rows: Iterable[Judged], key: Callable[[Judged], str]) -> dict[str, Summary]:
    """The errors of rows with the same key, in the order in which keys come."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: summary(found) for name, found in groups.items()}


def reasons(rows: Iterable[Judged]) -> dict[str, list[str]]:
    """Why nothing is expected of rows, and the ids of those rows: the most frequent reason first."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.expected is None:
            found.setdefault(row.fault, []).append(row.run.id)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def impossible(rows: Iterable[Judged]) -> list[Judged]:
    """The rows that are faster than their bound, by more than rounding: of another plan, or in another unit."""
    return [row for row in rows if (ratio := row.over_measured(row.bound)) is not None and ratio > 1 + ROUNDING]


def _known(numbers: Iterable[float | None]) -> list[float]:
    return [number for number in numbers if number is not None]


def _quantile(numbers: Sequence[float], share: float) -> float | None:
    return float(np.quantile(numbers, share)) if numbers else None
