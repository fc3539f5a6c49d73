"""The space of a search: what --over names, combined with the layouts that `layout_rules.py` allows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from planner.catalog import Value
from planner.errors import UserError
from planner.formulas.evaluation import code, encoded, text_of
from planner.formulas.partial import partial
from planner.formulas.template import Template
from planner.search import layout_rules, serving_layouts, training_layouts
from planner.search.request import Request, Subject
from planner.search.space import PlanAxis, PlanSpace

TRAINING, SERVING = {*training_layouts.WAYS, *training_layouts.SCHEDULE}, set(serving_layouts.NAMES)
BATCH, CHIPS = "batch", "n_chips"


def is_training(template: Template) -> bool:
    """Whether a template plans a training run."""
    return template.by_name.keys() >= TRAINING


def is_serving(template: Template) -> bool:
    """Whether a template plans serving."""
    return template.by_name.keys() >= SERVING


def space(asked: Request, subject: Subject, aims: Collection[str] = (), *, alone: bool) -> PlanSpace:
    """The plans of a model on a chip: all combinations of --over and, unless `alone`, of sensible layouts.

    Set inputs stay fixed. If the chips are among the `aims`, the rows of the objectives, or a condition reads them,
    none prefill alone unless asked for, for n_chips doesn't count those. Raises UserError if nothing varies, and if no
    layout is sensible.
    """
    template = asked.template
    if alone or not (is_training(template) or is_serving(template)):
        if not asked.axes:
            raise UserError("nothing is varied", remedy="name an input, as in --over n_chips=1..64")
        return PlanSpace(asked.axes)
    made = training_layouts if is_training(template) else serving_layouts
    own = set(made.OWN)
    moved = {name: axis.columns[name] for axis in asked.axes for name in axis.columns}
    typed = {name: [value] for name, value in asked.given.items() if isinstance(value, float)}
    fixed: dict[str, Sequence[float]] = {
        **typed,
        **{name: [float(each) for each in column] for name, column in moved.items()},
    }
    if made is serving_layouts and CHIPS in {*aims, *_read(asked)}:
        fixed.setdefault(serving_layouts.SPLIT[0], [0.0])
    values = _values(template, subject, asked.given, made.READ)
    chips = fixed.get("n_chips") or (serving_layouts.chip_counts(values) if made is serving_layouts else [])
    if not chips:
        remedy = "write --set n_chips=512, or --over n_chips=256..1024*2"
        raise UserError("the number of chips is not given", remedy=remedy)
    read = [name for name in moved if name in made.READ and name not in own]  # layouts depend on these
    layouts: list[dict[str, np.ndarray]] = []
    for combination in product(*(moved[name].tolist() for name in read)):
        here = dict(zip(read, combination, strict=True))
        if axis := made.layouts({**values, **here}, {name: fixed[name] for name in own & fixed.keys()}, chips):
            layouts.append({**{name: np.full(len(axis), value) for name, value in here.items()}, **axis.columns})
    if not layouts:
        raise UserError(
            f"no layout of {' or '.join(f'{each:,g}' for each in chips[:4])} chips makes sense for {subject.said}",
            remedy=f"{_other_sizes(values, chips)}, or name the ways with --over and --alone",
        )
    joined = PlanAxis({name: np.concatenate([each[name] for each in layouts]) for name in layouts[0]})
    rest = [axis for axis in asked.axes if not set(axis.columns) & (own | set(read))]
    return PlanSpace([joined, *rest, *_further_axes(template, fixed, asked.given)])


def _other_sizes(values: layout_rules.Values, chips: Sequence[float]) -> str:
    """What else to try where no layout is sensible: in training a batch that these chips share out evenly."""
    seq_len = layout_rules.number(values, "seq_len")
    return f"other chips, or batch_tokens a multiple of {seq_len * chips[0]:,.0f}" if seq_len else "other chips"


def _read(asked: Request) -> Iterator[str]:
    """The rows that the conditions read."""
    for name in asked.conditions:
        yield from asked.template.row(name).reads


def _further_axes(template: Template, fixed: Mapping[str, object], given: Mapping[str, Value]) -> list[PlanAxis]:
    """The further axes of a search besides layouts, for inputs that aren't set or varied."""
    free = [name for name in ("remat", "zero_stage", BATCH) if name in template.by_name]
    found = []
    for name in free:
        row = template.row(name)
        if name in fixed or name in given or (name == BATCH and is_training(template)):
            continue
        if name == BATCH:
            found.append(PlanAxis({name: serving_layouts.BATCHES}))
        else:
            choices = [code(each) for each in layout_rules.REMATS] if row.unit == "text" else [0.0, 1.0, 2.0, 3.0]
            found.append(PlanAxis({name: np.array(choices)}))
    return found


def _values(
    template: Template, subject: Subject, given: Mapping[str, Value], names: Sequence[str]
) -> dict[str, float | str | None]:
    """The values of some rows in the typed plan, as far as the template has them."""
    known = [name for name in names if name in template.by_name]
    typed = {name: encoded(template.row(name), value, {}) for name, value in given.items()}
    found = partial(template, subject.facts, typed, (), known)({})
    return {
        name: text_of(float(found[name])) if template.row(name).unit == "text" else float(found[name]) for name in known
    }
