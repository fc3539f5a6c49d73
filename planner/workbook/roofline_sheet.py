"""The Roofline sheet: what each operation of a step is bound by and what it takes, with the log-log chart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openpyxl.chart import ScatterChart
from openpyxl.workbook import Workbook

from planner.formulas.layer_ops import Operation
from planner.workbook import charts
from planner.workbook.cell_styles import RATIO, number_format
from planner.workbook.operations_sheet import Operations
from planner.workbook.page import GREY, Live, Page
from planner.xlsx.address import address

NAME = "Roofline"
PURPOSE = "Each operation of the chosen scenario's layers and head: what binds it, the least that it takes, its share."
TITLES = (
    ("Operation", "text"), ("Times", "1"), ("Shape", "text"), ("FLOPs", "FLOP"), ("Bytes", "byte"),
    ("Intensity", "FLOP/byte"), ("Bound", "text"), ("Time of one", "s"), ("Time of all", "s"),
    ("Attained", "FLOP/s/chip"),
)  # fmt: skip
NUMBERS = range(2, len(TITLES) + 1)  # the columns right of the names
FIRST_ROW = 9
OPERATIONS = "An operation; +1 and more: others at its place"
INTENSITIES = (0.1, 10_000.0)  # what the axis spans
BUCKETS_PER_DECADE = 3  # operations nearer than this share one label on the chart


@dataclass(frozen=True)
class Roofline:
    """Where the chart's rows stand: those of the operations' points and those of the roof, first and last."""

    page: Page
    points: tuple[int, int]
    roof: tuple[int, int]

    def chart(self) -> ScatterChart:
        """The chart for this sheet or another, log-log: the roof as a line, each operation as a labelled point.

        Names, intensities and FLOP/s stand in columns A to C; a point that is #N/A is not drawn.
        """
        page = self.page
        chart = charts.log_log("Roofline of the chosen scenario")
        charts.axis(chart.x_axis, "Arithmetic intensity (FLOP/byte)", "General", *INTENSITIES)
        charts.axis(chart.y_axis, "Attained (FLOP/s per chip)", "0.E+0", 1e9, 1e16)
        x, y = (charts.column(page, number, *self.roof) for number in (2, 3))
        chart.series.append(charts.line(x, y, "Roof"))
        x, y = (charts.column(page, number, *self.points) for number in (2, 3))
        chart.series.append(charts.ring(x, y, OPERATIONS, charts.AXIS, 11))  # about the named points, for the legend
        rows = range(self.points[0], self.points[1] + 1)
        for index, row in enumerate(rows):
            colour = charts.PALETTE[index % len(charts.PALETTE)]
            chart.series.append(charts.labelled(page, 2, 3, row, "A", colour, "rl"[index % 2]))
        charts.hide_from_legend(chart, range(2, 2 + len(rows)))
        return chart


def write(book: Workbook, operations: Operations) -> Roofline:
    """Write the sheet below the chosen scenario's name: times first, then totals, shares and the roof's points."""
    page = Page(book, NAME, "Roofline", PURPOSE, corner="B9", titles="8:8")
    page.put(4, 1, "Scenario", "plan_label")
    page.put(4, 2, Live(f"{operations.page.name}!$D$5"), "plan_cross")
    page.put(5, 1, "Phase", "plan_label")
    page.put(5, 2, Live(f"{operations.page.name}!$D$6"), "plan_cross")
    page.put(5, 3, "Choose both on Dashboard.", "plan_beside")
    last = FIRST_ROW + len(operations.ops.operations) - 1
    page.header((title for title, _ in TITLES), FIRST_ROW - 1, right=NUMBERS)
    for column, (_, unit) in enumerate(TITLES, start=1):
        page.put(FIRST_ROW - 2, column, unit, "plan_text" if column == 1 else "plan_unit")
    for at, operation in enumerate(operations.ops.operations, start=FIRST_ROW):
        _operation(page, operations, operation, at)
    total = last + 1
    page.put(total, 1, "Operations at their bounds", "plan_key")
    page.put(total, 9, Live(f"SUM({address(FIRST_ROW, 9)}:{address(last, 9)})"), "plan_output", number_format("s"))
    shares = total + 3
    _shares(page, shares, last, total)
    points = shares + (last - FIRST_ROW) + 4
    _points(page, points, shares, last)
    roof = points + (last - FIRST_ROW) + 4
    _roof(page, operations, roof)
    done = Roofline(page, (points, points + last - FIRST_ROW), (roof, roof + 2))
    page.sheet.add_chart(done.chart(), f"F{total + 2}")
    page.colour(f"A{FIRST_ROW}:J{roof + 2}", f"ISNA(A{FIRST_ROW})", ink=GREY)
    page.widths(38, 22, 28, 16, 16, 14, 14, 16, 16, 24)
    return done


def _operation(page: Page, operations: Operations, operation: Operation, at: int) -> None:
    def of(name: str) -> str:
        return operations.of(operation, name) or "NA()"

    count = operations.counts[operation.row.name]
    compute = operations.of(operation, "compute_time")
    bound = f'IF({compute}>={of("memory_time")},"compute","memory")' if compute else '"memory"'
    rate = f"{of('flops')}/({of('lower_bound_time')}*{of('n_chips')})"
    used = f"{address(at, 2)}>0"
    cells: list[tuple[str, str, str]] = [
        (count, "plan_cross", number_format("1")),
        (_shape(operation, of), "plan_formula", "@"),
        (of("flops"), "plan_cross", number_format("FLOP")),
        (of("memory_bytes"), "plan_cross", number_format("byte")),
        (f"IF({used},{of('arithmetic_intensity')},NA())", "plan_formula", RATIO),
        (f'IF({used},{bound},"unused")', "plan_formula", "@"),
        (of("lower_bound_time"), "plan_cross", number_format("s")),
        (f"{address(at, 2)}*{address(at, 8)}", "plan_output", number_format("s")),
        (f"IF({used},{rate},NA())", "plan_formula", number_format("FLOP/s/chip")),
    ]
    page.put(at, 1, operation.row.label, "plan_label")
    for column, (text, style, form) in enumerate(cells, start=2):
        page.put(at, column, Live(text), style, form)


def _shape(operation: Operation, of: Callable[[str], str]) -> str:
    names = {
        "matmul": ("n_matmuls", "tokens", "d_in", "d_out"), "elementwise": ("n_elements",),
        "attention": ("batch", "query_len", "kv_len", "n_heads", "head_dim"),
    }.get(operation.template.name, ())  # fmt: skip
    return '&" x "&'.join(f"ROUND({of(name)},1)" for name in names) or '""'


def _shares(page: Page, first: int, last: int, total: int) -> None:
    """The share of each operation stands below the total that it is a share of: references point up."""
    page.header(("Operation", "Share of the step", "Bound", "Place on the chart"), first - 1, right=NUMBERS)
    for at, row in enumerate(range(FIRST_ROW, last + 1), start=first):
        share = f"IF({address(total, 9)}>0,{address(row, 9)}/{address(total, 9)},NA())"
        place = f'IFERROR(ROUND({BUCKETS_PER_DECADE}*LOG({address(row, 6)},10),0),"none")'
        page.put(at, 1, Live(address(row, 1)), "plan_formula_text")
        page.put(at, 2, Live(share), "plan_output", "0.0%")
        page.put(at, 3, Live(address(row, 7)), "plan_formula", "@")
        page.put(at, 4, Live(place), "plan_formula", "0")


def _points(page: Page, first: int, shares: int, last: int) -> None:
    """What the chart draws: of operations that fall on one place the first, with the number of the others."""
    page.header(("On the chart", "Intensity (FLOP/byte)", "Attained (FLOP/s/chip)"), first - 1, right=NUMBERS)
    places = f"{address(shares, 4)}:{address(shares + last - FIRST_ROW, 4)}"
    for index, row in enumerate(range(FIRST_ROW, last + 1)):
        at, place = first + index, address(shares + index, 4)
        others = f"COUNTIF({places},{place})-1"
        is_first = f'AND({place}<>"none",COUNTIF({address(shares, 4)}:{place},{place})=1)'
        page.put(at, 1, Live(f'{address(row, 1)}&IF({others}>0," +"&({others}),"")'), "plan_formula_text")
        page.put(at, 2, Live(f"IF({is_first},{address(row, 6)},NA())"), "plan_formula", RATIO)
        page.put(at, 3, Live(f"IF({is_first},{address(row, 10)},NA())"), "plan_formula", number_format("FLOP/s/chip"))


def _roof(page: Page, operations: Operations, first: int) -> None:
    """The roof of the chosen chip: rising to the ridge, then flat."""
    page.header(("Roof", "Intensity (FLOP/byte)", "Attainable (FLOP/s/chip)"), first - 1, right=NUMBERS)
    matmul = next(operation for operation in operations.ops.operations if operation.template.name == "matmul")
    peak, bandwidth = operations.of(matmul, "peak_flops"), operations.of(matmul, "hbm_bandwidth")
    low, high = INTENSITIES
    ridge = str(operations.of(matmul, "ridge_intensity"))
    ends = (("from", f"{low:g}"), ("ridge", ridge), ("to", f"{high:g}"))
    for row, (label, x) in enumerate(ends, start=first):
        attainable = f"MIN({peak},{address(row, 2)}*{bandwidth})"
        page.put(row, 1, label, "plan_label")
        page.put(row, 2, Live(x), "plan_formula", RATIO)
        page.put(row, 3, Live(attainable), "plan_formula", number_format("FLOP/s/chip"))
