"""Which quantity of a sweep stands in which column of the sheet's working."""

from __future__ import annotations

from planner.formulas.binding import Constraint, constraint
from planner.formulas.sweeps import Axis, Sweep
from planner.workbook.chosen_scenario import VALUE

RANKED = ("best", "binds", "next", "margin", "times")  # what is told of the parts that compete


class SweepColumns:
    """Which quantity stands in which column: the axes, the working, and the parts of each constraint."""

    def __init__(self, sweep: Sweep, axis: Axis) -> None:
        others = [each for each in sweep.axes if each is not axis]
        self.axes = [axis.row.name, *(each.row.name for each in others)]
        moved = {name for each in sweep.axes for name in sweep.depends(each)} - set(self.axes)
        follows = [name for each in sweep.axes for name in each.follows]
        self.ratio = len(self.axes) + 1
        self.first = max(VALUE + 2, self.ratio + 1)  # the block's texts stand left of the working
        moved -= {*follows, *sweep.checks}
        self.working = [*follows, *(name for name in sweep.in_order if name in moved)]
        fixed = [name for name in sweep.used if name not in moved and name not in self.axes]
        self.working += [name for name in fixed if name not in self.working]
        self.places = {name: column for column, name in enumerate(self.axes, start=1)}
        self.places |= {name: column for column, name in enumerate(self.working, start=self.first)}
        self.bounds: list[tuple[Constraint, int]] = []
        self.end = max(self.places.values()) + 1
        for name in sweep.bounds:
            if found := constraint(sweep.rows[name], sweep.rows):
                self.bounds.append((found, self.end))
                self.end += len(found.parts) + len(RANKED)
        self.checks = {name: column for column, name in enumerate(sweep.checks, start=self.end)}
        self.places |= self.checks
        self.failed = self.end + len(self.checks)  # how many fail
        self.end = self.failed + 1
