"""Outputs of the xprof and TensorBoard tools exported as JSON: identifies the tool, reads its table, joins several.

Operations are summed over all cores. Only self times may be added, because total times include nested operations.
op_profile is a tree of programs, categories and operations, in which similar operations share a node.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from planner.errors import UserError
from planner.profiles import xla
from planner.profiles.device_events import PS
from planner.profiles.planes import Stats
from planner.profiles.profile import Operation, Parts, Program, Step, whole_steps
from planner.profiles.step_parts import HOLDERS, part
from planner.profiles.tool_table import Row, TableError, ToolTable, columns, number, properties, rows, time

_US, _MS, _GIB = 1e-6, 1e-3, 1 << 30
_BESIDE = "SparseCore"


def hlo_stats(pages: list[Row]) -> ToolTable:
    """Every HLO operation with its text.

    Those of a SparseCore are left out: it works beside the TensorCore, whose time already has what it waits for.
    """
    made = ToolTable("hlo_stats")
    for row in (row for page in pages for row in rows(page)):
        if row.get("core_type") == _BESIDE:
            continue
        name, program = str(row.get("hlo_op_name") or ""), str(row.get("program_id") or "")
        stats = {
            "hlo_category": row.get("category"),
            "long_name": row.get("hlo_op_expression"),
            "tf_op": row.get("tf_op_name"),
        }
        made.operations.append(_operation(row, name, program, stats, _memory(row), _GIB))
    made.programs = _programs(made.operations)
    return made


def framework_op_stats(pages: list[Row]) -> ToolTable:
    """The framework's operations on the device. The first page includes idle time, the second doesn't."""
    made = ToolTable("framework_op_stats")
    for row in rows(next((page for page in pages if columns(page)), {})):
        name, kind = str(row.get("operation") or ""), str(row.get("type") or "")
        if str(row.get("host_or_device")).lower() != "device":
            continue
        if "IDLE" in (kind, name):
            made.idle = time(row, "total_self_time") * _US
            continue
        one = _operation(row, name, "", {"hlo_category": kind, "tf_op": name}, _rate(row, "measured_memory_bw"), 1e9)
        made.operations.append(replace(one, part=part(name.rpartition("/")[2], kind)))
    return made


def roofline_model(pages: list[Row]) -> ToolTable:
    """Every HLO operation without its text, and the device with its peaks."""
    made = ToolTable("roofline_model")
    for page in pages:
        found = properties(page)
        made.device = made.device or _known(found.get("device_type"))
        made.peak_flops = made.peak_flops or _scaled(found.get("peak_flop_rate"), 1e9)
        made.peak_bandwidth = made.peak_bandwidth or _scaled(found.get("peak_hbm_bw"), _GIB)
        for row in rows(page):
            category = row.get("category")
            if row.get("include_infeed_outfeed") is False or row.get("step") != "Total":
                continue  # the same operations again
            if category == "IDLE":
                made.idle = time(row, "total_self_time") * _US
            elif category not in ("Program", None):
                name, program = str(row.get("operation") or ""), str(row.get("hlo_module_id") or "")
                made.operations.append(_operation(row, name, program, {"hlo_category": category}, _memory(row), _GIB))
    made.programs = _programs(made.operations)
    return made


def overview_page(pages: list[Row]) -> ToolTable:
    """The steps, the device and the number of devices."""
    made = ToolTable("overview_page")
    for page in pages:
        found = properties(page)
        made.device = made.device or _known(found.get("device_type"))
        if cores := re.match(
            r"\d{1,7}(?!\d)", str(found.get("device_core_count", ""))
        ):  # `8 (Replica count = 8)` in older versions
            made.cores = int(cores[0])
        for key in ("host_count", "task_count", "is_training", "hardware_type"):
            if key in found:
                made.facts[key] = str(found[key])
        if "stepnum" in columns(page):
            made.steps = _steps(list(rows(page)))
    made.tells_communication = any(step.parts.communication for step in made.steps)
    return made


_COMPUTE = ("tcComputeTimeMs", "deviceComputeTimeMs", "computeTimeMs")  # of TPUs, of GPUs, and of TPUs before 2020
_COMMUNICATION = ("deviceCollectivesTimeMs", "deviceToDeviceTimeMs")
_COPY = ("tcInfeedTimeMs", "tcOutfeedTimeMs", "hostTransferTimeMs", "infeedTimeMs", "outfeedTimeMs", "inputTimeMs")
_GAP = ("tcIdleTimeMs", "idleTimeMs", "hostComputeTimeMs", "kernelLaunchTimeMs", "compileTimeMs", "otherTimeMs")


def _parts(row: Row) -> Parts:
    """The parts of a step from an overview's columns; host-only time is a gap of the device.

    If the step's own time is given (`stepTimeMs`), what its columns don't account for is a gap too.
    """
    compute, communication, copy, gap = (
        sum(time(row, key) for key in keys) * _MS for keys in (_COMPUTE, _COMMUNICATION, _COPY, _GAP)
    )
    return Parts(
        compute, communication, copy, 0.0, max(gap, time(row, "stepTimeMs") * _MS - compute - communication - copy)
    )


def _steps(listed: list[Row]) -> list[Step]:
    """The steps of an overview."""
    found: list[Step] = []
    at = 0.0
    for row in listed:
        parts = _parts(row)
        shown = str(row.get("stepnum") or "")
        if parts.span:
            index = int(shown) if shown.isdecimal() else len(found)
            found.append(Step(index, at, at + parts.span, "tool", parts))
            at += parts.span
    return list(whole_steps(found))


def _operation(
    row: Row, name: str, program: str, facts: dict[str, Any], bandwidth: float | None, unit: float
) -> Operation:
    """The operation of a row: its times, and FLOPs and bytes per run from the rates and the total self time."""
    seconds, count = time(row, "total_self_time") * _US, int(time(row, "occurrences"))
    stats: Stats = {key: str(value or "") for key, value in facts.items()}
    rate = _rate(row, "model_flop_rate", "normalized_flop_rate")
    if rate is not None and count:
        stats["model_flops"] = rate * 1e9 * seconds / count
    if bandwidth is not None and count:
        stats["bytes_accessed"] = bandwidth * unit * seconds / count
    total, mean = time(row, "total_time") * _US, time(row, "avg_time") * _US
    return replace(xla.operation(name, program, stats), count=count, total=total, median=mean, self_time=seconds)


def _programs(operations: list[Operation]) -> list[Program]:
    """The programs that the operations belong to; the number of their runs is unknown."""
    times: dict[str, float] = {}
    for operation in operations:
        times[operation.program] = times.get(operation.program, 0.0) + operation.self_time
    return [Program("", key, 0, seconds, 0.0) for key, seconds in sorted(times.items(), key=lambda item: -item[1])]


def _rate(row: Row, *keys: str) -> float | None:
    found = [float(row[key]) for key in keys if isinstance(row.get(key), int | float)]
    return next((rate for rate in found if rate), found[0] if found else None)


def _memory(row: Row) -> float | None:
    """GiB/s of the device's main memory, if reported separately from on-chip memory."""
    return _rate(row, "hbm_bw") if isinstance(row.get("hbm_bw"), int | float) else _rate(row, "measured_memory_bw")


def _scaled(value: Any, factor: float) -> float | None:
    try:
        return float(value) * factor or None
    except (TypeError, ValueError):
        return None


def _known(value: Any) -> str | None:
    return str(value) if value and str(value).lower() not in ("unknown", "n/a", "tpu", "gpu", "cpu") else None


def table(document: Any) -> ToolTable | None:
    """The table in a JSON document. None if no known tool wrote it.

    Raises TableError if operations have no times, or for impossible numbers.
    """
    if isinstance(document, dict) and is_op_profile(document):
        return op_profile(document)
    pages = [page for page in (document if isinstance(document, list) else [document]) if isinstance(page, dict)]
    names = {name for page in pages for name in columns(page)}
    for read, its_own in _OPERATIONS:
        if names & its_own:
            if _SELF_TIME not in names:
                what = f"this table of operations has no column {_SELF_TIME}, their own times in us"
                raise TableError(what, remedy="export it again with all its columns")
            return read(pages)
    if "stepnum" in names or any("device_core_count" in properties(page) for page in pages):
        return overview_page(pages)
    return None


_SELF_TIME = "total_self_time"
_OPERATIONS = (
    (hlo_stats, {"hlo_op_expression", "hlo_op_name"}),
    (framework_op_stats, {"host_or_device"}),
    (roofline_model, {"roofline_efficiency", "bottleneck_operational_intensity"}),
)


def parts_of(operations: list[Operation], idle: float | None) -> Parts:
    """The parts of the total time, from the operations' self times."""
    sums = {"compute": 0.0, "communication": 0.0, "copy": 0.0, "wait": 0.0}
    for each in operations:
        sums["compute" if each.opcode in HOLDERS else each.part] += each.self_time
    return Parts(sums["compute"], sums["communication"], sums["copy"], sums["wait"], idle)


def joined(tables: list[ToolTable]) -> ToolTable:
    """Several tools' tables of one capture as one: operations from the most detailed table, other facts from any."""
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
        made.tells_communication = made.tells_communication or each.tells_communication
        made.facts |= each.facts
        if any(program.name for program in each.programs):
            made.programs = each.programs
    made.steps = [replace(step, parts=_split(step.parts, made.operations)) for step in made.steps]
    return made


def _split(parts: Parts, operations: list[Operation]) -> Parts:
    """A step's compute time divided in proportion to operations' self times; an overview doesn't separate them.

    A GPU's overview does report communication, which is then excluded from the division.
    """
    whole = parts_of(operations, None)
    if parts.communication:
        whole = replace(whole, communication=0.0)
    if not whole.busy:
        return parts
    each = parts.compute / whole.busy
    copy, communication = parts.copy + each * whole.copy, parts.communication + each * whole.communication
    return Parts(each * whole.compute, communication, copy, each * whole.wait, parts.gap)


_SUMS = ("rawTime", "rawFlops", "occurrences")
_ALIKE = "and its duplicate(s)"  # the end of a group's name, which has the text of its first operation


_BY_PROGRAM, _BY_CATEGORY = ("byProgram", "by_program"), ("byCategory", "by_category")


def is_op_profile(document: Row) -> bool:
    """Whether a JSON object is op_profile's: a tree by program, or in older versions only by category."""
    return any(isinstance(document.get(key), dict) for key in (*_BY_PROGRAM, *_BY_CATEGORY))


def op_profile(document: Row) -> ToolTable:
    """The operations of all programs. What the tree omits from a category or program becomes one operation.

    Raises UserError for the oldest form, which has shares of time but no times.
    """
    made = ToolTable("op_profile")
    trees = [document.get(key) for key in (*_BY_PROGRAM, *_BY_CATEGORY)]
    tree = next((each for each in trees if isinstance(each, dict) and _children(each)), {})
    if _children(tree) and not any(_raw(each, "rawTime") for each in _children(tree)):
        remedy = "export it with a newer TensorBoard or xprof, or give the .xplane.pb"
        raise UserError("this op_profile has shares of the time alone, and no times", remedy=remedy)
    is_by_program = any(tree is document.get(key) for key in _BY_PROGRAM)
    for node in _children(tree):
        name, seconds = str(node.get("name") or ""), _raw(node, "rawTime") * PS
        if name == "IDLE":
            made.idle = seconds
        elif is_by_program:
            made.operations += _leaves(node, name, "")
            title, _, key = name.partition("(")
            made.programs.append(Program(title, key.rstrip(")"), 0, seconds, 0.0))
        else:
            made.operations += _leaves(node, "", name)
    if is_by_program and document.get("deviceType"):
        made.facts = {"deviceType": str(document["deviceType"])}
    return made


def _leaves(node: Row, program: str, category: str) -> list[Operation]:
    """The operations below a node. Only the largest nodes are listed.

    An operation is a leaf whatever is below it: the contents of a fusion, or what it starts on a SparseCore.
    """
    details = node.get("xla")
    details = details if isinstance(details, dict) else {}
    is_operation = bool(details.get("expression")) and not str(node.get("name")).endswith(_ALIKE)
    timed = [] if is_operation else [each for each in _children(node) if _raw(each, "rawTime")]
    whole = bool(program) and node.get("name") == program
    category = str(details.get("category") or category or node.get("name") or "")
    if not timed:
        return [_of_node(node, details, program, category)] if _raw(node, "rawTime") else []
    found = [each for child in timed for each in _leaves(child, program, "" if whole else category)]
    left: Row = {key: _raw(node, key) - sum(_raw(each, key) for each in timed) for key in _SUMS}
    left["rawBytesAccessedArray"] = [_bytes(node) - sum(_bytes(each) for each in timed)]
    if left["rawTime"] > 0.5:
        name = "not listed" if whole else f"other {category}"
        made = _of_node({"name": name, "metrics": left}, {}, program, name if whole else category)
        found.append(replace(made, flops=None, bytes=None) if whole else made)
    return found


def _of_node(node: Row, details: Row, program: str, category: str) -> Operation:
    """The operation of a node, whose raw numbers cover all its runs.

    If their number is unknown, it counts as one run.
    """
    count, seconds = max(int(_raw(node, "occurrences")), 1), _raw(node, "rawTime") * PS
    stats: Stats = {
        "hlo_category": category,
        "long_name": str(details.get("expression") or ""),
        "tf_op": str(details.get("provenance") or ""),
        "model_flops": _raw(node, "rawFlops") / count,
        "bytes_accessed": _bytes(node) / count,
    }
    made = xla.operation(str(node.get("name") or ""), program, stats)
    return replace(made, count=count, total=seconds, median=seconds / count, self_time=seconds)


def _children(node: Row) -> list[Row]:
    children = node.get("children")
    return [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []


def _raw(node: Row, key: str) -> float:
    metrics = node.get("metrics")
    return number(metrics, key) if isinstance(metrics, dict) else 0.0


def _bytes(node: Row) -> float:
    """Bytes to and from the device's main memory, which is the first of its memories."""
    metrics = node.get("metrics")
    found = metrics.get("rawBytesAccessedArray") if isinstance(metrics, dict) else None
    return float(found[0]) if isinstance(found, list) and found and isinstance(found[0], int | float) else 0.0
