"""What to change so that the failed checks of a plan hold, where no formula says it: values that were tried.

The advice of kind `tried` in templates/dashboard.csv names inputs that may help, as in `batch or n_chips`. Each of them
alone is searched as `--solve` does; said is what mends its check and breaks no other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas import advice
from planner.formulas.evaluation import Facts, Results
from planner.formulas.explanation import failed
from planner.formulas.headlines import headline_template, memory_check
from planner.formulas.input_values import limits
from planner.formulas.solving import Target, input_in_words, solve
from planner.formulas.template import Row


class Advised(NamedTuple):
    """What to type in words, blank if nothing is known, and the values of it by input."""

    words: str
    values: dict[str, float]


def advised(results: Results, facts: Facts) -> Advised:
    """As `advice`; where that only names inputs to try, what trying them gives, for each failed check."""
    checks = [row for row in failed(results) if row.is_of_plan]
    mends = advice.mends(results.template)
    fits = memory_check(headline_template(results.template))
    tried = [(row, mends[row.name].tried) for row in checks if row.name in mends and mends[row.name].tried]
    if not tried or tried[0][0] != checks[0] or any(row.name == fits for row in checks):
        return Advised(advice.in_words(results), advice.values(results))
    found = [(row, names, _mended(row, names, results, facts)) for row, names in tried]
    words = "; ".join(_said(row, names, said) for row, names, said in found)
    return Advised(words, {name: value for *_, said in found for name, (value, _) in said.items()})


def _mended(check: Row, names: str, results: Results, facts: Facts) -> dict[str, tuple[float, str]]:
    """The values of single inputs that mend a check, each as a number and in words, by the input."""
    rows = results.template.by_name
    inputs = (rows[word] for word in re.findall(r"\w+", names) if word in rows)
    return {row.name: mended for row in inputs if (mended := _mending(check, row, results, facts))}


def _said(check: Row, names: str, mended: Mapping[str, tuple[float, str]]) -> str:
    """The values that mend a check, or that none of the inputs does."""
    if not mended:
        return f"no {names} within its range makes {check.name} hold"
    return f"{' or '.join(f'{name} {said}' for name, (_, said) in mended.items())} for {check.name}"


def _mending(check: Row, row: Row, results: Results, facts: Facts) -> tuple[float, str] | None:
    """The value of an input, nearest to its own, that makes a check hold and no other fail; also in words."""
    given: Mapping[str, Value] = {name: results.value(name) for name in results.given}
    try:
        solution = solve(results.template, facts, given, row.name, Target(check, ">=", 1.0))
    except UserError:
        return None
    now, before = results.number(row.name) or 0.0, {each.name for each in failed(results)}
    ends = {end.at for met in solution.ranges for end in (met.low, met.high) if not limits(row).fault(end.at)}
    for end in sorted(ends, key=lambda at: abs(at - now)):
        for value in [end] if solution.is_count else [*_rounded(end), end]:
            if {each.name for each in failed(solution.at(value))} < before:
                return value, input_in_words(row, solution.space, value)
    return None


def _rounded(number: float) -> Iterator[float]:
    """A positive number in two to four digits, rounded down and up: the end of a range just outside it and inside."""
    for digits in range(2, 5) if number > 0 else ():
        size = math.floor(math.log10(number)) + 1 - digits
        for rounded in (math.floor, math.ceil):
            yield float(f"{rounded(number / 10.0**size)}e{size}")
