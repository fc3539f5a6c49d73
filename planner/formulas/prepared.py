"""A plan that is evaluated repeatedly: rows are computed on demand, and kept while nothing that they read changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.catalog import Value
from planner.formulas.arrays import Array
from planner.formulas.evaluation import Facts, Given, Results, computed, leaves_of
from planner.formulas.following import with_followers
from planner.formulas.input_values import check_together, wholes
from planner.formulas.template import Template

_OPEN = object()  # the value of what is not given


class Prepared:
    """A template with the facts of one model and chip. Its results are those of `evaluate`, bit for bit."""

    def __init__(self, template: Template, facts: Facts) -> None:
        self.template, self.facts = template, facts
        self._last: tuple[Given, Mapping[str, Array]] = ({}, {})

    def results(self, values: Mapping[str, Value]) -> Results:
        """The plan with these values typed, and with those that follow them.

        Raises UserError as `evaluate` does, and where the values can't be beside other numbers of the plan.
        """
        given = with_followers(self.template, values)
        spelling: dict[float, str] = {}
        leaves = leaves_of(self.template, self.facts, given, spelling)
        before, known = self._last
        moved = self._moved(given, before)
        kept = {name: array for name, array in list(known.items()) if name not in moved}
        arrays = _OnDemand(self.template, self.facts, kept | leaves)
        results = Results(self.template, arrays, given, spelling)
        told = (name for name in (*values, *wholes(values)) if name in self.template.by_name)
        check_together(values, {name: results.value(name) for name in told})
        self._last = given, arrays
        return results

    def _moved(self, given: Given, before: Given) -> set[str]:
        """The rows that may have another value than before, from the names that were given one or lost it."""
        names = given.keys() | before.keys()
        moved = {name for name in names if given.get(name, _OPEN) != before.get(name, _OPEN)}
        for row in self.template.rows if moved else ():
            if row.name not in given and not moved.isdisjoint(row.reads):
                moved.add(row.name)
        return moved


class _OnDemand(dict[str, Array]):
    """The arrays of a template's rows by name, each computed when it is first asked for, with all that it reads."""

    def __init__(self, template: Template, facts: Facts, known: Mapping[str, Array]) -> None:
        super().__init__(known)
        self.template, self.facts = template, facts

    def __missing__(self, name: str) -> Array:
        waiting = [self.template.row(name)]
        with np.errstate(all="ignore"):
            while waiting:
                row = waiting[-1]
                if lacking := [each for each in row.reads if each not in self]:
                    waiting += [self.template.by_name[each] for each in lacking]
                else:
                    self[row.name] = computed(row, self.facts, self)
                    waiting.pop()
        return self[name]
