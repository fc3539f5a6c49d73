"""What `planner optimize` says: faults in one line, what is left out, what fails, and what the best plans leave."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from planner.search import search_text
from planner.search.found import Found, objective
from planner.search.optimum import optimum
from tests.commands import command, invoked, refused
from tests.searches import COST, STEP, asked
from tests.workbooks import write_small

DECODE = "decode_step_time_expected"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm"), "nothing is varied"),
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "bach=1..4"), "batch"),
        (("sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch"), "is not name=values"),
        (("sweep", "inference", "--set", "batch=1", "--over", "batch=1..4"), "is both set and varied"),
        (("sweep", "inference", "--over", "batch=1..4", "-o", "table.txt"), "ends in .csv"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm"), "no objective is given"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--minimize", STEP), "the number of chips"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=64", "--minimize", STEP,
          "--maximize", STEP), "can't be both minimized and maximized"),
        (("optimize", "training", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=64", "--minimize", STEP,
          "--where", f"{STEP}<1e400"), "'1e400' is too large"),
        (("optimize", "training", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=64", "--minimize", STEP,
          "--where", "train_time_expected<=60"), "train_time_expected<=60 (60 is read as 60 s) refuses"),
        (("optimize", "matmul", "-H", "h100-sxm", "--minimize", "expected_time"), "nothing is varied"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--minimize", "step_tme"), "step_time"),
        (("optimize", "training", "-m", "llama3.1-405b", "-H", "h100-sxm", "--set", "n_chips=8",
          "--minimize", STEP), "calc explains it; set more chips, or name others with --over"),
        (("optimize", "inference", "-m", "llama3-8b", "-H", "tpu-v6e", "--set", "n_chips=512", "batch=512",
          "--minimize", COST), "--why check_pod of planner calc explains it; set other inputs, or name others"),
        (("optimize", "training", "-m", "llama3-70b", "-H", "h20", "--set", "n_chips=512", "price_per_chip_hour=N/A",
          "--minimize", "train_cost_expected"), "price_per_chip_hour"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_one_line_and_exit_code_2(args, said):
    """Wrong names and specs, empty and impossible searches, and a missing price: one line and exit code 2."""
    assert said in refused(*args)


def test_plans_whose_objective_is_unknown_are_told_with_what_is_missing():
    """Of two chips one has no price: its plans are left out, and which number is missing is said with them."""
    search = ["optimize", "training", "-m", "llama3-8b", "--set", "n_chips=64", "mesh_pipeline=1",
              "--minimize", "train_cost_expected", "--over", "mesh_tensor=2", "mesh_context=1", "zero_stage=3",
              "remat=block", "n_microbatches=2", "mesh_data=1,2,4"]  # fmt: skip
    output = command(*search, "-H", "h100-sxm", "h800-sxm")
    said = "left out, as train_cost_expected is N/A: 3; price_per_chip_hour is not in the hardware table (h800-sxm)"
    assert said in output
    missing = "price_per_chip_hour is not in the hardware table; type --set price_per_chip_hour=2$/h"
    assert missing in refused(*search, "-H", "h800-sxm")


@pytest.mark.parametrize(
    ("wheres", "rest"),
    [
        (["decode_step_time_expected<=1ms"], "the rest"),
        (["decode_step_time_expected<=1ms", "batch>=20"], "every check"),
    ],
)
def test_how_near_plans_come_to_a_condition_that_none_meets_is_told(wheres: list[str], rest: str) -> None:
    """By hand: the least decode step of batches of 1 to 16 is that of 1, which calc prints."""
    serving = ["inference", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=1", "context_len=2048"]
    said = refused("optimize", *serving, "--alone", "--over", "batch=1..16*2", "--minimize", COST, "--where", *wheres)
    least = float(json.loads(command("calc", *serving, "batch=1", "--get", DECODE, "--json"))[DECODE])
    assert f"; of plans that pass {rest} {DECODE} is {1e3 * least:.3f} ms at least;" in said


def test_a_chip_of_which_no_plan_passes_is_told_with_what_refuses_most():
    """Of two chips one misses the condition with every plan: it is told beside the best plans of the other."""
    output = command("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "l4", "--set", "n_chips=1",
                     "context_len=2048", "--alone", "--over", "batch=1..16*2", "--minimize", COST,
                     "--where", "decode_step_time_expected<=20ms")  # fmt: skip
    assert "of llama3-8b on l4 no plan passes; decode_step_time_expected<=20ms refuses most" in output
    assert "llama3-8b on h100-sxm no plan" not in output


def test_a_chip_without_a_network_is_given_one_in_its_row(tmp_path):
    """What joins its chips is named in its row, from which further numbers follow; no number is typed for a text."""
    path = tmp_path / "chips.csv"
    path.write_text("id,kind,peak_bf16,hbm_bytes,hbm_bandwidth,price_per_chip_hour\nlone,gpu,1e15,96e9,4e12,3\n")
    search = ["optimize", "inference", "-m", "llama3-8b", "-H", "lone", "--hardware-csv", str(path), "--minimize", COST]
    said = refused(*search, "--set", "n_chips=4", "serve_tensor=4")
    assert "; give its row of --hardware-csv network, scaleup_bandwidth and max_chips, or plan one chip" in said
    assert "Best " in command(*search, "--set", "n_chips=1")


def test_what_is_off_a_best_of_0_is_not_told():
    """A part of a step may be 0 in the best plans: the others are no share off it, and nothing fails."""
    output = command("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512",
                     "--minimize", "pipeline_exposed_time", "--over", "mesh_pipeline=1,2", "mesh_tensor=1",
                     "n_microbatches=2", "remat=block", "zero_stage=3", "mesh_data=1")  # fmt: skip
    assert "Best pipeline_exposed_time: 0 s" in output
    assert "+0.0 %" in output
    assert "N/A" in output


def test_a_model_typed_two_ways_is_one():
    """The plans of a search have the ids that the texts mean."""
    found = asked("inference", "Llama-3-70B,llama3-70b", ["H100-SXM", "h100-sxm"], (), ["batch=1,2"])
    assert [(each.model, each.hardware) for each in found.subjects] == [("llama3-70b", "h100-sxm")]


def test_an_output_that_exists_stays_without_force(tmp_path):
    """Without --force a table that exists is refused and kept to the byte."""
    path = tmp_path / "table.csv"
    path.write_text("mine")
    words = "sweep", "inference", "-m", "llama3-70b", "-H", "h100-sxm", "--over", "batch=1..4", "-o", path
    assert "--force" in refused(*words)
    assert path.read_text() == "mine"


def test_a_workbook_that_takes_no_plans_is_refused_before_the_search(tmp_path):
    """No workbook, one of another kind, one without the model, and the table itself: one line, and no table is left."""
    text, other = tmp_path / "text.xlsx", tmp_path / "other.xlsx"
    text.write_text("no workbook")
    invoked("sweep", "matmul", "-H", "h100-sxm", "--over", "tokens=1,2", "-o", str(other))
    own, built = tmp_path / "own.csv", tmp_path / "plan.xlsx"
    own.write_text("id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab\nmine,2,256,1024,4,2,64,32000\n")
    write_small(built, ["llama3-8b"], ["h100-sxm"], ["transformer"])
    table = tmp_path / "table.xlsx"
    for path, said in ((text, "it is a text"), (other, "header of Inputs"), (built, "below the last one"),
                       (table, "name the same file")):  # fmt: skip
        search = ["optimize", "inference", "-m", "mine", "-H", "h100-sxm", "--models", str(own), "--set", "n_chips=1"]
        assert said in refused(*search, "--minimize", COST, "-o", table, "--workbook", path)
        assert not table.exists()


def test_a_bound_as_objective_is_said_to_be_one():
    """Who minimises a bound is told which row is what to expect."""
    output = command("optimize", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512",
                     "--minimize", "step_time_lower_bound", "--top", "1")  # fmt: skip
    assert "step_time_lower_bound is a bound" in output
    assert STEP in output


@pytest.mark.parametrize(("refused", "said"), [({"check_axes": 3, "fits_memory": 2}, "one or more"), ({"a": 3}, "one")])
def test_how_many_plans_fail_is_said_beside_the_checks(refused, said):
    """A plan that fails two checks counts with each, so that the plans that fail are said apart from the counts."""
    wanted = asked("training", "llama3-70b", ["h100-sxm"], [], [])
    found = Found([], 10, 7, Counter(refused), 0)
    assert search_text.passed(wanted, found) == f"7 pass every check, 3 fail {said}"
    assert not search_text.unnamed(found)
    many = Found([], 10, 7, Counter(dict.fromkeys("abcdef", 1)), 0)
    assert search_text.unnamed(many) == "and by 2 more checks"
    assert search_text.passed(wanted, Found([], 7, 7, Counter(), 0)) == "7 pass every check"


def test_one_plan_passes_and_one_fails() -> None:
    """A single plan is said in the singular."""
    wanted = asked("training", "llama3-70b", ["h100-sxm"], [], [])
    assert search_text.passed(wanted, Found([], 2, 1, Counter(a=1), 0)) == "1 passes every check, 1 fails one"


def test_a_number_of_the_chip_may_be_searched() -> None:
    """A number that is looked up is varied as an input is: of two bandwidths the larger is the better."""
    ask = ("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--minimize", "decode_step_time_expected")
    output = command(*ask, "--alone", "--over", "hbm_bandwidth=3TB/s,4TB/s", "--top", "2")
    assert re.search(r"^(simplest|1) +4.000 TB/s/chip ", output, re.M)


def test_what_memory_the_best_plans_leave_is_told() -> None:
    """By hand: Llama 3 8B's 16.06 GB of weights in bf16 and 64 of 8,192 tokens of 131,072 bytes, 68.72 GB, leave 1.12
    GB of an H100's 80 GiB, which is said with what keeps a tenth free; of 32 sequences half is left, and nothing said.
    """
    ask = ("optimize", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--alone", "--over")
    output = command(*ask, "batch=64", "--minimize", "cost_per_million_tokens_expected")
    assert re.search(r"memory left.*\n.*84.78 GB/chip +1.119 GB/chip", output)
    assert "leaves 1.12 GB of a chip's 85.9 GB to buffers" in output
    assert "--set hbm_reserve_bytes=8.6GB keeps a tenth free" in output
    for more in (("batch=32",), ("batch=64", "--set", "hbm_reserve_bytes=1GB")):
        output = command(*ask, *more, "--minimize", "cost_per_million_tokens_expected")
        assert "memory left" in output
        assert "keeps a tenth free" not in output


def test_a_context_shorter_than_the_sequences_is_told() -> None:
    """As calc says it: the best plan fits with a context of 8,192 tokens, and its sequences end with 20,480."""
    serving = ["inference", "-m", "llama3.1-8b", "-H", "h100-sxm", "--set", "n_chips=1", "prompt_len=4096"]
    said = "Memory is that of a context of 8,192 tokens, and sequences have 12,288 on average, 20,480 in the end"
    searched = ["--alone", "--over", "batch=1..16*2", "--minimize", COST]
    assert said in command("optimize", *serving, "generate_len=16384", *searched)
    assert "Memory is that of" not in command("optimize", *serving, "generate_len=4096", *searched)


def test_the_largest_batch_that_was_tried_is_told() -> None:
    """Llama 3 8B on 512 H100s holds far more sequences than the most that a search tries: the best plan has that most,
    and larger ones are to be asked for; on 8 the memory is the limit.
    """
    for chips, is_told in ((512, True), (8, False)):
        wanted = asked(
            "inference", "llama3-8b", ["h100-sxm"], [f"n_chips={chips}", "context_len=1024", "prompt_len=128"]
        )
        found = optimum(wanted, [objective(wanted.template, "output_tokens_per_second_expected", is_least=False)], 2)
        told = " ".join(search_text.of_search(wanted, found))
        assert ("has the largest batch that was tried, 65,536" in told) is is_told


def test_what_has_no_range_is_searched_over_several_chips() -> None:
    """A bound has no range: the best of each chip is told without one, and no chance that it beats the first. By hand:
    16 GB of bf16 over the bandwidth of an H200 and of an H100 are as 4.8 to 3.35.
    """
    chips = ("-H", "h200-sxm", "-H", "h100-sxm")
    output = command("optimize", "inference", "-m", "llama3-8b", *chips, "--alone", "--over", "batch=8", "--minimize",
                     "param_time", "--top", "2")  # fmt: skip
    assert re.search(r"^2 +h100-sxm +4.\d+ ms +\+43.3 % ", output, re.M)
    assert re.search(r"^llama3-8b on h100-sxm  4.\d+ ms$", output, re.M)


def test_a_chip_whose_memory_is_not_known_is_told(tmp_path: Path) -> None:
    """Its plans fail no check of memory, and pass none either."""
    chips = tmp_path / "chips.csv"
    chips.write_text("id,kind,peak_bf16,hbm_bytes,hbm_bandwidth\nblank,gpu,1e15,,3e12\nknown,gpu,1e15,80e9,1e12\n")
    ask = ("optimize", "inference", "-m", "llama3-8b", "--hardware-csv", str(chips), "--alone", "--over", "batch=8",
           "--minimize", "decode_step_time_expected", "--top", "1", "-H")  # fmt: skip
    said = "Whether plans of blank fit in memory can't be told: hbm_bytes is not in the hardware table."
    assert said in command(*ask, "blank")
    assert said in command(*ask, "known", "-H", "blank")
    assert "fit in memory can't be told" not in command(*ask, "known")


def test_a_batch_of_a_part_of_a_sequence_is_told() -> None:
    """As calc says it: 4,000,000 tokens are 976.6 sequences of 4,096, which 96 ways don't share out; 3,932,160 they do,
    960 of them."""
    words = ["optimize", "training", "-m", "llama3-8b", "-H", "h100-sxm", "--minimize", "step_time_expected"]
    words += ["--set", "n_chips=96", "mesh_fsdp=96", "remat=none", "zero_stage=1"]
    said = "976.6 sequences don't split evenly over 96 data ways of 10 microbatches: the busiest takes 2, the mean"
    assert said in command(*words, "batch_tokens=4000000")
    assert "split evenly" not in command(*words, "batch_tokens=3932160")
