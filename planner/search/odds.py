"""The probability that the best plan on one chip is better than that on another, from the ranges of both."""

from __future__ import annotations

import math

from planner.formulas.headlines import RANGE
from planner.search.optimum import Objective, Plan
from planner.search.ties import share_errors, unshared

DECILE = 1.2815515655446004  # of the normal distribution: a range holds 80 %, from the first to the ninth decile


def better(objective: Objective, one: Plan, other: Plan) -> float | None:
    """The probability that `one` is better than `other`; None where the objective has no range.

    Each is taken as log-normal about what is expected, with the width of its range, and the errors as independent. Of
    one model on chips of one calibration the error that they don't share is what published pairs of runs tell: that of
    a tie.
    """
    name = objective.row.name
    shares = share_errors(one.subject, other.subject)
    values, widths = [], []
    for plan in (one, other):
        if any(name + end not in plan.results for end in RANGE):
            return None
        results = unshared(plan.subject, plan.results) if shares else plan.results
        number, low, high = (float(results[each]) for each in (name, *(name + end for end in RANGE)))
        if not (0 < low <= high and number > 0):
            return None
        values.append(number)
        widths.append(math.log(high / low) / (2 * DECILE))
    distance = math.log(values[1] / values[0]) * (1 if objective.is_least else -1)
    width = max(widths) if shares else math.hypot(*widths)
    return 0.5 * (1 + math.erf(distance / (width * math.sqrt(2)))) if width else float(distance > 0)
