"""`planner calc`: what it prints, echoes, warns of and refuses."""

from __future__ import annotations

import json

import pytest

from tests.commands import printed_by
from tests.test_cli import MATMUL, PLAN, SIZES


def test_calc(planner):
    """With --all a table of every row: name, value, unit and formula."""
    said = printed_by(planner(*MATMUL, *SIZES, "--all"))
    lines = {line.split()[0]: line.split() for line in said.splitlines() if line}
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


@pytest.mark.parametrize("word", ["full", "Nothing_Saveable"])
def test_a_choice_may_be_said_in_another_program_s_word(planner, word):
    """MaxText and Megatron-LM call it full to repeat a whole block, JAX to save nothing."""
    command = "calc training -m llama3-8b -H h100-sxm --set n_chips=8 --get remat_flops --set remat="
    assert planner(*f"{command}{word}".split()).stdout == planner(*f"{command}block".split()).stdout != ""


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


@pytest.mark.parametrize(
    ("setting", "meant"),
    [("hbm_bandwidth=3.35GB/s", "3.35TB/s"), ("peak_flops=989GFLOP/s", "989TFLOP/s"), ("hbm_bytes=80MB", "80GB"),
     ("link_bandwidth=450MB/s", "450GB/s")],
)  # fmt: skip
def test_a_typed_slip_of_a_thousand_is_told(planner, setting, meant):
    """A number of the chip that doesn't fit its others, with what was perhaps meant; an odd but possible one isn't."""
    args = ("calc", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--get", "decode_step_time", "--set")
    (told,) = [line for line in planner(*args, setting).stderr.splitlines() if "perhaps?" in line]
    assert told.startswith(f"Warning: {setting.partition('=')[0]} = ")
    assert f": {meant}, perhaps? " in told
    assert "perhaps?" not in planner(*args, "hbm_bandwidth=10TB/s", "hbm_bytes=512GB").stderr


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
    """A number that only a torus has is said to be of one, not to be missing in the table; so is another way to pay."""
    found = json.loads(planner("calc", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--json").stdout)["missing"]
    assert found["torus_axes"] == "torus_axes is of a torus alone"
    found = json.loads(planner("calc", "inference", "-m", "llama3-8b", "-H", "gb300", "--json").stdout)["missing"]
    assert found["price_reserved_1y"] == "price_reserved_1y is for price_basis=reserved_1y alone"


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


DENSE = ("calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["expert_weight_bits=4"], ["expert_weight_bits"]),  # of a model without experts
        (["expert_weight_bits=4", "hop_latency=2e-6", "batch=9"], ["expert_weight_bits", "hop_latency"]),
        (["batch=9", "prompt_len=77", "hop_latency=1e-6"], []),  # the last is the default
        (["expert_weight_bits=4", "--get", "decode_step_time_expected"], []),
    ],
)
def test_what_changes_no_printed_number_is_named(planner, words, named):
    """A setting that is read, and that no number of the summary would miss in this plan."""
    said = [f"Warning: {name} was set, and changes none of these numbers in this plan" for name in named]
    assert planner(*DENSE, *words).stderr.splitlines() == said


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


def test_why(planner):
    """--why goes from a number's formula down to inputs, overrides and the sources of its lookups."""
    words = ["--set", "n_chips=8", "weight_dtype=int8", "hbm_bandwidth=3e12", "--why", "decode_step_time"]
    said = printed_by(planner("calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", *words))
    lines = [line.strip() for line in said.splitlines()]
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


def test_what_times_of_a_first_token_and_of_slices_hold_is_told(planner):
    """They say what a full batch's first token has of a server and may wait, and that DCN is in the bound alone."""
    chip = ("-H", "h100-sxm", "--set", "n_chips=1", "prompt_len=1000", "generate_len=300", "context_len=1300")
    fast = [word.replace("n_chips=1", "n_chips=8") for word in chip]
    server = "21.0 ms are the server's (request_overhead and request_token_overhead)"  # 4 ms and 1,000 of 17 us
    assert server in planner("calc", "inference", "-m", "llama3-8b", *fast, "batch=1").output
    none = ("request_overhead=0", "request_token_overhead=0")
    assert "are the server's" not in planner("calc", "inference", "-m", "llama3-8b", *fast, "batch=1", *none).output
    together = "Where they come together, as in benchmarks of one length, the last waits for all of them: up to "
    done = planner("calc", "inference", "-m", "llama3-8b", *chip, "batch=64", "--all", "--json")
    batch = json.loads(done.output)["prefill_batch_time_expected"]
    told = planner("calc", "inference", "-m", "llama3-8b", *chip, "batch=64").output
    assert f"{together}{batch:.3g} s." in " ".join(told.split())
    assert together not in planner("calc", "inference", "-m", "llama3-8b", *chip, "batch=1").output
    pod = ("-H", "tpu-v5e", "--set", "mesh_fsdp=256", "batch_tokens=2097152", "seq_len=2048")
    sent = "is in the bound alone: the expected step takes it to be hidden"
    assert sent in planner("calc", "training", "-m", "llama3-70b", *pod, "n_chips=512", "n_slices=2").output
    assert sent not in planner("calc", "training", "-m", "llama3-70b", *pod, "n_chips=256").output
