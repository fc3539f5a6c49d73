"""The outputs of xprof's and TensorBoard's tools, exported as JSON: which tool's it is, and several joined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planner.profiles.op_profile import is_op_profile, op_profile
from planner.profiles.parts import CONTROL
from planner.profiles.profile import Operation, Parts
from planner.profiles.tool_charts import framework_op_stats, hlo_stats, overview_page, roofline_model
from planner.profiles.tool_table import ToolTable, columns, properties


def table(document: Any) -> ToolTable | None:
    """The table in a JSON document; None where it is none of these tools'."""
    if isinstance(document, dict) and is_op_profile(document):
        return op_profile(document)
    pages = [page for page in (document if isinstance(document, list) else [document]) if isinstance(page, dict)]
    names = {name for page in pages for name in columns(page)}
    if names & {"hlo_op_expression", "hlo_op_name"}:
        return hlo_stats(pages)
    if "host_or_device" in names:
        return framework_op_stats(pages)
    if names & {"roofline_efficiency", "bottleneck_operational_intensity"}:
        return roofline_model(pages)
    if "stepnum" in names or any("device_core_count" in properties(page) for page in pages):
        return overview_page(pages)
    return None


def parts_of(operations: list[Operation], idle: float | None) -> Parts:
    """The parts of all time by the operations' self times."""
    sums = {"compute": 0.0, "communication": 0.0, "copy": 0.0, "wait": 0.0}
    for each in operations:
        sums["compute" if each.opcode in CONTROL else each.part] += each.self_time
    return Parts(sums["compute"], sums["communication"], sums["copy"], sums["wait"], idle)


def joined(tables: list[ToolTable]) -> ToolTable:
    """Several tools' tables of one capture as one: the operations of the one that says most, and every other fact."""
    order = ("hlo_stats", "op_profile", "roofline_model", "framework_op_stats", "overview_page")
    ranked = sorted(tables, key=lambda each: order.index(each.format))
    first = next((each for each in ranked if each.operations), ranked[0])
    made = replace(first, facts=dict(first.facts), format="+".join(sorted({each.format for each in ranked})))
    for each in ranked:
        made.device = made.device or each.device
        made.cores = made.cores or each.cores
        made.idle = each.idle if made.idle is None else made.idle
        made.peak_flops = made.peak_flops or each.peak_flops
        made.peak_bandwidth = made.peak_bandwidth or each.peak_bandwidth
        made.steps = made.steps or each.steps
        made.facts |= each.facts
        if any(program.name for program in each.programs):
            made.programs = each.programs
    made.steps = [replace(step, parts=_split(step.parts, made.operations)) for step in made.steps]
    return made


def _split(parts: Parts, operations: list[Operation]) -> Parts:
    """A step's computing time in the proportions of the operations' self times: an overview doesn't tell them apart."""
    whole = parts_of(operations, None)
    if not whole.busy:
        return parts
    each = parts.compute / whole.busy
    copy = parts.copy + each * whole.copy
    return Parts(each * whole.compute, each * whole.communication, copy, each * whole.wait, parts.gap)
