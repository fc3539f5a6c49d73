"""The Roofline sheet: what binds each operation of a step and how long it takes, with the log-log chart."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from openpyxl.chart import ScatterChart

from planner.formulas.layer_ops import LayerOperation
from planner.formulas.thresholds import number
from planner.workbook import charts, display_units
from planner.workbook.calculation import Earlier
from planner.workbook.cell_styles import PERCENT, RATIO, SAID, number_format
from planner.workbook.chosen_scenario import VALUE
from planner.workbook.display_units import MS, US
from planner.workbook.inputs_sheet import OPENS, Inputs
from planner.workbook.operations_sheet import FIRST_STEP_ROW, Operations
from planner.workbook.page import Live, Page
from planner.xlsx.address import address

NAME = "Roofline"
PURPOSE = "Each operation of the chosen scenario's layers and head: what binds it, the least that it takes, its share."
TITLES = (
    ("Operation", "text"),
    ("Times", "1"),
    ("Shape", "text"),
    ("FLOPs", "FLOP"),
    ("Bytes", "byte"),
    ("Intensity", "FLOP/byte"),
    ("Bound", "text"),
    ("Time of one", US),
    ("Time of all", MS),
    ("Attained", "FLOP/s/chip"),
    ("Place on the chart", "1"),
)
INTENSITY, ATTAINED, PLACE = 6, 10, 11
NUMBERS = range(2, len(TITLES) + 1)  # the columns right of the names
FIRST_ROW = 9
OPERATIONS = "An operation; +1 and more: others at its place"
ENDS = ("least_intensity", "most_intensity")  # of the roof, and of the chart's axis
UNUSED = "+ opens the operations of other models"


@dataclass(frozen=True)
class Roofline:
    """The rows of the chart's data, first and last: the operations' points, and the roof."""

    page: Page
    points: tuple[int, int]
    roof: tuple[int, int]

    def chart(self) -> ScatterChart:
        """The log-log chart, for this sheet or another: the roof as a line, each operation as a labelled point.

        Names, intensities and FLOP/s are in columns A to C; a point that is #N/A isn't drawn.
        """
        page = self.page
        chart = charts.log_log("Roofline of the chosen scenario")
        charts.axis(chart.x_axis, "Arithmetic intensity (FLOP/byte)", "General", *(number(name) for name in ENDS))
        charts.axis(chart.y_axis, "Attained (FLOP/s per chip)", "0.E+0")
        x, y = (charts.column(page, number, *self.roof) for number in (2, 3))
        chart.series.append(charts.line(x, y, "Roof"))
        x, y = (charts.column(page, number, *self.points) for number in (2, 3))
        chart.series.append(charts.ring(x, y, OPERATIONS, charts.AXIS, 11))  # around the named points, for the legend
        rows = range(self.points[0], self.points[1] + 1)
        for index, row in enumerate(rows):
            colour = charts.PALETTE[index % len(charts.PALETTE)]
            chart.series.append(charts.labelled(page, 2, 3, row, colour, "rl"[index % 2]))
        charts.hide_from_legend(chart, range(2, 2 + len(rows)))
        return chart


def write(earlier: Earlier, operations: Operations, unused: Container[str]) -> Roofline:
    """Write the sheet below the chosen scenario's name: times, their total, shares, and closed the chart's data.

    `unused` are the names of operations that no scenario's model performs: they are closed.
    """
    page, inputs = Page(earlier.book, NAME, "Roofline", PURPOSE, corner="B9", titles="8:8"), earlier.inputs
    page.put(4, 1, "Scenario", "plan_label")
    page.put(4, 2, Live(f"{operations.page.name}!$D$5"), "plan_cross_words")
    page.may_show[4, 2] = operations.page.may_show[FIRST_STEP_ROW, VALUE]
    page.put(5, 1, "Phase", "plan_label")
    page.put(5, 2, Live(operations.phase), "plan_cross")
    page.put(5, 3, f"Choose {'it' if len(operations.ops.phases) == 1 else 'both'} on Dashboard.", "plan_beside")
    last = FIRST_ROW + len(operations.ops.operations) - 1
    idle = {at for at, each in enumerate(operations.ops.operations) if each.row.name in unused}
    page.header((title for title, _ in TITLES), FIRST_ROW - 1, right=NUMBERS)
    for column, (_, unit) in enumerate(TITLES, start=1):
        page.put(FIRST_ROW - 2, column, unit, "plan_text" if column == 1 else "plan_unit")
    for at, operation in enumerate(operations.ops.operations, start=FIRST_ROW):
        _operation(page, operations, operation, at, inputs)
    total = last + 1
    page.put(total, 1, "Operations at their bounds", "plan_key")
    page.put(total, 2, UNUSED if idle else None, "plan_beside")
    page.put(total, 9, Live(f"SUM({address(FIRST_ROW, 9)}:{address(last, 9)})"), "plan_output", SAID)
    shares = total + 3
    _shares(page, shares, last, total)
    points = shares + (last - FIRST_ROW) + 4
    _points(page, points, last)
    roof = points + (last - FIRST_ROW) + 4
    _roof(page, operations, roof, inputs)
    for first in (FIRST_ROW, shares):
        page.close_rows({first + at for at in idle})
    page.section(points - 2, f"What the chart draws; {OPENS}", len(TITLES))
    page.close_rows(range(points - 1, roof + len(ENDS) + 1))
    page.close_columns(range(PLACE, PLACE + 1))
    done = Roofline(page, (points, points + last - FIRST_ROW), (roof, roof + 2))
    page.sheet.add_chart(done.chart(), f"F{total + 2}")
    page.grey_missing(f"A{FIRST_ROW}:{address(roof + 2, PLACE)}")
    page.widths(38, 22, 28, 16, 16, 14, 14, 16, 16, 24, 16)
    return done


def _operation(page: Page, operations: Operations, operation: LayerOperation, at: int, inputs: Inputs) -> None:
    def of(name: str) -> str:
        return operations.of(operation, name) or "NA()"

    count = operations.counts[operation.row.name]
    compute = operations.of(operation, "compute_time")
    moved = of("memory_time")
    binds = f'{compute}>={moved},"compute","memory"' if compute else f'{moved}>0,"memory","unused"'
    bound = f"IF({binds})"
    rate = f"{of('flops')}/({of('lower_bound_time')}*{of('n_chips')})"
    used, intensity = f"{address(at, 2)}>0", address(at, INTENSITY)
    one = of("lower_bound_time")
    per_decade, decade = inputs.constant("places_per_decade"), inputs.constant("chart_decade")
    cells: list[tuple[str, str, str]] = [
        (count, "plan_cross", number_format("1")),
        (_shape(operation, of), "plan_formula", "@"),
        (of("flops"), "plan_cross", number_format("FLOP")),
        (of("memory_bytes"), "plan_cross", number_format("byte")),
        (f"IF({used},{of('arithmetic_intensity')},NA())", "plan_formula", RATIO),
        (f'IF({used},{bound},"unused")', "plan_formula", "@"),
        (f"{one}/{inputs.constant(display_units.constant(US, 's').name)}", "plan_cross", SAID),
        (f"{address(at, 2)}*{one}/{inputs.constant(display_units.constant(MS, 's').name)}", "plan_output", SAID),
        (f"IF({used},{rate},NA())", "plan_formula", number_format("FLOP/s/chip")),
        (f'IFERROR(ROUND({per_decade}*LOG({intensity},{decade}),0),"none")', "plan_formula", "0"),
    ]
    page.put(at, 1, operation.row.label, "plan_label")
    for column, (text, style, form) in enumerate(cells, start=2):
        page.put(at, column, Live(text), style, form)


def _shape(operation: LayerOperation, of: Callable[[str], str]) -> str:
    names = {
        "matmul": ("n_matmuls", "tokens", "d_in", "d_out"),
        "elementwise": ("n_elements",),
        "attention": ("batch", "query_len", "kv_len", "n_heads", "head_dim"),
    }.get(operation.template.name, ())
    return '&" x "&'.join(f"ROUND({of(name)},1)" for name in names) or '""'


def _shares(page: Page, first: int, last: int, total: int) -> None:
    """Write the share of each operation, below the total that it divides by: references point up."""
    page.header(("Operation", "Share of the step", "Bound"), first - 1, right=NUMBERS)
    for at, row in enumerate(range(FIRST_ROW, last + 1), start=first):
        share = f"IF({address(total, 9)}>0,{address(row, 9)}/{address(total, 9)},NA())"
        page.put(at, 1, Live(address(row, 1)), "plan_formula_text")
        page.put(at, 2, Live(share), "plan_output", PERCENT)
        page.put(at, 3, Live(address(row, 7)), "plan_formula", "@")


def _points(page: Page, first: int, last: int) -> None:
    """Write the chart's data: of operations at one point only the first, with the number of the others."""
    page.header(("On the chart", "Intensity (FLOP/byte)", "Attained (FLOP/s/chip)"), first - 1, right=NUMBERS)
    places = f"{address(FIRST_ROW, PLACE)}:{address(last, PLACE)}"
    for at, row in enumerate(range(FIRST_ROW, last + 1), start=first):
        place = address(row, PLACE)
        others = f"COUNTIF({places},{place})-1"
        is_first = f'AND({place}<>"none",COUNTIF({address(FIRST_ROW, PLACE)}:{place},{place})=1)'
        page.put(at, 1, Live(f'{address(row, 1)}&IF({others}>0," +"&({others}),"")'), "plan_formula_text")
        page.put(at, 2, Live(f"IF({is_first},{address(row, INTENSITY)},NA())"), "plan_formula", RATIO)
        page.put(
            at, 3, Live(f"IF({is_first},{address(row, ATTAINED)},NA())"), "plan_formula", number_format("FLOP/s/chip")
        )


def _roof(page: Page, operations: Operations, first: int, inputs: Inputs) -> None:
    """Write the roof of the chosen chip: rising to the ridge, then flat."""
    page.header(("Roof", "Intensity (FLOP/byte)", "Attainable (FLOP/s/chip)"), first - 1, right=NUMBERS)
    matmul = next(operation for operation in operations.ops.operations if operation.template.name == "matmul")
    peak, bandwidth = operations.of(matmul, "peak_flops"), operations.of(matmul, "hbm_bandwidth")
    low, high = (inputs.constant(name) for name in ENDS)
    ends = (("from", low), ("ridge", str(operations.of(matmul, "ridge_intensity"))), ("to", high))
    for row, (label, x) in enumerate(ends, start=first):
        attainable = f"MIN({peak},{address(row, 2)}*{bandwidth})"
        page.put(row, 1, label, "plan_label")
        page.put(row, 2, Live(x), "plan_formula", RATIO)
        page.put(row, 3, Live(attainable), "plan_formula", number_format("FLOP/s/chip"))
