"""What each format of a profile doesn't record, with the reason, for the lines that then have no number."""

from __future__ import annotations

from collections.abc import Iterable

_MIXED = "the tool has most collectives in the rows of what needs them: hlo_stats tells them apart"
_LACKS = {
    "xplane": {"device": "the file doesn't name the device"},
    "trace.json": {"device": "a trace.json doesn't name the device: the .xplane.pb or overview_page may"},
    "kineto": {
        "device": "the trace doesn't name the device",
        "programs": "PyTorch's trace has kernels and operators, and no compiled programs",
        "flops": "counted from the shapes of matmuls; the trace has none of other operators",
        "bytes": "PyTorch's trace has none of kernels",
        "shapes": "no kernel is linked with an operator that has its shapes (`record_shapes` of the profiler)",
    },
    "hlo_stats": {
        "steps": "hlo_stats adds all steps up",
        "median": "the tool tells the average alone",
        "gap": "hlo_stats has no idle time: op_profile does",
        "device": "hlo_stats doesn't name it: overview_page does",
    },
    "op_profile": {
        "steps": "op_profile adds all steps up",
        "median": "the tool tells the average alone",
        "device": "op_profile doesn't name it: overview_page does",
        "operations": "only the largest of each category are listed",
    },
    "framework_op_stats": {
        "communication": _MIXED,
        "compute": _MIXED,
        "steps": "the tool adds all steps up",
        "median": "the tool tells the average alone",
        "device": "the tool doesn't name it: overview_page does",
        "programs": "operations are the framework's, of no program",
        "shapes": "operations are the framework's, without shapes",
    },
    "roofline_model": {
        "steps": "the tool adds all steps up",
        "median": "the tool tells the average alone",
        "shapes": "the tool has no shapes: hlo_stats does",
        "gap": "the tool has no idle time: op_profile does",
    },
    "overview_page": {
        "operations": "the overview lists only the largest: hlo_stats has all",
        "communication": "the overview counts it as compute: hlo_stats tells them apart",
    },
}


def lacking(formats: Iterable[str]) -> dict[str, str]:
    """The facts that the formats don't record at all, with the reason, by field name."""
    found: dict[str, str] = {}
    for each in formats:
        found |= {key: reason for key, reason in _LACKS.get(each, {}).items() if key not in found}
    return found
