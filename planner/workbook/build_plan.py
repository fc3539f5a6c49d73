"""The specification of a workbook to build: templates, tables, scenarios, and the inputs that they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.comparison_sheet import RESULTS
from planner.errors import UserError, nearest
from planner.formulas import headlines, library, thresholds
from planner.formulas.binding import COUNTS, Constraint, on_the_way
from planner.formulas.evaluation import Facts
from planner.formulas.headlines import bounds, leaders
from planner.formulas.layer_ops import LayerOps
from planner.formulas.lookups import facts
from planner.formulas.sweeps import Sweep, sweeps, what_ifs
from planner.formulas.template import Row, Template
from planner.number_text import PERCENT
from planner.workbook import display_units
from planner.workbook.layout import ScenarioColumns, sheet_name
from planner.workbook.template_rows import Shares, shares
from planner.workbook.workloads import WORKLOAD, Workloads, workloads

Rows = Mapping[str, Mapping[str, Value]]  # rows of a database by id
OVERRIDABLE = ("model", "hardware", "calibration")
YES_OR_NO = "(1 or 0)"  # in the label of a calculated flag
_CRITERION = re.compile("[*?~]|^[<>=]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


LONGEST = 80  # characters of a scenario's name or id
WANTED = f"give 1 to {LONGEST} characters with a letter or a digit"


def refuse_unfit(name: str) -> None:
    """Raise UserError for a scenario's name or id that is too long or has a control character."""
    if len(name) > LONGEST:
        raise UserError(f"{name!r} is no name for a scenario", remedy=WANTED)
    if _CONTROLS.search(name):
        what = f"{name!r} is no name for a scenario: it holds control characters"
        raise UserError(what, remedy="delete them, line breaks too")


def refuse_unfit_id(text: str) -> None:
    """Raise UserError as for a name, and for an id that COUNTIF and the like would treat as a pattern."""
    refuse_unfit(text)
    if found := _CRITERION.search(text):
        what = f"{text!r} is no id for a scenario: spreadsheets that count by it take {found[0]} for more than itself"
        raise UserError(what, remedy="leave it out, or write it in a column called name")


@dataclass(frozen=True)
class BuildScenario:
    """One column of the workbook: an id, a name, a model, a chip, and its typed values."""

    id: str
    name: str
    model: str | None = None
    hardware: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    is_named: bool = True  # whether the user gave the name; else it follows model and chip


@dataclass(frozen=True)
class BuildPlan:
    """A workbook to build. Raises UserError if two templates define one input differently."""

    templates: Sequence[Template]
    scenarios: Sequence[BuildScenario]
    databases: Databases
    layer_ops: LayerOps | None = None
    comparison: Sequence[ComparisonCase] = ()
    runs_at: int = 0  # the title row of an existing table of runs
    last_scenario: int = 0  # the last column of ranges in the workbook being updated
    axes: Mapping[str, Sequence[float]] = field(default_factory=dict)  # the axis values of the workbook being updated
    chart_rows: int = 0  # the rows of Dashboard's comparing charts in the workbook being updated
    coming: Sequence[BuildScenario] = ()  # about to be added; charts and sweeps are made for them
    also_made_from: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Files that aren't given now, with their digests, by kind of table; "" for templates."""
    own_rows: Mapping[str, Rows] = field(default_factory=dict)  # by table: rows that only the edited workbook has

    def model(self, scenario: BuildScenario) -> Mapping[str, Value]:
        """The row of a scenario's model; empty if none is chosen, or if it is unknown."""
        known, own, chosen = self.databases.models.rows, self.own_rows.get("models", {}), scenario.model or ""
        return known[chosen] if chosen in known else own.get(chosen, {})

    def facts(self, template: Template, model: str, hardware: str) -> Facts:
        """The facts of a model on a chip. Raises UserError for one that neither the databases nor the workbook have."""
        own_model, own_chip = (
            self.own_rows.get(kind, {}).get(chosen) for kind, chosen in (("models", model), ("hardware", hardware))
        )
        found = facts(template, None if own_model else model, None if own_chip else hardware, self.databases)
        return replace(found, model=own_model or found.model, hardware=own_chip or found.hardware)

    @property
    def columns(self) -> ScenarioColumns:
        return ScenarioColumns(len(self.scenarios), self.last_scenario, len(self.coming))

    @cached_property
    def tables(self) -> list[Table]:
        """The databases in the workbook: models, chips, dtypes, and others that a template reads."""
        working = self.layer_ops.templates if self.layer_ops else []
        read = [*self.templates, *working, *(case.template for case in self.comparison)]
        kinds = {row.kind for template in read for row in template.rows} | {"model", "hardware", "dtype"}
        return self.databases.of_kinds(kinds)

    @cached_property
    def sheets(self) -> dict[str, str]:
        """Template name -> sheet name."""
        return {template.name: sheet_name(template.name) for template in self.templates}

    @cached_property
    def shares(self) -> dict[str, Shares]:
        """Template name -> the rows that its sheet shows, and those that it reads from an earlier sheet."""
        return shares(self.templates)

    @property
    def leading(self) -> Value:
        """The workload of the first scenario, if it is meant for one: what is of it is shown first."""
        return self.scenarios[0].values.get(WORKLOAD) if self.scenarios else None

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """The sweeps of the templates, from templates/sweep.csv; those of the first scenario's workload lead."""
        return sorted(sweeps(self.templates), key=lambda sweep: sweep.template.name != self.leading)

    @cached_property
    def what_ifs(self) -> list[Sweep]:
        """The what-ifs of the templates, from templates/what_if.csv."""
        return what_ifs(self.templates)

    @cached_property
    def constraints(self) -> dict[str, list[Constraint]]:
        """By template, the constraints on which its headlines depend, except flags.

        For a whole plan, counts are left out too: next to times and bytes they explain nothing.
        """
        found = {template.name: on_the_way(template, bounds(template)) for template in self.templates}
        plans = leaders()
        return {
            name: [
                each
                for each in these
                if YES_OR_NO not in each.row.label and not (name in plans and each.unit in COUNTS)
            ]
            for name, these in found.items()
        }

    @cached_property
    def workloads(self) -> Workloads:
        """The workloads that a scenario may be meant for."""
        return workloads(self.templates, self.sweeps)

    @cached_property
    def inputs(self) -> dict[str, Row]:
        """Every input of the templates, without repetition; the choice of workload first, if there is one."""
        chosen = self.workloads.row
        return ({chosen.name: chosen} if chosen else {}) | shared_rows("input", self._rows())

    @cached_property
    def constants(self) -> dict[str, Row]:
        """Every constant of the templates, of scenarios and of cases, without repetition."""
        cases = [case.template for case in self.comparison]
        templates = [*(self.layer_ops.templates if self.layer_ops else []), *cases]
        ranges = [each for template in self.templates for each in headlines.headlines(template) if each.has_range]
        sheets = {
            "dashboard": ranges,
            "constraints": any(self.constraints.values()),
            "sweep": self.sweeps,
            "roofline": self.layer_ops,
        }
        rows = [*self._rows(), *(row for template in templates for row in template.rows)]
        shown = [sweep.rows[name] for sweep in (*self.sweeps, *self.what_ifs) for name in sweep.shown]
        shown += library.load(RESULTS).rows if self.comparison else ()
        shown_rows = [row for template in self.templates for row in headlines.rows_shown(template)]
        shown += shown_rows
        units = [*display_units.needed(shown), *(display_units.OF_TIMES if self.layer_ops else [])]
        units += [display_units.OF_A_SHARE] if any(row.display == PERCENT for row in shown_rows) else []
        limits = thresholds.used_on(*(name for name, there in sheets.items() if there))
        return shared_rows("constant", [*rows, *units, *limits])

    @cached_property
    def overrides(self) -> dict[str, Row]:
        """The rows with an override cell: every lookup, and each calculated row that a scenario sets."""
        typed = {name for scenario in self.scenarios for name in scenario.values}
        rows: dict[str, Row] = {}
        for row in self._rows():
            is_calculated = row.kind not in OVERRIDABLE and row.name not in self.inputs
            if row.kind in OVERRIDABLE or (is_calculated and row.name in typed):
                rows.setdefault(row.name, row)
        return rows

    def _rows(self) -> list[Row]:
        return [row for template in self.templates for row in template.rows]

    def check_values(self) -> None:
        """Raise UserError for a value of a scenario that no template has a row for."""
        known = {row.name for row in self._rows()} | self.inputs.keys()
        for scenario in self.scenarios:
            for name in scenario.values:
                if name not in known:
                    raise UserError(
                        f"scenario {scenario.id}: no template has a row {name!r}", remedy=nearest(name, known)
                    )


def shared_rows(kind: str, candidates: Sequence[Row]) -> dict[str, Row]:
    """The rows of a kind by name. Raises UserError if two rows of one name differ."""
    rows: dict[str, Row] = {}
    for row in candidates:
        if row.kind != kind:
            continue
        first = rows.setdefault(row.name, row)
        if (first.unit, first.formula) != (row.unit, row.formula):
            here, there = f"{row.formula or 'blank'} {row.unit}", f"{first.formula or 'blank'} {first.unit}"
            raise row.fault(
                f"this {kind} is {here} here and {there} in {first.place}",
                "a name stands for one quantity in a workbook",
            )
    return rows
