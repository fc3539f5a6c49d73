"""The picture of what stands in memory, as bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.book.plan import Quantity, Scenario
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import Figure, Picture
from planner.report.figures import CellFigures
from planner.spoken import PERCENT


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
         "activation_bytes_per_chip", "gathered_bytes_per_chip", "working_bytes_per_chip"),
        "memory_expected_bytes_per_chip", "hbm_bytes", "of a chip",
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
    each = "; ".join(f"{bar.name}: {bar.told or bar.said}" for bar in drawn)
    alt = f"{memory.title}, bars against the capacity. {each}."
    caption = f"As a share of the HBM {memory.where}. The line is the capacity: what reaches beyond it doesn't fit."
    drawing = bar_chart(alt, drawn, [row.title for row in parts], PERCENT)
    rows = [*parts, *([total] if total else []), room]
    return Picture(f"memory-{memory.use}", memory.title, drawing, alt, caption, cells.table(rows, meant))


def _memory_bar(
    index: int, name: str, parts: list[Quantity], sizes: list[Figure], whole: Figure | None, capacity: Figure
) -> Bar:
    if not isinstance(capacity.value, float) or capacity.value <= 0:
        words = f"N/A: {capacity.why}" if capacity.why else "N/A"
        return Bar(index, name, words[:60], told=f"N/A, {capacity.why}")
    pieces = [
        BarPart(kind, size.value / capacity.value, f"{row.title}: {size.text}", size.text)
        for kind, (row, size) in enumerate(zip(parts, sizes, strict=True))
        if isinstance(size.value, float) and size.value > 0
    ]
    missing = [row.title for row, size in zip(parts, sizes, strict=True) if size.is_missing]
    words = f"{whole.text} of {capacity.text}" if whole is not None else f"capacity {capacity.text}"
    words += f" (N/A: {', '.join(missing)})" if missing else ""
    return Bar(index, name, words, pieces, limit=1.0, is_over=sum(piece.length for piece in pieces) > 1)
