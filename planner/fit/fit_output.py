"""The output of a fit to the user's own runs: the CSV for `--calibrations`, and the summary."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from planner import csvfile, terminal_table
from planner.catalog import Table
from planner.catalog.calibrations import BY_NAME, COLUMNS, OF_STACKS, running
from planner.fit.chip import candidates
from planner.fit.stack import FittedParameter, OwnCalibration, OwnRun
from planner.number_text import few, percent
from planner.validation.parameters import GROUPS

DIGITS = 6


@dataclass(frozen=True)
class Provenance:
    """The provenance of runs: the file, the devices, the day of the fit, and the JAX versions."""

    file: str
    device: str
    date: str
    jax: str = ""  # versions separated by blanks; empty if no run names one

    @property
    def cells(self) -> list[str]:
        """The last columns of each line."""
        return [self.device, self.date, running("planner"), self.jax]

    @property
    def versions(self) -> str:
        """`NVIDIA H100, planner 0.1.0, jax 0.7.0`."""
        jax = f"jax {self.jax.replace(' ', ' and ')}" if self.jax else ""
        return ", ".join(filter(None, (self.device, f"planner {running('planner')}", jax)))


def calibrations_csv(found: Sequence[OwnCalibration], stacks: Table, origin: Provenance) -> str:
    """The lines of the stacks and of their calibrations."""
    lines: list[Sequence[str]] = [COLUMNS]
    for own in found:
        used = sum(each.is_used for each in own.runs)
        said = f"{terminal_table.counted(used, 'run')} of {origin.file}; factors of {own.base}"
        of_fit = {"name": f"Fitted to {said}", "fitted_for": own.fitted_for}
        row = {**stacks.rows[own.base], **of_fit, **own.flags}
        for name, column in OF_STACKS.items():
            value = row[name]
            shown = value if isinstance(value, str) else f"{value:g}"
            lines.append([own.id, name, shown, column.column.unit, "", "", "", said, "", *origin.cells])
        lines += [_line(own, each, origin) for each in own.parameters]
    return csvfile.written(lines)


def _line(own: OwnCalibration, each: FittedParameter, origin: Provenance) -> list[str]:
    bounds = BY_NAME[each.name]
    error = "" if each.error is None else f"{each.error:.3f}"
    provenance = [str(each.rows), " ".join(own.sources), error] if each.rows else ["", f"as {own.fitted_for}", ""]
    limits = [bounds.unit, f"{bounds.lower:g}", f"{bounds.upper:g}"]
    return [own.id, each.name, f"{each.value:.{DIGITS}g}", *limits, *provenance, *origin.cells]


def lines(found: Sequence[OwnCalibration], skipped: Sequence[OwnRun], origin: Provenance) -> Iterator[str]:
    """The summary of a fit: what each stack moved, what stayed, and which runs were used."""
    for own in found:
        used = [each for each in own.runs if each.is_used]
        count = terminal_table.counted(len(used), "run")
        yield f"stack {own.id}: {count} used, on chips of {own.fitted_for}, over {_over(own)}"
        for each in own.moved:
            unit = BY_NAME[each.name].unit
            unit = "" if unit == "1" else f" {unit}"
            source = f"from {terminal_table.counted(each.rows, 'run')}"
            yield f"  {each.name} {each.before:.4g}{unit} -> {each.value:.4g}{unit}, {source}{_at_limit(each)}"
        for group, why in own.unmoved:
            of = "" if len(own.unmoved) == 1 and not own.moved else f" of {group}"
            yield f"  no parameter{of} is moved: {why}"
        yield from _errors(own, used)
    if " " in origin.jax:
        versions = origin.jax.replace(" ", " and ")
        yield f"the runs were measured with several versions of JAX, {versions}: how they differ is mixed in"
    left = [*(each for own in found for each in own.runs if not each.is_used), *skipped]
    if left:
        yield f"{terminal_table.counted(len(left), 'run')} not used:"
        reasons: dict[str, list[str]] = {}
        for run in left:
            reasons.setdefault(run.why_not, []).append(run.run.id)
        for why, ids in sorted(reasons.items(), key=lambda found: -len(found[1])):
            yield f"  {terminal_table.counted(len(ids), 'run')}, {why}: {few(ids)}"


def _at_limit(each: FittedParameter) -> str:
    """A remark on a parameter at one of its bounds, beyond which the runs might have moved it; else blank."""
    allowed = BY_NAME[each.name]
    is_at_limit = any(math.isclose(each.value, end, rel_tol=1e-4) for end in (allowed.lower, allowed.upper))
    return ", at its limit" if is_at_limit else ""


def _over(own: OwnCalibration) -> str:
    """The stack that a fitted one is based on; if the runs were made with several stacks, all of them."""
    stacks = own.stacks
    if len([count for count in stacks.values() if count]) < 2:
        return f"stack {own.base}"
    counts = " and ".join(f"{name} ({terminal_table.counted(count, 'run')})" for name, count in stacks.items())
    return f"stacks {counts}; it has the factors of {own.base}"


def _errors(own: OwnCalibration, used: Sequence[OwnRun]) -> Iterator[str]:
    """The median error before and after, a line for each group of parameters, since these are fitted separately.

    If a parameter was moved, the leave-one-out error follows, which is the error to expect of later runs.
    """
    ratios: dict[str, list[tuple[float, float]]] = {}
    for each in used:
        group = next((group.name for group in GROUPS if each.run.judged_as in group.kinds), "")
        if each.before and each.after:
            ratios.setdefault(group, []).append((abs(each.before - 1), abs(each.after - 1)))
    left_out = {group.name: _left_out(own, candidates(group)) for group in GROUPS}
    for last, (group, errors) in enumerate(ratios.items(), 1 - len(ratios)):
        before, after = (median(side) for side in zip(*errors, strict=True))
        of = "the runs" if len(ratios) == 1 else f"{terminal_table.counted(len(errors), 'run')} of {group}"
        end = "" if last else "; all else stays as shipped"
        yield f"  median error of {of} {percent(before)} -> {percent(after)}{left_out.get(group, '')}{end}"


def _left_out(own: OwnCalibration, names: Container[str]) -> str:
    """The leave-one-out error of the runs that moved some of these parameters; blank if none was moved."""
    errors = [each.error for each in own.moved if each.name in names and each.error is not None]
    return f", {percent(errors[0])} with each left out" if errors else ""
