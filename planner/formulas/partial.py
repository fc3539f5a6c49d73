"""Partial evaluation: a template computed many times with few changing rows recomputes only their dependents.

Precedents of the wanted rows that don't depend on changing rows are computed once. In the other formulas, known rows
are replaced by their values and an IF with a known condition by its branch; rows that nothing reads any more are
dropped. The remaining operations are the same as in `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.catalog import Value
from planner.formulas.arrays import Arithmetic, Array
from planner.formulas.evaluation import (
    Facts,
    Given,
    Results,
    compiled,
    computed,
    is_leaf,
    leaf,
    leaves_of,
    looked_up_by,
    over,
    refuse_unnamed,
)
from planner.formulas.following import with_followers
from planner.formulas.input_values import check_together, doubt_chip, wholes
from planner.formulas.template import CALCULATED, Row, Template
from planner.formulas.text import Call, Name, Node, Number, Text, Unary, children, names_of

Step = Callable[[Mapping[str, Array]], Array]


class Left(NamedTuple):
    """A row that is left to compute: its name, the rows that it reads, and its function."""

    name: str
    reads: frozenset[str]
    step: Step


@dataclass(frozen=True)
class Partial:
    """What is left to compute: the `fixed` arrays, and the steps that compute the changing rows, in order."""

    wanted: tuple[str, ...]
    fixed: Mapping[str, Array]
    steps: tuple[Left, ...]

    def __call__(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """The wanted rows for new arrays of the changing ones, which broadcast together."""
        known = {**self.fixed, **values}
        with np.errstate(all="ignore"):
            for each in self.steps:
                known[each.name] = each.step(known)
        return {name: known[name] for name in self.wanted}

    def at(self, places: NDArray[np.int_]) -> Partial:
        """The same computation for these places of every array."""
        fixed = {name: array[places] if np.ndim(array) else array for name, array in self.fixed.items()}
        return replace(self, fixed=fixed)

    def knowing(self, values: Mapping[str, Array]) -> Partial:
        """What is left to compute if these of the changing rows no longer change."""
        known = {**self.fixed, **values}
        left: list[Left] = []
        with np.errstate(all="ignore"):
            for each in self.steps:
                if each.reads <= known.keys():
                    known[each.name] = each.step(known)
                else:
                    left.append(each)
        read = {*self.wanted}.union(*(each.reads for each in left))
        return Partial(self.wanted, {name: known[name] for name in read & known.keys()}, tuple(left))


def partial(
    template: Template,
    facts: Facts,
    given: Mapping[str, Array],
    changing: Iterable[str],
    wanted: Iterable[str],
    *,
    xp: ModuleType = np,
) -> Partial:
    """The computation of the `wanted` rows that is left if only the `changing` rows vary.

    `given` are the arrays of fixed rows; any other row has its default, its looked-up value or its formula. `xp` is the
    array library, `numpy` or `jax.numpy`. Raises UserError for a needed lookup of a model or chip that isn't named.
    """
    arithmetic = Arithmetic(np)
    names, changes, known = tuple(wanted), set(changing), dict(given)
    needed = template.closure(names, {*known, *changes})
    refuse_unnamed((row for row in template.rows if row.name in needed), facts, {*known, *changes})
    steps: list[tuple[str, Node | None, Row]] = []

    def step(tree: Node | None, row: Row, arithmetic: Arithmetic = arithmetic) -> Step:
        return looked_up_by(row, facts, arithmetic) if tree is None else compiled(tree, arithmetic)

    with np.errstate(all="ignore"):
        for row in template.rows:
            if row.name not in needed or row.name in known or row.name in changes:
                continue
            if is_leaf(row, ()):
                known[row.name] = leaf(row, facts, {})
            elif changes.isdisjoint(row.reads):
                compute = step(row.expression.root if row.kind in CALCULATED else None, row)
                known[row.name] = compute(known)
            else:
                tree = _folded(row.expression.root, known, arithmetic) if row.kind in CALCULATED else None
                if isinstance(tree, Number):
                    known[row.name] = np.float64(tree.value)
                else:
                    changes.add(row.name)
                    steps.append((row.name, tree, row))
    read, left, later = set(names), [], Arithmetic(xp)
    for name, tree, row in reversed(steps):
        if name in read:
            reads = frozenset(row.reads if tree is None else names_of(tree))
            read |= reads
            left.append(Left(name, reads, step(tree, row, later)))
    return Partial(names, {name: known[name] for name in read & known.keys()}, tuple(reversed(left)))


def _folded(node: Node, known: Mapping[str, Array], arithmetic: Arithmetic) -> Node:
    """The tree with known scalars as numbers, constant subexpressions evaluated, and untaken branches dropped."""
    match node:
        case Number() | Text():
            return node
        case Name(name=name):
            return Number(node.start, node.end, float(known[name])) if np.ndim(known.get(name, ())) == 0 else node
        case Call(function="IF", args=(condition, then, other)):
            decided = _folded(condition, known, arithmetic)
            if isinstance(decided, Number):
                is_unknown = decided.value != decided.value
                return decided if is_unknown else _folded(then if decided.value else other, known, arithmetic)
    parts = [_folded(each, known, arithmetic) for each in children(node)]
    if isinstance(node, Unary) and node.op in ("()", "+"):
        return parts[0]
    new = over(node, parts)
    if all(isinstance(each, (Number, Text)) for each in parts):
        return Number(node.start, node.end, float(compiled(new, arithmetic)({})))
    return new


def recomputed(
    template: Template, arrays: Mapping[str, Array], changing: Iterable[str], wanted: Iterable[str]
) -> Partial:
    """The computation of the `wanted` rows from new arrays of the `changing` rows.

    `arrays` has the present ones of all rows. A changing row must be typed or looked up; its new array must have the
    shape of the present one.
    """
    changes, reached = set(changing), set(changing)
    for row in template.rows:
        if row.kind in CALCULATED and not reached.isdisjoint(row.reads):
            reached.add(row.name)
    stays = {name: array for name, array in arrays.items() if name not in reached}
    return partial(template, Facts(), stays, changes, wanted)


_OPEN = object()  # stands for "not given"


class Prepared:
    """A template with the facts of one model and chip, for repeated evaluation.

    Results are those of `evaluate`, bit for bit.
    """

    def __init__(self, template: Template, facts: Facts) -> None:
        self.template, self.facts = template, facts
        self._last: tuple[Given, Mapping[str, Array]] = ({}, {})

    def results(self, values: Mapping[str, Value]) -> Results:
        """The plan with these values set, and with the inputs that follow them.

        Raises UserError as `evaluate` does, and if the values contradict other numbers of the plan.
        """
        given = with_followers(self.template, values)
        spelling: dict[float, str] = {}
        leaves = leaves_of(self.template, self.facts, given, spelling)
        before, known = self._last
        moved = self._moved(given, before)
        kept = {name: array for name, array in list(known.items()) if name not in moved}
        arrays = _OnDemand(self.template, self.facts, kept | leaves)
        results = Results(self.template, arrays, given, spelling)
        given_names = (name for name in (*values, *wholes(values)) if name in self.template.by_name)
        check_together(values, {name: results.value(name) for name in given_names})
        doubt_chip(self.template.rows, values, results.value)
        self._last = given, arrays
        return results

    def _moved(self, given: Given, before: Given) -> set[str]:
        """The rows whose value may differ from the previous call's, from the names whose given value changed."""
        names = given.keys() | before.keys()
        moved = {name for name in names if given.get(name, _OPEN) != before.get(name, _OPEN)}
        for row in self.template.rows if moved else ():
            if row.name not in given and not moved.isdisjoint(row.reads):
                moved.add(row.name)
        return moved


class _OnDemand(dict[str, Array]):
    """The arrays of a template's rows by name, each computed with its precedents when it is first used."""

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
