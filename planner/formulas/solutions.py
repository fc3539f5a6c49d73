"""The result of `--solve` as text, and as an object for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.catalog import Value
from planner.formulas import expected
from planner.formulas.evaluation import Results
from planner.formulas.explanation import failed
from planner.formulas.search_space import TriedValues
from planner.formulas.solving import End, Solution, TargetRange, input_in_words
from planner.formulas.template import Row
from planner.number_text import in_seven_digits
from planner.terminal_table import digits


def lines(solution: Solution, *, is_own: bool = False) -> list[str]:
    """The solution as text: the answer, its effect, the exact crossing, and the failed checks.

    `is_own` says whether calibrations of the user's own are used.
    """
    said: list[str] = []
    answers = solution.answers
    name, target, whole = solution.row.name, solution.target, solution.is_count
    if not answers:
        low, high = (_input(solution, float(end)) for end in solution.space.values[[0, -1]])
        return [f"any {name} from {low} to {high} gives {target.text}"]
    kind = _kind(solution.space)
    for met, exact in zip(solution.ranges, solution.exact, strict=True):
        for end, exact_end, extreme in ((met.low, exact.low, "smallest"), (met.high, exact.high, "largest")):
            if end.is_limit:
                continue
            value = in_seven_digits(answers[end.at].value(target.row.name), target.row.unit)
            line = f"{name} = {_input(solution, end.at)} is the {extreme} {kind} with {target.text}: {value} there"
            if whole:
                past = solution.at(solution.space.next_count(end.at, 1 if extreme == "largest" else -1))
                beyond = in_seven_digits(past.value(target.row.name), target.row.unit)
                line += f", {beyond} at {_input(solution, past.value(name))}"
                line += f"; exactly, {_input(solution, exact_end.at)}" if exact_end.at != end.at else ""
            said.append(line)
            said += _range_of(answers[end.at], target.row, is_own=is_own)
            said += [f"  there {each} = {digits(answers[end.at].value(each))}" for each in solution.followers]
            checks = ", ".join(row.named for row in failed(answers[end.at]))
            said += [f"  there these checks fail: {checks}"] if checks else []
    if len(solution.ranges) > 1:
        where = " and ".join(_range(solution, met) for met in solution.ranges)
        said.append(f"{target.row.name} both rises and falls with {name}: the target is met {where}")
    return said


def _kind(space: TriedValues) -> str:
    """The noun for an answer, such as whole number."""
    if space.listed_as:
        return space.listed_as
    return f"multiple of {digits(space.step)}" if space.step > 1 else "whole number" if space.step else "value"


def as_object(solution: Solution, names: Sequence[str]) -> dict[str, Any]:
    """The solution for JSON; `answer` is null if there are several, or none is needed."""
    target = solution.target
    return {
        "solve": solution.row.name,
        "for": target.row.name,
        "sense": target.sense,
        "target": target.value,
        "unit": target.row.unit,
        "answer": solution.answer,
        "is_whole": solution.is_count,
        "reached": list(solution.reached),
        "ranges": [
            {
                "from": _end(met.low),
                "to": _end(met.high),
                "exactly_from": _end(exact.low),
                "exactly_to": _end(exact.high),
            }
            for met, exact in zip(solution.ranges, solution.exact, strict=True)
        ],
        "answers": [
            {
                solution.row.name: answer,
                target.row.name: results.value(target.row.name),
                "failed_checks": [row.name for row in failed(results)],
                **{name: results.value(name) for name in names},
            }
            for answer, results in solution.answers.items()
        ],
    }


def _range_of(results: Results, row: Row, *, is_own: bool) -> list[str]:
    """The range of an expected target at an answer."""
    low, high = f"{row.name}_low", f"{row.name}_high"
    if not {low, high} <= results.template.by_name.keys():
        return []
    least, most = (in_seven_digits(results.value(name), row.unit) for name in (low, high))
    return [f"  {expected.of_runs(results.known, is_own=is_own)} there: {least} to {most}"]


def _end(end: End) -> float | None:
    return None if end.is_limit else end.at


def _range(solution: Solution, met: TargetRange) -> str:
    low, high = (_input(solution, end.at) for end in met)
    if met.low.is_limit:
        return f"up to {high}"
    return f"from {low}" + ("" if met.high.is_limit else f" to {high}")


def _input(solution: Solution, value: Value) -> str:
    return input_in_words(solution.row, solution.space, value)
