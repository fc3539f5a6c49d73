"""What several files tell of one run as one profile: devices of all hosts, or the tables of all tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.profiles import sources, tools
from planner.profiles.one_run import notes, refuse_strangers
from planner.profiles.profile import CORES, Device, Profile
from planner.profiles.profile_files import Files, host_of_tool
from planner.profiles.sources import Source
from planner.profiles.tool_table import ToolTable

_CUSTOM = "custom calls (Pallas kernels, libraries) carry none"
_UNKNOWN = {
    "xplane": "the file doesn't name the device",
    "trace.json": "a trace.json doesn't name the device: the .xplane.pb or overview_page may",
    "kineto": "the trace doesn't name the device",
}


def joined(parts: Sequence[Source], files: Files) -> Profile:
    """One profile of what was read. Without any device it is left to the caller to say so.

    Raises UserError where the files can't be of one run.
    """
    refuse_strangers(parts)
    tables = [part.table for part in parts if part.table]
    devices = [device for part in parts for device in part.devices]
    formats = sorted({part.format for part in parts})
    facts: dict[str, str] = {}
    table = tools.joined(tables) if tables and not devices else None
    if table and (table.operations or table.steps):
        formats = table.format.split("+")
        devices = [_of_table(table, host_of_tool(parts[0].path))]
        facts = dict(table.facts)
        if table.cores:
            facts[CORES] = str(table.cores)
    if any(step.found != "whole" for device in devices for step in device.steps):
        # a device that only copied has no steps beside those that have
        devices = [_stepless(each) if each.steps and each.steps[0].found == "whole" else each for each in devices]
    names = {device.kind for device in devices}
    device = names.pop() if len(names) == 1 else None
    for each in devices[:1]:
        facts = each.facts | facts
    for part in parts:
        facts = part.facts | facts
    hosts = tuple(dict.fromkeys(each.host for each in devices if each.host))
    lacks = _lacks(formats, devices, device) | {key: text for part in parts for key, text in part.lacks.items()}
    return Profile(
        tuple(map(str, files.files)), "+".join(formats), device, hosts, tuple(devices), facts, lacks,
        tuple(notes(parts, files)),
    )  # fmt: skip


def _stepless(device: Device) -> Device:
    return replace(device, steps=())


def _of_table(table: ToolTable, name: str) -> Device:
    """All cores of a capture as one device: the tools add them up."""
    parts = tools.parts_of(table.operations, table.idle)
    if not table.operations and table.steps:
        parts = table.steps[0].parts
    return Device(
        "all cores", name, table.device, dict(table.facts), 0.0, parts.span, parts.busy, parts, tuple(table.steps),
        tuple(table.programs), tuple(sorted(table.operations, key=lambda each: -each.self_time)), (), table.peak_flops,
        table.peak_bandwidth,
    )  # fmt: skip


def _lacks(formats: Sequence[str], devices: Sequence[Device], device: str | None) -> dict[str, str]:
    """Why facts are missing that are: what is there needs no reason."""
    operations = [each for one in devices for each in one.operations]
    computing = [each for each in operations if each.part == "compute"]
    there = {
        "device": device is not None,
        "steps": any(step.found != "whole" for one in devices for step in one.steps),
        "programs": any(one.programs for one in devices),
        "shapes": any(each.result or each.operands for each in operations),
        "gap": all(one.parts.gap is not None for one in devices),
        "flops": all(each.flops is not None for each in computing),
        "bytes": all(each.bytes is not None for each in computing),
        "operations": len(formats) > 1 and bool(operations),
        "communication": bool(operations),
    }
    reasons = {
        "device": next((_UNKNOWN[each] for each in formats if each in _UNKNOWN), "the files don't name the device"),
        "steps": "no marker, and no program that repeats: all of it counts as one step (n = 1)",
        "programs": "no operation names its program",
        "shapes": "the operations come without their HLO text",
        "flops": _CUSTOM if any(each.flops_from == "file" for each in computing) else
        "the events have none: counted from the programs' HLO for matmuls and convolutions",
        "bytes": _CUSTOM if any(each.flops_from == "file" for each in computing) else "the events have none",
    } | sources.lacking(formats)  # fmt: skip
    return {key: reason for key, reason in reasons.items() if not there.get(key, False)}
