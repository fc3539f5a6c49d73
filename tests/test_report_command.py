"""`planner report` as a program: its formats, a house style, bad input, what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.report.contents import ReportData
from planner.report.documents import html
from planner.report.report_data import report_data
from planner.report.write import FORMATS, made, write
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from tests.commands import command, refused
from tests.reports import FOREIGN, default_workbook, hostile_workbook, reported, small_workbook


@pytest.fixture(scope="module")
def default() -> ReportData:
    """The report of the default workbook."""
    return reported(default_workbook())


@pytest.mark.slow
def test_the_same_report_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under SOURCE_DATE_EPOCH every format is the same to the byte, and dated by it."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one, two = report_data(default_workbook()), report_data(default_workbook())
    assert one.date == "2023-11-14"
    for ending in FORMATS:
        output = Path(f"report{ending}")
        assert made(one, output) == made(two, output), ending


@pytest.mark.slow
def test_a_pdf_has_its_text_and_its_fonts(tmp_path: Path) -> None:
    """The PDF's text can be extracted, foreign letters included; its fonts are embedded; it is tagged."""
    from pypdf import PdfReader

    write(hostile_workbook(), tmp_path / "report.pdf")
    reader = PdfReader(tmp_path / "report.pdf")
    text = " ".join("\n".join(page.extract_text() for page in reader.pages).split())
    for words in (FOREIGN, "1 failed check", "What to change", "=cmd|", "<script>", "price_per_chip_hour"):
        assert words in text, words
    assert reader.trailer["/Root"]["/MarkInfo"]["/Marked"]  # type: ignore[index]
    fonts = [font.get_object() for page in reader.pages for font in page["/Resources"].get("/Font", {}).values()]  # type: ignore[union-attr]
    for font in fonts:
        descriptor = font["/DescendantFonts"][0].get_object()["/FontDescriptor"]
        assert {"/FontFile2", "/FontFile3"} & set(descriptor.keys())


@pytest.mark.slow
def test_a_house_style(tmp_path: Path, default: ReportData) -> None:
    """A template that extends ours changes a block and keeps the rest; a Typst one may import ours."""
    page = tmp_path / "house.html"
    page.write_text('{% extends "report.html" %}{% block footer %}House of {{ report.title }}{% endblock %}')
    text = html(default, page)
    assert f"House of {default.title}" in text
    assert "What to change" in text
    before = page.stat()
    page.write_text(page.read_text().replace("House of", "Another house of"))
    os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a copy that keeps its date
    assert f"Another house of {default.title}" in html(default, page)
    style = tmp_path / "house.typ"
    style.write_text('#import sys.inputs.page: *\n#show: style.with(accent: rgb("#b00020"))\nHouse rules\n#body\n')
    write(default_workbook(), tmp_path / "house.pdf", style)
    from pypdf import PdfReader

    assert "House rules" in PdfReader(tmp_path / "house.pdf").pages[0].extract_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{book}", "-o", "{tmp}/report.docx"], "ends in .html, .pdf, .md, .csv or .json"),
        (["{book}", "-o", "{tmp}/report.csv", "--template", "{tmp}/x.html"], "has no template"),
        (["{book}", "-o", "{tmp}/report.html", "--template", "{tmp}/missing.html"], "missing.html"),
        (["{book}", "-o", "{tmp}/report.html", "--template", "{tmp}/broken.html"], "broken.html, line 2"),
        (["{book}", "-o", "{tmp}/report.html", "--template", "{tmp}/unknown.html"], "unknown.html, line 2"),
        (["{book}", "-o", "{tmp}/report.html", "--template", "{tmp}/zero.html"], "zero.html, line 2: division by zero"),
        (["{book}", "-o", "{tmp}/report.html", "--template", "{tmp}/mm.csv"], "mm.csv: this is no Jinja page"),
        (["{book}", "-o", "{tmp}/report.md", "--template", "{tmp}/mm.csv"], "mm.csv: this is no Jinja page"),
        (["{book}", "-o", "{tmp}/report.pdf", "--template", "{tmp}/broken.typ"], "broken.typ"),
        (["{tmp}/nothing.xlsx", "-o", "{tmp}/report.html"], "nothing.xlsx"),
        (["{tmp}/text.xlsx", "-o", "{tmp}/report.html"], "text.xlsx"),
        (["{book}", "-o", "{tmp}/no/such/folder/report.html"], "report.html"),
    ],
)
def test_bad_input_gets_one_line(
    tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong, where, exit code 2, and no report written; the workbook is read once for all."""
    monkeypatch.setattr("planner.report.write.report_data", reported)
    (tmp_path / "broken.html").write_text("first\n{% if %}\n")
    (tmp_path / "zero.html").write_text("first\n{{ report.title }}{{ 1 / 0 }}\n")
    (tmp_path / "unknown.html").write_text("first\n{{ report.nothing.at_all }}\n")
    (tmp_path / "broken.typ").write_text("#let = nothing\n")
    (tmp_path / "text.xlsx").write_text("no workbook")
    (tmp_path / "mm.csv").write_text("id,n_layers\ntiny,2 {# a remark #}\n")
    given = [text.format(book=small_workbook(), tmp=tmp_path) for text in arguments]
    assert said in refused("report", *given)
    assert not list(tmp_path.glob("report.*"))


def test_an_older_report_is_replaced_where_one_says_so(tmp_path: Path) -> None:
    """What stands at the report's name stays as it is without --force, before the workbook is read."""
    page = tmp_path / "report.csv"
    page.write_text("mine")
    given = ["report", str(small_workbook()), "-o", str(page)]
    assert "--force" in refused(*given)
    assert page.read_text() == "mine"
    command(*given, "--force")
    assert page.read_text(encoding="utf-8-sig").startswith("section,")


def test_the_command_loads_no_large_library(tmp_path: Path) -> None:
    """A report starts without pandas, openpyxl, JAX or matplotlib; only a PDF loads Typst."""
    code = (
        "import sys; from pathlib import Path; from planner.report.write import write; "
        "write(Path(sys.argv[1]), Path(sys.argv[2])); "
        "print([m for m in ('pandas', 'openpyxl', 'jax', 'matplotlib', 'typst') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(small_workbook()), str(tmp_path / "report.html")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 6, 12])
def test_the_summary_is_one_page(tmp_path: Path, count: int) -> None:
    """Whatever number of scenarios, the first page of a PDF says of each whether it fits, and the second goes on."""
    from pypdf import PdfReader

    scenarios, path = tmp_path / "scenarios.csv", tmp_path / "plan.xlsx"
    rows = (f"s{at},Number {at} of these,llama3-70b,h100-sxm,{at},64" for at in range(1, count + 1))
    scenarios.write_text("\n".join(["id,name,model,hardware,n_chips,batch", *rows]) + "\n")
    path.write_bytes(build(plan_of((), (), ("inference",), scenarios, ())))
    write(path, tmp_path / "report.pdf")
    first, second, *_ = (" ".join(page.extract_text().split()) for page in PdfReader(tmp_path / "report.pdf").pages)
    assert all(f"Number {at} of these" in first for at in range(1, count + 1))
    assert "What to change" in first
    assert "Numbers" in second
