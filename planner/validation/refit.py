"""Rewrites the shipped calibrations and stacks from the published runs, reproducibly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner import csvfile, data
from planner.catalog import Table
from planner.catalog.calibrations import BY_NAME, COMMON, FITTED, PARAMETERS, TIE, kind_of
from planner.catalog.databases import Databases
from planner.validation.expected_times import predicted
from planner.validation.left_out import Fitted, LeftOut, fitted, ranges
from planner.validation.parameters import FAMILIES, MEASURED, START, UNMEASURED, Prior, prior_of
from planner.validation.reach import Reach, reaches
from planner.validation.runs import models_of, read, shipped
from planner.validation.runs_of_group import Fit, Key
from planner.xlsx.atomic import write_atomically

DIGITS = 4
CHANGED = 0.8  # a parameter that changes by more than this factor counts as changed
ROUNDING = 1e-9


def refit(folder: Path | None = None) -> Fitted:
    """Fit to the published runs and write `calibrations.csv` and `stacks.csv` into the hardware folder."""
    folder = folder or data.folder("hardware_db")
    databases = Databases()
    _begin(databases.calibration)
    models = models_of(databases)
    by_template = predicted(read(shipped(), databases, models), databases, models)
    found = fitted(by_template, databases.hardware)
    far = reaches(by_template, found.families)
    write_atomically(folder / "calibrations.csv", calibrations_csv(found, far).encode())
    write_atomically(folder / "stacks.csv", stacks_csv(found).encode())
    return found


def _begin(calibrations: Table) -> None:
    """Set parameters that the file lacks to their starting values, since otherwise nothing would be expected."""
    for cells in calibrations.rows.values():
        for name in BY_NAME:
            if cells.get(name) is None:
                prior = UNMEASURED.get((COMMON, name))
                cells[name] = prior.value if prior else START.get(name, 1.0)


def calibrations_csv(found: Fitted, far: Mapping[Key, Reach]) -> str:
    """The lines of calibrations.csv; `far` is the reach of the runs of each kind of chip."""
    values = {**{key: prior.value for key, prior in UNMEASURED.items()}, **found.fit.calibrations, **ranges(found)}
    values |= {key: each.value for key, each in far.items()}
    values |= {(COMMON, name): values["gpu", name] for _, name in far}
    lines: list[list[str]] = []
    for owner in (COMMON, *found.families, MEASURED):
        kind = "gpu" if owner == COMMON else found.families.get(owner, "")  # a chip of unknown kind counts as a GPU
        for each in PARAMETERS:
            value = values.get((owner, each.name), values.get((kind, each.name)))
            reach = far.get((kind, each.name))
            may_be_left_out = owner != COMMON and (reach or _is_range(each.name))
            if value is not None and not (may_be_left_out and value == values[COMMON, each.name]):
                cells = [_digits(value), each.unit, f"{each.lower:g}", f"{each.upper:g}"]
                provenance = _reached(found, kind, each.name, reach) if reach else _provenance(found, owner, each.name)
                lines.append([owner, each.name, *cells, *provenance])
    return csvfile.written([list(FITTED), *lines])


def stacks_csv(found: Fitted) -> str:
    """The shipped stacks with their fitted factors."""
    rows = [cells for _, cells in csvfile.read(data.folder("hardware_db") / "stacks.csv").records()]
    for cells in rows:
        for (stack, name), value in found.fit.stacks.items():
            if cells["id"] == stack:
                cells[name] = _digits(value)
    return csvfile.written([list(rows[0]), *(list(cells.values()) for cells in rows)])


def _provenance(found: Fitted, owner: str, name: str) -> tuple[str, str, str]:
    """The provenance of a value: the number of fitted runs, their sources, the error with each source left out."""
    family = found.families.get(owner, owner)
    if unmeasured := UNMEASURED.get((owner, name)) or UNMEASURED.get((family, name)):
        return "", f"prior: {unmeasured.source}", ""
    group, runs = _runs(found, owner, name)
    if not runs and owner not in (COMMON, *FAMILIES):
        earlier = dict(group.group.drawn_as).get(name, "")
        usual = "the median of its kind" + (f", by its {earlier}" if (owner, earlier) in found.fit.calibrations else "")
        return "", f"prior: {'the range of its kind, wider' if _is_range(name) else usual}", ""
    if not runs:
        prior = prior_of(owner, name) or Prior(0, 0, "the range of chips with runs, wider")
        return "", f"prior: {prior.source}", ""
    return str(len(runs)), " ".join(sorted(set(runs))), f"{group.error:.3f}"


def _reached(found: Fitted, kind: str, name: str, reach: Reach) -> tuple[str, str, str]:
    """The same for a reach: the runs that determine it, with the error of their group."""
    if not reach.sources:
        return "", "prior: no run is fitted to", ""
    of_kind = (each for each in found.groups if kind in each.group.families)
    group = next(each for each in of_kind if each.group.name.startswith(name.split("_")[0].removesuffix("e")))
    return str(len(reach.sources)), " ".join(sorted(set(reach.sources))), f"{group.error:.3f}"


def _runs(found: Fitted, owner: str, name: str) -> tuple[LeftOut, list[str]]:
    """The group that fits a parameter, and the source of each run that depends on it."""
    kind = kind_of(owner)
    fitted_by = [each for each in found.groups if name in _names(each)]
    group = next((each for each in fitted_by if kind in each.group.families), fitted_by[0])
    if _is_range(name):
        kind, mix, end = name.split("_")
        determine, _ = (group.of_pairs() if end == TIE else group.errors()).counting_runs(kind, mix)
        if end == TIE:
            determine = np.isin(np.arange(len(group.runs)), group.pairs[determine])
    else:
        determine = group.fitter.is_fitted & _moved(found, group, name)
    return group, [
        run.source
        for run, chip, does in zip(group.runs, group.chips, determine, strict=True)
        if does and owner in (COMMON, chip, found.families.get(chip))
    ]


def _moved(found: Fitted, group: LeftOut, name: str) -> NDArray[np.bool_]:
    """A mask of the runs whose expectation depends on a parameter."""
    other = {key: value * (CHANGED if key[1] == name else 1) for key, value in found.fit.calibrations.items()}
    expected = [group.fitter.expected(Fit(each, found.fit.stacks)) for each in (found.fit.calibrations, other)]
    return np.abs(expected[1] / expected[0] - 1) > ROUNDING


def _is_range(name: str) -> bool:
    """Whether a parameter is an end of a range; one equal to that for all chips has no line of its own."""
    return name.endswith(("_low", "_high", f"_{TIE}"))


def _names(each: LeftOut) -> Iterator[str]:
    group = each.group
    yield from (*group.common, *group.of_families, *group.of_chips)
    yield from (name for name in BY_NAME if name.split("_")[0] in group.kinds and _is_range(name))


def _digits(value: float) -> str:
    if value.is_integer():
        return str(int(value))
    return f"{float(f'{value:.{DIGITS}g}'):g}" if value < 1e-3 or value >= 1e4 else f"{value:.{DIGITS}g}"
