"""Where a label goes beside its point: over no other label, no point, and as little of the lines as can be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from planner.report.svg import SIZE, WIDTH, width_of

STEP = 3.0  # along a line, between the places that are looked at
HIGH = SIZE + 1
ON_NAME, ON_POINT, ON_LINE = 100.0, 12.0, 1.0  # how bad it is to cover a name, a point, a place of a line
WORST = 50.0  # a name that could only stand worse is left out


class DrawnPoint(NamedTuple):
    """A place in a drawing."""

    x: float
    y: float


class Box(NamedTuple):
    """What a text covers; `left` is where it begins, `middle` its height."""

    left: float
    middle: float
    wide: float

    def covers(self, spot: DrawnPoint, more: float = 0.0) -> bool:
        """Whether a place is in the box, or as near as `more`."""
        inside = self.left - more <= spot.x <= self.left + self.wide + more
        return inside and abs(spot.y - self.middle) <= HIGH / 2 + more

    def meets(self, other: Box) -> bool:
        """Whether two boxes overlap."""
        apart = self.left > other.left + other.wide or other.left > self.left + self.wide
        return not apart and abs(self.middle - other.middle) < HIGH


@dataclass
class Labels:
    """The names of a drawing, placed one after the other between `top` and `bottom`, left of `right`.

    `points` are those that no name should cover, `lines` the corners of the lines.
    """

    top: float
    bottom: float
    points: Sequence[DrawnPoint]
    lines: Sequence[Sequence[DrawnPoint]]
    left: float = 0.0
    right: float = WIDTH
    placed: list[Box] = field(default_factory=list)

    def place(self, point: DrawnPoint, words: str, away: float) -> Box | None:
        """The best box `away` from a point, which is then taken; None where there is no room."""
        wide = width_of(words)
        found = [box for box in _about(point, wide, away) if self._is_inside(box)]
        best = min(found, key=lambda box: self._badness(box, point), default=None)
        if best is None or self._badness(best, point) > WORST:
            return None
        self.placed.append(best)
        return best

    def _is_inside(self, box: Box) -> bool:
        return self.left <= box.left and box.left + box.wide <= self.right and self.top <= box.middle <= self.bottom

    def _badness(self, box: Box, own: DrawnPoint) -> float:
        names = ON_NAME * sum(box.meets(other) for other in self.placed)
        points = ON_POINT * sum(box.covers(spot, 3.0) for spot in self.points if spot != own)
        return names + points + ON_LINE * sum(box.covers(spot) for spot in self._on_lines)

    @cached_property
    def _on_lines(self) -> list[DrawnPoint]:
        return [spot for line in self.lines for spot in _along(line)]


def _about(point: DrawnPoint, wide: float, away: float) -> Iterator[Box]:
    """Boxes about a point, the one that reads best first."""
    x, y = point
    for down in (0.0, away, -away, 1.6 * away, -1.6 * away, 2.6 * away, -2.6 * away):
        aside = away if abs(down) <= away else 0.4 * away
        yield Box(x + aside, y + down, wide)
        yield Box(x - aside - wide, y + down, wide)
    for down in (1.6 * away, -1.6 * away, 2.6 * away, -2.6 * away):
        yield Box(x - wide / 2, y + down, wide)


def _along(line: Sequence[DrawnPoint]) -> Iterator[DrawnPoint]:
    """Places along a line, near enough that none slips through a box."""
    for one, other in itertools.pairwise(line):
        steps = max(1, math.ceil(math.dist(one, other) / STEP))
        for step in range(steps):
            share = step / steps
            yield DrawnPoint(one.x + share * (other.x - one.x), one.y + share * (other.y - one.y))
