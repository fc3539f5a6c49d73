"""The request of a sweep or search: template, models, chips, settings, varied inputs, conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.catalog import Value
from planner.catalog.databases import Databases
from planner.errors import UserError
from planner.formulas import asking, library
from planner.formulas.evaluation import Facts
from planner.formulas.headlines import headlines, memory_check
from planner.formulas.input_values import values
from planner.formulas.lookups import facts
from planner.formulas.template import Template
from planner.processes import ALONE, Processes
from planner.search.conditions import with_conditions
from planner.search.space import Axis
from planner.search.values import values as values_of

TABLES = ("model", "hardware")  # what --over may name beside inputs


@dataclass(frozen=True)
class Subject:
    """A model on a chip, either of which may be none, and what the template's lookups read of them."""

    model: str | None
    hardware: str | None
    facts: Facts

    @property
    def said(self) -> str:
        """`llama3-70b on h100-sxm`."""
        return " on ".join(each for each in (self.model, self.hardware) if each)


@dataclass(frozen=True)
class Request:
    """A template with a row for each condition, its subjects, what is typed, and the axes in the order of --over.

    The plans are shared out `among` the processes of the command.
    """

    template: Template
    subjects: Sequence[Subject]
    given: Mapping[str, Value]
    axes: Sequence[Axis]
    conditions: Sequence[str]
    backend: str = "numpy"
    among: Processes = ALONE

    @property
    def moving(self) -> set[str]:
        """The names that --over moves."""
        return {name for axis in self.axes for name in axis.columns}


def request(
    template: str, models: Sequence[str], chips: Sequence[str], settings: Iterable[str], overs: Iterable[str],
    wheres: Sequence[str], databases: Databases, backend: str = "numpy", among: Processes = ALONE,
) -> Request:  # fmt: skip
    """What the options of a command ask for. `backend` is what computes it: `numpy` or `jax`; `among` who share it.

    Raises UserError for unknown names, values and units, and for what is both typed and moved.
    """
    loaded, conditions = with_conditions(library.load(template), wheres)
    texts = _named(overs)
    models, chips = (
        [*(name for each in named for name in each.split(",") if name), *_split(texts.pop(kind, ""))]
        for kind, named in (("model", models), ("hardware", chips))
    )
    given = values(loaded, settings)
    axes = []
    for name, text in texts.items():
        row = loaded.row(name)
        if name in given:
            raise UserError(f"{name} is both set and varied", remedy=f"leave out --set {name} or --over {name}")
        axes.append(Axis({row.name: values_of(row, text)}))
    subjects = [
        Subject(model, chip, facts(loaded, model, chip, databases))
        for model in dict.fromkeys(models) or (None,)
        for chip in dict.fromkeys(chips) or (None,)
    ]
    return Request(loaded, subjects, given, axes, conditions, backend, among)


def _named(overs: Iterable[str]) -> dict[str, str]:
    """`name=SPEC` texts as a mapping. Raises UserError for a text without either, or a name given twice."""
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


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def wanted(template: Template, names: Sequence[str]) -> list[str]:
    """The rows that are asked for; of none named the template's headlines, and whether the plan fits in memory."""
    if names:
        return asking.named(template, names)
    led = [each.row.name for each in headlines(template) if each.label or not each.has_range]
    fits = memory_check(template.name)
    return [*dict.fromkeys([*led, *([fits] if fits in template.by_name else [])])]
