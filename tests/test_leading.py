"""`planner calc` says what to expect, how sure, what fits and binds, why it is not the ideal, and names runs alike."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planner.api.leading import _near
from planner.formulas import library
from planner.formulas.headlines import leading
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared, Results
from planner.number_text import between, percent, spoken, within
from planner.validation.nearest import nearest
from tests.commands import command
from tests.first_screens import SERVING, TRAINING, calc

PLANS = {
    "training": ("llama3-70b", "tpu-v5p", {"n_chips": 2048.0, "mesh_tensor": 4.0}),
    "inference": ("mixtral-8x7b", "h100-sxm", {"n_chips": 8.0, "batch": 64.0}),
    "collectives": (None, "h100-sxm", {"n_chips": 64.0}),
    "matmul": (None, "tpu-v5e", {"tokens": 512.0, "d_in": 4096.0, "d_out": 4096.0}),
}


def plan_of(name: str, **more: float | str) -> Results:
    """A plan of a template."""
    template, (model, chip, values) = library.load(name), PLANS[name]
    return Prepared(template, facts(template, model, chip)).results({**values, **more})


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0086123, "s", "8.61 ms"), (3.94e-5, "s", "39.4 us"), (11.84, "s", "11.8 s"), (300, "s", "5.00 min"),
        (2_303_732, "s", "26.7 days"), (2e8, "s", "6.34 years"), (36_000, "s", "10.0 h"), (2e-9, "s", "2.00 ns"),
        (3.94e-12, "s", "under 1 ns"), (-3.94e-12, "s", "above -1 ns"),
        (0, "s", "0 s"), (0.29313, "%", "29.3 %"), (22_017_537, "USD", "$22.0 million"), (1.4298, "USD", "$1.43"),
        (10.8, "USD", "$10.80"), (0.01234, "USD", "$0.0123"), (77_640, "USD", "$77,600"), (356_412, "1/s", "356,000"),
        (9.999, "1/s", "10.0"), (85.9e9, "byte", "85.9 GB"), (None, "s", "N/A"), (1, "chip", "1 chip"),
        (33, "chip", "33 chips"), (11_616, "chip", "11,616 chips"), (10.26, "chip", "10.3 chips"),
    ],
)  # fmt: skip
def test_numbers_as_people_say_them(value: float | None, unit: str, text: str) -> None:
    """Three digits, and units that people speak: milliseconds, days, percent, dollars; whole chips in full."""
    assert spoken(value, unit) == text


def test_percents_have_their_thousands_apart() -> None:
    """As every other number has, with and without a sign."""
    assert [percent(134.2, 0, signed=True), percent(-0.08, 0, signed=True), percent(10.5)] == [
        "+13,420 %", "-8 %", "1,050.0 %",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "like", "unit", "text"),
    [
        (0.6442, 1.53, "s", "0.644 s"), (124.2, 110.0, "s", "124 s"), (95_040_000.0, 7e7, "s", "1,100 days"),
        (9.7e8, 2e9, "USD", "$0.970 billion"), (0.0, 3.0, "s", "0 s"), (0.0, 1e9, "byte", "0 GB"),
        (3.94e-12, 0.561, "s", "under 1 ns"), (80.0, 130.0, "s", "1.33 min"),
        (4.374, 4600.0, "s", "4.37 s"), (9.54, 4600.0, "s", "9.54 s"), (0.018, 21.2, "s", "18.0 ms"),
        (21.2, 5e-4, "s", "21.2 s"), (86400.0, 1e9, "s", "24.0 h"), (9.7e6, 2e9, "USD", "$9.70 million"),
        (5e6, 8e10, "byte", "5.00 MB"), (1.12e6, 886_000.0, "USD", "$1,120,000"), (3e8, 10.0, "USD", "$300 million"),
    ],
)  # fmt: skip
def test_numbers_side_by_side_have_one_unit(value: float, like: float, unit: str, text: str) -> None:
    """What stands beside a number is said in that number's unit, unless it doesn't read well in it: a small part of it,
    or thousands.
    """
    assert spoken(value, unit, like) == text


def test_a_range_without_an_end_is_none() -> None:
    """What is N/A is said once."""
    assert (between(1.0, None, "s"), between(1.0, 2.0, "s")) == ("N/A", "1.00 s to 2.00 s")


@pytest.mark.parametrize("name", PLANS)
def test_what_leads_is_in_the_templates(name: str) -> None:
    """Every row that a template leads with is one of it; a number stands in its range, and never beats its bound."""
    results = plan_of(name)
    found = leading(name, results.template.by_name)
    assert found
    for each in found:
        number, low, high, bound = (results.number(row.name) for row in each.rows)
        assert low <= number <= high
        assert number <= bound if each.unit in ("%", "1/s") else number >= bound


@pytest.mark.parametrize("name", PLANS)
def test_the_parts_make_the_whole(name: str) -> None:
    """The parts of each time sum to it, none is below 0, and their shares make one."""
    results = plan_of(name)
    made = [each for each in leading(name, results.template.by_name) if each.parts]
    assert made
    for each in made:
        parts = each.shares(results.number)
        assert sum(part.seconds for part in parts) == pytest.approx(results.number(each.row.name), rel=1e-9)
        assert sum(part.share for part in parts) == pytest.approx(1, rel=1e-9)
        assert min(part.seconds for part in parts) > 0


def test_the_head_says_what_json_has() -> None:
    """Step, share of the peak, time, cost: the expected, its range and the bound, in the words of the rows' numbers."""
    raw, said = json.loads(calc(*TRAINING, "--json")), calc(*TRAINING)
    step = raw["step_time_expected"], raw["step_time_expected_low"], raw["step_time_expected_high"]
    words = [f"{value:.2f} s" if value < 10 else f"{value:.1f} s" for value in (*step, raw["step_time_lower_bound"])]
    assert re.search(rf"^Step +{words[0]}  {words[1]} to {words[2]} +{words[3]}$", said, re.MULTILINE)
    assert re.search(rf"^MFU +{raw['mfu_expected']:.1%}".replace("%", " %"), said, re.MULTILINE)
    assert f"{raw['train_time_expected'] / 86400:.0f} days" in said
    assert re.search(rf"Cost of the run +\${raw['train_cost_expected'] / 1e6:.1f} million", said)
    assert "Why not the ideal?" in said
    assert "Runs like yours" in said
    assert "All rows:" not in said
    said = calc(*TRAINING, "--all")
    assert said.index("Step") < said.index("All rows:") < said.index("step_time_lower_bound")


@pytest.mark.parametrize("name", PLANS)
def test_what_all_runs_like_a_plan_are_is_said_above_them(name: str) -> None:
    """A column of the nearest runs in which all are alike is left out, and its text stands in their title: which model,
    and what was timed.
    """
    found = nearest(library.load(name), plan_of(name).value, PLANS[name][1])
    assert found is not None
    _, head, titles, *lines = _near(found)
    for column, texts in (("what", {each.what for each in found.runs}), ("model", {each.model for each in found.runs})):
        text, *others = texts
        assert (column in titles.split()) == bool(others)
        assert (within(text) in head.partition("; all of them: ")[2]) == (not others or not text)
    assert len(lines) == len(found.runs)


def test_memory_says_by_how_much_it_does_not_fit() -> None:
    """What a chip holds, what it has, and the difference."""
    assert "Memory: fits, " in calc(*SERVING)
    raw = json.loads(calc(*SERVING, "batch=2000", "--json"))
    over = (raw["memory_bytes_per_chip"] - raw["hbm_bytes"]) / 1e9
    assert f"Memory: does not fit, {raw['memory_bytes_per_chip'] / 1e9:.0f} GB of" in calc(*SERVING, "batch=2000")
    assert f": {over:.0f} GB too much" in calc(*SERVING, "batch=2000")


def test_memory_of_training_leads_with_what_is_expected() -> None:
    """Beside the expected memory stands its bound, which may fit where the plan doesn't."""
    few = ["training", "-m", "llama3-8b", "-H", "h100-sxm", "--set", "n_chips=64"]
    raw = json.loads(calc(*few, "--json"))
    expected, least = raw["memory_expected_bytes_per_chip"] / 1e9, raw["memory_bytes_per_chip"] / 1e9
    assert f"Memory: does not fit, {expected:.0f} GB of 85.9 GB on a chip, {least:.1f} GB at least: " in calc(*few)
    more = [*few, f"n_microbatches={raw['min_microbatches']:g}"]
    assert "Memory: fits, " in calc(*more)
    assert "at least" not in calc(*SERVING)


def test_get_and_json_have_no_head() -> None:
    """Asked for rows, `calc` prints those alone; JSON is JSON."""
    assert calc(*SERVING, "--get", "batch").splitlines()[0].split() == ["name", "value", "unit", "formula"]
    assert json.loads(calc(*SERVING, "--json", "--get", "batch")) == {"batch": 32}


def test_the_ideal_is_said_to_be_one() -> None:
    """With stack=ideal the bound stands there as what it is, and nothing is taken apart."""
    said = calc(*SERVING, "stack=ideal")
    assert "these are the bounds" in said
    assert "Why not the ideal" not in said
    raw = json.loads(calc(*SERVING, "stack=ideal", "--json"))
    assert raw["decode_step_time_expected"] == raw["decode_step_time_bound"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["inference", "-m", "llama3-8b", "-H", "l4"], "No published runs of this chip: the median of GPUs"),
        (["inference", "-m", "llama3-8b", "-H", "cpu-spr-8481c"], "which is neither GPU nor TPU: the median of GPUs"),
        (["training", "-m", "llama3-8b", "-H", "h800-sxm"], "Few published runs of this chip: the median of GPUs"),
        (["inference", "-m", "llama3-8b", "-H", "tpu-v5e"], "No published runs of this kind on this chip"),
    ],
)
def test_a_chip_without_runs_says_so(words: list[str], line: str) -> None:
    """A chip whose calibration is the median of its kind, or of other uses, says so in a line."""
    assert line in calc(*words)
    assert "published runs of this" not in calc(*SERVING)


def test_a_missing_number_is_named_in_the_head() -> None:
    """Where nothing can be expected the head says why, and which column gives a number that follows from others."""
    said = calc("collectives", "-H", "tpu-8i", "--set", "n_chips=8")
    assert re.search(
        r"^N/A because .*topology is not in the hardware table \(a network of switch, mesh, pcie, ring, 2d_torus or "
        r"3d_torus would give it\)",
        said,
        re.MULTILINE,
    )


def test_the_first_screen_is_a_screen() -> None:
    """It fits in 40 lines, with what fits, what binds each headline, the largest batch and the smallest slice."""
    words = ["inference", "-m", "qwen3-235b-a22b", "-H", "h200-sxm", "--set", "n_chips=8"]
    said, raw = calc(*words), json.loads(calc(*words, "--json"))
    assert len(said.splitlines()) <= 40
    assert re.search(rf"^Largest batch in memory +{raw['max_batch']:.0f}$", said, re.MULTILINE)
    assert re.search(rf"^Smallest slice +{raw['min_slice_chips']:.0f} chips$", said, re.MULTILINE)
    times = raw["param_time"] / max(raw["kv_time"], raw["matmul_time"])
    assert re.search(rf"^Decode step +Time to read the weights, {times:.2f}x above ", said, re.MULTILINE)
    assert "--all shows all" in said


@pytest.mark.parametrize("name", library.names())
def test_every_template_has_a_first_screen(name: str) -> None:
    """No template's first screen is longer than 40 lines; without headlines it names results of the template."""
    words = [name, "-m", "llama3-70b", "-H", "tpu-v5e"]
    said, names = calc(*words).splitlines(), library.load(name).by_name
    assert 4 < len(said) <= 40
    if said[1].split() == ["name"]:
        shown = [line.split()[-1] for line in said[2:] if line][:-1]
        assert set(shown[:1]) <= names.keys()


def test_results_have_labels_and_the_units_of_speech() -> None:
    """A template without headlines prints its outputs: label, a number with a scaled unit, name."""
    said = calc("transformer", "-m", "llama3-70b")
    assert re.search(r"^Cache of a sequence +2\.684 GB +kv_bytes_per_sequence$", said, re.MULTILINE)
    assert "n_kv_heads" not in said


def test_a_template_of_ones_own_leads_with_its_results(tmp_path, monkeypatch) -> None:
    """Its outputs are printed, or what it calculates where it has none; its inputs where it calculates nothing."""
    monkeypatch.chdir(tmp_path)
    header = "name,label,unit,kind,formula,source,note\nrows,Rows,1,input,2,,\n"
    for rows, shown in (
        ("half,Half,1,calc,rows/rows,,\ntotal,Total,1,output,rows+half,,\n", ["Total 3 total"]),
        ("half,Half,1,calc,rows/rows,,\ntotal,Total,1,calc,rows+half,,\n", ["Half 1 half", "Total 3 total"]),
        ("", ["Rows 2 rows"]),
    ):
        (tmp_path / "mine.csv").write_text(header + rows, encoding="utf-8")
        said = calc("./mine.csv").splitlines()
        assert [" ".join(line.split()) for line in said[2:-2]] == shown


def test_why_ends_with_the_fitted_numbers() -> None:
    """The calibrations that an expected number is made of, each with its runs and error; an ideal number has none."""
    said = calc(*TRAINING, "--why", "step_time_expected").partition("It rests on these fitted numbers:")[2]
    assert re.search(
        r"train_matmul_efficiency +0\.\d+ .*h100 in calibrations.csv: fitted on \d+ runs of \d+ sources", said
    )
    assert re.search(r"median error \d+\.\d % with each left out", said)
    assert "train_matmul_factor" in said
    assert "fitted numbers" not in calc(*TRAINING, "--why", "step_time_lower_bound")


def test_why_names_a_file_of_ones_own(tmp_path) -> None:
    """A calibration of a person's own is told by file and line, what it leaves open by ours."""
    path = tmp_path / "own.csv"
    path.write_text("calibration,parameter,value\nh100,train_matmul_efficiency,0.7\n", encoding="utf-8")
    said = calc(*TRAINING, "--calibrations", str(path), "--why", "step_time_expected")
    assert "h100 in own.csv: line 2" in said
    assert "any in calibrations.csv: fitted on" in said


def test_a_mesh_that_is_not_named_follows_the_chips() -> None:
    """FSDP ways take what the other ways leave, as in a workbook; a mesh that is named stays."""
    raw = json.loads(calc(*TRAINING, "mesh_tensor=8", "--json"))
    assert (raw["mesh_fsdp"], raw["check_mesh"]) == (64, 1)
    assert json.loads(calc(*TRAINING, "mesh_fsdp=2", "--json"))["mesh_fsdp"] == 2


def test_why_goes_down_as_far_as_asked() -> None:
    """--depth ends it, a row cut short below is told in full where it stands higher, and several are told in turn."""
    whole = calc(*SERVING, "--why", "decode_step_time")
    assert calc(*SERVING, "--why", "decode_step_time", "--depth", "99") == whole
    rows = re.findall(r"^( *)(\w+) = ", calc(*SERVING, "--why", "decode_step_time", "--depth", "1"), re.MULTILINE)
    assert [(len(indent), name) for indent, name in rows] == [
        (0, "decode_step_time"), (2, "kv_time"), (2, "matmul_time"), (2, "param_time"),
    ]  # fmt: skip
    both = calc(*SERVING, "--why", "decode_step_time", "kv_time", "--depth", "1")
    assert both.endswith(calc(*SERVING, "--why", "kv_time", "--depth", "1"))


def test_what_a_branch_that_is_not_taken_lacks_is_not_missing(tmp_path: Path) -> None:
    """A chip of a node of 144 without bandwidths: eight chips need no network between nodes, which isn't asked for."""
    path = tmp_path / "mine.csv"
    path.write_text("id,network,max_chips\nmine,switch,144\n")
    words = ("calc", "collectives", "-H", "mine", "--hardware-csv", path, "--set")
    assert "node_bandwidth" not in command(*words, "n_chips=8")
    assert "node_bandwidth" in command(*words, "n_chips=288")


def test_why_memory_cannot_be_told(tmp_path: Path) -> None:
    """A chip without memory: the line below what fits says what is missing, once."""
    path = tmp_path / "bare.csv"
    path.write_text("id,name,peak_bf16\nbare,Bare,1e15\n")
    words = ("calc", "inference", "-m", "llama3-8b", "-H", "bare", "--hardware-csv", path, "--set")
    said = command(*words, "hbm_bandwidth=3TB/s", "price_per_chip_hour=2")
    block = said.partition("Memory: can't be told\n")[2].partition("\n\n")[0]
    assert block.endswith("\nN/A because hbm_bytes is not in the hardware table: --set a value")
    assert said.count("hbm_bytes") == 1
    assert "N/A because" not in command(*words, "hbm_bandwidth=3TB/s", "price_per_chip_hour=2", "hbm_bytes=80GB")


@pytest.mark.parametrize(
    ("first_token", "token", "said"),
    [
        ("200ms", "10ms", "no n_chips or load_factor within its range makes check_first_token hold; "
                          "no batch or n_chips within its range makes check_token_time hold"),
        ("200ms", "50ms", "no n_chips or load_factor within its range makes check_first_token hold; "
                          "batch {batch} for check_token_time"),
        ("300ms", "200ms", "load_factor {load_factor} for check_first_token"),
    ],
)  # fmt: skip
def test_what_is_advised_of_a_target_was_tried(first_token: str, token: str, said: str) -> None:
    """Each failed target has its own advice: the value of one input, which mends it, or that none does."""
    settings = ["n_chips=8", "batch=256", "request_rate=10", "prompt_len=4000", "generate_len=500", "context_len=4500"]
    targets = [f"target_first_token_time={first_token}", f"target_token_time={token}"]
    words = ["fleet", "-m", "llama3-70b", "-H", "h100-sxm", "--set", *settings, *targets]
    (line,) = (each for each in calc(*words).splitlines() if each.startswith("What to change first: "))
    advised = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[0-9.]+)", said), line.partition(": ")[2])
    assert advised is not None, line
    for name, value in advised.groupdict().items():
        check = said.rpartition(" ")[2]
        assert json.loads(calc(*words, f"{name}={value}", "--json", "--get", check)) == {check: 1.0}
