"""The errors of expected times over runs, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass

import numpy as np

from planner import terminal_table
from planner.formulas import library
from planner.formulas.headlines import OF_ANY_RUNS, OF_RUNS
from planner.number_text import PERCENT, few, percent, printed
from planner.validation.judged import Judged

TITLES = ("runs", "N/A", "error", "90 %", "bound", "90 %", "null", "90 %", "bias", "in range", "width")
NOTE = (
    "Errors are on time, of measured: the median and the 90th percentile of the expected, of the bound, and of the\n"
    "null model (the bound times what published runs of such chips take over theirs). Bias is the median of expected\n"
    "over measured; in range the share of runs between low and high; width the median of high/low - 1."
)


def as_json(rows: Sequence[Judged]) -> str:
    """One JSON object: `kinds`, `mixes` and `sources` with errors as fractions, `rows` in each row's own unit."""
    mixes: dict[str, dict[str, object]] = {}
    for name, found in by(rows, lambda row: f"{row.run.kind} {row.mix}").items():
        kind, _, mix = name.rpartition(" ")
        mixes.setdefault(kind, {})[mix] = asdict(found)
    return json.dumps(
        {
            "kinds": {name: asdict(found) for name, found in by(rows, lambda row: row.run.kind).items()},
            "mixes": mixes,
            "sources": {name: asdict(found) for name, found in by(rows, lambda row: row.run.source).items()},
            "rows": [_row(row) for row in rows],
        },
        indent=2,
    )


def _row(row: Judged) -> dict[str, object]:
    numbers = {"expected": row.expected, "low": row.low, "high": row.high, "bound": row.bound, "null": row.null}
    own = {name: None if number is None else number / row.run.written for name, number in numbers.items()}
    return {
        "id": row.run.id,
        "kind": row.run.kind,
        "source": row.run.source,
        **own,
        "measured": row.run.measured / row.run.written,
        "fitted_to": row.is_fitted_to,
        **({"fault": row.fault} if row.expected is None else {}),
        **({"line": row.run.line, "column": row.run.column} if row.run.column else {}),
    }


def as_text(rows: Sequence[Judged], about: str, *, is_own: bool = False, is_each: bool = False) -> str:
    """A table by kind, with dense and mixture-of-experts models separate, and one by source.

    With the user's own calibrations (`is_own`), sources to which these were fitted are separate from others. If
    `is_each`, a table of the runs comes first, if they are few.
    """

    def apart(name: str, row: Judged) -> str:
        return f"{name}, {'fitted to' if row.is_fitted_to else 'not fitted to'}" if is_own else name

    parts = [
        about,
        *(
            ["", _runs(rows, is_own=is_own)]
            if is_each and len(rows) <= MOST_LISTED and any(row.expected is not None for row in rows)
            else []
        ),
    ]
    parts += ["", _table("kind", by(rows, lambda row: apart(row.run.kind, row)))]
    has_experts = {row.run.kind for row in rows if row.is_moe}
    mixed = [row for row in rows if row.run.kind in has_experts]
    names = {"dense": "dense", "moe": "mixture of experts", "unknown": "model not known"}
    if mixed:
        parts += ["", _table("kind and model", by(mixed, lambda row: apart(f"{row.run.kind}, {names[row.mix]}", row)))]
    parts += ["", _table("source", by(rows, lambda row: apart(row.run.source, row))), "", NOTE]
    if found := reasons(rows):
        parts += ["", f"Nothing is expected of {terminal_table.counted(sum(map(len, found.values())), 'run')}:"]
        parts += [f"  {few([row.run.id for row in its])}{_where(its)}: {why}" for why, its in found.items()]
    if fast := impossible(rows):
        parts += [
            "",
            f"Faster than its bound, which no published run is: {few([row.run.id for row in fast])}.",
            "Look at its settings and its unit.",
        ]
    return "\n".join(parts)


def _runs(rows: Sequence[Judged], *, is_own: bool) -> str:
    """A line for each run: measured, expected, its range, and the error on time."""
    body, answered = [], [row for row in rows if row.expected is not None]
    loaded = {name: library.load(name) for name in dict.fromkeys(row.run.template for row in answered)}
    for row in answered:
        of = loaded[row.run.template].row(row.run.output)
        unit = PERCENT if of.display == PERCENT else of.unit
        low, high = (printed(number, unit) for number in (row.low, row.high))
        ratio = row.over_measured(row.expected)
        ranged = "N/A" if row.low is None else f"{low} to {high}"
        body.append(
            [
                row.run.id,
                row.run.output,
                printed(row.run.measured, unit),
                printed(row.expected, unit),
                ranged,
                percent(None if ratio is None else ratio - 1, 0, signed=True),
            ]
        )
    header = ["run", "what", "measured", "expected", OF_ANY_RUNS if is_own else OF_RUNS, "off by"]
    return terminal_table.aligned(header, body, right=("measured", "expected", "off by"))


def _table(title: str, summaries: dict[str, Summary]) -> str:
    return terminal_table.aligned(
        [title, *TITLES], [cells(name, each) for name, each in summaries.items()], right=TITLES
    )


def cells(name: str, each: Summary) -> list[str]:
    """A line of a table, by TITLES."""
    n, n_na, *errors, bias, in_range, width = astuple(each)
    said_bias = "N/A" if bias is None else f"{bias:.2f}"
    return [name, f"{n:,}", f"{n_na:,}", *map(percent, errors), said_bias, percent(in_range, 0), percent(width, 0)]


ROUNDING = 0.01
MOST_LISTED = 40  # runs listed one by one; --json has all


@dataclass(frozen=True)
class Summary:
    """Errors of some runs on time, as fractions; None if no run has such a number."""

    n: int  # all runs
    n_na: int  # runs without an expected number
    median_error: float | None
    p90_error: float | None
    median_error_bound: float | None
    p90_error_bound: float | None
    median_error_null: float | None
    p90_error_null: float | None
    bias: float | None  # median of expected over measured
    in_range: float | None  # fraction of the runs within their range
    range_width: float | None  # median of high/low - 1


def summary(rows: Sequence[Judged]) -> Summary:
    """The errors of some rows."""
    answered = [row for row in rows if row.expected is not None]
    own = _known(row.error(row.expected) for row in answered)
    bound = _known(row.error(row.bound) for row in answered)
    null = _known(row.error(row.null) for row in answered)
    ranged = [row for row in answered if row.low is not None]
    return Summary(
        len(rows),
        len(rows) - len(answered),
        _quantile(own, 0.5),
        _quantile(own, 0.9),
        _quantile(bound, 0.5),
        _quantile(bound, 0.9),
        _quantile(null, 0.5),
        _quantile(null, 0.9),
        _quantile(_known(row.over_measured(row.expected) for row in answered), 0.5),
        sum(row.is_in_range for row in ranged) / len(ranged) if ranged else None,
        _quantile(_known(row.width for row in ranged), 0.5),
    )


def by(rows: Iterable[Judged], key: Callable[[Judged], str]) -> dict[str, Summary]:
    """The errors of rows grouped by a key, in order of first occurrence."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {name: summary(found) for name, found in groups.items()}


def reasons(rows: Iterable[Judged]) -> dict[str, list[Judged]]:
    """The rows without an expected time by reason, the most frequent first."""
    found: dict[str, list[Judged]] = {}
    for row in rows:
        if row.expected is None:
            found.setdefault(row.fault, []).append(row)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def _where(rows: Sequence[Judged]) -> str:
    """The lines and column of a fault in the rows' file, in parentheses; blank if it is in no column."""
    column = rows[0].run.column
    lines = f"line{'s' if len(rows) > 1 else ''} {few([str(row.run.line) for row in rows])}"
    return f" ({lines}, column {column})" if column else ""


def impossible(rows: Iterable[Judged]) -> list[Judged]:
    """The rows faster than their bound, beyond rounding: they must be of another plan or in another unit."""
    return [row for row in rows if (ratio := row.over_measured(row.bound)) is not None and ratio > 1 + ROUNDING]


def _known(numbers: Iterable[float | None]) -> list[float]:
    return [number for number in numbers if number is not None]


def _quantile(numbers: Sequence[float], share: float) -> float | None:
    return float(np.quantile(numbers, share)) if numbers else None
