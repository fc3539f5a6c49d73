"""What Dashboard says the expected numbers of each scenario rest on."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from planner.catalog.databases import Databases
from planner.workbook.scenarios import plan_of
from tests.short_data import of_few_rows
from tests.workbooks import ROOT, build_small, by_name, cached, few_rows, of_scenarios

MODELS, CHIPS = ("llama3-8b", "deepseek-v3.2", "mixtral-8x7b"), ("h100-sxm", "l4", "tpu-v6e")
HEAD = "id,model,hardware,n_chips,stack,workload"
SIZES_OF = "id,model,hardware,workload,n_chips,context_len,prompt_len,generate_len,kv_head_sharding"
SIZES = f"""{SIZES_OF},n_draft_tokens,acceptance_rate
longer,llama3-8b,h100-sxm,inference,1,32768,8192,512,0,,
as_long,llama3-8b,h100-sxm,inference,1,32768,32000,512,0,,
uneven,llama3-8b,h100-sxm,training,96,,,,,,
even,llama3-8b,h100-sxm,training,128,,,,,,
shorter,llama3-8b,h100-sxm,inference,1,8192,8000,4000,0,,
copies,llama3-8b,tpu-v6e,inference,16,8192,8000,192,0,,
counted,llama3-8b,tpu-v6e,inference,16,8192,8000,192,1,,
drafts,llama3-8b,h100-sxm,inference,1,8192,8000,192,0,1,1
"""
UNLIKE, SHARED = "extrapolated: few or no fitted runs have", "memory shares the cache among"
SERVED = {
    "runs": ("llama3-8b,h100-sxm,1,,inference", "not beyond the fitted runs"),
    "bound": ("llama3-8b,h100-sxm,1,ideal,inference", "these are the bounds"),
    "many": ("llama3-8b,h100-sxm,4096,,inference", f"{UNLIKE} so many chips; {SHARED} 4,096 chips, times among 8"),
    "sparse": ("deepseek-v3.2,h100-sxm,16,,inference", f"{UNLIKE} sparse attention; {SHARED} 16 chips, times among 1"),
    "chip": ("llama3-8b,l4,1,,inference", "no or few runs of this chip: others' median"),
    "tpu": ("llama3-8b,tpu-v6e,8,,inference", "not beyond the fitted runs"),
    "trained": ("llama3-8b,h100-sxm,64,,training", "not beyond the fitted runs"),
    "trained_far": ("llama3-8b,h100-sxm,1048576,,training", "extrapolated: few or no fitted runs have so many chips"),
    "own": ("llama3-8b,h100-sxm,1,mine,inference", "as your own fit has them"),
    "own_untold": ("llama3-8b,h100-sxm,64,mine,training", "as shipped: your own fit has no run of such work"),
    "elsewhere": ("llama3-8b,tpu-v6e,8,mine,inference", "not beyond the fitted runs; mine is fitted for h100 alone"),
}
FEW_COLUMNS = """id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source
tiny,2,256,1024,4,2,64,32000,true,true,Our own sketch
"""
OWN = ("fitted_for,h100", "own_training,0", "hbm_efficiency,0.7")  # a stack that runs of serving on H100 moved


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The words of each scenario by its id."""
    folder = tmp_path_factory.mktemp("basis")
    mine, shipped = folder / "mine.csv", (ROOT / "hardware_db" / "calibrations.csv").read_text(encoding="utf-8")
    own = (f"mine,{line}{',' * (shipped.splitlines()[0].count(',') - 2)}" for line in OWN)
    mine.write_text(shipped + "\n".join([*own, ""]), encoding="utf-8")
    databases = replace(few_rows(MODELS, CHIPS), calibrations_csv=mine)
    plans = "\n".join([HEAD, *(f"{name},{line}" for name, (line, _) in SERVED.items())])
    grid = of_scenarios(folder, plans, ["inference", "training"], databases)
    at, values = by_name(grid, "Dashboard")["verdict.basis"], grid["Dashboard"]
    return {name: values[f"{column}{at}"] for name, column in zip(SERVED, "FGHIJKLMNOP", strict=True)}


@pytest.mark.parametrize("name", SERVED)
def test_dashboard_says_what_expected_numbers_rest_on(name: str, said: dict[str, object]) -> None:
    """Runs like the plan, the bounds, another chip's runs, what the plan has that no fitted run has, or whether a stack
    of one's own is fitted to runs of such work on such chips.
    """
    assert said[name] == SERVED[name][1]


def test_dashboard_says_which_sizes_contradict(tmp_path: Path) -> None:
    """A cache of 32,768 tokens for sequences of 8,192 + 512, and one of 8,192 for 8,000 + 4,000; 1,024 sequences over
    96 data ways, 10.67 each; eight KV heads over 16 chips, unless memory has their copies too; a draft in no time that
    is always accepted. Sequences as long as the cache, and an even split, are no more than runs like the plan.
    """
    grid = of_scenarios(tmp_path, SIZES, ["inference", "training"], few_rows(MODELS, CHIPS))
    at = by_name(grid, "Dashboard")["verdict.basis"]
    assert [str(grid["Dashboard"][f"{column}{at}"]) for column in "FGHIJKLM"] == [
        "not beyond the fitted runs; memory is for 32,768 tokens, sequences have 8,704",
        "not beyond the fitted runs",
        "not beyond the fitted runs; sequences don't split evenly: 11 at most, 10.7 on average",
        "not beyond the fitted runs",
        "not beyond the fitted runs; memory is for 8,192 tokens, sequences have 12,000",
        "not beyond the fitted runs; memory shares the cache among 16 chips, times among 8",
        "not beyond the fitted runs",
        "not beyond the fitted runs; times without drafts, with which a token takes 0.50 of a decode step",
    ]


@of_few_rows()
def test_dashboard_names_what_is_missing(tmp_path: Path) -> None:
    """A dense model given in the few columns of docs/extending.md lacks its longest context: the verdict says that
    numbers are missing, and the line below it names the first and how many more; of a shipped model it names none.
    """
    own, path = tmp_path / "own.csv", tmp_path / "plan.xlsx"
    own.write_text(FEW_COLUMNS, encoding="utf-8")
    databases = Databases(models_csv=own)
    path.write_bytes(build_small(plan_of(["tiny", "llama3-8b"], ["h100-sxm"], ["inference"], None, (), databases)))
    grid = cached(path)
    values, at = grid["Dashboard"], by_name(grid, "Dashboard")
    assert [values[f"{column}{at['verdict']}"] for column in "FG"] == ["Fits; numbers are missing", "Fits"]
    told = ["none; missing: Models: max_context and 1 more", "none"]
    assert [values[f"{column}{at['verdict.failed']}"] for column in "FG"] == told


def test_dashboard_names_only_what_the_plan_lacks(tmp_path: Path) -> None:
    """An RTX 5090 has no network between nodes: a plan on one chip has every number, one on 16 lacks a node's egress,
    and one whose prompts come from another node's chips that of a chip. Nothing on Dashboard reads a host's
    chips, left blank.
    """
    plans = "id,model,hardware,n_chips,prefill_chips\none,llama3-8b,rtx-5090,1,0\nnodes,llama3-8b,rtx-5090,16,0\n"
    plans += "apart,llama3-8b,rtx-5090,8,1\n"
    databases = few_rows(("llama3-8b",), ("rtx-5090",))
    path = databases.hardware_csv
    assert path is not None
    titles, line = path.read_text(encoding="utf-8").splitlines()
    cells = next(csv.reader([line]))
    cells[titles.split(",").index("chips_per_host")] = ""
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[], ["bare", *cells[1:]]])
    grid = of_scenarios(tmp_path, plans + "bare,llama3-8b,bare,1,0\n", ["inference"], databases)
    at, values = by_name(grid, "Dashboard"), grid["Dashboard"]
    missing = "Fits; numbers are missing"
    assert [values[f"{column}{at['verdict']}"] for column in "FGHI"] == ["Fits", missing, missing, "Fits"]
    told = [str(values[f"{column}{at['verdict.failed']}"]) for column in "FGHI"]
    assert told[:1] + told[3:] == ["none", "none"]
    assert told[1:3] == ["none; missing: Hardware: dcn_bandwidth and 1 more"] * 2  # it gives that of a node


def test_dashboard_says_that_a_larger_batch_needs_fewer_replicas(tmp_path: Path) -> None:
    """Of a fleet whose tokens take 7 ms and may take 40; not where they take half of that or one replica is enough."""
    fleets = "id,model,hardware,n_chips,batch,request_rate,prompt_len,generate_len,context_len\n"
    fleets += "small,llama3-8b,h100-sxm,1,1,20,2000,500,2500\nlarge,llama3-8b,h100-sxm,1,96,20,2000,500,2500\n"
    fleets += "few,llama3-8b,h100-sxm,1,1,0.01,2000,500,2500\n"
    grid = of_scenarios(tmp_path, fleets, ["fleet"], few_rows(MODELS, CHIPS))
    at = by_name(grid, "Dashboard")["verdict.basis"]
    small, *others = (str(grid["Dashboard"][f"{column}{at}"]) for column in "FGH")
    assert re.search(r"; tokens may take \d\.\d times as long: a larger batch needs fewer replicas$", small)
    assert not any("batch" in each for each in others)
