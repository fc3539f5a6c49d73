"""The command line: what it prints, what it refuses and how, and what it leaves unloaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from planner import cli, data

HEAVY = {"openpyxl", "pandas", "numpy", "jax", "formualizer", "lxml"}
PLAN = ["calc", "training", "-m", "gpt2", "-H", "h100-sxm", "--set"]
MATMUL = ["calc", "matmul", "-H", "h100-sxm"]
SIZES = ["--set", "tokens=4", "d_in=8", "d_out=16"]


def process(*words, python=(), **environment):
    """Run `planner` in a process of its own."""
    return subprocess.run(
        [sys.executable, *python, "-m", "planner", *words],
        env={**os.environ, **environment}, capture_output=True, check=False, timeout=60,
    )  # fmt: skip


def imported(*words):
    """The packages that running `planner` with these words imports."""
    done = process(*words, python=("-X", "importtime"))
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines if line.startswith("import time:")}


COMPUTING = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what was begun in the background
from planner.__main__ import main
from planner.recalc.engine import Engine
made = Engine.__init__
def told(*given):
    print("computing", flush=True)
    made(*given)
    time.sleep(60)
Engine.__init__ = told
main()
"""  # a command that says when it computes, and doesn't end before Ctrl-C reaches it


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal of POSIX")
@pytest.mark.parametrize(
    "words",
    [
        ["build", "--template", "matmul", "-H", "h100-sxm", "-o", "plan.xlsx"],
        pytest.param(["check", "old.xlsx"], marks=pytest.mark.slow),
        pytest.param(["report", "old.xlsx", "-o", "plan.md"], marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_leaves_nothing_behind(tmp_path, words):
    """One line and exit code 2; no file is new, half-written or changed."""
    if "old.xlsx" in words:
        process("build", "-o", str(tmp_path / "old.xlsx"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    command = [sys.executable, "-c", COMPUTING, *words]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout.readline() == "computing\n"
        begun.send_signal(signal.SIGINT)
        said = begun.stderr.read()
    assert (begun.returncode, said) == (2, "Error: interrupted; nothing was changed\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["calc", "matmull"], "no template 'matmull'; did you mean matmul?"),
        (["calc", "serving"], "no template 'serving'; did you mean inference?"),
        (["calc", "mine.csv"], "mine.csv: there is no such file"),
        (["calc", "transformer", "-m", "lama3-70b"], 'no model "lama3-70b"; did you mean llama3-70b'),
        (["calc", "matmul", "-H", "h100-smx"], 'no accelerator "h100-smx"; did you mean h100-sxm'),
        (["calc", "transformer"], "name one with -m MODEL, or --set n_layers=..."),
        (["calc", "matmul"], "name one with -H CHIP, or --set hbm_bandwidth=..."),
        ([*MATMUL, "--set", "tokns=4"], "matmul has no row 'tokns'; did you mean tokens?"),
        ([*MATMUL, "--set", "tokens"], "--set 'tokens' is not name=value; write --set batch=32"),
        ([*MATMUL, "--set", "=4"], "--set '=4' is not name=value; write --set batch=32"),
        ([*MATMUL, "--set", "tokens", "4"], "--set 'tokens' is not name=value; write --set tokens=4"),
        (["calc", "transformer", "-m", "meta-llama/Meta-Llama-3-70B"], "did you mean llama3-70b?"),
        (["calc", "transformer", "-m", "zzzz"], "; planner models list shows all, --models FILE reads one of your own"),
        (["calc", "matmul", "-H", "zzzz"], "list shows all, --hardware-csv FILE reads one of your own"),
        (["calc", "training", "--get", "step_time"], "no row 'step_time'; here it is step_time_expected"),
        (["calc", "inference", "--get", "kv"], "inference has no row 'kv'; did you mean kv_time or kv_"),
        (["build", "-H", "h100-sxm", "--template", "matmul", "-o", "nodir/x.xlsx"],
         "there is no folder nodir; nothing was changed"),
        (["report", "plan.xlsx", "-o", "."], "this is a folder, not a file; name a file in it"),
        (["ingest", "nosuch.json"], "nosuch.json: there is no such file or folder"),
        (["modles", "list"], "no command 'modles'; did you mean models?"),
        ([*MATMUL, "--set", "tokens=4,5"], "'4,5' is no number; write a point for decimals"),
        ([*MATMUL, "--set", "tokens=4_000"], "'4_000' is no number; write a point for decimals and no"),
        ([*MATMUL, "--set", "tokens=1e999"], "not a finite number; write N/A for a missing number"),
        ([*PLAN, "hbm_reserve_bytes=9e10"], "nothing is left of hbm_bytes, which is 85,899,345,920; type less"),
        ([*PLAN, "zero_stage=7"], "zero_stage=7: a whole number from 0 to 3 is wanted"),
        ([*PLAN, "zero_stage=1.5"], "zero_stage=1.5: a whole number from 0 to 3 is wanted"),
        (["sweep", *PLAN[1:], "hbm_reserve_bytes=9e10", "--over", "n_chips=8,16"], "nothing is left of hbm_bytes"),
        (["optimize", *PLAN[1:], "hbm_reserve_bytes=9e10", "--minimize", "step_time_expected"], "nothing is left of"),
        (["find", ""], "there is no word to find; write a part of a name"),
        ([*MATMUL, "--why", "flops", "--json"], "--why and --json ask for different answers; write one of them"),
        ([*MATMUL, "--why", "flops", "--get", "flops"], "--why and --get ask for different answers"),
        ([*MATMUL, "--solve", "d_in", "--for", "flops=1e9", "--why", "flops"], "--solve and --why ask for"),
        ([*MATMUL, "--solve", "d_in", "--for", "flops=1e9", "--all"], "--solve and --all ask for"),
        (["build", "gpt2", "-H", "h100-sxm", "--set", "hbm_reserve_bytes=1e12"], "nothing is left of hbm_bytes"),
        ([*MATMUL, "--get", "flosp"], "matmul has no row 'flosp'; did you mean flops?"),
        ([*MATMUL, "--why", "flosp"], "matmul has no row 'flosp'; did you mean flops?"),
        ([*MATMUL, "--get", "zz*"], "matmul has no row like 'zz*'; planner find zz looks in all templates"),
        ([*MATMUL, "--get", "flosp_*"], "matmul has no row like 'flosp_*'; the nearest are flops, "),
        ([*MATMUL, "--get", "kv_time"], "matmul has no row 'kv_time'; inference has it"),
        ([*MATMUL, "--set", "decode_step_tim=1"], "did you mean decode_step_time, which inference has?"),
        ([*MATMUL, "--depth", "2"], "--depth says how far --why goes down; write --why NAME --depth 2"),
        (["models", "show", "lama3-70b"], 'no model "lama3-70b"; did you mean llama3-70b'),
        (["hardware", "show", "h100-smx"], 'no accelerator "h100-smx"; did you mean h100-sxm'),
        (["hardware", "show", "h200"], 'no accelerator "h200"; did you mean h200-sxm'),
        (["templates", "show", "matmull"], "no template 'matmull'; did you mean matmul?"),
        (["build", "lama3-70b", "-H", "h100-sxm"], 'no model "lama3-70b"; did you mean llama3-70b'),
        (["build", "llama3-70b", "-H", "h100-smx"], 'no accelerator "h100-smx"; did you mean h100-sxm'),
        (["build", "llama3-70b", "-H", "h100-sxm", "--set", "btach=4"], "btach"),
        (["build", "llama3-70b", "-H", "h100-sxm", "--template", "matmull"], "no template 'matmull'"),
        (["build", "gpt2", "-H", "h100-sxm", "--set", "load_factor=0.5"], "fleet has it: add --template"),
        (["build", "-m", "lama3-70b", "-H", "h100-sxm"], 'no model "lama3-70b"; did you mean llama3-70b'),
        (["recalc", "plan.xlsx"], "plan.xlsx"),
    ],
)  # fmt: skip
def test_wrong_input(planner, tmp_path, words, says):
    """Wrong input is one line that says what and what would be right, exit code 2, and nothing is written."""
    done = planner(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage():
    """A command or an option that isn't there is exit code 2 and no traceback."""
    for words in (["cacl"], ["calc"], ["calc", "matmul", "--sett", "tokens=4"]):
        done = process(*words)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


def test_an_output_that_exists_stays(planner, tmp_path):
    """Without --force a file is never replaced."""
    (tmp_path / "plan.xlsx").write_text("mine", encoding="utf-8")
    done = planner("build", "llama3-8b", "-H", "h100-sxm")
    assert done.exit_code == 2
    assert done.stderr == ("Error: plan.xlsx: the file exists; choose another name, or replace it with --force\n")
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("plan.xlsx", "mine")]


LOADED = """
import json, sys
from click.testing import CliRunner
from planner import cli
loaded = {}
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(cli.group, words)
    assert done.exit_code == 0, done.output
    loaded[" ".join(words)] = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps(loaded))
"""


def loaded_by(commands):
    """The heavy packages that are loaded after each of these commands, which one process runs in this order."""
    done = subprocess.run([sys.executable, "-c", LOADED, json.dumps(commands)], capture_output=True, check=True)
    found = {name: HEAVY & set(packages) for name, packages in json.loads(done.stdout).items()}
    assert len(found) == len(commands)
    return found


def test_help_loads_nothing_heavy():
    """Every command answers --help at once: no spreadsheet, array or table library is imported for any of them."""
    loaded = loaded_by([["--help"], ["-h"], ["--version"], *([name, "--help"] for name in cli.COMMANDS)])
    assert {name: packages for name, packages in loaded.items() if packages} == {}


def test_the_program_itself_loads_nothing_heavy():
    """So does `python -m planner`, from its first line to its last."""
    assert imported("build", "--help") & HEAVY == set()


def test_calc_loads_only_arrays():
    """The napkin and the lists need numpy and nothing heavier, one after the other in one process."""
    words = [["models", "list"], ["hardware", "show", "h100-sxm"], ["templates", "list"], [*MATMUL, *SIZES],
             ["find", "alpha"], ["calc", "inference", "-m", "gemma-7b", "-H", "h100-sxm"]]  # fmt: skip
    loaded = loaded_by(words)
    assert {name: packages - {"numpy"} for name, packages in loaded.items() if packages - {"numpy"}} == {}


@pytest.mark.parametrize("words", [["models", "list"], ["models", "show"], ["hardware", "list"], ["templates", "show"]])
def test_help_of_what_is_below(planner, words):
    """A command of a group answers --help too."""
    done = planner(*words, "--help")
    assert done.exit_code == 0
    assert done.output.startswith("Usage: ")


def test_calc(planner):
    """With --all a table of every row: name, value, unit and formula."""
    done = planner(*MATMUL, *SIZES, "--all")
    assert done.exit_code == 0
    lines = {line.split()[0]: line.split() for line in done.output.splitlines() if line}
    assert lines["name"] == ["name", "value", "unit", "formula"]
    assert lines["flops"] == ["flops", "1,024", "FLOP", "n_matmuls*flop_per_mac*tokens*d_in*d_out"]
    assert lines["peak_flops"][-1] == "hardware[hardware_id].peak[compute_dtype]"
    assert lines["critical_tokens_exact"][1] == "N/A"


def test_a_failed_check_is_named(planner):
    """A plan that doesn't fit is printed, and stderr names the check with both its numbers; JSON has it too."""
    plan = ["calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8", "context_len=2048"]
    assert planner(*plan).stderr == ""
    needed, room = (json.loads(planner(*plan, "batch=100000", "--json").output)[name] for name in (
        "memory_bytes_per_chip", "hbm_bytes"))  # fmt: skip
    numbers = (f"Memory of a chip = {needed / 1e12:.3f} TB/chip > {room / 1e9:.2f} GB/chip = "
               "HBM capacity - HBM kept free on a chip")  # fmt: skip
    for form in ([], ["--all"], ["--get", "kv_time"], ["--why", "kv_time"], ["--json", "--get", "kv_time"]):
        done = planner(*plan, "batch=100000", *form)
        assert done.exit_code == 0
        assert done.stderr == f"Check failed: Weights and caches fit (check_fits_memory): {numbers}\n"
        assert done.output.startswith(done.stderr) == (not {"--why", "--json"} & {*form})
    raw = json.loads(planner(*plan, "batch=100000", "--json").output)
    assert raw["failed_checks"] == {"check_fits_memory": f"Weights and caches fit: {numbers}"}
    assert raw["check_fits_memory"] == 0


def test_typed_numbers_are_echoed(planner):
    """What has a unit or is worked out is said on stderr as it was read, each once; a plain number is not."""
    done = planner(
        *MATMUL, "--set", "tokens=8k", "d_in=8*8", "d_out=16", "hbm_bandwidth=819GB/s",
        "--get", "flops", "memory_time", "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["flops"] == 2 * 8000 * 64 * 16.0
    assert done.stderr.splitlines() == [
        "tokens = 8k, read as 8,000", "d_in = 8*8, read as 64",
        "hbm_bandwidth = 819GB/s, read as 819,000,000,000 byte/s/chip",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), [("yes", 1), ("No", 0), ("TRUE", 1), ("false", 0)])
def test_a_switch_is_typed_as_it_is_shown(planner, text, value):
    """A yes or a no may be typed so, as a workbook shows it, or as a spreadsheet's CSV has it."""
    serving = ["calc", "inference", "-m", "gpt2", "-H", "h100-sxm", "--set", f"kv_head_sharding={text}"]
    done = planner(*serving, "--get", "kv_head_sharding", "--json")
    assert json.loads(done.stdout) == {"kv_head_sharding": value}


def test_a_target_has_a_unit(planner):
    """`--for` takes units with = and with <= alike, and the target is the same as in the row's unit."""
    solved = [*MATMUL, "--set", "d_in=8192", "d_out=8192", "--solve", "tokens"]
    plain = planner(*solved, "--for", "compute_time<=0.02")
    assert plain.exit_code == 0
    assert planner(*solved, "--for", "compute_time<=20ms").stdout == plain.stdout
    assert planner(*solved, "--for", "compute_time=20ms").stdout == plain.stdout


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["peak_flops=600"], "Warning: peak_flops = 600 FLOP/s/chip: 600 TFLOP/s, perhaps? write 600TFLOP/s"),
        (["n_chips=0.5"], "Warning: n_chips = 0.5 chip is no whole number; a part of a chip is meant only where"),
        (["n_chips=1.5"], "Warning: n_chips = 1.5 chip is no whole number"),
        (["prompt_len=1e9"], "Warning: prompt_len = 1,000,000,000 is not from 1 to 100,000,000"),
        (["context_len=0.5"], "Check failed: Sequences and tokens are whole numbers (check_counts)"),
        (["tensor_axes=7"], "Check failed: The torus has the axes of the tensor ways (check_axes)"),
        (["n_experts_active=300"], "Check failed: A token uses no more experts than there are (check_experts_active)"),
    ],
)
def test_an_implausible_plan_says_so(planner, settings, says):
    """A warning with what may be meant, or a failed check; the exit code is 0 all the same."""
    done = planner(
        "calc", "inference", "-m", "qwen3-235b-a22b", "-H", "tpu-v5e", "--set", *settings, "--get", "max_batch"
    )
    assert done.exit_code == 0
    assert says in done.stderr


def test_json(planner):
    """--json is one object of raw numbers, texts, and null for N/A."""
    done = planner(*MATMUL, *SIZES, "--json", "--get", "flops", "compute_dtype", "critical_tokens_exact", "d_in")
    assert json.loads(done.output) == {
        "flops": 1024.0, "compute_dtype": "bf16", "critical_tokens_exact": None, "d_in": 8.0,
    }  # fmt: skip
    assert json.loads(planner(*MATMUL, *SIZES, "--json", "--get", "flops", "d_*").output) == {
        "flops": 1024.0, "d_in": 8.0, "d_out": 16.0,
    }  # fmt: skip
    everything = json.loads(planner(*MATMUL, "--json").output)
    assert everything["tokens"] is None
    assert everything["flops"] is None
    missing = everything.pop("missing")
    assert missing["flops"] == "tokens is not set, d_in is not set, d_out is not set"
    assert missing.keys() == {name for name, value in everything.items() if value is None}
    why = json.loads(planner(*MATMUL, *SIZES, "--json").output)["missing"]["critical_tokens_exact"]
    assert why == "critical_tokens_exact is N/A where no batch suffices"
    assert everything["n_matmuls"] == 1


def test_what_another_network_has_is_no_reason_to_ask(planner):
    """A number that only a torus has is said to be of one, not to be missing in the table."""
    found = json.loads(planner("calc", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--json").stdout)["missing"]
    assert found["torus_axes"] == "torus_axes is of a torus alone"


@pytest.mark.parametrize(
    "many", [["--set", "tokens=4", "d_in=8", "d_out=16"], ["--set=tokens=4", "d_in=8", "d_out=16"]]
)
def test_several_values_after_one_option(planner, many):
    """`--set a=1 b=2` and `--get x y` are the same as the option repeated, wherever they stand."""
    repeated = planner(*MATMUL, *[f"--set={size}" for size in SIZES[1:]], "--get", "flops", "--get", "memory_bytes")
    assert planner(*MATMUL, *many, "--get", "flops", "memory_bytes").output == repeated.output
    assert planner(*MATMUL, "--get", "flops", "memory_bytes", *many).output == repeated.output
    before = ["calc", *many, "matmul", "-H", "h100-sxm", "--get", "flops", "memory_bytes"]
    assert planner(*before).output == repeated.output
    assert repeated.output.count("\n") == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "kv_bytes_per_token=1e5", "n_chips=8"],
         "kv_bytes_per_token was set, and nothing you asked for reads it: "
         "kv_bytes_per_sequence reads kv_bytes_per_token_layer"),
        (["inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "assumed_prefill_mfu=0.5", "n_chips=8"],
         "assumed_prefill_mfu was set, and nothing you asked for reads it: prefill_time does"),
        (["transformer", "-m", "gpt2", "--set", "kv_bytes_per_sequence=9", "d_ff=8", "--get", "kv_bytes_per_sequence"],
         "d_ff was set, and nothing you asked for reads it: n_params_mlp_bias does"),
        (["transformer", "-m", "gpt2", "-H", "h100-sxm"], "transformer takes no chip, so that -H h100-sxm is not read"),
        (["matmul", "-m", "gpt2", "-H", "h100-sxm"], "matmul takes no model, so that -m gpt2 is not read"),
        (["step", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_heads=64"],
         "step takes no model, so that -m llama3-70b is not read: --set n_layers=80 d_model=8192 n_kv_heads=8 "
         "qk_nope_dim=128 d_ff=28672 mlp_matrices=3 vocab=128256"),
    ],
)  # fmt: skip
def test_what_is_given_and_not_read_is_named(planner, words, says):
    """So are a setting that changes nothing of what is printed, and a model or a chip that a template doesn't take."""
    assert [line for line in planner("calc", *words).stderr.splitlines() if "Check" not in line] == [f"Warning: {says}"]


@pytest.mark.parametrize(
    "words",
    [["--set", "d_in=8"], ["--set", "d_in=8", "--all"], ["--set", "d_in=8", "--get", "d_in"],
     ["--set", "flops=8", "--get", "flops"], ["--set", "peak_flops=9e14", "--why", "compute_time"]],
)  # fmt: skip
def test_what_is_read_is_not_warned_of(planner, words):
    """What a number on the screen is made of, what is asked for by name, and what any row reads with --all."""
    assert planner(*MATMUL, *words).stderr == ("N/A because tokens is not set, d_out is not set: --set a value\n"
                                               if "--all" in words else "")  # fmt: skip


def test_what_another_input_follows_is_read(planner):
    """FSDP ways that nobody named follow the chips, so that what reads the ways reads the chips."""
    words = [*PLAN, "n_chips=64", "seq_len=512", "mesh_data=2", "--get", "mesh_fsdp", "seq_len"]
    assert planner(*words).stderr == ""
    named = planner(*words, "--set", "mesh_fsdp=32").stderr
    assert named.startswith("Warning: n_chips was set, and nothing you asked for reads it: ")


def test_negative_and_missing_values(planner):
    """A blank and N/A can be set; a negative number is refused in one line."""
    done = planner(*MATMUL, "--set", "tokens=0", "d_in=", "d_out=N/A", "--json", "--get", "tokens", "d_in", "d_out")
    assert json.loads(done.stdout) == {"tokens": 0, "d_in": None, "d_out": None}
    assert done.stderr == "N/A because d_in is not set, d_out is not set: --set a value\n"
    done = planner(*MATMUL, "--set", "tokens=-4")
    assert (done.exit_code, done.output) == (2, "Error: tokens=-4: a number of at least 0 is wanted\n")


@pytest.mark.parametrize(
    "words", [["measure", "--suite", "quick", "--list"], ["hardware", "add", "--this-host", "x", "--to", "x.csv"]]
)
def test_a_budget_is_a_number(planner, words):
    """NaN, which every limit lets pass, is refused as a budget is that is below 0."""
    done = planner(*words, "--budget", "nan")
    assert done.exit_code == 2
    assert done.output.endswith("Error: Invalid value for '--budget': nan is no number of seconds.\n")


@pytest.mark.parametrize(
    ("command", "option", "source", "identifier"),
    [
        ("hardware", "--hardware-csv", "accelerators.csv", "tpu-v5e"),
        ("models", "--models", "models.csv", "llama3-8b"),
    ],
)
def test_rows_of_ones_own_are_listed_and_shown(planner, tmp_path, command, option, source, identifier):
    """With the option by which other commands add a CSV, its rows stand before the shipped ones."""
    shown = json.loads(planner(command, "show", identifier, "--json").stdout)
    folder = data.folder(f"{command.removesuffix('s')}_db")
    head, *lines = (folder / source).read_text(encoding="utf-8").splitlines()
    own = next(line for line in lines if line.startswith(f"{identifier},")).replace(identifier, "mine", 1)
    (path := tmp_path / "own.csv").write_text(f"{head}\n{own}\n", encoding="utf-8")
    mine = json.loads(planner(command, "show", "mine", option, str(path), "--json").stdout)
    assert mine == shown | {"id": "mine"}
    assert planner(command, "show", identifier, option, str(path)).exit_code == 0
    ids = [row["id"] for row in json.loads(planner(command, "list", option, str(path), "--json").stdout)]
    assert (ids[0], len(ids)) == ("mine", 1 + len(json.loads(planner(command, "list", "--json").stdout)))
    both = planner(command, "list", option, str(path), "--file", str(path))
    assert both.exit_code == 2
    assert f"{option} adds to the shipped rows, --file stands in their place; give one of the two" in both.output


def test_why(planner):
    """--why goes from a number's formula down to inputs, overrides and the sources of its lookups."""
    words = ["--set", "n_chips=8", "weight_dtype=int8", "hbm_bandwidth=3e12", "--why", "decode_step_time"]
    done = planner("calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", *words)
    assert done.exit_code == 0
    lines = [line.strip() for line in done.output.splitlines()]
    assert lines[0].startswith("decode_step_time = ")
    assert lines[1] == "= kv_time+MAX(matmul_time,param_time)"
    read, chips = "69,501,714,432", "24,000,000,000,000"
    assert f"= ({read}-0)/{chips}+0/{chips}".replace(",", "") in lines  # param_time in numbers, without experts
    assert "= typed with --set" in lines  # n_chips
    assert "= overridden with --set" in lines  # hbm_bandwidth
    assert any(line.startswith("= llama3-70b in models.csv: ") and "Llama-3-70B" in line for line in lines)
    assert any(line.startswith("= h100-sxm in accelerators.csv: ") for line in lines)
    assert any(line.startswith("context_len = 8,192") for line in lines)
    assert any("explained above" in line for line in lines)


@pytest.mark.parametrize("name", ["Llama3-70B", "LLAMA3-70B", "llama-3-70b"])
def test_ids_in_any_case(planner, name):
    """A model is found whatever the case and punctuation of its id."""
    done = planner("calc", "transformer", "-m", name, "--json", "--get", "n_params_total")
    assert json.loads(done.output) == {"n_params_total": 70_553_706_496}


def test_a_template_and_tables_of_ones_own(planner, write, tmp_path):
    """A template is also a path, and the databases are also a user's own CSVs."""
    write("layers 1 model n_layers", "peak FLOP/s/chip hardware peak_bf16", "both FLOP/s/chip output layers*peak")
    columns = "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab"
    (tmp_path / "models.csv").write_text(f"{columns}\ntiny,3,8,32,2,2,4,100\n", encoding="utf-8")
    words = ["calc", "mine.csv", "-m", "tiny", "--models", "models.csv", "-H", "h100-sxm", "--get", "both", "--json"]
    assert json.loads(planner(*words).output) == {"both": 3 * 989.4e12}
    words = ["calc", "mine.csv", "-m", "tiny", "--models", "models.csv", "-H", "h100-sxm", "--why", "layers"]
    assert "= tiny in models.csv: models.csv, line 2" in planner(*words).output


SEVERAL = """
import json, sys
from planner.__main__ import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    print("$", *words, flush=True)
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
"""


def test_an_old_terminal():
    """In a terminal of Windows-1252 and without colour everything prints, in its characters and without escapes."""
    commands = [
        ["models", "list"], ["hardware", "show", "tpu-v3"], ["models", "show", "deepseek-v3"], ["templates", "list"],
        ["templates", "show", "inference"], ["calc", "inference", "-m", "gemma-7b", "-H", "tpu-v5p"],
        ["calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8",
         "--why", "cost_per_million_tokens"],
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(commands)], capture_output=True, check=False, timeout=60,
        env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    _, *said = done.stdout.decode("cp1252").split("$ ")
    assert [lines.partition("\n")[0].strip() for lines in said] == [" ".join(words) for words in commands]
    assert all(lines.count("\n") > 3 for lines in said)
    assert b"\x1b[" not in done.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-8"])
def test_characters_that_a_terminal_has_not(write, encoding):
    """What the terminal can't show is replaced, and the rest is printed."""
    path = write("tokens 1 input 4")
    path.write_text(path.read_text(encoding="utf-8").replace("test", "名前 ≥ é"), encoding="utf-8")
    done = process("calc", str(path), "--why", "tokens", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.decode(encoding).startswith("tokens = 4")
