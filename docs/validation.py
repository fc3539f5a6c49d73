"""Writes docs/validation.md and its chart anew: `python docs/validation.py` (minutes: it fits hundreds of times).

What is said in words stands here; every number of the tables is computed, but for those of forms tried and of peers,
which are reported with what they are.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner import csvfile, data
from planner.catalog.calibrations import BY_NAME, COMMON, PARAMETERS, kind_of
from planner.catalog.databases import Databases
from planner.formulas.evaluation import Results
from planner.number_text import percent
from planner.report import svg
from planner.validation import errors_text
from planner.validation.errors_text import by, summary
from planner.validation.expected_times import ExpectedRuns, predicted
from planner.validation.fitting import Fitter
from planner.validation.judged import Judged, judged, with_null, without_own_source
from planner.validation.left_out import Fitted, fitted, left_out
from planner.validation.parameters import FAMILIES, GROUPS, Group, prior_of
from planner.validation.runs import models_of, read, shipped
from planner.validation.runs_of_group import Fit

PAGE = Path(__file__).parent / "validation.md"
CHART = Path(__file__).parent / "images" / "validation.svg"
SERVING = ("static", "prefill", "decode", "tpot")
KINDS = {
    "train": "a training step", "static": "a batch served from prompts to answers", "prefill": "prompts read",
    "decode": "one decode step", "tpot": "a token's time with prompts between the steps", "matmul": "one matmul",
    "collective": "one collective",
}  # fmt: skip
FEW = 10  # runs whose median is not worth a number
WORDS = Path(__file__).with_suffix(".txt")


WIDE = 8
"""Tensor ways from which on they are wide: of serving all chips of a run are."""


@dataclass(frozen=True)
class Without:
    """A term that is taken out of a group's form: parameters set to a number, and rows of the template to another."""

    group: str
    words: str
    parameters: Mapping[str, float]
    rows: Mapping[str, float]
    stacks: Mapping[tuple[str, str], float]
    one_for_all: str


def ablations() -> Iterator[Without]:
    """The lines of ablations.csv; its settings are `name=number`, those of stacks `stack.name=number`."""
    for _, cells in csvfile.read(PAGE.with_name("ablations.csv")).records():
        parameters, rows, stacks = (_numbers(cells[name]) for name in ("parameters", "rows", "stacks"))
        of_stacks = {(stack, name): value for key, value in stacks.items() for stack, _, name in [key.partition(".")]}
        yield Without(cells["group"], cells["words"], parameters, rows, of_stacks, cells["one_for_all"])


def _numbers(text: str) -> dict[str, float]:
    return {name: float(number) for name, _, number in (each.partition("=") for each in text.split())}


@dataclass(frozen=True)
class Found:
    """All that the page is made of."""

    by_template: Sequence[ExpectedRuns]
    fitted: Fitted
    left_out: Sequence[Judged]
    in_sample: Sequence[Judged]


def found() -> Found:
    """The published runs by the shipped calibrations, and by fits without their source."""
    databases = Databases()
    models = models_of(databases)
    runs = read(shipped(), databases, models)
    by_template = predicted(runs, databases, models)
    known = judged(runs, by_template)
    fit = fitted(by_template, databases.hardware)
    return Found(by_template, fit, with_null(without_own_source(known, fit.groups), known), with_null(known, known))


def page(of: Found) -> str:
    """The text of docs/validation.md."""
    sections = {
        "TABLE": table_of_kinds(of), "SOURCES": table_of_sources(of), "ABLATION": ablation(of),
        "PARAMETERS": table_of_parameters(), "CHECKS": failed_checks(of), "LATENCY": small_all_reduce(of),
        "N": f"{len(of.left_out)}", "TRAIN": error(of, ("train",)), "SERVE": error(of, SERVING, family="gpu"),
        "SERVETPU": error(of, SERVING, family="tpu"),
        "MOE": error(of, ("train",), "moe"), "SERVEMOE": error(of, SERVING, "moe", "gpu"),
        "DENSE": error(of, ("train",), "dense"),
        "PREFILL": error(of, ("prefill",), family="gpu"), "TPOT": error(of, ("tpot",), family="gpu"),
        "GPU": gpu_dense(of),
        "COLLECTIVE": error(of, ("collective",)),
        "UNFUSED": f"{of.fitted.fit.stacks['unfused', 'train_range_factor']:.2f}",
    }  # fmt: skip
    text = WORDS.read_text(encoding="utf-8")
    for name, section in sections.items():
        text = text.replace(f"<{name}>", section)
    return text


def lines_of(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, numbers to the right."""
    aligned = "|".join("---" if not at else "--:" for at in range(len(header)))
    return "\n".join(["| " + " | ".join(each) + " |" for each in [header, *rows]][:1] + [f"|{aligned}|"]
                     + ["| " + " | ".join(each) + " |" for each in rows])  # fmt: skip


def _count(row: Judged, setting: str) -> float:
    value = row.run.values.get(setting, 1.0)
    return value if isinstance(value, float) else 1.0


def table_of_kinds(of: Found) -> str:
    """Kinds of runs with sources left out, dense and experts apart, then in sample."""
    rows = [
        errors_text.cells(f"{kind}: {KINDS[kind]}", each)
        for kind, each in by(of.left_out, lambda row: row.run.kind).items()
    ]
    mixed = [row for row in of.left_out if row.run.kind == "train"]
    names = {"dense": "train, dense", "moe": "train, mixture of experts"}
    rows[1:1] = [errors_text.cells(names[mix], each) for mix, each in by(mixed, lambda row: row.mix).items()]
    wide = {"train": "mesh_tensor", "serving": "n_chips"}
    for name, setting in wide.items():
        kinds = SERVING if name == "serving" else (name,)
        beyond = [row for row in of.left_out if row.run.kind in kinds and _count(row, setting) > WIDE]
        rows.append(errors_text.cells(f"{name}, over {WIDE} tensor ways", summary(beyond)))
    served = [row for row in of.left_out if row.run.kind in SERVING]
    for family, name in {"gpu": "GPUs", "tpu": "TPUs"}.items():
        rows.append(errors_text.cells(f"serving, all four, on {name}", summary(_on(served, family))))
    header = ["kind", "runs", "N/A", "error, median", "90 %", "bound", "90 %", "null", "90 %",
              "bias", "in range", "width"]  # fmt: skip
    fitted_rows = [[kind, percent(each.median_error), percent(each.p90_error), percent(each.in_range, 0)]
                   for kind, each in by(of.in_sample, lambda row: row.run.kind).items()]  # fmt: skip
    seen = lines_of(["kind", "error, median", "90 %", "in range"], fitted_rows)
    words = "The same runs predicted with the shipped calibrations, which are fitted to them:"
    return f"{lines_of(header, rows)}\n\n{words}\n\n{seen}"


def table_of_sources(of: Found) -> str:
    """Sources, each left out of its own fit."""
    header = ["source", "runs", "error, median", "90 %", "bound", "null", "bias", "in range"]
    return lines_of(header, [
        [name, str(each.n), *map(percent, (each.median_error, each.p90_error, each.median_error_bound,
                                                each.median_error_null)),
         f"{each.bias:.2f}", percent(each.in_range, 0)]
        for name, each in by(of.left_out, lambda row: row.run.source).items()
    ])  # fmt: skip


def error(of: Found, kinds: Sequence[str], mix: str = "", family: str = "") -> str:
    """The median error of kinds of runs, sources left out; of those on GPUs or TPUs alone where a family is given."""
    rows = [row for row in of.left_out if row.run.kind in kinds and mix in ("", row.mix)]
    return percent(summary(_on(rows, family)).median_error)


def _on(rows: Iterable[Judged], family: str) -> list[Judged]:
    """The runs on chips of a family; all of them for a blank one."""
    return [row for row in rows if family in ("", kind_of(row.calibration))]


def gpu_dense(of: Found) -> str:
    """The same of dense training on GPUs."""
    rows = [row for row in of.left_out if row.run.kind == "train" and not row.is_moe]
    each = summary(_on(rows, "gpu"))
    return f"{percent(each.median_error)} / {percent(each.p90_error)} ({each.n} rows)"


def ablation(of: Found) -> str:
    """The error with sources left out when a term is taken out of its form and the rest fitted anew."""
    rows = []
    for group in GROUPS:
        whole = next(each for each in of.fitted.groups if each.group.name == group.name)
        rows.append([f"**{group.name}, the whole form**", *errors(whole.fitter, whole.ratio, whole.is_moe)])
        for term in ablations():
            if term.group == group.name:
                alone = left_out(*_without(of, group, term))
                rows.append([f"without {term.words}", *errors(alone.fitter, alone.ratio, alone.is_moe)])
    return lines_of(["form", "error, median", "90 %", "mean of the sources' medians", "mixtures of experts"], rows)


def errors(fitter: Fitter, ratio: NDArray[np.float64], is_moe: NDArray[np.bool_]) -> list[str]:
    """The median, the 90th percentile and the mean of sources' medians, of runs that count in fits."""
    counts = fitter.is_fitted
    off = np.abs(1 / ratio - 1)
    medians = [float(np.median(off[counts & (fitter.sources == name)])) for name in sorted(set(fitter.sources[counts]))]
    shown = (np.median(off[counts]), np.quantile(off[counts], 0.9), np.mean(medians))
    experts = percent(float(np.median(off[counts & is_moe]))) if (counts & is_moe).sum() > FEW else ""
    return [*(percent(float(each)) for each in shown), experts]


def _without(of: Found, group: Group, term: Without) -> tuple[Group, Fitter]:
    """The group without a term, and what fits the rest."""
    gone = {*term.parameters, term.one_for_all}
    fixed = of.fitted.fit
    own = {(COMMON, name): value for name, value in term.parameters.items()}
    others = {key: value for key, value in fixed.calibrations.items() if key[1] not in _names(group)}
    shared = [term.one_for_all] if term.one_for_all else []
    smaller = replace(
        group,
        common=(*(name for name in group.common if name not in gone), *shared),
        of_families=tuple(name for name in group.of_families if name not in gone),
        of_chips=tuple(name for name in group.of_chips if name not in gone),
        stacks=tuple(each for each in group.stacks if (each[0], each[1]) not in term.stacks),
    )  # fmt: skip
    by_template = [_with_rows(each, term.rows) for each in of.by_template]
    return smaller, Fitter(smaller, by_template, of.fitted.families, Fit({**others, **own}, dict(term.stacks)))


def _names(group: Group) -> set[str]:
    return {*group.common, *group.of_families, *group.of_chips}


def _with_rows(expected_runs: ExpectedRuns, rows: Mapping[str, float]) -> ExpectedRuns:
    """The runs with other numbers in some rows of their template."""
    if not rows or not set(rows) <= set(expected_runs.template.by_name):
        return expected_runs
    others = {name: np.float64(value) for name, value in rows.items()}
    return replace(
        expected_runs, results=Results(expected_runs.template, {**expected_runs.results.arrays, **others}, {}, {})
    )


def table_of_parameters() -> str:
    """What each parameter is, what it may be, and what it was fitted to."""
    known = Databases().calibration
    rows = []
    for each in PARAMETERS:
        if not each.name.endswith(("_low", "_high")):
            values = {owner: float(cells[each.name]) for owner, cells in known.rows.items()}  # type: ignore[arg-type]
            rows.append([f"`{each.name}`", each.label, "" if each.unit == "1" else each.unit,
                         f"{each.lower:g} to {each.upper:g}", _values(values),
                         _fitted_on(each.name), _drawn(each.name)])  # fmt: skip
    header = ["parameter", "what it is", "unit", "may be", "value", "fitted on", "drawn towards"]
    return lines_of(header, rows).replace("--:", "---")


def _values(values: Mapping[str, float]) -> str:
    """The value that chips share, and those of chips that differ."""
    common = values[COMMON]
    others: dict[str, list[str]] = {f"{value:.3g}": [] for value in values.values() if value != common}
    for owner, value in values.items():
        if value != common and (owner in FAMILIES or value != values["tpu" if owner.startswith("tpu") else "gpu"]):
            others[f"{value:.3g}"].append(owner)
    apart = "; ".join(f"{', '.join(owners)} {value}" for value, owners in others.items() if owners)
    return f"{common:.3g}" + (f"; {apart}" if apart else "")


def _fitted_on(name: str) -> str:
    """How many runs and sources tell of a parameter, or whose prior it is."""
    path = data.folder("hardware_db") / "calibrations.csv"
    cells = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(f"{COMMON},{name},"))
    runs, sources = next(csv.reader([cells]))[6:8]
    return f"{runs} runs of {len(sources.split())} sources" if runs else sources


def _drawn(name: str) -> str:
    """What a parameter is drawn towards, and why: for all chips, then for a kind."""
    known = [(owner, prior_of(owner, name)) for owner in (COMMON, *FAMILIES)]
    said = [f"{owner}: {prior.value:g}, {prior.source}" for owner, prior in known if prior is not None]
    shared = prior_of(COMMON, name)
    if shared is not None:
        others = [each for each in said[1:] if not each.endswith(f"{shared.value:g}, {shared.source}")]
        return "; ".join([f"{shared.value:g}, {shared.source}", *others])
    return "; ".join(said)


def failed_checks(of: Found) -> str:
    """How many training runs fail a check, of those whose recomputation is stated and of the others."""
    told_of: list[bool] = []
    others: list[bool] = []
    for each in of.by_template:
        if each.template.name == "training":
            checks = each.template.of_kind("check")
            for at, run in enumerate(each.runs):
                fails = any(each.of(row.name)[at] == 0 for row in checks)
                (others if "remat not" in run.assumes else told_of).append(fails)
    return (f"{sum(told_of)} of {len(told_of)} runs with stated recomputation fail a check, and {sum(others)} of the "
            f"{len(others)} others")  # fmt: skip


def small_all_reduce(of: Found) -> str:
    """The all-reduce of 64 KiB over 8 H100s: measured, expected, bound."""
    row = next(row for row in of.left_out if row.run.id == "vidur-009")
    micro = [1e6 * float(number or 0) for number in (row.expected, row.bound)]
    return f"{micro[0]:.0f} us are expected of 36 measured ones, over a bound of {micro[1]:.1f}"


def chart(rows: Sequence[Judged]) -> str:
    """Expected against measured, both as times on logarithmic axes, a mark for each run with its source left out."""
    drawing = svg.Drawing(440.0)
    drawing.add("rect", width=svg.WIDTH, height=drawing.height, fill=svg.PAPER)
    groups = {"training step": ("train",), "serving": SERVING, "collective": ("collective",), "matmul": ("matmul",)}
    top = svg.legend(drawing, list(enumerate(groups)), of_scenarios=False)
    points = [(name, row.run.measured, row.expected, row.run.id)
              for name, kinds in groups.items() for row in rows if row.run.kind in kinds and row.expected]  # fmt: skip
    both = [value for _, measured, expected, _ in points for value in (measured, expected)]
    x = svg.spanning(both, 58.0, svg.WIDTH - 10, 1.0)
    y = svg.spanning(both, 395.0, top + 30, 1.0)
    svg.axes(drawing, x, y, "Measured", "Expected by a fit without the run's source", "s", "s")
    for factor in (0.8, 1.0, 1.25):
        ends = [(x(value), y(value * factor)) for value in (min(both), max(both))]
        drawing.line(*ends[0], *ends[1], stroke=svg.MUTED, stroke_dasharray=None if factor == 1 else "3 3")
    own: dict[str, Any] = dict.fromkeys(("fill", "stroke", "stroke_width", "class_"))  # a group says them for its marks
    for at, name in enumerate(groups):  # one group over the other
        with drawing.group(fill=svg.colour(at), stroke=svg.PAPER, stroke_width=0.3, fill_opacity=0.6):
            for group, measured, expected, run in points:
                if group == name:
                    said = f"{run}: {measured:.3g} s, expected {expected:.3g} s"
                    svg.mark(drawing, at, x(measured), y(expected), 2.2, said, **own)
    return drawing.svg("Expected against measured times of published runs, from microseconds to minutes")


def texts() -> Iterator[tuple[Path, str]]:
    """Each file with its text."""
    numbers = found()
    yield PAGE, page(numbers)
    yield CHART, chart(numbers.left_out)


if __name__ == "__main__":
    assert set(BY_NAME) >= {name for each in ablations() for name in each.parameters}
    for path, text in texts():
        path.write_text(text, encoding="utf-8")
