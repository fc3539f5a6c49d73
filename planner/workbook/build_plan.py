"""The specification of a workbook to build: templates, tables and scenarios, and the inputs that they share."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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
from planner.spoken import PERCENT
from planner.workbook import display_units
from planner.workbook.layout import ScenarioColumns, sheet_name
from planner.workbook.template_rows import Shares, shares
from planner.workbook.workloads import Workloads, workloads

Rows = Mapping[str, Mapping[str, Value]]  # of a database, by id
OVERRIDABLE = ("model", "hardware", "calibration")
YES_OR_NO = "(1 or 0)"  # in the label of a calculated row that is one
_CRITERION = re.compile("[*?~]|^[<>=]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


LONGEST = 80  # characters of a scenario's name or id
WANTED = f"give 1 to {LONGEST} characters with a letter or a digit"


def refuse_unfit(name: str) -> None:
    """Raise UserError for a scenario's name or id that is too long, or has a control character in it."""
    if len(name) > LONGEST:
        raise UserError(f"{name!r} is no name for a scenario", remedy=WANTED)
    if _CONTROLS.search(name):
        what = f"{name!r} is no name for a scenario: it holds control characters"
        raise UserError(what, remedy="delete them, line breaks too")


def refuse_unfit_id(text: str) -> None:
    """Raise UserError for a scenario's id as for its name, and where counts by it would count other scenarios too."""
    refuse_unfit(text)
    if found := _CRITERION.search(text):
        what = f"{text!r} is no id for a scenario: spreadsheets that count by it take {found[0]} for more than itself"
        raise UserError(what, remedy="leave it out, or write it in a column called name")


@dataclass(frozen=True)
class BuildScenario:
    """One column of the workbook: an id and a name, a model and a chip, and the values typed for it."""

    id: str
    name: str
    model: str | None = None
    hardware: str | None = None
    values: Mapping[str, Value] = field(default_factory=dict)
    is_named: bool = True  # whether someone gave the name; else it is that of model and chip, and follows them


@dataclass(frozen=True)
class BuildPlan:
    """A workbook to be built. Raises UserError where two templates want one input differently."""

    templates: Sequence[Template]
    scenarios: Sequence[BuildScenario]
    databases: Databases
    layer_ops: LayerOps | None = None
    comparison: Sequence[ComparisonCase] = ()
    runs_at: int = 0  # the row of the title of the table of runs, where a workbook has one
    last_scenario: int = 0  # the last column that ranges reach, where an older workbook says so
    axes: Mapping[str, Sequence[float]] = field(default_factory=dict)  # the values of a sweep, where one says so
    also_meant: Collection[str] = ()  # workloads of scenarios that are about to be added
    also_made_from: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by table, "" for templates: files
    # that are not there now, with their digests
    own_rows: Mapping[str, Rows] = field(default_factory=dict)  # by table what stands in an edited workbook alone

    def model(self, scenario: BuildScenario) -> Mapping[str, Value]:
        """The row of a scenario's model; nothing where none is chosen, or nobody knows it."""
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
        return ScenarioColumns(len(self.scenarios), self.last_scenario)

    @cached_property
    def tables(self) -> list[Table]:
        """The databases that the workbook holds: models, chips and dtypes, and others that a template reads."""
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
        """Template name -> what its sheet shows, and what it calls up from an earlier sheet."""
        return shares(self.templates)

    @cached_property
    def sweeps(self) -> list[Sweep]:
        """What is swept of the templates, by templates/sweep.csv."""
        return sweeps(self.templates)

    @cached_property
    def what_ifs(self) -> list[Sweep]:
        """What is asked of the templates if price or efficiency moves, by templates/what_if.csv."""
        return what_ifs(self.templates)

    @cached_property
    def constraints(self) -> dict[str, list[Constraint]]:
        """By template what binds on the way to its headlines, without what is a yes or a no.

        Of a whole plan mere counts are left out too: they explain nothing beside its times and bytes.
        """
        found = {template.name: on_the_way(template, bounds(template)) for template in self.templates}
        plans = leaders()
        return {
            name: [each for each in these
                   if YES_OR_NO not in each.row.label and not (name in plans and each.unit in COUNTS)]
            for name, these in found.items()
        }  # fmt: skip

    @cached_property
    def workloads(self) -> Workloads:
        """What a scenario may be meant for."""
        return workloads(self.templates, self.sweeps)

    @cached_property
    def inputs(self) -> dict[str, Row]:
        """Every input of every template, once; first what the scenario is meant for, where that is a choice."""
        chosen = self.workloads.row
        return ({chosen.name: chosen} if chosen else {}) | shared_rows("input", self._rows())

    @cached_property
    def constants(self) -> dict[str, Row]:
        """Every constant of every template, of the scenarios or of the cases, once."""
        cases = [case.template for case in self.comparison]
        templates = [*(self.layer_ops.templates if self.layer_ops else []), *cases]
        ranges = [each for template in self.templates for each in headlines.headlines(template) if each.has_range]
        sheets = {
            "dashboard": ranges, "constraints": any(self.constraints.values()),
            "sweep": self.sweeps, "roofline": self.layer_ops,
        }  # fmt: skip
        rows = [*self._rows(), *(row for template in templates for row in template.rows)]
        shown = [sweep.rows[name] for sweep in (*self.sweeps, *self.what_ifs) for name in sweep.shown]
        shown += library.load(RESULTS).rows if self.comparison else ()
        led = [row for template in self.templates for row in headlines.rows_shown(template)]
        shown += led
        units = [*display_units.needed(shown), *(display_units.OF_TIMES if self.layer_ops else [])]
        units += [display_units.OF_A_SHARE] if any(row.display == PERCENT for row in led) else []
        told = thresholds.used_on(*(name for name, there in sheets.items() if there))
        return shared_rows("constant", [*rows, *units, *told])

    @cached_property
    def overrides(self) -> dict[str, Row]:
        """The rows that have an override cell: every lookup, and each calculated row that a scenario sets."""
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
        """Raise UserError for a value that no template has a row for."""
        known = {row.name for row in self._rows()} | self.inputs.keys()
        for scenario in self.scenarios:
            for name in scenario.values:
                if name not in known:
                    raise UserError(
                        f"scenario {scenario.id}: no template has a row {name!r}", remedy=nearest(name, known)
                    )


def shared_rows(kind: str, candidates: Sequence[Row]) -> dict[str, Row]:
    """The rows of a kind, each name once. Raises UserError where two mean different things by one name."""
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
