"""What `planner.calc` returns: one plan of a template, with its numbers by name, headlines and failed checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from planner import progress
from planner.catalog import Value
from planner.catalog.calibrations import calibration_origins
from planner.catalog.databases import Databases
from planner.formulas import explanation
from planner.formulas.asking import untaken
from planner.formulas.comparisons import Compared, in_numbers
from planner.formulas.evaluation import Facts, Results
from planner.formulas.headlines import Headline, headlines
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared
from planner.formulas.template import Row, Template

if TYPE_CHECKING:
    from pandas import DataFrame


class Expected(NamedTuple):
    """A headline: its expected value, the range that 80 % of published runs fall into, and the bound.

    A number that is N/A, or that the headline doesn't have, is None.
    """

    label: str
    unit: str
    value: Value
    low: float | None = None
    high: float | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Plan:
    """A question: a prepared template, and the names of the model and the chip as they were typed."""

    prepared: Prepared
    model: str | None
    hardware: str | None
    databases: Databases

    @classmethod
    def of(cls, template: Template, model: str | None, hardware: str | None, databases: Databases) -> Plan:
        """The plan of a model on a chip. Raises UserError for an id that the databases haven't."""
        return cls(Prepared(template, facts(template, model, hardware, databases)), model, hardware, databases)

    @property
    def template(self) -> Template:
        """Its template."""
        return self.prepared.template

    @property
    def facts(self) -> Facts:
        """What its lookups read."""
        return self.prepared.facts

    def warn_of_untaken(self, given: Mapping[str, Value]) -> None:
        """Warn where a model or a chip is named that the template doesn't take."""
        for kind, identifier, record in (
            ("model", self.model, self.facts.model),
            ("hardware", self.hardware, self.facts.hardware),
        ):
            if identifier and record and (warning := untaken(self.template, kind, identifier, record, given)):
                progress.warn(warning)

    def calculated(self, given: Mapping[str, Value]) -> Calculation:
        """The plan's numbers with these values typed. Raises UserError as `Prepared.results` does."""
        return Calculation(self, self.prepared.results(given))


@dataclass(frozen=True, eq=False)
class Calculation(Mapping[str, Value]):
    """A calculated plan: maps each row of the template to a number in the row's unit, a text, or None for N/A.

    `print` shows it as `planner calc` does.
    """

    plan: Plan
    results: Results

    def __getitem__(self, name: str) -> Value:
        return self.results.value(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, name: object) -> bool:
        return name in self.results.template.by_name

    def __repr__(self) -> str:
        return f"<planner.calc of {self.results.template.name}: {len(self)} quantities>"

    def __str__(self) -> str:
        return "\n".join([*self.failures, *self.lines()])

    def lines(self, *, in_full: bool = False) -> list[str]:
        """The first screen of `planner calc`; `in_full`: every row is printed below it."""
        from planner.api.leading import lines  # it reads the published runs

        plan = self.plan
        return lines(self.results, plan.model, plan.hardware, plan.databases, in_full=in_full)

    @property
    def headlines(self) -> dict[str, Expected]:
        """The template's headlines by the name of their row: those of Dashboard, in its order."""
        return {each.row.name: self._expected(each) for each in headlines(self.results.template)}

    def _expected(self, headline: Headline[Row]) -> Expected:
        low, high = [self.results.number(row.name) for row in headline.range] or (None, None)
        bound = self.results.number(headline.bound.name) if headline.bound else None
        return Expected(headline.said, headline.row.unit, self[headline.row.name], low, high, bound)

    @cached_property
    def failed(self) -> list[tuple[Row, str]]:
        """The checks that fail, each with the numbers that it compares."""
        return [
            (row, in_numbers(row.formula, self._compared).replace("\N{NO-BREAK SPACE}", " "))
            for row in explanation.failed(self.results)
        ]

    @property
    def failures(self) -> list[str]:
        """A line for each check that fails."""
        return [
            f"Check failed: {row.label} ({row.name}){f': {numbers}' if numbers else ''}" for row, numbers in self.failed
        ]

    def _compared(self, name: str) -> Compared:
        row = self.results.template.row(name)
        return Compared(row.label, row.unit, self.results.value(name))

    @property
    def failed_checks(self) -> dict[str, str]:
        """What each check that fails says, with the numbers that it compares, by the check's name."""
        return {row.name: f"{row.label}{f': {numbers}' if numbers else ''}" for row, numbers in self.failed}

    @property
    def missing(self) -> dict[str, str]:
        """Why numbers are N/A, by the names of their rows."""
        return explanation.reasons(self.results, self.results.template.by_name)

    def why(self, *names: str, depth: int | None = None) -> str:
        """Numbers explained down to their inputs and sources, as `planner calc --why` does.

        `depth` is how many levels below them are told. Raises UserError for an unknown name.
        """
        return explanation.explain(self.results, names, self._facts, depth)

    @cached_property
    def _facts(self) -> Facts:
        """The facts, and where each number of a calibration is from."""
        found, databases = self.plan.facts, self.plan.databases
        said = calibration_origins(databases.calibrations_csv, only=databases.only)
        fitted = {("calibration", f"{identifier}.{name}"): text for (identifier, name), text in said.items()}
        return replace(found, origins={**found.origins, **fitted})

    def to_frame(self) -> DataFrame:
        """A row for each quantity, by its name: label, value, unit, formula, source. N/A is None in `value`.

        `attrs["units"]` has the unit of each quantity too.
        """
        import pandas

        rows = self.results.template.rows
        frame = pandas.DataFrame(
            {
                "label": [row.label for row in rows],
                "value": pandas.Series([self[row.name] for row in rows], dtype=object),
                "unit": [row.unit for row in rows],
                "formula": [explanation.in_names(row) for row in rows],
                "source": [explanation.origin(self.results, row, self._facts) for row in rows],
            }
        )
        frame.index = pandas.Index([row.name for row in rows], name="name")
        frame.attrs["units"] = {row.name: row.unit for row in rows}
        return frame
