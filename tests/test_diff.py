"""`planner diff` and `planner show`: what they name, in which order, and in which form."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.book.read_plan import read_plan
from planner.diff.as_html import as_html
from planner.diff.as_text import as_text, both, percent
from planner.diff.as_text import check as said_of_check
from planner.diff.differences import CellChange, CheckChange, Difference, OutcomeChange
from planner.diff.two_workbooks import compare, read_both
from planner.workbook.book import build
from planner.workbook.memory import is_packed
from planner.workbook.scenarios import plan_of
from planner.xlsx.address import address
from planner.xlsx.cellvalue import NA, Value
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import add_sheet
from tests.commands import command, invoked
from tests.seeded import Seeded
from tests.test_lint import fixture_built, fixture_plan, fixture_rows  # noqa: F401
from tests.workbooks import few_rows, retype, write_small
from tests.xlsx_samples import package, sheet

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(name="pair")
def fixture_pair(plan: Seeded, tmp_path: Path) -> tuple[Path, Path]:
    """A workbook, and a place for the same after an edit."""
    plan.package.write(tmp_path / "old.xlsx")
    return tmp_path / "old.xlsx", tmp_path / "new.xlsx"


def told(pair: tuple[Path, Path], plan: Seeded) -> dict[str, list[dict[str, object]]]:
    """What `diff --json` tells after an edit."""
    plan.package.write(pair[1])
    code, output = invoked("diff", "--json", *pair)
    assert code == 1
    found: dict[str, list[dict[str, object]]] = json.loads(output)
    return found


def test_a_workbook_and_itself(pair: tuple[Path, Path]) -> None:
    """Nothing differs: exit code 0, one line of text, and empty lists."""
    old = pair[0]
    assert invoked("diff", old, old) == (0, f"{old} and {old}: no differences\n")
    found = json.loads(invoked("diff", old, old, "--json")[1])
    assert found.pop("same") is True
    assert {key for key, value in found.items() if value} == {"old", "new"}


def test_a_headline_of_two_sheets(tmp_path: Path) -> None:
    """Two sheets both show the memory of the chips: each is compared with its own."""
    old, new, templates = tmp_path / "old.xlsx", tmp_path / "new.xlsx", []
    for name, formula in (("train", "n_chips+n_chips"), ("serve", "n_chips+n_chips+n_chips")):
        templates.append(str(tmp_path / f"{name}.csv"))
        Path(templates[-1]).write_text(
            "name,label,unit,kind,formula,source,note\nn_chips,Chips,chip,input,4,test,\n"
            f"memory_chips,Memory,chip,output,{formula},test,\n",
            encoding="utf-8",
        )
    for path, chips in ((old, 4), (new, 5)):
        plan = plan_of((), (), templates, None, [f"n_chips={chips}"], few_rows(("llama3-8b",), ("tpu-v5e",)))
        path.write_bytes(build(plan))
    assert invoked("diff", old, old) == (0, f"{old} and {old}: no differences\n")
    moved = json.loads(invoked("diff", "--json", old, new)[1])["headlines"]
    assert [(one["name"], one["sheet"], one["old"], one["new"]) for one in moved] == [
        ("memory_chips", "Train", 8, 10),
        ("memory_chips", "Serve", 12, 15),
    ]


@pytest.mark.slow
def test_the_sheet_of_a_name_that_stands_on_several(tmp_path: Path) -> None:
    """Text, page and JSON say whose memory it is; a name of one sheet stands alone."""
    old, new = tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    for path, chips in ((old, 8), (new, 16)):
        write_small(path, ["llama3-8b"], ["tpu-v5e"], ["transformer", "training", "inference"],
                   n_chips=chips, mesh_fsdp=chips, workload="all")  # fmt: skip
    moved = [line.split()[1] for line in invoked("diff", old, new)[1].partition("Headlines that moved")[2].splitlines()
             if line.strip() and line.startswith("  ")]  # fmt: skip
    moved = [name for name in moved if name.endswith(("memory_bytes_per_chip", "decode_step_time_expected"))]
    assert sorted(moved) == [
        "Inference!memory_bytes_per_chip", "Training!memory_bytes_per_chip", "decode_step_time_expected",
    ]  # fmt: skip
    found = json.loads(invoked("diff", "--json", old, new)[1])["headlines"]
    assert {change["sheet"] for change in found if change["name"] == "memory_bytes_per_chip"} == {
        "Training", "Inference"}  # fmt: skip
    assert {change["sheet"] for change in found if change["name"] == "decode_step_time_expected"} == {""}
    page = as_html(compare(read_plan(old), read_plan(new)))
    assert " (Training)</td>" in page
    assert " (Inference)</td>" in page


def test_one_input(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """It is named with its old and new value; the headlines are those of its scenario that depend on it, no other."""
    plan.type("Inputs", plan.at("Inputs", "prompt_len", "G"), 100)
    found = told(pair, plan)
    (change,) = found["inputs"]
    assert (change["scenario"], change["name"], change["new"]) == ("llama3_70b_on_h100_sxm", "prompt_len", 100)
    assert {one["scenario"] for one in found["headlines"]} == {"llama3_70b_on_h100_sxm"}
    assert "prefill_flops" in {one["name"] for one in found["headlines"]}
    assert not {"n_params_total", "weight_bytes", "decode_step_time"} & {one["name"] for one in found["headlines"]}
    assert [key for key in ("formulas", "structure", "cells", "notes", "formats") if found[key]] == []


def test_a_stale_workbook_is_recalculated(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """The edited file still has the old cached values, and its headlines move all the same; it is not touched."""
    plan.type("Inputs", plan.at("Inputs", "batch", "F"), 5)
    found = told(pair, plan)
    assert any(one["name"] == "decode_step_time" for one in found["headlines"])
    assert pair[1].read_bytes() == plan.package.to_bytes()


def test_the_largest_comes_first(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """A number that is lost stands above all, then the largest share, whatever its sign."""
    plan.type("Inputs", plan.at("Inputs", "n_chips", "F"), 64)
    plan.type("Inputs", plan.at("Inputs", "batch", "G"), "many")
    found = told(pair, plan)
    relative = [one["relative"] for one in found["headlines"] if one["unit"] != "text"]
    shares = [abs(float(str(share))) for share in relative if share is not None]
    assert relative[0] is None
    assert relative[-1] is not None
    assert shares == sorted(shares, reverse=True)


def test_formulas_are_told_apart(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """One is overridden by a number, one edited, one emptied: each in its scenario."""
    cells = {name: plan.at("Serve", name, "G") for name in ("decode_flops", "param_time", "kv_time")}
    plan.type("Serve", cells["decode_flops"], 5)
    plan.formula("Serve", cells["param_time"], "G20*2")
    plan.type("Serve", cells["kv_time"], None)
    found = {str(one["name"]): (one["how"], one["cell"]) for one in told(pair, plan)["formulas"]}
    assert found == {"decode_flops": ("overridden", f"Serve!{cells['decode_flops']}"),
                     "param_time": ("edited", f"Serve!{cells['param_time']}"),
                     "kv_time": ("removed", f"Serve!{cells['kv_time']}")}  # fmt: skip


OWN = "Own"  # a sheet of a person's
FILLED_IN = {"B1": "<v>2</v>", "B2": "<v>4</v>", "B3": "<v>6</v>", "E1": "<v>1</v>", "F1": "<v>2</v>"}


def with_own(plan: Seeded, rows: Sequence[str]) -> None:
    """Give a workbook a sheet of a person's, the cells of each row as XML; one that it has gets other cells."""
    data = "".join(f'<row r="{number}">{cells}</row>' for number, cells in enumerate(rows, start=1))
    part = plan.package.sheets().get(OWN) or add_sheet(plan.package, OWN, sheet("").encode(), "Log")
    plan.package.replace(part, sheet(data).encode())


@pytest.mark.parametrize("emptied", [("B2", "B3", "F1"), tuple(FILLED_IN)])
def test_results_that_an_array_formula_filled_in(plan: Seeded, pair: tuple[Path, Path], emptied: Sequence[str]) -> None:
    """Whether a program saved what an array formula fills into other cells is no edit, of them or of their readers."""
    for path, gone in ((pair[0], ()), (pair[1], emptied)):
        has = {cell: "" if cell in gone else value for cell, value in FILLED_IN.items()}
        below = [f'<c r="A{row}"><v>{row}</v></c><c r="B{row}">{has[f"B{row}"]}</c>' for row in (2, 3)]
        with_own(plan, (
            f'<c r="A1"><v>1</v></c><c r="B1"><f t="array" ref="B1:B3">A1:A3*2</f>{has["B1"]}</c>'
            f'<c r="E1"><f t="array" ref="E1:F1">TRANSPOSE(A1:A2)</f>{has["E1"]}</c><c r="F1">{has["F1"]}</c>'
            '<c r="G1"><f>SUM(B1:B3)+F1</f><v>14</v></c>', *below))  # fmt: skip
        plan.package.write(path)
    assert invoked("diff", *pair)[1].startswith(f"{pair[0]} and {pair[1]}: no differences\n")
    assert invoked("diff", *pair[::-1])[1].startswith(f"{pair[1]} and {pair[0]}: no differences\n")


def test_formulas_that_are_written_alike(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """One that reads what was typed below, as it read the blank cells before, is no edit; one whose cell was pushed
    down without it says which cells it reads, and one in a cell of the format Text that it is a text.
    """
    texts = [f'<c r="A{row}" t="inlineStr"><is><t>part {row}</t></is></c>' for row in range(1, 4)]
    reads = '<c r="C1"><f>SUM(A1:A9)</f><v>0</v></c><c r="D1"><f>A2</f><v>0</v></c><c r="E1"><f>A1</f><v>0</v></c>'
    with_own(plan, (texts[0] + reads, *texts[1:]))
    plan.package.write(pair[0])
    new, below = texts[1].replace("part 2", "another"), [text.replace(f'"A{row}"', f'"A{row + 1}"')
                                                         for row, text in enumerate(texts[1:], start=2)]  # fmt: skip
    as_text = '<c r="E1" t="inlineStr"><is><t>=A1</t></is></c>'
    with_own(plan, (texts[0] + reads[: reads.index('<c r="E1"')] + as_text, new, *below))
    plan.package.write(pair[1])
    assert [line.strip() for line in invoked("diff", *pair)[1].splitlines() if "Own" in line] == [
        "row added: Own, row 2: another",
        "Own!D1, edited: =A2 -> =A2, of another and not of part 2",
        "Own!E1, overridden: =A1 -> the text '=A1'",
    ]


def test_a_database(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """A number of the chip's row is an input, named by its row and column."""
    sheet_name = "Hardware"
    database = read_plan(pair[0]).book.databases["hardware"]
    row = next(row for row in range(6, 20) if database.sheet.text(row, 1) == "tpu-v5e")
    ref = f"{_letters(database.columns['hbm_bandwidth'])}{row}"
    plan.type(sheet_name, ref, 1e12)
    (change,) = told(pair, plan)["inputs"]
    assert (change["name"], change["cell"], change["new"]) == (
        "Hardware[tpu-v5e].hbm_bandwidth",
        f"Hardware!{ref}",
        1e12,
    )
    assert change["unit"] == "byte/s/chip"
    assert "Hardware[tpu-v5e].hbm_bandwidth  819.0 GB/s/chip -> 1.000 TB/s/chip" in invoked("diff", *pair)[1]


def test_a_share_is_told_in_per_cent(pair: tuple[Path, Path]) -> None:
    """A headline that its template shows in per cent is printed so; its unit, and that of the JSON, is 1."""
    write_small(pair[0], ["llama3-8b"], ["h100-sxm"], ["training"], n_chips=64)
    pair[1].write_bytes(pair[0].read_bytes())
    retype(pair[1], batch_tokens=1 << 21)
    said, found = invoked("diff", *pair)[1], json.loads(invoked("diff", "--json", *pair)[1])
    (change,) = (change for change in found["headlines"] if change["name"] == "mfu_expected")
    assert (change["unit"], change["said_in"]) == ("1", "%")
    assert f"{100 * change['old']:.1f} % -> {100 * change['new']:.1f} %" in said


def _letters(column: int) -> str:
    from planner.xlsx.address import column_letters

    return column_letters(column)


def test_the_page_escapes(plan: Seeded, pair: tuple[Path, Path], tmp_path: Path) -> None:
    """The HTML has no tag that a workbook's text brought, no script, and no address of anything else."""
    plan.type("Inputs", plan.at("Inputs", "scenario_name", "F"), "<script>alert(1)</script> & co.")
    plan.package.write(pair[1])
    page = tmp_path / "diff.html"
    assert invoked("diff", *pair, "--html", page)[0] == 1
    assert "exists" in invoked("diff", *pair, "--html", page)[1]
    assert invoked("diff", *pair, "--html", page, "--force")[0] == 1
    text = page.read_text(encoding="utf-8")
    seen: set[str] = set()
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: seen.update({tag, *(name for name, _ in attributes)})  # type: ignore[method-assign]
    parser.feed(text)
    assert "&lt;script&gt;" in text
    assert not seen & {"script", "link", "img", "iframe", "src", "href", "onclick"}


def test_what_planner_remembers_is_no_difference(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """The rows of Cover that `planner update` reads are other with every edit of a template: no one is told of them."""
    cover = read_plan(pair[0]).book.sheets["Cover"]
    packed = [at for at in cover.cells if is_packed(cover.text(*at))]
    assert packed
    for at in packed:
        plan.type("Cover", address(*at), cover.text(*at)[:-4])
    plan.package.write(pair[1])
    assert invoked("diff", *pair) == (0, f"{pair[0]} and {pair[1]}: no differences\n")
    assert cover.text(*packed[0]) not in invoked("show", pair[0], "--sheet", "Cover")[1]


@pytest.mark.parametrize(("old", "new", "unit", "words"), [
    (4194304.0, 8388608.0, "1", "4,194,304 -> 8,388,608"), (9e10, 1.8e11, "byte", "90.00 GB -> 180.0 GB"),
    (1.97e14, 4e14, "FLOP/s", "197.0 TFLOP/s -> 400.0 TFLOP/s"), ("int8", "bf16", "text", "int8 -> bf16"),
])  # fmt: skip
def test_numbers_are_shown_as_a_report_shows_them(old: Value, new: Value, unit: str, words: str) -> None:
    """Counts with separators of thousands, sizes and rates with prefixes, and never a power of ten to be counted."""
    assert both(old, new, unit) == words


def test_piped_text_is_not_wrapped(pair: tuple[Path, Path], plan: Seeded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change is one line for a program that reads it, however narrow the terminal is said to be."""
    name = "a scenario with a long name " * 5
    plan.type("Inputs", plan.at("Inputs", "scenario_name", "F"), name)
    plan.package.write(pair[1])
    monkeypatch.setenv("COLUMNS", "40")
    (line,) = (line for line in invoked("diff", *pair)[1].splitlines() if "scenario_name" in line)
    assert name.strip() in line


def test_text_fits(pair: tuple[Path, Path], plan: Seeded) -> None:
    """No line is longer than the width that is asked for, but for a single word."""
    plan.type("Inputs", plan.at("Inputs", "batch", "F"), 5)
    plan.type("Inputs", plan.at("Inputs", "scenario_name", "F"), "a scenario with a long name " * 5)
    plan.package.write(pair[1])
    lines = as_text(compare(*map(read_plan, pair)), 72).splitlines()
    assert [line for line in lines if len(line) > 72 and not line.startswith(("---", "+++"))] == []


@pytest.mark.parametrize(("old", "new", "words"), [
    (1.0, 2.0, "1.000 s -> 2.000 s"), (None, 0.003, "(blank) -> 3.000 ms"), (1.0, NA, "1.000 s -> N/A"),
    (8.0, "8", "the number 8 -> the text '8'"), (1.0000001, 1.0000002, "1.0000001 s -> 1.0000002 s"),
    (123456.0, 123456.1, "123,456 s -> 123456.1 s"), ("N/A", NA, "the text 'N/A' -> the error #N/A"),
    (494709464.07654303, 494857785.11313105, "15.676 years -> 15.681 years"),
    ("one two", "one\ntwo ", "the text 'one two' -> the text 'one\\ntwo '"),
])  # fmt: skip
def test_values_in_words(old: float, new: float, words: str) -> None:
    """What changed can be seen, where six digits are too few and where only the kind differs too.

    Of what was computed no more digits are told than it takes, in the unit of a reader.
    """
    assert both(old, new, "s") == words


@pytest.mark.parametrize(("old", "new", "words"), [
    (4.0, 6.0, "+50.0%"), (1e4, 10003.0, "+0.03%"),
    (4.0, 400.0, "x100"), (1.0, NA, "lost"), (NA, 1.0, "now there"), (0.0, 1.0, "changed"),
])  # fmt: skip
def test_relative_changes_in_words(old: float, new: float, words: str) -> None:
    """A share up to tenfold, a factor beyond, and words where there is no ratio."""
    assert percent(OutcomeChange("one", "time", "Time", "s", old, new)) == words


def test_digests_of_files_come_behind_what_a_person_reads() -> None:
    """The Cover has a digest of each file, of which an update changes many."""
    cells = [CellChange("Cover!B54", "0" * 64, "f" * 64), CellChange("Cover!E4", "Time", "Time of a token")]
    said = as_text(Difference("a.xlsx", "b.xlsx", cells=cells)).splitlines()
    assert said.index("  Cover!E4: Time -> Time of a token") < said.index(f"  Cover!B54: {'0' * 64} -> {'f' * 64}")


def test_a_check_that_is_not_counted_says_so() -> None:
    """A dash is not a number that is missing: the scenario isn't meant for what is checked."""
    assert (
        said_of_check(CheckChange("one", "fits", "It fits", "-", 1.0))
        == "one: It fits holds now, wasn't counted before"
    )
    assert said_of_check(CheckChange("", "fits", "It fits", 1.0, NA)) == "It fits can't be told now, held before"


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    """A file that is missing or is none of planner's: one line, and exit code 2."""
    foreign = tmp_path / "foreign.xlsx"
    package({"Sheet": sheet('<row r="1"><c r="A1"><v>1</v></c></row>')}).write(foreign)
    for other, why in ((tmp_path / "none.xlsx", "no such file"), (foreign, "header of Inputs")):
        code, output = invoked("diff", GOLDEN / "default.xlsx", other)
        assert code == 2
        assert why in output
        assert len(output.splitlines()) == 1


def test_show_names_rows_and_scenarios(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """An input, a formula in names, a value; a changed input changes the lines that say so and no address."""
    before = invoked("show", pair[0])[1]
    assert "batch  Sequences decoded together (1)\n" in before
    assert "  =batch*forward_flops_per_token\n" in before
    plan.type("Inputs", plan.at("Inputs", "batch", "G"), 48)
    plan.package.write(pair[1])
    after = invoked("show", pair[1], "--sheet", "Inputs")[1]
    assert "  llama3_70b_on_h100_sxm: 48\n" in after
    assert "# Serve" not in after


def test_show_formulas_or_values(pair: tuple[Path, Path]) -> None:
    """Either alone; a sheet that is not there is one line."""
    formulas, values = (invoked("show", pair[0], f"--{what}", "--sheet", "Serve")[1] for what in ("formulas", "values"))
    assert "  =batch*forward_flops_per_token\n" in formulas
    assert "=batch*" not in values
    assert "llama3_70b_on_h100_sxm: " in values
    code, output = invoked("show", pair[0], "--sheet", "Servee")
    assert (code, "did you mean Serve?" in output) == (2, True)


def test_show_of_a_workbook_that_is_not_ours(tmp_path: Path) -> None:
    """git may hand any workbook over: its cells are printed by address."""
    path = tmp_path / "foreign.xlsx"
    cells = '<c r="A1"><v>1.5</v></c><c r="B1"><f t="shared" ref="B1:C1" si="0">A1*2</f><v>3</v></c>'
    cells += '<c r="C1"><f t="shared" si="0"/><v>6</v></c>'
    package({"Sheet": sheet(f'<row r="1">{cells}</row>')}).write(path)
    assert invoked("show", path) == (0, "# Sheet\nA1: 1.5\nB1: 3  =A1*2\nC1: 6  =B1*2\n\n")


def test_git_diff(plan: Seeded, tmp_path: Path) -> None:
    """With the two lines that the guide names, `git diff` tells which input changed."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                              capture_output=True, text=True, check=True)  # fmt: skip
        return done.stdout

    git("init", "-q")
    (tmp_path / ".gitattributes").write_text("*.xlsx diff=planner\n", encoding="utf-8")
    git("config", "diff.planner.textconv", f"{sys.executable} -m planner show")
    plan.package.write(tmp_path / "plan.xlsx")
    git("add", ".")
    git("commit", "-qm", "one")
    plan.type("Inputs", plan.at("Inputs", "batch", "G"), 48)
    plan.package.write(tmp_path / "plan.xlsx")
    assert "+  llama3_70b_on_h100_sxm: 48" in git("diff").splitlines()


def test_reading_a_plan(plan: Seeded) -> None:
    """Scenarios, inputs, overrides, headlines and checks by name; values are those of now, whatever is cached."""
    plan.type("Inputs", plan.at("Inputs", "hbm_bandwidth", "F"), 1e12)
    plan.type("Inputs", plan.at("Inputs", "batch", "F"), 7)
    read = read_plan(Package.from_bytes(plan.package.to_bytes(), "plan.xlsx"))
    assert [scenario.key for scenario in read.scenarios] == [
        "llama3_70b_on_tpu_v5e",
        "llama3_70b_on_h100_sxm",
        "mixtral",
    ]
    assert read.value("batch", "llama3_70b_on_tpu_v5e") == 7
    assert read.value("hbm_bandwidth", "llama3_70b_on_tpu_v5e") == 1e12
    filled = [(row.name, key) for row in read.overrides for key, entry in row.cells.items() if not entry.is_blank]
    assert ("hbm_bandwidth", "llama3_70b_on_tpu_v5e") in filled
    step = next(row for row in read.headlines if row.name == "decode_step_time")
    names = ("param_time", "kv_time", "matmul_time")
    param, kv, matmul = (read.value(name, "mixtral") for name in names)
    assert isinstance(param, float)
    assert isinstance(kv, float)
    assert isinstance(matmul, float)
    assert step.value("mixtral") == pytest.approx(kv + max(param, matmul), rel=1e-12)
    assert {spot.sheet for spot in read.stale} >= {"Serve", "Dashboard"}
    assert all(
        check.holds(key) or check.failed(key) or check.value(key) for check in read.checks for key in read.by_key
    )


@pytest.mark.parametrize("unit", ["byte", "FLOP/s", "s", "USD", "USD/h", "token", "1"])
def test_a_number_beyond_all_units_is_not_said_digit_by_digit(unit: str) -> None:
    """It has an exponent, in every unit, and is told from another."""
    told = both(1e300, 1.5e300, unit)
    assert len(told) < 60, told
    assert len(set(told.split(" -> "))) == 2


def test_a_measured_case_is_one_line(tmp_path: Path) -> None:
    """The cells that a measurement fills are one line with its time and ratio in the text and on the page; --all and
    JSON have each cell.
    """
    old, new = tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    write_small(old, [], ["tpu-v5e"], ["matmul"], tokens=8192, d_in=8192, d_out=11264)
    new.write_bytes(old.read_bytes())
    recorded = command("record", new, "--case", "Matmul 1024 bf16", "--time", "24us")
    ratio = re.search(r"([\d.]+) times the prediction", recorded)
    assert ratio is not None
    said = invoked("diff", old, new)[1].splitlines()
    (line,) = (each for each in said if "Matmul 1024 bf16" in each)
    assert line.strip().startswith("Comparison[Matmul 1024 bf16].measured_time  (blank) -> 24.00 us, ")
    assert line.endswith(f", {ratio[1]} times the prediction; 6 more cells of it")
    assert line.strip().replace(">", "&gt;") in as_html(compare(*read_both(old, new)))
    assert sum("Matmul 1024 bf16" in each for each in invoked("diff", "--all", old, new)[1].splitlines()) == 7
    assert len(json.loads(invoked("diff", "--json", old, new)[1])["inputs"]) == 7


def test_a_scenario_put_in_another_ones_place_is_not_that_one(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """One removed and one of another model on another chip added are told so, however alike their other inputs are; of
    the same model or chip it is the scenario under another id.
    """
    for model, chip, how in (
        ("llama3-8b", "tpu-v6e", {"removed": "llama3_70b_on_tpu_v5e", "added": "another"}),
        ("llama3-70b", "tpu-v6e", {"renamed": "another"}),
    ):
        for name, text in (("scenario_id", "another"), ("model_id", model), ("hardware_id", chip)):
            plan.type("Inputs", plan.at("Inputs", name, "F"), text)
        found = told(pair, plan)
        assert {one["how"]: one["name"] for one in found["structure"] if one["what"] == "scenario"} == how


def test_a_second_scenario_of_an_id_is_the_only_one_renamed(plan: Seeded, pair: tuple[Path, Path]) -> None:
    """The one that has had the id is not told as renamed, though only its column tells the two apart now."""
    plan.type("Inputs", plan.at("Inputs", "scenario_id", "G"), "llama3_70b_on_tpu_v5e")
    found = told(pair, plan)
    ((how, name, was),) = [
        (one["how"], one["name"], one["old_name"]) for one in found["structure"] if one["what"] == "scenario"
    ]
    assert (how, name) == ("renamed", "llama3_70b_on_tpu_v5e:G")
    assert was != "llama3_70b_on_tpu_v5e"
