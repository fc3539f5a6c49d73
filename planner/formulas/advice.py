"""What would make a plan fit, or a check hold: values to type, as data in templates/dashboard.csv.

Of its kinds, a `change` is a value that would make a plan fit in memory, a `mend` one that would make the check in the
column `target` hold; each `along` below them is a value to type with it. `name` is the row that has the value, 0 or N/A
where there is none; its `label` says what to type, with `{}` in the value's place. A mend without a name is a text.
Where no formula has the value, the label of a `tried` one names inputs that may help, as in `batch or n_chips`:
`advised` tries values of each alone. Of a plan that passes, `quicker` tries other groups of serving chips.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.evaluation import Facts, Results, encoded
from planner.formulas.expected import IDEAL
from planner.formulas.explanation import failed
from planner.formulas.following import divisors
from planner.formulas.headlines import RANGE, headline_template, leading, memory_check, records_of
from planner.formulas.input_values import limits
from planner.formulas.partial import partial
from planner.formulas.solving import Target, input_in_words, solve
from planner.formulas.template import Row, Template
from planner.number_text import spoken, within

VALUE = "{}"  # where a label has the value
OR, WITH = ", or ", ", with "  # before another change, and before what to type along
CHANGE, MEND, ALONG, TRIED = "change", "mend", "along", "tried"
TRIES = "planner report tries values of {}"  # said where formulas alone can't try any


class Typed(NamedTuple):
    """A value to type: what is said before and after it, and its row; only `before` if the row is blank."""

    before: str
    after: str
    row: str

    @property
    def said(self) -> str:
        """It as a label without its value."""
        return f"{self.before}{self.after}".strip()


@dataclass(frozen=True)
class Advice:
    """Values to type together: the one that counts, others that must agree with it, and the check that it mends.

    Where no row has a value, `tried` names the inputs to try, as in `batch or n_chips`.
    """

    first: Typed
    along: tuple[Typed, ...] = ()
    check: str = ""
    tried: str = ""


def changes(template: Template) -> list[Advice]:
    """The changes that would make a plan fit in memory, in the order in which they are named."""
    return _advice(template, (CHANGE,))


def mends(template: Template) -> dict[str, Advice]:
    """The change that would make a check of the plan hold, by the check's name."""
    return {each.check: each for each in _advice(template, (MEND, TRIED))}


def in_words(results: Results) -> str:
    """What to type so that a plan fits, else so that its first failed check holds: `n_chips 5, or batch 18 at most`.

    Blank if it passes, or no one value is known.
    """
    return OR.join(filter(None, (_said(each, results) for each in _given(results))))


def values(results: Results) -> dict[str, float]:
    """The values that `in_words` says first of each advice, by the input to type them into."""
    firsts = (each.first for each in _given(results))
    return {each.before.strip(): number for each in firsts if each.row and (number := results.number(each.row))}


def _given(results: Results) -> list[Advice]:
    """The changes that would make a plan fit, else the one for its first failed check; empty if there is none."""
    template = results.template
    checks = {row.name: results.value(row.name) for row in template.rows if row.is_of_plan}
    if checks.get(memory_check(headline_template(template))) == 0:
        return changes(template)
    failed = next((name for name, value in checks.items() if value == 0), "")
    mend = mends(template).get(failed)
    return [mend] if mend else []


def _said(advice: Advice, results: Results) -> str:
    """What to type by one advice; blank where there is no value."""
    words = [
        each.said if not each.row else f"{each.before}{number:,.0f}{each.after}"
        for each in (advice.first, *advice.along)
        if not each.row or (number := results.number(each.row))
    ]
    return WITH.join(words)


def _advice(template: Template, kinds: tuple[str, ...]) -> list[Advice]:
    """The advice of some kinds, without what reads rows that the template lacks."""
    found: list[Advice] = []
    above = ""
    for cells in records_of(headline_template(template)):
        above = above if cells["kind"] == ALONG else cells["kind"]
        if above not in kinds or (cells["name"] and cells["name"] not in template.by_name):
            continue
        tried = cells["label"] if cells["kind"] == TRIED else ""
        before, _, after = (TRIES.format(tried) if tried else cells["label"]).partition(VALUE)
        typed = Typed(before, after, cells["name"])
        if cells["kind"] in kinds:
            found.append(Advice(typed, check=cells["target"], tried=tried))
        elif found:
            found[-1] = replace(found[-1], along=(*found[-1].along, typed))
    return found


STEP, TOKEN = "decode_step_time_expected", "time_per_output_token_expected"  # both must be quicker
DATA, TENSOR, EXPERT = "serve_data", "serve_tensor", "serve_expert"
READ = ("n_chips", "serve_pipeline", "node_size", "n_experts", DATA, TENSOR, EXPERT)
MOST_CHIPS = 2**20  # beyond it divisors take too long
WORTH = 0.05  # smallest relative change to mention


def quicker(results: Results, facts: Facts) -> str:
    """The groups to type and what they change, as in `Data ways of serving (serve_data) 8: decode step 40 ms → 20 ms`.

    Tensor ways beyond the cache's heads read copies of it; groups of chips each attend with sequences of their own.
    Which number of groups is best has no formula: each that divides the chips of a stage is tried, with experts on the
    chips of a group and over all. Blank if a check fails, if it is no plan of serving, or if with no other groups both
    a decode step and a token are quicker than the low ends of their ranges.
    """
    template, ends = results.template, {name: name + RANGE[0] for name in (STEP, TOKEN)}
    if not template.by_name.keys() >= {*ends, *ends.values(), *READ} or failed(results):
        return ""
    layouts, lows = list(_layouts(results)), {name: results.number(end) for name, end in ends.items()}
    if not layouts or results.value("stack") == IDEAL:
        return ""
    times = [each for each in leading(headline_template(template), template.by_name) if each.unit == "s"]
    checks = [row.name for row in template.of_kind("check")]
    given = {name: encoded(template.row(name), results.value(name)) for name in results.given}
    wanted = (STEP, TOKEN, *(each.row.name for each in times), *checks)
    moved = dict(zip((DATA, TENSOR, EXPERT), np.array(layouts).T, strict=True))
    fixed = {name: value for name, value in given.items() if name not in moved}
    found = partial(template, facts, fixed, moved, wanted)(moved)
    holds = [*(found[name] != 0 for name in checks), *(found[name] < (low or 0.0) for name, low in lows.items())]
    passes = np.logical_and.reduce([np.broadcast_to(each, len(layouts)) for each in holds])
    if not passes.any():
        return ""
    best = int(np.argmin(np.where(passes, found[TOKEN], np.inf)))
    after = {name: float(np.broadcast_to(found[name], len(layouts))[best]) for name in wanted}
    others = [name for name in moved if moved[name][best] != results.number(name)]
    typed = [f"{template.row(name).named} {moved[name][best]:,.0f}" for name in others]
    said = [
        f"{within(each.label)} {spoken(now, 's')} \N{RIGHTWARDS ARROW} {spoken(after[each.row.name], 's', now)}"
        for each in times
        if (now := results.number(each.row.name)) and abs(after[each.row.name] / now - 1) >= WORTH
    ]
    return f"{', with '.join(typed)}: {'; '.join(said)}"


def _layouts(results: Results) -> Iterator[tuple[float, float, float]]:
    """Other groups, tensor ways (0 where they follow) and expert ways of a plan's chips.

    A group has no more chips than now, or than a node.
    """
    known: Mapping[str, float] = {name: results.number(name) or 0.0 for name in READ}
    stage = known["n_chips"] / (known["serve_pipeline"] or 1.0)
    if stage != int(stage) or not 1 < stage <= MOST_CHIPS or not known[DATA]:
        return
    most = max(stage / known[DATA], known["node_size"])
    experts = [1.0, stage] if known["n_experts"] > 1 else [known[EXPERT]]
    for data in map(float, divisors(int(stage))):
        for expert in dict.fromkeys((known[EXPERT], *experts)):
            if stage / data <= most and (data, expert) != (known[DATA], known[EXPERT]):
                yield data, stage / data if known[TENSOR] else 0.0, expert


class Advised(NamedTuple):
    """What to type in words, blank if nothing is known, and the values of it by input."""

    words: str
    values: dict[str, float]


def advised(results: Results, facts: Facts) -> Advised:
    """As `in_words`; where that only names inputs to try, what mends each failed check alone and breaks no other."""
    checks = [row for row in failed(results) if row.is_of_plan]
    known = mends(results.template)
    fits = memory_check(headline_template(results.template))
    tried = [(row, known[row.name].tried) for row in checks if row.name in known and known[row.name].tried]
    if not tried or tried[0][0] != checks[0] or any(row.name == fits for row in checks):
        return Advised(in_words(results), values(results))
    found = [(row, names, _mended(row, names, results, facts)) for row, names in tried]
    words = "; ".join(_mends_in_words(row, names, said) for row, names, said in found)
    return Advised(words, {name: value for *_, said in found for name, (value, _) in said.items()})


def _mended(check: Row, names: str, results: Results, facts: Facts) -> dict[str, tuple[float, str]]:
    """The values of single inputs that mend a check, each as a number and in words, by the input."""
    rows = results.template.by_name
    inputs = (rows[word] for word in re.findall(r"\w+", names) if word in rows)
    return {row.name: mended for row in inputs if (mended := _mending(check, row, results, facts))}


def _mends_in_words(check: Row, names: str, mended: Mapping[str, tuple[float, str]]) -> str:
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
