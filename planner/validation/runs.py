"""Published or measured runs read from a CSV: one per row, with its settings, the template row it is, and its time.

Columns: id, kind, template, hardware, settings (`name=value name=value`), output, measured (0.015 or 15ms), source,
and optionally model, unit (of `measured`; blank: the template's), fair (yes, partial, no), fit (0: not to be fitted),
assumes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from planner import csvfile, data
from planner.catalog import Table, Value, load_models
from planner.catalog.calibrations import KINDS
from planner.catalog.checked_table import OWN_FILES, TABLES, own_rows_first
from planner.catalog.columns import warn_of_unknown
from planner.catalog.databases import Databases
from planner.compare.checked_measurements import number_fault
from planner.errors import NEAR, Place, UserError, closest
from planner.formulas import library
from planner.formulas.following import with_followers
from planner.formulas.input_values import meant, share_fault
from planner.formulas.synonyms import row_called
from planner.formulas.template import CALCULATED, Row, Template
from planner.number_text import PERCENT
from planner.scaled_units import factor
from planner.typed_numbers import is_scaled
from planner.typed_numbers import read as number_of

REQUIRED = ("id", "kind", "template", "hardware", "settings", "output", "measured", "source")
COLUMNS = (*REQUIRED, "model", "unit", "fair", "fit", "assumes")
KIND_OF_TEMPLATE = {"training": "train", "collectives": "collective", "collective": "collective", "matmul": "matmul"}
KIND_OF_OUTPUT = {
    "static_batch": "static",
    "prefill": "prefill",
    "time_to_first_token": "prefill",
    "decode_step": "decode",
    "expected_time": "matmul",
}
EXPECTED = "_expected"
"""Suffix of a headline row whose name without it is the bound: `mfu` and `mfu_expected`."""
SERVED = "tpot"  # another quantity measured when serving: step time with prompts in between


@dataclass(frozen=True)
class Run:
    """A run: what was run, and the measured number, in the unit of the template's row `output`."""

    id: str
    kind: str
    template: str
    model: str
    hardware: str
    output: str
    measured: float
    source: str
    values: dict[str, Value]  # its settings, as values of template rows
    is_fitted: bool = True
    assumes: str = ""
    fault: str = ""  # why there is no expected number
    is_moe: bool | None = None  # whether the model of a run with a fault is a mixture of experts, if that is known
    written: float = 1.0  # the file's unit in the row's unit: 0.001 if the file has ms
    weight: float = 1.0  # weight in a user's own fit
    noted: str = ""  # remark on the weight
    jax: str = ""  # the JAX version that it was measured with, if known
    line: int = field(default=0, compare=False)  # line in its file
    column: str = ""  # the column of its fault

    @property
    def judged_as(self) -> str:
        """The kind of runs whose range and fit apply to this one, by what was measured."""
        if self.template in KIND_OF_TEMPLATE:
            return KIND_OF_TEMPLATE[self.template]
        return next((kind for start, kind in KIND_OF_OUTPUT.items() if self.output.startswith(start)), SERVED)


def shipped() -> Path:
    """The published runs that are shipped with planner."""
    return data.folder("hardware_db") / "published_runs.csv"


def models_of(databases: Databases) -> Table:
    """The models that runs may name: the user's, those of published runs, and the shipped ones."""
    if databases.models_csv is not None and databases.only:
        return databases.models
    published = load_models(data.folder("model_db") / "published_models.csv")
    ours = own_rows_first(published, load_models())
    return ours if databases.models_csv is None else own_rows_first(load_models(databases.models_csv), ours)


def read(path: Path, databases: Databases, models: Table, templates: Collection[str] | None = None) -> list[Run]:
    """The runs of a CSV, in order. If nothing can be expected of a row, its `fault` says why.

    If `templates` are given, only their runs are returned; the others' numbers and ids are still checked. Raises
    UserError with file, line and column for a missing column, a repeated id, or a measured number that isn't positive.
    """
    sheet = csvfile.read(path, required=REQUIRED, known=COLUMNS)
    warn_of_unknown(path, [name for name in sheet.header if name not in COLUMNS], COLUMNS)
    seen: dict[str, int] = {}
    runs: list[Run] = []
    known = _Known(databases, models)
    for line, cells in sheet.records():
        place = Place(path, line)
        share = cells["measured"].strip()
        if share.endswith(PERCENT) and cells.get("unit", "").strip() in ("", "1", PERCENT):
            cells = {**cells, "measured": share.removesuffix(PERCENT), "unit": PERCENT}
        cells = _in_unit(cells, known.template, place)
        run = _run(cells, place)
        if run.id in seen:
            what = f"the id {run.id!r} stands in line {seen[run.id]} already"
            raise UserError(what, place=replace(place, column="id"), remedy="give each run an id of its own")
        seen[run.id] = line
        if templates is None or run.template in templates:
            unit = cells.get("unit", "").strip()
            runs.append(_completed(run, cells["settings"], unit, known))
    if not seen:
        raise UserError("there are no runs below the header", place=Place(path), remedy="add a row for each run")
    return runs


def _in_unit(cells: dict[str, str], load: Callable[[str], Template], place: Place) -> dict[str, str]:
    """The cells with a measured number that has its own unit, as 15ms, in the unit of its template's row.

    A number without one stays as it is, and so does any of an unknown row, which is told as such.
    """
    text = cells["measured"].strip()
    if not is_scaled(text):
        return cells
    try:
        template = load(cells["template"].strip())
        unit = template.row(row_called(cells["output"].strip(), template.by_name)).unit
    except UserError:
        return cells
    try:
        return {**cells, "measured": repr(number_of(text, unit)), "unit": unit}
    except UserError as error:
        what = f"{text!r} is no measured number above 0: {error.what}"
        raise UserError(what, place=replace(place, column="measured"), remedy=error.remedy) from None


def _run(cells: dict[str, str], place: Place) -> Run:
    measured = cells["measured"].strip()
    try:
        time = float(measured)
    except ValueError:
        time = 0.0
    if not 0 < time < float("inf"):
        what = f"{measured!r} is no measured number above 0"
        remedy = "write it with a decimal point, and its unit behind it or in the column unit"
        raise UserError(what, place=replace(place, column="measured"), remedy=remedy)
    texts = {name: cells.get(name, "").strip() for name in COLUMNS}
    known = dict.fromkeys((*KINDS, *KIND_OF_TEMPLATE))
    if texts["kind"] not in ("", texts["template"], *known, *library.names()):
        near = closest(texts["kind"], known, 1, NEAR)
        what = f"unknown kind {texts['kind']!r}{f', did you mean {near[0]}?' if near else ''}"
        remedy = f"write one of {', '.join(known)}, or leave it blank for the template's name"
        raise UserError(what, place=replace(place, column="kind"), remedy=remedy)
    if not texts["id"]:
        raise UserError("the run has no id", place=replace(place, column="id"), remedy="give each run an id of its own")
    return Run(
        texts["id"], texts["kind"] or texts["template"], texts["template"], texts["model"], texts["hardware"],
        texts["output"], time, texts["source"], {}, texts["fit"] not in ("0", "no"), texts["assumes"],
        line=place.line or 0,
    )  # fmt: skip


@dataclass(frozen=True)
class _Known:
    """What the runs of a file name: models, chips, and templates, each of these and of their settings read once."""

    databases: Databases
    models: Table
    template: Callable[[str], Template] = field(default_factory=lambda: cache(library.load))  # also a user's own file
    value: Callable[[Row, str], Value] = field(default_factory=lambda: cache(meant))


def _completed(run: Run, settings: str, unit: str, known: _Known) -> Run:
    """The run with its settings as values, ids as spelt in the tables, and its number in the template's unit."""
    databases, models = known.databases, known.models
    column = "template"
    try:
        template = known.template(run.template)
        column = "output"
        run = replace(run, output=row_called(run.output, template.by_name))
        if run.output + EXPECTED in template.by_name:  # a measured `mfu` is compared with the headline, not the bound
            run = replace(run, output=run.output + EXPECTED)
        if not template.row(run.output).unit or template.row(run.output).kind not in CALCULATED:
            raise UserError(f"{run.output} is no number that the template computes")
        column = "unit"
        written = factor(unit, template.row(run.output).unit) if unit else 1.0
        column = "model"
        model = models.identify(run.model) if run.model else ""
        if not model and any(row.kind == "model" for row in template.rows):
            raise UserError("it names no model")
        column = "hardware"
        hardware = databases.hardware.identify(run.hardware) if run.hardware else ""
        if not hardware and any(row.kind == "hardware" for row in template.rows):
            raise UserError("it names no hardware")
        column = "settings"
        values = with_followers(template, dict(_values(template, settings, known.value)))
        column = "measured"
        number, of = run.measured * written, template.row(run.output)
        if wrong := number_fault(number, of.unit) or share_fault(of, number):
            raise UserError(f"{of.name}={number:g}: {wrong}" if share_fault(of, number) else wrong)
    except UserError as error:
        given = {"model": databases.models_csv, "hardware": databases.hardware_csv}
        is_unknown = bool(getattr(run, column, "")) and given.get(column, "") is None
        own = OWN_FILES[TABLES[column]] if is_unknown else ""
        remedy = error.remedy if own in error.remedy else "; ".join(filter(None, (error.remedy, own)))
        fault = f"{error.what}; {remedy}" if remedy else error.what
        return replace(run, fault=fault, column=column, is_moe=_is_moe(run.model, models))
    except ValueError as error:  # an unknown unit
        return replace(run, fault=str(error), column=column, is_moe=_is_moe(run.model, models))
    return replace(run, model=model, hardware=hardware, values=values, written=written, measured=run.measured * written)


def _is_moe(model: str, models: Table) -> bool | None:
    """Whether a model is a mixture of experts; None for an unknown one."""
    if not models.has(model):
        return None
    layers = models.rows[models.identify(model)].get("n_moe_layers")
    return isinstance(layers, float) and layers > 0


def _values(template: Template, settings: str, value_of: Callable[[Row, str], Value]) -> Iterator[tuple[str, Value]]:
    given: set[str] = set()
    for setting in settings.split():
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"{setting!r} is not name=value")
        row = template.row(name)
        if row.kind in ("constant", "calc", "output", "check"):
            raise UserError(f"{name} is calculated: no run sets it")
        if name in given:
            raise UserError(f"{name} is set twice")
        given.add(name)
        yield name, value_of(row, text)
