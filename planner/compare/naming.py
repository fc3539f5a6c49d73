"""What a case is called: its label, and which cases a text on the command line means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from planner.catalog import Value
from planner.compare import cases
from planner.errors import UserError, closest
from planner.measure.keys import case_key

SHAPES = {
    "matmul_activation": (("n_matmuls", "tokens", "d_in", "d_out"), "compute_dtype"),
    "mlp": (("tokens", "d_model", "d_ff"), "compute_dtype"),
    "step": (("n_layers", "batch", "query_len", "kv_len", "d_model"), "compute_dtype"),
    "matmul": (("n_matmuls", "tokens", "d_in", "d_out"), "compute_dtype"),
    "host_copy": (("n_elements",), "element_bytes"),
    "elementwise": (("n_ops", "n_elements"), "element_bytes"),
    "attention": (("batch", "query_len", "kv_len", "n_heads", "head_dim"), "activation_dtype"),
}  # the sizes of a template's cases that a person knows them by, and what its numbers are


def label_of(template: str, inputs: Mapping[str, Value]) -> str:
    """A case for a person: as the shipped case of the same inputs, or else `Matmul 1 x 768 x 768 x 768 bf16`."""
    listed = _listed(template).get(case_key(template, inputs))
    if listed:
        return listed
    sizes, element = SHAPES.get(template, ((), ""))
    shape = " x ".join(_said(inputs[name]) for name in sizes if inputs.get(name) is not None)
    unit = " bytes" if element.endswith("_bytes") else ""
    kind = f"{_said(inputs[element])}{unit}" if inputs.get(element) is not None else ""
    return " ".join(filter(None, [template.replace("_", " ").capitalize(), shape, kind]))


@cache
def _listed(template: str) -> Mapping[str, str]:
    """The labels of a template's shipped cases, by key."""
    return {case.key: case.label for case in cases.load("full", template)}


def _said(value: Value) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def refuse_blank(text: str) -> None:
    """Raise UserError for a text that would mean every case."""
    if not text.strip():
        raise UserError("--case is blank", remedy="give a row's label, its key or its number")


def is_meant(text: str, label: str, keys: Iterable[str]) -> bool:
    """Whether a text means the case of this label and these keys, whatever the capitals.

    It does as a part of the label, of the template's name or of a key that a person made up, as the whole key, and as
    a value or a `name=value` of the key; the name of a parameter means nothing, for every case has it.
    """
    wanted = text.strip().lower()
    return wanted in label.lower() or any(_is_in_key(wanted, key.lower()) for key in keys)


def _is_in_key(wanted: str, key: str) -> bool:
    template, *groups = key.split("|")
    pieces = ",".join(groups).split(",")
    values = (word for piece in pieces for word in piece.partition("=")[2].split())
    return wanted in template or wanted in (key, *pieces, *values)


def likest(text: str, labels: Iterable[str]) -> str:
    """The labels that are most like a text that means no case, for a remedy; the first few where none is like it."""
    known = list(dict.fromkeys(filter(None, labels)))
    found = closest(text, known)
    return f"the closest: {', '.join(found)}" if found else f"there are {', '.join(known[:4])} and others"
