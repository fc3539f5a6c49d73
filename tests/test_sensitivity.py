"""Elasticities: exact where the answer is known, and those of the plan one at a time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

import planner
from planner.api.sensitivity import of_scenarios
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.elasticities import Elasticity, Sensitivity, sensitivity
from planner.formulas.evaluation import Facts
from planner.report.report_data import report_data
from planner.xlsx.opc import Package
from tests.commands import refused, run
from tests.pages import run as run_line
from tests.workbooks import sheet_of, write_small

HEADER = "name,label,unit,kind,formula,source,note\n"
KNOWN = """\
rate,Rate,byte/s,input,4e9,,
amount,Amount,byte,input,8e9,,
fixed_time,Fixed time,s,input,2,,
number,Number,1,input,10,,
is_on,On,1,input,1,,
spare,Spare,s,input,0,,
unused,Unused,s,input,7,,
moving_time,Moving time,s,calc,number*amount/rate,,
total_time,Total time,s,output,"MAX(moving_time,number*fixed_time)+spare*is_on+0*unused",,
"""
PLAN = "training -m llama3.1-405b -H h100-sxm --set n_chips=16384 mesh_tensor=8"


def known(tmp_path: Path, text: str = KNOWN) -> Path:
    """A template of known slopes."""
    path = tmp_path / "known.csv"
    path.write_text(HEADER + text, encoding="utf-8")
    return path


def of(found: Sensitivity, name: str) -> Elasticity:
    """The elasticity to a name."""
    return next(each for each in found.elasticities if each.row.name == name)


def sides(each: Elasticity) -> list[float]:
    """Those of less and of more, where they are known."""
    return [tried.elasticity for tried in (each.down, each.up) if tried and tried.elasticity is not None]


def test_powers_are_exact(tmp_path: Path) -> None:
    """A row that goes with the square of a quantity has an elasticity of 2, with its inverse -1, on both sides."""
    path = known(tmp_path, KNOWN.replace("number*amount/rate", "number*(amount/rate)^2/fixed_time"))
    found = sensitivity(library.load(path), Facts(), {}, "moving_time")
    for name, slope in (("amount", 2), ("rate", -2), ("fixed_time", -1)):
        assert sides(of(found, name)) == pytest.approx([slope, slope], abs=1e-9)
        assert not of(found, name).is_kink
        assert of(found, name).note == ""


def test_a_kink_is_marked(tmp_path: Path) -> None:
    """Where two parts of a MAX are equal, more of one is felt and less of it is not: a kink."""
    found = sensitivity(library.load(known(tmp_path)), Facts(), {}, "total_time")
    assert found.value == 20
    for name, slopes in (("amount", [0, 1]), ("rate", [-1, 0]), ("fixed_time", [0, 1])):
        assert sides(of(found, name)) == pytest.approx(slopes, abs=1e-9)
        assert of(found, name).note == "kink"


def test_counts_go_by_whole_steps(tmp_path: Path) -> None:
    """A count of 10 is tried at 9 and 11, and its elasticity is that between these."""
    each = of(sensitivity(library.load(known(tmp_path)), Facts(), {}, "total_time"), "number")
    assert each.up is not None
    assert each.down is not None
    assert (each.down.at, each.up.at, each.up.result) == (9, 11, 22)
    assert sides(each) == pytest.approx([1, 1], abs=1e-12)


def test_what_has_no_elasticity_is_named(tmp_path: Path) -> None:
    """Flags, texts, what is 0 and what is felt nowhere are left out by name; nothing is both told and left out."""
    template = library.load(known(tmp_path))
    left_out = sensitivity(template, Facts(), {}, "total_time").left_out
    assert left_out == {"0 now": ("spare",), "a yes or a no": ("is_on",), "felt nowhere": ("unused",)}
    below = sensitivity(template, Facts(), {"number": -1.0}, "total_time").left_out
    assert below["below 0"] == ("number",)
    found = sensitivity(*_plan(), "step_time_expected")
    names = [each.row.name for each in found.elasticities]
    others = [name for group in found.left_out.values() for name in group]
    assert len({*names, *others}) == len(names) + len(others)
    assert {"stack", "weight_dtype"} <= set(found.left_out["texts"])
    assert found.left_out["stages"] == ("zero_stage",)
    assert found.left_out["follows another"] == ("mesh_fsdp",)
    assert {"hbm_bandwidth", "train_matmul_efficiency", "d_model", "batch_tokens"} <= set(names)


def _plan() -> tuple[library.Template, Facts, dict[str, float]]:
    from planner.formulas.lookups import facts

    template = library.load("training")
    values = {"n_chips": 16384.0, "mesh_tensor": 8.0}
    return template, facts(template, "llama3.1-405b", "h100-sxm"), values


def test_columns_are_the_plans_one_at_a_time() -> None:
    """Each value that was tried gives, typed alone, the number that its column has, and breaks the checks it names."""
    template, facts, values = _plan()
    found = sensitivity(template, facts, values, "step_time_expected")
    holding = set(planner.calc("training", model="llama3.1-405b", hardware="h100-sxm", **values).failed_checks)
    for each in found.elasticities:
        for tried in (each.up, each.down):
            if tried is not None:
                typed = values | {each.row.name: tried.at}
                plan = planner.calc("training", model="llama3.1-405b", hardware="h100-sxm", **typed)
                assert plan["step_time_expected"] == tried.result
                if each.row.kind == "input":
                    assert set(plan.failed_checks) - holding == set(tried.breaks)
                ratio, step = tried.result / found.value, tried.at / each.value
                assert tried.elasticity == pytest.approx(math.log(ratio) / math.log(step), rel=1e-9)


def test_the_largest_comes_first() -> None:
    """Elasticities are in the order of their size, and the chips move the FSDP ways that follow them."""
    found = sensitivity(*_plan(), "step_time_expected")
    sizes = [each.size for each in found.elasticities]
    assert sizes == sorted(sizes, reverse=True)
    chips = of(found, "n_chips")
    assert chips.up is not None
    assert chips.up.at == 16392  # a whole number of the eight tensor ways
    assert "check_mesh" not in chips.up.breaks


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("training -m gpt2 -H h100-sxm --of stack", "stack is a text"),
        (
            "matmul -H h100-sxm --set tokens=8 --of tokens",
            "tokens is an input, which no other changes; ask for what is made of it: --of ",
        ),
        (
            "matmul -H h100-sxm --of hbm_bandwidth",
            "hbm_bandwidth is a looked-up number, which no other changes; ask for",
        ),
        ("training -m gpt2 -H h100-sxm --of step_tme_expected", "did you mean"),
        ("training -m gpt2 -H h100-sxm --of recomputed_share", "is 0 in this plan"),
        ("inference -m gpt2 -H h100-sxm --of cost_per_million_tokens_expected --set price_per_chip_hour=N/A", "is N/A"),
        ("plan.xlsx -m gpt2", "a workbook has its own models"),
        ("plan.xlsx", "no such file"),
        ("training -m gpt2 -H h100-sxm -o table.xlsx", "name ends in .csv"),
    ],
)
def test_refusals(line: str, said: str, tmp_path: Path) -> None:
    """What has no elasticity, and what can't be read or written, is refused in one line."""
    printed = run_line(f"planner sensitivity {line}", tmp_path)
    assert printed.startswith("Error: ")
    assert said in printed
    assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_workbooks_scenarios_are_the_templates_plans(tmp_path: Path) -> None:
    """The elasticities of a scenario are those of its template at the scenario's values; an edited one is not told."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e", "h100-sxm"], ["inference"], batch=16)
    frame, scenarios = planner.sensitivity(path), planner.read(path).scenarios
    keys = dict(zip(scenarios.hardware, scenarios.index, strict=True))
    for chip, key in keys.items():
        mine = frame[frame.scenario == key]
        alone = planner.sensitivity("inference", model="llama3-8b", hardware=chip, batch=16)
        shared = alone.index.intersection(mine.index)
        assert {"batch", "hbm_bandwidth", "n_layers"} <= set(shared)
        pd.testing.assert_series_equal(mine.elasticity_more[shared], alone.elasticity_more[shared])


def test_an_output_goes_by_what_people_call_it(tmp_path: Path) -> None:
    """`--of ttft` is the time to first token, of a template as of a workbook."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["inference"], n_chips=4)
    for words in (("inference", "-m", "llama3-8b", "-H", "tpu-v5e", "--set", "n_chips=4"), (path,)):
        assert "Elasticities of time_to_first_token_expected" in run("sensitivity", *words, "--of", "TTFT").output


def test_a_workbook_of_a_part_is_told_too(tmp_path: Path) -> None:
    """A workbook of one matmul has the template's elasticities; one without sizes says what to type, and where."""
    path, sizes = tmp_path / "matmul.xlsx", {"tokens": 128.0, "d_in": 512.0, "d_out": 512.0}
    write_small(path, [], ["h100-sxm"], ["matmul"], **sizes)
    for name in ("", "expected_time", "flops"):
        mine = planner.sensitivity(path, of=name)
        alone = planner.sensitivity("matmul", hardware="h100-sxm", of=name, **sizes)
        shared = mine.index.intersection(alone.index)
        assert "d_in" in shared
        pd.testing.assert_series_equal(mine.elasticity_more[shared], alone.elasticity_more[shared])
    with pytest.raises(UserError, match="no sheet of a shipped template has the row 'mfu'; planner find"):
        planner.sensitivity(path, of="mfu")
    with pytest.raises(UserError, match=r"matmul.xlsx: stack is a text, .*; choose another with --of"):
        planner.sensitivity(path, of="stack")
    with pytest.raises(UserError, match=r"matmul.xlsx: d_in is an input, .*: --of expected_time"):
        planner.sensitivity(path, of="d_in")
    write_small(path, [], ["h100-sxm"], ["matmul"])
    with pytest.raises(UserError, match=r"matmul.xlsx: expected_time is N/A because tokens .*; type it on Inputs"):
        planner.sensitivity(path, of="expected_time")


def test_a_scenario_that_cant_be_told_leaves_the_others(tmp_path: Path) -> None:
    """A chip without a peak has no step to depend on: a line says so, and the table and a report have the other one."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["v100-sxm2-32", "h100-sxm"], ["inference"], batch=16)
    done = run("sensitivity", path, "--json")
    assert done.exit_code == 0
    assert list(json.loads(done.stdout)) == ["llama3_8b_on_h100_sxm"]
    said = "Warning: llama3_8b_on_v100_sxm2_32: decode_step_time_expected is N/A because peak_flops is given as N/A"
    assert done.stderr.startswith(said)
    drawn = [picture.id for picture in report_data(path).pictures if picture.id.startswith("depends")]
    assert len(drawn) == 1


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    """The table has a line for each of the --top; --json and the CSV have all of them, with what is left out."""
    printed = run_line(f"planner sensitivity {PLAN} --top 5", tmp_path)
    names = [line.split()[0] for line in printed.splitlines()[2:7]]
    everything = json.loads(run_line(f"planner sensitivity {PLAN} --json", tmp_path))
    assert [each["name"] for each in everything["elasticities"]][:5] == names
    assert everything["name"] == "step_time_expected"
    assert everything["left_out"]["stages"] == ["zero_stage"]
    assert run_line(f"planner sensitivity {PLAN} -o all.csv", tmp_path).startswith("Wrote all.csv")
    frame = pd.read_csv(tmp_path / "all.csv")
    assert list(frame.name) == [each["name"] for each in everything["elasticities"]]
    with pytest.raises(UserError, match="no row"):
        planner.sensitivity("training", model="gpt2", hardware="h100-sxm", of="nothing_such")


def test_elasticities_are_written_into_the_workbook(tmp_path: Path) -> None:
    """With --write a workbook has a sheet of them with a tornado for each scenario, and the next takes its place."""
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e", "h100-sxm"], ["inference"], batch=16)
    told = of_scenarios(path, "decode_step_time_expected")
    assert len(told) == 2
    for _ in range(2):
        done = run("sensitivity", path, "--write", "--of", "decode_step_time_expected")
        assert done.output == f"{path}: wrote the sheet Elasticities, 2 scenarios.\n"
    assert [name for name in Package.read(path).sheets() if name.startswith("Elasticities")] == ["Elasticities"]
    sheet = sheet_of(path, "Elasticities")
    assert len(sheet._charts) == 2
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=5, max_col=7)]
    for scenario, found in told.items():
        first = next(at for at, row in enumerate(rows) if str(row[0]).startswith(f"{scenario}: ")) + 2
        for row, each in zip(rows[first:], found.elasticities, strict=False):
            sides = [tried and tried.elasticity for tried in (each.down, each.up)]
            assert row[1] == each.row.name
            assert [row[3], *row[4:6]] == [pytest.approx(each.value), *map(pytest.approx, sides)]
    assert "--write is for a workbook" in refused("sensitivity", "inference", "--write")


def test_the_default_of_a_fleet_is_a_time_and_no_number_of_chips() -> None:
    """Whole chips jump or stay: by default the time to first token is told, which the prompt's length moves."""
    found = planner.sensitivity(
        "fleet", model="llama3-8b", hardware="h100-sxm", n_chips=1, batch=64, request_rate=20, prompt_len=2000,
        generate_len=500, context_len=2500,
    )  # fmt: skip
    assert found.attrs["of"][0] == "first_token_time_loaded"
    assert found.loc["prompt_len", "elasticity_more"] > 0.5
