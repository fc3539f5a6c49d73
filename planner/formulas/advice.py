"""What would make a plan fit, or a check hold: values to type, as data in templates/dashboard.csv.

Of its kinds, a `change` is a value that would make a plan fit in memory, a `mend` one that would make the check in the
column `target` hold; each `along` below them is a value to type with it. `name` is the row that has the value, 0 or N/A
where there is none; its `label` says what to type, with `{}` in the value's place. A mend without a name is a text.
Where no formula has the value, the label of a `tried` one names inputs, whose values `tried_advice` tries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from planner.formulas.evaluation import Results
from planner.formulas.headlines import headline_template, memory_check, records_of
from planner.formulas.template import Template

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
