"""The pictures made of stacked bars: the parts of each scenario's expected time, and the use of its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import NamedTuple

from planner.book.plan import Quantity, Scenario
from planner.formulas.headlines import Headline, Share
from planner.number_text import PERCENT, percent, shown, spoken, where_goes
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import ExpectedNumber, Figure, FigureColumn, FigureTable, Picture
from planner.report.expectation import Planned, of_runs
from planner.report.figures import CellFigures

FAR = 8.0  # ratio above which scenarios are drawn as shares of their own expected time
TIME_CAPTION = (
    "What the expected time is made of. The line across a bar is the bound: perfect overlap and nothing lost. "
    "The line along its end is the range of {}."
)
SHARES = " Each bar is a share of its own scenario's expected time."


class Timed(NamedTuple):
    """A scenario with its expected time and the parts of it."""

    place: int
    scenario: Scenario
    number: ExpectedNumber
    parts: list[Share]
    held: str  # what its range holds


def time_pictures(plans: Sequence[Planned]) -> Iterator[Picture]:
    """A picture for each time with known parts, without scenarios that ask for their bounds."""
    for plan in plans:
        for made in plan.headlines if plan.is_whole else ():
            timed = [
                Timed(place, scenario, plan.headline(made, scenario.key), found, of_runs([plan], [scenario]))
                for place, scenario in plan.meant
                if (found := made.shares(partial(plan.number, key=scenario.key))) and not plan.is_ideal(scenario.key)
            ]
            if timed:
                yield _time_picture(plan, made, timed)


def _time_picture(plan: Planned, made: Headline[Quantity], timed: Sequence[Timed]) -> Picture:
    of = f"{plan.template} step" if made.label == "Step" else made.label.lower()
    known = [each.number.expected.number for each in timed]
    is_far = max(known) > FAR * min(known)
    kinds = [part.label for part in made.parts if any(part.label == own.label for each in timed for own in each.parts)]
    bars = [_time_bar(each, kinds, each.number.expected.number if is_far else 1.0) for each in timed]
    title = where_goes(of, "expected ")
    alt = f"{title}. " + " ".join(f"{bar.name}: {bar.description}" for bar in bars)
    drawing = bar_chart(alt, bars, kinds, PERCENT if is_far else "s")
    held = of_runs([plan], [each.scenario for each in timed])
    caption = TIME_CAPTION.format(held) + (SHARES if is_far else "")
    return Picture(f"expected-{plan.template}", title, drawing, alt, caption, _time_table(plan, made, timed))


def _time_bar(each: Timed, kinds: Sequence[str], unit: float) -> Bar:
    """A scenario's bar; lengths are in `unit` seconds."""
    number, name = each.number, each.scenario.title
    parts = [
        BarPart(
            kinds.index(part.label),
            part.seconds / unit,
            f"{part.label}: {spoken(part.seconds, 's')}, {percent(part.share, 0)}",
            spoken(part.seconds, "s"),
        )
        for part in each.parts
    ]
    low, high = number.low.number / unit, number.high.number / unit
    spread = (low, high, f"{each.held}: {number.range.text}") if high else None
    description = (
        f"{number.expected.text}, {each.held} {number.range.text}, bound {number.bound.text}: "
        + "; ".join(f"{part.label} {percent(part.share, 0)}" for part in each.parts)
        + "."
    )
    limit = number.bound.number / unit or None
    return Bar(each.place, name, number.expected.text, parts, limit=limit, range=spread, description=description)


def _time_table(plan: Planned, made: Headline[Quantity], timed: Sequence[Timed]) -> FigureTable:
    """A row for each scenario and part with time and share, then the total."""
    names = dict(made.parts)
    columns = (
        FigureColumn("scenario", "Scenario", "text"),
        FigureColumn("part", "Part", "text"),
        FigureColumn("time", "Time", "s"),
        FigureColumn("share", "Share", PERCENT),
    )
    rows = []
    for each in timed:
        key, whole = each.scenario.key, each.number.expected
        shares = [(part.label, plan.figure(plan.rows[names[part.label]], key, "s"), part.share) for part in each.parts]
        for label, time, share in [*shares, ("Expected", whole, 1.0)]:
            shared = Figure(share, PERCENT, percent(share, 0), whole.cell, is_derived=True)
            named = (each.scenario.id, each.scenario.title), (label, label)
            rows.append((*(Figure(value, "text", text) for value, text in named), time, shared))
    return FigureTable(columns, tuple(rows))


@dataclass(frozen=True)
class MemoryRows:
    """The names of the rows for a chip's memory in one kind of plan: the parts and the total."""

    use: str  # the use of the memory, in a word
    title: str
    template: str  # the template that plans it
    key: str  # a row that only its sheet has
    parts: tuple[str, ...]
    total: str
    rest: str = ""  # name for the remainder besides the parts; blank for none


MEMORIES = (
    MemoryRows(
        "serving", "Memory to serve", "inference", "kv_bytes_total", ("weight_bytes_per_chip",),
        "memory_bytes_per_chip", "Cache of a chip",
    ),
    MemoryRows(
        "training", "Memory to train", "training", "optimizer_bytes_per_chip",
        ("weight_bytes_per_chip", "optimizer_bytes_per_chip", "gradient_bytes_per_chip",
         "activation_bytes_per_chip", "gathered_bytes_per_chip", "working_bytes_per_chip"),
        "memory_expected_bytes_per_chip",
    ),
)  # fmt: skip
OF_A_CHIP = "/chip"  # redundant in a picture of a chip
CAPACITY, KEPT_FREE = "hbm_bytes", "hbm_reserve_bytes"  # rows of a chip
Meant = list[tuple[int, Scenario]]


def memory_room(cells: CellFigures, table: Mapping[str, Quantity], key: str) -> Figure:
    """The memory available to a plan: the chip's capacity without the reserve."""
    whole, kept = (cells.of(table[name], key) for name in (CAPACITY, KEPT_FREE))
    return _less(whole, kept) if kept.number else whole


def _less(whole: Figure, part: Figure) -> Figure:
    """The whole minus a part; N/A if either is."""
    if not (whole.is_number and part.is_number):
        return whole if whole.is_missing else part
    left = whole.number - part.number
    return Figure(left, whole.unit, shown(left, whole.unit), f"{whole.cell}, {part.cell}", is_derived=True)


def memory_pictures(cells: CellFigures) -> Iterator[Picture]:
    """A picture for each kind of memory whose rows are in the workbook."""
    for memory in MEMORIES:
        for table in cells.table_with(memory.key, memory.total, CAPACITY, KEPT_FREE):
            parts = [table[name] for name in memory.parts if name in table]
            units = {row.unit for row in (*parts, table[memory.total], table[CAPACITY])}
            meant = cells.meant(table[memory.key])
            if meant and parts and len(units) == 1:
                yield _memory_picture(cells, memory, parts, table, meant)
                break


def _memory_picture(
    cells: CellFigures, memory: MemoryRows, parts: list[Quantity], table: dict[str, Quantity], meant: Meant
) -> Picture:
    total = table[memory.total]
    kinds = [*(row.title for row in parts), *([memory.rest] if memory.rest else [])]
    drawn: list[Bar] = []
    for index, scenario in meant:
        whole = cells.of(total, scenario.key)
        sizes = [cells.of(row, scenario.key) for row in parts]
        sizes += [reduce(_less, sizes, whole)] if memory.rest else []
        capacity = memory_room(cells, table, scenario.key)
        drawn.append(_memory_bar(index, scenario.title, kinds, sizes, whole, capacity))
    each = "; ".join(f"{bar.name}: {bar.description or bar.said}" for bar in drawn)
    alt = f"{memory.title}, bars against the capacity. {each}."
    caption = "As a share of the HBM of a chip. The line is the capacity: what reaches beyond it doesn't fit."
    drawing = bar_chart(alt, drawn, kinds, PERCENT)
    rows = [*parts, total, table[CAPACITY], table[KEPT_FREE]]
    return Picture(f"memory-{memory.use}", memory.title, drawing, alt, caption, cells.table(rows, meant))


def _memory_bar(
    index: int, name: str, kinds: Sequence[str], sizes: Sequence[Figure], whole: Figure, capacity: Figure
) -> Bar:
    if not isinstance(capacity.value, float) or capacity.value <= 0:
        words = f"N/A: {capacity.why}" if capacity.why else "N/A"
        return Bar(index, name, words[:60], description=f"N/A, {capacity.why}")
    pieces = [
        BarPart(kind, size.value / capacity.value, f"{title}: {size.text}", size.text)
        for kind, (title, size) in enumerate(zip(kinds, sizes, strict=True))
        if isinstance(size.value, float) and size.value > 0
    ]
    missing = [title for title, size in zip(kinds, sizes, strict=True) if size.is_missing]
    words = f"{whole.text.removesuffix(OF_A_CHIP)} of {capacity.text.removesuffix(OF_A_CHIP)}"
    words += f" (N/A: {', '.join(missing)})" if missing else ""
    return Bar(index, name, words, pieces, limit=1.0, is_over=sum(piece.length for piece in pieces) > 1)
