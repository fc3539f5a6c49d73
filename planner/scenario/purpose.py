"""The workload of a new scenario (training or serving), the scenario to copy for it, and inputs that follow others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner import progress
from planner.book.workbook import Book
from planner.catalog import Value
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.formulas.following import followed
from planner.formulas.sweeps import sweeps, swept_templates
from planner.formulas.synonyms import TEMPLATES
from planner.scenario.new_column import OVERRIDES, NewScenario, content
from planner.scenario.which import column_of
from planner.workbook.workloads import ALL_WORKLOADS, WORKLOAD, Workloads
from planner.xlsx.cellvalue import Value as CellValue
from planner.xlsx.cellvalue import is_number


def workload_of(book: Book, request: NewScenario) -> str:
    """The requested workload: named, or implied by inputs that no other workload has; blank for none.

    Raises UserError for a name that is no workload, and for a workload in place of a file of a user's own template.
    """
    for name in request.templates:
        if name in swept_templates():
            what = f"--template takes a file of your own, and {name} is a workload"
            raise UserError(what, remedy=f"write --workload {name}")
    there, shipped = _workloads(book), library.names()
    said = (request.workload or request.settings.get(WORKLOAD, "")).strip().lower()
    if said:
        known = {name.lower(): name for name in (*swept_templates(), *there, ALL_WORKLOADS)}
        if said not in known:
            meant = TEMPLATES.get(said, "")
            remedy = f"did you mean {meant}?" if meant in known.values() else nearest(said, known.values())
            raise UserError(f"{said!r} is no workload", remedy=remedy)
        return known[said]
    if request.like is not None or not request.settings:  # loading templates takes a tenth of the command
        return ""
    loaded = tuple(library.load(name) for name in there if name in shipped)
    implied = Workloads(loaded).setting(request.settings)
    return implied[0] if len(implied) == 1 else ""


def lacks(book: Book, workload: str) -> bool:
    """Whether a workbook has no sheet of a workload."""
    return workload not in ("", ALL_WORKLOADS, *_workloads(book))


def source_of(book: Book, like: str | None, workload: str) -> int:
    """The column on Inputs of the scenario to copy: the named one, else the last of its workload.

    Raises UserError as `column_of` does.
    """
    if like is not None:
        return column_of(book, like)
    meant = {column: book.said(WORKLOAD, column) for column in reversed(book.inputs.columns)}
    alike = (column for wanted in (workload, ALL_WORKLOADS) for column, text in meant.items() if text == wanted)
    return next(alike, book.inputs.columns[-1]) if workload else book.inputs.columns[-1]


def completed(book: Book, source: int, request: NewScenario, workload: str) -> NewScenario:
    """The request with its workload, if Inputs has a row for it, and with inputs that follow from the set ones.

    A mesh that follows the chips in the source also follows them in the new scenario.
    """
    settings = {name: text for name, text in request.settings.items() if name != WORKLOAD}
    _warn_unread(book, settings, workload or str(book.said(WORKLOAD, source) or ""))
    if workload and WORKLOAD in book.inputs.by_name:
        settings[WORKLOAD] = workload
    return replace(request, settings=dict(_followers(book, source, request.settings)) | settings)


def _warn_unread(book: Book, settings: Mapping[str, str], workload: str) -> None:
    """Warn of settings that are inputs of another workload than the scenario's alone, and change nothing of it."""
    shipped = library.names() if settings else ()
    known = Workloads(tuple(library.load(name) for name in (*_workloads(book), workload) if name in shipped))
    for name, of in known.unread(settings, workload).items():
        progress.warn(f"{name} was set, and {workload} doesn't read it: {' and '.join(of)} do{'es' * (len(of) == 1)}")


def _followers(book: Book, source: int, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields name and number of each input that follows a set one, if it followed the source's inputs as well."""
    lines = {line.name: line for line in book.inputs.lines if not line.section.startswith(OVERRIDES)}
    before = {name: _number(book.inputs.sheet.value(line.row, source)) for name, line in lines.items()}
    typed = {name: _number(content(book, lines[name], text)) for name, text in settings.items() if name in lines}
    after = before | typed
    shipped = library.names() if settings else ()
    for sweep in sweeps([library.load(name) for name in book.templates.values() if name in shipped]):
        for axis in sweep.axes:
            for name, formula in axis.follows.items():
                was, now = (followed(formula, sweep.template, values) for values in (before, after))
                if name in lines and now is not None and now != was and before[name] in (was, None):
                    yield name, f"{now:.0f}"


def _number(value: CellValue) -> Value:
    return float(value) if is_number(value) else None


def _workloads(book: Book) -> list[str]:
    """The workloads for which a workbook has sheets; a template of the user's may be one."""
    swept, shipped = swept_templates(), library.names()
    return [name for name in dict.fromkeys(book.templates.values()) if name in swept or name not in shipped]
