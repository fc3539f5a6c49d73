"""The picture of what stands in memory, as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner.book.plan import Quantity, Scenario
from planner.report import svg
from planner.report.contents import Figure, Picture
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
Meant = list[tuple[int, Scenario]]


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


PARTS = ("#27406b", "#3f74b3", "#94600f", "#33806c", "#955389", "#6b7280")
ROW, BAR = 48.0, 18.0
LEFT, RIGHT = svg.KEY_LEFT, svg.WIDTH - 6


@dataclass(frozen=True)
class BarPart:
    """A stretch of a bar."""

    kind: int
    begin: float
    length: float
    title: str
    label: str


@dataclass(frozen=True)
class Bar:
    """A scenario's bar: what stands above it on the left and on the right, and its parts.

    `told` is what the drawing's description says of it where that is more than `said`, which must be short.
    """

    index: int
    name: str
    said: str
    parts: Sequence[BarPart] = ()
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
        drawing.add("rect", title=f"{bar.name}\n{part.title}", x=x, y=y, width=max(wide, 0.5), height=BAR,
                    fill=PARTS[kind], stroke=svg.PAPER, stroke_width=0.8, class_=f"p{kind} point")  # fmt: skip
        if svg.width_of(part.label) + 10 < wide:
            drawing.text(
                x + wide / 2, y + BAR / 2, part.label, "middle", fill="#ffffff", class_="on", pointer_events="none"
            )
    if has_limit:
        drawing.line(scale(1), y - 3, scale(1), y + BAR + 5, stroke=svg.INK, stroke_width=2.0, class_="limit")
