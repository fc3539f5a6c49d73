"""What `planner validate` says of runs: expected values by hand, errors, units, faults, files of one's own."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from planner import data, progress
from planner.catalog.databases import Databases
from planner.formulas import library
from planner.validation.judged import validated
from planner.validation.left_out import left_out
from planner.validation.parameters import Group
from tests.commands import refusal
from tests.validations import HEADER, TRAINED, Planner, fixture_planner, line, rows_of  # noqa: F401

SERVED = "inference,llama3-8b,h100-sxm,n_chips=2 batch=16 prompt_len=1024 generate_len=256"


@pytest.fixture(scope="module")
def fitted() -> dict[str, float]:
    """The shipped parameters of an H100, its own before those of all chips, read without planner."""
    found: dict[str, float] = {}
    with (data.folder("hardware_db") / "calibrations.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for owner in ("any", "h100"):
        found |= {each["parameter"]: float(each["value"]) for each in lines if each["calibration"] == owner}
    return found


# Llama 3 8B and an H100, as their makers say.
LAYERS, WIDTH, FEED, HEADS, KV_HEADS, HEAD, VOCAB = 32, 4096, 14336, 32, 8, 128, 128256
PEAK, HBM, LINK = 989.4e12, 3350e9, 450e9
LAYER_MATRICES = WIDTH * HEADS * HEAD * 2 + WIDTH * KV_HEADS * HEAD * 2 + 3 * WIDTH * FEED
MOVED = (
    4 * WIDTH + 2 * HEADS * HEAD + 2 * KV_HEADS * HEAD + 3 * FEED
)  # elements of a token that a layer's matmuls pass on


def test_a_training_step_by_hand(planner: Planner, fitted: dict[str, float]) -> None:
    """Llama 3 8B over 8 ways of FSDP on H100s: matmuls, attention, activations and what FSDP does not hide, by hand."""
    tokens, length, chips, microbatches = 131072, 4096, 8, 2
    layers = 6 * tokens * LAYERS * LAYER_MATRICES
    matmuls = layers * (1 + fitted["recompute_cost"] / 3) / (chips * PEAK * fitted["train_matmul_efficiency"])
    matmuls *= 1 + fitted["matmul_ramp"] / min(WIDTH, tokens / chips / microbatches)
    head = 6 * tokens * WIDTH * VOCAB / (chips * PEAK * fitted["train_matmul_efficiency"])
    scores = 4 * WIDTH * (length / 2) * LAYERS * tokens  # forward, half of them masked
    attention = scores * (3.5 + 1) / (chips * PEAK * fitted["train_attention_efficiency"])
    passed = 4 * 2 * tokens * LAYERS * fitted["train_activation_passes"] * MOVED / (chips * HBM)
    weights = 2 * (LAYERS * (LAYER_MATRICES + 2 * WIDTH) + 2 * WIDTH * VOCAB + WIDTH)
    gathers = 3 * microbatches * weights * 7 / 8 / LINK * fitted["fsdp_exposure"]
    starts = 3 * microbatches * LAYERS * fitted["layer_overhead"]
    by_hand = matmuls + head + attention + passed + starts + gathers
    (row,) = rows_of(planner(line(), options=("--json",)))
    assert row["expected"] == pytest.approx(by_hand, rel=1e-9)
    assert row["low"] == pytest.approx(by_hand * fitted["train_dense_low"], rel=1e-9)
    assert row["high"] == pytest.approx(by_hand * fitted["train_dense_high"], rel=1e-9)


def serving_pass(fitted: dict[str, float], tokens: int, sequences: int) -> float:
    """Layers and head of a pass over 2 chips, by hand."""
    chips, read = 2, fitted["hbm_efficiency"]
    rows = max(tokens, 64)  # of a tile
    matmuls = 2 * LAYERS * LAYER_MATRICES * (rows + min(rows, fitted["matmul_ramp"]))
    best = chips * PEAK * fitted["serve_matmul_efficiency"]
    work = max(matmuls / best, 2 * LAYERS * LAYER_MATRICES / (chips * HBM * read))
    moved = fitted["serve_activation_passes"] * tokens * MOVED * LAYERS * 2 / (chips * HBM)
    reduced = 2 * tokens * WIDTH * 2 * (1 / 2) / LINK  # a reduce-scatter and an all-gather over two
    head = max(2 * sequences * WIDTH * VOCAB / best, WIDTH * VOCAB * 2 / (chips * HBM * read))
    return work + moved + fitted["serve_exposure"] * 2 * LAYERS * reduced + head


def served_by_hand(fitted: dict[str, float]) -> tuple[float, float, float]:
    """A decode step at the mean context, the prefill of one prompt and of the batch, of the plan SERVED."""
    batch, prompt, answer = 16, 1024, 256
    overhead = LAYERS * (fitted["layer_overhead"] + 2 * fitted["collective_overhead"])
    cache = batch * (prompt + answer / 2) * LAYERS * 2 * KV_HEADS * HEAD * 2 / (2 * HBM * fitted["hbm_efficiency"])
    attention = LAYERS * 4 * WIDTH * prompt * prompt / 2 / (2 * PEAK * fitted["serve_matmul_efficiency"])
    step = serving_pass(fitted, batch, batch) + cache + overhead
    one = serving_pass(fitted, prompt, 1) + attention + overhead
    return step, one, serving_pass(fitted, batch * prompt, batch) + batch * attention + overhead


def test_serving_by_hand(planner: Planner, fitted: dict[str, float]) -> None:
    """Llama 3 8B on two H100s: a static batch, the time of a token and tokens a second, by hand."""
    step, one, all_prompts = served_by_hand(fitted)
    found = rows_of(planner(
        line(SERVED, "static_batch_time_expected"), line(SERVED, "time_per_output_token_expected", name="b"),
        line(SERVED, "output_tokens_per_second_expected", "900", "tokens/s", "c"), options=("--json",),
    ))  # fmt: skip
    by_hand = [all_prompts + 256 * step, step + 15 * one / 256, 16 * 256 / (16 * one + 256 * step)]
    assert [row["expected"] for row in found] == pytest.approx(by_hand, rel=1e-9)


def test_the_error_of_a_rate_is_on_its_inverse(planner: Planner, fitted: dict[str, float]) -> None:
    """Tokens a second that are half of the expected took twice as long: an error of a half, a bias of a half."""
    step, one, _ = served_by_hand(fitted)
    rate = 16 * 256 / (16 * one + 256 * step)
    result = planner(
        line(SERVED, "output_tokens_per_second_expected", repr(rate / 2), "tokens/s"), options=("--json",)
    )  # fmt: skip
    (row,) = rows_of(result)
    kind = json.loads(result.stdout)["kinds"]["inference"]
    assert kind["median_error"] == pytest.approx(0.5)
    assert kind["bias"] == pytest.approx(0.5)
    assert row["low"] < row["expected"] < row["high"] <= row["bound"]


def test_few_runs_of_ones_own_are_told_one_by_one(planner: Planner) -> None:
    """Each has a line: measured, expected, its range, and how far that is off; the published ones have none."""
    said = planner(line(measured="3000", unit="ms", name="mine-7")).output
    told = r"^mine-7 +step_time_expected +3\.000 s +\S+ s +\S+ s to \S+ s +[+-]\d+ %$"
    assert re.search(told, said, re.MULTILINE), said


FAULTS = [
    (line(unit="parsec"), "unknown unit 'parsec'"), (line(unit="byte"), "byte is no unit of"),
    (line().replace("llama3-8b", "llama9"), 'no model "llama9"'),
    (line().replace("h100-sxm", "h999"), 'no accelerator "h999"'),
    (line(TRAINED.replace("mesh_fsdp", "mesh_fdsp")), "training has no row 'mesh_fdsp'"),
    (line(TRAINED.replace("mesh_fsdp=8", "mesh_fsdp")), "'mesh_fsdp' is not name=value"),
    (line(TRAINED + " step_flops=1"), "step_flops is calculated: no run sets it"),
    (line(TRAINED + " seq_len=64"), "seq_len is set twice"),
    (line(output="step_tme"), "training has no row 'step_tme'"), (line(output="seq_len"), "seq_len is no number"),
    (line().replace(",training,training,", ",training,trainings,"), "no template 'trainings'"),
    (line().replace("llama3-8b", ""), "it names no model"),
    (line().replace("h100-sxm", ""), "it names no hardware"),
    (line(TRAINED + " stack=magic"), 'no stack "magic"'),
    (line(TRAINED.replace("h100-sxm", "groq-lpu-v1")), "is not in the hardware table"),
]  # fmt: skip


def test_a_row_that_cannot_be_expected_says_why(planner: Planner) -> None:
    """It has nulls and its fault, counts as one without an answer, and the other rows have theirs."""
    lines = [changed.replace("a,", f"{at},", 1) for at, (changed, _) in enumerate(FAULTS)]
    result = planner(*lines, line(name="b"), options=("--json",))
    *bad, good = rows_of(result)
    for row, (changed, says) in zip(bad, FAULTS, strict=True):
        assert row["expected"] is None, changed
        assert row["low"] is None, changed
        assert says in row["fault"], changed
    assert good["expected"] > 0
    assert "fault" not in good
    kind = json.loads(result.stdout)["kinds"]["training"]
    assert (kind["n"], kind["n_na"]) == (1 + len(FAULTS), len(FAULTS))
    told = planner(*lines, line(name="b")).stdout
    assert f"Nothing is expected of {len(FAULTS)} runs:" in told
    assert [says for _, says in FAULTS if says not in told] == []


@pytest.mark.parametrize(
    ("lines", "header", "says"),
    [
        ([line(measured="fast")], HEADER, "line 2, column measured: 'fast' is no measured number above 0"),
        ([line(measured="0")], HEADER, "line 2, column measured"), ([line(measured="-1")], HEADER, "column measured"),
        ([line(), line()], HEADER, "line 3, column id: the id 'a' stands in line 2 already"),
        ([line(name="")], HEADER, "line 2, column id: the run has no id"),
        ([line()], HEADER.replace("measured", "mesured"), "column 'measured' is missing; did you mean mesured?"),
        ([line()], HEADER.replace("source", "origin"), "column 'source' is missing"),
        ([line() + ",1,2"], HEADER, "12 cells, but the header has 10 columns"),
        ([" "], HEADER, "there are no runs below the header"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_runs(planner: Planner, lines: list[str], header: str, says: str) -> None:
    """One line with the file, the line and the column, and exit code 2."""
    assert says in refusal(planner(*lines, header=header))


def test_a_file_that_is_not_there(planner: Planner) -> None:
    """A missing file is one line and exit code 2."""
    assert refusal(planner(options=("nowhere.csv",))).startswith("Error: nowhere.csv: ")


def test_fits_and_calibrations_of_ones_own_exclude_each_other(planner: Planner) -> None:
    """--leave-one-out with --calibrations is refused, since it fits its own."""
    Path("own.csv").write_text("calibration,parameter,value\nh100,recompute_cost,0.5\n", encoding="utf-8")
    said = refusal(planner(line(), options=("--leave-one-out", "--calibrations", "own.csv")))
    assert "own.csv: --leave-one-out fits calibrations of its own" in said


def test_other_columns_are_named_and_not_read(planner: Planner) -> None:
    """Columns that no run has are named in a warning; the rows are as without them."""
    result = planner(line() + ",7,x", header=HEADER + ",weather,note_of_mine", options=("--json",))
    assert "column not read: weather" in result.stderr
    (row,), (plain,) = rows_of(result), rows_of(planner(line(), options=("--json",)))
    assert row == plain
    assert "not read" not in planner(f"{line()},,", header=f"{HEADER},,").stderr  # as spreadsheets save cleared columns


def test_the_least_columns(planner: Planner) -> None:
    """Model, unit, fair, fit and assumes may be missing: a matmul needs no model, and its time is in seconds."""
    header = HEADER.replace("model,", "").replace("unit,", "")
    settings = "tokens=8192 d_in=8192 d_out=8192"
    (row,) = rows_of(
        planner(f"a,matmul,matmul,h100-sxm,{settings},expected_time,0.0015,me", header=header, options=("--json",))
    )
    assert row["bound"] == pytest.approx(2 * 8192**3 / PEAK, rel=1e-9)
    assert row["bound"] < row["expected"] < 2 * row["bound"]


def test_a_lookup_that_one_run_sets(planner: Planner, fitted: dict[str, float]) -> None:
    """A peak that one run sets, which hangs on its dtype, is that run's alone."""
    faster = line(TRAINED + f" peak_flops={2 * PEAK}", name="b")
    plain, doubled = rows_of(planner(line(), faster, options=("--json",)))
    (alone,) = rows_of(planner(line(), options=("--json",)))
    assert plain == alone
    saved = 6 * 131072 * LAYERS * LAYER_MATRICES * (1 + fitted["recompute_cost"] / 3) / 8
    saved += 6 * 131072 * WIDTH * VOCAB / 8
    least = saved / 2 / (PEAK * fitted["train_matmul_efficiency"])
    assert plain["expected"] - doubled["expected"] >= least * (1 - 1e-9)


def test_own_models_chips_and_calibrations(planner: Planner) -> None:
    """Rows of one's own stand before ours, and with --only in their place."""
    shipped = (data.folder("hardware_db") / "accelerators.csv").read_text(encoding="utf-8").splitlines()
    h100 = next(each for each in shipped if each.startswith("h100-sxm,"))
    Path("chips.csv").write_text(
        f"{shipped[0]}\n{h100.replace('h100-sxm', 'mine', 1).replace(',h100,', ',fast,', 1)}\n", encoding="utf-8"
    )
    models = (data.folder("model_db") / "models.csv").read_text(encoding="utf-8").splitlines()
    llama = next(each for each in models if each.startswith("llama3-8b,"))
    Path("models.csv").write_text(f"{models[0]}\n{llama.replace('llama3-8b', 'my-8b', 1)}\n", encoding="utf-8")
    Path("own.csv").write_text("calibration,parameter,value\nfast,fsdp_exposure,0\n", encoding="utf-8")
    own = ("--models", "models.csv", "--hardware-csv", "chips.csv")
    mine = line(TRAINED.replace("llama3-8b", "my-8b").replace("h100-sxm", "mine"), name="b")
    ours, theirs = rows_of(planner(line(), mine, options=("--json", *own, "--calibrations", "own.csv")))
    assert 0 < theirs["expected"] < math.inf
    assert theirs["bound"] == pytest.approx(ours["bound"], rel=1e-12)
    assert theirs["expected"] != ours["expected"]
    chips = Path("chips.csv").read_text(encoding="utf-8")
    Path("chips.csv").write_text(chips.replace(",fast,", ",h100,", 1), encoding="utf-8")
    alone, kept = rows_of(planner(line(), mine, options=("--json", *own, "--only")))
    assert 'no model "llama3-8b"' in alone["fault"]
    assert kept["expected"] is None or kept["expected"] > 0


def test_json_is_as_promised(planner: Planner) -> None:
    """Kinds and sources have the promised keys, fractions among them; rows are all, in the file's order; the same
    runs give the same text."""
    first, second = planner(options=("--json",)), planner(options=("--json",))
    assert first.stdout == second.stdout
    found = json.loads(first.stdout)
    keys = {
        "n",
        "n_na",
        "median_error",
        "p90_error",
        "median_error_bound",
        "median_error_null",
        "in_range",
        "range_width",
    }
    for group in ("kinds", "sources"):
        for each in found[group].values():
            assert keys <= set(each)
            assert 0 <= each["in_range"] <= 1
            assert 0 < each["median_error"] <= each["p90_error"] < 1.5
            assert each["n"] == 1 or each["median_error"] < each["p90_error"]
    assert set(found["kinds"]) == {"train", "static", "prefill", "decode", "tpot", "matmul", "collective"}
    assert sum(each["n"] for each in found["kinds"].values()) == 2156
    with (data.folder("hardware_db") / "published_runs.csv").open(encoding="utf-8") as file:
        runs = list(csv.DictReader(file))
    assert [row["id"] for row in found["rows"]] == [run["id"] for run in runs]
    assert [row["measured"] for row in found["rows"]] == pytest.approx([float(run["measured"]) for run in runs])


def test_a_published_run_alone_is_held_against_the_same(tmp_path: Path) -> None:
    """A copy of three runs, of as many templates, says of each what it says among all: the null model's number too."""
    text = (data.folder("hardware_db") / "published_runs.csv").read_text(encoding="utf-8")
    titles, *lines = csv.reader(text.splitlines())
    chosen = {cells[titles.index("template")]: cells for cells in reversed(lines)}
    path = tmp_path / "runs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([titles, *list(chosen.values())[:3]])
    among_all = {row.run.id: row for row in validated(None, Databases())}
    alone = validated(path, Databases())
    assert len(alone) == 3
    assert all(row.null is not None for row in alone)
    assert [among_all[row.run.id] for row in alone] == alone


def test_text_has_a_table_for_kinds_mixes_and_sources(planner: Planner) -> None:
    """The text has each kind, dense models and mixtures of experts apart, and each source."""
    told = planner().stdout
    for words in ("2,156 runs of the published runs", "train, mixture of experts", "mpt ", "collective ", "in range"):
        assert words in told
    assert "Nothing is expected" not in told


def test_ways_that_nobody_names_follow_the_chips(planner: Planner) -> None:
    """A run of 64 chips without a mesh has 64 FSDP ways, as calc and a workbook take it."""
    settings = "n_chips=64 batch_tokens=1048576 seq_len=4096"
    plain, named = rows_of(planner(
        line(f"training,llama3-8b,h100-sxm,{settings}"), line(f"training,llama3-8b,h100-sxm,{settings} mesh_fsdp=64",
        name="b"), options=("--json",),
    ))  # fmt: skip
    assert plain["expected"] == named["expected"]


def test_faults_are_told_by_line_and_column(planner: Planner) -> None:
    """As faults of other CSVs are: rows of one fault with all their lines; so for programs too."""
    wrong = line(output="step_tme", name="b")
    said = planner(line(), wrong, line(unit="parsec", name="c"), wrong.replace("b,", "d,", 1)).output
    assert "  b, d (lines 3, 5, column output): training has no row 'step_tme'; " in said
    assert "  c (line 4, column unit): unknown unit 'parsec'" in said
    columns = [
        ("template", line().replace(",training,training,", ",training,trainings,")),
        ("hardware", line().replace("h100-sxm", "h1000")), ("model", line().replace("llama3-8b", "")),
        ("settings", line(TRAINED + " n_chip=8")),
    ]  # fmt: skip
    lines = [changed.replace("a,", f"{column},", 1) for column, changed in columns]
    *bad, _ = rows_of(planner(*lines, line(name="z"), options=("--json",)))
    assert [(row["id"], row["line"]) for row in bad] == [(row["column"], at) for at, row in enumerate(bad, 2)]


def test_a_run_faster_than_its_bound_is_named(planner: Planner) -> None:
    """As one whose time is in another unit is; and where nothing can be expected of any run, that is a fault."""
    said = planner(line(measured="0.003"), line(name="b"))
    assert "Faster than its bound, which no published run is: a." in said.output
    nothing = planner(line("training,nosuch,h100-sxm,n_chips=8"))
    assert nothing.exit_code == 2
    assert 'nothing can be expected of any run; a: no model "nosuch"' in nothing.output
    assert nothing.output.startswith("Error: runs.csv, line 2, column model: ")


def test_a_template_of_ones_own_is_read_as_often_for_more_runs(
    planner: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many runs a CSV has, and whatever they set, the template that they share is read as often as for one."""
    rows = "name,label,unit,kind,formula,source,note\n.,Training,,include,training(),,\n"
    Path("mine.csv").write_text(f"{rows}two,Two,s,output,step_time_expected+step_time_expected,,\n", encoding="utf-8")
    read: list[Path] = []
    original = library.read_rows
    monkeypatch.setattr(library, "read_rows", lambda path: (read.append(path), original(path))[1])

    def readings(*names: str) -> int:
        read.clear()
        mine = TRAINED.replace("training", "mine.csv", 1)
        rows_of(planner(*(line(mine, "two", name=name) for name in names), options=("--json",)))
        return read.count(Path("mine.csv"))

    assert 0 < readings("a") == readings("a", "b", "c")


def test_each_fit_without_a_source_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What --leave-one-out is doing is said of each source, for it takes seconds in all."""
    told: list[str] = []
    monkeypatch.setattr(progress, "step", told.append)
    fitter = Mock(spec_set=["measured", "sources", "is_fitted", "expected", "fit", "parts"])
    fitter.sources, fitter.measured, fitter.is_fitted = np.array(["lab", "desk", "lab"]), np.ones(3), np.ones(3, bool)
    fitter.expected.return_value = np.ones(3)
    fitter.parts = [Mock(runs=[], is_moe=np.ones(3, bool))]
    left_out(Group("matmuls", ("matmul",)), fitter)
    assert told == ["fitting matmuls without source 1 of 2: lab", "fitting matmuls without source 2 of 2: desk"]
