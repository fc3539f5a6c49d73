"""`planner export-inputs` and `planner build --scenarios`: there and back, the same inputs and the same results."""

from __future__ import annotations

import csv
import io
import random
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import catalog
from planner.book.plan import Plan
from planner.book.read_plan import read_plan
from planner.catalog.databases import Databases
from planner.csvfile import guarded, unguarded
from planner.formulas import library
from planner.formulas.input_values import is_share, is_whole, limits
from planner.scenario.export import export
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.workbook.workloads import DEFAULT_TEMPLATES
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.workbook_part import parse_sheets
from tests.commands import command, refused, run
from tests.seeded import SERVE
from tests.short_data import of_few_rows
from tests.workbooks import build_small, by_name, cached, few_rows, type_in, write_small

pytestmark = pytest.mark.usefixtures("few_cases")
TEMPLATES = [word for name in DEFAULT_TEMPLATES for word in ("--template", name)]


def said(plan: Plan) -> dict[str, object]:
    """All that a plan says of its scenarios: what is typed, and every result."""
    typed = [*plan.inputs, *(row for row in plan.overrides if any(not cell.is_blank for cell in row.cells.values()))]
    rows = [*typed, *plan.headlines, *plan.checks, *(row for rows in plan.tables.values() for row in rows)]
    found: dict[str, object] = {
        f"{row.sheet} {row.name or row.label} {key}": shown(cell.value)
        for row in rows
        for key, cell in row.cells.items()
    }
    return found | {each.id: (each.name, each.model, each.hardware) for each in plan.scenarios}


def shown(value: Value) -> str:
    """A value to compare: a blank input and a typed N/A are both missing."""
    return "missing" if value in (None, "") or str(value).startswith("#") else str(value)


def random_csv(seed: int, templates: Sequence[str]) -> str:
    """Scenarios with random models, chips, names, inputs and overrides, N/A among them."""
    pick = random.Random(seed)
    rows = [row for name in templates for row in library.load(name).rows if row.unit != "text"]
    inputs = {row.name: row for row in rows if row.kind == "input"}
    others = {row.name: row for row in rows if row.kind in ("model", "hardware", "calc", "output")}
    columns = {**dict(pick.sample(sorted(inputs.items()), 5)), **dict(pick.sample(sorted(others.items()), 4))}
    models, chips = list(catalog.load_models().rows), list(catalog.load_hardware().rows)
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["scenario", "name", "model", "hardware", "kv_dtype", *columns])
    names: set[str] = set()
    for number in range(pick.randint(1, 3)):
        values: list[str] = []
        for row in columns.values():
            value = (
                pick.uniform(0.1, 1)
                if is_share(row)
                else pick.uniform(1, 1e6)
                if not is_whole(row)
                else pick.randint(1, 64)
            )
            allowed = limits(row)
            if allowed.is_flag or allowed.is_stage:
                value = pick.randint(0, 1 if allowed.is_flag else int(allowed.most))
            text = repr(value)
            values.append(pick.choice([text, text, text, "", "N/A"]))
        name = pick.choice(["", "=1+1", "'quoted", "-3", 'with "quotes", commas', "größer"])
        name = "" if name in names else name  # two of one name are refused
        names.add(name)
        dtype = pick.choice(["", "int8", "fp8"])
        writer.writerow([f"s{number}", guarded(name), pick.choice(models), pick.choice(chips), dtype, *values])
    return stream.getvalue()


@pytest.mark.parametrize(
    ("seed", "templates"),
    [(1, ["inference"]), *(pytest.param(seed, DEFAULT_TEMPLATES, marks=pytest.mark.slow) for seed in (1, 2, 3))],
)
def test_there_and_back(tmp_path: Path, seed: int, templates: Sequence[str]) -> None:
    """A workbook built of what was exported says the same of every scenario: inputs, overrides and every result."""
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    one, other = tmp_path / "one.xlsx", tmp_path / "other.xlsx"
    with of_few_rows() if templates == ["inference"] else nullcontext():  # slow: of every model and chip
        first.write_text(random_csv(seed, templates), encoding="utf-8")
        one.write_bytes(build_small(plan_of((), (), templates, first, ())))
        command("export-inputs", one, "-o", second)
        other.write_bytes(build_small(plan_of((), (), templates, second, ())))
    before, after = said(read_plan(one)), said(read_plan(other))
    assert {key: (before.get(key), after.get(key)) for key in before.keys() | after.keys()
            if before.get(key) != after.get(key)} == {}  # fmt: skip


def test_what_an_analyst_did_is_exported_or_named(tmp_path: Path) -> None:
    """The edited golden workbook: its inputs and overrides, a number typed over a formula as an override of its row."""
    path = Path(__file__).parent / "golden" / "edited.xlsx"
    done = run("export-inputs", path, "-o", tmp_path / "s.csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader((tmp_path / "s.csv").open(encoding="utf-8")))
    assert [row["scenario"] for row in rows] == [each.id for each in read_plan(path).scenarios]
    assert rows[0]["name"] == "Sixteen v5e, int8"
    assert rows[0]["batch"] == "64"
    assert rows[0]["hbm_bandwidth"] == "760000000000"
    assert rows[1]["generate_time"] == "20"
    assert rows[2]["hbm_bandwidth"] == rows[0]["generate_time"] == ""
    assert "20 is typed over a formula: an override" in done.output


def test_a_text_over_a_number_is_named_and_not_exported(tmp_path: Path) -> None:
    """What `planner build` could not read as a number is left out of the CSV, and said."""
    package = Package.read(Path(__file__).parent / "golden" / "edited.xlsx")
    (entry,) = (row.cells["llama3_70b_on_tpu_v6e"] for row in read_plan(package).tables["Inference"]
                if row.name == "generate_time")  # fmt: skip
    type_in(package, "Inference", {entry.spot.ref: "see mail"})
    path = tmp_path / "plan.xlsx"
    package.write(path)
    done = run("export-inputs", path, "-o", tmp_path / "s.csv")
    assert done.exit_code == 0, done.output
    assert f"{entry.spot} (generate_time): 'see mail' is no number; not exported" in done.output
    assert "see mail" not in (tmp_path / "s.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("1\N{NO-BREAK SPACE}000", "the text '1 000' is no number; type a number there, without separators"),
        ("16 ", "the text '16', with a blank before or after it, is no number; type a number there"),
        (" ", "nothing but blanks is typed there, which a formula reads as a text; type a number there"),
        (True, "TRUE is no number; type another value there"),
        (-4.0, "-4 is out of range: a number above 0 is wanted; type another value there"),
    ],
)
def test_what_a_build_would_refuse_in_an_input_is_named(tmp_path: Path, typed: Value, said: str) -> None:
    """As a person sees it in the cell, with what to do; nothing is written."""
    package = Package.read(Path(__file__).parent / "golden" / "edited.xlsx")
    (spot,) = (row.cells["llama3_70b_on_tpu_v6e"].spot for row in read_plan(package).inputs if row.name == "batch")
    type_in(package, "Inputs", {spot.ref: typed})
    package.write(tmp_path / "plan.xlsx")
    line = refused("export-inputs", tmp_path / "plan.xlsx", "-o", tmp_path / "s.csv")
    assert f"{spot} (batch): {said}" in line
    assert not (tmp_path / "s.csv").exists()


def test_a_folder_that_is_missing_is_named_with_the_file_that_was_asked_for(tmp_path: Path) -> None:
    """Not with one that is written beside it, of the workbook's own models."""
    own, path = tmp_path / "mine.csv", tmp_path / "plan.xlsx"
    own.write_text(
        "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,source\nmine,2,64,96,4,2,16,99,a sketch\n"
    )
    with of_few_rows(("llama3-8b",), ("tpu-v5e",)):
        path.write_bytes(build_small(plan_of(["mine"], ["tpu-v5e"], ["transformer"], None, (), Databases(own))))
    asked = tmp_path / "none" / "s.csv"
    assert f"{asked}: the file can't be written: there is no folder" in refused("export-inputs", path, "-o", asked)


def test_an_input_whose_name_was_damaged_is_said_to_be_left_out(tmp_path: Path) -> None:
    """A row whose name no template has any more is one's own, and the input of that name is not in the CSV."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["transformer"], context_len=8)
    assert export(read_plan(path)).remarks == []
    package = Package.read(path)
    row = by_name(cached(path), "Inputs")["context_len"]
    type_in(package, "Inputs", {f"C{row}": "contekst_len"})
    exported = export(read_plan(package))
    assert "context_len" not in exported.header
    assert exported.remarks == [
        "contekst_len is a row of yours on Inputs: no template reads it",
        "context_len has no row on Inputs: it is not in the file, and takes its default, 8192",
    ]


def test_changes_to_the_databases_and_constants(tmp_path: Path) -> None:
    """A number of the workbook's own databases is an override; a model of its own and a constant are named."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"])
    package = Package.read(path)
    reading = read_plan(package)
    sheets, parts = parse_sheets(package), package.sheets()
    chips = reading.book.databases["hardware"]
    row = next(row for row in range(6, 99) if chips.sheet.text(row, 1) == "tpu-v5e")
    column = chips.columns["hbm_bytes"]
    constant = next(row for row in reading.constants if row.name == "seconds_per_hour").cells[""].spot
    model = next(iter(reading.book.inputs.columns))
    from planner.xlsx.address import address

    typed = {"Hardware": {address(row, column): 2e10}, "Inputs": {constant.ref: 3599.0, address(6, model): "my-model"}}
    for sheet, values in typed.items():
        package.replace(parts[sheet], with_values(sheets[sheet], values))
    exported = export(read_plan(package))
    record = dict(zip(exported.header, exported.rows[0], strict=True))
    assert record["hbm_bytes"] == "20000000000"
    assert record["model"] == "my-model"
    said_of = " / ".join(exported.remarks)
    assert "my-model stands in this workbook alone: build with --models and its row" in said_of
    assert "the constant seconds_per_hour is 3599, not 3600; not exported" in said_of


LAYER = """name,label,unit,kind,formula,source,note
stack,Software stack,text,input,default,stacks.csv,
chip_calibration,Calibration of the chip,text,hardware,calibration,accelerators.csv,
fitted_for,Calibration that the stack has one of its own for,text,stack,fitted_for[stack],stacks.csv,
calibration_id,Calibration that counts,text,calc,"IF(fitted_for=chip_calibration,stack,chip_calibration)",test,
hbm_bandwidth,HBM bandwidth,byte/s/chip,hardware,hbm_bandwidth,accelerators.csv,
hbm_efficiency,Reached share of it,1,calibration,hbm_efficiency[calibration_id],calibrations.csv,
layer_overhead,Overhead of a layer,s,calibration,layer_overhead[calibration_id],calibrations.csv,
serve_overhead_factor,Of the stack,1,stack,serve_overhead_factor[stack],stacks.csv,
reached_bandwidth,Bandwidth that is reached,byte/s/chip,output,hbm_efficiency*hbm_bandwidth,test,
stacked_overhead,Overhead with the stack's factor,s,output,layer_overhead*serve_overhead_factor,test,
"""  # a template of numbers of a stack and of its calibration


def test_the_printed_command_builds_what_has_a_stack_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calibration, by hand or with parameters of a fit, is written beside the CSV, so that the command as printed
    makes a workbook of the same numbers; of a shipped stack nothing is written or said.
    """
    own, path, again = tmp_path / "mine.csv", tmp_path / "plan.xlsx", tmp_path / "again.xlsx"
    fit = "mine,name,Ours,we\nmine,fitted_for,h100,we\nmine,layer_overhead,3e-5,we\nmine,hbm_efficiency,0.7,we\n"
    few, layer = few_rows(("llama3-8b",), ("h100-sxm",)), tmp_path / "layer.csv"
    layer.write_text(LAYER, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)  # the printed command finds a template of one's own beside the workbook
    tables = ("--models", few.models_csv, "--hardware-csv", few.hardware_csv)
    words = ("-H", "h100-sxm", *tables, "--template", layer, "-o", path, "--force")
    for lines in ("mine,serve_overhead_factor,1.1,we\n", fit):
        own.write_text(f"calibration,parameter,value,sources\n{lines}", encoding="utf-8")
        command("build", *words, "--calibrations", own, "--set", "stack=mine")
        done = command("export-inputs", path, "-o", tmp_path / "s.csv", "--force")
        assert f"Wrote {tmp_path / 's-calibrations.csv'}: the scenarios' stacks of your own." in done
        printed = next(line for line in done.splitlines() if line.startswith("planner build"))
        told = shlex.split(printed.partition(" makes a workbook")[0])[1:]
        command(*told, *tables, "-o", again, "--force")
        assert said(read_plan(again)) == said(read_plan(path))
    layer.rename(elsewhere / "layer.csv")  # or in the current folder
    assert " --template layer.csv" in command("export-inputs", path, "-o", tmp_path / "s.csv", "--force")
    moved = (elsewhere / "layer.csv").rename(tmp_path / "other.csv")
    lost = f"layer.csv is neither here nor beside {path}: write its folder before it"
    assert lost in command("export-inputs", path, "-o", tmp_path / "s.csv", "--force")
    moved.rename(layer)
    (tmp_path / "s-calibrations.csv").unlink()
    command("build", *words, "--set", "stack=tuned")
    assert "stack" not in command("export-inputs", path, "-o", tmp_path / "s.csv", "--force")
    assert not (tmp_path / "s-calibrations.csv").exists()


def test_the_command_says_how_to_build(tmp_path: Path) -> None:
    """The line for building names the templates where they are not the default ones, and - prints the CSV alone."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(
        build(plan_of(["llama3-8b"], (), ["transformer"], None, (), few_rows(("llama3-8b",), ("tpu-v5e",))))
    )
    done = run("export-inputs", path, "-o", tmp_path / "s.csv")
    assert (
        f"planner build --scenarios {tmp_path / 's.csv'} --template transformer makes a workbook of it." in done.output
    )
    printed = run("export-inputs", path, "-o", "-")
    assert printed.stdout == (tmp_path / "s.csv").read_text()
    refused("export-inputs", path, "-o", tmp_path / "s.csv")
    command("export-inputs", path, "-o", tmp_path / "s.csv", "--force")


@given(st.text(max_size=8))
def test_a_guarded_text_is_read_back(text: str) -> None:
    """No exported text begins like a formula, and each reads back as it was."""
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(("=", "+", "-", "@"))


def test_the_printed_command_builds_what_has_models_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed it makes a workbook of the same numbers, though no shipped table has the model or the chip."""
    models, chips, book = tmp_path / "m.csv", tmp_path / "c.csv", tmp_path / "own.xlsx"
    monkeypatch.chdir(tmp_path)
    Path("serve.csv").write_text(SERVE, encoding="utf-8")
    models.write_text("id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source\n"
                      "marten,2,256,1024,4,2,64,32000,true,true,\"Ours, a sketch\"\n")  # fmt: skip
    chips.write_text("id,kind,peak_bf16,hbm_bytes,hbm_bandwidth\nnext,gpu,4e15,288e9,1.25e13\n")
    words = ("--models", models, "--hardware-csv", chips, "--template", "serve.csv")
    with of_few_rows():
        assert run("build", "marten", "-H", "next", *words, "-o", book).exit_code == 0
        done = run("export-inputs", book, "-o", tmp_path / "mine.csv")
        command = next(line for line in done.output.splitlines() if line.startswith("planner build"))
        again = tmp_path / "again.xlsx"
        built = run(*shlex.split(command.partition(" makes a workbook")[0])[1:], "-o", again)
    assert built.exit_code == 0, built.output
    assert said(read_plan(again)) == said(read_plan(book))
    refused("export-inputs", book, "-o", tmp_path / "mine.csv")
    (tmp_path / "mine.csv").unlink()
    assert "mine-models.csv: the file exists" in refused("export-inputs", book, "-o", tmp_path / "mine.csv")
    assert not (tmp_path / "mine.csv").exists()
