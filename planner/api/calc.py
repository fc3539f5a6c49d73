"""`planner.calc`: a calculated plan, with its numbers by name, headlines and failed checks. Repeated calls are fast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from planner import progress
from planner.api import warned
from planner.catalog import Value
from planner.catalog.calibrations import calibration_origins, known_files
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import explanation, library
from planner.formulas.comparisons import Compared, in_numbers
from planner.formulas.evaluation import Facts, Results
from planner.formulas.headlines import Headline, headlines
from planner.formulas.input_values import values
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared
from planner.formulas.requested_rows import unread, untaken
from planner.formulas.template import Row, Template

if TYPE_CHECKING:
    from pandas import DataFrame

KEPT = 64  # prepared plans to cache
Setting = float | str | bool | None
File = str | Path | None
Stamp = tuple[int, int] | None  # (modification time, size) of a file; None without a file


class OwnTables(NamedTuple):
    """The databases with a user's own tables, and each file's stamp; a changed file makes the key differ."""

    databases: Databases
    stamps: tuple[Stamp, ...]


@warned
def calc(
    template: str | Path,
    /,
    *,
    model: str | None = None,
    hardware: str | None = None,
    models_csv: File = None,
    hardware_csv: File = None,
    calibrations_csv: File = None,
    only: bool = False,
    **settings: Setting,
) -> Calculation:
    """Calculate a template, given by name or by the path of its CSV, for a model on a chip.

    `settings` set inputs and override rows by name: numbers in the template's units, or texts as on the command line
    (`"10ms"`, `"8k"`); None is N/A. The CSVs and `only` are those of `planner calc`. The template is cached, so that
    further calls with other settings take a few milliseconds.
    Raises UserError for an unknown name or an impossible value, with what to do; warns of implausible values and of
    settings that nothing reads.
    """
    plan = plan_of(template, model, hardware, own_tables(models_csv, hardware_csv, calibrations_csv, only=only))
    given = values(plan.template, texts(settings))
    plan.warn_of_untaken(given)
    for warning in unread(plan.template, given, None).values():
        progress.warn(warning)
    return plan.calculated(given)


def own_tables(models_csv: File, hardware_csv: File, calibrations_csv: File, *, only: bool) -> OwnTables:
    """The user's own tables with their files' current stamps; a table is read on first use."""
    own = [None if path is None else Path(path).absolute() for path in (models_csv, hardware_csv, calibrations_csv)]
    known_files(own[2])  # of this call too, where an earlier one has read the tables
    return _tables(own[0], own[1], own[2], only, tuple(_stamp(path) for path in own))


@lru_cache(maxsize=4)
def _tables(
    models_csv: Path | None,
    hardware_csv: Path | None,
    calibrations_csv: Path | None,
    only: bool,
    stamps: tuple[Stamp, ...],
) -> OwnTables:
    return OwnTables(Databases(models_csv, hardware_csv, calibrations_csv, only), stamps)


def _stamp(path: Path | None) -> Stamp:
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def plan_of(template: str | Path, model: str | None, hardware: str | None, own: OwnTables) -> PreparedPlan:
    """A prepared plan, cached for shipped templates; a user's own template is read each time.

    Raises UserError for several models or chips, such as a list.
    """
    for name, one in (("model", model), ("hardware", hardware)):
        if not isinstance(one, str | None):
            raise UserError(f"{name}={one!r} is not one name", remedy="planner.sweep takes several")
    if str(template).endswith(".csv"):
        return PreparedPlan.of(library.load(template), model, hardware, own.databases)
    return _plan(str(template), model, hardware, own)


@lru_cache(maxsize=KEPT)
def _plan(template: str, model: str | None, hardware: str | None, own: OwnTables) -> PreparedPlan:
    return PreparedPlan.of(library.load(template), model, hardware, own.databases)


def texts(settings: Mapping[str, Setting]) -> Iterable[str]:
    """Settings as command-line texts: `n_chips=16384.0`. Raises UserError for values that can't be typed."""
    for name, value in settings.items():
        if value is None:
            yield f"{name}=N/A"
        elif isinstance(value, str):
            yield f"{name}={value}"
        else:
            try:
                yield f"{name}={float(value)!r}"
            except OverflowError:
                raise UserError(f"{name} is too large: not a finite number", remedy="give less than 1e308") from None
            except (TypeError, ValueError):
                remedy = "planner.sweep takes several" if isinstance(value, Iterable) else ""
                raise UserError(f"{name}={value!r} is no number and no text", remedy=remedy) from None


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
class PreparedPlan:
    """A prepared template with the ids of the model and chip."""

    prepared: Prepared
    model: str | None
    hardware: str | None
    databases: Databases

    @classmethod
    def of(cls, template: Template, model: str | None, hardware: str | None, databases: Databases) -> PreparedPlan:
        """The plan of a model on a chip. Raises UserError for an id that isn't in the databases."""
        model = databases.models.identify(model) if model else model
        hardware = databases.hardware.identify(hardware) if hardware else hardware
        return cls(Prepared(template, facts(template, model, hardware, databases)), model, hardware, databases)

    @property
    def template(self) -> Template:
        """Its template."""
        return self.prepared.template

    @property
    def facts(self) -> Facts:
        """The rows that its lookups read."""
        return self.prepared.facts

    def warn_of_untaken(self, given: Mapping[str, Value]) -> None:
        """Warn if a model or chip is named that the template doesn't use."""
        for kind, identifier, record in (
            ("model", self.model, self.facts.model),
            ("hardware", self.hardware, self.facts.hardware),
        ):
            if identifier and record and (warning := untaken(self.template, kind, identifier, record, given)):
                progress.warn(warning)

    def calculated(self, given: Mapping[str, Value]) -> Calculation:
        """The plan's results with these typed values. Raises UserError as `Prepared.results` does."""
        return Calculation(self, self.prepared.results(given))


@dataclass(frozen=True, eq=False)
class Calculation(Mapping[str, Value]):
    """A calculated plan: maps each row of the template to a number in the row's unit, a text, or None for N/A.

    `print` shows it as `planner calc` does.
    """

    plan: PreparedPlan
    results: Results

    def __getitem__(self, name: str) -> Value:
        return self.results.value(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, name: object) -> bool:
        return name in self.results.template.by_name

    def get(self, name: str, default: Any = None) -> Any:
        """A row's value, or `default` for a name that no row has; `[name]` raises UserError with the nearest."""
        return self.results.value(name) if name in self else default

    def __repr__(self) -> str:
        return f"<planner.calc of {self.results.template.name}: {len(self)} quantities>"

    def __str__(self) -> str:
        return "\n".join([*self.failures, *self.lines()])

    def lines(self, *, in_full: bool = False) -> list[str]:
        """The first screen of `planner calc`; `in_full`: every row is printed below it."""
        from planner.api.leading import lines  # imported late, since it reads the published runs

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
        return [f"Check failed: {row.named}{f': {numbers}' if numbers else ''}" for row, numbers in self.failed]

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

        `depth` is the number of levels below them to include. Raises UserError for an unknown name.
        """
        return explanation.explain(self.results, names, self._facts, depth)

    @cached_property
    def _facts(self) -> Facts:
        """The facts, and the source of each calibration number."""
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
