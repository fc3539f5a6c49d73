"""The command line: what it prints, what it refuses and how, and what it leaves unloaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from planner import cli, data
from tests.commands import refusal

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
        (["calc", "llama3-8b"], "no template 'llama3-8b'; there are inference, training, transformer and others"),
        (["calc", "fleet", "--get", "monthly_cost"], "fleet has no row 'monthly_cost'; here it is cost_per_month"),
        (["calc", "serving"], "no template 'serving'; did you mean inference?"),
        (["calc", "mine.csv"], "mine.csv: there is no such file"),
        (["calc", "transformer", "-m", "lama3-70b"], 'no model "lama3-70b"; did you mean llama3-70b'),
        (["calc", "matmul", "-H", "h100-smx"], 'no accelerator "h100-smx"; did you mean h100-sxm'),
        (["calc", "transformer"], "name one with -m MODEL, or --set n_layers=..."),
        (["calc", "matmul"], "name one with -H CHIP, or --set hbm_bandwidth=..."),
        (["calc", "compute_budget"],
         "or --set price_per_chip_hour=... price_reserved_1y=... price_reserved_3y=... tdp_watts=... peak_flops=...\n"),
        (["calc", "transformer"], "--set n_layers=... d_model=... "),
        (["calc", "training", "-m", "llama3-8b", "-H", "h100-sxm", "tpu-v5p"],
         "calc takes one chip, and -H has h100-sxm and tpu-v5p; planner sweep and planner build take several"),
        (["sensitivity", "training", "-m", "llama3-8b", "llama3-70b", "-H", "h100-sxm"],
         "sensitivity takes one model, and -m has llama3-8b and llama3-70b; "),
        ([*MATMUL, "--set", "tokns=4"], "matmul has no row 'tokns'; did you mean tokens?"),
        ([*MATMUL, "--set", "tokens"], "--set 'tokens' is not name=value; write --set batch=32"),
        ([*MATMUL, "--set", "=4"], "--set '=4' is not name=value; write --set batch=32"),
        ([*MATMUL, "--set", "tokens", "4"], "--set 'tokens' is not name=value; write --set tokens=4"),
        (["calc", "transformer", "-m", "meta-llama/Meta-Llama-3-70B-Instruct"], "did you mean llama3-70b or "),
        (["calc", "transformer", "-m", "zzzz"], "; planner models list shows all, --models FILE reads one of your own"),
        (["calc", "matmul", "-H", "zzzz"], "list shows all, --hardware-csv FILE reads one of your own"),
        (["calc", "training", "--get", "step_time"], "no row 'step_time'; here it is step_time_expected"),
        (["calc", "inference", "--get", "kv"], "inference has no row 'kv'; did you mean kv_time or kv_"),
        (["build", "-H", "h100-sxm", "--template", "matmul", "-o", "nodir/x.xlsx"],
         "there is no folder nodir; nothing was changed"),
        (["report", "plan.xlsx", "-o", "."], "this is a folder, not a file; name a file in it"),
        (["ingest", "nosuch.json"], "nosuch.json: there is no such file or folder"),
        (["modles", "list"], "no command 'modles'; did you mean models?"),
        (["search", "training"], "no command 'search'; did you mean optimize?"),
        (["Plan"], "no command 'Plan'; did you mean build, for a workbook, or calc, on the command line?"),
        (["models", "search", "qwen"], "planner models has no command 'search'; known: add, list, show"),
        (["scenario", "renam", "plan.xlsx"], "planner scenario has no command 'renam'; did you mean rename"),
        (["calc", "inference", "-m", "qwen.json"], "planner models add qwen.json --to my.csv makes a row of a config"),
        ([*MATMUL, "--d-in", "8"], "no option --d-in; an input is set with --set, as in --set d_in=..."),
        (["calc", "matmul", "--gpu", "h100-sxm"], "no option --gpu; a chip is named with -H"),
        (["quux"], "no command 'quux'; planner --help lists them"),
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
    said = refusal(planner(*words))
    assert said.startswith("Error: ")
    assert says in said
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
    said = refusal(planner("build", "llama3-8b", "-H", "h100-sxm"))
    assert said == ("Error: plan.xlsx: the file exists; choose another name, or replace it with --force\n")
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
    said = refusal(planner(command, "list", option, str(path), "--file", str(path)))
    assert f"{option} adds to the shipped rows, --file stands in their place; give one of the two" in said


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


def test_everyday_words_name_commands() -> None:
    """Each everyday word isn't a command itself, and means commands that there are."""
    assert not set(cli.MEANT) & set(cli.COMMANDS)
    for meant in cli.MEANT.values():
        assert set(meant.replace(",", "").split()) & {*cli.COMMANDS, "--help", "--version"}, meant
