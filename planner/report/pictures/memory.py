"""What stands in memory beside what there is: each scenario's bar against its own capacity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.book.plan import Quantity, Scenario
from planner.report.cells import Cells
from planner.report.data import Figure, Picture
from planner.report.pictures import bars
from planner.report.pictures.bars import Bar, Part


@dataclass(frozen=True)
class Layout:
    """The rows of one kind of memory, all in one unit: its parts, their sum where there is a row, the room."""

    id: str
    title: str
    key: str  # the row that tells the sheet
    parts: tuple[str, ...]
    total: tuple[str, ...]
    room: tuple[str, ...]
    where: str


LAYOUTS = (
    Layout("memory-serving", "Memory to serve", "kv_bytes_total", ("weight_bytes", "kv_bytes_total"),
           ("memory_bytes_total",), ("usable_hbm_bytes",), "of all chips"),
    Layout("memory-training", "Memory to train", "optimizer_bytes_per_chip",
           ("weight_bytes_per_chip", "optimizer_bytes_per_chip", "gradient_bytes_per_chip",
            "activation_bytes_per_chip", "gathered_bytes_per_chip"),
           ("memory_bytes_per_chip",), ("hbm_bytes",), "of a chip"),
)  # fmt: skip


def pictures(cells: Cells) -> Iterator[Picture]:
    """A picture for each kind of memory that the workbook has the rows of."""
    for layout in LAYOUTS:
        for table in cells.table_with(layout.key):
            parts = [table[name] for name in layout.parts if name in table]
            room = next((table[name] for name in layout.room if name in table), None)
            total = next((table[name] for name in layout.total if name in table), None)
            if (
                cells.meant(table[layout.key])
                and room is not None
                and len(parts) > 1
                and len({row.unit for row in (*parts, room)}) == 1
            ):
                yield _picture(cells, layout, parts, total, room, cells.meant(table[layout.key]))
                break


def _picture(
    cells: Cells, layout: Layout, parts: list[Quantity], total: Quantity | None, room: Quantity,
    meant: list[tuple[int, Scenario]],
) -> Picture:  # fmt: skip
    drawn: list[Bar] = []
    said: list[str] = []
    for index, scenario in meant:
        sizes = [cells.of(row, scenario.key) for row in parts]
        whole, capacity = cells.of(total, scenario.key) if total else None, cells.of(room, scenario.key)
        bar, words = _bar(index, scenario.name or scenario.id, parts, sizes, whole, capacity)
        drawn.append(bar)
        said.append(words)
    high = max([1.0, *(part.begin + part.length for bar in drawn for part in bar.parts)]) * 1.02
    alt = f"{layout.title}, bars against the capacity. " + "; ".join(said) + "."
    rows = [*parts, *([total] if total else []), room]
    caption = f"Each bar as a share of the HBM {layout.where}; what reaches beyond the line doesn't fit."
    kinds = [row.title for row in parts]
    svg = bars.draw(alt, drawn, kinds, high, "%", "capacity")
    return Picture(layout.id, layout.title, svg, alt, caption, cells.table(rows, meant))


def _bar(
    index: int, name: str, parts: list[Quantity], sizes: list[Figure], whole: Figure | None, capacity: Figure
) -> tuple[Bar, str]:
    if not isinstance(capacity.value, float) or capacity.value <= 0:
        words = f"N/A: {capacity.why}" if capacity.why else "N/A"
        return Bar(index, name, words[:60]), f"{name}: N/A, {capacity.why}"
    pieces: list[Part] = []
    begin = 0.0
    for kind, (row, size) in enumerate(zip(parts, sizes, strict=True)):
        if isinstance(size.value, float) and size.value > 0:
            length = size.value / capacity.value
            pieces.append(Part(kind, begin, length, f"{row.title}: {size.text}", size.text))
            begin += length
    missing = [row.title for row, size in zip(parts, sizes, strict=True) if size.is_missing]
    total = whole.text if whole is not None else ""
    words = f"{total} of {capacity.text}" if total else f"capacity {capacity.text}"
    words += f" (N/A: {', '.join(missing)})" if missing else ""
    return Bar(index, name, words, pieces, is_over=begin > 1), f"{name}: {words}"
