"""The built workbook: every calculated number a live formula, cached, and the same in LibreOffice and in arrays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest

from planner import catalog
from planner.check.run import check
from planner.formulas import layer_ops
from planner.formulas.library import load
from planner.workbook import layout
from planner.workbook.book import build
from planner.workbook.build_plan import BuildPlan
from planner.workbook.cell_styles import COUNT, RATIO, SAID, YES_NO, number_format, row_format
from planner.workbook.checks_sheet import of_databases
from planner.workbook.scenarios import plan_of
from planner.workbook.wrapping import PER_WIDTH, lines_of
from planner.xlsx.address import coordinates
from planner.xlsx.cellvalue import CellError
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.libreoffice import disagreements, needs_libreoffice, recalculated
from tests.workbooks import (
    by_name,
    cached,
    copy_scenario,
    differences,
    few_rows,
    resave,
    sheet_of,
    typed_of,
    write_plan,
)

FIRST = layout.FIRST_SCENARIO
AS_SHOWN = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true"  # a CSV of what cells show
SERVING = ("transformer", "inference")
# Tori of three, two and one axes, switches of 8 and 72, a network that is neither, and none.
NETWORKS = ("tpu-v5p", "tpu-v5e", "trainium2", "h100-pcie", "h100-sxm", "gb200", "mi300x", "cpu-generic")
_NAMES = ("n_chips", "n_slices", "mesh_data", "mesh_fsdp", "mesh_tensor", "mesh_expert", "mesh_pipeline",
          "mesh_context", "n_microbatches", "slice_x", "slice_y", "slice_z", "zero_stage", "axes_overlap", "remat",
          "optimizer", "host_offload", "batch", "kv_head_sharding", "n_draft_tokens", "acceptance_rate")  # fmt: skip
MESHES = [
    dict(zip(_NAMES, values, strict=True))
    for values in (
        (1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 3, 1, "block", "adam", 0, 1, 0, 0, 0),
        (256, 1, 1, 32, 8, 1, 1, 1, 1, 16, 16, 1, 3, 1, "none", "adam_master", 0, 64, 0, 4, 0.8),
        (2048, 2, 2, 16, 4, 8, 1, 1, 1, 0, 1, 1, 2, 0, "matmuls", "muon", 0.5, 4096, 1, 2, 1),
        (64, 1, 1, 2, 2, 1, 4, 4, 8, 4, 4, 4, 1, 1, "mlp", "adam8bit", 0, 16, 1, 0, 0),
        (72, 1, 1, 9, 8, 1, 1, 1, 4, 0, 1, 1, 3, 0, "block", "sgd", 1, 7, 0, 1, 0.5),
    )
]


@pytest.fixture(scope="session")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default workbook, built once; tests that edit it take a copy."""
    return write_plan(tmp_path_factory.mktemp("default") / "plan.xlsx")


@pytest.fixture(scope="session")
def drawn(default: Path) -> openpyxl.Workbook:
    """What openpyxl reads of it, for those that only look."""
    return openpyxl.load_workbook(default)


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
    sheets = parse_sheets(Package.read(default))
    for name in ("Transformer", "Training", "Inference", "Collectives", "Checks"):
        cells = {coordinates(ref): cell for ref, cell in sheets[name].cells.items()}
        calculated = {at: cell for at, cell in cells.items() if at >= (layout.FIRST_ROW, 0) and at[1] >= FIRST}
        typed = [at for at, cell in calculated.items() if cell.value is not None and cell.formula is None]
        assert typed == [], f"{name}: {typed}"
        assert calculated


def test_sheets_are_the_designs(default: Path) -> None:
    """The sheets stand in the design's order."""
    assert list(Package.read(default).sheets()) == [
        "Cover", "Dashboard", "Inputs", "Models", "Hardware", "Dtypes", "Calibration", "Stacks", "Transformer",
        "Training", "Inference", "Collectives", "Constraints", "Operations", "Roofline", "Sweep", "Sensitivity",
            "Comparison", "Checks", "Log",
    ]  # fmt: skip


def test_long_names_of_scenarios_take_two_lines(drawn: openpyxl.Workbook) -> None:
    """On every sheet of scenarios their ids and names wrap in rows of two lines: one of 29 letters was cut."""
    looked = 0
    for sheet in drawn:
        if sheet.cell(layout.TITLE_ROW, layout.NAME).value == layout.HEADERS[layout.TITLE_ROW][0]:
            looked += 1
            for row in (layout.ID_ROW, layout.TITLE_ROW):
                assert sheet.cell(row, FIRST).alignment.wrap_text, sheet.title
                assert (sheet.row_dimensions[row].height or 0) >= 26, sheet.title
    assert looked >= 7


def test_longer_ids_are_shown_whole(tmp_path: Path) -> None:
    """Where an id of 78 letters is called up it wraps, in a row of all its lines: Roofline, Operations and Sensitivity
    showed the end of it alone."""
    shown = "a_plan_with_quite_a_longid" * 3
    (tmp_path / "long.csv").write_text(f"scenario,model,hardware\n{shown},llama3-8b,h100-sxm\n", encoding="utf-8")
    plan = plan_of((), (), ("inference",), tmp_path / "long.csv", (), few_rows(("llama3-8b",), ("h100-sxm",)))
    (tmp_path / "plan.xlsx").write_bytes(build(plan))
    book = openpyxl.load_workbook(tmp_path / "plan.xlsx", data_only=True)
    for name in ("Dashboard", "Inputs", "Inference", "Operations", "Roofline", "Sensitivity", "Checks"):
        sheet = book[name]
        called_up = [cell for row in sheet.iter_rows(max_row=12) for cell in row if cell.value == shown]
        assert called_up, name
        for cell in called_up:
            assert cell.alignment.wrap_text, sheet.title
            lines = lines_of(shown, int(sheet.column_dimensions[cell.column_letter].width * PER_WIDTH))
            assert (sheet.row_dimensions[cell.row].height or 15) >= 13 * lines, sheet.title


def test_a_range_has_room_on_cover(default: Path) -> None:
    """A scenario's row of Cover has three lines, which `13,239 tokens/s (8,563 to 18,521; bound 24,522)` takes."""
    sheet = sheet_of(default, "Cover")
    first = next(row for row in range(1, 20) if sheet.cell(row, 2).value == "Verdict") + 1
    assert (sheet.row_dimensions[first].height or 0) >= 39


def test_numbers_with_parts_are_not_shown_to_the_last_digit() -> None:
    """What an exponential or a quotient gives has decimals of its own; the experts that a batch touches had 13."""
    ops = layer_ops.load({"inference": load("inference")})
    rows = {row.name: row for row in (*ops.common, *ops.shared)}
    forms = [row_format(rows[name]) for name in ("step_experts", "tokens_per_expert", "step_tokens")]
    assert forms == [RATIO, RATIO, COUNT]
    powers = row_format(load("inference").row("decode_low")), row_format(load("collective").row("group_size"))
    assert powers == (RATIO, COUNT)


def test_a_yes_or_no_of_an_operation_says_so(default: Path) -> None:
    """Whether an attention is causal is yes or no for each operation, whichever row of the step it is from."""
    sheet = sheet_of(default, "Operations")
    (head,) = [cell for row in sheet.iter_rows() for cell in row if cell.value == "is_causal"]
    cells = [sheet.cell(head.row + step, head.column) for step in (1, 2)]
    assert [cell.number_format for cell in cells] == [YES_NO, YES_NO]


@pytest.mark.parametrize(("work", "pattern"), [(5.4e25, "0.000E+0"), (1.5e11, '#,##0.000,,," GFLOP"')])
def test_the_work_of_a_run_has_few_digits(work: float, pattern: str) -> None:
    """A run's FLOPs are said in powers of ten: in TFLOP they had fourteen digits, and ### in their column."""
    parts = [part.partition("]") for part in number_format("FLOP").split(";")]
    limits = [(float(limit.removeprefix("[>=")), form) for limit, _, form in parts if form]
    assert next(form for limit, form in limits if work >= limit).startswith(pattern)


def test_a_model_of_ones_own_needs_no_published_count() -> None:
    """Its parameters can't be checked against a published count, which is no missing number of the plan."""
    found = of_databases(load("transformer"))
    assert "n_params_published" in found
    assert found.isdisjoint(("n_layers", "vocab"))
    assert "max_context" not in of_databases(load("inference"))


@needs_libreoffice
def test_a_zero_is_shown_with_one_decimal(tmp_path: Path) -> None:
    """What people say has two to four digits, and a part of a step that takes no time is 0.0 and not 0.0000."""
    book = openpyxl.Workbook()
    for value in (0, 0.0486, 0.66984, 1.286, 33.65, 237.4):
        book.active.append([value])
        book.active.cell(book.active.max_row, 1).number_format = SAID
    book.save(tmp_path / "said.xlsx")
    command = ["soffice", f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}", "--headless", "--convert-to",
               AS_SHOWN, "--outdir", str(tmp_path), str(tmp_path / "said.xlsx")]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shown = (tmp_path / "said.csv").read_text().split()
    assert shown == ["0.0", "0.0486", "0.6698", "1.29", "33.65", "237"]


def test_what_looks_like_a_link_is_one(drawn: openpyxl.Workbook) -> None:
    """Every cell in the style of a link leads to a place in the workbook."""
    look = drawn._named_styles.names.index("plan_link")  # asked of every cell its style's name takes a second
    links = {(sheet.title, cell.coordinate): cell.hyperlink for sheet in drawn for row in sheet.iter_rows()
             for cell in row if cell.value is not None and cell._style.xfId == look}  # fmt: skip
    assert {sheet for sheet, _ in links} >= {"Cover", "Dashboard"}
    assert [at for at, link in links.items() if link is None] == []
    assert {link.location.partition("!")[0] for link in links.values()} <= set(drawn.sheetnames)


@needs_libreoffice
@pytest.mark.slow
def test_libreoffice_agrees_on_every_cell(default: Path, tmp_path: Path) -> None:
    """LibreOffice, made to recalculate, computes every formula to the cached value within 1e-9."""
    assert disagreements(default, tmp_path) == []


def edited(default: Path, tmp_path: Path) -> tuple[Path, list[tuple[int, str, str, dict[str, object]]]]:
    """The default workbook after an analyst changed model, chip, batch, context and dtypes of one scenario.

    The batch of the next one was emptied.
    """
    path = tmp_path / "edited.xlsx"
    package = Package.read(default)
    part = package.sheets()["Inputs"]
    rows = by_name(cached(default), "Inputs")
    typed = {"model_id": "mixtral-8x7b", "hardware_id": "tpu-v5p", "batch": 7, "context_len": 4096, "n_chips": 4,
             "weight_dtype": "int8", "kv_dtype": "fp8", "compute_dtype": "int8", "hbm_bandwidth": 2.5e12}  # fmt: skip
    sheet = parse_sheets(package)["Inputs"]
    cells = {f"F{rows[name]}": value for name, value in typed.items()} | {f"G{rows['batch']}": None}
    package.replace(part, with_values(sheet, cells))
    package.write(path)
    values = {"mesh_fsdp": 16} | {name: value for name, value in typed.items() if not name.endswith("_id")}
    return path, [(FIRST, "mixtral-8x7b", "tpu-v5p", values)]


def test_recalc_follows_changed_inputs(default: Path, tmp_path: Path) -> None:
    """After changes on Inputs, planner recalc gives what the array functions give.

    What depends on an input that was emptied is N/A, for it is missing and not 0, and Checks counts it.
    """
    path, scenarios = edited(default, tmp_path)
    resave(path)
    grid = cached(path)
    assert list(differences(grid, scenarios)) == []
    assert isinstance(grid["Inference"][f"G{by_name(grid, 'Inference')['decode_step_time']}"], CellError)
    assert grid["Checks"][f"G{by_name(grid, 'Checks')['missing.inference.batch']}"] == 1


@needs_libreoffice
@pytest.mark.slow
def test_libreoffice_follows_changed_inputs(default: Path, tmp_path: Path) -> None:
    """After changes on Inputs, LibreOffice gives what the array functions give."""
    path, scenarios = edited(default, tmp_path)
    assert list(differences(recalculated(path, tmp_path), scenarios)) == []


@needs_libreoffice
@pytest.mark.slow
def test_a_copied_column_is_a_scenario(default: Path, tmp_path: Path) -> None:
    """A scenario column copied one to the right, with a chip that lacks numbers, is a scenario like the others."""
    path = tmp_path / "copied.xlsx"
    path.write_bytes(default.read_bytes())
    values = {"scenario_id": "mine", "model_id": "deepseek-v3", "hardware_id": "tpu-v4i", "batch": 64}
    copy_scenario(path, FIRST + 2, FIRST + 4, values)
    kept = {"n_chips": 8, "batch": 64, "context_len": 8192, "kv_head_sharding": 1, "mesh_fsdp": 8}
    scenarios = [(FIRST + 4, "deepseek-v3", "tpu-v4i", kept)]
    assert list(differences(recalculated(path, tmp_path), scenarios)) == []
    resave(path)
    assert list(differences(cached(path), scenarios)) == []


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(catalog.load_models().rows), 7))
def test_every_model_on_a_third_of_the_chips(first: int, tmp_path: Path) -> None:
    """For every model on every third chip the workbook's cached values are the array functions' values.

    Every second workbook begins another third of the chips; all pairs would take a quarter of the time of all tests.
    One of twice the models would take the engine four times as long.
    """
    models = list(catalog.load_models().rows)[first : first + 7]
    chips = list(catalog.load_hardware().rows)[first // 14 % 3 :: 3]
    path = tmp_path / "many.xlsx"
    plan = plan_of(models, chips, SERVING, None, ["n_chips=8", "batch=32"])
    path.write_bytes(build(plan))  # too large to be kept for other tests
    assert list(differences(cached(path), typed_of(plan))) == []


@pytest.mark.slow
@needs_libreoffice
@pytest.mark.parametrize("part", [slice(24), slice(24, None)], ids=["wide", "rest"])
def test_libreoffice_on_many_models_and_chips(part: slice, tmp_path: Path) -> None:
    """On models and chips of every kind LibreOffice computes what the array functions compute, and what is cached.

    The first workbook has more than the 256 columns of old programs.
    """
    models, chips = list(catalog.load_models().rows)[::3][part], list(catalog.load_hardware().rows)[::6]
    path = tmp_path / "many.xlsx"
    plan = plan_of(models, chips, SERVING, None, ["n_chips=8", "batch=32"])
    path.write_bytes(build(plan))  # too large to be kept for other tests
    assert list(differences(cached(path), typed_of(plan))) == []
    assert list(differences(recalculated(path, tmp_path), typed_of(plan))) == []


def meshes(folder: Path, models: Sequence[str], chips: Sequence[str]) -> BuildPlan:
    """A plan of each model on each chip, each with the next of the meshes: training, serving and collectives."""
    rows = [",".join(("scenario", "model", "hardware", *MESHES[0]))]
    pairs = [(model, chip) for model in models for chip in chips]
    for at, (model, chip) in enumerate(pairs):
        rows.append(",".join((f"s{at}", model, chip, *(str(value) for value in MESHES[at % len(MESHES)].values()))))
    path = folder / "meshes.csv"
    path.write_text("\n".join(rows) + "\n")
    return plan_of((), (), (), path, ())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(catalog.load_models().rows), 14))
def test_every_model_on_a_spread_of_meshes(first: int, tmp_path: Path) -> None:
    """For every model, on chips of half of the networks and a spread of meshes, the cells are the array functions'
    values, and nothing is wrong in the workbook but plans that really fail."""
    plan = meshes(tmp_path, list(catalog.load_models().rows)[first : first + 14], NETWORKS[first // 14 % 2 :: 2])
    path = tmp_path / "meshes.xlsx"
    path.write_bytes(build(plan))
    assert list(differences(cached(path), typed_of(plan))) == []
    assert {finding.rule for finding in check(Package.read(path)).of("fault")} <= {32}


@pytest.mark.slow
@needs_libreoffice
@pytest.mark.parametrize("first", [0, 1, 2])
def test_libreoffice_on_a_spread_of_meshes(first: int, tmp_path: Path) -> None:
    """On every third model, with chips of every network and a spread of meshes, LibreOffice agrees with the arrays."""
    plan = meshes(tmp_path, list(catalog.load_models().rows)[first::9], NETWORKS[first::3])
    path = tmp_path / "meshes.xlsx"
    path.write_bytes(build(plan))
    assert list(differences(recalculated(path, tmp_path), typed_of(plan))) == []
