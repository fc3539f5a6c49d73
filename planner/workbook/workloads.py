"""What a scenario is meant for: of a workbook that plans training and serving, whose checks count in each scenario.

Both are always calculated. A template that is swept is a workload; where a workbook has two or more, Inputs has a row
that says which of them a scenario is meant for, and the checks of the others are shown as not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.catalog import Value
from planner.formulas.sweeps import Sweep
from planner.formulas.template import Row, Template

NAME = "workload"
ALL = "all"
NOT_COUNTED = "-"


@dataclass(frozen=True)
class Workloads:
    """The workloads of a workbook, in the order of its sheets; fewer than two are no choice."""

    templates: tuple[Template, ...] = ()

    @cached_property
    def row(self) -> Row | None:
        """The input that says what a scenario is meant for; None where there is nothing to choose."""
        if len(self.templates) < 2:
            return None
        names = (*(template.name for template in self.templates), ALL)
        note = f"whose checks count: {' '.join(names)}"
        return Row(NAME, "Workload", "text", "input", ALL, note=note, template=NAME, choices=names)

    def meant(self, values: Mapping[str, Value]) -> str:
        """The workload that a scenario's values are meant for: the one whose own inputs it sets, else the last."""
        own = zip(self.templates, self._own_inputs, strict=True)
        named = [template.name for template, names in own if names & values.keys()]
        return named[0] if len(named) == 1 else ALL if named else self.templates[-1].name

    @cached_property
    def _own_inputs(self) -> list[set[str]]:
        """Of each workload the inputs that no other has."""
        inputs = [{row.name for row in template.of_kind("input")} for template in self.templates]
        return [names - set().union(*(other for other in inputs if other is not names)) for names in inputs]

    def having(self, name: str) -> list[Template]:
        """The workloads that have a row of this name."""
        return [template for template in self.templates if name in template.by_name]

    def guarded(self, meant: Sequence[Template], typed: str, formula: str, otherwise: str) -> str:
        """A formula that counts where `typed`, the cell of the choice, says one of these workloads."""
        if self.row is None or not meant or len(meant) == len(self.templates):
            return formula
        names = ",".join(f'{typed}="{name}"' for name in (ALL, *(template.name for template in meant)))
        return f"IF(OR({names}),{formula},{otherwise})"


def workloads(templates: Sequence[Template], sweeps: Sequence[Sweep]) -> Workloads:
    """The workloads among a workbook's templates: those that its sweeps are of."""
    swept = {sweep.template.name for sweep in sweeps}
    return Workloads(tuple(template for template in templates if template.name in swept))
