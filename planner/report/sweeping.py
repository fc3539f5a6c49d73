"""A scenario's decode over other batch sizes: the sheet's own formulas, as array functions.

It is done only where the template gives exactly what the workbook's cells say, so that an edited formula or a number
typed over one is never passed over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from planner.book.plan import Quantity, Scenario
from planner.errors import UserError
from planner.formulas.template import Template
from planner.xlsx.cellvalue import CellError

TEMPLATE = "inference"
SWEPT, LATENCY = "batch", "decode_step_time_calibrated"
THROUGHPUT, MOST = "decode_tokens_per_second_per_chip", "max_batch"
AGREEMENT = 1e-9
BEYOND = 4  # times the scenario's batch, where the memory sets no limit


@dataclass(frozen=True)
class Curve:
    """Latency and throughput for each batch size, the smallest first."""

    batches: tuple[float, ...]
    latency: tuple[float, ...]
    throughput: tuple[float, ...]
    most: float | None  # the largest batch that the memory holds


def curve(table: Mapping[str, Quantity], scenario: Scenario) -> Curve | None:
    """The curve up to the largest batch in memory; None where the template doesn't reproduce the workbook."""
    from planner.formulas.evaluation import Facts, evaluate

    try:
        template = _template()
        given = {
            row.name: _plain(table[row.name], scenario)
            for row in template.rows
            if row.kind in ("input", "constant", "model", "hardware", "dtype") and row.name in table
        }
        if not isinstance(given.get(SWEPT), float):
            return None
        results = evaluate(template, Facts(), given)
        if any(not _same(results.value(name), table[name].value(scenario.key)) for name in (LATENCY, THROUGHPUT)):
            return None
        most = table[MOST].value(scenario.key) if MOST in table else None
        batches = _batches(given[SWEPT], most)
        swept = evaluate(template, Facts(), {**given, SWEPT: batches})
    except (UserError, KeyError, TypeError, ValueError):
        return None  # rows of another template than ours: nothing to sweep with
    times, rates = (tuple(map(float, swept[name])) for name in (LATENCY, THROUGHPUT))
    return Curve(tuple(batches), times, rates, most if isinstance(most, float) else None)


@cache
def _template() -> Template:
    """Read once for all scenarios."""
    from planner.formulas import library

    return library.load(TEMPLATE)


def _plain(row: Quantity, scenario: Scenario) -> float | str | None:
    value = row.value(scenario.key)
    return None if value is None or isinstance(value, (CellError, bool)) else value


def _same(ours: object, cell: object) -> bool:
    return isinstance(ours, float) and isinstance(cell, (int, float)) and math.isclose(ours, cell, rel_tol=AGREEMENT)


def _batches(own: object, most: object) -> list[float]:
    """Powers of two to the largest batch in memory, that batch, and the scenario's own, which may be larger."""
    assert isinstance(own, float)
    last = (most if most >= 1 else own) if isinstance(most, float) else own * BEYOND
    powers = [2.0**power for power in range(int(math.log2(max(last, 1))) + 1)]
    return sorted({*powers, last, own})
