"""The Roofline sheet: what each operation of a step is bound by and what it takes, with the log-log chart."""

from __future__ import annotations

from openpyxl.workbook import Workbook

from planner.layer_ops import Operation
from planner.workbook import charts
from planner.workbook.layout import cell, letter
from planner.workbook.operations import Operations
from planner.workbook.page import Live, Page
from planner.workbook.styles import number_format

NAME = "Roofline"
PURPOSE = "Each operation of the chosen scenario's layers and head: what binds it, its time and its share of the step."
TITLES = (
    ("Operation", "text"), ("Times", "1"), ("Shape", "text"), ("FLOPs", "FLOP"), ("Bytes", "byte"),
    ("Intensity", "FLOP/byte"), ("Bound", "text"), ("Time of one", "s"), ("Time of all", "s"), ("Attained", "FLOP/s/chip"),
    ("Share", "1"),
)  # fmt: skip
FIRST_ROW = 9
ROOF_TITLES = ("Roof", "Intensity (FLOP/byte)", "Attainable (FLOP/s/chip)")


def write(book: Workbook, operations: Operations) -> Page:
    """Write the sheet below the chosen scenario's name: times first, then totals, shares and the roof's points."""
    page = Page(book, NAME, "Roofline", PURPOSE, corner="B9", titles="8:8")
    page.put(1, 4, "Scenario", "plan_label")
    page.put(2, 4, Live(f"{operations.page.name}!$D$5"), "plan_cross")
    page.put(1, 5, "Phase", "plan_label")
    page.put(2, 5, Live(f"{operations.page.name}!$D$6"), "plan_cross")
    page.put(3, 5, "Choose both on Dashboard.", "plan_text")
    last = FIRST_ROW + len(operations.ops.operations) - 1
    for column, (title, unit) in enumerate(TITLES[:-1], start=1):
        page.put(column, FIRST_ROW - 1, title, "plan_header")
        page.put(column, FIRST_ROW - 2, unit, "plan_text")
    for at, operation in enumerate(operations.ops.operations, start=FIRST_ROW):
        _operation(page, operations, operation, at)
    total = last + 1
    page.put(1, total, "Step", "plan_key")
    page.put(9, total, Live(f"SUM({cell(9, FIRST_ROW)}:{cell(9, last)})"), "plan_output", number_format("s"))
    _shares(page, last, total)
    roof = _roof(page, operations, total + 3 + (last - FIRST_ROW + 1) + 2)
    charts.roofline(page, rows=(FIRST_ROW, last), label_column=1, x_column=6, y_column=10, roof=roof, anchor=f"E{total + 2}")
    page.widths(28, 14, 24, 14, 14, 12, 12, 14, 14, 18)
    return page


def _operation(page: Page, operations: Operations, operation: Operation, at: int) -> None:
    def of(name: str) -> str:
        return operations.of(operation, name) or "NA()"

    count = operations.counts[operation.row.name]
    compute = operations.of(operation, "compute_time")
    bound = f'IF({compute}>={of("memory_time")},"compute","memory")' if compute else '"memory"'
    rate = f'{of("flops")}/({of("lower_bound_time")}*{of("n_chips")})'
    used = f"{cell(2, at)}>0"
    cells: list[tuple[str, str, str]] = [
        (count, "plan_cross", number_format("1")),
        (_shape(operation, of), "plan_formula", "@"),
        (of("flops"), "plan_cross", number_format("FLOP")),
        (of("memory_bytes"), "plan_cross", number_format("byte")),
        (f'IF({used},{of("arithmetic_intensity")},NA())', "plan_formula", number_format("FLOP/byte")),
        (f'IF({used},{bound},"unused")', "plan_formula", "@"),
        (of("lower_bound_time"), "plan_cross", number_format("s")),
        (f"{cell(2, at)}*{cell(8, at)}", "plan_output", number_format("s")),
        (f"IF({used},{rate},NA())", "plan_formula", number_format("FLOP/s/chip")),
    ]
    page.put(1, at, operation.row.label, "plan_label")
    for column, (text, style, form) in enumerate(cells, start=2):
        page.put(column, at, Live(text), style, form)


def _shape(operation: Operation, of) -> str:  # type: ignore[no-untyped-def]  # name -> reference
    names = {
        "matmul": ("n_matmuls", "tokens", "d_in", "d_out"), "elementwise": ("n_elements",),
        "attention": ("batch", "query_len", "kv_len", "n_heads", "head_dim"),
    }.get(operation.template.name, ())  # fmt: skip
    return '&" x "&'.join(f"ROUND({of(name)},1)" for name in names) or '""'


def _shares(page: Page, last: int, total: int) -> None:
    """The share of each operation stands below the total that it is a share of: references point up."""
    at = total + 2
    for column, title in enumerate(("Operation", "Share of the step", "Bound"), start=1):
        page.put(column, at, title, "plan_header")
    for row in range(FIRST_ROW, last + 1):
        at += 1
        page.put(1, at, Live(cell(1, row)), "plan_formula", "@")
        page.put(2, at, Live(f"IF({cell(9, total)}>0,{cell(9, row)}/{cell(9, total)},NA())"), "plan_output", "0.0%")
        page.put(3, at, Live(cell(7, row)), "plan_formula", "@")


def _roof(page: Page, operations: Operations, at: int) -> tuple[int, int]:
    """The roof of the chosen chip: rising to the ridge, then flat. Returns its first and last row."""
    for column, title in enumerate(ROOF_TITLES, start=1):
        page.put(column, at, title, "plan_header")
    matmul = next(operation for operation in operations.ops.operations if operation.template.name == "matmul")
    peak, bandwidth = operations.of(matmul, "peak_flops"), operations.of(matmul, "hbm_bandwidth")
    ridge, intensities = operations.of(matmul, "ridge_intensity"), f"{letter(6)}{FIRST_ROW}:{letter(6)}{at - 5}"
    del intensities
    points = (("from", "0.1"), ("ridge", str(ridge)), ("to", "10000"))
    for row, (label, x) in enumerate(points, start=at + 1):
        page.put(1, row, label, "plan_label")
        page.put(2, row, Live(x), "plan_formula", number_format("FLOP/byte"))
        page.put(3, row, Live(f"MIN({peak},{cell(2, row)}*{bandwidth})"), "plan_formula", number_format("FLOP/s/chip"))
    return at + 1, at + 3
