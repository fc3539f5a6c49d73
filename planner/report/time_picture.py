"""The picture of where the time goes: of each scenario what its expected time is made of, its range and its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from planner.book.plan import Quantity, Scenario
from planner.formulas.headlines import Headline, Share
from planner.report.bar_chart import Bar, BarPart, bar_chart
from planner.report.contents import ExpectedNumber, Figure, FigureColumn, FigureTable, Picture
from planner.report.expectation import OF_RUNS, Planned
from planner.spoken import PERCENT, percent, spoken

FAR = 8.0  # times from which on scenarios are drawn as shares of their own expected time
CAPTION = (
    "What the expected time is made of. The line across a bar is the bound: perfect overlap and nothing lost. "
    f"The line along its end is the range of {OF_RUNS}."
)
SHARES = " Each bar is a share of its own scenario's expected time."


class Timed(NamedTuple):
    """A scenario with its expected time and the parts of it."""

    place: int
    scenario: Scenario
    number: ExpectedNumber
    parts: list[Share]


def time_pictures(plans: Sequence[Planned]) -> Iterator[Picture]:
    """A picture for each time whose parts are told; scenarios that ask for their bounds are left out."""
    for plan in plans:
        for made in plan.headlines if plan.is_whole else ():
            timed = [
                Timed(place, scenario, plan.headline(made, scenario.key), found)
                for place, scenario in plan.meant
                if (found := made.shares(partial(plan.number, key=scenario.key))) and not plan.is_ideal(scenario.key)
            ]
            if timed:
                yield _picture(plan, made, timed)


def _picture(plan: Planned, made: Headline[Quantity], timed: Sequence[Timed]) -> Picture:
    of = f"{plan.template} step" if made.label == "Step" else made.label.lower()
    known = [each.number.expected.number for each in timed]
    is_far = max(known) > FAR * min(known)
    kinds = [part.label for part in made.parts if any(part.label == own.label for each in timed for own in each.parts)]
    bars = [_bar(each, kinds, each.number.expected.number if is_far else 1.0) for each in timed]
    title = f"Where the expected time of a {of} goes"
    alt = f"{title}. " + " ".join(f"{bar.name}: {bar.told}" for bar in bars)
    drawing = bar_chart(alt, bars, kinds, PERCENT if is_far else "s")
    caption = CAPTION + (SHARES if is_far else "")
    return Picture(f"expected-{plan.template}", title, drawing, alt, caption, _table(plan, made, timed))


def _bar(each: Timed, kinds: Sequence[str], unit: float) -> Bar:
    """A scenario's bar; lengths are in `unit` seconds."""
    number, name = each.number, each.scenario.name or each.scenario.id
    parts = [
        BarPart(
            kinds.index(part.label), part.seconds / unit,
            f"{part.label}: {spoken(part.seconds, 's')}, {percent(part.share, 0)}", spoken(part.seconds, "s"),
        )
        for part in each.parts
    ]  # fmt: skip
    low, high = number.low.number / unit, number.high.number / unit
    spread = (low, high, f"{OF_RUNS}: {number.range.text}") if high else None
    told = (
        f"{number.expected.text}, {OF_RUNS} {number.range.text}, bound {number.bound.text}: "
        + "; ".join(f"{part.label} {percent(part.share, 0)}" for part in each.parts)
        + "."
    )
    limit = number.bound.number / unit or None
    return Bar(each.place, name, number.expected.text, parts, limit=limit, range=spread, told=told)


def _table(plan: Planned, made: Headline[Quantity], timed: Sequence[Timed]) -> FigureTable:
    """A row for each scenario and part: its time and share; then the whole."""
    names = dict(made.parts)
    columns = (
        FigureColumn("scenario", "Scenario", "text"), FigureColumn("part", "Part", "text"),
        FigureColumn("time", "Time", "s"), FigureColumn("share", "Share", PERCENT),
    )  # fmt: skip
    rows = []
    for each in timed:
        key, whole = each.scenario.key, each.number.expected
        told = [(part.label, plan.figure(plan.rows[names[part.label]], key, "s"), part.share) for part in each.parts]
        for label, time, share in [*told, ("Expected", whole, 1.0)]:
            shared = Figure(share, PERCENT, percent(share, 0), whole.cell, is_derived=True)
            named = (each.scenario.id, each.scenario.name or each.scenario.id), (label, label)
            rows.append((*(Figure(value, "text", text) for value, text in named), time, shared))
    return FigureTable(columns, tuple(rows))
