"""Runs held against what planner expects of them: what `planner validate` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.catalog.calibrations import stated_calibrations
from planner.catalog.databases import Databases
from planner.validation.judged import Judged, judged, with_null, without_own_source
from planner.validation.prediction import predicted
from planner.validation.runs import Run, models_of, read, shipped


def validated(path: Path | None, databases: Databases, *, leave_one_out: bool = False) -> list[Judged]:
    """The runs of a CSV, by default the published ones, each with what is expected of it.

    With `leave_one_out` each source's runs are expected by a fit to all other sources, of the file and published.
    Raises UserError for a fault in a file.
    """
    ours = Databases()
    models = models_of(databases)
    runs = read(path or shipped(), databases, models)
    together = predicted(runs, databases, models)
    rows = judged(runs, together)
    if path is None and databases == ours:
        published, known = runs, rows
    else:
        # The null model of a run knows the runs of its template alone.
        published, known = published_judged(None if leave_one_out else frozenset(run.template for run in runs))
    if leave_one_out:
        from planner.validation.left_out import fitted

        sources = {run.source for run in runs}
        unseen = [run for run in published if run.source not in sources] if runs is not published else []
        others = predicted(unseen, ours, models_of(ours))
        rows = without_own_source(rows, fitted([*together, *others], databases.hardware).groups)
    else:
        rows = [
            replace(row, is_fitted_to=row.run.source.replace(" ", "_") in sources)
            for row, sources in zip(rows, _fitted_to(rows, databases), strict=True)
        ]
    return with_null(rows, known)


def published_judged(templates: frozenset[str] | None) -> tuple[list[Run], list[Judged]]:
    """The published runs of some templates, or of all, and what is expected of each with the shipped databases."""
    ours = Databases()
    published = read(shipped(), ours, models_of(ours), templates)
    return published, judged(published, predicted(published, ours, models_of(ours)))


def _fitted_to(rows: Sequence[Judged], databases: Databases) -> list[set[str]]:
    """For each row the sources whose runs the calibration was fitted to that it is expected by."""
    stated = stated_calibrations(databases.calibrations_csv, only=databases.only)
    fitted = {
        identifier: {
            source for line in lines.values() if line.cells.get("rows") for source in line.cells["sources"].split()
        }
        for identifier, lines in stated.items()
    }
    return [fitted.get(row.calibration, set()) for row in rows]
