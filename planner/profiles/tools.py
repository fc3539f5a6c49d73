"""Tables of xprof's and TensorBoard's tools, exported as JSON: operations already added up over all cores.

hlo_stats and roofline_model list HLO operations, framework_op_stats the framework's, op_profile a tree of programs,
overview_page steps and the device. Only self times add up: total times count what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from planner.profiles import hlo_text
from planner.profiles.parts import CONTROL, collective, part
from planner.profiles.profile import Operation, Parts, Program, Step

_US, _MS, _PS, _GIB = 1e-6, 1e-3, 1e-12, 1 << 30
Row = dict[str, Any]


@dataclass
class ToolTable:
    """What one tool's file tells; `format` is the tool's name. `idle` is in seconds over all cores."""

    format: str
    operations: list[Operation] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    device: str | None = None
    cores: int | None = None
    idle: float | None = None
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    facts: dict[str, str] = field(default_factory=dict)


def table(document: Any) -> ToolTable | None:
    """The table in a JSON document; None where it is none of these tools'."""
    if isinstance(document, dict) and ("byProgram" in document or "by_program" in document):
        return _op_profile(document)
    pages = document if isinstance(document, list) else [document]
    pages = [page for page in pages if isinstance(page, dict)]
    columns = {name for page in pages for name in _columns(page)}
    if "hlo_op_expression" in columns or "hlo_op_name" in columns:
        return _hlo_stats(pages)
    if "host_or_device" in columns:
        return _framework(pages)
    if "roofline_efficiency" in columns or "bottleneck_operational_intensity" in columns:
        return _roofline(pages)
    if "stepnum" in columns or any("device_core_count" in _properties(page) for page in pages):
        return _overview(pages)
    return None


def _columns(page: Row) -> list[str]:
    columns = page.get("cols")
    return [str(each.get("id")) for each in columns if isinstance(each, dict)] if isinstance(columns, list) else []


def _properties(page: Row) -> Row:
    found = page.get("p")
    return found if isinstance(found, dict) else {}


def _rows(page: Row) -> Iterator[Row]:
    """The rows of a table of Google's charts by column."""
    columns = _columns(page)
    rows = page.get("rows")
    for row in rows if isinstance(rows, list) else []:
        cells = row.get("c") if isinstance(row, dict) else None
        if isinstance(cells, list):
            values = [cell.get("v") if isinstance(cell, dict) else None for cell in cells]
            yield dict(zip(columns, values, strict=False))


def _hlo_stats(pages: list[Row]) -> ToolTable:
    made = ToolTable("hlo_stats")
    for row in (row for page in pages for row in _rows(page)):
        seconds = _number(row, "total_self_time") * _US
        count = int(_number(row, "occurrences"))
        text = str(row.get("hlo_op_expression") or "")
        read = hlo_text.parse(text)
        name = str(row.get("hlo_op_name") or (read.name if read else ""))
        category, opcode = str(row.get("category") or ""), read.opcode if read else ""
        total = _number(row, "total_time") * _US
        rate = _rate(row, "model_flop_rate", "normalized_flop_rate")
        made.operations.append(Operation(
            name, str(row.get("program_id") or ""), category, opcode, part(name, category, opcode, text), count, total,
            _number(row, "avg_time") * _US, seconds, _each(rate, 1e9, seconds, count, opcode),
            _each(_memory(row), _GIB, seconds, count, opcode),
            read.result if read else (), read.operands if read else (),
            read.result[0].dtype if read and read.result else "",
            read.group_size if read and collective(name, category, opcode) else None,
            str(row.get("tf_op_name") or "").rstrip(":"), "file" if rate is not None else "", text,
        ))  # fmt: skip
    made.programs = _programs(made.operations)
    return made


def _framework(pages: list[Row]) -> ToolTable:
    """The first page counts idle time, the second doesn't. A host's rows are not the device's."""
    made = ToolTable("framework_op_stats")
    for row in _rows(next((page for page in pages if _columns(page)), {})):
        name, kind = str(row.get("operation") or ""), str(row.get("type") or "")
        if str(row.get("host_or_device")).lower() != "device":
            continue
        seconds, count = _number(row, "total_self_time") * _US, int(_number(row, "occurrences"))
        if kind == "IDLE" or name == "IDLE":
            made.idle = seconds
            continue
        rate = _rate(row, "model_flop_rate")
        made.operations.append(Operation(
            name, "", kind, "", part(name.rpartition("/")[2], kind), count, _number(row, "total_time") * _US,
            _number(row, "avg_time") * _US, seconds, _each(rate, 1e9, seconds, count, ""),
            _each(_rate(row, "measured_memory_bw"), 1e9, seconds, count, ""), source=name,
            flops_from="file" if rate is not None else "",
        ))  # fmt: skip
    return made


def _roofline(pages: list[Row]) -> ToolTable:
    made = ToolTable("roofline_model")
    for page in pages:
        found = _properties(page)
        made.device = made.device or _known(found.get("device_type"))
        made.peak_flops = made.peak_flops or _scaled(found.get("peak_flop_rate"), 1e9)
        made.peak_bandwidth = made.peak_bandwidth or _scaled(found.get("peak_hbm_bw"), _GIB)
        for row in _rows(page):
            if row.get("include_infeed_outfeed") is False:  # the same operations once more
                continue
            if row.get("step") == "Total" and row.get("category") not in ("Program", "IDLE", None):
                seconds, count = _number(row, "total_self_time") * _US, int(_number(row, "occurrences"))
                name, category = str(row.get("operation") or ""), str(row.get("category"))
                rate = _rate(row, "model_flop_rate")
                made.operations.append(Operation(
                    name, str(row.get("hlo_module_id") or ""), category, "", part(name, category), count,
                    _number(row, "total_time") * _US, _number(row, "avg_time") * _US, seconds,
                    _each(rate, 1e9, seconds, count, ""),
                    _each(_memory(row), _GIB, seconds, count, ""),
                    flops_from="file" if rate is not None else "",
                ))  # fmt: skip
            elif row.get("category") == "IDLE" and row.get("step") == "Total":
                made.idle = _number(row, "total_self_time") * _US
    made.programs = _programs(made.operations)
    return made


def _overview(pages: list[Row]) -> ToolTable:
    made = ToolTable("overview_page")
    for page in pages:
        found = _properties(page)
        made.device = made.device or _known(found.get("device_type"))
        if str(found.get("device_core_count", "")).isdigit():
            made.cores = int(found["device_core_count"])
        for key in ("host_count", "task_count", "is_training", "hardware_type"):
            if key in found:
                made.facts[key] = str(found[key])
        if "stepnum" in _columns(page):
            made.steps = _steps(list(_rows(page)))
    return made


def _steps(rows: list[Row]) -> list[Step]:
    """The steps of an overview. The last may be cut off by the end of the capture: one under half of the others' is."""
    found: list[Step] = []
    at = 0.0
    for row in rows:
        compute = _number(row, "tcComputeTimeMs") * _MS
        copy = sum(_number(row, key) * _MS for key in ("tcInfeedTimeMs", "tcOutfeedTimeMs", "hostTransferTimeMs"))
        parts = Parts(compute, 0.0, copy, 0.0, _number(row, "tcIdleTimeMs") * _MS)
        number = str(row.get("stepnum") or "")
        if parts.span:
            index = int(number) if number.isdigit() else len(found)
            found.append(Step(index, at, at + parts.span, "tool", parts))
            at += parts.span
    if len(found) > 2:
        usual = sorted(step.seconds for step in found)[len(found) // 2]
        found = [step for step in found if step.seconds > usual / 2]
    return found


def _op_profile(document: Row) -> ToolTable:
    """A tree: program, category, and below operations, of which those alike share a node."""
    made = ToolTable("op_profile")
    tree = document.get("byProgram") or document.get("by_program")
    programs = tree.get("children") if isinstance(tree, dict) else None
    for program in programs if isinstance(programs, list) else []:
        name, seconds = str(program.get("name") or ""), _raw(program, "rawTime") * _PS
        if name == "IDLE":
            made.idle = seconds
            continue
        made.operations += _leaves(program, name, "")
        made.programs.append(Program(name.partition("(")[0], name.partition("(")[2].rstrip(")"), 0, seconds, 0.0))
    made.facts = {"deviceType": str(document["deviceType"])} if document.get("deviceType") else {}
    return made


def _leaves(node: Row, program: str, category: str) -> list[Operation]:
    """The operations of a node. What a fusion holds took no time of its own; of many only the largest are listed."""
    children = node.get("children")
    listed = [each for each in children if isinstance(each, dict)] if isinstance(children, list) else []
    timed = [each for each in listed if _raw(each, "rawTime")]
    told = node.get("xla")
    told = told if isinstance(told, dict) else {}
    category = str(told.get("category") or category or node.get("name") or "")
    if not timed:
        return [_node(node, told, program, category)] if _raw(node, "rawTime") else []
    found = [
        each for child in timed for each in _leaves(child, program, "" if node.get("name") == program else category)
    ]
    metrics: Row
    rest = _raw(node, "rawTime") - sum(_raw(each, "rawTime") for each in timed)
    if rest > 0.5 and node.get("name") == program:
        metrics = {"rawTime": rest}
        found.append(
            replace(
                _node({"name": "not listed", "metrics": metrics}, {}, program, "not listed"), flops=None, bytes=None
            )
        )
    elif rest > 0.5:
        keys = ("rawTime", "rawFlops", "occurrences")
        metrics = {key: _raw(node, key) - sum(_raw(each, key) for each in timed) for key in keys}
        metrics["rawBytesAccessedArray"] = [_memory_bytes(node) - sum(_memory_bytes(each) for each in timed)]
        found.append(_node({"name": f"other {category}", "metrics": metrics}, {}, program, category))
    return found


def _node(node: Row, told: Row, program: str, category: str) -> Operation:
    """An operation of op_profile, whose raw numbers are of all its runs; where these aren't told, as of one."""
    count = max(int(_raw(node, "occurrences")), 1)
    seconds, text, name = _raw(node, "rawTime") * _PS, str(told.get("expression") or ""), str(node.get("name") or "")
    read = hlo_text.parse(text)
    opcode = read.opcode if read else str(told.get("op") or "")
    flops, memory = _raw(node, "rawFlops"), _memory_bytes(node)
    silent = "custom-call" in (opcode, category)  # its zeros say nothing
    return Operation(
        name, program, category, opcode, part(name, category, opcode, text), count, seconds, seconds / count, seconds,
        None if silent and not flops else flops / count, None if silent and not memory else memory / count,
        read.result if read else (), read.operands if read else (),
        read.result[0].dtype if read and read.result else "",
        read.group_size if read and collective(name, category, opcode) else None,
        str(told.get("provenance") or "").rstrip(":"), "file" if flops else "", text,
    )  # fmt: skip


def _memory_bytes(node: Row) -> float:
    metrics = node.get("metrics")
    found = metrics.get("rawBytesAccessedArray") if isinstance(metrics, dict) else None
    return float(found[0]) if isinstance(found, list) and found and isinstance(found[0], int | float) else 0.0


def _programs(operations: list[Operation]) -> list[Program]:
    """The programs that operations are of; how often each ran isn't told."""
    times: dict[str, float] = {}
    for operation in operations:
        times[operation.program] = times.get(operation.program, 0.0) + operation.self_time
    return [Program("", key, 0, seconds, 0.0) for key, seconds in sorted(times.items(), key=lambda item: -item[1])]


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


def _each(rate: float | None, factor: float, seconds: float, count: int, opcode: str) -> float | None:
    """What one run does, by the rate over the self time of all; a custom call's zero says nothing."""
    if rate is None or not count or (not rate and opcode == "custom-call"):
        return None
    return rate * factor * seconds / count


def _rate(row: Row, *keys: str) -> float | None:
    found = [float(row[key]) for key in keys if isinstance(row.get(key), int | float)]
    return next((rate for rate in found if rate), found[0] if found else None)


def _memory(row: Row) -> float | None:
    """GiB/s of the device's main memory, where it is told apart from that on the chip."""
    return _rate(row, "hbm_bw") if isinstance(row.get("hbm_bw"), int | float) else _rate(row, "measured_memory_bw")


def _number(row: Row, key: str) -> float:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) else 0.0


def _raw(node: Row, key: str) -> float:
    metrics = node.get("metrics")
    return _number(metrics, key) if isinstance(metrics, dict) else 0.0


def _scaled(value: Any, factor: float) -> float | None:
    try:
        return float(value) * factor or None
    except (TypeError, ValueError):
        return None


def _known(value: Any) -> str | None:
    return str(value) if value and str(value).lower() not in ("unknown", "n/a", "tpu", "gpu", "cpu") else None
