"""Runs as a person has them, made of what is expected with known parameters: noise of 3 %, and 10 % far off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from planner.catalog.databases import Databases
from planner.validation.expected_times import predicted
from planner.validation.runs import Run, models_of, read, shipped

CHIP, CALIBRATION = "h100-sxm", "h100"
NOISE, OUTLIERS, FAR = 0.03, 0.1, (3.0, 10.0, 0.3)
HEADER = "id,kind,template,hardware,settings,output,measured,unit,source,model"


@cache
def published() -> list[Run]:
    """The published runs that the shipped numbers are fitted to: those that aren't lie outside of what forms tell."""
    databases = Databases()
    return [run for run in read(shipped(), databases, models_of(databases)) if not run.fault and run.is_fitted]


def operation(name: str, template: str, output: str, **values: float | str) -> Run:
    """An operation of one's own on an H100."""
    return Run(name, template, template, "", CHIP, output, 1.0, "own", {**values})


def plans(kind: str) -> list[Run]:
    """Thirty plans of a kind: published ones, matmuls and attention of many sizes, collectives of all payloads.

    Those of training are of dense models: beside experts, the host takes a part of a step that noise may shift to it.
    """
    rng = np.random.default_rng(7)
    if kind == "matmul":
        sizes = 2.0 ** rng.integers(7, 15, (30, 3))
        return [
            operation(f"matmul {at}", "matmul", "expected_time", tokens=b, d_in=d, d_out=f)
            for at, (b, d, f) in enumerate(sizes)
        ]
    if kind == "attention":  # in turns a prompt and a step of decoding
        lengths, batches, groups = (
            2.0 ** rng.integers(9, 14, 30),
            2.0 ** rng.integers(0, 5, 30),
            2.0 ** rng.integers(0, 3, 30),
        )
        return [
            operation(
                f"attention {at}", "attention", "expected_time", batch=b * 4 if at % 2 else b, n_heads=32.0,
                query_len=1.0 if at % 2 else length, kv_len=length, n_kv_heads=32.0 / g, head_dim=128.0,
            )
            for at, (length, b, g) in enumerate(zip(lengths, batches, groups, strict=True))
        ]  # fmt: skip
    if kind == "collective":
        names = ("all_gather", "all_reduce", "all_to_all")
        return [
            operation(
                f"{kind} {at}", "collective", "expected_time", collective=names[at % 3], array_bytes=size, axis_size=8.0
            )
            for at, size in enumerate(np.repeat(2.0 ** np.linspace(12, 32, 10), 3))
        ]
    kinds = {"train": ("train",), "serving": ("static", "tpot", "prefill")}[kind]
    models = models_of(Databases()).rows
    found = [
        run for run in published() if run.judged_as in kinds and run.hardware == CHIP
        and not (kind == "train" and models[run.model]["n_moe_layers"])
    ]  # fmt: skip
    return [found[at] for at in rng.choice(len(found), 30, replace=False)]


def matmuls(path: Path, times: Sequence[float], stack: str = "default") -> Path:
    """A CSV of matmuls of one's own on an H100, each taking so many times what is expected of it."""
    runs, databases = plans("matmul")[: len(times)], Databases()
    (together,) = predicted(runs, databases, models_of(databases))
    lines = [
        f"{run.id},matmul,matmul,{CHIP},{' '.join(f'{name}={value:g}' for name, value in run.values.items())} "
        f"stack={stack},expected_time,{float(expected) * ratio * 1e6!r},us,lab,"
        for run, expected, ratio in zip(runs, together.expected, times, strict=True)
    ]
    path.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    return path


def timed(runs: Sequence[Run], truth: Mapping[str, float], folder: Path, seed: int) -> list[Run]:
    """The runs with the times that a chip with these parameters takes, as they are measured."""
    path = folder / f"truth-{seed}.csv"
    lines = [f"{CALIBRATION},{name},{value!r}" for name, value in truth.items()]
    path.write_text("\n".join(["calibration,parameter,value", *lines, ""]), encoding="utf-8")
    databases = Databases(calibrations_csv=path)
    rng, found = np.random.default_rng(seed), []
    for together in predicted(runs, databases, models_of(databases)):
        noise = np.exp(rng.normal(0, NOISE, len(together.runs)))
        times = together.expected * np.where(together.is_rate, 1 / noise, noise)
        found += [
            replace(run, measured=float(time), source="own", is_fitted=True)
            for run, time in zip(together.runs, times, strict=True)
        ]
    for at in rng.choice(len(found), round(OUTLIERS * len(found)), replace=False):
        found[at] = replace(found[at], measured=found[at].measured * float(rng.choice(FAR)))
    return found
