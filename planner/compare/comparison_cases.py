"""The cases that a new Comparison has (templates/comparison.csv), and the labels of cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from planner import catalog, data
from planner.catalog import Value
from planner.compare.case_keys import key_as_ours
from planner.errors import Place, UserError, closest
from planner.formulas import library
from planner.formulas.include import Scope, bound_inputs, parse_include
from planner.formulas.template import Row, Template
from planner.formulas.text import Formula, Number, Text
from planner.measure.mesh import MATMUL_WAYS, STEP_AXES, group_size
from planner.measure.records import case_key, in_digits, parse_key
from planner.number_text import cut

COLUMNS = ("label", "suite", "on", "model", "operation", "source")
SUITES = ("quick", "full")  # the full one has the quick one's cases too
PREFIXES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
KEY_SHOWN = 40  # letters of a key in a line of text: a whole one may have hundreds
SHAPES = {
    "matmul_activation": (("n_matmuls", "tokens", "d_in", "d_out"), "compute_dtype"),
    "mlp": (("tokens", "d_model", "d_ff"), "compute_dtype"),
    "step": (("n_layers", "batch", "query_len", "kv_len", "d_model"), "compute_dtype"),
    "matmul": (("n_matmuls", "tokens", "d_in", "d_out"), "compute_dtype"),
    "host_copy": (("n_elements",), "element_bytes"),
    "elementwise": (("n_ops", "n_elements"), "element_bytes"),
    "sharded_matmul": (("n_matmuls", "tokens", "d_in", "d_out"), "compute_dtype"),
    "sharded_step": (("n_layers", "batch", "query_len", "kv_len", "d_model"), "compute_dtype"),
    "collective": (("collective", "axis_size", "array_bytes"), ""),
    "attention": (("batch", "query_len", "kv_len", "n_heads", "head_dim"), "activation_dtype"),
}  # the sizes of a template's cases that a person knows them by, and what its numbers are


@dataclass(frozen=True)
class ComparisonCase:
    """A case to predict and to measure: a template with a value for every input."""

    label: str
    template: Template
    inputs: Mapping[str, Value]
    on: str = ""  # cpu or accelerator: the other is too slow, or too fast, for its size
    axis: str = ""  # of the mesh that it lies along

    @property
    def key(self) -> str:
        """The case's unique key, in a workbook and in measurements.csv."""
        return case_key(self.template.name, self.inputs)


def load(suite: str = "quick", template: str = "") -> list[ComparisonCase]:
    """The shipped cases of a suite, or of one template in it; a new workbook has those of the quick suite.

    Raises UserError with file and line for a case that its template doesn't take.
    """
    sheet = data.table("comparison", COLUMNS)
    meant = SUITES[: SUITES.index(suite) + 1]
    begin = f"{template}(" if template else ""
    return [
        _case(cells, Place(sheet.path, line))
        for line, cells in sheet.records()
        if cells["suite"] in meant and cells["operation"].strip().startswith(begin)
    ]


def _case(cells: Mapping[str, str], place: Place) -> ComparisonCase:
    row = Row("operation", cells["label"], "", "include", cells["operation"], place=place)
    name, bindings = parse_include(row, Scope())
    template = library.load(name)
    known = bound_inputs(row, template, bindings)
    typed = of_model(cells["model"], known) | {bound: _literal(row, formula) for bound, formula in bindings.items()}
    return ComparisonCase(cells["label"], template, template.inputs(typed), cells["on"])


def of_model(model: str, inputs: Container[str]) -> dict[str, Value]:
    """The dimensions of a shipped model, for those `inputs` that have the same name."""
    if not model:
        return {}
    row = catalog.load_models().row(model)
    return {name: value for name, value in row.items() if name in inputs}


def _literal(row: Row, formula: Formula) -> Value:
    match formula.root:
        case Number(value=value):
            return value
        case Text(value=text):
            return text
    raise row.fault(f"{formula.text} is no number or text")


def label_of(template: str, inputs: Mapping[str, Value]) -> str:
    """A readable label: the shipped case's, else one such as `Matmul 1 x 768 x 768 x 768 bf16`."""
    if known := listed(template).get(case_key(template, inputs)):
        return known
    if template in LABELS:
        return LABELS[template](inputs)
    sizes, element = SHAPES.get(template, ((), ""))
    shape = " x ".join(_said(inputs[name]) for name in sizes if inputs.get(name) is not None)
    unit = " bytes" if element.endswith("_bytes") else ""
    kind = f"{_said(inputs[element])}{unit}" if inputs.get(element) is not None else ""
    return " ".join(filter(None, [template.replace("_", " ").capitalize(), shape, kind]))


def _collective(inputs: Mapping[str, Value]) -> str:
    kind = str(inputs.get("collective") or "all_gather")
    axis, axes = _number(inputs, "axis_size"), _number(inputs, "n_axes")
    ways = group_size(axis, axes)
    size = _number(inputs, "array_bytes") / (ways if ways and kind == "all_to_all" else 1)
    over = f"{ways:g}" if ways else f"{axis:g}^{axes:g}"
    return f"{kind.replace('_', '-').capitalize()} {_binary(size)} over {over}"


def _matmul(inputs: Mapping[str, Value]) -> str:
    found = [_number(inputs, name) for name in MATMUL_WAYS]
    tokens, left, right, columns = (ways > 1 for ways in found)
    overlapped = _number(inputs, "is_overlapped", 0)
    if _number(inputs, "shares_axis", 0):
        kind = "All-gather matmul"
    elif left and right:
        kind = "Matmul reduce-scatter" if _number(inputs, "scatters_output", 0) else "Row-parallel matmul"
    elif right and tokens:
        kind = "FSDP matmul"
    else:
        kind = "Column-parallel matmul" if columns and not (left or right) else "Sharded matmul"
    shape = " x ".join(f"{_number(inputs, name):g}" for name in ("tokens", "d_in", "d_out"))
    return f"{kind} {shape} over {max(found):g}{', overlapped' if overlapped else ''}"


def _step(inputs: Mapping[str, Value]) -> str:
    is_decode = _number(inputs, "query_len") < _number(inputs, "kv_len")
    kind = "train step" if _number(inputs, "is_training", 0) else "decode step" if is_decode else "forward"
    ways = ", ".join(f"{name} {ways:g}" for name in STEP_AXES if (ways := _number(inputs, f"mesh_{name}")) > 1)
    names = ("n_layers", "batch", "query_len", "kv_len", "d_model")
    return f"Sharded {kind} {' x '.join(f'{_number(inputs, name):g}' for name in names)} over {ways or 1}"


LABELS: dict[str, Callable[[Mapping[str, Value]], str]] = {
    "collective": _collective,
    "sharded_matmul": _matmul,
    "sharded_step": _step,
}
"""What a case over a mesh is called: `All-reduce 64 KiB over 4`, `FSDP matmul 512 x 512 x 512 over 2`."""


def _number(inputs: Mapping[str, Value], name: str, default: float = 1) -> float:
    """A numeric input, or its default."""
    value = inputs.get(name)
    return float(value) if isinstance(value, (int, float)) else default


def _binary(size: float) -> str:
    """Bytes with a binary prefix: `64 KiB`."""
    factor, prefix = next(((factor, prefix) for factor, prefix in PREFIXES if size >= factor), (1, "bytes"))
    return f"{size / factor:.4g} {prefix}"


def case_in_words(key: str, label: str = "") -> str:
    """A case in a line of text: its label and the beginning of its key; for a free-text key just its beginning.

    `label` is its row's label, if it has a row.
    """
    short = cut(key, KEY_SHOWN)
    if label:
        return f"{label} ({short})"
    try:
        template, inputs = parse_key(key)
    except ValueError:
        return short
    return f"{label_of(template, inputs)} ({short})" if inputs and template in library.names() else short


@cache
def listed(template: str) -> Mapping[str, str]:
    """The labels of a template's shipped cases, by key."""
    return {case.key: case.label for case in load("full", template)}


def _said(value: Value) -> str:
    return in_digits(value) if isinstance(value, float) else str(value)


def refuse_blank(text: str) -> None:
    """Raise UserError for a blank text, which would match every case."""
    if not text.strip():
        raise UserError("--case is blank", remedy="give a row's label, its key or its number")


def is_meant(text: str, label: str, keys: Iterable[str]) -> bool:
    """Whether a text selects the case with this label and these keys, ignoring case.

    It may be words of the label, part of the template's name or of a free-text key, a whole key, or a value or
    `name=value` of a key. The name of an input selects nothing, since every case has it.
    """
    wanted = key_as_ours(text.strip().lower())
    words = re.compile(rf"(?<![a-z0-9.]){re.escape(wanted)}(?![a-z0-9.])")  # `4 KiB` isn't meant for 64 KiB
    return words.search(label.lower()) is not None or any(_is_in_key(wanted, key.lower()) for key in keys)


def _is_in_key(wanted: str, key: str) -> bool:
    template, *groups = key.split("|")
    pieces = ",".join(groups).split(",")
    values = (word for piece in pieces for word in piece.partition("=")[2].split())
    return wanted in template or wanted in (key, *pieces, *values)


def closest_labels(text: str, labels: Iterable[str]) -> str:
    """The labels closest to a text that selects no case, or else the first few, as a remedy."""
    known = list(dict.fromkeys(filter(None, labels)))
    found = closest(text, known)
    return f"the closest: {', '.join(found)}" if found else f"there are {', '.join(known[:4])} and others"
