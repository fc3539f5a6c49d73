"""What binds: the quantities that compete in a formula's MAX or MIN, read from its tree.

`kv_time+MAX(matmul_time,param_time)` has three, since the addends next to a MAX are parts of the same whole; the
largest of the three binds. A MAX or MIN with a number, such as `MAX(0,free_bytes)`, is a clamp, and nothing binds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from planner.formulas import thresholds
from planner.formulas.evaluation import Results
from planner.formulas.headlines import Headline
from planner.formulas.in_use import in_use
from planner.formulas.template import CALCULATED, Row, Template
from planner.formulas.text import Binary, Call, Formula, Name, Node, children, names_of, parse, walk
from planner.formulas.units import parse_unit, unit_of

RANKED = ("MAX", "MIN")


@dataclass(frozen=True)
class CompetingPart:
    """One of the competing quantities: its formula in names, its label, and a machine name for it."""

    text: str
    label: str
    name: str


@dataclass(frozen=True)
class Constraint:
    """The parts that compete in a row, their unit, and whether the largest (MAX) or smallest (MIN) binds.

    The unit is the row's if the parts add up to it, and another if they are a factor of it.
    """

    row: Row
    function: str
    parts: tuple[CompetingPart, ...]
    unit: str

    @property
    def is_largest(self) -> bool:
        """Whether the largest part binds, as in a sum or a MAX."""
        return self.function == "MAX"


@dataclass(frozen=True)
class WhatBinds:
    """The binding part in a plan, the next one, and the ratio of larger to smaller (None if the smaller is 0)."""

    binding: CompetingPart
    following: CompetingPart
    margin: float | None

    def words(self, over: str) -> str:
        """`Time to read the cache, 1.80x above Time of the matmuls`."""
        if self.margin is None:
            return f"{self.binding.label}, nothing else counts"
        times = _times(self.margin)
        distance = "level with" if times == "1.00" else f"{times}x {over}"
        return f"{self.binding.label}, {distance} {self.following.label}"


def _times(margin: float) -> str:
    """A ratio in words, rounded as in a cell: two decimals, none if large, only a lower limit if very large."""
    if margin >= (far := thresholds.number("far_margin")):
        return f"more than {far:g}"
    to = Decimal("1") if margin >= thresholds.number("large_margin") else Decimal("0.01")
    return str(Decimal(f"{margin:.15g}").quantize(to, ROUND_HALF_UP))


def what_binds(each: Constraint, value: Callable[[str], float | None]) -> WhatBinds | None:
    """What binds, given the number of each formula in names by `value`; None if a part is N/A or all are 0."""
    numbers = [value(part.text) for part in each.parts]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or (each.is_largest and max(known) == 0):
        return None
    ranked = sorted(range(len(known)), key=lambda at: -known[at] if each.is_largest else known[at])
    first, second = ranked[:2]
    small, large = sorted((known[first], known[second]))
    return WhatBinds(each.parts[first], each.parts[second], large / small if small > 0 else None)


def of_headline(each: Headline[Row], results: Results) -> str:
    """What binds a headline in a plan and how far the next part is, in words; blank if nothing competes."""
    row = each.binds or each.bound
    parts = constraint(row, results.template.by_name) if row else None
    binds = what_binds(parts, results.number) if parts else None
    return binds.words("above" if parts.is_largest else "below") if parts and binds else ""


def constraint(row: Row, rows: Mapping[str, Row]) -> Constraint | None:
    """The constraint of a row of a template with these `rows`; None if nothing competes."""
    if row.kind not in CALCULATED or row.kind == "check":
        return None
    formula = row.expression
    for node in walk(formula.root):
        if _ranks(node):
            assert isinstance(node, Call)
            whole = _whole(formula.root, node)
            addends = _addends(whole) if node.function == "MAX" else (whole,)
            nodes = [part for addend in addends for part in _arguments(addend, node.function)]
            parts = tuple(_named(formula, nodes, row, rows))
            return Constraint(row, node.function, parts, _unit(parts, row, rows))
    return _sum(row, rows)


def _sum(row: Row, rows: Mapping[str, Row]) -> Constraint | None:
    """A sum of rows one of which has a constraint itself: that constraint's parts, and the other addends."""
    addends = list(_addends(row.expression.root))
    names = [node.name for node in addends if isinstance(node, Name)]
    if len(addends) < 2 or len(names) < len(addends):
        return None
    inner = {name: found for name in names if (found := constraint(rows[name], rows)) and found.is_largest}
    plain = {name: (CompetingPart(name, rows[name].label, name),) for name in names}
    parts = [part for name in names for part in (inner[name].parts if name in inner else plain[name])]
    return Constraint(row, "MAX", tuple(parts), row.unit) if inner else None


def _unit(parts: Iterable[CompetingPart], row: Row, rows: Mapping[str, Row]) -> str:
    """The unit of the competing parts: that of the first one with a unit."""
    for formula in (parse(part.text) for part in parts):
        unit = unit_of(formula, {name: parse_unit(rows[name].unit) for name in formula.names})
        if unit is not None:
            return str(unit)
    return row.unit


def on_the_way(template: Template, names: Iterable[str]) -> list[Constraint]:
    """The constraints of these rows and of all their precedents, in template order.

    Of included templates, only rows with a dimension count (times, bytes, bandwidths), not the flags and counts that
    they clip.
    """
    reached = template.closure(names)
    rows = (row for row in template.rows if row.name in reached)
    own = (row for row in rows if row.unit != "1" or row.template == template.name)
    found = (constraint(row, template.by_name) for row in own)
    return [each for each in found if each is not None]


def _ranks(node: Node) -> bool:
    """Whether the node is a MAX or MIN of quantities."""
    return isinstance(node, Call) and node.function in RANKED and len(node.args) > 1 and all(map(names_of, node.args))


def _whole(root: Node, ranked: Call) -> Node:
    """The outermost sum of which a MAX is an addend; the call itself if there is none, or for a MIN."""
    if ranked.function == "MAX":
        for node in walk(root):
            if isinstance(node, Binary) and node.op == "+" and ranked in _addends(node):
                return node
    return ranked


def _addends(node: Node) -> Iterator[Node]:
    if isinstance(node, Binary) and node.op == "+":
        yield from _addends(node.left)
        yield from _addends(node.right)
    else:
        yield node


def _arguments(node: Node, function: str) -> Iterator[Node]:
    """The competing nodes: an addend, or the function's arguments in its place."""
    if isinstance(node, Call) and node.function == function and _ranks(node):
        for arg in node.args:
            yield from _arguments(arg, function)
    else:
        yield node


def _named(formula: Formula, nodes: list[Node], row: Row, rows: Mapping[str, Row]) -> Iterator[CompetingPart]:
    taken: set[str] = set()
    for number, node in enumerate(nodes, start=1):
        names = names_of(node)
        only = _said_by(names, row, rows) if len(names) == 1 or not _adds(node) else None
        name = only if only and only not in taken else f"part_{number}"
        taken.add(name)
        yield CompetingPart(formula.of(node), rows[only].label if only else formula.of(node), name)


def _said_by(names: Sequence[str], row: Row, rows: Mapping[str, Row]) -> str | None:
    """The one name that describes a product: the only non-constant one, or the only one with the row's unit."""
    free = [name for name in names if rows[name].kind != "constant"] or names
    alike = free if len(free) == 1 else [name for name in free if rows[name].unit == row.unit]
    return alike[0] if len(alike) == 1 else None


def _adds(node: Node) -> bool:
    """Whether the node contains a sum or difference, which no single name describes."""
    is_sum = isinstance(node, Binary) and node.op in ("+", "-")
    return is_sum or any(_adds(child) for child in children(node))


SAME = 1e-12  # relative difference below which numbers are equal up to rounding
COUNTS = ("1", "chip")  # units of parts that explain nothing to a reader


def kept_by(here: Results, there: Results, target: str) -> str:
    """Why a target doesn't move: `Time to read the weights (param_time) binds decode_step_time`.

    Blank if what binds moves too. `here` and `there` are two plans that differ in one input. Of several constraints of
    rows that the target is made of in `here`, the one closest to the target counts.
    """
    used = in_use(here, target)
    for each in reversed([way for way in on_the_way(here.template, [target]) if way.row.name in used]):
        found = what_binds(each, here.number) if each.unit not in COUNTS else None
        if found is None or not used.issuperset(parse(found.binding.text).names):
            continue
        part = found.binding
        values = here.number(part.text), there.number(part.text)
        if None not in values and math.isclose(*values, rel_tol=SAME):  # type: ignore[arg-type]
            called = part.label if part.label == part.text else f"{part.label} ({part.text})"
            return f"{called} binds {each.row.name}"
    return ""
