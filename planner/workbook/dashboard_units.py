"""The unit factors and thresholds of Dashboard: a closed block at its top that reads Inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.formulas import thresholds
from planner.formulas.template import Row
from planner.number_text import PERCENT
from planner.workbook import display_units, layout
from planner.workbook.cell_styles import row_format
from planner.workbook.inputs_sheet import Inputs
from planner.workbook.page import Live, Page
from planner.xlsx.address import column_letters

TOLD = thresholds.used_on("dashboard")


class Units:
    """A closed block that reads the unit factors from Inputs, the most used ones first."""

    def __init__(self, page: Page, at: int, inputs: Inputs, rows: Sequence[Row]) -> None:
        needed = Counter(each.name for row in rows for each in display_units.needed([row]))
        if any(row.display == PERCENT for row in rows):
            needed[display_units.OF_A_SHARE.name] = 1
        known = {each.name: each for each in (*display_units.needed(rows), display_units.OF_A_SHARE, *TOLD)}
        names = [*(name for name, _ in needed.most_common()), *(row.name for row in TOLD if inputs.has(row.name))]
        self._cells = {name: f"${column_letters(layout.FORMULA)}${row}" for row, name in enumerate(names, start=at)}
        self.rows = range(at, at + len(names))
        for row, name in zip(self.rows, names, strict=True):
            page.describe(row, (known[name].label, known[name].unit, "", "", "on Inputs"))
            page.put(row, layout.FORMULA, Live(inputs.constant(name)), "plan_cross", row_format(known[name]))

    def digits(self, cell: str) -> str:
        """A formula for the decimals of a cell's number as text: three significant digits."""
        return f"IFERROR(MAX(0,2-ROUNDDOWN(LOG({cell},{self._cells['digit_base']}),0)+IF({cell}<1,1,0)),0)"

    def threshold(self, name: str) -> str:
        """The cell of a threshold of Dashboard."""
        return self._cells[name]

    def over(self, row: Row) -> str:
        """The divisor after a reference to a row's number: `/$D$8`; blank if it is shown in SI units."""
        return "".join(f"/{self._cells[each.name]}" for each in display_units.needed([row]) if self.has(row))

    def has(self, row: Row) -> bool:
        """Whether the block has the unit factor of a row, which may be none of Dashboard's lines."""
        return all(each.name in self._cells for each in display_units.needed([row]))

    def in_words(self, row: Row, cell: str) -> str:
        """A line's number for use in a text: a share, which its format shows in percent, is divided by its factor."""
        return f"{cell}/{self._cells[display_units.OF_A_SHARE.name]}" if row.display == PERCENT else cell
