"""The Sensitivity sheet: the chosen scenario at other prices and efficiencies, as two-way tables.

The factors are inputs. A row has an efficiency factor, the quantities that depend on it alone, and the cost at each
price factor. The plan's own cell, with both factors 1, is marked.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.formulas.sweeps import EFFICIENCY, PRICE, Sweep
from planner.formulas.template import Row
from planner.number_text import within
from planner.workbook.calculation import Earlier
from planner.workbook.cell_styles import GREEN, PALE_GREEN, RATIO
from planner.workbook.chosen_scenario import ChosenScenario
from planner.workbook.display_units import shown_format
from planner.workbook.page import Page
from planner.workbook.wrapping import LINE_HEIGHT
from planner.xlsx.address import address, column_letters
from planner.xlsx.grid import HERE

NAME = "Sensitivity"
PURPOSE = "The scenario chosen on Dashboard, if price or efficiency moves: blue factors are yours."
PRICES = (0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2)
EFFICIENCIES = (0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2)
WIDTHS = (24.0, 16.0, 16.0, 16.0, 16.0)
BESIDE = len(WIDTHS) + 1  # the column of the heading with whether the scenario is meant for it; the title is left of it


def write(earlier: Earlier, selector: str) -> Page:
    """Write the sheet for each what-if of the plan; `selector` is the cell of the chosen scenario."""
    found = [(each, earlier.sheets[each.template.name]) for each in earlier.plan.what_ifs]
    page = Page(earlier.book, NAME, NAME, PURPOSE, corner="B4", titles="1:2")
    scenario = ChosenScenario(page, earlier, selector, found)
    at = scenario.last + 2
    widest = 1
    for what_if, sheet in found:
        table = _Table(scenario, what_if, at)
        table.write(sheet.page.name)
        widest, at = max(widest, table.last_column), table.rows.stop + 1
    page.widths(*WIDTHS, *[14.0] * (widest - len(WIDTHS)))
    page.sheet.print_area = f"A1:{column_letters(widest)}{at}"
    return page


class _Table:
    """One table: a heading, titles, the price factors, and a row for each efficiency factor."""

    def __init__(self, scenario: ChosenScenario, what_if: Sweep, at: int) -> None:
        self.page, self.scenario, self.what_if, self.at = scenario.page, scenario, what_if, at
        rows = [what_if.rows[name] for name in what_if.shown]
        self.costs = [row for row in rows if PRICE in row.reads]
        self.alone = [row for row in rows if row not in self.costs]
        self.columns = {row.name: column for column, row in enumerate(self.alone, start=2)}
        first = 2 + len(self.columns)
        self.priced = range(first, first + len(PRICES))
        self.last_column = self.priced.stop - 1
        self.rows = range(at + 3, at + 3 + len(EFFICIENCIES))

    def write(self, sheet: str) -> None:
        """Write the table."""
        (cost,) = self.costs
        page, title, prices = self.page, self.at + 1, self.at + 2
        said = f"{sheet}: {within(cost.label)} ({cost.said_in}), if price or efficiency moves"
        page.section(self.at, said, self.last_column)
        for column in self.priced:
            page.put(title, column, "Price times", "plan_column_right")
        page.put(title, 1, "Efficiency times", "plan_column")
        for row in self.alone:
            unit = f" ({row.said_in})" if row.said_in != "1" else ""
            page.put(title, self.columns[row.name], f"{row.label}{unit}", "plan_column_right")
        page.rows[title].height = 4 * LINE_HEIGHT + 3
        for column, factor in zip(self.priced, PRICES, strict=True):
            page.put(prices, column, factor, "plan_input", RATIO)
        for at, factor in zip(self.rows, EFFICIENCIES, strict=True):
            page.put(at, 1, factor, "plan_input", RATIO)
            for row in self.alone:
                self._across(row, at, [self.columns[row.name]])
            self._across(cost, at, self.priced)
        self._hold(prices)
        own = f"AND($A{self.rows.start}=1,{column_letters(self.priced.start)}${prices}=1)"
        whole = f"{address(self.rows.start, 2)}:{address(self.rows.stop - 1, self.last_column)}"
        self.scenario.set_back(self.what_if.template, self.at, BESIDE, whole)
        area = f"{address(self.rows.start, self.priced.start)}:{address(self.rows.stop - 1, self.priced.stop - 1)}"
        page.colour(area, own, ink=GREEN, fill=PALE_GREEN, bold=True)

    def _across(self, row: Row, at: int, columns: Sequence[int]) -> None:
        """Write a row's formula into some columns, in its display unit."""
        text = row.expression.substitute(lambda name: self._cell(name, at))
        over = self.scenario.over(row)
        formula = f"({text}){over}" if over else text
        self.page.across(at, formula, "plan_formula", shown_format(row), columns)

    def _cell(self, name: str, at: int) -> str:
        """The reference to a name in formulas of the row `at`."""
        if name == EFFICIENCY:
            return f"$A{at}"
        if name == PRICE:
            return f"{HERE}${self.at + 2}"
        if name in self.columns:
            to_si = self.scenario.over(self.what_if.rows[name]).replace("/", "*")
            return f"${column_letters(self.columns[name])}{at}{to_si}"
        return self.scenario.places[self.what_if.template.name, name]

    def _hold(self, prices: int) -> None:
        """Restrict the factors to positive numbers."""
        areas = f"A{self.rows.start}:A{self.rows.stop - 1} {address(prices, self.priced.start)}:"
        areas += address(prices, self.priced.stop - 1)
        rule = {"type": "decimal", "operator": "greaterThan", "formula1": "0"}
        self.page.validate(areas, "Factor", "1 is the plan as it is; 0.9 is a tenth less.", "A number above 0.", **rule)
