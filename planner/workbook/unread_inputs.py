"""Doubts inputs of new scenarios that their workload doesn't read, such as `seq_len` of one that serves."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from planner import progress
from planner.formulas.following import with_followers
from planner.formulas.sweeps import sweeps
from planner.formulas.template import Template
from planner.number_text import few
from planner.workbook.build_plan import BuildScenario
from planner.workbook.workloads import WORKLOAD, Workloads, workloads

FEW_NAMED = 3  # most inputs named in a line


def warn_unread(templates: Sequence[Template], scenarios: Sequence[BuildScenario], common: Container[str]) -> None:
    """Warn once of the inputs that scenarios set and don't read; `common` are those set for all scenarios alike.

    An input with the value that it has anyway, as in a CSV of planner export-inputs, is no cause.
    """
    known = workloads(templates, sweeps(templates))
    found = [f"{name} of {each.id}" for each in scenarios for name in _unread(known, each, common)]
    if found:
        progress.warn(f"set, but not read by the scenario's workload: {few(found, FEW_NAMED)}")


def _unread(known: Workloads, scenario: BuildScenario, common: Container[str]) -> Iterator[str]:
    """The inputs of other workloads that a scenario sets to other values than they have anyway."""
    unread = known.unread(scenario.values, str(scenario.values.get(WORKLOAD) or ""))
    others = {name: value for name, value in scenario.values.items() if name not in unread}
    for name, (reader, *_) in unread.items():
        template = next(each for each in known.templates if each.name == reader)
        usual = with_followers(template, others).get(name, template.row(name).default)
        if name not in common and scenario.values[name] not in (None, usual):
            yield name
