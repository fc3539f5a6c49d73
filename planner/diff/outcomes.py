"""Compares what two workbooks come to: their headlines and checks, by name and scenario."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property

from planner.align.pairs import Pairs
from planner.book.plan import DashboardHeadline, Plan, Quantity
from planner.diff.differences import CheckChange, OutcomeChange
from planner.formulas import library
from planner.formulas.headlines import better, leading, memory_check, memory_needed
from planner.formulas.sweeps import swept_templates
from planner.number_text import PERCENT
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD
from planner.xlsx.cellvalue import same_value

OUTCOMES_AGREE = 1e-12


class Outcomes:
    """The headlines and checks of two workbooks; `pairs` has the sheets and scenarios that are the same in both."""

    def __init__(self, old: Plan, new: Plan, pairs: Pairs) -> None:
        self.old, self.new, self.pairs = old, new, pairs

    def headlines(self) -> Iterator[OutcomeChange]:
        """The changed headlines, and changes of what binds them."""
        rows = {(row.origin, row.name): row for row in self.new.headlines}
        known = Counter(row.name for row in self.new.headlines)
        for row in self.old.headlines:
            other = rows.get((self.pairs.sheets.get(row.origin, row.origin), row.name))
            for key, now in self._keys(row) if other else ():
                assert other is not None, "there is one here"
                meant = self._is_meant(now, other.origin)
                sheet = other.origin if known[other.name] > 1 else ""
                values = row.value(key), other.value(now)
                if not same_value(*values, OUTCOMES_AGREE):
                    leads = meant and (other.origin, row.name) in self._leading
                    unit = self._said_in(other)
                    way = better(self.new.book.templates.get(other.origin, ""), row.name, unit)
                    yield OutcomeChange(now, row.name, other.title, other.unit, *values, sheet, leads, way, meant, unit)
                bound = row.binds(key), other.binds(now)
                if bound[0] != bound[1] and None not in bound:
                    name, label = f"{row.name}.bound_by", f"{other.title}: bound by"
                    yield OutcomeChange(now, name, label, "text", *bound, sheet, leads=False, meant=meant)

    def _said_in(self, row: DashboardHeadline) -> str:
        """The unit in which a headline is printed: per cent if its template says so, else its own."""
        template = self.new.book.templates.get(row.origin, "")
        known = library.load(template).by_name.get(row.name) if template in library.names() else None
        return PERCENT if known and known.said_in == PERCENT else row.unit

    @cached_property
    def _leading(self) -> Collection[tuple[str, str]]:
        """(sheet, name) of the headlines that lead: of a plan its memory too; all of a template that leads with none.

        Those of parts, such as collectives, lead only if no sheet plans a whole workload.
        """
        rows: dict[str, dict[str, Quantity]] = {}
        for row in self.new.headlines:
            rows.setdefault(row.origin, {})[row.name] = row
        templates = {sheet: self.new.book.templates.get(sheet, "") for sheet in rows}
        has_whole = any(map(memory_check, templates.values()))
        found = set[tuple[str, str]]()
        for sheet, template in templates.items():
            if not has_whole or memory_check(template) or template not in library.names():
                leads_with = [each.row.name for each in leading(template, rows[sheet])]
                memory = [memory_needed(template)] if leads_with else []
                found |= {(sheet, name) for name in ([*leads_with, *memory] or rows[sheet])}
        return found

    def _is_meant(self, scenario: str, sheet: str) -> bool:
        """Whether a scenario is meant for the workload that a sheet calculates; true if it names none."""
        found = self.new.by_key.get(scenario)
        meant = self.new.book.said(WORKLOAD, found.column) if found else ""
        template = self.new.book.templates.get(sheet, "")
        return meant in ("", ALL_WORKLOADS, template) or template not in swept_templates()

    def _keys(self, row: Quantity) -> Iterator[tuple[str, str]]:
        """The (old, new) scenario keys of a row's values; ("", "") for a row that belongs to no scenario."""
        known = self.pairs.scenarios if row.cells.keys() != {""} else {"": ""}
        yield from known.items()

    def checks(self) -> Iterator[CheckChange]:
        """The checks that come out differently."""
        rows = {row.name: row for row in self.new.checks}
        for row in self.old.checks:
            if other := rows.get(row.name):
                for key, now in self._keys(row):
                    if not same_value(row.value(key), other.value(now)):
                        yield CheckChange(now, row.name, other.title, row.value(key), other.value(now))
