"""What to change so that the failed checks of a plan hold, where no formula says it: values that were tried.

A mend of templates/dashboard.csv without a row names inputs that may help, as in `try a smaller batch or more chips
(n_chips)`. Each of them alone is searched as `--solve` does; said is what mends its check and breaks no other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas import advice
from planner.formulas.evaluation import Facts, Results
from planner.formulas.explanation import failed
from planner.formulas.headlines import headline_template, memory_check
from planner.formulas.input_values import limits
from planner.formulas.solving import Target, input_in_words, solve
from planner.formulas.template import Row

TRY = "try "  # begins a mend that names inputs and no value


def in_words(results: Results, facts: Facts) -> str:
    """As `advice.in_words`; where that would only name inputs to try, what trying them gives, for each failed check."""
    checks = [row for row in failed(results) if row.is_of_plan]
    mends = advice.mends(results.template)
    fits = memory_check(headline_template(results.template))
    if not checks or any(row.name == fits for row in checks) or not _is_tried(mends.get(checks[0].name)):
        return advice.in_words(results)
    tried = [(row, mends[row.name]) for row in checks if _is_tried(mends.get(row.name))]
    return "; ".join(_said(row, _inputs(mend, results), results, facts) for row, mend in tried)


def _is_tried(mend: advice.Advice | None) -> bool:
    return mend is not None and not mend.first.row and mend.first.said.startswith(TRY)


def _inputs(mend: advice.Advice, results: Results) -> list[Row]:
    """The inputs that a mend names."""
    rows = results.template.by_name
    words = dict.fromkeys(re.findall(r"\w+", mend.first.said))
    return [rows[word] for word in words if word in rows and rows[word].kind == "input"]


def _said(check: Row, inputs: Sequence[Row], results: Results, facts: Facts) -> str:
    """The values of single inputs that mend a check, or that none does."""
    values = [said for row in inputs if (said := _mending(check, row, results, facts))]
    if values:
        return f"{' or '.join(values)} for {check.name}"
    names = " or ".join(row.name for row in inputs)
    return f"no {names} within its range makes {check.name} hold"


def _mending(check: Row, row: Row, results: Results, facts: Facts) -> str:
    """The value of an input, nearest to its own, that makes a check hold and no other fail: `batch 1`; else blank."""
    given: Mapping[str, Value] = {name: results.value(name) for name in results.given}
    try:
        solution = solve(results.template, facts, given, row.name, Target(check, ">=", 1.0))
    except UserError:
        return ""
    now, before = results.number(row.name) or 0.0, {each.name for each in failed(results)}
    ends = {end.at for met in solution.ranges for end in (met.low, met.high) if not limits(row).fault(end.at)}
    for end in sorted(ends, key=lambda at: abs(at - now)):
        for value in [end] if solution.is_count else [*_rounded(end), end]:
            if {each.name for each in failed(solution.at(value))} < before:
                return f"{row.name} {input_in_words(row, solution.space, value)}"
    return ""


def _rounded(number: float) -> Iterator[float]:
    """A positive number in two to four digits, rounded down and up: the end of a range just outside it and inside."""
    for digits in range(2, 5) if number > 0 else ():
        size = math.floor(math.log10(number)) + 1 - digits
        for rounded in (math.floor, math.ceil):
            yield float(f"{rounded(number / 10.0**size)}e{size}")
