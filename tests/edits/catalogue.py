"""The edits: each at random, as steps that a program carries out, with what must be found in the workbook then."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.book.plan import Plan, Quantity
from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import Value

Step = dict[str, Any]
BY_SCENARIO = ("Inputs", "Dashboard", "Checks")


@dataclass
class Expected:
    """What must be said of an edited workbook, and what may follow from it.

    `faults` are the places of each kind of finding, all of which must be there; `may` the kinds that may be there too.
    `overrides` and the changes of `diff` are exact: inputs as (scenario, name), formulas as (how, cell), structure as
    (what, how, name), notes and cells as cells, formats as sheets.
    """

    faults: dict[str, set[str]] = field(default_factory=dict)
    may: set[str] = field(default_factory=lambda: {"failed_check"})
    overrides: set[str] = field(default_factory=set)
    inputs: set[tuple[str, str]] = field(default_factory=set)
    formulas: set[tuple[str, str]] = field(default_factory=set)
    structure: set[tuple[str, str, str]] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    cells: set[str] = field(default_factory=set)
    formats: set[str] = field(default_factory=set)
    may_formats: set[str] = field(default_factory=set)  # of which a program may make some of its own
    is_still: bool = False  # no headline moves
    compares: bool = True  # whether the changes of `diff` are told exactly


@dataclass
class Edit:
    """An edit of a kind: its steps, what to expect."""

    kind: str
    steps: list[Step]
    expected: Expected

    def __str__(self) -> str:
        return f"{self.kind}: {self.steps}"


Maker = Callable[["Desk"], Edit]


class Desk:
    """A workbook before the edit, and dice."""

    def __init__(self, plan: Plan, dice: random.Random) -> None:
        self.plan, self.dice = plan, dice
        self.sheets = [*BY_SCENARIO, *plan.tables]
        has_constraints = ["Constraints"] * ("Constraints" in plan.sheets)  # an earlier version has none
        self.columned = [*self.sheets, *has_constraints]  # every sheet that has a column for each scenario

    def input(self, *names: str) -> tuple[Quantity, str, str]:
        """A row of Inputs, a scenario and the cell."""
        rows = [row for row in (*self.plan.inputs, *self.plan.overrides) if row.name in names]
        row, key = self.dice.choice(rows), self.dice.choice(list(self.plan.by_key))
        return row, key, row.cells[key].spot.ref

    def header(self, at: int) -> tuple[str, str]:
        """A scenario, and its cell in the header row `at` of Inputs."""
        key = self.dice.choice(list(self.plan.by_key))
        return key, f"{column_letters(self.plan.by_key[key].column)}{at}"

    def calculated(self) -> tuple[str, Quantity, str]:
        """A calculated number of a calculation sheet in one scenario: its cell."""
        sheet = self.dice.choice(list(self.plan.tables))
        rows = [row for row in self.plan.tables[sheet] if isinstance(row.value(next(iter(self.plan.by_key))), float)
                and row.name not in ("model_row", "hardware_row") and "[" not in row.text]  # fmt: skip
        row, key = self.dice.choice(rows), self.dice.choice(list(self.plan.by_key))
        while not isinstance(row.value(key), float):  # N/A in this scenario
            row, key = self.dice.choice(rows), self.dice.choice(list(self.plan.by_key))
        return f"{sheet}!{row.cells[key].spot.ref}", row, key

    def row_within(self, sheet: str) -> int:
        """A row inside the tables of a sheet, with planner's rows above and below."""
        rows = {"Inputs": self.plan.inputs, "Dashboard": self.plan.headlines, "Checks": self.plan.checks}
        found: list[Any] = list(rows.get(sheet, self.plan.tables.get(sheet, ())))
        return int(self.dice.choice([row.row for row in found][1:]))


def a_value(desk: Desk) -> Edit:
    """A number of Inputs."""
    row, key, ref = desk.input("batch", "context_len", "prompt_len", "generate_len")
    value = desk.dice.choice([number for number in (3, 17, 900, 1234) if number != row.value(key)])
    return Edit("value", [_type("Inputs", ref, value)], Expected(inputs={(key, row.name)}))


def a_choice(desk: Desk) -> Edit:
    """Another chip from the dropdown."""
    key, ref = desk.header(7)
    other = "h100-sxm" if desk.plan.by_key[key].hardware != "h100-sxm" else "tpu-v5e"
    return Edit("choice", [_type("Inputs", ref, other)], Expected(inputs={(key, "hardware_id")}))


def out_of_range(desk: Desk) -> Edit:
    """A number below 0, or a dtype that is none."""
    name, value = desk.dice.choice([("batch", -1), ("n_chips", -8), ("kv_dtype", "int3"), ("prompt_len", -5)])
    row, key, ref = desk.input(name)
    expected = Expected({"out_of_range": {f"Inputs!{ref}"}}, {"failed_check", "error_value"}, inputs={(key, row.name)})
    return Edit("out of range", [_type("Inputs", ref, value)], expected)


def a_number_as_text(desk: Desk) -> Edit:
    """A number typed as a text."""
    row, key, ref = desk.input("batch", "context_len", "n_chips")
    value = row.value(key)
    assert isinstance(value, float)
    expected = Expected({"out_of_range": {f"Inputs!{ref}"}}, {"failed_check", "error_value"}, inputs={(key, row.name)},
                        may_formats={"Inputs"})  # fmt: skip
    return Edit("number as text", [_type("Inputs", ref, f"{value:g}")], expected)


def an_override_cell(desk: Desk) -> Edit:
    """A looked-up number overridden in the cell for it."""
    row, key, ref = desk.input("hbm_bytes", "hbm_bandwidth")
    expected = Expected(overrides={f"Inputs!{ref}"}, inputs={(key, row.name)})
    return Edit("override cell", [_type("Inputs", ref, desk.dice.choice([90e9, 3e12]))], expected)


def typed_over(desk: Desk) -> Edit:
    """A number typed over a formula."""
    cell, row, key = desk.calculated()
    value = row.value(key)
    assert isinstance(value, float)
    sheet, _, ref = cell.partition("!")
    expected = Expected(may={"failed_check", "error_value"}, overrides={cell}, formulas={("overridden", cell)})
    return Edit("typed over a formula", [_type(sheet, ref, round(value * 1.25 + 1, 3))], expected)


def another_formula(desk: Desk) -> Edit:
    """A formula multiplied by something in one scenario."""
    cell, _, _ = desk.calculated()
    sheet, _, ref = cell.partition("!")
    steps: list[Step] = [{"do": "scale", "sheet": sheet, "cell": ref, "factor": desk.dice.choice(["1.1", "0.93"])}]
    expected = Expected(may={"failed_check", "error_value"}, overrides={cell}, formulas={("edited", cell)})
    return Edit("another formula", steps, expected)


def inserted_rows(desk: Desk) -> Edit:
    """Rows put into a table, and a line of one's own in the first."""
    sheet = desk.dice.choice(desk.sheets)
    at, count = desk.row_within(sheet), desk.dice.choice([1, 2])
    steps: list[Step] = [{"do": "insert_rows", "sheet": sheet, "at": at, "count": count}]
    structure = set()
    if desk.dice.random() < 0.7:
        steps += [_type(sheet, f"A{at}", "My margin"), _type(sheet, f"F{at}", 0.2)]
        structure = {("row", "added", "My margin")}
    return Edit("inserted rows", steps, Expected(may=set(), structure=structure, is_still=True))


def inserted_rows_above(desk: Desk) -> Edit:
    """Rows put above a sheet's header."""
    sheet = desk.dice.choice(desk.sheets)
    steps: list[Step] = [{"do": "insert_rows", "sheet": sheet, "at": 3, "count": desk.dice.choice([1, 3])}]
    return Edit("inserted rows above the header", steps, Expected(may=set(), is_still=True))


def inserted_columns(desk: Desk) -> Edit:
    """A column put between the texts, in front of the scenarios or between two of them, on one sheet."""
    sheet, at = desk.dice.choice(desk.sheets), desk.dice.choice([4, 5, 6, 7, 8])
    steps: list[Step] = [{"do": "insert_columns", "sheet": sheet, "at": at, "count": 1}]
    structure = set()
    if desk.dice.random() < 0.5:
        row = desk.row_within(sheet)
        steps += [_type(sheet, f"{column_letters(at)}{row}", "look here")]
        structure = {("column", "added", "look here")}
    return Edit("inserted columns", steps, Expected(may=set(), structure=structure, is_still=True))


def a_renamed_sheet(desk: Desk) -> Edit:
    """One of planner's sheets under another name."""
    sheet = desk.dice.choice([*desk.sheets, "Hardware", "Models", "Operations", "Comparison", "Log"])
    to = desk.dice.choice(["Renamed", "Mine_2", "Plans"])
    steps: list[Step] = [{"do": "rename_sheet", "sheet": sheet, "to": to}]
    return Edit("renamed sheet", steps, Expected(may=set(), structure={("sheet", "renamed", to)}, is_still=True))


def a_deleted_scenario(desk: Desk) -> Edit:
    """A scenario's column deleted on every sheet; not the one that Roofline shows."""
    scenario = desk.dice.choice(desk.plan.scenarios[1:])
    steps: list[Step] = [{"do": "delete_columns", "sheet": sheet, "at": scenario.column, "count": 1}
                         for sheet in desk.columned]  # fmt: skip
    structure = {("scenario", "removed", scenario.key)}
    return Edit("deleted scenario", steps, Expected(may=set(), structure=structure, is_still=True))


def a_half_deleted_scenario(desk: Desk) -> Edit:
    """A scenario's column deleted on Inputs alone: everything that read it is broken."""
    scenario = desk.dice.choice(desk.plan.scenarios[1:])
    steps: list[Step] = [{"do": "delete_columns", "sheet": "Inputs", "at": scenario.column, "count": 1}]
    row = desk.plan.quantity("batch")
    assert row is not None
    broken = {f"{row.sheet}!{row.cells[scenario.key].spot.ref}"}
    expected = Expected({"broken_reference": broken}, {"breach", "error_value", "failed_check"}, compares=False)
    return Edit("half-deleted scenario", steps, expected)


def reordered_columns(desk: Desk) -> Edit:
    """The first scenario moved behind the last, or the last in front of the first, on every sheet or on one alone."""
    first, last = desk.plan.scenarios[0], desk.plan.scenarios[-1]
    which, target = desk.dice.choice([(first, last.column + 1), (last, first.column)])
    sheets = desk.dice.choice([desk.columned, ["Inputs"], ["Dashboard"]])
    steps: list[Step] = [{"do": "move_column", "sheet": sheet, "source": which.column, "target": target}
                         for sheet in sheets]  # fmt: skip
    moved = {("scenario", "moved", which.key)} if "Inputs" in sheets else set()
    return Edit("reordered columns", steps, Expected(may=set(), structure=moved, is_still=True))


def a_note(desk: Desk) -> Edit:
    """A note on a calculated cell or an input."""
    cell = desk.calculated()[0] if desk.dice.random() < 0.5 else f"Inputs!{desk.input('batch', 'n_chips')[2]}"
    sheet, _, ref = cell.partition("!")
    text = desk.dice.choice(["why so many?", "from the <vendor> & co.", "zwei\nZeilen"])
    steps: list[Step] = [{"do": "note", "sheet": sheet, "cell": ref, "text": text}]
    return Edit("note", steps, Expected(may=set(), notes={cell}, is_still=True))


def a_format(desk: Desk) -> Edit:
    """A cell made bold and yellow."""
    cell = desk.calculated()[0]
    sheet, _, ref = cell.partition("!")
    steps: list[Step] = [{"do": "format", "sheet": sheet, "cell": ref}]
    return Edit("format", steps, Expected(may=set(), formats={sheet}, is_still=True))


def an_own_sheet(desk: Desk) -> Edit:
    """A sheet of one's own that calculates with the plan."""
    _, _, ref = desk.input("batch", "n_chips")
    steps: list[Step] = [{"do": "add_sheet", "sheet": "My_notes", "at": desk.dice.choice([0, 3, 99])},
                         _type("My_notes", "A1", "Twice"),
                         _formula("My_notes", "B1", f"=2*Inputs!{ref}")]  # fmt: skip
    return Edit("own sheet", steps, Expected(may=set(), structure={("sheet", "added", "My_notes")}, is_still=True))


def an_error(desk: Desk) -> Edit:
    """A formula on a sheet of one's own that divides by nothing, and another that reads it."""
    steps: list[Step] = [{"do": "add_sheet", "sheet": "Mine", "at": 1},
                         _formula("Mine", "B2", "=1/0"), _formula("Mine", "B3", "=B2+1")]  # fmt: skip
    expected = Expected({"error_value": {"Mine!B2"}}, set(), structure={("sheet", "added", "Mine")}, is_still=True)
    return Edit("error value", steps, expected)


def a_deleted_sheet(desk: Desk) -> Edit:
    """One of planner's sheets deleted: what read it is broken, and it is missed."""
    sheet = desk.dice.choice(["Hardware", "Cover", "Log", "Dashboard", "Checks", "Roofline"])
    faults = {"Hardware": {"broken_reference": set(), "breach": {""}}, "Roofline": {}}.get(sheet, {"breach": {""}})
    may = {"broken_reference", "error_value", "failed_check", "breach"}
    return Edit("deleted sheet", [{"do": "delete_sheet", "sheet": sheet}], Expected(faults, may, compares=False))


def _type(sheet: str, cell: str, value: Value) -> Step:
    return {"do": "type", "sheet": sheet, "cell": cell, "value": value}


def _formula(sheet: str, cell: str, formula: str) -> Step:
    return {"do": "formula", "sheet": sheet, "cell": cell, "formula": formula}


TYPED: tuple[Maker, ...] = (
    a_value, a_choice, out_of_range, a_number_as_text, an_override_cell, typed_over, another_formula, a_note, a_format,
    an_own_sheet, an_error,
)  # fmt: skip
"""What every program can do."""

MOVED: tuple[Maker, ...] = (
    inserted_rows, inserted_rows_above, inserted_columns, a_renamed_sheet, a_deleted_scenario, a_half_deleted_scenario,
    reordered_columns, a_deleted_sheet,
)  # fmt: skip
"""What takes a program that lets references follow."""
