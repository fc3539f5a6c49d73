"""The charts that follow the chosen scenario: what they draw is there, open to the eye, and from live cells."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from openpyxl.utils import column_index_from_string

from planner.workbook.book import build, draft
from planner.workbook.scenarios import plan_of
from planner.workbook.wrapping import PER_WIDTH, lines_of
from planner.xlsx.cellvalue import Value
from planner.xlsx.chart_caches import _point
from planner.xlsx.opc import Package
from tests.workbooks import SheetsOf, by_name, cached, few_rows, resave, retype, smaller

SERIES = re.compile(rb"<(?:\w+:)?f>'?(\w+)'?!\$([A-Z]+)\$([0-9]+)(?::\$[A-Z]+\$([0-9]+))?</")


EMU_OF_A_PIXEL = 9525


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook that trains and serves."""
    made = tmp_path_factory.mktemp("charts") / "plan.xlsx"
    few = few_rows(("llama3-70b",), ("tpu-v5p",))
    plan = plan_of(["llama3-70b"], ["tpu-v5p"], ("transformer", "training", "inference"), None, ["n_chips=64"], few)
    made.write_bytes(build(plan))
    return made


@pytest.fixture(scope="module")
def book(path: Path) -> SheetsOf:
    """It as openpyxl reads it."""
    return SheetsOf(path)


def charts(path: Path) -> list[bytes]:
    """The charts of the Dashboard, as XML."""
    package = Package.read(path)
    drawing = next(
        link.target for link in package.relationships(package.sheets()["Dashboard"]) if link.kind == "drawing"
    )
    return [package.parts[link.target] for link in package.relationships(drawing) if link.kind == "chart"]


def test_the_dashboard_has_the_charts(path: Path) -> None:
    """First those that compare scenarios; then a waterfall, a roofline, throughput over latency, and swept parts."""
    titles = [
        b"".join(re.findall(rb"<(?:\w+:)?t>([^<]*)<", xml.split(b"plotArea")[0])).decode() for xml in charts(path)
    ]
    assert len(titles) == 12
    for words in (
        "Memory of a chip (GB)",
        "Cost per million output tokens (USD)",
        "Where the time of a decode step goes (ms)",
        "Cost of the run (million USD)",
        "Where the time of a step goes (s)",
        "From bound to expected",
        "Roofline",
        "tokens a second",
        "Inference: memory",
        "Training: memory",
        "Inference: expected step",
        "Training: expected step",
    ):
        assert any(words in title for title in titles), words


def test_charts_draw_open_live_cells(path: Path, book: SheetsOf) -> None:
    """Every range that a chart draws is of formulas or swept values, and it draws it where it is closed."""
    drawn = 0
    for xml in charts(path):
        draws_closed = b'plotVisOnly val="0"' in xml
        for name, letters, first, last in SERIES.findall(xml):
            sheet, column = book[name.decode()], letters.decode()
            dimensions = sheet.column_dimensions
            hidden = [each for each in dimensions.values() if each.hidden and each.min and each.max]
            number = column_index_from_string(column)
            is_closed = any(each.min <= number <= each.max for each in hidden)
            assert draws_closed or not is_closed, f"{name.decode()}!{column}"
            for row in range(int(first), int(last or first) + 1):
                assert draws_closed or not sheet.row_dimensions[row].hidden
                assert sheet[f"{column}{row}"].value is not None
                drawn += 1
    assert drawn > 100


def test_axes_have_titles(path: Path) -> None:
    """Both axes of every chart are shown and titled, but for one along which scenarios stand with their names."""
    for xml in charts(path):
        axes = re.findall(rb"<(?:\w+:)?(?:valAx|catAx)>.*?</(?:\w+:)?(?:valAx|catAx)>", xml, re.DOTALL)
        assert len(axes) >= 2
        for axis in axes[:2]:
            assert b"title>" in axis or (b"catAx" in axis and b"$F$5" in xml)
            assert re.search(rb'delete val="0"', axis)


def test_parts_are_stacked(path: Path) -> None:
    """Parts of memory and of an expected step are bars one on another, before the line that they are held against."""
    seen = 0
    for xml in charts(path):
        title = b"".join(re.findall(rb"<(?:\w+:)?t>([^<]*)<", xml.split(b"plotArea")[0])).decode()
        if b"barChart>" not in xml or b"lineChart>" not in xml:
            continue
        bars, lines = (re.search(rb"<(?:\w+:)?%sChart>.*</(?:\w+:)?%sChart>" % (kind, kind), xml, re.DOTALL)
                       for kind in (b"bar", b"line"))  # fmt: skip
        assert bars
        assert lines
        assert re.search(rb'grouping val="stacked"', bars[0]), title
        n_bars, n_lines = (len(re.findall(rb"<(?:\w+:)?ser>", found[0])) for found in (bars, lines))
        assert (n_bars > 1, n_lines) == (True, 1), title
        seen += 1
    assert seen == 4


def test_charts_compare_all_scenarios(path: Path) -> None:
    """Bars of every scenario stand beside each other, named as on the sheet; the parts of a step are one on another."""
    compared = [xml for xml in charts(path) if b"$F$5" in xml]
    assert len(compared) == 5
    assert sum(b'grouping val="stacked"' in xml for xml in compared) == 2


def block(board: Mapping[str, Value]) -> list[tuple[Any, Any, Any, Any]]:
    """The rows below the head of Dashboard's block: label, where its bar begins, time and share."""
    head = next(int(ref[1:]) for ref, value in board.items() if value == "Of the expected step")
    rows: list[tuple[Any, Any, Any, Any]] = []
    while board.get(f"D{head + 1 + len(rows)}") is not None:
        label, begins, time, share = (board.get(f"{column}{head + 1 + len(rows)}") for column in "ACDE")
        rows.append((label, begins, time, share))
    return rows


def test_the_waterfall_draws_the_block(path: Path, book: SheetsOf) -> None:
    """Its bars are the times of the block, each on an unseen one that ends where the part before it does."""
    xml = next(each for each in charts(path) if b"From bound to expected" in each)
    rows = block({cell.coordinate: cell.value for row in book["Dashboard"]["A:E"] for cell in row})
    drawn = [(letters.decode(), int(last) - int(first) + 1) for _, letters, first, last in SERIES.findall(xml)]
    assert drawn == [("A", len(rows)), ("C", len(rows)), ("A", len(rows)), ("D", len(rows))]
    unseen, seen = re.findall(rb"<(?:\w+:)?ser>.*?</(?:\w+:)?ser>", xml, re.DOTALL)
    assert b"noFill" in unseen.split(b"<cat>")[0]
    assert b"solidFill" in seen
    assert all(str(cell).startswith("=") for _, *cells in rows for cell in cells)


@pytest.mark.parametrize(
    ("workload", "whole"), [("inference", "decode_step_time_expected"), ("training", "step_time_expected")]
)
def test_the_parts_make_what_is_expected(path: Path, tmp_path: Path, workload: str, whole: str) -> None:
    """The block shows the workload that the chosen scenario is meant for: a step, its bound, the parts that make it."""
    made = tmp_path / "plan.xlsx"
    made.write_bytes(path.read_bytes())
    retype(made, mesh_tensor=4.0, batch_tokens=1048576.0, workload=workload)
    resave(made)
    grid = cached(made)
    (_, _, step, share), (_, _, bound, _), *parts = block(grid["Dashboard"])
    assert step == grid["Dashboard"][f"F{by_name(grid, 'Dashboard')[whole]}"]
    assert share == 1
    assert bound <= step
    assert sum(time for _, _, time, _ in parts) == pytest.approx(step, rel=1e-12)
    for index, (label, begins, time, share) in enumerate(parts):
        assert label
        assert begins == pytest.approx(sum(before for _, _, before, _ in parts[:index]), rel=1e-12)
        assert share == pytest.approx(time / step, rel=1e-12)


def test_heads_of_sweeps_stay_whole(book: SheetsOf) -> None:
    """A head above an open column of Sweep has room on the lines of its row."""
    sheet = book["Sweep"]
    wide = {letters: each.width for letters, each in sheet.column_dimensions.items() if not each.hidden}
    heads = [cell for row in sheet.iter_rows() for cell in row if cell.value and cell.style.startswith("plan_column")]
    shown = [cell for cell in heads if cell.column_letter in wide and not sheet.row_dimensions[cell.row].hidden]
    assert len(shown) > 20
    for cell in shown:
        lines = lines_of(cell.value, int(wide[cell.column_letter] * PER_WIDTH))
        assert (sheet.row_dimensions[cell.row].height or 15) >= 12.5 * lines, cell.value


@pytest.mark.parametrize(
    ("value", "before", "kept"),
    [(512.0, "512", "512"), (1024.0, "512", "1024"), (0.5, "50%", "50%"), (0.5, "0.500", "0.500"), ("a", "512", "a")],
)
def test_a_number_among_texts_is_that_of_now(value: Value, before: str, kept: str) -> None:
    """A chart's category that is a number follows it; as a cell shows it, it stays."""
    assert _point(value, before, texts=True) == kept


def test_charts_of_many_scenarios_are_higher(tmp_path: Path) -> None:
    """Each scenario's bars keep room for its name on two lines: programs leave out names that have none."""
    heights, databases = [], few_rows(("llama3-8b",), ("tpu-v5e", "h200-sxm"))
    for count in (1, 8):
        lines = ["scenario,model,hardware,batch", *(f"s{at},llama3-8b,tpu-v5e,{at}" for at in range(1, count + 1))]
        (tmp_path / "many.csv").write_text("\n".join(lines), encoding="utf-8")
        plan = smaller(plan_of((), (), ["inference"], tmp_path / "many.csv", (), databases))
        heights.append(draft(plan).book["Dashboard"]._charts[0].anchor.ext.height / EMU_OF_A_PIXEL)
    assert heights == [pytest.approx(284), pytest.approx(8 * 40 + 124)]
