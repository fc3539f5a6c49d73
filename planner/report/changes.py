"""Suggested changes to a scenario: levers doubled or halved until every check holds, or to reduce the cost.

The levers of a template are data (`planner.formulas.headlines`). An unknown price is taken as 1 where the cost is
proportional to it: what is saved is then told as a share, which is the same at any price.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isclose
from typing import NamedTuple

import numpy as np

from planner.formulas import advice
from planner.formulas.evaluation import Facts, Results
from planner.formulas.following import followers
from planner.formulas.headlines import levers
from planner.formulas.slices import CHIPS, slice_sizes
from planner.number_text import percent, shown, within
from planner.report.expectation import Planned
from planner.report.replay import Replay

DOUBLINGS = 12  # most doublings or halvings of a lever
WORTH = 0.05  # smallest relative change to mention
MOST = 2  # most changes to suggest
MONEY = "USD"  # the unit of headlines to minimise
UNITS = ("s", MONEY)  # the units of headlines to mention


class Change(NamedTuple):
    """A moved lever: its name and new value, both values in words, its doublings, the effects on headlines, and which
    of these is the cost.
    """

    name: str
    value: float
    words: str
    doublings: int
    effects: dict[str, float]
    cost: str

    @property
    def saved(self) -> float:
        """The fraction of the cost that is saved; 0 without a cost."""
        return -self.effects.get(self.cost, 0.0)


def changes(plan: Planned, key: str) -> tuple[str, ...]:
    """The suggested changes in words; none if the workbook differs from its template, or that has no levers."""
    names = levers(plan.template)
    replay = plan.replay(key) if names else None
    if replay is None:
        return ()
    unknown = {
        name: 1.0
        for name, value in replay.given.items()
        if value is None and replay.template.row(name).unit.startswith(MONEY)
    }
    costs = [each.row.name for each in plan.headlines if each.unit == MONEY]
    at_any_price = bool(unknown) and any(replay.at().number(name) is None for name in costs)
    twice = Replay(replay.template, {**replay.given, **dict.fromkeys(unknown, 2.0)})
    replay = Replay(replay.template, {**replay.given, **unknown})
    own = replay.at()
    moved = [list(_moved(plan, replay, name, own)) for name in names]
    labels = " or ".join(replay.template.row(name).label for name in names)
    if not _hold(replay, own, 1)[0]:
        nearest = [min(found, key=lambda each: abs(each.doublings)) for found in moved if found]
        told, typed = advice.advised(own, Facts())
        others = [each for each in nearest if typed.get(each.name) != each.value]  # told once
        said = (*((told,) if told else ()), *(f"{each.words}: every check holds" for each in others))
        return said or (f"No doubling or halving of {labels} alone makes every check hold.",)
    quicker = tuple(filter(None, [advice.quicker(own, Facts())]))
    if any(own.number(name) is None for name in costs):
        return quicker  # no saving can be computed for a cost that is N/A
    if at_any_price and not _is_twice(own, twice.at(), costs):
        return quicker  # nor for one of which only a part grows with the unknown price
    near = [[each for each in found if abs(each.doublings) == 1 and each.saved > WORTH] for found in moved]
    best = sorted((max(found, key=lambda each: each.saved) for found in near if found), key=lambda each: -each.saved)
    step, which = plan.headlines[0].label, " at any price" if at_any_price else ""
    said = tuple(f"{each.words}: {_effects(each, step, which)}" for each in best[:MOST])
    return (*quicker, *said) or (
        f"Neither twice nor half of {labels} passes the checks and costs {percent(WORTH, 0)} less.",
    )


def _moved(plan: Planned, replay: Replay, name: str, own: Results) -> Iterator[Change]:
    """A lever at every doubling and halving of its own value for which every check holds."""
    row, now = replay.template.row(name), replay.given.get(name)
    if not isinstance(now, float) or now <= 0:
        return
    steps = [step for step in range(-DOUBLINGS, DOUBLINGS + 1) if step and (now * 2.0**step) % 1 == 0]
    sizes = slice_sizes(own.known) if name == CHIPS else None
    if sizes is not None and now in sizes:  # chips that exist as slices stay so
        steps = [step for step in steps if now * 2.0**step in sizes]
    found = replay.along(name, np.array([now * 2.0**step for step in steps]))
    counted = [each for each in plan.headlines if each.unit in UNITS]
    with np.errstate(all="ignore"):  # a headline may be 0 after an edit
        ratios = {
            each.label: np.broadcast_to(found[each.row.name] / own[each.row.name], len(steps)) for each in counted
        }
    cost = next((each.label for each in counted if each.unit == MONEY), "")
    holds = _hold(replay, found, len(steps))
    for at, step in enumerate(steps):
        if holds[at]:
            effects = {label: float(ratio[at]) - 1 for label, ratio in ratios.items()}
            words = f"{row.named} {shown(now, '1')} → {shown(now * 2.0**step, '1')}"
            along = "".join(f", with {said}" for said in _along(replay, name, own, found, at))
            yield Change(name, now * 2.0**step, words + along, step, effects, cost)


def _along(replay: Replay, name: str, own: Results, found: Results, at: int) -> Iterator[str]:
    """The inputs that move with the lever because they follow it, in words: `FSDP ways 512 → 256`."""
    for row in followers(replay.template, (), [name]):
        was, now = (np.ravel(results[row.name]) for results in (own, found))
        before, after = float(was[0]), float(now[min(at, now.size - 1)])
        if before != after:
            label = within(replay.template.row(row.name).named)
            yield f"{label} {shown(before, '1')} → {shown(after, '1')}"


def _hold(replay: Replay, found: Results, count: int) -> np.ndarray:
    """For each value of the lever, whether all checks hold."""
    checks = [np.broadcast_to(found[row.name], count) != 0 for row in replay.template.of_kind("check")]
    return np.logical_and.reduce(checks) if checks else np.ones(count, dtype=bool)


def _is_twice(own: Results, other: Results, costs: Iterable[str]) -> bool:
    """Whether each cost is twice as much in the `other` results: then what is saved of it is so at any price."""
    pairs = [(own.number(name), other.number(name)) for name in costs]
    return all(one is not None and two is not None and isclose(two, 2 * one, rel_tol=1e-9) for one, two in pairs)


def _effects(change: Change, step: str, which: str) -> str:
    """The saving, and of the times that change the one that suffers most, else that gains most.

    The `step`, which the other times are made of, is said only where these stay. `which` says of what cost.
    """
    times = {label: by for label, by in change.effects.items() if abs(by) >= WORTH and label != change.cost}
    others = {label: by for label, by in times.items() if label != step} or times
    suffers = max(others, key=lambda label: (others[label] > 0, abs(others[label])), default=None)
    parts = [(change.cost, change.effects[change.cost]), *([(suffers, others[suffers])] if suffers else [])]
    words = [
        f"{within(label)} {percent(by, 0, signed=True)}".replace(" %", "\N{NO-BREAK SPACE}%") for label, by in parts
    ]
    return ", ".join([words[0] + which, *words[1:]])
