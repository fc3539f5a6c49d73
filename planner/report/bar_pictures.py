"""The pictures made of bars: what stands in memory, and what the time of a step is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.book.plan import Quantity, Scenario
from planner.report import svg
from planner.report.contents import Figure, FigureTable, Picture
from planner.report.figures import CellFigures
from planner.report.svg import Drawing, Scale


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
    drawing = bar_chart(alt, drawn, [row.title for row in parts], high, "%", "capacity")
    rows = [*parts, *([total] if total else []), room]
    return Picture(f"memory-{memory.use}", memory.title, drawing, alt, caption, cells.table(rows, meant))


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
    drawing = bar_chart(alt, drawn, [row.title for row in rows], max([1e-12, *ends, *marked]) * 1.04, "s")
    return Picture(id, title, drawing, alt, caption, numbers)


PARTS = ("#27406b", "#3f74b3", "#94600f", "#33806c", "#955389", "#6b7280")
ROW, BAR, THIN = 48.0, 18.0, 6.0
LEFT, RIGHT = svg.KEY_LEFT, svg.WIDTH - 6


@dataclass(frozen=True)
class BarPart:
    """A stretch of a bar; `is_hidden`: it runs beside the bar and adds nothing to it."""

    kind: int
    begin: float
    length: float
    title: str
    label: str
    is_hidden: bool = False


@dataclass(frozen=True)
class Bar:
    """A scenario's bar: what stands above it on the left and on the right, its parts, and marks (where, what).

    `told` is what the drawing's description says of it where that is more than `said`, which must be short.
    """

    index: int
    name: str
    said: str
    parts: Sequence[BarPart] = ()
    marks: Sequence[tuple[float, str]] = ()
    is_over: bool = False
    told: str = ""


def bar_chart(alt: str, bars: Sequence[Bar], kinds: Sequence[str], high: float, unit: str, limit: str = "") -> str:
    """The drawing. `high` is where the scale ends; `limit` names a line that stands at 1."""
    drawing = Drawing(0)
    top = _kinds(drawing, kinds) + 6
    scale = Scale(0.0, high, LEFT, RIGHT - 8)
    bottom = top + ROW * len(bars)
    values = [value for value in scale.ticks(5) if not limit or abs(scale(value) - scale(1)) > svg.width_of(limit)]
    for value in values:
        drawing.line(scale(value), top, scale(value), bottom)
        drawing.text(scale(value), bottom + 12, _tick(value, unit), "start" if value == 0 else "middle")
    with drawing.group(class_="rows", data_row=int(ROW)):
        for at, bar in enumerate(bars):
            with drawing.series(bar.index):
                _bar(drawing, bar, scale, top + at * ROW, has_limit=bool(limit))
    if limit:
        drawing.text(scale(1), bottom + 12, limit, _anchor(scale(1)), fill=svg.INK, class_="ink")
    drawing.height = bottom + 24
    return drawing.svg(alt)


def _anchor(x: float) -> str:
    return "end" if x > svg.WIDTH - 60 else "start" if x < 40 else "middle"


def _tick(value: float, unit: str) -> str:
    return f"{value * 100:g} %" if unit == "%" else svg.tick(value, unit)


def _kinds(drawing: Drawing, kinds: Sequence[str]) -> float:
    """The key of the parts' colours; returns the height below it."""
    y = 9.0
    for index, (name, (x, y)) in enumerate(zip(kinds, svg.in_rows(kinds, 17, 16, RIGHT), strict=True)):
        own = index % len(PARTS)
        drawing.add("rect", x=x, y=y - 5, width=11, height=11, rx=2, fill=PARTS[own], class_=f"p{own}")
        drawing.text(x + 16, y, name)
    return y + 12


def _bar(drawing: Drawing, bar: Bar, scale: Scale, top: float, has_limit: bool) -> None:
    svg.mark(drawing, bar.index, LEFT + 5, top + 10, 4.2, class_=svg.kind("f", bar.index))
    room = 58 - len(bar.said)
    drawing.text(LEFT + 14, top + 10, svg.cut(bar.name, max(room, 12)), fill=svg.INK, class_="ink")
    ink = {"fill": "#b42318", "class_": "bad", "font_weight": "bold"} if bar.is_over else {}
    drawing.text(RIGHT, top + 10, bar.said, "end", **ink)
    y = top + 20
    for part in bar.parts:
        x, wide = scale(part.begin), scale(part.begin + part.length) - scale(part.begin)
        kind = part.kind % len(PARTS)
        height, at = (THIN, y + BAR + 1) if part.is_hidden else (BAR, y)
        drawing.add("rect", title=f"{bar.name}\n{part.title}", x=x, y=at, width=max(wide, 0.5), height=height,
                    fill=PARTS[kind], stroke=svg.PAPER, stroke_width=0.8, class_=f"p{kind} point")  # fmt: skip
        if not part.is_hidden and svg.width_of(part.label) + 10 < wide:
            drawing.text(
                x + wide / 2, y + BAR / 2, part.label, "middle", fill="#ffffff", class_="on", pointer_events="none"
            )
    if has_limit:
        drawing.line(scale(1), y - 3, scale(1), y + BAR + 5, stroke=svg.INK, stroke_width=2.0, class_="limit")
    for place, words in bar.marks:
        drawing.line(scale(place), y - 4, scale(place), y + BAR + 4, stroke=svg.INK, stroke_width=2.2,
                     stroke_dasharray="3 2", class_="limit")  # fmt: skip
        drawing.add("rect", title=f"{bar.name}\n{words}", x=scale(place) - 5, y=y - 4, width=10, height=BAR + 8,
                    fill="#000", fill_opacity=0, class_="point")  # fmt: skip
