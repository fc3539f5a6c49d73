"""Nothing that stands in a workbook becomes markup, a formula or a request in a report."""

from __future__ import annotations

import csv
import io
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.report.contents import ReportData, cleaned
from planner.report.documents import escaped, html, markdown
from planner.report.exports import as_csv, as_text
from tests.reports import FOREIGN, FORMULA, HOSTILE, Page, hostile_workbook, reported

STARTS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
LOADS = ("src", "srcset", "poster", "data", "action", "formaction", "background", "xlink:href", "ping")


@pytest.fixture(scope="module")
def report() -> ReportData:
    """A report with a scenario whose name is markup, and one whose name is a formula."""
    return reported(hostile_workbook())


def test_the_page_has_one_script_and_it_is_ours(report: ReportData) -> None:
    """A name with a script element is text everywhere: in tables, tips, the drawings' words and the toggles."""
    page = Page(html(report))
    assert len(page.of("script")) == 1
    assert not [name for _, attributes, _ in page.elements for name in attributes if name.startswith("on")]
    assert HOSTILE in [text.strip() for _, text in page.of("h3")]
    assert any(HOSTILE in text for _, text in page.of("title"))
    assert any(HOSTILE in attributes.get("aria-label", "") for attributes, _ in page.of("svg"))
    for name in (FORMULA, FOREIGN):
        assert any(name in text for _, text in page.of("label"))


def test_the_page_asks_no_network(report: ReportData) -> None:
    """No attribute and no style loads anything; links lead out by a click alone; the policy forbids all else."""
    text = html(report)
    page = Page(text)
    for tag, attributes, _ in page.elements:
        assert not set(LOADS) & attributes.keys(), tag
        if "href" in attributes:
            outward = attributes["href"].startswith(("http://", "https://"))
            assert outward == (tag == "a" and attributes.get("rel") == "noopener noreferrer")
            assert outward or attributes["href"].startswith(("#", "data:,"))
    style = page.of("style")[0][1]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] for a, _ in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert not re.search(r"script-src[^;]*unsafe-inline", policy)


def test_drawings_are_sound_xml(report: ReportData) -> None:
    """Each drawing parses by itself, has words for its shapes, and no script, link or foreign element."""
    allowed = {"svg", "g", "rect", "line", "path", "circle", "polygon", "text", "title"}
    for picture in report.pictures:
        root = ElementTree.fromstring(picture.svg)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= allowed
        assert root.get("aria-label") == picture.alt
        assert len(picture.alt) > len(picture.title)


def test_no_csv_text_is_a_formula(report: ReportData) -> None:
    """A cell of the CSV is a number, or doesn't begin as a formula does; the names are there behind an apostrophe."""
    rows = list(csv.reader(io.StringIO(as_csv(report))))
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        for cell in row:
            assert not cell.startswith(STARTS) or re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", cell), cell
    assert any(f"'{FORMULA}" in row for row in rows)


def test_markdown_tables_keep_their_columns(report: ReportData) -> None:
    """Each row of a table has as many cells as its header, and no markup of a name survives."""
    text = markdown(report)
    tables = re.findall(r"(?:^\|.*\n)+", text, re.M)
    assert len(tables) > 8
    for table in tables:
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(counts) == 1, table[:300]
    outside = re.sub(r"```text\n.*?```", "", text, flags=re.S)
    assert "<script" not in outside
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert not re.search(r"https?://", outside)


@given(st.text(max_size=40))
def test_any_text_stays_a_text(text: str) -> None:
    """Whatever a name is: no formula in a CSV, one line without live markup in Markdown."""
    assert not as_text(text).lstrip(" ").startswith(STARTS)
    line = escaped(text)
    assert "\n" not in line
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`*\[\]<>]", line)


@given(st.text(st.characters(codec=None), max_size=20))
def test_cleaned_text_is_fit_for_xml(text: str) -> None:
    """What is left of any text can be written as UTF-8 and read back from XML."""
    from html import escape

    fit = cleaned(text)
    ElementTree.fromstring(f"<t>{escape(fit)}</t>".encode())
