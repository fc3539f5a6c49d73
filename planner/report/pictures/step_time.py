"""What a step's time is made of: a decode step, and a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.book.plan import Quantity, Scenario
from planner.report.cells import Cells
from planner.report.data import Figure, Picture
from planner.report.pictures import bars
from planner.report.pictures.bars import Bar, Part

DECODE = ("kv_time", "param_time", "matmul_time")
CALIBRATED = {"decode_step_time": "decode_step_time_calibrated"}
TRAINING, LOWER, UPPER, FITTED = (
    "compute_time", "step_time_lower_bound", "step_time_upper_bound", "step_time_calibrated",
)  # fmt: skip
COMMUNICATION, SUMS = "_comm_time", ("ici_comm_time",)  # of the others
Meant = list[tuple[int, Scenario]]
NEAR = 1e-3  # marks nearer than this share of the step are one


def pictures(cells: Cells) -> Iterator[Picture]:
    """A picture for each kind of step that the workbook has the rows of."""
    for table in cells.table_with("decode_step_time", *DECODE):
        if meant := cells.meant(table["decode_step_time"]):
            yield _decode(cells, table, meant)
        break
    for table in cells.table_with(LOWER, TRAINING):
        if meant := cells.meant(table[LOWER]):
            yield _training(cells, table, meant)
        break


def _decode(cells: Cells, table: dict[str, Quantity], meant: Meant) -> Picture:
    """The cache is read first; then the longer of the weights' reading and the matmuls counts, the other hides."""
    rows = [table[name] for name in DECODE]
    total, fitted = table["decode_step_time"], table.get(CALIBRATED["decode_step_time"])
    drawn: list[Bar] = []
    for index, scenario in meant:
        figures = [cells.of(row, scenario.key) for row in rows]
        whole = cells.of(total, scenario.key)
        times = [_seconds(figure) for figure in figures]
        parts = [Part(0, 0.0, times[0], _said(rows[0], figures[0]), figures[0].text)]
        for kind in (1, 2):
            hidden = times[kind] < times[3 - kind] or (kind == 2 and times[1] == times[2])
            words = _said(rows[kind], figures[kind]) + (" (hidden behind the longer)" if hidden else "")
            parts.append(Part(kind, times[0], times[kind], words, figures[kind].text, is_hidden=hidden))
        marks = _marks(cells, [fitted] if fitted else [], scenario.key, [_seconds(whole)])
        drawn.append(
            Bar(
                index,
                scenario.name or scenario.id,
                whole.text if not whole.is_missing else f"N/A: {whole.why}",
                parts,
                marks,
            )
        )
    caption = (
        "The cache's reading, then the longer of reading the weights and computing; the thin bar is the shorter one."
    )
    return _finished(
        cells, meant, "step-time-decode", "Decode step", drawn, rows, [total, *([fitted] if fitted else [])], caption
    )


def _training(cells: Cells, table: dict[str, Quantity], meant: Meant) -> Picture:
    """Computing and each communication, one after the other; a mark where all that can overlap does."""
    own = next(rows for rows in cells.tables if LOWER in rows)
    names = [TRAINING, *(name for name in own if name.endswith(COMMUNICATION) and name not in SUMS)]
    rows = [
        row for row in (table[name] for name in names)
        if row.name == TRAINING or any(_seconds(cells.of(row, each.key)) > 0 for _, each in meant)
    ]  # fmt: skip
    bounds = [table[name] for name in (LOWER, UPPER, FITTED) if name in table]
    drawn: list[Bar] = []
    for index, scenario in meant:
        begin, parts = 0.0, []
        for kind, row in enumerate(rows):
            figure = cells.of(row, scenario.key)
            length = _seconds(figure)
            if length > 0:
                parts.append(Part(kind, begin, length, _said(row, figure), figure.text))
            begin += length
        marks = _marks(cells, bounds, scenario.key, [])
        least = cells.of(bounds[0], scenario.key)
        drawn.append(
            Bar(
                index,
                scenario.name or scenario.id,
                least.text if not least.is_missing else f"N/A: {least.why}",
                parts,
                marks,
            )
        )
    caption = "Computing and communication one after the other; the marks are the bounds, the first with all overlap."
    return _finished(cells, meant, "step-time-training", "Training step", drawn, rows, bounds, caption)


def _marks(cells: Cells, rows: Sequence[Quantity], key: str, taken: list[float]) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    for row in rows:
        figure = cells.of(row, key)
        at = _seconds(figure)
        if at > 0 and all(abs(at - other) > NEAR * at for other in taken):
            found.append((at, _said(row, figure)))
            taken.append(at)
    return found


def _seconds(figure: Figure) -> float:
    return figure.value if isinstance(figure.value, float) and figure.value > 0 else 0.0


def _said(row: Quantity, figure: Figure) -> str:
    return f"{row.title}: {figure.text}"


def _finished(
    cells: Cells, meant: Meant, id: str, title: str, drawn: list[Bar], rows: list[Quantity], totals: list[Quantity],
    caption: str,
) -> Picture:  # fmt: skip
    high = max([1e-12, *(part.begin + part.length for bar in drawn for part in bar.parts),
                *(at for bar in drawn for at, _ in bar.marks)]) * 1.04  # fmt: skip
    alt = f"{title} of each scenario: " + "; ".join(f"{bar.name}: {bar.said}" for bar in drawn) + "."
    svg = bars.draw(alt, drawn, [row.title for row in rows], high, "s")
    return Picture(id, title, svg, alt, caption, cells.table([*rows, *totals], meant))
