"""What is said of a stack of one's own where it is used: of plans that its runs tell of, and of others."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from planner.xlsx.opc import Package
from tests.commands import command, refused
from tests.short_data import of_few_cases, of_few_rows
from tests.validations import HEADER

DATA = Path(__file__).parent / "data"
DECODED = "decode,inference,llama3-8b,h100-sxm,n_chips=1 batch={} context_len=4096,decode_step_time_expected,{},ms,ours"
TIMES = {16: 14.0, 32: 17.0, 64: 25.0}  # ms of a decode step, by batch
FITTED = "Fitted to runs of your own: the stack mine has its own calibration for h100."
UNTOLD = "None of the runs that the stack mine is fitted to is of this workload"
ELSEWHERE = "The stack mine is fitted to runs on chips of h100: on this chip its fit isn't used."


def runs(path: Path, *lines: str) -> Path:
    """A CSV of runs."""
    path.write_text("\n".join([HEADER, *(f"{chr(97 + at)},{line}" for at, line in enumerate(lines)), ""]), "utf-8")
    return path


def decoded(path: Path) -> Path:
    """Three decode steps of an H100, half as long again as is expected of them."""
    return runs(path, *(DECODED.format(*each) for each in TIMES.items()))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stack that decode steps tell, as a CSV."""
    path = tmp_path_factory.mktemp("served") / "mine.csv"
    command("fit", decoded(path.with_name("runs.csv")), "-o", path)
    return path


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (("inference", "-m", "llama3-8b", "-H", "h100-sxm"), FITTED),
        (("training", "-m", "llama3-8b", "-H", "h100-sxm"), UNTOLD),
        (("collectives", "-H", "h100-sxm"), UNTOLD),
        (("matmul", "-H", "h100-sxm", *(f"--set={name}=512" for name in ("tokens", "d_in", "d_out"))), UNTOLD),
        (("inference", "-m", "llama3-8b", "-H", "a100-sxm-80"), ELSEWHERE),
    ],
)
def test_a_plan_says_whether_own_runs_tell_of_it(served: Path, plan: tuple[str, ...], said: str) -> None:
    """A stack fitted to decode runs on an H100 is fitted for serving on it, tells nothing of other workloads, and is
    not used on another chip: each is said, and nothing else of it.
    """
    text = command("calc", *plan, "--set", "stack=mine", "--calibrations", served)
    assert [line for line in (FITTED, UNTOLD, ELSEWHERE) if line in text] == [said]


@pytest.mark.parametrize(("stack", "said"), [("mine", "80 % of runs"), ("default", "80 % of published runs")])
def test_a_report_says_whose_runs_a_range_holds(served: Path, tmp_path: Path, stack: str, said: str) -> None:
    """With a stack that is fitted to runs of one's own, they aren't said to be published ones, in any table or caption;
    nor does a sheet of the workbook say so, in which any stack may be chosen.
    """
    path, page = tmp_path / "plan.xlsx", tmp_path / "plan.md"
    plan = ("llama3-8b", "-H", "h100-sxm", "--template", "inference", "--calibrations", served)
    with of_few_rows(), of_few_cases():
        command("build", *plan, "--set", f"stack={stack}", "-o", path)
    command("record", path, "--time", "20ms")
    command("report", path, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert f"the range of {said}, and the bound" in text
    assert set(re.findall(r"80 % of (?:published )?runs", text)) == {said}
    parts = Package.read(path).parts
    assert [name for name, content in parts.items() if b"% of published runs" in content] == []


def test_a_search_says_whose_runs_its_ranges_hold(served: Path) -> None:
    """The best of each chip has the range of runs with a stack of one's own, of published ones with a shipped one."""
    asked = ("optimize", "inference", "--minimize", "decode_step_time_expected", "-m", "llama3-8b")
    asked = (*asked, "-H", "h100-sxm", "-H", "h200-sxm", "--over", "batch=8,16", "--calibrations", served)
    assert "80 % of runs" in command(*asked, "--set", "stack=mine")
    assert "80 % of published runs" in command(*asked[:-2])


def test_a_solution_says_whose_runs_its_range_holds(served: Path) -> None:
    """What meets a target has its range beside it, of runs with a stack of one's own."""
    asked = ("calc", "inference", "-m", "llama3-8b", "-H", "h100-sxm", "--solve", "batch")
    asked = (*asked, "--for", "time_per_output_token_expected=40ms")
    assert "80 % of published runs there" in command(*asked)
    assert "80 % of runs there" in command(*asked, "--calibrations", served, "--set", "stack=default")


def test_a_plan_unlike_own_runs_is_extrapolated(tmp_path: Path) -> None:
    """Three runs have experts, as the plan has, but are too few for the fit to tell: it isn't said that none has."""
    mixtral = DECODED.replace("llama3-8b", "mixtral-8x7b").replace("n_chips=1", "n_chips=2")
    own = tmp_path / "mine.csv"
    command("fit", runs(tmp_path / "runs.csv", *(mixtral.format(*each) for each in TIMES.items())), "-o", own)
    plan = ("calc", "inference", "-m", "mixtral-8x7b", "-H", "h100-sxm", "--set", "n_chips=2", "stack=mine")
    text = command(*plan, "--calibrations", own)
    assert "too few of your runs, to which the expected numbers are fitted, have experts." in text


def test_the_lines_of_a_stack_say_of_what_its_runs_are(served: Path) -> None:
    """Serving alone."""
    with served.open(encoding="utf-8") as stream:
        flags = {line["parameter"]: line["value"] for line in csv.DictReader(stream) if "own_" in line["parameter"]}
    assert flags == {"own_training": "0", "own_serving": "1", "own_operations": "0", "own_collectives": "0"}


def test_calibrations_that_change_nothing_say_why(served: Path, tmp_path: Path) -> None:
    """`validate --calibrations` with a stack says that no run names it, or that those that do are on other chips; it
    says nothing where a run is expected by it, nor of a file that changes a shipped calibration.
    """
    plain = decoded(tmp_path / "runs.csv")
    text = plain.read_text(encoding="utf-8")
    named, other, hand = (tmp_path / name for name in ("named.csv", "other.csv", "hand.csv"))
    named.write_text(text.replace("n_chips=1", "n_chips=1 stack=mine"), encoding="utf-8")
    other.write_text(named.read_text(encoding="utf-8").replace("h100-sxm", "a100-sxm-80"), encoding="utf-8")
    hand.write_text("calibration,parameter,value\nh100,hbm_efficiency,0.8\n", encoding="utf-8")
    nothing = "mine.csv changes nothing: "
    assert f"{nothing}no run names its stack; write stack=mine" in command("validate", plain, "--calibrations", served)
    assert f"{nothing}mine is for chips of h100" in command("validate", other, "--calibrations", served)
    assert "changes nothing" not in command("validate", named, "--calibrations", served)
    assert "changes nothing" not in command("validate", plain, "--calibrations", hand)


def test_runs_in_a_wrong_unit_are_named_and_not_fitted_to(tmp_path: Path) -> None:
    """Of decode steps in ms and as many whose ms were taken for s the first are used, and the others said to be 1,000
    times off; where all are in a wrong unit, that is why nothing is fitted.
    """
    right = [DECODED.format(*each) for each in TIMES.items()]
    wrong = [line.replace(",ms,", ",s,") for line in right]
    said = command("fit", runs(tmp_path / "runs.csv", *right, *wrong))
    assert "stack mine: 3 runs used" in said
    assert "3 runs, 1,000 times or more off what is expected: likely a wrong unit: d, e, f" in said
    assert "hbm_efficiency" in said
    said = refused("fit", runs(tmp_path / "all.csv", *wrong))
    assert "none of 3 runs can be fitted to: a: 1,000 times or more off what is expected: likely a wrong unit" in said


def test_a_model_or_chip_of_ones_own_asks_for_its_file(tmp_path: Path) -> None:
    """A run that names a model or a chip that isn't shipped says with which option it is read, where none was given."""
    text = DECODED.format(16, 14)
    for own, hint in (("llama3-8b", "--models FILE"), ("h100-sxm", "--hardware-csv FILE")):
        path = runs(tmp_path / "runs.csv", text.replace(own, "ours"))
        for command_name in ("fit", "validate"):
            assert f"{hint} reads one of your own" in refused(command_name, path)
    path = runs(tmp_path / "runs.csv", text.replace("llama3-8b", "ours"))
    models = tmp_path / "models.csv"
    models.write_bytes((DATA.parent.parent / "model_db" / "models.csv").read_bytes())
    assert "--models" not in refused("fit", path, "--models", models)
    assert "reads one of your own" not in refused("fit", runs(path, text.replace("decode_step_time", "decode_step")))


def test_validate_says_what_reads_the_runs_of_a_workbook(tmp_path: Path) -> None:
    """A workbook is no CSV of runs: the commands that read its runs are named."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(b"PK")
    said = refused("validate", path)
    assert "plan.xlsx: this is a workbook, and no CSV of runs; planner fit fits to the runs of a workbook" in said


def test_what_was_measured_goes_by_what_people_call_it(tmp_path: Path) -> None:
    """The column `output` takes tpot and ttft as the rows that they are."""
    lines = [DECODED.format(16, 14).replace("decode_step_time_expected", word) for word in ("tpot", "TTFT")]
    said = command("validate", runs(tmp_path / "runs.csv", *lines))
    assert "a    time_per_output_token_expected" in said
    assert "b    time_to_first_token_expected" in said


def test_all_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    """In one line, and not one by one."""
    path = tmp_path / "runs.csv"
    path.write_text("id,model,hardware,batch,ms\na,llama3-8b,h100-sxm,16,14\n", encoding="utf-8")
    wanted = "column 'kind' is missing; add it to the header, and template, settings, output, measured, source too"
    assert wanted in refused("fit", path)


def test_a_share_is_told_in_per_cent(tmp_path: Path) -> None:
    """An MFU of a run, beside what is expected of it."""
    line = "train,training,llama3-8b,h100-sxm,n_chips=64 batch_tokens=1048576 seq_len=8192,mfu,38%,,ours"
    said = command("validate", runs(tmp_path / "runs.csv", line))
    assert re.search(r"a    mfu_expected +38\.0 % +[0-9]+\.[0-9] % +", said)


def test_a_search_says_where_a_stack_is_not_used(served: Path) -> None:
    """A sweep over two chips names the one that the stack isn't fitted for, and nothing where it is fitted for all."""
    words = ("sweep", "inference", "-m", "llama3-8b", "--over", "batch=1,2", "--set", "stack=mine", "--calibrations")
    said = command(*words, served, "-H", "h100-sxm", "-H", "a100-sxm-80")
    assert "the stack mine is fitted to runs on chips of h100: its fit isn't used on a100-sxm-80" in said
    assert "isn't used" not in command(*words, served, "-H", "h100-sxm")


def test_a_parameter_at_its_limit_is_said_to_be_there(tmp_path: Path) -> None:
    """Training steps faster than the matmuls at their peak: their efficiency ends at 1, what is within limits is not
    said to be at one.
    """
    trained = "train,training,llama3-8b,h100-sxm,n_chips={0} mesh_fsdp={0} batch_tokens={1} seq_len=4096,"
    trained += "step_time_expected,{2},s,ours"
    steps = ((64, 2**20, 1.4), (32, 2**20, 2.73), (64, 2**21, 2.68), (16, 2**20, 5.355))
    own = runs(tmp_path / "runs.csv", *(trained.format(*step) for step in steps))
    moved = [line for line in command("fit", own, "-o", tmp_path / "mine.csv").splitlines() if " -> " in line]
    limits = {line.split()[0]: line.endswith("from 4 runs, at its limit") for line in moved if "from 4 runs" in line}
    assert limits.pop("train_matmul_efficiency")
    assert limits
    assert not any(limits.values())
