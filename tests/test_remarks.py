"""What `planner calc` remarks beside its numbers: how they are counted, what they leave out, what to set."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planner.formulas import expected
from planner.number_text import within
from planner.workbook import layout
from tests.commands import command, run
from tests.first_screens import SERVING, TRAINING, calc
from tests.short_data import of_few_rows
from tests.workbooks import sheet_of


def test_what_drafts_make_of_a_decode_step_is_told() -> None:
    """By hand: of four drafts accepted by 80 % a step makes (1 - 0.8^5) / 0.2 = 3.36 tokens; 4 * 1.5 ms and a step that
    verifies them are a token's time: it takes as long as one of five times the batch with a fifth of the context, whose
    cache is as large. The headlines stay, and no warning says that nothing reads the drafts.
    """
    words = ["calc", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=8"]
    wide, words = [*words, "batch=40", "context_len=1600"], [*words, "batch=8", "context_len=8000"]
    plain, done = run(*words), run(*words, "n_draft_tokens=4", "acceptance_rate=0.8", "draft_time=0.0015")
    assert "Warning" not in done.stderr
    step = json.loads(run(*wide, "--get", "decode_step_time_expected", "--json").stdout)["decode_step_time_expected"]
    (said,) = (line for line in done.stdout.splitlines() if "draft" in line)
    token = f"{(0.006 + step) / 3.3616 * 1e3:.2f} ms"
    assert said == (
        "These times are without drafts. With 4 draft tokens of 1.50 ms, each accepted with a chance of 80 %, a step "
        f"of {(0.006 + step) * 1e3:.1f} ms makes 3.362 tokens: {token} each. No published run is behind that."
    )
    assert done.stdout.replace(said, "") == plain.stdout  # which has a blank line in its place


@pytest.mark.parametrize(
    ("known", "said", "enough"),
    [
        (
            {"prompt_len": 9000.0, "context_len": 8192.0},
            "Memory is that of a context of 8,192 tokens, and the prompt has 9,000: set context_len.",
            {"context_len": 9000.0},
        ),
        # a prompt that fits is told where its answer is as long again; a short answer is not
        (
            {"prompt_len": 4096.0, "context_len": 4096.0, "generate_len": 4096.0, "mean_context_len": 6144.0},
            "Memory is that of a context of 4,096 tokens, and sequences have 6,144 on average, 8,192 in the end: "
            "set context_len.",
            {"generate_len": 512.0, "mean_context_len": 4352.0},
        ),
        # a run of one step is enough
        (
            {"train_tokens": 1e6, "batch_tokens": 4e6},
            "The run of 1,000,000 tokens is less than a step of 4,000,000: set train_tokens.",
            {"train_tokens": 4e6},
        ),
    ],
    ids=["a long prompt", "long answers", "a short run"],
)
def test_a_length_that_does_not_fit_is_told(known: dict[str, float], said: str, enough: dict[str, float]) -> None:
    """A line says what to set where memory is of a shorter context, or a run of less than a step; else none does."""
    row = {"stack": "default"} | known
    assert list(expected.notes(row.get, None)) == [said]
    assert list(expected.notes((row | enough).get, None)) == []


def test_a_cache_that_is_copied_for_the_time_alone_is_told() -> None:
    """A latent cache can't be split over heads: memory shares it among 8 chips, and its expected reads don't."""
    asked = ["inference", "-m", "deepseek-v3", "-H", "h200-sxm", "--set", "n_chips=8", "weight_dtype=fp8"]
    line = "Memory shares the cache among 8 chips, the expected time among 1, as servers that split heads keep copies"
    assert line in calc(*asked)
    for setting in ("cache_by_batch=1", "kv_head_sharding=1", "stack=ideal"):
        assert line not in calc(*asked, setting)


def test_an_operation_leads_with_its_expected_time() -> None:
    """Attention, whose results are FLOPs and bytes, is asked for its time: the expected one, then the bound."""
    sizes = ["query_len=1", "kv_len=8192", "n_heads=32", "n_kv_heads=8", "head_dim=128", "batch=64"]
    said = calc("attention", "-H", "h100-sxm", "--set", *sizes).splitlines()
    assert [line.split()[-1] for line in said[2:5]] == ["expected_time", "lower_bound_time", "flops"]


def test_what_binds_a_matmul_has_a_readers_label() -> None:
    """It is no formula in names of rows."""
    said = calc("matmul", "-H", "h100-sxm", "--set", "tokens=64", "d_in=4096", "d_out=4096")
    assert re.search(r"^Matmul  Memory time of the kernel, 4\.\d+x above Compute time$", said, re.MULTILINE)


def test_a_chip_without_the_dtype_is_told_which_is_missing() -> None:
    """A V100 has no peak for bf16: the column is named once, and the rows that choose another."""
    said = calc("inference", "-m", "llama2-7b", "-H", "v100-sxm2-32", "--set", "n_chips=1", "context_len=4k")
    assert (
        "the chip has no peak_bf16 in the hardware table (--set compute_dtype and activation_dtype choose another)"
        in said
    )


def test_a_token_takes_a_decode_step_and_the_others_prefills() -> None:
    """By hand: 14.7 ms and 31 prefills of 455 ms over 512 tokens are 42.2 ms."""
    text = calc(*SERVING)
    (told,) = re.findall(r"^A token takes a decode step, (.*) ms at .* and (.*) ms of the 31 other", text, re.MULTILINE)
    (token,) = re.findall(r"^Time per output token, with prefills +(.*?) ms ", text, re.MULTILINE)
    (prefill,) = re.findall(r"^Time to first token, without load +(.*?) ms ", text, re.MULTILINE)
    assert float(told[1]) == pytest.approx(31 * float(prefill) / 512, rel=5e-3)
    assert sum(map(float, told)) == pytest.approx(float(token), rel=5e-3)
    apart = calc(*SERVING, "prefill_chips=8", "prefill_tensor=8")
    assert "A token takes" not in apart


def test_the_answers_of_a_batch_and_their_tokens_a_second() -> None:
    """32 prefills and 512 decode steps give 32 x 512 tokens, as the sentence says."""
    text = calc(*SERVING)
    (told,) = re.findall(r"^The 32 answers of 512 tokens, .* take (.*) s: (.*) tokens a second", text, re.MULTILINE)
    seconds, rate = map(float, told)
    assert 32 * 512 / seconds == pytest.approx(rate, rel=5e-3)
    apart = calc(*SERVING, "prefill_chips=1", "prefill_tensor=1", "prompt_len=2048")
    (told,) = re.findall(
        r"^The 32 answers of 512 tokens take (.*) s, and .* that prefill (.*) s: ", apart, re.MULTILINE
    )
    (rate,) = re.findall(r"^Output tokens a second +(\S+)", apart, re.MULTILINE)
    assert float(told[0]) < float(told[1]) == pytest.approx(32 * 512 / float(rate.replace(",", "")), rel=5e-3)


def test_one_answer_and_one_other_sequence_are_told_in_the_singular() -> None:
    """A batch of one, as by default, and a batch of two."""
    alone = calc(*SERVING, "batch=1", "generate_len=1")
    assert "\nThe answer of 1 token, with its prefill, takes " in alone
    pair = calc(*SERVING, "batch=2", "generate_len=8")
    assert " of the other sequence's prefill between steps.\n" in pair
    assert "\nThe 2 answers of 8 tokens, each with its prefill, take " in pair


def test_utilisation_and_recomputation_beside_the_parts() -> None:
    """MFU times the step is the matmuls' time, which the page tells beside the larger work; and the bound is what the
    work and its whole recomputation take at the peak.
    """
    text = calc(*TRAINING)
    (matmuls,) = re.findall(r"^MFU counts the matmuls alone, (.*) s at the peak; .* is 3\.59 s\.$", text, re.MULTILINE)
    (step, bound), (mfu,) = (
        re.findall(r"^Step +(.*?) s .* (.*) s$", text, re.M)[0],
        re.findall(r"^MFU +(.*?) %", text, re.M),
    )
    assert float(matmuls) == pytest.approx(float(step) * float(mfu) / 100, rel=5e-3)
    (whole,) = re.findall(r"^Repeating .* the bound has all of its work at the peak, (.*) s\.$", text, re.MULTILINE)
    assert float(bound) == pytest.approx(3.59 + float(whole), rel=5e-3)
    assert "Repeating" not in calc(*TRAINING, "remat=none")


def test_what_binds_a_token_is_what_most_of_its_bound_is_made_of() -> None:
    """The prefills between tokens count beside the parts of a decode step."""
    binds = calc(*SERVING).partition("What binds")[2]
    assert "Time per output token, with prefills  Prefills of the other sequences between tokens, 1.09x above" in binds
    short = calc(*SERVING, "prompt_len=1024", "context_len=2048").partition("What binds")[2]
    assert "Time per output token, with prefills  Decode step at the mean context, " in short


@pytest.mark.parametrize(
    ("label", "inside"), [("Step time", "step time"), ("MFU", "MFU"), ("HBM capacity", "HBM capacity"), ("", "")]
)
def test_a_label_within_a_sentence_keeps_an_abbreviation(label, inside):
    """Only a word's capital becomes small."""
    assert within(label) == inside


def test_a_fleet_of_small_batches_says_that_larger_ones_need_fewer_replicas() -> None:
    """Where a token may take far longer than it does, the batch that takes as long is named: typed, it passes and needs
    a fraction of the replicas; at that batch nothing is said.
    """
    demand = ("request_rate=20", "prompt_len=2000", "generate_len=500", "context_len=2500", "target_token_time=40ms")
    fleet = ("fleet", "-m", "llama3.3-70b", "-H", "h100-sxm", "--set", "n_chips=8", *demand)
    said = calc(*fleet)
    assert "A replica decodes 1 sequence at a time." in said
    assert "--solve batch --for time_per_output_token_expected=0.04s" in said
    found = re.search(
        r"^batch = (\d+)", calc(*fleet, "--solve", "batch", "--for", "time_per_output_token_expected=0.04s")
    )
    assert found
    larger = calc(*fleet, f"batch={found[1]}")
    assert "larger batch" not in larger
    assert "Check failed" not in larger
    few, many = (int(re.search(r"^Replicas +(\d+)$", each, re.MULTILINE)[1]) for each in (larger, said))  # type: ignore[index]
    assert few < many / 10


def test_a_run_has_the_tokens_of_its_model(tmp_path: Path) -> None:
    """A training plan begins with its model's own training tokens, or else those of Llama 3; typed ones count more."""
    header = "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,train_tokens"
    rows = "own,2,64,256,4,2,16,1000,2T\nblank,2,64,256,4,2,16,1000,"
    path = tmp_path / "mine.csv"
    path.write_text(f"{header}\n{rows}\n", encoding="utf-8")

    def tokens(model: str, *more: str) -> float:
        words = ["training", "-m", model, "--models", str(path), "-H", "h100-sxm", "--json", *more]
        return float(json.loads(calc(*words))["train_tokens"])

    assert tokens("own") == 2e12
    assert tokens("blank") == 15e12
    assert tokens("own", "--set", "train_tokens=3T") == 3e12
    assert "a number above 0 is wanted" in run("calc", *TRAINING, "train_tokens=0").output


def test_the_tokens_of_a_run_can_be_seen_and_typed(tmp_path: Path) -> None:
    """Among looked-up numbers the tokens of a run alone are shown on Inputs: blank, they are the model's."""
    path = tmp_path / "plan.xlsx"
    words = ["build", "deepseek-v3", "-H", "h100-sxm", "--set", "workload=training", "n_chips=512", "-o", str(path)]
    with of_few_rows(models=("deepseek-v3",)):
        assert run(*words).exit_code == 0
    inputs, names = sheet_of(path, "Inputs"), {}
    for row in inputs.iter_rows(max_col=layout.NAME):
        names[row[-1].value] = row[-1].row
    at, hidden = names["train_tokens"], inputs.row_dimensions
    assert not hidden[at].hidden
    assert hidden[names["hbm_bandwidth"]].hidden
    assert inputs.cell(at, layout.FIRST_SCENARIO).value is None
    rows = {row[0].value: row for row in sheet_of(path, "Training", data_only=True).iter_rows()}
    assert rows["Tokens of the run"][layout.FIRST_SCENARIO - 1].value == 14.8e12  # DeepSeek-V3, section 4


def test_experts_tell_from_which_tokens_a_plan_is_compute_bound() -> None:
    """Where FSDP's tokens are of a block of experts, the plan's own are told: there its two times are equal."""
    words = ["training", "-m", "deepseek-v3", "-H", "tpu-v5p", "--set", "n_chips=4096"]
    said = calc(*words)
    assert "24,480 tokens of a chip count the matmuls of a feed-forward block of 256 experts, 8 for each token," in said
    found = re.search(r"this plan is compute-bound from ([\d,]+)\.", said)
    assert found
    tokens = int(found[1].replace(",", ""))
    there = json.loads(calc(*words, f"batch_tokens={4096 * tokens}", "--json"))
    assert there["compute_time"] == pytest.approx(there["fsdp_comm_time"], rel=1e-3)
    assert "this plan is compute-bound from" not in calc(*TRAINING)  # of a dense model they are close


def test_caches_on_their_way_set_the_rate_where_they_take_longest() -> None:
    """64 caches of 40 heads in 40 layers, 4,032 tokens in 16 bits, over 8 chips' scale-out network of 6.25 GB/s."""
    told = run("calc", "inference", "-m", "llama2-13b", "-H", "tpu-v5p", "--set", "n_chips=8", "prefill_chips=64",
               "prefill_tensor=8", "batch=64", "prompt_len=4032", "generate_len=64").output  # fmt: skip
    seconds = 64 * 40 * 2 * 40 * 128 * 4032 * 2 / (8 * 6.25e9)
    assert f"and the caches on their way {seconds:.3g} s: these set the rate" in told


@pytest.mark.parametrize(
    ("chip", "chips", "said"),
    [
        ("tpu-v6e", "n_chips=12", "No slice of this chip has 12 chips: the next larger has 16."),
        ("tpu-v6e", "n_chips=2", "No slice of this chip has 2 chips: the next larger has 4."),
        ("tpu-v7x", "n_chips=2", "No slice of this chip has 2 chips: the next larger has 4."),
        ("tpu-v6e", "n_chips=24 n_slices=2", "No slice of this chip has 12 chips: the next larger has 16."),
        ("tpu-v4", "n_chips=48", "No slice of this chip has 48 chips: the next larger has 64."),
        ("tpu-v5p", "n_chips=96", "No slice of this chip has 96 chips: the next larger has 128."),
        (
            "tpu-v6e",
            "n_chips=64",
            "one of 64 chips some are lines, of half the bandwidth: set its shape, such as slice_x=8 slice_y=8.",
        ),
        ("tpu-v5p", "n_chips=32", "such as slice_x=2 slice_y=4 slice_z=4."),
        ("tpu-v6e", "n_chips=128", "such as slice_x=8 slice_y=16."),
    ],
)
def test_a_number_of_chips_that_no_slice_has_is_told(chip: str, chips: str, said: str) -> None:
    """Google Cloud's tables have the shapes of slices; in small ones an axis doesn't wrap (scaling book, chapter 2)."""
    assert said in calc("training", "-m", "llama3-8b", "-H", chip, "--set", *chips.split())


@pytest.mark.parametrize(
    ("chip", "chips"),
    [
        ("tpu-v6e", "n_chips=256"),
        ("tpu-v6e", "n_chips=512 n_slices=2"),
        ("tpu-v6e", "n_chips=64 slice_x=8 slice_y=8"),
        ("tpu-v6e", "n_chips=1"),
        ("tpu-v5p", "n_chips=2 slice_x=2"),
        ("tpu-v5p", "n_chips=192"),
        ("h100-sxm", "n_chips=12"),
    ],
)
def test_nothing_is_told_of_slices_that_there_are(chip: str, chips: str) -> None:
    """Whole cubes and pods are rings, a typed shape says what wraps, and GPUs come in any number."""
    text = calc("training", "-m", "llama3-8b", "-H", chip, "--set", *chips.split())
    assert "No slice" not in text
    assert "taken for rings" not in text


def test_a_ring_of_chips_whose_switch_reduces_is_told() -> None:
    """NCCL's all-reduce of 1 GiB over eight H100, 4.03 ms by default (Azure), beats a ring at the full bandwidth, and
    not the bound; a plan without reductions in the switch says so, of A100 and with them nothing is said."""
    words = ["collectives", "-H", "h100-sxm", "--set", "n_chips=8", "collective_bytes=1GiB"]
    told = "NCCL lets this chip's switch reduce (NVLS): has_sharp=1."
    assert told in calc(*words)
    assert told not in calc(*words, "has_sharp=1")
    assert told not in calc(*words[:4], "n_chips=16")  # has_sharp=1 would let switches between nodes reduce, too
    assert told not in calc(*words[:2], "a100-sxm-80", *words[3:])
    bound = json.loads(run("calc", *words, "--json", "--get", "all_reduce_time_bound").stdout)
    assert bound["all_reduce_time_bound"] < 4.03e-3 < 2 * 7 / 8 * 2**30 / 450e9


@pytest.mark.parametrize("template", ["inference -m llama3-8b", "training -m llama3-8b", "collectives"])
def test_nodes_without_a_network_are_told(template: str) -> None:
    """GeForce has no network between nodes; within one, or where it is given, or not needed, nothing is told."""
    words = [*template.split(), "-H", "rtx-4090", "--set"]
    said = "16 chips are on 2 nodes of 8, and the hardware table has no network between nodes of this chip"
    assert f"{said}: set node_bandwidth, such as 12.5GB/s for a card of 100 Gbit/s." in calc(*words, "n_chips=16")
    assert "nodes of" not in calc(*words, "n_chips=8")
    assert said not in calc(*words, "n_chips=16", "node_bandwidth=12.5GB/s")


def test_replicas_need_no_network_between_nodes() -> None:
    """Two groups of eight that share nothing send nothing to each other."""
    assert "nodes of" not in calc("inference", "-m", "llama3-8b", "-H", "rtx-4090", "--set", "n_chips=16",
                                  "serve_data=2", "batch=16")  # fmt: skip


def test_a_server_of_bridged_pairs_is_told_how_to_say_so() -> None:
    """Bridges join two RTX 3090; the inputs that are told make a plan of eight over PCIe that passes its checks."""
    words = ["calc", "inference", "-m", "llama3-70b", "-H", "rtx-3090", "--set", "n_chips=8"]
    told = "set topology=switch node_size=8 peer_share=1 link_bandwidth=32GB/s"
    said = command(*words)
    assert told in said
    assert "Check failed" in said
    assert "Check failed" not in command(*words, *told.split()[1:])


@pytest.mark.parametrize(
    ("chip", "settings", "shape"),
    [
        ("tpu-v5p", "n_chips=64", "slice_x=4 slice_y=4 slice_z=4"),  # six links of each
        ("tpu-v5p", "n_chips=8", "slice_x=2 slice_y=2 slice_z=2"),  # three
        ("tpu-v6e", "n_chips=128", "slice_x=8 slice_y=16"),  # three
        ("tpu-v6e", "n_chips=16", ""),  # two, as of a ring
        ("tpu-v6e", "n_chips=512", ""),  # more than a pod has
        ("tpu-v5p", "n_chips=64 collective_axes=1", ""),
        ("tpu-v5p", "n_chips=64 slice_x=64", ""),
        ("h100-sxm", "n_chips=64", ""),
    ],
)
def test_collectives_along_one_axis_are_told_of_the_others(chip: str, settings: str, shape: str) -> None:
    """Where a slice of so many chips has more links than a ring, with the shape that has them."""
    said = calc("collectives", "-H", chip, "--set", *settings.split())
    assert (f"quicker, such as {shape}." in said) if shape else ("quicker, such as" not in said)


def test_chips_that_prefill_are_a_slice_too() -> None:
    """Beside a slice of eight, twelve chips that prefill are none; within one of 4 by 5 of both, the whole is none."""
    words = ["inference", "-m", "llama3-8b", "-H", "tpu-v6e", "--set", "batch=16", "n_chips=8"]
    assert "No slice of this chip has 12 chips: the next larger has 16." in calc(*words, "prefill_chips=12")
    assert "No slice" not in calc(*words, "prefill_chips=4")
    shared = calc(*words, "prefill_chips=12", "slice_x=4", "slice_y=5")
    assert "No slice of this chip has 20 chips: the next larger has 32." in shared
    assert "12 chips" not in shared


def test_serving_and_reports_tell_of_slices_too(tmp_path: Path) -> None:
    """Where axes are rings matters to a training plan alone."""
    told = "No slice of this chip has 12 chips: the next larger has 16."
    assert told in calc("inference", "-m", "llama3-8b", "-H", "tpu-v6e", "--set", "n_chips=12")
    assert "taken for rings" not in calc("inference", "-m", "llama3-8b", "-H", "tpu-v6e", "--set", "n_chips=16")
    path = tmp_path / "plan.xlsx"
    with of_few_rows(models=("llama3-8b",)):
        assert run("build", "llama3-8b", "-H", "tpu-v6e", "--set", "n_chips=12", "-o", str(path)).exit_code == 0
        assert run("report", str(path), "-o", str(path.with_suffix(".md"))).exit_code == 0
    assert told in path.with_suffix(".md").read_text(encoding="utf-8")


def test_a_search_tells_of_chips_that_no_slice_has() -> None:
    """Of the plans that it lists, once for each number; those of 8 and 16 chips aren't named."""
    words = ["optimize", "training", "-m", "llama3-8b", "-H", "tpu-v6e", "--minimize", "step_time_expected"]
    said = command(*words, "--over", "n_chips=8..24*3", "--alone", "--set", "n_microbatches=64", "batch_tokens=8388608")
    assert said.count("No slice of tpu-v6e has 24 chips: the next larger has 32.\n") == 1
    assert said.count("No slice") == 1
