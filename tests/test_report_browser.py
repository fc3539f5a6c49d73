"""The HTML report in a real browser: a silent console, nothing beyond the edge; toggles, tips and keys work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from unicodedata import normalize

import pytest

from planner.report.documents import html, pdf
from planner.report.report_data import report_data
from tests.libreoffice import needs_libreoffice, recalculated
from tests.reports import Page, agrees, hostile_workbook, whole_workbook

BROWSER = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" src="report.html" style="border:0;width:{width}px;height:2000px"></iframe><pre id="said"></pre>
<script>
document.getElementById("page").addEventListener("load", function () {{
  var view = this.contentWindow, page = this.contentDocument, said = {{}};
  function key(name) {{
    var svg = page.querySelector("figure svg");
    svg.focus();
    svg.dispatchEvent(new view.KeyboardEvent("keydown", {{ key: name, bubbles: true }}));
    return page.getElementById("tip").textContent;
  }}
  said.over = page.documentElement.scrollWidth - page.documentElement.clientWidth;
  said.cards = page.querySelectorAll(".card:not(.off)").length;
  said.first = key("ArrowRight");
  said.second = key("ArrowRight");
  said.focused = page.activeElement.tagName;
  page.querySelector("input[data-s]").click();
  said.cardsAfter = page.querySelectorAll(".card:not(.off)").length;
  said.hidden = page.querySelectorAll("svg .series.off").length;
  said.moved = page.querySelectorAll("g.rows [transform*='-']").length;
  var sort = page.querySelectorAll("#sweep th button")[0];
  said.hinted = page.querySelectorAll(".scroll.more").length;
  if (sort) {{ sort.click(); sort.click(); said.sorted = page.querySelector("#sweep tbody th").textContent.trim(); }}
  said.small = Array.prototype.filter.call(page.querySelectorAll("figure svg text"), function (text) {{
    var height = text.getBoundingClientRect().height;
    return height > 0 && height < 9;
  }}).length;
  document.getElementById("said").textContent = JSON.stringify(said);
}});
</script>"""
CUT = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" src="report.html" style="border:0;width:{width}px;height:2000px"></iframe><pre id="said"></pre>
<script>
document.getElementById("page").addEventListener("load", function () {{
  var found = this.contentDocument.querySelectorAll("#headlines .scroll, #sweep .scroll");
  var cut = Array.prototype.filter.call(found, function (table) {{ return table.scrollWidth > table.clientWidth; }});
  var names = cut.map(function (table) {{ return table.getAttribute("aria-label"); }});
  this.contentDocument.querySelectorAll("#sweep tbody th").forEach(function (cell) {{
    var range = cell.ownerDocument.createRange();
    range.selectNodeContents(cell);
    if (range.getClientRects().length > 1) names.push(cell.textContent + " is broken");
  }});
  document.getElementById("said").textContent = found.length ? names.join("; ") || "none is cut" : "no table";
}});
</script>"""


def browse(path: Path, tmp: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser headless on a file, with a profile of its own."""
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
        "--disable-background-networking", f"--user-data-dir={tmp / 'profile'}", "--enable-logging=stderr",
        "--allow-file-access-from-files", "--virtual-time-budget=4000", *arguments, path.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, env=dict(os.environ))


def written(tmp: Path) -> Path:
    """The page of the workbook with names that try to break out."""
    path = tmp / "report.html"
    path.write_text(html(report_data(hostile_workbook())), encoding="utf-8")
    return path


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_works(tmp_path: Path, width: int) -> None:
    """No console message; nothing sticks out; the arrow keys, the toggles and the sorting do what they say."""
    import json

    path = written(tmp_path)
    alone = browse(path, tmp_path, "--dump-dom")
    assert "CONSOLE" not in alone.stderr, alone.stderr
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width))
    framed = browse(frame, tmp_path, "--dump-dom")
    assert "CONSOLE" not in framed.stderr, framed.stderr
    match = re.search(r'<pre id="said">(.*?)</pre>', framed.stdout, re.S)
    assert match is not None
    said = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert said["over"] == 0
    assert (said["cards"], said["cardsAfter"]) == (4, 3)
    assert said["first"]
    assert said["second"]
    assert said["first"] != said["second"]
    assert said["focused"] == "svg"
    assert said["hidden"] > 0
    assert said["moved"] > 0
    assert said["small"] == 0
    assert said["hinted"] > 0 or width > 390  # what is wider than a phone says that it scrolls


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [1280, 1500])
def test_four_scenarios_fit_beside_their_notes(tmp_path: Path, width: int) -> None:
    """On a laptop no table of headlines or of a sweep is cut at the right, and no value of an axis is broken."""
    page, frame = tmp_path / "report.html", tmp_path / "frame.html"
    page.write_text(html(report_data(whole_workbook())), encoding="utf-8")
    frame.write_text(CUT.format(width=width))
    framed = browse(frame, tmp_path, "--dump-dom")
    match = re.search(r'<pre id="said">(.*?)</pre>', framed.stdout, re.S)
    assert match is not None
    assert match[1] == "none is cut"


@pytest.mark.slow
@needs_browser
def test_the_page_prints(tmp_path: Path) -> None:
    """On paper it has every section, the closed ones too, and no toggles."""
    from pypdf import PdfReader

    target = tmp_path / "print.pdf"
    browse(written(tmp_path), tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={target}")
    text = " ".join("\n".join(page.extract_text() for page in PdfReader(target).pages).split())
    for words in ("What to change", "Constants", "SHA-256", "Floating-point rounding"):
        assert words in text
    assert "Skip to the report" not in text


@pytest.mark.slow
@needs_libreoffice
def test_every_number_is_what_libreoffice_computes(tmp_path: Path) -> None:
    """Each number of the page is the cell that LibreOffice recalculates, to the digits shown."""
    values = recalculated(hostile_workbook(), tmp_path)
    figures = Page(html(report_data(hostile_workbook()))).figures()
    assert len(figures) > 300
    for cell, exact, text in figures:
        sheet, _, ref = cell.rpartition("!")
        value = values[sheet][ref]
        assert isinstance(value, float), cell
        assert abs(value - float(exact)) <= 1e-12 * abs(value), cell
        assert agrees(text, value), f"{cell}: {text} of {value!r}"


@pytest.mark.slow
def test_a_pdf_keeps_its_drawings() -> None:
    """The PDF needs few pages, and has the drawings as shapes, not as pixels."""
    import io

    from pypdf import PdfReader

    data, remark = pdf(report_data(whole_workbook()))
    reader = PdfReader(io.BytesIO(data))
    assert remark == ""
    assert len(reader.pages) <= 14  # a waterfall and runs alike for each of four scenarios; sources on the last two
    assert not [image for page in reader.pages for image in page.images]


@pytest.mark.slow
@needs_browser
def test_no_word_of_a_header_is_broken_in_print(tmp_path: Path) -> None:
    """On paper each word above a table of many columns is whole, and nothing says that the page scrolls."""
    from pypdf import PdfReader

    page, target, report = tmp_path / "report.html", tmp_path / "print.pdf", report_data(whole_workbook())
    page.write_text(html(report), encoding="utf-8")
    browse(page, tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={target}")
    text = normalize("NFKC", " ".join(sheet.extract_text() for sheet in PdfReader(target).pages))  # no ligatures
    titles = {word for table in (*report.near, *report.sweeps) for each in table.columns for word in each.label.split()}
    assert {"Sequences", "together", "Reported", "Expected"} <= titles
    assert [word for word in titles if word not in text] == []
    assert "sideways" not in text
