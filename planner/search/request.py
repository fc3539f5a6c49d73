"""The request of a sweep or search: template, models, chips, settings, varied inputs, conditions.

The values of --over are a list, `1,2,8`, that may hold ranges: `1..1000`, `2^7..2^16`, `8..4096*2`, `0..1+0.1`. A range
goes up by 1, by a step (`+`) or a factor (`*`); if both ends are powers of one number, by powers. Numbers may have
units, as in `--set`: `10ms..100ms*2`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner import progress
from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.catalog.hardware_columns import NO_CALIBRATION
from planner.errors import UserError
from planner.formulas import library, requested_rows
from planner.formulas.evaluation import Facts, code
from planner.formulas.headlines import headline_template, headlines, memory_check
from planner.formulas.input_values import check_together, doubt_chip, is_whole, limits, meant, values
from planner.formulas.lookups import facts
from planner.formulas.template import Row, Template
from planner.number_text import few
from planner.processes import ALONE, Processes
from planner.search.conditions import with_conditions
from planner.search.space import PlanAxis

MOST = 10_000_000  # most values of one input
NEAR = 1e-9  # relative rounding tolerance of a range's end
_STEPPED = re.compile(r"(?P<last>.*[^eE*+\s])\s*(?P<sign>[*+])\s*(?P<by>[^*+]+)")
_DASHED = re.compile(r"(\d[\w.]*(?<![eE]))\s*[-:]\s*(\d[\w.]*)")  # range notations of other tools
_POWER = re.compile(r"\s*(?P<base>\d+)\s*\^\s*(?P<exponent>\d+)\s*")


@dataclass(frozen=True)
class Subject:
    """A model on a chip (either may be None), with the data of the template's lookups."""

    model: str | None
    hardware: str | None
    facts: Facts

    @property
    def said(self) -> str:
        """`llama3-70b on h100-sxm`."""
        return " on ".join(each for each in (self.model, self.hardware) if each)


@dataclass(frozen=True)
class Request:
    """The request for a sweep or a search."""

    template: Template  # including a row for each condition
    subjects: Sequence[Subject]
    given: Mapping[str, Value]  # typed inputs
    axes: Sequence[PlanAxis]  # the axes of the search, in the order of --over
    conditions: Sequence[str]  # the names of the conditions' rows
    backend: str = "numpy"
    among: Processes = ALONE  # the processes among which the plans are divided
    is_own: bool = False  # whether calibrations of the user's own are used

    @property
    def several(self) -> list[str]:
        """`model` and `hardware`, if there are several of them."""
        return [kind for kind in ("model", "hardware") if len({getattr(each, kind) for each in self.subjects}) > 1]

    @property
    def moving(self) -> set[str]:
        """The names varied by --over."""
        return {name for axis in self.axes for name in axis.columns}

    def warn_unread(self, rows: Iterable[str]) -> None:
        """Warn of what is set or varied and read by none of these rows, nor by a condition or a check."""
        read = [*rows, *self.conditions, *(row.name for row in self.template.of_kind("check"))]
        names = [*self.given, *(name for axis in self.axes for name in axis.columns)]
        for warning in requested_rows.unread(self.template, names, read).values():
            progress.warn(warning)


def request(
    template: str,
    models: Sequence[str],
    chips: Sequence[str],
    settings: Iterable[str],
    overs: Iterable[str],
    wheres: Sequence[str],
    databases: Databases,
    backend: str = "numpy",
    among: Processes = ALONE,
) -> Request:
    """The request for a command's options.

    `backend` is `numpy` or `jax`; `among` are the processes that share the work. Raises UserError for unknown names,
    values and units, and for a name that is both set and varied.
    """
    loaded, conditions = with_conditions(library.load(template), wheres)
    texts = _named(overs)
    models, chips = (
        [
            *(name for each in named for name in each.split(",") if name),
            *(name.strip() for name in texts.pop(kind, "").split(",") if name.strip()),
        ]
        for kind, named in (("model", models), ("hardware", chips))
    )
    given = values(loaded, settings)
    axes = []
    for name, text in texts.items():
        row = loaded.row(name)
        if name in given:
            raise UserError(f"{name} is both set and varied", remedy=f"leave out --set {name} or --over {name}")
        axes.append(PlanAxis({row.name: values_over(row, text)}))
    subjects = [
        Subject(model, chip, facts(loaded, model, chip, databases))
        for model in dict.fromkeys(map(databases.models.identify, models)) or (None,)
        for chip in dict.fromkeys(map(databases.hardware.identify, chips)) or (None,)
    ]
    for subject in subjects:
        chip = {**(subject.facts.hardware or {}), **given}
        check_together(given, chip)
        doubt_chip(loaded.rows, given, chip.get)
    _warn_of_unfitted(given.get("stack"), subjects, databases)
    is_own = databases.calibrations_csv is not None
    return Request(loaded, subjects, given, axes, conditions, backend, among, is_own)


def _warn_of_unfitted(stack: Value, subjects: Sequence[Subject], databases: Databases) -> None:
    """Warn if a stack is fitted to runs on one kind of chip, and other chips are among the subjects."""
    known = databases.stacks.rows.get(stack) if isinstance(stack, str) else None
    fitted_for = known["fitted_for"] if known else NO_CALIBRATION
    chips = (each.hardware for each in subjects if (each.facts.hardware or {}).get("calibration") != fitted_for)
    others = [*dict.fromkeys(filter(None, chips))]
    if fitted_for != NO_CALIBRATION and others:
        progress.warn(
            f"the stack {stack} is fitted to runs on chips of {fitted_for}: its fit isn't used on {few(others)}"
        )


def _named(overs: Iterable[str]) -> dict[str, str]:
    """`name=SPEC` texts as a mapping. Raises UserError for a text without either, or a repeated name."""
    found: dict[str, str] = {}
    for over in overs:
        name, equals, text = (part.strip() for part in over.partition("="))
        if not (name and equals and text):
            what = f"--over {over!r} has no values" if name and equals else f"--over {over!r} is not name=values"
            raise UserError(what, remedy=f"write --over {name if name and equals else 'batch'}=1..64")
        if name in found:
            raise UserError(f"--over {name} is given twice", remedy=f"write --over {name}={found[name]},{text}")
        found[name] = text
    return found


def wanted(template: Template, names: Sequence[str]) -> list[str]:
    """The requested rows; by default the template's headlines, and whether the plan fits in memory."""
    if names:
        return requested_rows.named(template, names)
    leading = [each.row.name for each in headlines(template) if each.label or not each.has_range]
    fits = memory_check(headline_template(template))
    return [*dict.fromkeys([*leading, *([fits] if fits in template.by_name else [])])]


def values_over(row: Row, text: str) -> np.ndarray:
    """The values of a row in the typed order, without repetition: float64, codes for texts.

    Raises UserError for an invalid value, an empty or descending range, and one with too many values.
    """
    found: dict[float, None] = {}
    for piece in text.split(","):
        if not piece.strip():
            raise UserError(f"--over {row.name}={text}: a value is missing", remedy=f"write --over {row.name}=1,2,4")
        for value in _range(row, piece.strip()) if ".." in piece and row.unit != "text" else [_one(row, piece)]:
            found[value] = None
    return np.array(list(found))


def _one(row: Row, text: str) -> float:
    """A value as a number; N/A isn't allowed in a sweep."""
    if ends := _DASHED.fullmatch(text.strip()) if row.unit != "text" else None:
        raise UserError(f"--over {row.name}={text} is no range", remedy=f"write --over {row.name}={ends[1]}..{ends[2]}")
    value = meant(row, text.strip())
    if value is None:
        raise UserError(f"--over {row.name}={text}: N/A is no value", remedy="name numbers, or a range such as 1..8")
    return code(value) if isinstance(value, str) else value


def _range(row: Row, text: str) -> list[float]:
    first_text, _, rest = text.partition("..")
    if ends := _DASHED.fullmatch(rest.strip()):
        remedy = f"write {first_text}..{ends[1]}*{ends[2]} to multiply by {ends[2]}, or +{ends[2]} to add it"
        raise UserError(f"--over {row.name}={text} is no range", remedy=remedy)
    powers = _POWER.fullmatch(first_text), _POWER.fullmatch(rest)
    stepped = _STEPPED.fullmatch(rest)
    sign, by = ("*", powers[0]["base"]) if powers[0] and powers[1] else ("+", "1")
    if not (powers[0] and powers[1] and powers[0]["base"] == powers[1]["base"]):
        sign, by = (stepped["sign"], stepped["by"]) if stepped else ("", "")
        rest = stepped["last"] if stepped else rest
    first, last = _one(row, first_text), _one(row, rest)
    if last < first:
        raise UserError(f"--over {row.name}={text}: the range ends before it begins", remedy="write the smaller first")
    if not sign and not (is_whole(row) and first == int(first)):
        remedy = f"write {first_text}..{rest}+STEP, or *FACTOR"
        raise UserError(f"--over {row.name}={text}: {row.name} is no count, and the step is not given", remedy=remedy)
    factor = float(by) if sign == "*" and _is_number(by) else None
    step = meant(row, by) if sign == "+" else 1.0
    if (sign == "*" and (factor is None or factor <= 1 or first <= 0)) or not isinstance(step, float) or step <= 0:
        remedy = "write a factor above 1 from a number above 0, or a step above 0"
        raise UserError(f"--over {row.name}={text}: the range has no end", remedy=remedy)
    end = last * (1 + NEAR)
    count = math.log(end / first) / math.log(factor) + 1 if factor else (end - first) / step + 1
    if count > MOST:
        raise UserError(f"--over {row.name}={text}: more than {MOST:,} values", remedy="name fewer, or a wider step")
    each = np.arange(int(count))
    found = first * factor**each if factor else first + step * each
    fault = limits(row).fault(float(found[-1]))
    if fault:
        raise UserError(f"--over {row.name}={text}: {fault}")
    return [float(value) for value in found]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
