"""`planner.calc`: calculate a template from Python; repeated calls are fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from planner import progress
from planner.api.calculation import Calculation, Plan
from planner.api.warned import warned
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import library
from planner.formulas.asking import unread
from planner.formulas.input_values import values
from planner.formulas.template import Template

KEPT = 64  # prepared plans
Setting = float | str | bool | None
File = str | Path | None
Stamp = tuple[int, int] | None  # when a file was written, and its bytes; None where there is none


class Files(NamedTuple):
    """A person's own tables, as `Databases` takes them, and the stamp of each: one that has changed is another."""

    models_csv: Path | None
    hardware_csv: Path | None
    calibrations_csv: Path | None
    only: bool
    stamps: tuple[Stamp, ...]


@warned
def calc(
    template: str | Path, /, *, model: str | None = None, hardware: str | None = None, models_csv: File = None,
    hardware_csv: File = None, calibrations_csv: File = None, only: bool = False, **settings: Setting,
) -> Calculation:  # fmt: skip
    """Calculate a template, given by name or by the path of its CSV, for a model on a chip.

    `settings` set inputs and override rows by name: numbers in the template's units, or texts as on the command line
    (`"10ms"`, `"8k"`); None is N/A. The CSVs and `only` are those of `planner calc`. The template is cached, so that
    further calls with other settings take a few milliseconds.
    Raises UserError for an unknown name or an impossible value, with what to do; warns of implausible values and of
    settings that nothing reads.
    """
    plan = plan_of(template, model, hardware, files_of(models_csv, hardware_csv, calibrations_csv, only=only))
    given = values(plan.template, texts(settings))
    plan.warn_of_untaken(given)
    for warning in unread(plan.template, given, None):
        progress.warn(warning)
    return plan.calculated(given)


def files_of(models_csv: File, hardware_csv: File, calibrations_csv: File, *, only: bool) -> Files:
    """A person's own tables as they stand now."""
    own = [None if path is None else Path(path).absolute() for path in (models_csv, hardware_csv, calibrations_csv)]
    return Files(own[0], own[1], own[2], only, tuple(_stamp(path) for path in own))


def _stamp(path: Path | None) -> Stamp:
    if path is None or not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def plan_of(template: str | Path, model: str | None, hardware: str | None, files: Files) -> Plan:
    """A prepared plan, kept if its template is a shipped one; a template of one's own is read each time."""
    if str(template).endswith(".csv"):
        return Plan.of(library.load(template), model, hardware, databases_of(files))
    return _plan(str(template), model, hardware, files)


@lru_cache(maxsize=KEPT)
def _plan(template: str, model: str | None, hardware: str | None, files: Files) -> Plan:
    return Plan.of(_template(template), model, hardware, databases_of(files))


@lru_cache(maxsize=KEPT)
def _template(name: str) -> Template:
    return library.load(name)


@lru_cache(maxsize=4)
def databases_of(files: Files) -> Databases:
    """The databases of some files, read when they are first asked for."""
    return Databases(files.models_csv, files.hardware_csv, files.calibrations_csv, files.only)


def texts(settings: Mapping[str, Setting]) -> Iterable[str]:
    """Settings as they are typed on the command line: `n_chips=16384.0`. Raises UserError for what can't be typed."""
    for name, value in settings.items():
        if value is None:
            yield f"{name}=N/A"
        elif isinstance(value, str):
            yield f"{name}={value}"
        else:
            try:
                yield f"{name}={float(value)!r}"
            except (TypeError, ValueError):
                remedy = "planner.sweep takes several" if isinstance(value, Iterable) else ""
                raise UserError(f"{name}={value!r} is no number and no text", remedy=remedy) from None
