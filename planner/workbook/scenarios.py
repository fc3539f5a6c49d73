"""The scenarios of a new workbook: each model on each chip, or the rows of an analyst's CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planner import csvfile, progress
from planner.book.scenario_columns import identifier
from planner.catalog import Table, Value
from planner.catalog.databases import Databases
from planner.compare import comparison_cases as cases
from planner.compare import mesh_cases
from planner.csvfile import CsvFile, looks_like, unguarded
from planner.errors import Place, UserError, placed
from planner.formulas import layer_ops, library
from planner.formulas.following import followed
from planner.formulas.input_values import check_together, doubt_chip, parsed, typed, wholes
from planner.formulas.layer_ops import LayerOps
from planner.formulas.sweeps import Sweep, sweeps
from planner.formulas.template import Row, Template, instead_of
from planner.measure.mesh import MeshSpec
from planner.number_text import few
from planner.workbook.build_plan import BuildPlan, BuildScenario, refuse_unfit, refuse_unfit_id
from planner.workbook.unread_inputs import FEW_NAMED, warn_unread
from planner.workbook.workloads import (
    ALL_WORKLOADS,
    DEFAULT_TEMPLATES,
    WORKLOAD,
    Workloads,
    default_templates,
    named_workloads,
    with_workloads,
    workloads,
)

_SERVING = {"n_chips": "8", "batch": "32", "context_len": "8192"}
_BY_HEADS = {"kv_head_sharding": "1"}  # as engines do; sixteen chips have more ways than the model has KV heads
_TRAINING = {
    "workload": "training",
    "n_chips": "8192",
    "slice_x": "16",
    "slice_y": "16",
    "slice_z": "32",
    "mesh_fsdp": "4096",
    "mesh_tensor": "2",
    "batch_tokens": "16777216",
    "seq_len": "4096",
}
DEFAULTS = (
    ("llama3-70b", "tpu-v5e", {**_SERVING, "n_chips": "16"}),  # the weights don't fit on eight
    ("llama3-70b", "tpu-v6e", {**_SERVING, **_BY_HEADS}),
    ("llama3-70b", "h100-sxm", {**_SERVING, **_BY_HEADS}),
    ("llama3-70b", "tpu-v5p", _TRAINING),
)
ID_COLUMNS, NAME_COLUMNS = ("scenario", "scenario_id", "id"), ("name", "scenario_name")
MODEL_COLUMNS, HARDWARE_COLUMNS = ("model", "model_id"), ("hardware", "hardware_id", "chip")
MOST = 16_000  # the most scenarios for which a sheet has columns


def plan_of(
    models: Sequence[str],
    chips: Sequence[str],
    templates: Sequence[str],
    scenarios_csv: Path | CsvFile | None,
    settings: Iterable[str],
    databases: Databases | None = None,
) -> BuildPlan:
    """The plan for the options of `planner build`.

    Raises UserError for an unknown model, chip, template or name (with the nearest), or a fault in a file.
    """
    databases = databases or Databases()
    tables = databases.models, databases.hardware
    models, chips, templates = _sorted(models, chips, templates, *tables)
    texts = parsed(settings)
    sheet = csvfile.read(scenarios_csv) if isinstance(scenarios_csv, Path) else scenarios_csv
    named = named_workloads(sheet, texts.get(WORKLOAD))
    loaded = with_workloads(templates or DEFAULT_TEMPLATES, named)
    meant = workloads(loaded, sweeps(loaded))
    rows = {row.name: row for template in loaded for row in template.rows} | {WORKLOAD: meant.choice}
    known = _Known(rows, *tables, _typed(rows, texts))
    if sheet is not None:
        if models or chips:
            raise UserError("the scenarios file names models and chips", remedy="leave them off the command line")
        scenarios = _distinguished(list(known.read(sheet)))
    elif not models and not chips and not templates and not databases.own:
        scenarios = [_scenario(m, c, _typed(rows, values) | known.common) for m, c, values in DEFAULTS]
    else:
        scenarios = known.products(models, chips, loaded)
    scenarios = [_meant(known.possible(scenario), meant) for scenario in _distinct(scenarios)]
    for scenario in scenarios:
        known.doubt(scenario)
    if not templates:
        loaded, scenarios = without_others(loaded, scenarios)
    warn_unread(loaded, scenarios, known.common)
    scenarios = completed(loaded, scenarios)
    return BuildPlan(loaded, scenarios, databases, operations_of(loaded), cases.load())


def without_others(
    templates: Sequence[Template], scenarios: Sequence[BuildScenario]
) -> tuple[list[Template], list[BuildScenario]]:
    """The templates and scenarios without the workloads that no scenario is meant for.

    Values typed only for these are dropped, with a warning. Every scenario must have a value for `workload`.
    """
    kept = default_templates({str(scenario.values[WORKLOAD]) for scenario in scenarios})
    stay = [template for template in templates if template.name in kept]
    names = {WORKLOAD, *(row.name for template in stay for row in template.rows)}
    left = dict.fromkeys(
        name
        for scenario in scenarios
        for name, value in scenario.values.items()
        if name not in names and value is not None
    )
    if left:
        gone = " and ".join(template.name for template in templates if template not in stay)
        what = f"no scenario is meant for {gone}, so {few(list(left), FEW_NAMED)} is left out"
        progress.warn(f"{what}: {WORKLOAD}={ALL_WORKLOADS} keeps its sheets")
    return stay, [
        replace(each, values={name: value for name, value in each.values.items() if name in names})
        for each in scenarios
    ]


def with_mesh(plan: BuildPlan, mesh: MeshSpec) -> BuildPlan:
    """The plan with the cases of a mesh added to its Comparison, in the sizes for its first chip's platform."""
    chip = next((scenario.hardware for scenario in plan.scenarios if scenario.hardware), "")
    row = plan.databases.hardware.rows.get(chip or "", {})
    platform = "cpu" if row.get("jax_device_kind") == "cpu" else "accelerator"
    return replace(plan, comparison=[*plan.comparison, *mesh_cases.cases_of(mesh, "quick", platform)])


def operations_of(templates: Sequence[Template]) -> LayerOps | None:
    """The operations of the steps that the templates plan; None if none plans one."""
    planned: dict[str, Template] = {}
    for name in layer_ops.PHASES:
        rows = library.load(name).by_name.keys()
        if step := next((template for template in templates if rows <= template.by_name.keys()), None):
            planned[name] = step
    return layer_ops.load(planned) if planned else None


def _sorted(
    arguments: Sequence[str], chips: Sequence[str], templates: Sequence[str], models: Table, hardware: Table
) -> tuple[list[str], list[str], list[str]]:
    """Models, chips and templates, with each argument that names another kind moved: `-H a b` reads both."""
    kept: list[str] = []
    more_chips, more_templates = list(chips), list(templates)
    for argument in arguments:
        if models.has(argument) or not (hardware.has(argument) or argument in library.names()):
            kept.append(argument)
        elif hardware.has(argument):
            more_chips.append(argument)
        else:
            more_templates.append(argument)
    return kept, more_chips, more_templates


def _scenario(model: str | None, chip: str | None, values: Mapping[str, Value]) -> BuildScenario:
    """A scenario named after its model and chip."""
    name = " on ".join(part for part in (model, chip) if part) or "scenario"
    return BuildScenario(identifier(name), name, model, chip, values, is_named=False)


def _distinguished(scenarios: Sequence[BuildScenario]) -> list[BuildScenario]:
    """The scenarios; those that would have the same default name get their id as name."""
    shown = Counter(scenario.name for scenario in scenarios if not scenario.is_named)
    return [
        replace(each, name=each.id, is_named=True) if not each.is_named and shown[each.name] > 1 else each
        for each in scenarios
    ]


def _distinct(scenarios: Sequence[BuildScenario]) -> list[BuildScenario]:
    seen: dict[str, int] = {}
    distinct = []
    for scenario in scenarios:
        count = seen[scenario.id] = seen.get(scenario.id, 0) + 1
        identifier = scenario.id if count == 1 else f"{scenario.id}_{count}"
        distinct.append(replace(scenario, id=identifier))
    return distinct


def _meant(scenario: BuildScenario, meant: Workloads) -> BuildScenario:
    """A scenario with its workload among its values."""
    said = scenario.values.get(WORKLOAD) or meant.meant(scenario.values)
    return replace(scenario, values={**scenario.values, WORKLOAD: said})


def completed(templates: Sequence[Template], scenarios: Iterable[BuildScenario]) -> list[BuildScenario]:
    """The scenarios with unset inputs that follow others, and with `workload` if that is a choice.

    A scenario of 16 chips without a mesh has 16 FSDP ways, for example, and one with another context prompts of that
    length, by templates/sweep.csv as in `planner calc`.
    """
    swept = sweeps(templates)
    has_choice = workloads(templates, swept).row is not None
    return [_completed(scenario, swept, has_choice=has_choice) for scenario in scenarios]


def _completed(scenario: BuildScenario, swept: Sequence[Sweep], *, has_choice: bool) -> BuildScenario:
    values = {name: value for name, value in scenario.values.items() if has_choice or name != WORKLOAD}
    for sweep in swept:
        for axis in sweep.axes:
            for name, formula in axis.follows.items():
                number = followed(formula, sweep.template, values)
                if name not in values and number is not None and number != sweep.template.row(name).default:
                    values[name] = number
    return replace(scenario, values=values)


def _typed(rows: Mapping[str, Row], texts: Mapping[str, str]) -> dict[str, Value]:
    """Typed texts as values of the rows. Raises UserError for an unknown name."""
    for name in texts:
        if name not in rows:
            raise UserError(f"no template of this workbook has a row {name!r}", remedy=_named_so(name, rows))
    return {name: typed(rows[name], text) for name, text in texts.items()}


def _named_so(name: str, own: Collection[str]) -> str:
    """The remedy for an unknown name; a template that has it is named as one to build with."""
    remedy = instead_of(name, own, library.shelf())
    return f"{remedy}: add --template" if remedy.endswith((" has it", " have it")) else remedy


@dataclass(frozen=True)
class _Known:
    """What scenarios consist of: the rows that may be typed, the databases, and the values `common` to all."""

    rows: Mapping[str, Row]
    models: Table
    hardware: Table
    common: dict[str, Value]

    def products(
        self, models: Sequence[str], chips: Sequence[str], templates: Sequence[Template]
    ) -> list[BuildScenario]:
        """A scenario for each model on each chip. Raises UserError if the templates need one and none is named."""
        wants_model = any(template.of_kind("model") for template in templates)
        wants_chip = any(template.of_kind("hardware") for template in templates)
        named: list[str | None] = [self.models.identify(model) for model in models] or [None]
        if wants_model and not models:
            raise UserError("no model is named", remedy="name one, as `planner models list` shows them")
        if wants_chip and not chips:
            raise UserError("no chip is named", remedy="name one with -H, as `planner hardware list` shows them")
        on: list[str | None] = [self.hardware.identify(chip) for chip in chips] or [None]
        return [_scenario(model, chip, self.common) for model in named for chip in on]

    def read(self, sheet: CsvFile) -> Iterator[BuildScenario]:
        """The scenarios of a CSV: columns scenario, name, model, hardware, and any row of a template.

        A blank cell means the default. Raises UserError with file, line and column.
        """
        heads = (*ID_COLUMNS, *NAME_COLUMNS, *MODEL_COLUMNS, *HARDWARE_COLUMNS)
        known, path = (*heads, *self.rows), sheet.path
        if "" in sheet.header:
            remedy = "the first line names the columns: name it, or delete it"
            raise UserError("the column has no name", place=Place(path, 1, sheet.header.index("") + 1), remedy=remedy)
        for column in sheet.header:
            if column not in known:
                if (lower := column.lower()) in known:
                    remedy = f"did you mean {lower}? the names of columns are in lower case"
                    raise UserError(f"unknown column {column!r}", place=Place(path, 1), remedy=remedy)
                is_ours = {"scenario", *MODEL_COLUMNS, *HARDWARE_COLUMNS} & set(sheet.header)
                remedy = looks_like(sheet.header, known if is_ours else ()) or _named_so(column, known)
                raise UserError(f"unknown column {column!r}", place=Place(path, 1), remedy=remedy)
        seen, named = dict[str, int](), dict[str, int]()
        for line, cells in sheet.records():
            try:
                scenario = self._from_cells(cells, str(path))
            except UserError as error:
                raise error.at(Place(path, line, error.place.column if error.place else None)) from None
            if len(seen) == MOST:
                what, remedy = f"more than {MOST:,} scenarios", "a sheet has no more columns: make several workbooks"
                raise UserError(what, place=Place(path, line), remedy=remedy)
            if scenario.id.lower() in seen:
                what = f"scenario {scenario.id!r} stands in line {seen[scenario.id.lower()]} already"
                raise UserError(what, place=Place(path, line), remedy="ids are unique")
            seen[scenario.id.lower()] = line
            if scenario.is_named and (first := named.setdefault(scenario.name.lower(), line)) != line:
                place = Place(path, line, next(each for each in NAME_COLUMNS if cells.get(each, "").strip()))
                what = f"there is a scenario {scenario.name!r} already, in line {first}"
                raise UserError(what, place=place, remedy="give another name")
            yield scenario
        if not seen:
            raise UserError("the file has no scenario", place=Place(path), remedy="add a row below the header")

    def _from_cells(self, cells: dict[str, str], file: str) -> BuildScenario:
        def first(columns: Sequence[str]) -> str:
            return next((unguarded(cells[column].strip()) for column in columns if cells.get(column, "").strip()), "")

        def filled(columns: Sequence[str]) -> str:
            return next((column for column in columns if cells.get(column)), "")

        model, chip = first(MODEL_COLUMNS), first(HARDWARE_COLUMNS)
        with placed(Place(column=filled(MODEL_COLUMNS))):
            found_model = self.models.identify(model) if model else None
        with placed(Place(column=filled(HARDWARE_COLUMNS))):
            found_chip = self.hardware.identify(chip) if chip else None
        values = dict(self.common)
        for column, text in cells.items():
            if column in self.rows and text.strip() and column not in NAME_COLUMNS:
                with placed(Place(column=column)):
                    values[column] = typed(self.rows[column], unguarded(text.strip()), file)
        base = _scenario(found_model, found_chip, values)
        identifier, name = first(ID_COLUMNS) or base.id, first(NAME_COLUMNS)
        for text, columns, refuse in ((identifier, ID_COLUMNS, refuse_unfit_id), (name, NAME_COLUMNS, refuse_unfit)):
            with placed(Place(column=filled(columns))):
                refuse(text)
        scenario = BuildScenario(identifier, name or base.name, found_model, found_chip, values, is_named=bool(name))
        return self.possible(scenario)

    def _chip(self, scenario: BuildScenario) -> Mapping[str, Value]:
        return self.hardware.rows[scenario.hardware] if scenario.hardware else {}

    def possible(self, scenario: BuildScenario) -> BuildScenario:
        """The scenario. Raises UserError if its values contradict its chip's."""
        if wholes(scenario.values):
            check_together(scenario.values, {**self._chip(scenario), **scenario.values})
        return scenario

    def doubt(self, scenario: BuildScenario) -> None:
        """Warn about overrides that don't fit the chip's other numbers, such as a slip of 1,000."""
        chip, given = self._chip(scenario), scenario.values

        def known(name: str) -> Value:
            column, selector = self.rows[name].column
            dtype = given.get(selector, self.rows[selector].default) if selector else ""
            return given.get(name, chip.get(f"{column}_{dtype}" if selector else column))

        doubt_chip(self.rows.values(), given, known, scenario.id)
