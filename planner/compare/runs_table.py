"""The table of runs on Comparison: runs of the plan, each beside what was expected of it when it was recorded.

It is below the rows reserved for cases, shares their columns, and is found by its own machine names, so that an analyst
may sort and extend the cases above. It is added with the first run. A run's expectation is typed, so that later edits
of the plan don't change it; its ratios are formulas in its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from planner.catalog import Value as Known
from planner.compare.comparison_sheet import KEY, RUN, RUN_HEAD, RUN_HEADS, CaseRow, ComparisonSheet
from planner.number_text import PERCENT
from planner.recalc import recalculate
from planner.scaled_units import factor
from planner.xlsx.address import Area, address, column_letters
from planner.xlsx.cellvalue import CellFormula, exact_text
from planner.xlsx.moved_parts import insert_rows
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import Content
from planner.xlsx.workbook_part import PRINTED, print_also, printed, reshape_names

TITLE = "Runs of the plan, each beside what was expected of it on its day; the rows above are room for measured cases"
GAP = 2  # blank rows above the table
BETWEEN = "; "  # of the inputs, as one text


class RunColumn(NamedTuple):
    """A column of the table: its label, and the machine name of the cases' column that it shares."""

    label: str
    under: str


COLUMNS = {
    RUN_HEAD: RunColumn("Run, time of UTC", KEY),
    "run_name": RunColumn("Scenario", "case_label"),
    "run_quantity": RunColumn("What was measured", "shape"),
    "run_unit": RunColumn("Unit", "dtype"),
    "run_row": RunColumn("Row of its template", "mesh"),
    "run_expected": RunColumn("Expected", "predicted_time.shown"),
    "run_low": RunColumn("Expected: least", "predicted_low.shown"),
    "run_high": RunColumn("Expected: most", "predicted_high.shown"),
    "run_bound": RunColumn("Bound", "bound_time.shown"),
    "run_measured": RunColumn("Measured", "measured_time.shown"),
    "run_spread": RunColumn("Spread: deviation over median", "spread"),
    "run_samples": RunColumn("Samples", "n_samples"),
    "run_flags": RunColumn("Flags", "flags"),
    "run_ratio": RunColumn("Over expected", "time_ratio"),
    "run_bound_ratio": RunColumn("Over bound", "roofline_share"),
    "run_chip": RunColumn("Chip", "mfu"),
    "run_scenario": RunColumn("Scenario's id", "achieved_flops"),
    "run_model": RunColumn("Model", "achieved_bandwidth"),
    "run_device": RunColumn("Device", "device"),
    "run_method": RunColumn("Method", "method"),
    "run_template": RunColumn("Template", "achieved_algorithm_bandwidth"),
    "run_id": RunColumn("Run", "run_id"),
    "run_inputs": RunColumn("Inputs on its day", "measured_on"),
    "run_source": RunColumn("Source", "measured_source"),
    "run_of": RunColumn("Of which scenario and row", "mesh_axis"),
    "run_key": RunColumn("The same, numbered", "device_order"),
    "run_number": RunColumn("Number of the run", "compiler_flags"),
    "run_stack": RunColumn("Stack", "bound"),
    "run_note": RunColumn("Your note", "note"),
}
RATIOS = {"run_ratio": "run_expected", "run_bound_ratio": "run_bound"}  # what the measured number is divided by
# Columns in which Dashboard looks for runs share those of the cases' texts: its ranges include the cases, whose numbers
# it would take for runs.
PART = "|"  # joins the parts of the key by which Dashboard finds a run: scenario|row|number among these
SCALED = ("expected", "low", "high", "bound", "measured")  # numbers that the table has in its display unit
LIKE_NUMBERS, LIKE_RATIO, LIKE_TEXT = "predicted_time.shown", "time_ratio", "shape"  # columns whose styles cells take
LIKE = {"run_spread": "spread", "run_samples": "n_samples", "run_number": "n_samples", "run_note": "note"}
NAMING = ("run_quantity", "run_unit")  # columns of words, left of the numbers, without which these say nothing
TITLE_CELL = "A1"


@dataclass(frozen=True)
class RecordedRun:
    """A run of a scenario and what was expected of it; numbers in the template's unit (SI), None if unknown.

    `row` is the machine name of what was measured, a row of `template`; `quantity` and `unit` (such as ms) are for
    display. `inputs` are the scenario's at the time, with overrides of looked-up numbers.
    """

    scenario: str
    name: str
    template: str
    row: str
    quantity: str
    unit: str
    measured: float
    expected: float | None
    low: float | None
    high: float | None
    bound: float | None
    on: str  # when, as 2026-05-01T10:00:00+00:00
    model: str = ""
    chip: str = ""
    stack: str = ""
    inputs: Mapping[str, Known] | None = None
    spread: float | None = None
    samples: float | None = 1.0
    flags: str = ""
    device: str = ""
    method: str = ""
    id: str = ""
    source: str = ""
    note: str = ""

    @property
    def said_in(self) -> str:
        """The display unit of its numbers: s, 1/s or %."""
        return PERCENT if self.unit == PERCENT else "1/s" if self.unit.endswith("/s") else "s"

    @property
    def ratio(self) -> float | None:
        """Measured over expected; None if nothing was expected."""
        return self.measured / self.expected if self.expected else None


def read(sheet: ComparisonSheet) -> list[RecordedRun]:
    """The runs of a Comparison in row order, without rows that lack a measured number or a known unit."""
    return [run for _, run in numbered(sheet)]


def numbered(sheet: ComparisonSheet) -> list[tuple[int, RecordedRun]]:
    """The same, as (row number, run)."""
    columns = _columns(sheet)
    rows = (CaseRow(sheet.xml, number, columns) for number in sheet.run_rows)
    return [(row.number, run) for row in rows if (run := _read(row)) is not None]


UNREADABLE = "its measured cell holds no number, or its unit is unknown"


def unreadable_rows(sheet: ComparisonSheet) -> list[int]:
    """The rows of runs that `read` leaves out, as a person typed another text over their number or their unit."""
    known = dict(numbered(sheet))
    return [number for number in sheet.run_rows if number not in known]


def measured_cell(sheet: ComparisonSheet, number: int) -> str:
    """The address of the measured number of the run in a row; without a column of it, of the run's name."""
    columns = _columns(sheet)
    return address(number, columns.get("run_measured", columns[RUN_HEAD]))


def _read(row: CaseRow) -> RecordedRun | None:
    unit, measured = row.text("run_unit"), row.number_in("run_measured")
    size = _size(unit)
    if measured is None or size is None:
        return None
    values: dict[str, object] = {
        name: None if (number := row.number_in(f"run_{name}")) is None else number * size for name in SCALED
    }
    texts = [each.name for each in fields(RecordedRun) if each.type == "str" and each.name not in ("on", "unit")]
    values |= {name: row.text(f"run_{name}") for name in texts}
    values |= {name: row.number_in(f"run_{name}") for name in ("spread", "samples")}
    values |= {"on": row.text(RUN_HEAD).removeprefix(RUN), "unit": unit, "inputs": _inputs(row.text("run_inputs"))}
    return RecordedRun(**values)  # type: ignore[arg-type]


def _size(unit: str) -> float | None:
    """The size of a unit in SI units; None for an unknown unit."""
    for base in ("s", "1", "1/s"):
        try:
            return factor(unit, base)
        except ValueError:
            continue
    return None


def _inputs(text: str) -> dict[str, Known]:
    """Parses `name=value; name=value`: numbers, else texts."""
    found: dict[str, Known] = {}
    for piece in filter(None, text.split(BETWEEN)):
        name, _, value = piece.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found


def appended(sheet: ComparisonSheet, run: RecordedRun) -> tuple[int, dict[str, Content], dict[str, str]]:
    """A run's new row below the others: its number, its cells, and the cell whose style each takes, by address.

    If the sheet has no table of runs yet, its title and header are included.
    """
    contents: dict[str, Content] = {}
    like: dict[str, str] = {}
    columns = _columns(sheet)
    if sheet.runs_header:
        number = max(_filled(sheet), default=sheet.runs_header) + 1
    else:
        # below the room for cases: charts and lookups over them reach so far, and backfill's new rows stand there
        header = max(sheet.sized_to, *_filled(sheet), sheet.header) + GAP + RUN_HEADS
        columns = _free_columns(sheet)
        contents[address(header - RUN_HEADS + 1, columns[RUN_HEAD])] = TITLE
        for name, column in columns.items():
            above = sheet.columns.get(COLUMNS[name].under, sheet.columns[KEY])
            for row, text in ((header - 1, COLUMNS[name].label), (header, name)):
                contents[address(row, column)] = text
                like[address(row, column)] = address(sheet.header - header + row, above)
        like[address(header - RUN_HEADS + 1, columns[RUN_HEAD])] = TITLE_CELL
        number = header + 1
    cells = {name: value for name, value in _cells(run) if name in columns}
    contents |= {address(number, columns[name]): value for name, value in cells.items()}
    for name, over in RATIOS.items():
        if {name, over, "run_measured"} <= columns.keys():
            measured, other = (address(number, columns[each]) for each in ("run_measured", over))
            contents[address(number, columns[name])] = CellFormula(f'IF({other}="","",{measured}/{other})')
    contents |= _keys(columns, sheet.runs_header or number - 1, number)
    like |= _looks(sheet, number, columns)
    return number, contents, like


def print_run(package: Package, sheet: ComparisonSheet, number: int) -> None:
    """Print the table of runs up to the run in the row `number`, on pages of its own below those of the cases.

    `sheet` is that of before the run. Nothing changes where what is printed leaves out the last case: it is someone's
    choice.
    """
    areas, last = printed(package, sheet.name), max((row.number for row in sheet.rows), default=0)
    of_cases = next((area for area in areas if area.top <= last <= area.bottom), None)
    if of_cases is None or any(area.top <= number <= area.bottom for area in areas):
        return
    header = sheet.runs_header or number - 1
    of_runs = next((area for area in areas if area.top <= header <= area.bottom), None)
    if of_runs is not None:
        old, longer = (PRINTED, sheet.name, of_runs), of_runs._replace(bottom=number)
        reshape_names(package, lambda *name: longer if name == old else name[-1])
        return
    columns = _columns(sheet) or _free_columns(sheet)
    left = min([of_cases.left, *(columns[name] for name in NAMING if name in columns)])
    print_also(package, sheet.name, Area(header - 1, left, number, of_cases.right))  # from its labels on


def taken_out(sheet: ComparisonSheet, number: int) -> range:
    """The rows that go with the run in the row `number`: with the last one, the table's title and titles."""
    is_last = _filled(sheet) == [number]
    return range(sheet.runs_title_row if is_last else number, number + 1)


def beside_run(sheet: ComparisonSheet, number: int) -> list[str]:
    """The addresses of the filled cells in a row of the table but outside it, which are the user's."""
    ours = set(_columns(sheet).values())
    row = sheet.xml.row(number) if number in sheet.xml.rows else {}
    cells = (each for column, each in row.items() if column not in ours)
    return [each.ref for each in cells if each.value is not None or each.formula is not None]


def _keys(columns: Mapping[str, int], header: int, number: int) -> dict[str, Content]:
    """The formulas, by address, that number a run among those of its scenario and row, and among all runs."""
    if not {"run_of", "run_key", "run_number", "run_scenario", "run_row"} <= columns.keys():
        return {}  # a table of an older version
    scenario, row, of, key, count = (
        address(number, columns[name]) for name in ("run_scenario", "run_row", "run_of", "run_key", "run_number")
    )
    alike, above = (column_letters(columns[name]) for name in ("run_of", "run_number"))
    return {
        of: CellFormula(f'{scenario}&"{PART}"&{row}'),
        key: CellFormula(f'{of}&"{PART}"&COUNTIF({alike}${header}:{of},{of})'),
        count: CellFormula(f'COUNTIF({above}${header}:{above}{number - 1},">0")+1'),
    }


def _columns(sheet: ComparisonSheet) -> dict[str, int]:
    """The columns of the table by machine name; empty if there is no table."""
    cells = sheet.xml.row(sheet.runs_header) if sheet.runs_header else {}
    titles = {str(cell.value).strip(): column for column, cell in sorted(cells.items(), reverse=True)}
    return {name: titles[name] for name in COLUMNS if name in titles}


def _filled(sheet: ComparisonSheet) -> list[int]:
    """The non-empty rows below the header of the runs or, without one, of the cases."""
    above = sheet.runs_header or sheet.header
    return [number for number in sheet.xml.row_numbers if number > above and not sheet.is_blank(number)]


def _free_columns(sheet: ComparisonSheet) -> dict[str, int]:
    """The columns of a new table: those of the cases; for a column that the sheet lacks, one right of all others."""
    after = max(max(sheet.xml.row(number), default=0) for number in sheet.xml.row_numbers)
    found: dict[str, int] = {}
    for name, column in COLUMNS.items():
        after += column.under not in sheet.columns
        found[name] = sheet.columns.get(column.under, after)
    return found


def _cells(run: RecordedRun) -> Iterator[tuple[str, Content]]:
    """Yields what is typed into a run's row, by column."""
    size = _size(run.unit) or 1.0
    for each in fields(RecordedRun):
        value = getattr(run, each.name)
        if each.name in SCALED:
            yield f"run_{each.name}", None if value is None else value / size
        elif each.name == "inputs":
            said = (f"{name}={exact_text(known)}" for name, known in (value or {}).items() if known is not None)
            yield "run_inputs", BETWEEN.join(said) or None
        elif each.name == "on":
            yield RUN_HEAD, f"{RUN}{value}"
        else:
            yield f"run_{each.name}", value if value != "" else None


def _looks(sheet: ComparisonSheet, number: int, columns: Mapping[str, int]) -> dict[str, str]:
    """The cell of the first case whose style each cell of a run takes."""
    if not sheet.rows:
        return {}
    first = sheet.rows[0].number
    numbers = {f"run_{name}" for name in SCALED}
    found: dict[str, str] = {}
    for name, column in columns.items():
        other = LIKE_NUMBERS if name in numbers else LIKE_RATIO if name in RATIOS else LIKE_TEXT
        other = LIKE.get(name, other)
        if other in sheet.columns:
            found[address(number, column)] = address(first, sheet.columns[other])
    return found


def make_room(package: Package, sheet: ComparisonSheet, wanted: int) -> bool:
    """Insert rows above the table of runs if `wanted` new cases need them; returns whether it moved.

    In a workbook with cases below the table nothing moves, since new ones are appended there.
    """
    title, last = sheet.runs_title_row, max((row.number for row in sheet.rows), default=sheet.header)
    if not wanted or not title or last > title:
        return False
    free = [number for number in range(last + 1, title) if sheet.is_blank(number)]
    end = free[wanted - 1] if wanted <= len(free) else title - 1 + wanted - len(free)
    if (lacking := end + GAP + 1 - title) <= 0:
        return False
    insert_rows(package, sheet.name, title, lacking)
    recalculate(package)  # what tells the place of a run in the table, on Dashboard, has another value now
    return True
