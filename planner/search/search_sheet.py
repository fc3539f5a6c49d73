"""The sheet Search: the request and the result of a search as a table and a chart.

It is in a workbook of its own, or beside the scenarios made from its plans.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from textwrap import wrap

from openpyxl.chart import ScatterChart

from planner.formulas.evaluation import Results
from planner.formulas.expected import of_the_batch, of_the_context
from planner.formulas.headlines import RANGE, fit
from planner.formulas.template import Row
from planner.number_text import within
from planner.search import search_text
from planner.search.computing import Plans
from planner.search.extrapolated import extrapolated
from planner.search.found import Found, FoundPlan, Objective, differing
from planner.search.plans_sheet import (
    FEW,
    ColumnHead,
    assumptions,
    finished,
    head,
    put_lines,
    put_table,
    question,
    raise_titles,
    scatter,
    widen,
)
from planner.search.ranking import chances, off
from planner.search.request import Request
from planner.search.space import PlanSpace
from planner.search.sweep import texts, worded
from planner.workbook import cell_styles, charts
from planner.workbook.cell_styles import COUNT, PERCENT, YES_NO
from planner.workbook.page import Live, Page
from planner.xlsx.address import column_letters

NAME = "Search"
PURPOSE = "The best plans that planner optimize found."
FIRST_ROW, LETTERS = 5, 72  # first row of the request, and characters per line left of the chart
LEFT = 2  # columns of text left of the chart, each a quarter of a laptop's screen
CHANCE = "Better than the first"
Now = Callable[[Row, int], str]
"""(row of the template, sheet row) -> formula of its current value in the scenario whose id is in column A."""


def workbook(asked: Request, found: Found) -> tuple[bytes, int]:
    """The sheet as the bytes of a workbook, with its assumptions; and the number of listed plans."""
    book = cell_styles.new_book()
    page = Page(book, NAME, NAME, PURPOSE)
    plans = chosen_plans(asked, found)
    fill(page, asked, found, plans)
    moved = {name for plan in plans[:1] for name in plan.moved}
    return finished(book, [page, assumptions(book, asked, moved)]), len(plans)


def chosen_plans(asked: Request, found: Found) -> list[FoundPlan]:
    """All plans of the front, or the best ones, in order, each with all rows."""
    template, plans = asked.template, dict[int, FoundPlan]()
    is_text = {row.name: row.unit == "text" for row in template.rows}
    for chosen in found.chosen:
        space = PlanSpace([chosen.moved])
        for block, rows in Plans(template, chosen.subject.facts, asked.given, space, list(is_text)).each(
            lambda _, rows: rows
        ):
            flat = {name: block.flat(array) for name, array in rows.items()}
            words = {name: texts(flat[name]) for name in space.names if is_text[name]}
            for at in range(block.count):
                arrays = {name: array[at] for name, array in flat.items()}
                moved = {name: words[name][at] if name in words else float(arrays[name]) for name in space.names}
                results = Results(template, arrays, {**asked.given, **moved}, {})
                place = block.start + at
                plans[int(chosen.ranks[place])] = FoundPlan(chosen.subject, moved, results, bool(chosen.is_tie[place]))
    return [plans[rank] for rank in sorted(plans)]


def fill(
    page: Page,
    asked: Request,
    found: Found,
    plans: Sequence[FoundPlan],
    ids: Mapping[int, str] | None = None,
    now: Now | None = None,
) -> None:
    """Write the search on a page: request and result, a chart beside, the plans below.

    `ids` are the plans' scenarios, by the plans' places; `now` gives the formulas of their present values.
    """
    lines: list[tuple[str, str]] = []
    for label, text in _request_lines(asked, found, plans):
        first, *more = wrap(text, LETTERS) or [""]
        lines += [(label, first), *(("", part) for part in more)]
    put_lines(page, lines)
    at = FIRST_ROW + max(len(lines), charts.LINE_ROWS) + 1
    table = _Table(asked, found, plans, ids or {}, now)
    cells = [[cell(place, at + 2 + place) for _, cell in table.columns] for place in range(len(plans))]
    below = put_table(page, at, table.heads, cells)
    widen(page, at, table.heads, below, with_names=ids is None)
    _rule(page, range(FIRST_ROW, FIRST_ROW + len(lines)))
    page.corner = "B4"
    rows = range(at + 2, at + 2 + len(plans))
    page.sheet.add_chart(table.drawn(page, rows), charts.placed(page, FIRST_ROW, 0, LEFT, 2))
    if found.of_each:
        _of_each(page, below + 1, asked, found)


def _rule(page: Page, rows: range) -> None:
    """Extend the request's lines to the chart, over empty cells."""
    column, left = 3, LEFT * charts.WIDE - page.pixels(1) - page.pixels(2)
    while left > page.pixels(column):
        for row in rows:
            page.put(row, column, None, "plan_text")
        column, left = column + 1, left - page.pixels(column)


def _request_lines(asked: Request, found: Found, plans: Sequence[FoundPlan]) -> list[tuple[str, str]]:
    """The request, the numbers of plans tried and refused, and what all listed plans share, as (label, text) lines."""
    template, several = asked.template, len(found.objectives) > 1
    lines = question(asked)
    for each in found.objectives:
        lines.append(("Least" if each.is_least else "Most", each.row.named))
    if asked.given:
        typed = (f"{name} {worded(template.row(name), value)}" for name, value in asked.given.items())
        lines.append(("Typed", ", ".join(typed)))
    lines.append(("Searched", ", ".join(found.plans[0].moved)))
    lines.append(("Tried", f"{found.tried:,} plans, {search_text.passed(asked, found)}"))
    for name, count in search_text.refusers(found):
        lines.append(("Refused by", f"{template.row(name).label}: {count:,}"))
    if more := search_text.unnamed(found):
        lines.append(("Refused", more))
    for subject, refuser in found.empty:
        lines.append(("No plan", f"of {subject.said} passes; {template.row(refuser).label} refuses most"))
    if found.unknown:
        lines.append(("Left out", f"an objective is N/A: {search_text.left_out(asked, found)}"))
    if several:
        lines.append(("Front", f"{found.front:,} plans; none is better in all objectives than any of these"))
    elif found.ties > 1:
        lines.append(("Ties", search_text.tied(asked, found)))
    lines += [("Slices", text) for text in search_text.of_the_slices(found)]
    lines += [("Batch", text) for text in of_the_batch(found.plans[0].results.known)]
    lines += [("Memory", text) for text in of_the_context(found.plans[0].results.known)]
    same = search_text.in_all(template, plans)
    return [*lines, *([("In all listed", same)] if same else [])]


Cells = Callable[[int, int], object]
"""(index of a plan, sheet row) -> content of a column's cell."""


class _Table:
    """The columns of the plans, each a head with a function for its cells, and the chart."""

    def __init__(
        self, asked: Request, found: Found, plans: Sequence[FoundPlan], ids: Mapping[int, str], now: Now | None
    ) -> None:
        self.asked, self.found, self.plans = asked, found, plans
        self.columns: list[tuple[ColumnHead, Cells]] = []
        self.place: dict[str, int] = {}  # 0-based column of each objective and of the ends of its range
        if ids:
            self._add(ColumnHead("Scenario", "scenario_id"), lambda at, _: ids.get(at, ""))
        self._add(ColumnHead("Plan", "plan", COUNT), lambda at, _: float(at + 1))
        for kind in asked.several:
            head_of = ColumnHead({"model": "Model", "hardware": "Chip"}[kind], kind)
            self._add(head_of, lambda at, _, kind=kind: getattr(plans[at].subject, kind))  # type: ignore[misc]
        names = {each.row.name for each in found.objectives}
        for name in (each for each in differing(plans) if each not in names):
            self._row(asked.template.row(name))
        for each in found.objectives:
            self._objective(each, now if ids else None)
        if len(found.objectives) == 1:
            self._off_best()
        memory = fit(asked.template)
        if memory and memory.needed not in names:
            self._row(asked.template.row(memory.needed))
        if memory:
            used = head(asked.template.row(memory.needed))
            label = used.label.replace(asked.template.row(memory.needed).label, "Memory of a chip that is left")
            self._add(
                used._replace(label=label, name="memory left"), lambda at, _: search_text.memory_left(self.plans[at])
            )
        self._words("Extrapolated", "extrapolated", [extrapolated(asked, plan) for plan in plans])
        self._words("What binds", "what binds", [search_text.binds(asked, found, plan) for plan in plans])

    def _add(self, each: ColumnHead, cells: Cells) -> None:
        self.columns.append((each, cells))

    def _row(self, row: Row) -> None:
        """Add a row of the template, as found."""
        self.place[row.name] = len(self.columns)
        self._add(head(row), lambda at, _: self.plans[at].results.value(row.name))

    def _objective(self, aim: Objective, now: Now | None) -> None:
        """Add an objective with its range; for scenarios also its present value and its deviation."""
        row, own = aim.row, head(aim.row)
        for each in aim.rows(self.asked.template):
            self._row(each)
        if now is None:
            return
        column = len(self.columns) + 1
        found = column_letters(self.place[row.name] + 1)
        mine = own._replace(label=f"Now: {own.label}", name=f"{row.name} now")
        self._add(mine, lambda _, at: Live(now(row, at)))
        off = f'IFERROR({column_letters(column)}{{0}}/{found}{{0}}-1,"")'
        moved = ColumnHead(f"Now off what was found: {row.label}", f"{row.name} off", "+0.0%;-0.0%;0.0%")
        self._add(moved, lambda _, at: Live(off.format(at)))

    def _off_best(self) -> None:
        aim, best = self.found.objectives[0], self.found.best
        costs = [float(aim.cost(plan.results[aim.row.name])) for plan in self.plans]
        self._add(ColumnHead("Off the best", "off the best", PERCENT), lambda at, _: off(costs[at], best))
        self._add(
            ColumnHead("Can't be told from the best", "is_tie", YES_NO), lambda at, _: float(self.plans[at].is_tie)
        )

    def _words(self, label: str, name: str, said: Sequence[str]) -> None:
        """Add a column of texts, unless all are blank."""
        if any(said):
            self._add(ColumnHead(label, name), lambda at, _: said[at])

    @property
    def heads(self) -> list[ColumnHead]:
        """The heads of the columns, in order."""
        return [each for each, _ in self.columns]

    def drawn(self, page: Page, rows: range) -> ScatterChart:
        """The chart of the plans, which are in these rows of a page."""
        return self._front(page, rows) if len(self.found.objectives) > 1 else self._best(page, rows)

    def _front(self, page: Page, rows: range) -> ScatterChart:
        """The second objective over the first. The points of each model and chip come from a closed column."""
        first, second = (each.row for each in self.found.objectives[:2])
        x, y = self.place[first.name], self.place[second.name]
        title = f"{second.label} over {within(first.label)}"
        chart = scatter(page, title, self.heads, x, y, rows.start, rows.stop - 1)
        subjects = list(dict.fromkeys(plan.subject.said for plan in self.plans))
        closed = range(len(self.columns) + 2, len(self.columns) + 2 + len(subjects))
        for column, subject, colour in zip(closed, subjects, cycle(charts.PALETTE), strict=False):
            page.put(rows.start - 1, column, subject, "plan_note")
            for row, plan in zip(rows, self.plans, strict=True):
                if plan.subject.said == subject:
                    page.put(row, column, page.filled[row, y + 1][3], "plan_data")
            across, up = (charts.column(page, each, rows.start, rows.stop - 1) for each in (x + 1, column))
            chart.series.append(charts.markers(across, up, subject, colour))
        page.close_columns(closed)
        return chart

    def _best(self, page: Page, rows: range) -> ScatterChart:
        """The objective of each plan in order, and the ends of its range."""
        aim = self.found.objectives[0].row
        x = next(at for at, each in enumerate(self.heads) if each.name == "plan")
        title = f"{aim.label} of the best plans"
        chart = scatter(page, title, self.heads, x, self.place[aim.name], rows.start, rows.stop - 1)
        for end, said in (("", "expected"), *zip(RANGE, ("least", "most"), strict=True)):
            if (y := self.place.get(aim.name + end)) is not None:
                across, up = (charts.column(page, at + 1, rows.start, rows.stop - 1) for at in (x, y))
                chart.series.append(charts.markers(across, up, said, charts.AXIS if end else charts.PALETTE[0]))
                chart.series[-1].marker.symbol = "dash" if end else "circle"
        chart.x_axis.scaling.min, chart.x_axis.scaling.max = 0, len(self.plans) + 1
        chart.x_axis.majorUnit = 1 if len(self.plans) <= FEW else None
        return chart


def _of_each(page: Page, at: int, asked: Request, found: Found) -> None:
    """Write the best plan of each model and chip, and the probability that it is better than the best of all."""
    rows = found.objectives[0].rows(asked.template)
    page.section(at, "The best of each model and chip", 2 + len(rows))
    heads = [ColumnHead("Model and chip", "subject"), *map(head, rows), ColumnHead(CHANCE, "chance", "0%")]
    cells = [
        [plan.subject.said, *(plan.results.value(row.name) for row in rows), "" if chance is None else chance]
        for plan, chance in chances(found)
    ]
    put_table(page, at + 1, heads, cells)
    raise_titles(page, at + 1, heads)
    page.close_rows([at + 2])
