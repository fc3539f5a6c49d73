"""The common layout of all sheets: columns, rows, reserved sheet names, and the formula for a cell by position."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planner.xlsx.address import address, column_letters

LABEL, UNIT, NAME, FORMULA, SOURCE, FIRST_SCENARIO = 1, 2, 3, 4, 5, 6
HEADER_ROW, ID_ROW, TITLE_ROW, MODEL_ROW, HARDWARE_ROW = 3, 4, 5, 6, 7
FIRST_ROW = 9  # below the header rows and a blank one
HEADERS = {  # the header rows: name and label
    ID_ROW: ("scenario_id", "Scenario id"),
    TITLE_ROW: ("scenario_name", "Scenario"),
    MODEL_ROW: ("model_id", "Model"),
    HARDWARE_ROW: ("hardware_id", "Chip"),
}

TABLE_HEADER_ROW, TABLE_FIRST_ROW = 5, 6  # of a database sheet
RESERVED = {
    "cover", "dashboard", "inputs", "models", "hardware", "dtypes", "operations", "roofline", "sweep", "comparison",
    "calibration", "stacks", "checks", "log", "history", "constraints", "sensitivity",
}  # fmt: skip
SPARE_ROWS = 100  # in a database sheet, for an analyst's own models and chips
UNPROVED = "not cross-checked"  # the remark on a headline that no check recomputes
SCENARIO_WIDTH = 24.0
DESCRIBED = ("plan_wrapped", "plan_text", "plan_told", "plan_told", "plan_told")  # the styles of a line's texts
SPARE_SCENARIOS = 24  # columns of ranges and validations beyond the built scenarios


@dataclass(frozen=True)
class ScenarioColumns:
    """The scenario columns: how many are filled, and how many ranges are sized for."""

    filled: int
    reach: int = 0  # the last column of ranges, if it is given and leaves room for one more
    coming: int = 0  # columns that are about to be filled: charts have room for them

    @property
    def last(self) -> int:
        """The last column of ranges and validations."""
        return self.reach if self.reach > self.last_filled + 1 else self.last_filled + SPARE_SCENARIOS

    @property
    def last_filled(self) -> int:
        """The column of the last scenario."""
        return FIRST_SCENARIO + self.filled - 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(FIRST_SCENARIO, self.last_filled + 1))

    def area(self, top: int, bottom: int) -> str:
        """The scenario columns of some rows, with spare columns: `F9:AC40`."""
        return f"{address(top, FIRST_SCENARIO)}:{address(bottom, self.last)}"

    def over(self, row: int) -> str:
        """One row's scenario columns on the same sheet, with spare ones and the text column before: `$E$4:$AC$4`.

        Starting at that text column, the range also covers a scenario that an analyst moves or inserts before the
        first.
        """
        return f"${column_letters(SOURCE)}${row}:${column_letters(self.last)}${row}"

    def across(self, sheet: str, row: int) -> str:
        """The same on another sheet: `Inputs!$E$4:$AC$4`; on the same one if `sheet` is blank."""
        return f"{sheet}!{self.over(row)}" if sheet else self.over(row)

    def of_scenario(self, sheet: str, row: int, chosen: str) -> str:
        """The cell of a sheet's row in the column of the scenario whose id is in the cell `chosen`.

        It is found by that sheet's own ids, since an analyst may order its scenarios differently from Inputs.
        """
        return in_row(self.across(sheet, row), f"MATCH({chosen},{self.across(sheet, ID_ROW)},0)")


def sheet_name(template: str) -> str:
    """The name of a template's sheet: capitalized, and valid in a reference without quotes."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", template)
    name = name[:1].upper() + name[1:]
    reserved = name.lower() in RESERVED
    looks_like_cell = re.fullmatch(r"[A-Za-z]{1,3}\d+|[RrCc]\d*|[Rr]\d+[Cc]\d+|True|False", name)
    return (f"{name}_plan" if reserved or looks_like_cell or not name[:1].isalpha() else name)[:31]


def in_row(cells: str, place: str) -> str:
    """The cell at a position in a range of one row. `INDEX(cells,place)` isn't supported by every program."""
    return f"INDEX({cells},1,{place})"
