"""The pictures made of bars: what stands in memory, and what the time of a step is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.book.plan import Quantity, Scenario
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import Figure, FigureTable, Picture
from planner.report.figures import CellFigures


@dataclass(frozen=True)
class MemoryRows:
    """The rows of one kind of memory, all in one unit, by name: its parts, their sum where there is one, the room.

    `use` is what the memory is of, in a word; `template` plans it; `key` is a row that its sheet alone has.
    """

    use: str
    title: str
    template: str
    key: str
    parts: tuple[str, ...]
    total: str
    room: str
    where: str


MEMORIES = (
    MemoryRows(
        "serving", "Memory to serve", "inference", "kv_bytes_total", ("weight_bytes", "kv_bytes_total"),
        "memory_bytes_total", "usable_hbm_bytes", "of all chips",
    ),
    MemoryRows(
        "training", "Memory to train", "training", "optimizer_bytes_per_chip",
        ("weight_bytes_per_chip", "optimizer_bytes_per_chip", "gradient_bytes_per_chip",
         "activation_bytes_per_chip", "gathered_bytes_per_chip"),
        "memory_bytes_per_chip", "hbm_bytes", "of a chip",
    ),
)  # fmt: skip
DECODE = ("kv_time", "param_time", "matmul_time")
DECODE_STEP, DECODE_FITTED = "decode_step_time", "decode_step_time_calibrated"
TRAINING, FITTED = "compute_time", "step_time_calibrated"
LOWER, UPPER = "step_time_lower_bound", "step_time_upper_bound"
DECODE_CAPTION = "The cache's reading, then the longer of reading the weights and computing"
COMMUNICATION, SUMS = "_comm_time", ("ici_comm_time",)  # of the others
Meant = list[tuple[int, Scenario]]
NEAR = 1e-3  # marks nearer than this share of the step are one


def memory_pictures(cells: CellFigures) -> Iterator[Picture]:
    """A picture for each kind of memory that the workbook has the rows of."""
    for memory in MEMORIES:
        for table in cells.table_with(memory.key, memory.room):
            parts = [table[name] for name in memory.parts if name in table]
            units = {row.unit for row in (*parts, table[memory.room])}
            meant = cells.meant(table[memory.key])
            if meant and len(parts) > 1 and len(units) == 1:
                yield _memory_picture(cells, memory, parts, table, meant)
                break


def _memory_picture(
    cells: CellFigures, memory: MemoryRows, parts: list[Quantity], table: dict[str, Quantity], meant: Meant
) -> Picture:
    total, room = table.get(memory.total), table[memory.room]
    drawn: list[Bar] = []
    for index, scenario in meant:
        sizes = [cells.of(row, scenario.key) for row in parts]
        whole, capacity = cells.of(total, scenario.key) if total else None, cells.of(room, scenario.key)
        drawn.append(_memory_bar(index, scenario.name or scenario.id, parts, sizes, whole, capacity))
    high = max([1.0, *(part.begin + part.length for bar in drawn for part in bar.parts)]) * 1.02
    each = "; ".join(f"{bar.name}: {bar.told or bar.said}" for bar in drawn)
    alt = f"{memory.title}, bars against the capacity. {each}."
    caption = f"Each bar as a share of the HBM {memory.where}; what reaches beyond the line doesn't fit."
    svg = bar_chart(alt, drawn, [row.title for row in parts], high, "%", "capacity")
    rows = [*parts, *([total] if total else []), room]
    return Picture(f"memory-{memory.use}", memory.title, svg, alt, caption, cells.table(rows, meant))


def _memory_bar(
    index: int, name: str, parts: list[Quantity], sizes: list[Figure], whole: Figure | None, capacity: Figure
) -> Bar:
    if not isinstance(capacity.value, float) or capacity.value <= 0:
        words = f"N/A: {capacity.why}" if capacity.why else "N/A"
        return Bar(index, name, words[:60], told=f"N/A, {capacity.why}")
    pieces: list[BarPart] = []
    begin = 0.0
    for kind, (row, size) in enumerate(zip(parts, sizes, strict=True)):
        if isinstance(size.value, float) and size.value > 0:
            length = size.value / capacity.value
            pieces.append(BarPart(kind, begin, length, f"{row.title}: {size.text}", size.text))
            begin += length
    missing = [row.title for row, size in zip(parts, sizes, strict=True) if size.is_missing]
    total = whole.text if whole is not None else ""
    words = f"{total} of {capacity.text}" if total else f"capacity {capacity.text}"
    words += f" (N/A: {', '.join(missing)})" if missing else ""
    return Bar(index, name, words, pieces, is_over=begin > 1)


def step_pictures(cells: CellFigures) -> Iterator[Picture]:
    """A picture for each kind of step that the workbook has the rows of."""
    for table in cells.table_with(DECODE_STEP, *DECODE):
        if meant := cells.meant(table[DECODE_STEP]):
            yield _decode(cells, table, meant)
        break
    for table in cells.table_with(LOWER, TRAINING):
        if meant := cells.meant(table[LOWER]):
            yield _training(cells, table, meant)
        break


def _decode(cells: CellFigures, table: dict[str, Quantity], meant: Meant) -> Picture:
    """The cache is read first; then the longer of the weights' reading and the matmuls counts, the other hides."""
    rows = [table[name] for name in DECODE]
    total, fitted = table[DECODE_STEP], table.get(DECODE_FITTED)
    drawn: list[Bar] = []
    for index, scenario in meant:
        figures = [cells.of(row, scenario.key) for row in rows]
        whole = cells.of(total, scenario.key)
        times = [_seconds(figure) for figure in figures]
        parts = [BarPart(0, 0.0, times[0], _said(rows[0], figures[0]), figures[0].text)]
        for kind in (1, 2):
            hidden = times[kind] < times[3 - kind] or (kind == 2 and times[1] == times[2])
            words = _said(rows[kind], figures[kind]) + (" (hidden behind the longer)" if hidden else "")
            parts.append(BarPart(kind, times[0], times[kind], words, figures[kind].text, is_hidden=hidden))
        marks = _marks(cells, [fitted] if fitted else [], scenario.key, [_seconds(whole)])
        drawn.append(_step_bar(index, scenario, whole, parts, marks))
    caption = f"{DECODE_CAPTION}; the thin bar is the shorter one."
    numbers = cells.table([*rows, total, *([fitted] if fitted else [])], meant)
    return _step_picture("step-time-decode", "Decode step", drawn, rows, caption, numbers)


def _training(cells: CellFigures, table: dict[str, Quantity], meant: Meant) -> Picture:
    """Computing and each communication, one after the other; a mark where all that can overlap does."""
    own = next(rows for rows in cells.tables if LOWER in rows)
    names = [TRAINING, *(name for name in own if name.endswith(COMMUNICATION) and name not in SUMS)]
    rows = [
        table[name]
        for name in names
        if name == TRAINING or any(_seconds(cells.of(table[name], each.key)) > 0 for _, each in meant)
    ]
    bounds = [table[name] for name in (LOWER, UPPER, FITTED) if name in table]
    drawn: list[Bar] = []
    for index, scenario in meant:
        begin, parts = 0.0, []
        for kind, row in enumerate(rows):
            figure = cells.of(row, scenario.key)
            length = _seconds(figure)
            if length > 0:
                parts.append(BarPart(kind, begin, length, _said(row, figure), figure.text))
            begin += length
        marks = _marks(cells, bounds, scenario.key, [])
        least = cells.of(bounds[0], scenario.key)
        drawn.append(_step_bar(index, scenario, least, parts, marks))
    caption = "Computing and communication one after the other; the marks are the bounds, the first with all overlap."
    numbers = cells.table([*rows, *bounds], meant)
    return _step_picture("step-time-training", "Training step", drawn, rows, caption, numbers)


def _step_bar(
    index: int, scenario: Scenario, whole: Figure, parts: list[BarPart], marks: list[tuple[float, str]]
) -> Bar:
    said = f"N/A: {whole.why}" if whole.is_missing else whole.text
    return Bar(index, scenario.name or scenario.id, said, parts, marks)


def _marks(cells: CellFigures, rows: Sequence[Quantity], key: str, taken: list[float]) -> list[tuple[float, str]]:
    found: list[tuple[float, str]] = []
    for row in rows:
        figure = cells.of(row, key)
        at = _seconds(figure)
        if at > 0 and all(abs(at - other) > NEAR * at for other in taken):
            found.append((at, _said(row, figure)))
            taken.append(at)
    return found


def _seconds(figure: Figure) -> float:
    return max(figure.number, 0.0)


def _said(row: Quantity, figure: Figure) -> str:
    return f"{row.title}: {figure.text}"


def _step_picture(
    id: str, title: str, drawn: list[Bar], rows: list[Quantity], caption: str, numbers: FigureTable
) -> Picture:
    ends = [part.begin + part.length for bar in drawn for part in bar.parts]
    marked = [at for bar in drawn for at, _ in bar.marks]
    alt = f"{title} of each scenario: " + "; ".join(f"{bar.name}: {bar.said}" for bar in drawn) + "."
    svg = bar_chart(alt, drawn, [row.title for row in rows], max([1e-12, *ends, *marked]) * 1.04, "s")
    return Picture(id, title, svg, alt, caption, numbers)
