"""What a reader must know of expected numbers: that they are bounds, or of a chip of which few runs are published."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.catalog import Value

IDEAL = "ideal"
FAMILIES = {"gpu": "GPUs", "tpu": "TPUs"}
"""Calibrations that stand for chips of which no run is published, and of which chips they are the median."""


def notes(value: Callable[[str], Value], own_runs: int | None) -> Iterator[str]:
    """What a reader must know of a plan's numbers, in sentences.

    `value` gives the plan's rows by name, `own_runs` is how many published runs of its chip's calibration there are for
    this template.
    """
    calibration = value("calibration_id")
    if value("stack") == IDEAL:
        yield "stack=ideal: these are the bounds. Nothing is lost in them; no published run is faster."
    elif calibration in FAMILIES:
        how_many = "Few" if own_runs else "No"
        yield f"{how_many} published runs of this chip: the median of {FAMILIES[calibration]}, with a wider range."
    elif own_runs == 0:
        yield "No published runs of this kind on this chip: fitted to other chips' runs, with a wider range."
