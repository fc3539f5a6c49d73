"""Calibrations and stacks: the long CSV as a table, a person's own parameters, and which databases a command reads."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from planner import data
from planner.catalog import load_calibrations, load_hardware, load_models, load_stacks
from planner.catalog.calibrations import BY_NAME, COMMON, PARAMETERS, calibration_origins
from planner.catalog.databases import Databases
from planner.errors import UserError
from tests.commands import refused, run

SHIPPED = data.folder("hardware_db") / "calibrations.csv"
MATMUL = ["--set", "tokens=512", "--set", "d_in=512", "--set", "d_out=512"]
STEP = ["calc", "training", "-m", "llama3-8b", "-H", "h100-sxm", "--json", "--get", "step_time_expected"]


def calc(*words: object) -> dict[str, float]:
    """What `planner calc --json` prints."""
    done = run(*words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def own(folder: Path, *lines: str, header: str = "calibration,parameter,value") -> Path:
    """A CSV of calibrations of one's own."""
    path = folder / "mine.csv"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return path


def test_the_shipped_file_is_whole() -> None:
    """Each line has its parameter's unit and bounds, a value within them, and runs or a prior."""
    with SHIPPED.open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert {line["parameter"] for line in lines if line["calibration"] == COMMON} == BY_NAME.keys()
    for line in lines:
        parameter = BY_NAME[line["parameter"]]
        assert (line["unit"], float(line["lower"]), float(line["upper"])) == (
            parameter.unit, parameter.lower, parameter.upper
        )  # fmt: skip
        assert parameter.lower <= float(line["value"]) <= parameter.upper
        assert line["sources"]
        assert bool(line["rows"]) == bool(line["error"]) == (not line["sources"].startswith("prior: "))


def test_every_chip_has_a_calibration() -> None:
    """The calibration that each chip names is there, and its stack's parameters are numbers."""
    found = load_calibrations()
    assert {str(row["calibration"]) for row in load_hardware().rows.values()} <= found.rows.keys()
    assert all(row[each.name] is not None for row in found.rows.values() for each in PARAMETERS)
    assert {"default", "tuned", "unfused", "ideal"} <= load_stacks().rows.keys()


def test_ones_own_parameters_stand_before_ours(tmp_path: Path) -> None:
    """A line of one's own replaces ours, of that calibration alone; what it leaves open is as before."""
    path = own(tmp_path, "h100,train_matmul_efficiency,0.31", "mine,layer_overhead,1e-5")
    found, ours = load_calibrations(path), load_calibrations()
    assert found.rows["h100"]["train_matmul_efficiency"] == 0.31
    assert found.rows["h100"]["recompute_cost"] == ours.rows["h100"]["recompute_cost"]
    assert found.rows["a100"] == ours.rows["a100"]
    assert found.rows["mine"]["layer_overhead"] == 1e-5
    assert found.rows["mine"]["recompute_cost"] == ours.rows[COMMON]["recompute_cost"]
    (slower,), (usual,) = calc(*STEP, "--calibrations", path).values(), calc(*STEP).values()
    assert slower > usual * 1.2


def test_the_source_of_a_replaced_calibration_says_whose_numbers_it_has(tmp_path: Path) -> None:
    """Of a shipped one it names the file and the numbers that the file has; of others it is as before."""
    ours = load_calibrations().sources
    lines = [f"h100,{name},0.5" for name in ("hbm_efficiency", "gemm_efficiency", "attention_speed", "fsdp_exposure")]
    found = load_calibrations(own(tmp_path, *lines, "mine,layer_overhead,1e-5")).sources
    named = "attention_speed, fsdp_exposure, gemm_efficiency and 1 more"
    assert found["h100"].startswith(f"yours from mine.csv: {named}; fitted on runs of ")
    assert found["h100"].count("mine.csv") == 1
    assert (found["mine"], found["a100"]) == ("mine.csv", ours["a100"])
    assert "yours" not in " ".join(ours.values())


def test_a_heading_is_true_of_a_calibration_of_ones_own(tmp_path: Path) -> None:
    """With one's own numbers the range isn't said to hold published runs."""
    path = own(tmp_path, "h100,train_matmul_efficiency,0.31")
    headings = [run(*STEP[:6], *more).stdout.splitlines()[1] for more in ((), ("--calibrations", path))]
    assert ["80 % of published runs" in each for each in headings] == [True, False]
    assert "80 % of runs" in headings[1]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("h100,train_matmul_eficiency,0.5", "line 2, column parameter: unknown parameter 'train_matmul_eficiency'"),
        ("h100,train_matmul_efficiency,1.5", "line 2, column value: train_matmul_efficiency of 1.5 is beyond"),
        ("h100,train_matmul_efficiency,half", "line 2, column value: 'half' is no number"),
        (",train_matmul_efficiency,0.5", "line 2, column calibration: the calibration has no name"),
        ("h100,layer_overhead,1e-5\nh100,layer_overhead,2e-5", "line 3: layer_overhead of h100 is there already"),
    ],
)  # fmt: skip
def test_what_a_line_cannot_say_is_refused(tmp_path: Path, line: str, wrong: str) -> None:
    """With the file, the line, the column and what to do."""
    with pytest.raises(UserError) as caught:
        load_calibrations(own(tmp_path, line))
    assert f"mine.csv, {wrong}" in str(caught.value)
    assert caught.value.remedy


def test_an_error_that_is_no_number_is_refused(tmp_path: Path) -> None:
    """What a page would say of a parameter is read with it."""
    path = own(tmp_path, "h100,layer_overhead,1e-5,n/a", header="calibration,parameter,value,error")
    with pytest.raises(UserError, match="column error: 'n/a' is no number"):
        load_calibrations(path)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (("S1,train_matmul_factor,0.5", "s1,train_matmul_factor,0.9"), "train_matmul_factor of s1 is there already"),
        ((",train_matmul_factor,0.7",), "the stack has no name"),
    ],
)
def test_a_stack_that_is_there_twice_or_has_no_name_is_refused(
    tmp_path: Path, lines: tuple[str, ...], wrong: str
) -> None:
    """The last of two does not quietly win."""
    with pytest.raises(UserError, match=wrong):
        load_stacks(own(tmp_path, *lines))


def test_ones_own_file_may_have_the_shipped_ones_name(tmp_path: Path) -> None:
    """A calibration of one's own takes the medians of its kind, whatever the file is called; each has its digest."""
    mine = own(tmp_path, "tpuv9,train_matmul_efficiency,0.6")
    alike = mine.with_name("calibrations.csv")
    alike.write_bytes(mine.read_bytes())
    one, other = (load_calibrations(path) for path in (mine, alike))
    assert {**one.rows["tpuv9"], "source": ""} == {**other.rows["tpuv9"], "source": ""}
    assert one.digests[mine.name] == other.digests["your calibrations.csv"]
    assert one.digests["calibrations.csv"] == other.digests["calibrations.csv"]


def test_a_wrong_unit_is_refused(tmp_path: Path) -> None:
    """Milliseconds are not taken for seconds."""
    path = own(tmp_path, "h100,layer_overhead,0.01,ms", header="calibration,parameter,value,unit")
    with pytest.raises(UserError, match="layer_overhead is in s, not ms"):
        load_calibrations(path)


def test_alone_a_file_needs_what_stands_for_the_rest(tmp_path: Path) -> None:
    """With --only nothing of ours fills the gaps."""
    with pytest.raises(UserError, match="there is no calibration 'any'"):
        load_calibrations(own(tmp_path, "h100,layer_overhead,1e-5"), only=True)


def test_own_rows_stand_before_the_shipped_ones(tmp_path: Path) -> None:
    """A CSV of models adds its rows, and goes before a shipped one of the same id; with `only` it stands alone."""
    path = tmp_path / "models.csv"
    path.write_text(
        "id,n_layers,d_model,n_heads,n_kv_heads,head_dim,d_ff,vocab\ngpt2,2,64,4,4,16,128,100\nmine,2,64,4,4,16,128,100\n"
    )
    beside, alone = Databases(models_csv=path), Databases(models_csv=path, only=True)
    assert list(alone.models.rows) == ["gpt2", "mine"]
    assert list(beside.models.rows)[:2] == ["gpt2", "mine"]
    assert len(beside.models.rows) == len(load_models().rows) + 1
    assert beside.models.rows["gpt2"]["n_layers"] == 2
    assert beside.models.sources["gpt2"] == "models.csv, line 2"
    assert beside.models.identify("Llama-3-8B") == "llama3-8b"
    assert beside.own == {"models"}


def test_an_ideal_stack_is_the_bound() -> None:
    """Nothing else is: with `stack=ideal` the expected step is its lower bound, and an unknown stack is refused."""
    words = [*STEP, "step_time_lower_bound", "--set", "stack=ideal"]
    assert len(set(calc(*words).values())) == 1
    done = refused(*STEP, "--set", "stack=idael")
    assert 'no stack "idael"' in done
    assert "ideal" in done


def test_what_is_left_open_is_as_the_chips_kind_has_it(tmp_path: Path) -> None:
    """A calibration of one's own whose name begins with tpu leaves open what TPUs have, with their wider range."""
    found = load_calibrations(own(tmp_path, "tpu-mine,fsdp_exposure,0.9", "zeta,fsdp_exposure,0.9"))
    for name, kind in (("tpu-mine", "tpu"), ("zeta", "gpu")):
        mine, theirs = found.rows[name], found.rows[kind]
        assert mine["fsdp_exposure"] == 0.9
        assert {key for key in mine if mine[key] != theirs[key]} <= {"fsdp_exposure", "source"}


def test_an_origin_names_the_calibration_that_states_a_number(tmp_path: Path) -> None:
    """Of one's own calibration: its own line, and for what it leaves open the line of its chip's kind, not of `any`."""
    found = calibration_origins(own(tmp_path, "zeta,fsdp_exposure,0.9"))
    assert found["zeta", "fsdp_exposure"] == "zeta in mine.csv: line 2"
    assert found["zeta", "train_dense_low"].startswith("gpu in calibrations.csv: ")


def test_an_unknown_calibration_is_said_once(tmp_path: Path) -> None:
    """A chip that names a calibration which isn't there: one line, and not one for each of its parameters."""
    chips = tmp_path / "chips.csv"
    chips.write_text("id,calibration,peak_bf16,hbm_bandwidth,hbm_bytes\nmine,zeta,1e15,3e12,8e10\n", encoding="utf-8")
    found = run("calc", "matmul", "-H", "mine", "--hardware-csv", chips, *MATMUL)
    assert found.output.count("there is no calibration 'zeta'") == 1, found.output


def test_a_chip_that_nobody_measured_has_a_wider_range() -> None:
    """Of each kind of run, for training and for serving: wider than a chip's with runs."""
    rows = load_calibrations().rows
    for kind in ("train_dense", "tpot_dense", "prefill_dense", "static_dense", "decode_dense"):
        unseen, seen = (rows[name] for name in ("gpu", "h100"))
        assert float(unseen[f"{kind}_low"] or 0) < float(seen[f"{kind}_low"] or 0), kind
        assert float(unseen[f"{kind}_high"] or 0) > float(seen[f"{kind}_high"] or 0), kind
