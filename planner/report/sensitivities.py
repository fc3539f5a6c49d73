"""The sensitivity of a workbook's scenario, and its picture: a tornado chart of the largest elasticities.

It is computed from the scenario's template, provided that the template reproduces the workbook's numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from planner.book.plan import Scenario
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.elasticities import Elasticity, Sensitivity, Tried, default_row, sensitivity
from planner.formulas.evaluation import Facts
from planner.formulas.synonyms import row_called
from planner.number_text import rounded, shown, within
from planner.report import svg
from planner.report.bar_chart import PARTS, inside, swatch
from planner.report.contents import Figure, FigureColumn, FigureTable, Picture
from planner.report.expectation import Planned
from planner.report.figures import CellFigures
from planner.report.replay import Replay, replayed
from planner.report.svg import Drawing, Scale

MOST, TOP = 4, 12  # most scenarios with a picture, and bars per picture
ROW, BAR, LEFT = 22.0, 9.0, 168.0
LINE, LETTERS, SMALL = 10.0, 26, 8.0  # of a label: height of a line and most letters in it; size of a number in a bar
COLUMNS = (
    FigureColumn("label", "Quantity", "text"),
    FigureColumn("value", "Now"),
    FigureColumn("less", "Less of it", "1"),
    FigureColumn("more", "More of it", "1"),
    FigureColumn("note", "Note", "text"),
)
CAPTION = (
    "By how many percent it changes with 1 % less and 1 % more of each quantity, the largest first; counts go by whole "
    "steps. Nothing is told of flags and texts."
)
SIDES = ("1 % less", "1 % more")


class ScenarioSensitivity(NamedTuple):
    """A scenario, the template that plans it, and the sensitivity of one of its rows.

    `found` is None if there is a `fault`, for example if the row is N/A or the workbook differs from its template.
    """

    scenario: Scenario
    template: str
    found: Sensitivity | None
    fault: UserError | None = None


def sensitivities(plans: Sequence[Planned], name: str = "") -> list[ScenarioSensitivity]:
    """The sensitivity of a row in each scenario, by default of the first headline of the template it is meant for.

    Templates without the row, and plans of a part such as a collective, are left out.
    """
    results = []
    for plan in plans:
        for _, scenario in plan.meant if plan.is_whole else ():
            replay = plan.replay(scenario.key)
            wanted = row_called(name, replay.template.by_name) if replay and name else name
            if replay is None or not name or wanted in replay.template.by_name:
                results.append(_of_scenario(scenario, plan.template, replay, wanted))
    return sorted(results, key=lambda each: each.scenario.column)


def sensitivities_of_parts(cells: CellFigures, name: str) -> list[ScenarioSensitivity]:
    """The same for each sheet of a shipped template with the row, or for every such sheet if no name is given.

    Includes plans of a part, such as a single matmul.
    """
    results = []
    for sheet, table in zip(cells.plan.tables, cells.tables, strict=True):
        template = cells.plan.book.templates.get(sheet)
        loaded = library.load(template) if template in library.names() else None
        if loaded is None:
            continue
        known = table.keys() & loaded.by_name.keys()
        asked = row_called(name, known) if name else default_row(loaded)
        if name and asked not in known:
            continue
        rows = {**cells.everywhere, **table}
        proof = [] if loaded.row(asked).unit == "text" else [asked]  # texts can't be compared
        for scenario in (each for each in cells.plan.scenarios if cells.counts(sheet, each.key)):
            replay = replayed(loaded.name, rows, scenario.key, proof)
            results.append(_of_scenario(scenario, loaded.name, replay, asked))
    return sorted(results, key=lambda each: each.scenario.column)


def _of_scenario(scenario: Scenario, template: str, replay: Replay | None, name: str) -> ScenarioSensitivity:
    """The sensitivity of a row of a scenario, by default the first headline, or why it is unknown."""
    if replay is None:
        return ScenarioSensitivity(scenario, template, None)
    try:
        found = sensitivity(replay.template, Facts(), replay.typed, name or default_row(replay.template))
    except UserError as error:
        return ScenarioSensitivity(scenario, template, None, error)
    return ScenarioSensitivity(scenario, template, found)


def sensitivity_pictures(plans: Sequence[Planned]) -> Iterator[Picture]:
    """A picture of the first headline's sensitivity, for the first few scenarios where it is known."""
    known = [each for each in sensitivities(plans) if each.found is not None and each.found.elasticities]
    for each in islice(known, MOST):
        if each.found is not None:
            yield _picture(each, each.found)


def _picture(scenario: ScenarioSensitivity, found: Sensitivity) -> Picture:
    title = f"What the {within(found.row.label)} of {scenario.scenario.title} depends on"
    shown_ones = found.elasticities[:TOP]
    labels = {row.name: row.label for row in library.load(scenario.template).of_kind("check")}
    said = ", ".join(f"{each.row.label} {rounded(each.size)}" for each in shown_ones)
    table = FigureTable(COLUMNS, tuple(_row(each, labels) for each in shown_ones))
    alt = f"{title}: {said}"
    name = f"depends-{scenario.template}-{scenario.scenario.column}"
    return Picture(name, title, _drawing(alt, shown_ones, found.scale), alt, CAPTION, table)


def _row(each: Elasticity, labels: Mapping[str, str]) -> tuple[Figure, ...]:
    value, unit = shown(each.value, each.row.unit), each.row.unit
    return (
        Figure.of_text(each.row.label),
        Figure(each.value, unit, value, is_derived=True),
        _figure(each.down),
        _figure(each.up),
        Figure.of_text(each.note_with(labels)),
    )


def _figure(tried: Tried | None) -> Figure:
    if tried is None or tried.elasticity is None:
        return Figure(None, "1", "" if tried is None else "N/A", is_derived=True)
    return Figure(tried.elasticity, "1", f"{tried.elasticity:+.3f}", is_derived=True)


def _drawing(alt: str, rows: Sequence[Elasticity], most: float) -> str:
    """The tornado chart. A bar longer than `most` is cut, with its number at the end."""
    drawing = Drawing(0)
    top = 26.0
    scale = Scale(-most, most, LEFT, svg.WIDTH - 8)
    for kind, (name, x) in enumerate(zip(SIDES, (LEFT, LEFT + 90), strict=True)):
        swatch(drawing, x, 9, kind, name)
    bottom = top + ROW * len(rows)
    for value in (-most, 0.0, most):
        anchor = "start" if value < 0 else "end" if value > 0 else "middle"
        drawing.line(scale(value), top, scale(value), bottom)
        drawing.text(scale(value), bottom + 12, f"{value:+.2g} %" if value else "0", anchor)
    for at, each in enumerate(rows):
        y = top + ROW * at
        lines = svg.lines(each.row.label, LETTERS)
        for line, words in enumerate(lines):
            middle = y + ROW / 2 + (line - (len(lines) - 1) / 2) * LINE
            drawing.text(svg.KEY_LEFT, middle, words, fill=svg.INK, class_="ink")
        for kind, (sign, tried) in enumerate(((-1, each.down), (1, each.up))):
            if tried is not None and tried.elasticity:
                effect = sign * tried.elasticity
                left, right = sorted((scale(0.0), scale(max(-most, min(most, effect)))))
                title = f"{each.row.label}\n{SIDES[kind]}: {effect:+.3f} %"
                top_of_bar, look = y + 3 + kind * BAR, {"fill": PARTS[kind], "class_": f"p{kind} point"}
                drawing.rect(left, top_of_bar, max(right - left, 0.5), BAR, title, **look)
                if abs(effect) > most:
                    anchor, end = ("end", right - 3) if effect > 0 else ("start", left + 3)
                    middle, words = y + 3 + (kind + 0.5) * BAR, f"{effect:+.3g} %"
                    inside(drawing, end, middle, words, anchor, "on small", font_size=SMALL)
    drawing.height = bottom + 24
    return drawing.svg(alt)
