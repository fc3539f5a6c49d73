"""A failed check says what it compares: both sides in words, with their numbers and units."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from planner.catalog.databases import Databases
from planner.number_text import apart
from planner.report.contents import CheckResult, ReportData
from planner.report.documents import html, markdown, pdf
from planner.report.report_data import report_data
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.cellvalue import CellError
from planner.xlsx.opc import Package
from tests.short_data import of_few_rows
from tests.workbooks import build_small, few_rows, type_in, write_small

GIB = 2**30
OWN_COLUMNS = "id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source,max_context"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """The report of a plan with a mesh that doesn't suit."""
    path = tmp_path_factory.mktemp("failing") / "plan.xlsx"
    mesh = {"mesh_tensor": 3, "mesh_pipeline": 7, "slice_x": 5}
    write_small(
        path, ["llama3-70b"], ["h100-sxm"], ["training", "inference"],
        workload="all", n_chips=1, batch=64, context_len=200_000, **mesh,
    )  # fmt: skip
    return report_data(path)


@pytest.fixture(scope="module")
def failed(report: ReportData) -> dict[str, CheckResult]:
    """Its failed checks by label."""
    return {check.label: check for check in report.failed}


def said(check: CheckResult) -> str:
    """Its numbers with plain blanks."""
    return check.numbers.replace("\N{NO-BREAK SPACE}", " ")


def test_a_limit_that_is_passed(failed: dict[str, CheckResult]) -> None:
    """The left side with its number, what holds instead, the right side's number and what it is made of."""
    assert said(failed["Inference: The context and the prompt are no longer than the model's context"]) == (
        "Context length = 200,000 > 8,192 = Longest context of the model; "
        "Prompt length = 200,000 > 8,192 = Longest context of the model"
    )
    memory = said(failed["Inference: Weights and caches fit"])
    assert memory.startswith("Memory of a chip = ")
    assert f" > {80 * GIB / 1e9:.2f} GB/chip = HBM capacity - HBM kept free on a chip" in memory


@pytest.mark.parametrize(
    ("check", "words"),
    [
        # what should be equal but for rounding is said as unequal, without the tolerance: 3 x 7 ways and one chip
        ("Training: The mesh and the slices make the chips", "Chips of the mesh = 21 chips ≠ 1 chip = Chips"),
        # a quotient that should be whole is shown: 64 query heads over 3 ways
        (
            "Training: Query heads split evenly over the tensor ways",
            "Query heads / Tensor ways = 21.33, which is no whole number",
        ),
        # of `OR(slice_x<1, ...)` only what was asked for is said, not that a shape was given
        (
            "Inference: The slice's shape makes its chips",
            "Chips of the slice = 5 chips ≠ 1 chip = Chips of the plan in it",
        ),
    ],
)
def test_what_does_not_agree(failed: dict[str, CheckResult], check: str, words: str) -> None:
    """Both sides are said with their labels and numbers, and what is wrong with them."""
    assert said(failed[check]) == words


@pytest.mark.parametrize(
    ("one", "other", "unit", "words"),
    [
        (17.1801e9, 17.1799e9, "byte/chip", "17.1801 GB/chip, 17.1799 GB/chip"),
        (17.1801e9, 12e9, "byte/chip", "17.18 GB/chip, 12.00 GB/chip"),
        (1.00004e-3, 1.00001e-3, "s", "1.00004 ms, 1.00001 ms"),
        (0.99999e-3, 1.00001e-3, "s", "999.99 us, 1.0000 ms"),
        (200_000.4, 200_000.1, "1", "200,000.4, 200,000.1"),
        (12.0001, 12.0, "1", "12.0001, 12"),
        (0.5001, 0.5002, "%", "50.01 %, 50.02 %"),
        (1234.567, 1234.568, "USD", "$1,234.567, $1,234.568"),
        (3e5, 3.000001e5, "s", "3.472222 days, 3.472223 days"),
        (5.0, 5.0, "s", "5.000 s, 5.000 s"),
        (3.94e-12, 2.0, "s", "under 1 ns, 2.000 s"),
        (3.94e-12, 2e-12, "s", "3.940 ps, 2.000 ps"),
        (1 + 2**-52, 1.0, "s", "1.000 s, 1.000 s"),
    ],
)
def test_two_numbers_can_be_told_apart(one: float, other: float, unit: str, words: str) -> None:
    """As many digits as it takes; numbers that 15 digits don't tell apart have the usual ones."""
    assert ", ".join(apart(one, other, unit)).replace("\N{NO-BREAK SPACE}", " ") == words


def test_sides_that_are_nearly_equal_are_told_apart(tmp_path: Path) -> None:
    """A limit that is passed by a hair isn't said as `17.18 GB > 17.18 GB`, nor 4.00001 as 4.000."""
    own, path = tmp_path / "hair.csv", tmp_path / "hair.xlsx"
    own.write_text(
        "name,label,unit,kind,formula,source,note\n"
        "need_bytes,Need,byte,input,17180100000,test,\n"
        "have_bytes,Room,byte,input,17179900000,test,\n"
        "part_count,Parts,1,input,4.00001,test,\n"
        "relative_tolerance,Tolerance,1,constant,1e-9,test,\n"
        'check_room,It fits,1,check,"IF(need_bytes<=have_bytes,1,0)",test,remedy\n'
        'check_parts,Parts are whole,1,check,"IF(ABS(part_count-ROUND(part_count,0))<=relative_tolerance,1,0)",test,x\n'
        "all_bytes,All,byte,output,need_bytes+have_bytes,test,\n"
    )
    path.write_bytes(build(plan_of((), (), [str(own)], None, (), few_rows(("llama3-8b",), ("tpu-v5e",)))))
    assert [said(check) for check in report_data(path).failed] == [
        "Need = 17.1801 GB > 17.1799 GB = Room",
        "Parts = 4.00001, which is no whole number",
    ]


def test_every_failed_check_has_its_numbers(failed: dict[str, CheckResult]) -> None:
    """None is left with its formula alone, and every page shows them."""
    assert len(failed) >= 8
    assert all(check.numbers for check in failed.values())


def test_pages_show_the_numbers(report: ReportData, failed: dict[str, CheckResult]) -> None:
    """The page and the Markdown have them beside the check, before what it asks for."""
    check = failed["Inference: Weights and caches fit"]
    page, text = html(report), markdown(report)
    at = page.index(check.numbers.partition(" >")[0])
    assert page.index("memory_bytes_per_chip&lt;=", at) < page.index("Chips of the slice", at)  # which fails, too
    assert "HBM capacity" in text


def test_a_pdf_of_many_scenarios_says_what_fails_as_the_other_pages_do(report: ReportData) -> None:
    """More scenarios than have room for cards stand in a table: one that fits and fails a check is both in it."""
    from pypdf import PdfReader

    (scenario,) = report.scenarios
    many = replace(report, scenarios=tuple(replace(scenario, failed=at % 3, fits=True) for at in range(7)))
    data, _ = pdf(many)
    first = " ".join(PdfReader(io.BytesIO(data)).pages[0].extract_text().split())
    assert [first.count(words) for words in ("1 failed check ✓ fits", "2 failed checks ✓ fits", "✓ fits")] == [2, 2, 7]
    assert "? can't be told" not in first


def test_memory_is_told_of_what_the_check_compares(tmp_path: Path) -> None:
    """Eight copies of Llama 3 70B on eight chips: by hand 141.1 GB of weights on each, beside 8 GB that are kept free.

    The card and the picture say so, as the check does, and not the one copy of 687 GB for which there is room.
    """
    path = tmp_path / "plan.xlsx"
    copies = {"n_chips": 8, "serve_data": 8, "batch": 8, "hbm_reserve_bytes": 8e9}
    write_small(path, ["llama3-70b"], ["h100-sxm"], ["inference"], **copies)
    report = report_data(path)
    (memory,) = report.scenarios[0].memory
    assert (memory.fits, memory.needed.unit) == (False, "byte/chip")
    assert memory.needed.value > 2 * 70_553_706_496 > memory.room.value == 80 * GIB - 8e9
    (picture,) = (each for each in report.pictures if each.id == "memory-serving")
    assert "143.8 GB of 77.90 GB" in picture.alt.replace("\N{NO-BREAK SPACE}", " ")
    assert "Weights of a chip: 141.1" in picture.svg
    assert "Cache of a chip: 2.684" in picture.svg


@of_few_rows()
def test_a_model_of_ones_own_has_no_published_count(tmp_path: Path) -> None:
    """Nor needs one: no check of its report is unknown, as Checks has no such number missing. One that its longest
    context is asked for is, until the model's row has it.
    """
    own, path = tmp_path / "own.csv", tmp_path / "plan.xlsx"
    sizes = "2,256,1024,4,2,64,32000,true,true,Our own sketch"
    own.write_text(f"{OWN_COLUMNS}\nknown,{sizes},8192\nblank,{sizes},\n")
    lengths = ("prompt_len=4096", "context_len=8192")
    plan = plan_of(["known", "blank"], ["h100-sxm"], ["inference"], None, lengths, Databases(models_csv=own))
    path.write_bytes(build_small(plan))
    report = report_data(path)
    assert [(check.scenario, check.label) for check in report.untold] == [
        ("blank on h100-sxm", "Inference: The context and the prompt are no longer than the model's context")
    ]
    assert [scenario.untold for scenario in report.scenarios] == [0, 1]
    assert markdown(report).count("No check fails, but some can't be told") == 1


def test_a_check_in_words_that_cannot_be_told(tmp_path: Path) -> None:
    """That ids differ is asked in words: with an id that is an error the report has the check as one of those that
    can't be told.
    """
    path = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5e"], ["transformer"])
    package = Package.read(path)
    type_in(package, "Inputs", {"F4": CellError("#N/A")})
    package.write(path)
    (check,) = (check for check in report_data(path).untold if check.label == "The scenario's id is its own")
    assert (check.meaning.partition(" id ")[0], check.fails) == ("one", False)


def test_a_blank_input_is_said_to_be_blank(tmp_path: Path) -> None:
    """Of a matmul whose sizes aren't typed yet, each is blank in its cell: it isn't typed as None."""
    path = write_small(tmp_path / "plan.xlsx", (), ["h100-sxm"], ["matmul"])
    said = markdown(report_data(path))
    assert "None" not in said
    assert "tokens is blank in Inputs" in said.replace("\\", "")
