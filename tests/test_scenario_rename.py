"""What a scenario is called: its name follows its model and chip until a person gives one, and its id never changes."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from click.testing import Result

from planner.book.read_plan import read_plan
from tests.commands import command, refusal, run, untouched
from tests.workbooks import edit, write_small

GOLDEN = Path(__file__).parent / "golden"
IDS = ["llama3_8b_on_tpu_v5e", "llama3_8b_on_tpu_v5p"]


@pytest.fixture(name="plan")
def fixture_plan(tmp_path: Path) -> Path:
    """A workbook of two scenarios without a name."""
    path = tmp_path / "plan.xlsx"
    write_small(path, ["llama3-8b"], ["tpu-v5e", "tpu-v5p"], ["transformer"])
    return path


def of_scenarios(*words: object) -> Result:
    """`planner scenario` with some words."""
    return run("scenario", *words)


def shown(path: Path, sheet: str = "Dashboard") -> list[object]:
    """What a sheet calls its scenarios, as its formulas give it now."""
    plan = read_plan(path)
    return [plan.at(sheet, 5, column) for column in range(6, 6 + len(plan.scenarios))]


def choose(path: Path, chip: str) -> None:
    """Another chip for the first scenario, as a person chooses it on Inputs."""

    def change(book: openpyxl.Workbook) -> None:
        book["Inputs"]["F7"] = chip

    edit(path, change)


def test_a_name_follows_until_one_is_given(plan: Path) -> None:
    """The shown name is that of the model on the chip of now; a person's stays; "" lets it follow again; ids stay."""
    assert shown(plan) == ["llama3-8b on tpu-v5e", "llama3-8b on tpu-v5p"]
    choose(plan, "h100-sxm")
    assert shown(plan) == shown(plan, "Transformer") == ["llama3-8b on h100-sxm", "llama3-8b on tpu-v5p"]
    done = of_scenarios("rename", plan, IDS[0], "The cheap one")
    assert f"{IDS[0]} is shown as The cheap one." in done.output
    choose(plan, "h200-sxm")
    assert shown(plan) == ["The cheap one", "llama3-8b on tpu-v5p"]
    assert of_scenarios("rename", plan, "the cheap one", "").exit_code == 0
    assert shown(plan) == ["llama3-8b on h200-sxm", "llama3-8b on tpu-v5p"]
    assert [each.id for each in read_plan(plan).scenarios] == IDS
    assert not read_plan(plan).stale


@pytest.mark.parametrize(
    ("scenario", "name", "says"),
    [
        ("llama3_8b_on_tpu_v4", "Mine", "no scenario 'llama3_8b_on_tpu_v4'; did you mean"),
        (IDS[0], IDS[1], f"there is a scenario '{IDS[1]}' already; give another name"),
        (IDS[0], "Llama3-8b on TPU-v5p", "there is a scenario 'llama3-8b on tpu-v5p' already; give another name"),
        (IDS[0], "bell\x07", r"'bell\x07' is no name for a scenario: it holds control characters; delete them"),
        (IDS[0], "x" * 81, "is no name for a scenario; give 1 to 80 characters"),
    ],
)
def test_wrong_names(plan: Path, scenario: str, name: str, says: str) -> None:
    """An unknown scenario, and a name that is another's or too long, is one line, and the file as it was."""
    with untouched(plan):
        assert says in refusal(of_scenarios("rename", plan, scenario, name))


def test_a_list(plan: Path) -> None:
    """A line for each scenario: id, name, model and chip; where a workbook trains and serves, what it is for."""
    titles, first, _ = of_scenarios("list", plan).output.splitlines()
    assert titles.split() == ["id", "name", "model", "chip"]
    assert first.split() == [IDS[0], "llama3-8b", "on", "tpu-v5e", "llama3-8b", "tpu-v5e"]


@pytest.mark.slow
def test_names_that_earlier_builds_typed_follow_after_an_update(tmp_path: Path) -> None:
    """A name that an old build typed, of which the id is made, is the chip's of now after an update; a person's stays.

    In the edited golden workbook a person has named one scenario, and chosen another chip for one that nobody named.
    """
    new = tmp_path / "new.xlsx"
    command("update", GOLDEN / "edited.xlsx", "-o", new)
    assert shown(new) == ["Sixteen v5e, int8", "llama3-70b on tpu-v6e", "llama3-70b on h200-sxm"]
    assert [each.id for each in read_plan(new).scenarios][2] == "llama3_70b_on_h100_sxm"
