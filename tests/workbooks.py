"""Workbooks for the tests: built once, read by machine name and scenario, edited as an analyst would."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import openpyxl
import pytest
from openpyxl.formula.translate import Translator
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from planner.catalog.databases import Databases
from planner.formulas import library
from planner.workbook import layout, sweep_table
from planner.workbook.book import build
from planner.workbook.build_plan import BuildPlan
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import column_letters
from planner.xlsx.cellvalue import CellError, Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from planner.xlsx.workbook_part import parse_sheets
from tests import read_once
from tests.folders import shared_folder
from tests.plans_together import together

CALCULATION_SHEETS = {
    "Transformer": "transformer", "Training": "training", "Inference": "inference", "Collectives": "collectives",
}  # fmt: skip
ROOT = Path(__file__).parent.parent
MODELS = ("llama3-8b", "llama3-70b", "gemma-7b", "mixtral-8x7b")  # of the small workbooks
CHIPS = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "h100-sxm", "a100-sxm-80")
FEWEST = 4  # cases of a sweep of theirs
Grid = Mapping[str, Mapping[str, Value]]
P, T = ParamSpec("P"), TypeVar("T")


def once(make: Callable[P, T]) -> Callable[P, T]:
    """Made once for all tests of a process; what is made while `tests.short_data` makes it smaller is kept apart."""
    kept = cache(lambda _meanwhile, *words: make(*words))  # type: ignore[call-arg]  # none has keywords

    @wraps(make)
    def made(*words: P.args, **_none: P.kwargs) -> T:
        found: T = kept(tuple(read_once.meanwhile), *words)
        return found

    return made


def of_scenarios(folder: Path, scenarios: str, templates: Sequence[str], databases: Databases) -> Grid:
    """The cached values of a small workbook of the scenarios of a CSV's text, built in a folder."""
    return cached(write_scenarios(folder / "plan.xlsx", [scenarios], templates, databases))


def scenario_lines(plans: Mapping[str, str]) -> list[str]:
    """The lines of a CSV of scenarios by id, each of a model, a chip and what is typed: `gpt2 h100-sxm n_chips=8`."""
    typed = {each: dict(word.split("=") for word in words.split()[2:]) for each, words in plans.items()}
    names = list(dict.fromkeys(name for values in typed.values() for name in values))
    lines = [",".join(["id,model,hardware", *names])]
    for each, values in typed.items():
        lines.append(",".join([each, *plans[each].split()[:2], *(values.get(name, "") for name in names)]))
    return lines


def write_scenarios(
    path: Path, lines: Iterable[str], templates: Sequence[str] = (), databases: Databases | None = None
) -> Path:
    """Build a small workbook of the scenarios of a CSV's lines at `path`; the CSV stands beside it. Returns `path`."""
    scenarios = path.with_suffix(".csv")
    scenarios.write_text("\n".join(lines), encoding="utf-8")
    path.write_bytes(build_small(plan_of((), (), templates, scenarios, (), databases)))
    return path


def write_plan(
    path: Path, models: Sequence[str] = (), chips: Sequence[str] = (), templates: Sequence[str] = (), **settings: object
) -> Path:
    """Build a workbook of models on chips at `path`; without any, the default one. Returns `path`."""
    words = tuple(f"{name}={value}" for name, value in settings.items())
    path.write_bytes(built(tuple(models), tuple(chips), words, tuple(templates))[1])
    return path


def write_small(
    path: Path, models: Sequence[str], chips: Sequence[str], templates: Sequence[str], **settings: object
) -> Path:
    """The same of few models and chips, without what makes a workbook large: see `smaller`."""
    write_small_plan(path, models, chips, templates, **settings)
    return path


def write_small_plan(
    path: Path, models: Sequence[str], chips: Sequence[str], templates: Sequence[str], **settings: object
) -> BuildPlan:
    """The same; returns the plan of it."""
    plan, data = small(tuple(models), tuple(chips), tuple(f"{name}={value}" for name, value in settings.items()),
                       tuple(templates))  # fmt: skip
    path.write_bytes(data)
    return plan


@once
def small(
    models: tuple[str, ...], chips: tuple[str, ...], settings: tuple[str, ...], templates: tuple[str, ...]
) -> tuple[BuildPlan, bytes]:
    """A small plan and its workbook, built once for all tests of a process: its databases have MODELS and CHIPS too."""
    databases = few_rows(_with(MODELS, models), _with((*CHIPS, "h200-sxm"), chips))
    plan = smaller(plan_of(models, chips, templates, None, settings, databases))
    return plan, build_small(plan)


def build_small(plan: BuildPlan) -> bytes:
    """The workbook of a plan made `smaller`, with few cases in its sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_table, "FEWEST", FEWEST)
        return build(smaller(plan))


def _with(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return *names, *(name for name in more if name not in names)


def smaller(plan: BuildPlan) -> BuildPlan:
    """A plan with one axis of each sweep and a few cases of the Comparison: those are half of a workbook's cells."""
    made = replace(plan, comparison=plan.comparison[:6])
    made.__dict__["sweeps"] = [replace(sweep, axes=sweep.axes[:1]) for sweep in plan.sweeps]  # a cached property
    return made


def write_comparison(path: Path) -> BuildPlan:
    """The smallest workbook with a Comparison: one matmul. Its cases predict tpu-v5e, as in every workbook."""
    plan, data = comparison()
    path.write_bytes(data)
    return plan


@once
def comparison() -> tuple[BuildPlan, bytes]:
    """Its plan and its bytes; its databases have a few rows."""
    plan = plan_of((), ["tpu-v5e"], ["matmul"], None, (), few_rows(("llama3-8b",), CHIPS))
    return plan, build(plan)


@cache
def few_rows(models: tuple[str, ...], chips: tuple[str, ...]) -> Databases:
    """The databases with these rows alone, as CSVs, and their calibrations: of a small workbook they are the most."""
    folder = shared_folder()
    for name, ids in (("model_db/models.csv", models), ("hardware_db/accelerators.csv", chips)):
        titles, *lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        short = [titles, *(line for line in lines if line.partition(",")[0] in ids)]
        (folder / Path(name).name).write_text("\n".join(short), encoding="utf-8")
    few = Databases(folder / "models.csv", folder / "accelerators.csv", only=True)
    few.__dict__["calibration"] = read_once.calibrations_of({*CHIPS, *chips})  # a cached property
    return few


@once
def built(
    models: tuple[str, ...] = (), chips: tuple[str, ...] = (), settings: tuple[str, ...] = (),
    templates: tuple[str, ...] = (),
) -> tuple[BuildPlan, bytes]:  # fmt: skip
    """A plan and its workbook, built once for all tests of a process."""
    plan = plan_of(models, chips, templates, None, settings)
    return plan, build(plan)


def typed_of(plan: BuildPlan) -> list[tuple[int, str, str, Mapping[str, Value]]]:
    """Each scenario of a plan as its column, model, chip and what is typed in it."""
    return [
        (column, str(each.model), str(each.hardware), dict(each.values))
        for column, each in zip(plan.columns, plan.scenarios, strict=True)
    ]


def by_name(grid: Grid, sheet: str) -> dict[str, int]:
    """The row of each machine name on a sheet."""
    column = column_letters(layout.NAME)
    found = {}
    for reference, value in grid[sheet].items():
        if reference.rstrip("0123456789") == column and isinstance(value, str) and value:
            found.setdefault(value, int(reference[len(column) :]))
    return found


class _Cached(Mapping[str, dict[str, Value]]):
    """The values in a file's sheets, each parsed when it is looked at: most tests look at one or two of twenty."""

    def __init__(self, path: Path) -> None:
        self._sheets, self._read = parse_sheets(Package.read(path)), dict[str, dict[str, Value]]()

    def __getitem__(self, name: str) -> dict[str, Value]:
        if name not in self._read:
            self._read[name] = values_of(self._sheets[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sheets)

    def __len__(self) -> int:
        return len(self._sheets)


def cached(path: Path) -> Mapping[str, dict[str, Value]]:
    """Every cell's value as the file has it."""
    return _Cached(path)


def values_of(sheet: SheetXml) -> dict[str, Value]:
    """The value of each cell of a sheet."""
    return {ref: cell.value for ref, cell in sheet.cells.items()}


class _OneSheet(ExcelReader):
    """Reads a single sheet of a workbook; the others are there by name alone."""

    only = ""

    def read_worksheets(self) -> None:
        for each in list(self.parser.find_sheets()):
            if each[0].name == self.only:
                self.parser.find_sheets = lambda found=each: iter((found,))
                super().read_worksheets()
            else:
                self.wb.create_sheet(each[0].name)


def sheet_of(path: Path, name: str, *, data_only: bool = False) -> Worksheet:
    """A sheet as openpyxl reads it, to look at: a fifth of the time that the whole workbook takes."""
    reader = _OneSheet(path, data_only=data_only)
    reader.only = name
    reader.read()
    return reader.wb[name]


class SheetsOf(dict[str, Worksheet]):
    """A workbook's sheets as openpyxl reads them, each when it is first looked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __missing__(self, name: str) -> Worksheet:
        self[name] = sheet_of(self._path, name)
        return self[name]


def differences(grid: Grid, scenarios: Sequence[tuple[int, str, str, Mapping[str, Value]]]) -> Iterator[str]:
    """Where a workbook's values differ from the array functions, for (column, model, chip, typed values)."""
    templates = {sheet: library.load(name) for sheet, name in CALCULATION_SHEETS.items() if sheet in grid}
    inputs = {row.name for template in templates.values() for row in template.of_kind("input")}
    letters = [get_column_letter(column) for column, *_ in scenarios]
    for sheet, template in templates.items():
        # What is an input of another sheet and calculated on this one is not typed over here.
        mine = {row.name for row in template.rows if row.kind == "input" or row.name not in inputs}
        plans = [
            (model, chip, {name: value for name, value in values.items() if name in mine})
            for _, model, chip, values in scenarios
        ]
        rows, cells = by_name(grid, sheet), grid[sheet]
        for letter, (model, chip, _), results in zip(letters, plans, together(template, plans), strict=True):
            for row in (row for row in template.rows if row.name in rows):
                found, expected = cells.get(f"{letter}{rows[row.name]}"), results.value(row.name)
                if not agree(found, expected):
                    yield f"{sheet}!{row.name} of {model} on {chip}: cell {found}, array {expected}"


def agree(found: Value, expected: Value, tolerance: float = 1e-9) -> bool:
    """Whether a cell holds what an array holds: N/A for N/A, numbers within a relative tolerance."""
    if expected is None or isinstance(found, CellError):
        return expected is None and isinstance(found, CellError)
    if isinstance(expected, str) or isinstance(found, str):
        return found == expected
    return found is not None and math.isclose(float(found), float(expected), rel_tol=tolerance)


def type_in(package: Package, sheet: str, cells: Mapping[str, Value]) -> None:
    """Type values into cells of a sheet by address; cached values stay as they were."""
    package.replace(package.sheets()[sheet], with_values(parse_sheets(package)[sheet], cells))


def retype(path: Path, columns: str = "F", **values: Value) -> None:
    """Type inputs by name into the scenarios of these columns, one letter each; cached values stay as they were."""
    package = Package.read(path)
    rows = by_name({"Inputs": values_of(parse_sheets(package)["Inputs"])}, "Inputs")
    type_in(package, "Inputs", {f"{column}{rows[name]}": value for column in columns for name, value in values.items()})
    package.write(path)


Edit = Callable[[openpyxl.Workbook], None]


def edit(path: Path, change: Edit) -> None:
    """A person's work in a program that loads a workbook, calculates and saves."""
    book = openpyxl.load_workbook(path)
    change(book)
    save(book, path)


def save(book: openpyxl.Workbook, path: Path) -> None:
    """Save a workbook as such a program does, with the values of its formulas."""
    book.save(path)
    resave(path)


def resave(path: Path) -> Package:
    """Save the workbook at `path` as a program that calculates does."""
    package = Package.read(path)
    read_once.recalculate_once(package)
    package.write(path)
    return package


def row_of(book: openpyxl.Workbook | SheetsOf, sheet: str, name: str) -> int:
    """The row of a machine name."""
    return next(row for row in range(1, book[sheet].max_row + 1) if book[sheet].cell(row, 3).value == name)


def copy_scenario(path: Path, source: int, target: int, values: Mapping[str, object]) -> None:
    """Copy a scenario's column as the Cover says, then type its id, model, chip and inputs."""
    book = openpyxl.load_workbook(path)
    copy_scenario_of(book, source, target, values)
    book.save(path)


def copy_scenario_of(
    book: openpyxl.Workbook, source: int, target: int, values: Mapping[str, object],
    calculated: Iterable[str] = CALCULATION_SHEETS,
) -> None:  # fmt: skip
    """The same in a workbook that is open."""
    for name in ("Inputs", *calculated, "Constraints", "Checks", "Dashboard"):
        if name not in book.sheetnames:
            continue
        sheet = book[name]
        for row in range(1, sheet.max_row + 1):
            cell = sheet.cell(row=row, column=source)
            moved = sheet.cell(row=row, column=target)
            moved.value = cell.value
            moved._style = copy(cell._style)
            if cell.data_type == "f":
                moved.value = Translator(cell.value, cell.coordinate).translate_formula(moved.coordinate)
    inputs = book["Inputs"]
    rows = {inputs.cell(row=row, column=layout.NAME).value: row for row in range(1, inputs.max_row + 1)}
    for name, value in values.items():
        inputs.cell(row=rows[name], column=target).value = value
