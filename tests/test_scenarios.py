"""The scenarios of a workbook: products of models and chips, and the rows of an analyst's CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner import progress
from planner.errors import UserError
from planner.workbook.scenarios import plan_of
from tests.commands import run
from tests.seeded import SERVE
from tests.short_data import of_few_rows
from tests.workbooks import few_rows

HEADER = "scenario,name,model,hardware,n_chips,batch,weight_dtype\n"


def scenarios(tmp_path: Path, text: str | bytes) -> list[tuple[object, ...]]:
    """The scenarios of a CSV's text."""
    path = tmp_path / "scenarios.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    plan = plan_of((), (), (), path, ())
    return [(each.id, each.name, each.model, each.hardware, dict(each.values)) for each in plan.scenarios]


def test_each_row_is_a_scenario(tmp_path: Path) -> None:
    """A row's ids are found whatever their case, its numbers typed, its blanks left to the defaults."""
    text = HEADER + "small,Eight v5e,Llama-3-8B,TPU-v5e,8,,int8\n,,llama3-70b,tpu-v5p,,128,\n"
    assert scenarios(tmp_path, text) == [
        ("small", "Eight v5e", "llama3-8b", "tpu-v5e", {"n_chips": 8, "weight_dtype": "int8"}),
        ("llama3_70b_on_tpu_v5p", "llama3-70b on tpu-v5p", "llama3-70b", "tpu-v5p", {"batch": 128}),
    ]


def test_two_that_are_one_model_on_one_chip_are_told_apart(tmp_path: Path) -> None:
    """Scenarios without a name that would all be shown as the same are shown by their ids; a given name stays."""
    text = HEADER + "chat,,llama3-8b,tpu-v5e,8,,\ndocs,,llama3-8b,tpu-v5e,8,32,\nmine,Mine,llama3-8b,tpu-v5e,,,\n"
    assert [each[1] for each in scenarios(tmp_path, text)] == ["chat", "docs", "Mine"]


def test_a_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    """What Excel saves as CSV UTF-8 is read silently."""
    text = b"\xef\xbb\xbf" + HEADER.replace("\n", "\r\n").encode() + b"a,,gpt2,tpu-v4,1,1,\r\n"
    assert [row[0] for row in scenarios(tmp_path, text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (HEADER + "a,,lama3-70b,tpu-v5e,1,1,\n", 'line 2, column model: no model "lama3-70b"; did you mean'),
        (HEADER + "a,,gpt2,tpu-v5x,1,1,\n", 'line 2, column hardware: no accelerator "tpu-v5x"; did you mean'),
        ("scenario,model,,batch\na,gpt2,,1\n", "line 1, column 3: the column has no name; the first line names"),
        ("scenario,model,request_rate\na,gpt2,1\n", "unknown column 'request_rate'; fleet has it: add --template"),
        (HEADER + "a,,gpt2,tpu-v5e,eight,1,\n", "line 2, column n_chips: n_chips=eight: 'eight' is no number"),
        (HEADER + 'a,,gpt2,tpu-v5e,"1,5",1,\n', "write a point for decimals"),
        (HEADER + "a,,gpt2,tpu-v5e,1,1,\nA,,gpt2,tpu-v4,1,1,\n", "line 3: scenario 'A' stands in line 2 already"),
        (
            HEADER + "a,Chat,gpt2,tpu-v5e,1,1,\nb,chat,gpt2,tpu-v4,1,1,\n",
            "line 3, column name: there is a scenario 'chat' already, in line 2; give another name",
        ),
        (
            HEADER + '"a\nb",,gpt2,tpu-v5e,1,1,\n',
            r"line 3, column scenario: 'a\nb' is no name for a scenario: it holds c",
        ),
        (HEADER + '"a","x\ty",gpt2,tpu-v5e,1,1,\n', "column name: 'x\\ty' is no name for a scenario: it holds control"),
        (HEADER + "a,x\u2028y,gpt2,tpu-v5e,1,1,\n", "column name: 'x\\u2028y' is no name for a scenario: it holds"),
        (HEADER + f"a,{'x' * 81},gpt2,tpu-v5e,1,1,\n", "xx' is no name for a scenario; give 1 to 80 characters"),
        (HEADER + f"{'x' * 81},,gpt2,tpu-v5e,1,1,\n", "xx' is no name for a scenario; give 1 to 80 characters"),
        (HEADER + "a*,,gpt2,tpu-v5e,1,1,\n", "column scenario: 'a*' is no id for a scenario: spreadsheets that count"),
        (HEADER + ">5,,gpt2,tpu-v5e,1,1,\n", "'>5' is no id for a scenario: spreadsheets that count by it take > for"),
        (HEADER + "a,,gpt2,tpu-v5e,1\n", "line 2: 5 cells, but the header has 7 columns"),
        (HEADER, "the file has no scenario; add a row below the header"),
        ("scenario,bacth\na,1\n", "line 1: unknown column 'bacth'; did you mean batch"),
        ("Scenario,Name,Model,Hardware\na,A,gpt2,tpu-v5e\n", "unknown column 'Scenario'; did you mean scenario? the"),
        ("sep=,\nscenario,batch\na,1\n", "line 1: the first line names the separator, which only Excel reads; delete"),
        ("scenario;model;hardware\n", "line 1: the columns are separated by semicolons; save it with commas: "),
        ("scenario,scenario\n", "column 'scenario' is there twice"),
        ("", "the file is empty"),
        ((HEADER + "a,,gpt2,tpu-v5e,1,1,\n").encode("utf-16"), "this is UTF-16 text"),
        (HEADER.encode() + "café,,gpt2,tpu-v5e,1,1,\n".encode("latin-1"), "line 2: byte 0xE9 is not UTF-8"),
    ],
)
def test_a_faulty_file_is_named(tmp_path: Path, text: str | bytes, wrong: str) -> None:
    """Each fault of a scenarios file names the file, the line and what to do."""
    with pytest.raises(UserError) as caught:
        scenarios(tmp_path, text)
    assert "scenarios.csv" in str(caught.value)
    assert wrong in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_find_their_place() -> None:
    """A chip or a template among the models' arguments is taken for what it is; each model meets each chip."""
    plan = plan_of(["gpt2", "tpu-v4", "inference"], ["tpu-v5e"], (), None, ["batch=2"])
    assert [template.name for template in plan.templates] == ["inference"]
    assert [(each.model, each.hardware) for each in plan.scenarios] == [("gpt2", "tpu-v5e"), ("gpt2", "tpu-v4")]
    assert all(each.values == {"batch": 2} for each in plan.scenarios)


def test_one_model_twice_gives_two_ids() -> None:
    """Scenarios that would share an id are told apart."""
    plan = plan_of(["gpt2", "gpt2"], ["tpu-v4"], (), None, ())
    assert [each.id for each in plan.scenarios] == ["gpt2_on_tpu_v4", "gpt2_on_tpu_v4_2"]


@pytest.mark.parametrize(
    ("models", "chips", "wrong"), [((), ("tpu-v4",), "no model is named"), (("gpt2",), (), "no chip is named")]
)
def test_half_a_plan_is_asked_for(models: tuple[str, ...], chips: tuple[str, ...], wrong: str) -> None:
    """A model without a chip, or a chip without a model, is asked for the other."""
    with pytest.raises(UserError, match=wrong.replace("?", r"\?")):
        plan_of(models, chips, (), None, ())


def test_scenarios_without_a_chip_or_a_model_are_named(tmp_path: Path) -> None:
    """`build` names them in a warning each, and `check` says it of each in its cell; where nothing is lacked, nobody.

    A template that looks up no chip wants none.
    """
    path, book = tmp_path / "scenarios.csv", tmp_path / "plan.xlsx"
    rows, own = few_rows(("gpt2",), ("tpu-v5e",)), tmp_path / "serve.csv"
    own.write_text(SERVE, encoding="utf-8")
    few = ("--models", str(rows.models_csv), "--hardware-csv", str(rows.hardware_csv), "--only")

    def built(text: str, *words: str) -> tuple[str, str]:
        path.write_text(text)
        done = run("build", "--scenarios", path, "--force", "-o", book, *words, *few)
        assert done.exit_code == 0, done.output
        return done.stderr, run("check", book).output

    said, checked = built("scenario,model,hardware\na,gpt2,\nb,,tpu-v5e\nc,gpt2,tpu-v5e\n", "--template", str(own))
    assert "Warning: no model for the scenario b: what needs one is N/A there; choose it on Inputs\n" in said
    assert "Warning: no chip for the scenario a: " in said
    assert "Inputs!F7: scenario a has no chip" in checked
    assert "Inputs!G6: scenario b has no model" in checked
    said, checked = built("scenario,model\na,gpt2\nb,gpt2\n", "--template", "matmul")
    assert "no chip for the scenarios a, b: " in said
    assert "scenario a has no chip" in checked
    said, checked = built("scenario,model\na,gpt2\n", "--template", "transformer")
    assert said == ""
    assert "has no" not in checked


@of_few_rows()
def test_a_chip_of_too_few_columns_is_told_when_it_is_planned(tmp_path: Path) -> None:
    """Of several chips no link is known: of each model and chip one line says what is N/A, and which columns lack."""
    chips, plan = tmp_path / "chips.csv", tmp_path / "plan.xlsx"
    chips.write_text(
        "id,name,kind,peak_bf16,hbm_bytes,hbm_bandwidth,price_per_chip_hour\nacme,Acme,gpu,1e15,80e9,3e12,2\n",
        encoding="utf-8",
    )
    words = ["build", "llama3-8b", "-H", "acme", "--hardware-csv", str(chips), "-o", str(plan), "--force"]
    done = run(*words, "--set", "n_chips=4")
    assert done.exit_code == 0, done.output
    told = [line for line in done.stderr.splitlines() if "N/A" in line]
    assert len(told) == 1
    assert "the expected decode step of llama3_8b_on_acme is N/A" in told[0]
    assert "network" in told[0]
    alone = run(*words, "--set", "n_chips=1")
    assert (alone.exit_code, alone.stderr) == (0, ""), "one chip needs no network"


WORKLOADS = """scenario,workload,model,hardware,n_chips,batch,seq_len,mesh_fsdp
serves,inference,gpt2,h100-sxm,2,64,{seq_len},{ways}
trains,training,gpt2,h100-sxm,8,{batch},2048,8
"""


@pytest.mark.parametrize(
    ("values", "settings", "says"),
    [
        ({"seq_len": 8192, "ways": "", "batch": ""}, [], ["seq_len of serves"]),
        ({"seq_len": 8192, "ways": 4, "batch": 16}, [], ["seq_len of serves, mesh_fsdp of serves, batch of trains"]),
        # what it has anyway, as planner export-inputs writes it: the default, and what follows the chips
        ({"seq_len": 4096, "ways": 2, "batch": 1}, [], []),
        ({"seq_len": 8192, "ways": "", "batch": ""}, ["seq_len=8192"], []),
        ({"seq_len": "", "ways": "", "batch": ""}, [], []),
    ],
)
def test_an_input_of_another_workload_is_doubted(
    tmp_path: Path, values: dict[str, object], settings: list[str], says: list[str]
) -> None:
    """A scenario that serves doesn't read what training alone does, nor the other way round: a warning names both."""
    progress.say_warnings()
    file = tmp_path / "scenarios.csv"
    file.write_text(WORKLOADS.format(**values))
    plan_of([], [], [], file, settings)
    assert [text.partition("workload: ")[2] for text in progress.warnings()] == says
    progress.say_warnings()


def test_prompts_follow_the_context_as_in_calc() -> None:
    """A scenario that says the context alone has prompts of that length, as `planner calc` has; one that says both
    keeps them."""
    few = few_rows(("llama3-8b",), ("h100-sxm",))
    plans = [
        plan_of(["llama3-8b"], ["h100-sxm"], ("inference",), None, settings, few)
        for settings in (["context_len=4096"], ["context_len=4096", "prompt_len=1024"])
    ]
    assert [plan.scenarios[0].values["prompt_len"] for plan in plans] == [4096, 1024]
