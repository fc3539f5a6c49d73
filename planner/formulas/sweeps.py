"""The sweeps of a template as data: templates/sweep.csv has the axes, the rows shown along them, and the charts.

Its kinds: `axis`, an input that is swept (`formula` binds a further input to it: `mesh_fsdp=n_chips/mesh_tensor`);
`calc` and `output`, a row of the template or, with a formula, one of the sweep's own over the template's names (outputs
are shown); `bound`, a row of the template whose constraint is shown in words.

A what-if, a plan's cost at other prices and efficiencies, is a sweep without an axis of the template. The rows of
templates/what_if.csv are formulas over the rows of a template and two factors: `price_factor` scales the chips' cost,
and `efficiency_factor` what is achieved of the hardware, by which an expected time falls towards its bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from planner import data
from planner.errors import Place
from planner.formulas.include import Scope
from planner.formulas.template import DISPLAY, Row, Template, checked, row_of
from planner.formulas.text import Formula, parse

COLUMNS = ("template", "name", "label", "unit", "kind", "formula", "chart", "source", "note", DISPLAY)
WHAT_IF_COLUMNS = ("template", "name", "label", "unit", "kind", "formula", "source", "note", DISPLAY)
Drawn = tuple[Row, tuple[str, ...]]  # a row, and its roles in charts
EFFICIENCY, PRICE = "efficiency_factor", "price_factor"
FACTORS = (
    Row(EFFICIENCY, "Efficiency times", "1", "input", "1", template="what_if"),
    Row(PRICE, "Price times", "1", "input", "1", template="what_if"),
)


@dataclass(frozen=True)
class Axis:
    """An input that is swept, the inputs that follow it, the charts along it, and a note for the reader."""

    row: Row
    follows: Mapping[str, Formula]
    charts: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Sweep:
    """A template with its axes and the rows shown along them, in order.

    `rows` has the template's rows and the sweep's own; `charts` the roles that a name has in charts.
    """

    template: Template
    axes: tuple[Axis, ...]
    rows: Mapping[str, Row]
    used: tuple[str, ...]
    shown: tuple[str, ...]
    bounds: tuple[str, ...]
    charts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def reads(self, name: str) -> tuple[str, ...]:
        """The precedents of a row; for a following input, those of its formula."""
        for axis in self.axes:
            if name in axis.follows:
                return axis.follows[name].names
        return self.rows[name].reads

    def depends(self, axis: Axis) -> frozenset[str]:
        """Every used row that changes along an axis, including following inputs."""
        return self._depending[axis.row.name]

    @cached_property
    def checks(self) -> tuple[str, ...]:
        """The plan's checks that change along some axis."""
        moved = frozenset[str]().union(*self._moved.values())
        return tuple(name for name, row in self.template.by_name.items() if row.is_of_plan and name in moved)

    @cached_property
    def fixed_checks(self) -> tuple[str, ...]:
        """The plan's checks that no axis changes; empty if there is no axis."""
        found = (name for name, row in self.template.by_name.items() if row.is_of_plan and self.axes)
        return tuple(name for name in found if name not in self.checks)

    @cached_property
    def _moved(self) -> dict[str, frozenset[str]]:
        """For each axis, every row that changes along it, used or not."""
        found = {}
        for axis in self.axes:
            moved = {axis.row.name, *axis.follows}
            for name, row in self.rows.items():
                if not moved.isdisjoint(row.reads):
                    moved.add(name)
            found[axis.row.name] = frozenset(moved)
        return found

    @cached_property
    def _depending(self) -> dict[str, frozenset[str]]:
        """The same by axis, found once: every table of a sweep uses every axis."""
        used = frozenset(self.in_order)
        return {
            axis.row.name: (self._moved[axis.row.name] & used | axis.follows.keys()) - {axis.row.name}
            for axis in self.axes
        }

    @cached_property
    def in_order(self) -> list[str]:
        """The shown rows, bounds and checks with all precedents, each after its own."""
        waiting, reached = [*self.used, *self.bounds, *self.checks], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += self.reads(name)
        return [name for name in self.rows if name in reached]

    def playing(self, part: str) -> list[str]:
        """The names with a role in a chart: `memory`, `capacity`, `time`, `total`, ..."""
        return [name for name in self.used if part in self.charts.get(name, ())]


def sweeps(templates: Sequence[Template]) -> list[Sweep]:
    """The sweeps of a workbook's templates: for each that sweep.csv names, of it or of the first that includes it.

    Raises UserError with file and line for a formula that doesn't parse, or whose unit isn't the declared one.
    """
    found = []
    for name, rows in _rows("sweep", COLUMNS).items():
        template = _template(name, templates)
        if template is not None and (sweep := _sweep(template, rows)).axes:
            found.append(sweep)
    return found


def swept_templates() -> list[str]:
    """The names of the templates in sweep.csv."""
    return list(_rows("sweep", COLUMNS))


@cache
def _rows(name: str, columns: tuple[str, ...]) -> dict[str, list[Drawn]]:
    """The rows of a CSV in the templates folder, by template."""
    sheet = data.table(name, columns)
    found: dict[str, list[Drawn]] = {}
    for line, cells in sheet.records():
        parts = tuple(cells.get("chart", "").split())
        found.setdefault(cells["template"], []).append((row_of(cells, Place(sheet.path, line), name), parts))
    return found


def _template(name: str, templates: Sequence[Template]) -> Template | None:
    including = [template for template in templates if name in template.digests]
    return next((template for template in including if template.name == name), next(iter(including), None))


def _sweep(template: Template, rows: Sequence[Drawn]) -> Sweep:
    """The sweep of a template, without names that aren't rows of it, as a user's template may have fewer."""
    scope = Scope()
    for row in template.rows:
        scope.add(row)
    axes: list[Axis] = []
    used: list[str] = []
    shown: list[str] = []
    charts: dict[str, tuple[str, ...]] = {}
    bounds: list[str] = []
    for row, parts in rows:
        if row.kind == "axis" and row.name in template.by_name:
            axes.append(Axis(template.row(row.name), _follows(row, template), parts, row.note))
        elif row.kind == "bound" and row.name in template.by_name:
            bounds.append(row.name)
        elif row.kind in ("calc", "output"):
            if row.formula and all(name in scope.rows for name in row.reads):
                scope.add(checked(row, scope.units, {}))
            if row.name in scope.rows:
                used.append(row.name)
                charts[row.name] = parts
                shown += [row.name] if row.kind == "output" else []
    return Sweep(template, tuple(axes), scope.rows, tuple(used), tuple(shown), tuple(bounds), charts)


def _follows(row: Row, template: Template) -> dict[str, Formula]:
    """The following input of an axis and its formula, from `name=formula`."""
    name, equals, text = row.formula.partition("=")
    formula = parse(text) if equals else None
    if formula is None or not {name.strip(), *formula.names} <= template.by_name.keys():
        return {}
    return {name.strip(): formula}


def what_ifs(templates: Sequence[Template]) -> list[Sweep]:
    """The what-ifs of templates, as sweeps without an axis of the template; none for a template without a row.

    Raises UserError with file and line for a formula that doesn't parse, or whose unit isn't the declared one.
    """
    known = _rows("what_if", WHAT_IF_COLUMNS)
    return [_what_if(template, rows) for template in templates if (rows := known.get(template.name))]


def _what_if(template: Template, rows: Sequence[Drawn]) -> Sweep:
    scope = Scope()
    for row in (*template.rows, *FACTORS):
        scope.add(row)
    for row, _ in rows:
        scope.add(checked(row, scope.units, {}))
    names = tuple(row.name for row, _ in rows)
    return Sweep(template, (), scope.rows, names, names, ())
