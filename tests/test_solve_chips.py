"""`planner calc --solve` for chips and ways: their meshes follow, and slices have the sizes that there are."""

from __future__ import annotations

import json
import re

import pytest

from planner.errors import UserError
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.formulas.slices import slice_sizes
from planner.formulas.solving import parse_target, solve
from tests.commands import refused, run


def test_what_only_followers_move_is_solved_for() -> None:
    """Memory depends on FSDP ways, which follow the chips: the fewest chips whose memory fits are as many ways as a
    plan with one fewer doesn't fit; set ways don't follow, and then memory doesn't depend on the chips.
    """
    template, known = library.load("training"), facts(library.load("training"), "llama3-70b", "h100-sxm")
    target = parse_target(template, "memory_expected_bytes_per_chip<=80e9")
    chips = solve(template, known, {}, "n_chips", target).answer
    memory = [
        evaluate(template, known, {"n_chips": each, "mesh_fsdp": each}).number("memory_expected_bytes_per_chip")
        for each in (chips - 1, chips)
    ]
    assert memory[0] > 80e9 >= memory[1]
    with pytest.raises(UserError, match="doesn't depend on n_chips"):
        solve(template, known, {"mesh_fsdp": 8.0}, "n_chips", target)


def test_chips_are_solved_for_with_their_mesh() -> None:
    """FSDP ways that nobody named follow the chips, in whole multiples of the ways that are named."""
    words = ["calc", "training", "-m", "llama3-70b", "-H", "h100-sxm",
             "--set", "mesh_tensor=8", "batch_tokens=16777216"]  # fmt: skip
    solved = [*words, "--solve", "n_chips", "--for", "train_time_expected<=2.6e7"]
    printed = json.loads(run(*solved, "--json").output)

    def time(chips: float) -> float:
        given = [f"n_chips={chips}", f"mesh_fsdp={chips / 8}", "--json", "--get", "train_time_expected"]
        return json.loads(run(*words, *given).output)["train_time_expected"]

    assert printed["answer"] % 8 == 0
    assert time(printed["answer"]) <= 2.6e7 < time(printed["answer"] - 8)
    said = run(*solved).output
    assert "is the smallest multiple of 8" in said
    assert f"there mesh_fsdp = {printed['answer'] / 8:.0f}" in said


def test_ways_are_solved_for_with_the_chips_that_are_left() -> None:
    """Tensor ways leave the other chips to FSDP, at each of them."""
    words = ["calc", "training", "-m", "llama3-70b", "-H", "h100-sxm", "--set", "n_chips=512"]
    printed = json.loads(run(*words, "--solve", "mesh_tensor", "--for", "mfu_expected>=0.3", "--json").output)
    ways = printed["answer"]
    given = [f"mesh_tensor={ways}", f"mesh_fsdp={512 / ways}", "--json", "--get", "mfu_expected"]
    assert json.loads(run(*words, *given).stdout)["mfu_expected"] >= 0.3


def test_ways_that_are_solved_for_divide_the_chips() -> None:
    """Each answer is a plan that may be typed: FSDP has whole ways left, and the next ways miss the target."""
    words = ["calc", "training", "-m", "llama3.1-405b", "-H", "h100-sxm",
             "--set", "n_chips=16384", "batch_tokens=16777216", "mesh_tensor=8", "n_microbatches=16"]  # fmt: skip
    said = run(*words, "--solve", "mesh_pipeline", "--for", "step_time_expected<=20").stdout
    assert "mesh_pipeline = 16 is the smallest number that divides the chips" in said
    assert "mesh_pipeline = 16 is the largest number that divides the chips" in said
    assert "there mesh_fsdp = 128\n" in said

    def time(ways: int) -> float:
        printed = run(*words, f"mesh_pipeline={ways}", "--json", "--get", "step_time_expected").stdout
        return json.loads(printed)["step_time_expected"]

    assert time(16) <= 20 < min(time(8), time(32))
    printed = run(*words, "--solve", "mesh_pipeline", "--for", "step_time_expected<=20", "--json").stdout
    assert json.loads(printed)["answer"] == 16
    missed = refused(*words, "--solve", "mesh_pipeline", "--for", "step_time_expected<=18")
    assert f"from 1 to 2,048 gives step_time_expected at most 18 s: the least is {time(16):.7g} s" in missed


@pytest.mark.parametrize(
    ("chip", "sizes", "others"),
    [
        ("tpu-v5e", [1, 4, 8, 16, 32, 64, 128, 256], [2, 3, 12, 48, 192, 512]),
        ("tpu-v7x", [1, 4, 8, 16, 32, 64, 128], [2, 96]),
        ("tpu-v5p", [1, 2, 4, 32, 64, 128, 192, 256, 320, 6144, 8960], [3, 48, 96, 100, 8992, 9024]),
        ("tpu-v4i", [1, 2, 4], [3, 8]),
        ("h100-sxm", [], [1]),
    ],
)
def test_slices_have_the_sizes_that_there_are(chip: str, sizes: list[int], others: list[int]) -> None:
    """As in Google Cloud's tables: powers of two up to a pod, but two chips of v5p alone, and from a cube on so many
    cubes; a switch joins any number."""
    template = library.load("inference")
    found = slice_sizes(evaluate(template, facts(template, "llama3-70b", chip)).known)
    assert {*sizes} <= {*(found if found is not None else [])}
    assert not {*others} & {*(found if found is not None else [])}


def test_chips_of_a_torus_are_those_of_a_slice() -> None:
    """The answer is the smallest size that meets the target: the next smaller one doesn't, and none is between them."""
    words = ["calc", "training", "-m", "llama3-70b", "-H", "tpu-v5p", "--set", "batch_tokens=16777216", "mesh_tensor=8"]
    solved = [*words, "--solve", "n_chips", "--for", "train_time_expected<=6e6"]
    printed = json.loads(run(*solved, "--json").output)

    def time(chips: float) -> float:
        given = [f"n_chips={chips}", "--json", "--get", "train_time_expected"]
        return json.loads(run(*words, *given).stdout)["train_time_expected"]

    assert printed["answer"] % 64 == 0
    assert time(printed["answer"]) <= 6e6 < time(printed["answer"] - 64)
    two = run(*words, "n_slices=2", *solved[len(words) :]).output
    in_seven_digits = re.match(r"n_chips = (\S+) is the smallest size that slices have", two)
    assert in_seven_digits, two
    assert float(in_seven_digits[1].replace(",", "")) % 128 == 0


def test_ways_that_no_slice_has_are_refused() -> None:
    """Three tensor ways divide no power of two."""
    words = ["calc", "training", "-m", "llama3-70b", "-H", "tpu-v5e", "--set", "mesh_tensor=3"]
    done = refused(*words, "--solve", "n_chips", "--for", "train_time_expected<=6e6")
    assert done == (
        "Error: no slice of this chip, of up to 256 chips, has a multiple of 3; set other ways\n"
    )  # fmt: skip
