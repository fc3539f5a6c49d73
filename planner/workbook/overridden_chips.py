"""The numbers of its chip that a scenario overrides, compared with the chip's others."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog import Table, Value
from planner.formulas.input_values import check_together, doubt_chip, wholes
from planner.formulas.template import Row
from planner.workbook.build_plan import BuildScenario


def possible(scenario: BuildScenario, chips: Table) -> BuildScenario:
    """The scenario. Raises UserError if its values contradict its chip's."""
    if wholes(scenario.values):
        chip = chips.rows[scenario.hardware] if scenario.hardware else {}
        check_together(scenario.values, {**chip, **scenario.values})
    return scenario


def doubt(scenario: BuildScenario, rows: Mapping[str, Row], chips: Table) -> None:
    """Warn about overrides of the scenario that don't fit its chip's other numbers, such as a slip of 1,000.

    `rows` are all that may be typed, by name.
    """
    chip = chips.rows[scenario.hardware] if scenario.hardware else {}

    def known(name: str) -> Value:
        column, selector = rows[name].column
        dtype = scenario.values.get(selector, rows[selector].default) if selector else ""
        return scenario.values.get(name, chip.get(f"{column}_{dtype}" if selector else column))

    doubt_chip(rows.values(), scenario.values, known, scenario.id)
