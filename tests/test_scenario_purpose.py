"""`planner scenario add` for a workload: whose column is copied, what follows, and sheets that are added for it."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest
from click.testing import Result
from openpyxl.comments import Comment

from planner import progress
from planner.book.read_plan import read_plan
from planner.book.rowkeys import PARTS
from planner.book.workbook import Book
from planner.catalog.databases import Databases
from planner.check.run import check
from planner.diff.as_text import as_text, sections
from planner.diff.two_workbooks import compare, read_both
from planner.formulas import library
from planner.formulas.evaluation import evaluate
from planner.formulas.lookups import facts
from planner.scenario.new_column import NewScenario
from planner.scenario.purpose import completed, lacks, source_of, workload_of
from planner.scenario.which import ID
from planner.update.update import update_file
from planner.workbook import dashboard_charts
from planner.workbook.memory import remembered
from planner.workbook.scenarios import plan_of
from planner.workbook.sweep_sheet import FAILING_WIDTH, WORDS_WIDTH
from planner.workbook.workloads import WORKLOAD
from planner.xlsx.opc import Package
from planner.xlsx.xmltree import every
from tests.commands import command, printed_by, refusal, run
from tests.libreoffice import needs_libreoffice, saved
from tests.workbooks import SheetsOf, agree, build_small, edit, row_of

SERVES, TRAINS = "mine_on_tpu_v5e", "trained"
EXPECTED = ("decode_step_time_expected", "step_time_expected", "train_cost_expected")
pytestmark = pytest.mark.usefixtures("short_data", "few_cases")
ROOT = Path(__file__).parent.parent


def add(path: Path, *words: str) -> Result:
    """Run the command."""
    return run("scenario", "add", path, *words)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A workbook that serves, and nothing else, with a model of a person's own."""
    folder = tmp_path_factory.mktemp("built")
    titles, *lines = (ROOT / "model_db" / "models.csv").read_text(encoding="utf-8").splitlines()
    mine = next(line for line in lines if line.startswith("llama3-8b,")).replace("llama3-8b", "mine", 1)
    (folder / "my_models.csv").write_text(f"{titles}\n{mine}\n", encoding="utf-8")
    plan = plan_of(["mine"], ["tpu-v5e"], ["inference"], None, ["n_chips=4", "batch=8"],
                   Databases(folder / "my_models.csv"))  # fmt: skip
    return build_small(plan)


@pytest.fixture(scope="module")
def edited(built: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same after a person's work."""
    path = tmp_path_factory.mktemp("edited") / "plan.xlsx"
    path.write_bytes(built)
    edit(path, work)
    return path.read_bytes()


@pytest.fixture(scope="module")
def mixed(edited: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same with a scenario that trains."""
    path = tmp_path_factory.mktemp("mixed") / "plan.xlsx"
    path.write_bytes(edited)
    said = printed_by(
        add(path, "Trained", "--workload", "Training", "-H", "tpu-v5p", "--set", "n_chips=512", "seq_len=8192")
    )
    assert "added trained in column G of Inputs" in said
    assert f"like {SERVES}, for training." in said
    assert "New sheets: Training" in said
    assert "It was also made from my_models.csv, which" in said
    assert "planner update with --models" in said
    assert (path.parent / "plan.bak.xlsx").exists()
    return path.read_bytes()


@pytest.fixture(scope="module")
def drawn(mixed: bytes, tmp_path_factory: pytest.TempPathFactory) -> SheetsOf:
    """What openpyxl reads of it, for those that only look."""
    path = tmp_path_factory.mktemp("drawn") / "plan.xlsx"
    path.write_bytes(mixed)
    return SheetsOf(path)


@pytest.fixture(name="plan")
def fixture_plan(mixed: bytes, tmp_path: Path) -> Path:
    """A copy of it."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(mixed)
    return path


@pytest.fixture(scope="module")
def book(mixed: bytes) -> Book:
    """What planner reads of it."""
    return Book(Package.from_bytes(mixed, "plan.xlsx"))


def work(book: openpyxl.Workbook) -> None:
    """An override, a number typed over a formula, a note, and a sheet that reads a result."""
    row = row_of(book, "Inference", "decode_step_time")
    book["Inference"].cell(row_of(book, "Inference", "kv_time"), 6).value = 0.25
    book["Inputs"].cell(row_of(book, "Inputs", "hbm_bandwidth"), 6).value = 7e11
    book["Inputs"]["F12"].comment = Comment("ask Ann", "me")
    book.create_sheet("Mine")["A1"] = f"=2*Inference!F{row}"
    at = first_factor(book, "Inference")
    book["Sensitivity"].cell(at, 1).value = 0.4
    book["Mine"]["A2"] = f"=Sensitivity!E{at}"


def first_factor(book: openpyxl.Workbook | SheetsOf, sheet: str) -> int:
    """The row of the first efficiency on Sensitivity in the table of a sheet."""
    column = [str(cell.value or "") for cell in book["Sensitivity"]["A"]]
    return 4 + next(at for at, text in enumerate(column) if text.startswith(f"{sheet}: cost "))


def test_diff_counts_what_planner_wrote_anew(plan: Path, edited: bytes, tmp_path: Path) -> None:
    """Formulas, texts and rows that the new workload brought are counted by sheet; a person's edit is told."""

    def verdict(book: openpyxl.Workbook) -> None:
        book["Dashboard"].cell(row_of(book, "Dashboard", "verdict"), 6).value = '="fine"'

    before = tmp_path / "before.xlsx"
    before.write_bytes(edited)
    edit(plan, verdict)
    found = compare(*read_both(before, plan))
    own = [change.name for change in found.formulas if not change.by_planner]
    assert own == ["verdict"]
    assert len(found.formulas) > 100
    formulas = dict(sections(found))["Formulas overridden or edited"]
    assert [text.partition(":")[0] for text in formulas][1:] == ["written anew by planner"]
    rows = dict(sections(found))["Sheets, scenarios, rows and columns"]
    assert not [text for text in rows if text.startswith(("row added: Dashboard", "row added: Checks"))]
    assert "written anew by planner" not in as_text(found, whole=True)


def test_the_factors_of_a_what_if_stay_in_its_table(plan: Path) -> None:
    """Above the table of serving comes that of training, with factors of its own; what reads a cost reads the same."""
    book = SheetsOf(plan)
    serving, training = first_factor(book, "Inference"), first_factor(book, "Training")
    assert training < serving
    assert [book["Sensitivity"].cell(at, 1).value for at in (training, serving)] == [0.5, 0.4]
    assert book["Mine"]["A2"].value == f"=Sensitivity!E{serving}"


def test_the_sheets_of_the_workload_are_added_and_nothing_is_lost(plan: Path, edited: bytes, tmp_path: Path) -> None:
    """What a person did is there, the scenario of before is for serving, and says what it said."""
    before = tmp_path / "before.xlsx"
    before.write_bytes(edited)
    old, new = read_plan(before), read_plan(plan)
    assert [new.value("workload", key) for key in (SERVES, TRAINS)] == ["inference", "training"]
    results = {row.name: row.value(SERVES) for row in new.tables["Inference"]}
    assert results == {row.name: row.value(SERVES) for row in old.tables["Inference"]}
    assert results["kv_time"] == 0.25
    assert next(row for row in new.overrides if row.name == "hbm_bandwidth").value(SERVES) == 7e11
    assert [(note.ref, note.text) for note in new.notes] == [(note.ref, "ask Ann") for note in new.notes]
    assert len(new.notes) == 1
    assert new.at("Mine", 1, 1) == 2 * results["decode_step_time"]  # type: ignore[operator]
    assert list(new.tables) == ["Training", "Inference"]
    assert not new.stale
    assert {each.kind for each in check(Package.read(plan)).found} <= {"failed_check", "override"}


def test_its_charts_stand_below_those_that_were_there(drawn: SheetsOf, built: bytes) -> None:
    """Dashboard draws the sweeps of the new workload: below the other charts, which stay, and within what prints."""
    before = Package.from_bytes(built, "plan.xlsx")
    (drawing,) = before.linked(before.sheets()["Dashboard"], "drawing")
    n_old, new = len(before.linked(drawing, "chart")), drawn["Dashboard"]
    rows = [chart.anchor._from.row for chart in new._charts]
    titles = ["".join(run.t for run in chart.title.tx.rich.p[0].r) for chart in new._charts]
    assert titles[n_old:] == [
        "Cost of the run (million USD)", "Where the time of a step goes (s)",
        "Training: memory of a chip over chips", "Training: expected step over chips",
    ]  # fmt: skip
    assert min(rows[n_old:]) > max(rows[:n_old])
    assert max(rows[n_old:]) < max(rows[:n_old]) + 90
    assert int(new.print_area.rpartition("$")[2]) > max(rows)


def waterfall(book: SheetsOf) -> tuple[list[str], int, int]:
    """The ranges that Dashboard's only waterfall draws, and the first and last row of its table."""
    sheet = book["Dashboard"]
    (chart,) = (each for each in sheet._charts if "From bound to expected" in each.title.tx.rich.p[0].r[0].t)
    first = next(cell.row for (cell,) in sheet["A1:A400"] if cell.value == PARTS) + 1
    last = next(row for row in range(first, 400) if sheet.cell(row, 1).value is None) - 1
    return [each.val.numRef.f for each in chart.series], first, last


def test_the_waterfall_draws_the_parts_of_both_workloads(drawn: SheetsOf) -> None:
    """Where a step's time goes stays one chart, of all rows of its table, whose labels are formulas now."""
    ranges, first, last = waterfall(drawn)
    assert last - first > 8
    assert ranges == [f"'Dashboard'!${column}${first}:${column}${last}" for column in "CD"]


@pytest.mark.slow
def test_the_waterfall_grows_with_a_workload_of_more_parts(tmp_path: Path) -> None:
    """A fleet has five parts, a training step eight: the chart that was there draws them all."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(build_small(plan_of(["llama3-8b"], ["h100-sxm"], ["fleet"], None, ["n_chips=8"])))
    _, before, end = waterfall(SheetsOf(path))
    command("scenario", "add", path, "Trained", "--workload", "Training", "-H", "tpu-v5p", "--set", "n_chips=512")
    ranges, first, last = waterfall(SheetsOf(path))
    assert last - first == end - before + 3
    assert ranges == [f"'Dashboard'!${column}${first}:${column}${last}" for column in "CD"]


def test_the_new_scenario_computes_what_its_template_does(plan: Path) -> None:
    """Every row of the new sheet is that of the array functions, with a mesh that follows the chips."""
    after, template = read_plan(plan), library.load("training")
    typed = {row.name: row.value(TRAINS) for row in after.inputs if row.name in template.by_name}
    assert (typed["n_chips"], typed["seq_len"], typed["mesh_fsdp"]) == (512, 8192, 512)
    results = evaluate(template, facts(template, "llama3-8b", "tpu-v5p"), typed)  # mine is its row
    for row in after.tables["Training"]:
        if row.name in template.by_name:
            assert agree(row.value(TRAINS), results.value(row.name)), row.name


@pytest.mark.slow  # every day the next test and one of tests/test_scenario_add.py say so
@pytest.mark.parametrize(
    ("words", "like", "meant"),
    [((), TRAINS, "training"), (("--like", SERVES, "--workload", "training"), SERVES, "training")],
)
def test_a_scenario_of_the_same_workload_is_copied(plan: Path, words: tuple[str, ...], like: str, meant: str) -> None:
    """The one that is named, else the last of the workload that is named or whose own inputs are set, else the last."""
    said = printed_by(add(plan, *words, "-H", "tpu-v6e"))
    assert f"like {like}, for {meant}." in said
    after = read_plan(plan)
    new = after.scenarios[-1]
    assert (new.id, new.name) == ("mine_on_tpu_v6e", "mine on tpu-v6e")
    assert after.value("workload", new.key) == meant
    assert not (plan.parent / "plan.bak.xlsx").exists()


@pytest.mark.parametrize(
    ("request_", "like", "meant"),
    [
        (NewScenario(None), TRAINS, "training"),
        (NewScenario(None, workload="inference"), SERVES, "inference"),
        (NewScenario(None, settings={"batch": "16"}), SERVES, "inference"),
        (NewScenario(None, settings={"seq_len": "4096"}), TRAINS, "training"),
        (NewScenario(None, like=SERVES), SERVES, "inference"),
        (NewScenario(None, like=SERVES, workload="training"), SERVES, "training"),
    ],
)
def test_whose_column_is_copied_and_what_for(book: Book, request_: NewScenario, like: str, meant: str) -> None:
    """So it is found for every way to ask: the source, and the workload of the new scenario."""
    workload = workload_of(book, request_)
    assert not lacks(book, workload)
    source = source_of(book, request_.like, workload)
    assert book.said(ID, source) == like
    assert completed(book, source, request_, workload).settings.get(WORKLOAD, book.said(WORKLOAD, source)) == meant


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (NewScenario(None, workload="inference", settings={"seq_len": "4096"}), ["seq_len was set, and inference"]),
        (NewScenario(None, like=TRAINS, settings={"batch": "16", "seq_len": "4096"}), ["batch was set, and training"]),
        (NewScenario(None, workload="all", settings={"batch": "16", "seq_len": "4096"}), []),
        (NewScenario(None, like=SERVES, settings={"batch": "16", "n_chips": "8"}), []),
    ],
)
def test_a_setting_of_another_workload_is_doubted(book: Book, request_: NewScenario, says: list[str]) -> None:
    """It is typed into the column, where nothing that the scenario is meant for reads it."""
    progress.say_warnings()
    workload = workload_of(book, request_)
    completed(book, source_of(book, request_.like, workload), request_, workload)
    assert [text.partition(" doesn't read it")[0] for text in progress.warnings()] == says
    progress.say_warnings()


@pytest.mark.slow
def test_a_second_one_without_a_name_has_an_id_of_its_own(plan: Path) -> None:
    """Ids that are made of the model and the chip are told apart by a number."""
    add(plan)
    add(plan)
    assert [each.id for each in read_plan(plan).scenarios][2:] == ["mine_on_tpu_v5p", "mine_on_tpu_v5p_2"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("mine", "--workload", "serving"), "'serving' is no workload; did you mean inference?"),
        (("mine", "--template", "training"), "training is a workload; write --workload training"),
        (("mine", "--set", "seq_len=4096"), "of training, of which there are no sheets: --workload training adds them"),
    ],
)
def test_wrong_words(built: bytes, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    """An unknown workload, one as --template, and an input of one without sheets: one line, and no change."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(built)
    assert says in refusal(add(path, *words))
    assert path.read_bytes() == built


@needs_libreoffice
@pytest.mark.slow
def test_a_workbook_that_another_program_saved(built: bytes, tmp_path: Path) -> None:
    """What LibreOffice saved gets the sheets of a workload too, clean by every rule."""
    path = tmp_path / "plan.xlsx"
    path.write_bytes(built)
    saved(path, tmp_path)
    assert add(path, "Trained", "--workload", "training").exit_code == 0
    after = read_plan(path)
    assert [after.value("workload", each.key) for each in after.scenarios] == ["inference", "training"]
    assert {each.kind for each in check(Package.read(path)).found} <= {"failed_check", "override"}


def test_what_is_added_is_shown_as_in_a_new_workbook(drawn: SheetsOf) -> None:
    """With a person's own models, Cover still names their CSV and hides its memory; the new section is open."""
    cover, board = drawn["Cover"], drawn["Dashboard"]
    texts = {cover.cell(row, 1).value: row for row in range(1, cover.max_row + 1)}
    assert cover.cell(texts["my_models.csv"], 2).value
    memory = range(texts["What planner wrote, for planner update"] + 1, cover.max_row + 1)
    assert all(cover.row_dimensions[row].hidden for row in memory)
    names = ("mfu_expected", *EXPECTED)
    shown = {name: board.row_dimensions[row_of(drawn, "Dashboard", name)].hidden for name in names}
    assert not any(shown.values()), shown


def test_the_columns_of_sweep_are_as_in_a_new_workbook(mixed: bytes, book: Book) -> None:
    """The working and the chart data are closed, all of them, and what binds and what fails is wide enough."""
    package, sheet = Package.from_bytes(mixed, "plan.xlsx"), book.sheets["Sweep"]
    spans = every(package.tree(package.sheets()["Sweep"]), "col")
    columns = {at: span for span in spans for at in range(int(span.get("min", 0)), int(span.get("max", 0)) + 1)}
    texts = {(column, sheet.text(row, column)) for row, column in sheet.values}
    words = {column for column, text in texts if text.endswith(".words")}
    fails = {column for column, text in texts if text == "failed_checks.words"}  # a table each, of other columns
    assert {float(columns[column].get("width", 0)) for column in words - fails} == {WORDS_WIDTH}
    assert float(columns[max(fails)].get("width", 0)) == FAILING_WIDTH
    closed = [*range(2, min(words)), *(column for column, text in texts if text.startswith("chart."))]
    assert [column for column in closed if columns[column].get("hidden") != "1"] == []


def test_sweeps_are_around_the_numbers_of_the_new_scenario(book: Book) -> None:
    """The tables of its workload are over 512 chips, as an update would choose them, and not over those of serving."""
    memory = remembered(book.designed["Cover"])
    assert memory is not None
    assert memory.axes["training.n_chips"] == [128, 256, 512, 1024, 2048]


@pytest.mark.slow
def test_nothing_is_to_update_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where the charts over all scenarios need more room for one more: adding its sheets gives it to them."""
    monkeypatch.setattr(dashboard_charts, "ROWS_EACH", dashboard_charts.ROWS_EACH * 10)
    path = tmp_path / "plan.xlsx"
    path.write_bytes(build_small(plan_of(["llama3-8b"], ["tpu-v5e"], ["inference"], None, ["n_chips=4"])))
    add(path, "Trained", "--workload", "training", "-H", "tpu-v5p", "--set", "n_chips=512")
    assert not update_file(path)[0].is_needed
