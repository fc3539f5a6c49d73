"""Drawings stand beside Markdown, and colours can be read."""

from __future__ import annotations

import re
import xml.dom.minidom
from pathlib import Path

import pytest

import planner
from planner.errors import UserError
from planner.report.bar_chart import PARTS, Bar, BarPart, bar_chart
from planner.report.contents import FigureTable, Picture
from planner.report.documents import page
from planner.report.sensitivities import BAR, ROW, SMALL
from planner.report.svg import INK, MUTED, PALETTE, Drawing, lines, tick, width_of
from planner.report.write import alone, write, written_beside
from planner.xlsx.atomic import write_atomically
from tests.reports import reported, small_workbook

READABLE = 4.5
"""Contrast of a text and what it stands on, by WCAG 2.1 AA."""


def drawn() -> Picture:
    """A small picture."""
    drawing = Drawing(40)
    drawing.text(10, 20, "<&>")
    return Picture("roofline", "Roofline", drawing.svg("words"), "words", "", FigureTable((), ()))


def test_long_times_have_ticks_that_tell_them_apart() -> None:
    """Seconds of a month as digits, and no powers of ten that round them."""
    assert [tick(seconds, "s") for seconds in (1.5, 1e6, 1_250_000.0)] == [
        "1.5\N{NO-BREAK SPACE}s", "1,000,000\N{NO-BREAK SPACE}s", "1,250,000\N{NO-BREAK SPACE}s",
    ]  # fmt: skip


@pytest.mark.parametrize("bound", [0.05, 0.45, 0.5, 0.55, 0.95])
def test_the_line_of_a_bound_crosses_no_text(bound: float) -> None:
    """The text in a bar is beside the line across it, wherever that is; the text above the bar ends above the line."""
    bar = Bar(0, "a plan", "28.75 GB of 288.0 GB", [BarPart(0, 1.0, "the part", "370 ms")], limit=bound)
    root = xml.dom.minidom.parseString(bar_chart("words", [bar], ["Work"], "s")).documentElement
    (line,) = (each for each in root.getElementsByTagName("line") if each.getAttribute("class") == "limit")
    x, top = float(line.getAttribute("x1")), float(line.getAttribute("y1"))
    texts = {each.firstChild.nodeValue: each for each in root.getElementsByTagName("text")}
    middle, half = float(texts["370 ms"].getAttribute("x")), width_of("370 ms") / 2
    assert abs(middle - x) > half
    assert float(texts[bar.said].getAttribute("y")) + 4 < top  # what hangs below the line of writing


def test_a_drawing_stands_alone() -> None:
    """It is an SVG file of its own, on white, in fonts that a browser has."""
    text = alone(drawn()).decode()
    root = xml.dom.minidom.parseString(text).documentElement
    assert root.tagName == "svg"
    assert root.getElementsByTagName("rect")[0].getAttribute("fill") == "#ffffff"
    assert "Libertinus" not in text


def test_markdown_has_its_pictures(tmp_path: Path) -> None:
    """Every picture is linked with its words, and lies where the link says; a second report replaces them."""
    target = tmp_path / "a plan.md"
    (line,) = write(small_workbook(), target)
    links = re.findall(r"^!\[(.+)\]\(a%20plan_files/([\w-]+\.svg)\)$", target.read_text(encoding="utf-8"), re.MULTILINE)
    assert "a plan_files" in line
    assert sorted(name for _, name in links) == sorted(path.name for path in (tmp_path / "a plan_files").iterdir())
    assert len(links) == 5
    assert all(words for words, _ in links)


def test_a_house_style_may_show_them_its_own_way(tmp_path: Path) -> None:
    """Pictures of an `<img>` lie where it says, and the line counts what the page shows."""
    style, target = tmp_path / "style.md", tmp_path / "plan.md"
    style.write_text('{% for id, link in links.items() %}<img src="{{ link }}" width=400>\n{% endfor %}')
    (line,) = write(small_workbook(), target, style)
    links = re.findall('src="plan_files/(.+?)"', target.read_text())
    assert sorted(links) == sorted(path.name for path in (tmp_path / "plan_files").iterdir())
    assert len(links) == 5
    assert "5 pictures in plan_files" in line
    style.write_text("{{ report.title }}, in words alone.")
    (line,) = write(small_workbook(), tmp_path / "bare.md", style)
    assert "picture" not in line
    assert not (tmp_path / "bare_files").exists()


def test_pictures_and_page_change_together(tmp_path: Path) -> None:
    """Where the page can't be replaced, or a picture can't, the pictures of the last report are there again."""
    page, folder = tmp_path / "page.md", tmp_path / "page_files"
    folder.mkdir()
    files = {"first.svg": b"new", "second.svg": b"new"}

    def refused(error: type[BaseException], match: str) -> None:
        with pytest.raises(error, match=match), written_beside(page, files):
            raise RuntimeError("the page fails")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"first.svg": b"old"}

    (folder / "first.svg").write_bytes(b"old")
    refused(RuntimeError, "the page fails")
    lock = folder / ".~lock.second.svg#"
    page.with_name(".~lock.page.md#").touch()
    refused(UserError, "page.md: the file is open in LibreOffice")
    page.with_name(".~lock.page.md#").unlink()
    page.mkdir()
    refused(UserError, "something else than a file")
    page.rmdir()
    lock.touch()
    with pytest.raises(UserError, match=r"second\.svg: the file is open"), written_beside(page, files):
        pass
    assert (folder / "first.svg").read_bytes() == b"old"
    assert not page.exists()


def test_a_page_that_is_open_keeps_its_pictures(tmp_path: Path) -> None:
    """A report whose page is open is refused before anything beside it is touched, down to the time of its files."""
    target = tmp_path / "page.md"
    write(small_workbook(), target)
    picture = tmp_path / "page_files" / "roofline.svg"
    picture.write_text("old")
    before = picture.stat()
    target.with_name(".~lock.page.md#").touch()
    with pytest.raises(UserError, match="the file is open"):
        write(small_workbook(), target)
    assert (picture.read_text(), picture.stat().st_ino) == ("old", before.st_ino)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    """Where the page can't be written, its pictures are gone again; those of an earlier report stay."""
    page = tmp_path / "plan.md"
    page.mkdir()
    with pytest.raises(UserError), written_beside(page, {"new.svg": b"new"}):
        write_atomically(page, b"there is a folder in its place")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.md"]
    folder = tmp_path / "old_files"
    folder.mkdir()
    (folder / "kept.svg").write_bytes(b"kept")
    with pytest.raises(RuntimeError), written_beside(tmp_path / "old.md", {"new.svg": b"new"}):
        raise RuntimeError
    assert [path.name for path in folder.iterdir()] == ["kept.svg"]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2.1."""

    def luminance(colour: str) -> float:
        digits = colour.lstrip("#")
        digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_can_be_read() -> None:
    """Every text of the page on every ground that it stands on, by day and by night; white words on bars; the lines."""
    roots = re.findall(r":root\{([^}]*)\}", page("report.css"))
    day, night = (dict(re.findall(r"--([\w-]+):(#\w+)", root)) for root in roots[:2])
    grounds = ("paper", "panel", "ground", "head", "good-bg", "bad-bg", "warn-bg")
    pairs = [(ink, ground) for ink in ("ink", "muted") for ground in grounds]
    pairs += [(ink, ground) for ink in ("accent", "warn") for ground in grounds[:4]]
    pairs += [(ink, ground) for ink in ("good", "bad", "warn") for ground in ("panel", f"{ink}-bg")]
    for theme in (day, night):
        for ink, ground in pairs:
            assert contrast(theme[ink], theme[ground]) >= READABLE, (ink, ground)
    for colour in (*PARTS, *PALETTE, INK, MUTED):
        assert contrast(colour, "#ffffff") >= READABLE, colour


def test_a_tornado_for_each_scenario() -> None:
    """Each scenario's first headline has a picture of its largest elasticities, whose table has them to be read."""
    found = [each for each in reported(small_workbook()).pictures if each.id.startswith("depends-")]
    frame = planner.sensitivity(small_workbook())
    for picture in found:
        labels = [row[0].text for row in picture.table.rows]
        told = frame[frame.label.isin(labels)]
        assert list(told.label) == labels
        assert [row[3].value for row in picture.table.rows] == pytest.approx(list(told.elasticity_more), nan_ok=True)
    assert len(found) == frame.scenario.nunique() == 1


def test_a_long_label_takes_two_lines() -> None:
    """A text is broken between words, and only what two lines can't hold is cut."""
    assert lines("Layers with softmax attention", 25) == ["Layers with softmax", "attention"]
    assert lines("Context length", 25) == ["Context length"]
    assert lines("Speed of the cache's reads over that of others", 25) == [
        "Speed of the cache's",
        "reads over that of others",
    ]
    assert lines("Share of the HBM bandwidth that reads reach", 20) == ["Share of the HBM", "bandwidth that re..."]


def test_a_number_in_a_cut_bar_is_smaller_than_the_bar() -> None:
    """The number at the end of a tornado's bar that is cut is no higher than the bar, on the page as in the PDF."""
    assert f"svg text.small{{font-size:{SMALL:g}px}}" in (
        Path(planner.__file__).parent / "report/pages/report.css"
    ).read_text(encoding="utf-8")
    assert SMALL < BAR
    assert 2 * BAR < ROW
