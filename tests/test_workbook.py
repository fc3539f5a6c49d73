"""The built workbook: every calculated number a live formula, cached, and the same in LibreOffice and in arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

from planner import catalog
from planner.recalc import recalculate
from planner.workbook import layout
from planner.xlsx.cellvalue import CellError
from planner.xlsx.opc import Package
from planner.xlsx.parts import parse_sheets
from tests.libreoffice import needs_libreoffice, recalculated
from tests.workbooks import agree, by_name, cached, copy_scenario, differences, write_plan

FIRST = layout.FIRST_SCENARIO


@pytest.fixture(scope="session")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default workbook, built once; tests that edit it take a copy."""
    path = tmp_path_factory.mktemp("default") / "plan.xlsx"
    write_plan(path)
    return path


def formulas(path: Path) -> dict[tuple[str, str], object]:
    """The cached value of every formula cell."""
    sheets = parse_sheets(Package.read(path))
    return {(name, ref): cell.value for name, sheet in sheets.items() for ref, cell in sheet.cells.items()
            if cell.formula is not None}  # fmt: skip


def test_over_a_thousand_formulas_all_cached(default: Path) -> None:
    """The default workbook has over a thousand formulas, each with a cached value, and no error but #N/A."""
    values = formulas(default)
    assert len(values) > 1000
    assert all(value is not None for value in values.values())
    assert {value.code for value in values.values() if isinstance(value, CellError)} <= {"#N/A"}


def test_calculation_sheets_hold_no_typed_number(default: Path) -> None:
    """Every scenario cell of a calculation sheet is a formula: nothing calculated is typed."""
    book = openpyxl.load_workbook(default)
    for name in ("Transformer", "Inference", "Checks"):
        for row in book[name].iter_rows(min_row=layout.FIRST_ROW, min_col=FIRST):
            typed = [cell.coordinate for cell in row if cell.value is not None and cell.data_type != "f"]
            assert typed == [], f"{name}: {typed}"


def test_sheets_are_the_designs(default: Path) -> None:
    """The sheets stand in the design's order."""
    assert openpyxl.load_workbook(default, read_only=True).sheetnames == [
        "Cover", "Dashboard", "Inputs", "Models", "Hardware", "Dtypes", "Transformer", "Inference", "Operations",
        "Roofline", "Comparison", "Checks", "Log",
    ]  # fmt: skip


@needs_libreoffice
def test_libreoffice_agrees_on_every_cell(default: Path, tmp_path: Path) -> None:
    """LibreOffice, made to recalculate, computes every formula to the cached value within 1e-9."""
    computed = recalculated(default, tmp_path)
    wrong = [
        f"{sheet}!{ref}: cached {value}, LibreOffice {computed[sheet].get(ref)}"
        for (sheet, ref), value in formulas(default).items()
        if not agree(computed[sheet].get(ref), None if isinstance(value, CellError) else value)
        and not (value == "" and computed[sheet].get(ref) in (None, ""))
    ]
    assert wrong == []


def edited(default: Path, tmp_path: Path) -> tuple[Path, list[tuple[int, str, str, dict[str, object]]]]:
    """The default workbook after an analyst changed model, chip, batch, context and dtypes of one scenario."""
    path = tmp_path / "edited.xlsx"
    package = Package.read(default)
    part = package.sheets()["Inputs"]
    rows = by_name(cached(default), "Inputs")
    typed = {"model_id": "mixtral-8x7b", "hardware_id": "tpu-v5p", "batch": 7, "context_len": 4096, "n_chips": 4,
             "weight_dtype": "int8", "kv_dtype": "fp8", "compute_dtype": "int8", "hbm_bandwidth": 2.5e12}  # fmt: skip
    sheet = parse_sheets(package)["Inputs"]
    package.replace(part, sheet.with_values({f"F{rows[name]}": value for name, value in typed.items()}))
    package.write(path)
    values = {name: value for name, value in typed.items() if not name.endswith("_id")}
    return path, [(FIRST, "mixtral-8x7b", "tpu-v5p", values)]


def test_recalc_follows_changed_inputs(default: Path, tmp_path: Path) -> None:
    """After changes on Inputs, planner recalc gives what the array functions give."""
    path, scenarios = edited(default, tmp_path)
    package = Package.read(path)
    recalculate(package)
    package.write(path)
    assert list(differences(cached(path), scenarios)) == []


@needs_libreoffice
def test_libreoffice_follows_changed_inputs(default: Path, tmp_path: Path) -> None:
    """After changes on Inputs, LibreOffice gives what the array functions give."""
    path, scenarios = edited(default, tmp_path)
    assert list(differences(recalculated(path, tmp_path), scenarios)) == []


@needs_libreoffice
def test_a_copied_column_is_a_scenario(default: Path, tmp_path: Path) -> None:
    """A scenario column copied one to the right, with a chip that lacks numbers, is a scenario like the others."""
    path = tmp_path / "copied.xlsx"
    path.write_bytes(default.read_bytes())
    values = {"scenario_id": "mine", "model_id": "deepseek-v3", "hardware_id": "tpu-v4i", "batch": 64}
    copy_scenario(path, FIRST + 2, FIRST + 3, values)
    kept = {"n_chips": 8, "batch": 64, "context_len": 8192}
    scenarios = [(FIRST + 3, "deepseek-v3", "tpu-v4i", kept)]
    assert list(differences(recalculated(path, tmp_path), scenarios)) == []
    package = Package.read(path)
    recalculate(package)
    package.write(path)
    assert list(differences(cached(path), scenarios)) == []


def test_a_blank_input_is_missing_and_not_zero(default: Path, tmp_path: Path) -> None:
    """An input that an analyst empties makes what depends on it N/A, and Checks counts it."""
    path = tmp_path / "blank.xlsx"
    package = Package.read(default)
    rows = by_name(cached(default), "Inputs")
    sheet = parse_sheets(package)["Inputs"]
    package.replace(package.sheets()["Inputs"], sheet.with_values({f"F{rows['batch']}": None}))
    recalculate(package)
    package.write(path)
    grid = cached(path)
    assert isinstance(grid["Inference"][f"F{by_name(grid, 'Inference')['decode_step_time']}"], CellError)
    assert grid["Checks"][f"F{by_name(grid, 'Checks')['missing.inference.batch']}"] == 1


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    """Two builds with one SOURCE_DATE_EPOCH are equal to the byte, under another folder, zone and hash seed."""
    outputs = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {"SOURCE_DATE_EPOCH": "1700000000", "PYTHONHASHSEED": seed, "TZ": zone, "PATH": ""}
        subprocess.run([sys.executable, "-m", "planner", "build"], cwd=folder, env=environment, check=True)
        outputs.append((folder / "plan.xlsx").read_bytes())
    assert outputs[0] == outputs[1]


def chunks() -> list[tuple[int, int]]:
    """Slices of the model table that make workbooks of a few hundred scenarios."""
    count = len(catalog.load_models().ids())
    return [(first, min(first + 7, count)) for first in range(0, count, 7)]


@pytest.mark.slow
@pytest.mark.parametrize(("first", "last"), chunks())
def test_every_model_on_every_chip(first: int, last: int, tmp_path: Path) -> None:
    """For every model on every chip the workbook's cached values are the array functions' values."""
    models, chips = catalog.load_models().ids()[first:last], catalog.load_hardware().ids()
    path = tmp_path / "many.xlsx"
    plan = write_plan(path, models, chips, n_chips=8, batch=32)
    scenarios = [(column, str(each.model), str(each.hardware), dict(each.values))
                 for column, each in zip(plan.columns, plan.scenarios, strict=True)]  # fmt: skip
    assert list(differences(cached(path), scenarios)) == []


@pytest.mark.slow
@needs_libreoffice
@pytest.mark.parametrize("first", [0, 30, 60])
def test_libreoffice_on_many_models_and_chips(first: int, tmp_path: Path) -> None:
    """On models and chips of every kind LibreOffice computes what the array functions compute."""
    models, chips = catalog.load_models().ids()[first : first + 30 : 3], catalog.load_hardware().ids()[::2]
    path = tmp_path / "many.xlsx"
    plan = write_plan(path, models, chips, n_chips=8, batch=32)
    scenarios = [(column, str(each.model), str(each.hardware), dict(each.values))
                 for column, each in zip(plan.columns, plan.scenarios, strict=True)]  # fmt: skip
    assert list(differences(recalculated(path, tmp_path), scenarios)) == []
