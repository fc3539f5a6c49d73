"""Which values in open cells the user typed, as opposed to those that planner fills in by itself."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import replace
from functools import cached_property

from planner.align.keys import COMPARISON, KeyedSheet
from planner.book.scenario_columns import identifier
from planner.book.tables import HEADER
from planner.catalog import Value as Known
from planner.compare.appended_rows import NO_NETWORK, UNLINKED, VALUES_ONLY
from planner.compare.comparison_cases import label_of, listed
from planner.compare.comparison_sheet import NOTE
from planner.formulas.input_values import typed
from planner.number_text import cut
from planner.update.threeway import ThreeWay
from planner.workbook.build_plan import BuildPlan, BuildScenario
from planner.workbook.layout import FIRST_SCENARIO
from planner.workbook.memory import NOTHING, of_value
from planner.workbook.scenarios import DEFAULTS, completed
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.address import Position
from planner.xlsx.cellvalue import Value

LONG = 40  # characters of a typed text that are shown
LABEL, CHIP, TIME = "case_label", "hardware_id", "measured_time"
PLANNERS_NOTES = VALUES_ONLY, UNLINKED.partition("{}")[0]


class TypedCells:
    """The open cells of the file's Inputs or Comparison."""

    def __init__(self, merge: ThreeWay, kind: str) -> None:
        self.merge, self.old, self.is_cases = merge, merge.ours.sheets[kind], kind == COMPARISON
        self.plan = merge.fresh.draft.plan

    def said(self, at: Position) -> str:
        """A filled cell's name and value, such as `n_chips: 64`; blank if planner fills it in so."""
        if self.is_cases:
            return self._of_case(at)
        name = self.old.rows[at[0]]
        is_usual = self._is_header_of_planners(at) if name in HEADER else self._is_usual(name, at)
        return "" if is_usual and at not in self.old.sheet.patterns else f"{name}: {self._shown(at)}"

    def _shown(self, at: Position) -> str:
        return cut(shown(self.merge, self.old, at), LONG)

    def is_emptied(self, at: Position) -> bool:
        """Whether a blank cell of an input had a default."""
        wrote = self.merge.base.wrote(self.old, at)
        return self.old.rows[at[0]] not in HEADER and wrote is not None and wrote.digest != NOTHING

    def is_time(self, at: Position) -> bool:
        """Whether a cell holds the measured time of a case."""
        return self.is_cases and self.old.columns.get(at[1]) == TIME

    def is_note_on_values(self, at: Position) -> bool:
        """Whether a cell is planner's note that its case has values in place of formulas, though its chip has links."""
        is_one = self.is_cases and self.old.columns.get(at[1]) == NOTE and self._starts(at, (VALUES_ONLY,))
        return is_one and NO_NETWORK not in str(self.old.sheet.value(*at))

    def _starts(self, at: Position, beginnings: tuple[str, ...]) -> bool:
        """Whether a cell's text begins with one of these."""
        return str(self.old.sheet.value(*at)).startswith(beginnings)

    def _is_header_of_planners(self, at: Position) -> bool:
        """Whether a cell of a scenario's header is as planner fills it in.

        A name is the user's, and so is a model or chip that differs from the one in the scenario's id.
        """
        name, said = self.old.rows[at[0]], self.merge.ours.book.said
        model, on, chip = said(HEADER[0], at[1]).partition("_on_")
        made = {HEADER[2]: model, HEADER[3]: chip}.get(name)
        if made is None or not on:
            return name != HEADER[1]
        return re.fullmatch(f"{identifier(said(name, at[1]))}(_[0-9]+)?", made) is not None

    def _is_usual(self, name: str, at: Position) -> bool:
        """Whether an input's value is one that planner fills in by itself, now or when it last wrote the workbook."""
        scenario = int(self.old.columns[at[1]].split()[1]) - FIRST_SCENARIO
        wrote, value = self.merge.base.wrote(self.old, at), of_value(self.old.sheet.value(*at))
        if wrote is not None and wrote.digest == value:
            return True
        return any(value == of_value(each.get(name)) for each in self._usual[scenario])

    @cached_property
    def _usual(self) -> list[tuple[Mapping[str, Known], ...]]:
        """For each scenario, the values that planner fills in: defaults, initial values, those that follow others."""
        usual = {name: row.default for name, row in self.plan.inputs.items()}
        following = {name for sweep in self.plan.sweeps for axis in sweep.axes for name in axis.follows}
        templates, scenarios = self.plan.templates, self.plan.scenarios
        begun = completed(templates, (_as_begun(self.plan, each) for each in scenarios))
        alone = (replace(each, values=_without(each.values, following)) for each in scenarios)
        found = list[tuple[Mapping[str, Known], ...]]()
        for first, each in zip(begun, completed(templates, alone), strict=True):
            other = {name: value for name, value in each.values.items() if value != usual.get(name)}
            meant = {WORKLOAD: self.plan.workloads.meant(_without(other, {WORKLOAD}))}
            found.append((usual, first.values, {name: each.values.get(name) for name in following} | meant))
        return found

    def _of_case(self, at: Position) -> str:
        """The same for a cell of a case: a user's case by its label, another chip, a note."""
        case = self.plan.comparison[int(self.old.rows[at[0]].split()[1])]
        name, text = self.old.columns.get(at[1], ""), self._shown(at)
        shipped = listed(case.template.name)
        if name == LABEL:
            own = label_of(case.template.name, case.inputs) if text in shipped.values() else text
            return "" if shipped.get(case.key) == text else f"case {own}"
        if name == CHIP:
            times = self.old.column_of.get(TIME, 0)
            is_named = case.key not in shipped or self.old.sheet.value(at[0], times) not in (None, "")
            return "" if is_named or text == self._first_chip else f"{name}: {text}"
        if name == NOTE and self._starts(at, PLANNERS_NOTES):
            return ""
        return "" if name in self._columns_of_planners else f"{name or 'yours'}: {text}"

    @cached_property
    def _columns_of_planners(self) -> Container[str]:
        """The columns of a case that planner writes now or wrote last."""
        built = self.merge.base.memory.sheets.get(COMPARISON)
        return {*self.merge.fresh.sheets[COMPARISON].column_of, *(built.column_of if built else ())} - {NOTE}

    @cached_property
    def _first_chip(self) -> str:
        """The chip for which cases are predicted by default."""
        return next((scenario.hardware for scenario in self.plan.scenarios if scenario.hardware), "")


def _as_begun(plan: BuildPlan, scenario: BuildScenario) -> BuildScenario:
    """The scenario with the values that the default workbook has for the scenario of this id."""
    texts = next((texts for model, chip, texts in DEFAULTS if scenario.id == identifier(f"{model} on {chip}")), {})
    values = {name: typed(row, texts[name]) for name, row in plan.inputs.items() if name in texts}
    return replace(scenario, values={WORKLOAD: plan.workloads.meant(values), **values})


def _without(values: Mapping[str, Known], names: Container[str]) -> dict[str, Known]:
    return {name: value for name, value in values.items() if name not in names}


def shown(merge: ThreeWay, sheet: KeyedSheet, at: Position) -> str:
    """The content of a cell of the file as text; a formula as it reads in the merged workbook."""
    formula = merge.ours.formula(sheet, at, merge.names[sheet.kind])
    return in_words(sheet.sheet.value(*at)) if formula is None else f"={formula}"


def in_words(value: Value) -> str:
    """A value as text: "blank" for none, a number with 12 digits."""
    return "blank" if value in (None, "") else f"{value:.12g}" if isinstance(value, float) else str(value)
