"""Workloads: what a scenario may be meant for, and for which of them a new workbook has sheets.

A workload is a template that templates/sweep.csv sweeps. A workbook that plans training and serving calculates both for
each scenario: Inputs has a row with the workload that it is meant for, and the checks of others are shown as not
counted. A new workbook has the sheets of the workloads named by `workload` in a scenarios CSV or in `--set`; of one
that no scenario is meant for, only if `--template` names it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.catalog import Value
from planner.csvfile import CsvFile
from planner.formulas import library
from planner.formulas.sweeps import Sweep, swept_templates
from planner.formulas.template import Row, Template
from planner.workbook.template_rows import included_first

DEFAULT_TEMPLATES = ("transformer", "training", "inference", "collectives")
WORKLOAD = "workload"
ALL_WORKLOADS = "all"
NOT_COUNTED = "-"


@dataclass(frozen=True)
class Workloads:
    """The workloads of a workbook, in the order of its sheets; fewer than two are no choice."""

    templates: tuple[Template, ...] = ()

    @cached_property
    def row(self) -> Row | None:
        """The input that selects a scenario's workload; None if there is no choice."""
        return None if len(self.templates) < 2 else self.choice

    @cached_property
    def choice(self) -> Row:
        """That input, whether there is a choice or not."""
        names = (*(template.name for template in self.templates), ALL_WORKLOADS)
        note = f"whose checks count: {' '.join(names)}"
        return Row(WORKLOAD, "Workload", "text", "input", ALL_WORKLOADS, note=note, template=WORKLOAD, choices=names)

    def meant(self, values: Mapping[str, Value]) -> str:
        """The workload that a scenario's values imply: the one whose own inputs it sets, else the last."""
        named = self.setting(values)
        if len(named) != 1:
            return ALL_WORKLOADS if named or not self.templates else self.templates[-1].name
        return named[0]

    def setting(self, names: Container[str]) -> list[str]:
        """The workloads of which some names are inputs that no other workload has."""
        own = zip(self.templates, self._own_inputs, strict=True)
        return [template.name for template, inputs in own if any(name in names for name in inputs)]

    def unread(self, names: Iterable[str], workload: str) -> dict[str, list[str]]:
        """Of some names the inputs that other workloads than this one have alone, each with these."""
        found = {name: self.setting([name]) for name in names} if workload not in ("", ALL_WORKLOADS) else {}
        return {name: of for name, of in found.items() if of and workload not in of}

    @cached_property
    def _own_inputs(self) -> list[set[str]]:
        """For each workload the inputs that no other has."""
        inputs = [{row.name for row in template.of_kind("input")} for template in self.templates]
        return [names - set().union(*(other for other in inputs if other is not names)) for names in inputs]

    def having(self, name: str) -> list[Template]:
        """The workloads with a row of this name."""
        return [template for template in self.templates if name in template.by_name]

    def guarded(self, meant: Sequence[Template], typed: str, formula: str, otherwise: str) -> str:
        """`formula` if the cell `typed` selects one of these workloads, else `otherwise`."""
        if self.row is None or not meant or len(meant) == len(self.templates):
            return formula
        names = ",".join(f'{typed}="{name}"' for name in (ALL_WORKLOADS, *(template.name for template in meant)))
        return f"IF(OR({names}),{formula},{otherwise})"


def workloads(templates: Sequence[Template], sweeps: Sequence[Sweep]) -> Workloads:
    """The workloads among a workbook's templates: those with sweeps."""
    swept = {sweep.template.name for sweep in sweeps}
    return Workloads(tuple(template for template in templates if template.name in swept))


def named_workloads(scenarios: CsvFile | None, setting: str | None) -> set[str]:
    """The workloads named in a CSV of scenarios and in `--set`, in lower case. Raises UserError as its records do."""
    texts = {setting or ""}
    if scenarios is not None:
        texts |= {cells.get(WORKLOAD, "") for _, cells in scenarios.records()}
    return {text.strip().lower() for text in texts}


def default_templates(named: Collection[str]) -> list[str]:
    """The templates of a build that names none, for the workloads of its scenarios."""
    is_all, workloads = ALL_WORKLOADS in named, swept_templates()
    return [name for name in DEFAULT_TEMPLATES if is_all or name in named or name not in workloads]


def in_order(there: Sequence[str], more: Sequence[str]) -> list[str]:
    """The templates of a workbook with more inserted: each before those that follow it in a default build."""
    found = list(there)
    for name in more:
        later = DEFAULT_TEMPLATES[DEFAULT_TEMPLATES.index(name) + 1 :] if name in DEFAULT_TEMPLATES else ()
        found.insert(next((at for at, other in enumerate(found) if other in later), len(found)), name)
    return found


def with_workloads(names: Iterable[str], named: Collection[str]) -> list[Template]:
    """The templates of these names or files, preceded by the named workloads that none of them includes.

    Raises UserError as loading templates does.
    """
    loaded = [library.load(name) for name in names]
    there = {part for template in loaded for part in template.digests}
    more = [library.load(name) for name in swept_templates() if name in named and name not in there]
    return included_first([*more, *loaded])
